"""script/test: runs checks, and says which ones failed and how long each took."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import report
from checks import CHECKS, Check, Run
from processes import TOP, Commands, CutOff, Failed, Log, NotRun, Processes, Terminal
from report import Result

DEBUG_OPTIONS = ["--disable-index-store"]
"""Of all debug builds of the scripts, as `debug_build` in script/lib.sh: other options build everything anew."""
FAST_NAMES = ("ServerTestSupport", "PrivateCluster", "TestProgram", "DevelopmentCluster.", "DevelopmentCluster?", "DevelopmentCluster(")
SANITIZED = {
    "address": "Basics Cryptography HTTP HTTPClient HTTPServer JSONLog ModelServers Postgres Sockets Terminal Tools",
    "thread": "Basics ChatterClient ChatterModels Command Cryptography HTTPClient HTTPServer JSONLog Postgres PostgresStore Relay"
    " ServerAccess ServerConversation ServerDoor ServerReply ServerUpstream Sockets Terminal Tools",
}
"""The tests of the targets that have pointers or C, and of those that have threads, locks or tasks."""
PRODUCTS = ("chatterd", "chatter")
BUILD_NICE = 19
"""Builds go last. Tests have equal shares: behind a browser that uses all cores, thousands of tests would wait longer than their timeouts."""
BUILD_LIMIT = 4500
"""Seconds after which a build hangs. It is the last to get the processors."""
LEAST = 60
"""Seconds that must be left of the limit of a run for a check to begin."""


def arguments() -> argparse.Namespace:
    words = sys.argv[1:]
    rest = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(prog="script/test", add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--limit", type=int, default=24 * 3600)
    options = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    options.rest = rest
    known = {check.name for check in CHECKS}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no check {', '.join(unknown)}; script/test --list shows all")
    if rest and len(options.names) != 1:
        parser.error("arguments after -- need the name of one check")
    if options.fast and (options.all or options.names):
        parser.error("--fast has no other checks")
    if options.repeat < 1:
        parser.error("--repeat needs a number from 1 on")
    return options


def selection(options: argparse.Namespace) -> list[Check]:
    if options.names:
        return [check for check in CHECKS if check.name in options.names]
    if options.fast:
        return [check for check in CHECKS if check.name == "swift"]
    return [check for check in CHECKS if check.form == "short" or (options.all and check.form == "long")]


def fast_filter() -> str:
    """The test targets none of whose files starts PostgreSQL or a program of the package."""
    names = []
    for folder in sorted((TOP / "Tests").glob("*Tests")):
        texts = (path.read_text() for path in folder.glob("**/*.swift"))
        if not any(name in text for text in texts for name in FAST_NAMES):
            names.append(folder.name)
    return f"^({'|'.join(names)})\\."


def build(kind: str) -> list[list[str]]:
    """The commands that build what a check needs."""
    swift = ["swift", "build", *DEBUG_OPTIONS]
    if kind in SANITIZED:
        swift = ["env", f"CHATTERD_TEST_TARGETS={SANITIZED[kind]}", *swift, "--sanitize", kind, "--scratch-path", f".build/{kind}"]
        # The tests of the whole program start it.
        needs_program = any(name.startswith("Server") for name in SANITIZED[kind].split())
        products = ["chatterdPackageTests", *(["chatterd"] if needs_program else [])]
        return [[*swift, "--product", product] for product in products]
    if kind == "fuzz":
        options = ["--sanitize", "fuzzer", "--scratch-path", ".build/fuzz", "--product", "fuzz"]
        return [["env", "CHATTERD_FUZZ=1", *swift, *options]]
    if kind == "tests":
        return [[*swift, "--build-tests"]]
    if kind == "libraries":
        return [[*swift, "--target", target] for target in ("ChatterSwiftAI", "ChatterLanguageModelSession")]
    return [[*swift, "--product", product] for product in kind.split() if not os.environ.get(product.upper())]


Body = Callable[[Log, Commands], None]


class Runner:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.results: list[Result] = []
        self.lock = threading.Lock()
        self.built: set[str] = set()
        self.broken: dict[str, str] = {}
        """The outcomes of builds that did not pass."""
        self.building = threading.Lock()
        self.began = time.monotonic()

    @property
    def left(self) -> float:
        return self.options.limit - (time.monotonic() - self.began)

    def perform(self, name: str, limit: float, body: Body, is_live: bool, nice: int = 0, may_be_cut: bool = False) -> Result:
        """Runs one check or build, and records its result. `may_be_cut`: if the limit of the run ends it, it counts as not run."""
        log = Log(self.folder / f"{name.replace(' ', '-')}-{len(self.results)}.log", is_live)
        commands = Commands(log, limit, self.left, nice)
        result = Result(name, 0, 0, "passed")
        began = time.monotonic()
        if is_live:
            Terminal.say(f"== {name}")
        try:
            if self.left < LEAST:
                raise NotRun("no time was left")
            body(log, commands)
        except NotRun as error:
            result.outcome, result.reason = "not run", str(error)
        except Failed as error:
            is_cut = may_be_cut and isinstance(error, CutOff)
            result.outcome, result.reason = "not run" if is_cut else "failed", str(error)
        except Exception as error:  # a defect of the runner itself fails the check
            result.outcome, result.reason = "failed", f"{type(error).__name__}: {error}"
        log.show()
        result.seconds, result.cpu, result.text = time.monotonic() - began, commands.cpu, log.text()
        if not is_live:
            Terminal.say(f"== {name}, beside other checks\n{result.text}".rstrip())
        note = f" ({result.reason})" if result.reason else ""
        Terminal.say(f"== {name}: {result.outcome}{note}, {result.seconds:.0f} s")
        with self.lock:
            self.results.append(result)
        return result

    def build(self, kind: str, is_live: bool) -> bool:
        """Builds what checks need, once. Builds do not run beside each other."""
        if set(kind.split()) <= self.built or not build(kind):
            return True
        with self.building:
            if set(kind.split()) <= self.built:
                return True
            if kind in self.broken:
                return False

            def body(log: Log, commands: Commands) -> None:
                for command in build(kind):
                    commands.run(*command, shown=False)

            result = self.perform(f"build {kind}", BUILD_LIMIT, body, is_live, BUILD_NICE, may_be_cut=kind in SANITIZED)
            if result.outcome != "passed":
                self.broken[kind] = result.outcome
                return False
            self.built |= {kind, *PRODUCTS, "libraries"} if kind == "tests" else set(kind.split())
            return True

    def check(self, check: Check, is_live: bool) -> None:
        if not self.build(check.build, is_live):

            def refuse(_log: Log, _commands: Commands) -> None:
                raise NotRun("no time was left") if self.broken[check.build] == "not run" else Failed("what it needs was not built")

            self.perform(check.name, check.limit, refuse, is_live)
            return

        rest = ["--filter", fast_filter()] if self.options.fast else self.options.rest
        runs: list[Run] = []

        def body(log: Log, commands: Commands) -> None:
            runs.append(Run(log, commands, self.options.all, rest))
            check.run(runs[0])

        # Those of script/test alone must pass; a slow machine may have no time for the others, and the last lines name them.
        result = self.perform(check.name, check.limit, body, is_live, may_be_cut=check.form == "long")
        result.swift_tests = runs[0].swift_tests if runs else None

    def run(self, checks: list[Check]) -> None:
        """Runs the checks that use all cores beside those that mostly wait, two of these at a time in their short forms."""
        lanes = {lane: [check for check in checks if check.lane == lane] for lane in ("cores", "waits")}
        has_two = bool(lanes["cores"] and lanes["waits"])
        if has_two:
            # The system tests need the programs only, and begin while the tests are built.
            needed = {name for check in lanes["waits"] for name in check.build.split()}
            products = " ".join(name for name in PRODUCTS if name in needed)
            self.build(products, True)
        beside = [threading.Thread(target=lambda: [self.check(check, not has_two) for check in lanes["cores"]])]
        waiting = iter(lanes["waits"])
        # The long forms need more of the processors, and browsers have timeouts: one at a time.
        if not self.options.all:
            beside.append(threading.Thread(target=lambda: [self.check(check, False) for check in self.each(waiting)]))
        for thread in beside:
            thread.start()
        for check in self.each(waiting):
            self.check(check, True)
        for thread in beside:
            thread.join()

    def each(self, checks: Iterator[Check]) -> Iterator[Check]:
        """The checks that no other thread has taken."""
        while True:
            with self.lock:
                check = next(checks, None)
            if check is None:
                return
            yield check


def bootstrap(checks: list[Check], options: argparse.Namespace) -> None:
    sets = ["build"] if options.fast else sorted({name for check in checks for name in check.needs.split()})
    if all(os.environ.get(name) for name in ("CHATTERD", "CHATTER")):
        sets = [name for name in sets if name != "build"] or ["tests"]
    subprocess.run(["script/bootstrap", *sets], cwd=TOP, check=True)


def show_list() -> None:
    print(f"{'name':<18}{'part of':<8}{'minutes':<10}{'needs':<28}checks")
    for check in CHECKS:
        part = {"short": "all", "long": "--all", "named": "-"}[check.form]
        print(f"{check.name:<18}{part:<8}{check.time:<10}{check.needs:<28}{check.checks}")


def main() -> int:
    options = arguments()
    if options.list:
        show_list()
        return 0
    checks = selection(options)
    bootstrap(checks, options)
    with tempfile.TemporaryDirectory(prefix="chatterd-checks-") as folder:
        runner = Runner(options, Path(folder))

        def stop(number: int, _frame: object) -> None:
            Processes.end_all()
            os._exit(128 + number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        for turn in range(options.repeat):
            if options.repeat > 1:
                Terminal.say(f"== run {turn + 1} of {options.repeat}")
            runner.run(checks)
        lines = [*report.slowest_tests(runner.results[-len(checks) - 2 :]), ""]
        lines += report.table(runner.results, time.monotonic() - runner.began)
        if options.repeat > 1:
            lines += report.repeats(runner.results)
        lines += ["", *report.conclusion(runner.results)]
        Terminal.say("\n".join(lines))
        return 1 if any(result.outcome == "failed" for result in runner.results) else 0


if __name__ == "__main__":
    sys.exit(main())
