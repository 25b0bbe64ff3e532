"""The runner itself: what fails, hangs, crashes or has no time left is named, and nothing of it counts as passed. Run by script/test runner."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import processes
import report
import run
from checks import CHECKS, Check
from processes import Commands, CutOff, Failed, Log, NotRun
from swift_tests import SwiftTests

TOP = Path(__file__).parents[2]
sys.path.append(str(TOP / "Tests" / "Mutations"))
import mutate  # noqa: E402

LONG = 600
"""Seconds that no command of these tests needs."""


class RunnerTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = Log(self.folder / "check.log", False)
        self.enterContext(mock.patch.object(processes, "GRACE", 0.1))
        self.enterContext(mock.patch.object(processes.Terminal, "write"))

    def failure(self, *command, left=LONG):
        with self.assertRaises(Exception) as caught:
            Commands(self.log, LONG, left).run(*command)
        return caught.exception


class CommandTests(RunnerTestCase):
    def test_status_decides(self):
        Commands(self.log, LONG, LONG, nice=5).run("true")
        self.assertEqual(str(self.failure("false")), "false ended with status 1")
        self.assertIsInstance(self.failure("bash", "-c", "echo no engine; exit 77"), NotRun)
        self.assertIn("no engine", self.log.text())

    @unittest.skipUnless(Path("/proc/self/autogroup").exists(), "this kernel does not group processes by session")
    def test_session_has_the_priority_of_its_check(self):
        Commands(self.log, LONG, LONG, nice=5).run("bash", "-c", "until grep -q 'nice 5$' /proc/self/autogroup; do sleep 0.01; done")

    def test_crash_is_named(self):
        self.assertIn("was ended by SIGILL", str(self.failure("bash", "-c", "kill -ILL $$")))

    def test_command_that_hangs_is_ended_with_all_that_it_started(self):
        # The child keeps the pipe open for as long as it lives.
        script = 'trap "" TERM; sleep 600 > "$1" & echo started; wait; sleep 600'
        pipe = self.folder / "pipe"
        processes.os.mkfifo(pipe)
        ended = threading.Event()
        threading.Thread(target=lambda: (pipe.open("rb").read(), ended.set()), daemon=True).start()
        commands = Commands(self.log, LONG, 2 * LONG)

        def reach_the_limit():
            while "started" not in self.log.text():
                time.sleep(0.01)
            commands.deadline = time.monotonic()

        threading.Thread(target=reach_the_limit, daemon=True).start()
        with self.assertRaisesRegex(Failed, "it hung for 600 s"):
            commands.run("bash", "-c", script, "bash", pipe)
        self.assertTrue(ended.wait(LONG))

    def test_limit_of_the_run_is_not_a_hang(self):
        self.assertIsInstance(self.failure("sleep", LONG, left=0.5), CutOff)


class SwiftTestTests(RunnerTestCase):
    def program(self, events, end):
        """A test program that writes events and ends."""
        lines = [{"kind": "test", "payload": {"kind": "function", "id": f"M.S/{name}()/F.swift:1:1"}} for name in ("a", "b")]
        for index, (kind, name, *issue) in enumerate(events):
            payload = {"kind": kind, "testID": f"M.S/{name}()/F.swift:1:1", "instant": {"absolute": float(index)}}
            if issue:
                payload |= {"issue": {"isKnown": False}, "messages": [{"text": issue[0]}]}
            lines.append({"kind": "event", "payload": payload})
        (self.folder / "lines").write_text("\n".join(map(json.dumps, lines)) + "\n")
        path = self.folder / "chatterdPackageTests.xctest"
        path.write_text(f"""#!/bin/bash
            while [ $# -gt 0 ]; do [ "$1" != --event-stream-output-path ] || cp "{self.folder}/lines" "$2"; shift; done
            {end}""")
        path.chmod(0o755)

    def outcome(self, events, end, commands=Commands):
        self.program(events, end)
        tests = SwiftTests(self.folder / "swift.events")
        try:
            tests.run(commands(self.log, LONG, LONG), self.folder, [], {})
        except Failed as error:
            return type(error).__name__, str(error)
        return "passed", f"{tests.passed}"

    STARTS = [("testStarted", "a"), ("testStarted", "b"), ("testEnded", "a")]

    def test_tests_that_end_pass(self):
        self.assertEqual(self.outcome([*self.STARTS, ("testEnded", "b")], "exit 0"), ("passed", "2"))

    def test_failed_test_fails_the_check(self):
        events = [*self.STARTS, ("issueRecorded", "b", "1 == 2"), ("testEnded", "b")]
        self.assertEqual(self.outcome(events, "exit 1"), ("Failed", "1 tests failed"))

    def test_crash_names_the_tests_that_ran(self):
        name, reason = self.outcome(self.STARTS, "kill -SEGV $$")
        self.assertEqual(name, "Failed")
        self.assertRegex(reason, r"SIGSEGV; had not ended: M\.S/b\(\)")
        reason = self.outcome([("testStarted", "a")], "kill -SEGV $$")[1]
        self.assertRegex(reason, r"SIGSEGV; had not ended: M\.S/a\(\)", "although no test has ended")

    def test_run_without_tests_fails(self):
        self.assertEqual(self.outcome([], "exit 0")[0], "Failed")

    def test_failure_counts_although_the_limit_cuts_the_run_off(self):
        class CutCommands(Commands):
            def run(self, *command, **options):
                super().run(*command, **options)
                raise CutOff("the limit of the run cut it off")

        events = [*self.STARTS, ("issueRecorded", "a", "1 == 2")]
        self.assertEqual(self.outcome(events, "exit 0", CutCommands)[0], "Failed")
        name, reason = self.outcome(self.STARTS, "exit 0", CutCommands)
        self.assertEqual(name, "CutOff")
        self.assertRegex(reason, r"had not ended: M\.S/b\(\)")


class ReportTests(RunnerTestCase):
    def results(self, check, limit=LONG):
        options = argparse.Namespace(limit=limit, rest=[], all=False, fast=False)
        runner = run.Runner(options, self.folder)
        runner.run([check])
        return runner.results

    def test_failed_test_is_in_the_last_lines(self):
        def fail(one):
            one.log.say("\n".join(f"noise {number}" for number in range(500)))
            one.log.say("FAIL: test_x (m.C.test_x)")
            one.log.say("\n".join(f"noise {number}" for number in range(500)))
            raise Failed("python ended with status 1")

        lines = report.conclusion(self.results(Check("x", "", fail, build="")))
        self.assertIn("    FAIL: test_x (m.C.test_x)", lines[-30:])
        self.assertEqual(lines[-1], "some checks FAILED")

    def test_many_failures_fit_into_the_last_lines(self):
        def fail(one):
            one.log.say("\n".join(f"FAIL: test_{number}" for number in range(100)))
            raise Failed("it ended with status 1")

        results = [result for name in "abcdef" for result in self.results(Check(name, "", fail, build=""))]
        lines = report.conclusion(results)
        self.assertLessEqual(len(lines), 31)
        for name in "abcdef":
            self.assertIn(f"FAILED: {name}: it ended with status 1", lines)

    def test_check_without_time_is_named_and_has_not_passed(self):
        result, = self.results(Check("x", "", lambda one: None, build=""), limit=1)
        self.assertEqual(result.outcome, "not run")
        self.assertEqual(report.conclusion([result])[0], "NOT RUN: x: no time was left")

    def test_only_checks_that_all_adds_may_be_cut_off(self):
        def hang(one):
            raise CutOff("the limit of the run cut it off")

        outcomes = {form: self.results(Check("x", "", hang, build="", form=form))[0].outcome for form in ("short", "long", "named")}
        self.assertEqual(outcomes, {"short": "failed", "long": "not run", "named": "failed"})

    def test_checks_that_need_the_tests_come_after_those_of_the_programs(self):
        builds = [check.build for check in CHECKS if check.lane == "waits" and check.form != "named"]
        before = builds[: builds.index("tests")]
        self.assertEqual(set(builds[builds.index("tests") :]), {"tests", ""}, "checks of the programs begin while the tests are built")
        self.assertTrue(before)

    def test_defect_of_the_runner_fails_the_check(self):
        result, = self.results(Check("x", "", lambda one: 1 / 0, build=""))
        self.assertEqual(result.outcome, "failed")

    def test_sanitized_targets_have_tests(self):
        for name in " ".join(run.SANITIZED.values()).split():
            self.assertTrue((processes.TOP / "Tests" / f"{name}Tests").is_dir(), name)

    def test_program_is_sanitized_only_for_tests_that_start_it(self):
        products = {kind: [command[-1] for command in run.build(kind)] for kind in run.SANITIZED}
        self.assertEqual(products, {"address": ["chatterdPackageTests"], "thread": ["chatterdPackageTests", "chatterd"]})

    def test_names_are_those_of_one_check_each(self):
        names = [check.name for check in CHECKS]
        self.assertEqual(len(names), len(set(names)))


class BootstrapTests(unittest.TestCase):
    """The sets of packages of script/bootstrap. No test installs anything."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = Path(folder.name)

    def program(self, name, *lines):
        """A program that takes the place of the machine's."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
        path.chmod(0o755)

    def machine(self):
        """A machine without Python and without packages, whose apt-get only writes down what it should install."""
        for folder in reversed(os.get_exec_path()):
            for program in Path(folder).glob("*"):
                if program.is_file() and not program.name.startswith("python"):
                    (self.programs / program.name).unlink(missing_ok=True)
                    (self.programs / program.name).symlink_to(program)
        self.program("dpkg-query")
        self.program("id", "echo 1")
        # All that needs root goes through it.
        self.program("sudo", f'echo "$*" >>"{self.programs}/log"', f'[[ " $* " != *" python3 "* ]] || ln -sf "{sys.executable}" "{self.programs}/python3"')
        self.program("apt-get", "exit 1")

    def run_script(self, *command):
        env = os.environ | {"PATH": str(self.programs)}
        return subprocess.run(["/bin/bash", *command], cwd=TOP, env=env, capture_output=True, text=True, timeout=LONG, check=False)

    def sets(self):
        text = (TOP / "script" / "bootstrap").read_text(encoding="utf-8")
        return re.findall(r"^    (\w+)\) echo ", text, re.MULTILINE)

    def test_every_named_set_exists(self):
        sets = self.sets()
        self.assertGreater(len(sets), 8)
        for check in CHECKS:
            self.assertLessEqual(set(check.needs.split()), set(sets), check.name)
        files = [*(TOP / "script").iterdir(), *(TOP / "Tests").glob("**/*.sh"), *(TOP / "docs").glob("**/*.md"), *TOP.glob("*.md"),
                 *TOP.glob("Dockerfile"), *(TOP / ".ci").glob("*"), *(TOP / ".github").glob("**/*.yml")]
        calls = []
        for file in files:
            if not file.is_file() or file.name == "bootstrap":
                continue
            for words in re.findall(r"script/bootstrap((?: [a-z]+)+)", file.read_text(encoding="utf-8")):
                calls.append(words)
                self.assertLessEqual(set(words.split()), set(sets), file)
        self.assertIn(" python", calls)

    def test_manual_and_error_name_every_set(self):
        manual, *_ = (TOP / "script" / "bootstrap").read_text(encoding="utf-8").partition("set -euo")
        self.assertEqual(re.findall(r"\[(\w+)\]", manual), self.sets())
        run = subprocess.run(["script/bootstrap", "build", "nonsense"], cwd=TOP, capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(run.returncode, 1, "a name without a set ends the script before it installs anything")
        listed = re.search(r"there are (.+)\)", run.stderr).group(1)
        self.assertEqual(re.split(r", | and ", listed), self.sets())

    @unittest.skipUnless(Path("/var/lib/dpkg").is_dir(), "this is no Debian")
    def test_machine_without_python_gets_it(self):
        self.machine()
        self.assertEqual(self.run_script("-c", "command -v python3").returncode, 1)
        run = self.run_script("script/test", "--list")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("apt-get", (self.programs / "log").read_text())
        self.assertRegex((self.programs / "log").read_text(), r"install -y --no-install-recommends python3\n")
        self.assertRegex(run.stdout, r"(?m)^runner ")


class MutantTests(unittest.TestCase):
    """The lists of mutants, which only script/mutate applies."""

    def test_each_changes_a_source_of_a_target_at_one_place(self):
        package = (TOP / "Package.swift").read_text(encoding="utf-8")
        # Ends the program if a fragment does not occur exactly once.
        for mutant in mutate.read_lists():
            target = mutate.folder(mutant.file)
            self.assertIn(f'"{target.rpartition("/")[2]}": [', package, mutant.id)
            self.assertTrue((TOP / target).is_dir(), mutant.id)
