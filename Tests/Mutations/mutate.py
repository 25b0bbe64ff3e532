#!/usr/bin/env python3
"""Changes one line of the durable core at a time and checks that a Swift test fails.

Started by script/mutate, which describes the output. The lists are the TOML files beside this file.

A build takes minutes and a mutant changes a line, so many mutants are built at once: each fragment is replaced by a choice
between itself and its mutant, and a file says which one mutant is active (mutant schemata: Untch, Offutt, Harrold, 1993)."""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
LISTS = Path(__file__).parent
FIELDS = {"id", "file", "kind", "before", "after", "breaks", "filter", "survives"}
KINDS = ("sql", "value", "step")
FILTER_LIMIT, SUITE_LIMIT, BUILD_LIMIT = 420, 1500, 1800
"""Seconds for the filtered tests, for all tests, and for a build. Tests that take longer hang: that counts as killed."""
ACTIVE = ".build/active-mutant"
TEST_PROGRAM = (".build/debug/chatterdPackageTests.xctest", "--testing-library", "swift-testing")
NOT_COPIED = ("release", "release-scratch", "thread", "address", "python", "artifacts", "checkouts")
"""The parts that the copy of the build directory leaves out."""


@dataclass(frozen=True)
class Mutant:
    """One change, and the guarantee that it breaks.

    `before` is a fragment that occurs in the file once. If a part of it is in ⟦⟧, only that part is changed, and the rest gives
    its position. The fragment is a piece of SQL in a string literal (`sql`), an expression (`value`) or statements (`step`).
    """

    id: str
    file: str
    kind: str
    before: str
    after: str
    breaks: str
    filter: str
    survives: str = ""  # the reason why no test can notice it; empty if a test must

    def position(self, text: str) -> tuple[int, int]:
        """The range of the changed part in the text of the file; raises `ValueError` if it does not occur exactly once."""
        fragment = self.before.replace("⟦", "").replace("⟧", "")
        if (count := text.count(fragment)) != 1:
            raise ValueError(f"{self.id}: {self.file} holds {fragment!r} {count} times, not once")
        start = text.index(fragment)
        if "⟦" not in self.before:
            return start, start + len(fragment)
        inner = start + self.before.index("⟦")
        return inner, inner + len(self.before.partition("⟦")[2].partition("⟧")[0])

    def choice(self, before: str) -> str:
        """Swift code for the fragment, or for its mutant while that is active."""
        if self.kind == "sql":
            texts = ['"' + text.replace("\n", "\\n") + '"' for text in (self.after, before)]
            return f'\\(Mutants.isActive("{self.id}") ? {texts[0]} : {texts[1]})'
        if self.kind == "value":
            return f'(Mutants.isActive("{self.id}") ? ({self.after}) : ({before}))'
        return f'if Mutants.isActive("{self.id}") {{ {self.after} }} else {{ {before.strip()} }}\n'

    def digest(self, text: str) -> str:
        """Names this change of this text of the file."""
        whole = (self.kind, self.before, self.after, self.filter, text)
        return hashlib.sha256("\0".join(whole).encode()).hexdigest()[:16]


def instrument(text: str, mutants: list[Mutant]) -> str:
    """The text of a file with a choice in place of each mutant's fragment."""
    for (start, end), mutant in sorted(((one.position(text), one) for one in mutants), key=lambda pair: -pair[0][0]):
        text = text[:start] + mutant.choice(text[start:end]) + text[end:]
    return text


def passes(mutants: list[Mutant], texts: dict[str, str]) -> list[list[Mutant]]:
    """The mutants in groups in which no two change the same text: each group is built once."""
    groups: list[list[Mutant]] = []
    taken: list[set[tuple[str, int]]] = []
    for mutant in mutants:
        start, end = mutant.position(texts[mutant.file])
        changed = {(mutant.file, index) for index in range(start, max(end, start + 1))}
        number = next((number for number, known in enumerate(taken) if not known & changed), len(groups))
        if number == len(groups):
            groups.append([])
            taken.append(set())
        groups[number].append(mutant)
        taken[number] |= changed
    return groups


SUPPORT = """#if canImport(Glibc)
import Glibc
#endif

/// Says which mutant is active: written by script/mutate, and nowhere else.
enum Mutants {{
    static func isActive(_ id: String) -> Bool {{ active == id }}

    private static let active: String = {{
        guard let file = fopen("{path}", "r") else {{ return "" }}
        defer {{ fclose(file) }}
        var name = ""
        while case let byte = fgetc(file), byte != EOF {{ name.unicodeScalars.append(Unicode.Scalar(UInt8(byte))) }}
        return name
    }}()
}}
"""


def folder(source: str) -> str:
    """The folder of the target that a source belongs to: Sources, its floor and its name."""
    return "/".join(source.split("/")[:3])


def read_lists() -> list[Mutant]:
    """All mutants; ends the program if a list is wrong."""
    mutants: list[Mutant] = []
    wrong: list[str] = []
    for path in sorted(LISTS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            if missing := FIELDS - {"survives"} - set(entry) or set(entry) - FIELDS:
                wrong.append(f"{path.name}: {entry.get('id', entry)}: missing or unknown: {', '.join(sorted(missing))}")
            else:
                mutants.append(Mutant(**entry))
    for name, count in collections.Counter(mutant.id for mutant in mutants).items():
        if count > 1:
            wrong.append(f"{name}: this id is used {count} times")
    for mutant in mutants:
        if mutant.kind not in KINDS:
            wrong.append(f"{mutant.id}: kind is one of {', '.join(KINDS)}")
        try:
            mutant.position((CHECKOUT / mutant.file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            wrong.append(str(error))
    if wrong:
        sys.exit("\n".join(["the list does not fit the code:", *wrong]))
    return mutants


@dataclass(frozen=True)
class Outcome:
    """The result of a command."""

    status: int  # negative: it was ended by this signal
    output: str
    is_late: bool


class Scratch:
    """A copy of the checkout with a separate build directory, in which mutants are built and tested."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # The build directory holds absolute paths. Mounted over the checkout the copy of it stays valid.
        probe = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
        self._is_mounted = probe.returncode == 0
        self.is_new = not (directory / "sources").is_dir()
        self._sources = directory / "sources"
        self._sources.mkdir(parents=True, exist_ok=True)

    def update(self, keeping: set[str]) -> str:
        """Gives the copy the sources of the checkout; files that are the same keep their times. Returns a digest of all.

        `instrument` writes the files in `keeping`.
        """
        listed = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True, cwd=CHECKOUT)
        names = {name for name in listed.stdout.decode().split("\0") if name and os.path.lexists(CHECKOUT / name)}
        for path in [path for path in self._sources.rglob("*") if path.is_file() or path.is_symlink()]:
            name = str(path.relative_to(self._sources))
            if name not in names and not name.startswith(".build/") and path.name != "Mutants.swift":
                path.unlink()
        whole = hashlib.sha256()
        for name in sorted(names):
            source, copy = CHECKOUT / name, self._sources / name
            if source.is_symlink():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.unlink(missing_ok=True)
                copy.symlink_to(os.readlink(source))
                continue
            text = source.read_bytes()
            if name.startswith(("Sources/", "Tests/", "Package.swift")):
                whole.update(name.encode() + b"\0" + text + b"\0")
            if name not in keeping and (not copy.is_file() or copy.read_bytes() != text):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
        (self._sources / ".build").mkdir(exist_ok=True)
        if self.is_new and self._is_mounted and (CHECKOUT / ".build").is_dir():
            command = ["cp", "-a", "--reflink=auto"]
            kept = [path for path in (CHECKOUT / ".build").iterdir() if path.name not in NOT_COPIED]
            subprocess.run([*command, *kept, self._sources / ".build"], check=True)
        return whole.hexdigest()

    def instrument(self, mutants: list[Mutant], texts: dict[str, str]) -> None:
        """Puts the choices for mutants into the sources, without other changes."""
        files: dict[str, str] = {}
        for name in texts:
            path = f"{CHECKOUT if self._is_mounted else self._sources}/{ACTIVE}"
            files[f"{folder(name)}/Mutants.swift"] = SUPPORT.format(path=path)
            files[name] = instrument(texts[name], [mutant for mutant in mutants if mutant.file == name])
        for name, text in files.items():
            path = self._sources / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        """The lines of a file, as it was built."""
        return (self._sources / name).read_text(encoding="utf-8").split("\n")

    def activate(self, id: str) -> None:
        """Activates a mutant; deactivates all for an empty name."""
        (self._sources / ACTIVE).write_text(id, encoding="utf-8")

    def run(self, *command: str, limit: float) -> Outcome:
        """Runs a command in the copy, and ends all its processes after the timeout."""
        if self._is_mounted:
            # The shell stays, to reap the processes that the tests leave; the process namespace ends with it.
            mounting = f'mount --bind "{self._sources}" "{CHECKOUT}" && cd "{CHECKOUT}" && "$@"; exit $?'
            unshare = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
            command = (*unshare, "bash", "-c", mounting, "_", *command)
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command, cwd=self._sources, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True)
            is_late = False
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                is_late = True
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            return Outcome(process.returncode, output.read().decode(errors="replace"), is_late)

    def build(self) -> Outcome:
        """Builds the tests."""
        # SwiftPM locks by the path of the build directory, which all copies share.
        return self.run("swift", "build", "--build-tests", "--disable-index-store", "--ignore-lock", limit=BUILD_LIMIT)

    def test(self, pattern: str, limit: float) -> Outcome:
        """Runs the tests of a filter, or all if it is empty."""
        selection = ("--filter", pattern) if pattern else ()
        return self.run(*TEST_PROGRAM, *selection, limit=limit)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a mutant: killed, killed by timeout, survived, or invalid; and the evidence."""

    name: str
    reason: str

    @property
    def is_killed(self) -> bool:
        return self.name.startswith("killed")


def failures(output: str) -> list[str]:
    """The failed tests in the output of a run."""
    named = re.findall(r"✘ Test (.+?) (?:recorded an issue|failed|with \d+ test cases failed)", output)
    plain = [re.sub(r" with \d+ argument.*", "", name) for name in named if not name.startswith("run with")]
    return list(dict.fromkeys(plain))


def judge(outcome: Outcome) -> Verdict | None:
    """The verdict of a run of tests; `None` if all of them passed."""
    failed = failures(outcome.output)
    if outcome.is_late:
        return Verdict("killed by timeout", ", ".join(failed[:3]) or "no test had failed before")
    found = re.search(r"Test run with (\d+) tests?", outcome.output)
    if outcome.status == 0 and found and int(found[1]) > 0:
        return None
    if failed:
        return Verdict("killed", ", ".join(failed[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else ""))
    if found is None and (crash := re.search(r"(Fatal error|Precondition failed).*", outcome.output)):
        return Verdict("killed", crash[0][:160])
    if found is None and (number := -outcome.status if outcome.status < 0 else outcome.status - 128) > 0:
        return Verdict("killed", f"the tests ended by signal {number}")
    raise RuntimeError(f"the tests ended with {outcome.status}, and none of them failed:\n{outcome.output[-2000:]}")


def try_mutant(mutant: Mutant, scratch: Scratch) -> Verdict:
    """Runs the tests of a mutant that is built already."""
    scratch.activate(mutant.id)
    try:
        for pattern, limit in ((mutant.filter, FILTER_LIMIT), ("", SUITE_LIMIT)):
            if verdict := judge(scratch.test(pattern, limit)):
                return verdict if pattern else Verdict(verdict.name, f"outside of its filter: {verdict.reason}")
        return Verdict("survived", mutant.survives or "no test fails")
    finally:
        scratch.activate("")


def build(scratch: Scratch, mutants: list[Mutant], texts: dict[str, str]) -> dict[str, Verdict]:
    """Builds mutants together; the verdicts of those that do not compile, which are left out then."""
    invalid: dict[str, Verdict] = {}
    while True:
        rest = [mutant for mutant in mutants if mutant.id not in invalid]
        scratch.instrument(rest, texts)
        scratch.activate("")
        built = scratch.build()
        if built.status == 0:
            return invalid
        found = set[str]()
        for file, line, text in re.findall(r"(Sources/\S+?\.swift):(\d+):\d+: error: (.*)", built.output):
            lines = scratch.lines(file)
            near = "\n".join(lines[max(0, int(line) - 2):int(line) + 1])
            for id in re.findall(r'Mutants\.isActive\("(.+?)"\)', near):
                found.add(id)
                invalid[id] = Verdict("invalid", f"does not compile: {text}")
        if not found:
            sys.exit(f"the code does not compile:\n{built.output[-3000:]}")


class Results:
    """The verdicts so far, in a file, so that a run can continue after an earlier one was ended."""

    def __init__(self, path: Path, is_fresh: bool) -> None:
        self._path, self._lock = path, threading.Lock()
        self._known: dict[str, dict[str, str]] = {}
        self._sound_path = path.with_name("sound.json")
        if path.is_file() and not is_fresh:
            self._known = json.loads(path.read_text(encoding="utf-8"))

    def verdict(self, mutant: Mutant, text: str) -> Verdict | None:
        """The verdict of an earlier run on the same change of the same file."""
        known = self._known.get(mutant.id)
        if known is None or known["digest"] != mutant.digest(text):
            return None
        return Verdict(known["verdict"], known["reason"])

    def is_sound(self, tree: str, pattern: str) -> bool:
        """Whether the tests of a filter passed before with these sources."""
        return self._sound_path.is_file() and json.loads(self._sound_path.read_text()) == [tree, pattern]

    def note_sound(self, tree: str, pattern: str) -> None:
        """Records that they pass."""
        self._sound_path.write_text(json.dumps([tree, pattern]))

    def store(self, mutant: Mutant, text: str, verdict: Verdict) -> None:
        """Records a verdict."""
        with self._lock:
            self._known[mutant.id] = {
                "digest": mutant.digest(text), "verdict": verdict.name, "reason": verdict.reason}
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps(self._known, indent=1, ensure_ascii=False), encoding="utf-8")
            temporary.replace(self._path)


def check_tests(scratch: Scratch, mutants: list[Mutant], results: Results, tree: str) -> None:
    """Checks that every filter has tests, and that they pass while no mutant is active."""
    pattern = "|".join(sorted({mutant.filter for mutant in mutants}))
    if results.is_sound(tree, pattern):
        return
    listed = scratch.run(*TEST_PROGRAM, "--list-tests", limit=BUILD_LIMIT).output
    if idle := [mutant.id for mutant in mutants if not re.search(mutant.filter, listed)]:
        sys.exit(f"no test matches the filter of {', '.join(idle)}")
    if verdict := judge(scratch.test(pattern, SUITE_LIMIT)):
        sys.exit(f"tests fail without any mutant: {verdict.reason}")
    results.note_sound(tree, pattern)


def main() -> int:
    """Reads the options, tries the mutants, reports."""
    parser = argparse.ArgumentParser(prog="script/mutate")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--scratch", default=f"{tempfile.gettempdir()}/chatterd-mutate.{os.getuid()}")
    options = parser.parse_args()
    mutants = [mutant for mutant in read_lists() if re.search(options.only, f"{mutant.id} {mutant.file}")]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.id} ({mutant.kind})\n  {mutant.file}\n  - {mutant.before}\n  + {mutant.after}\n  breaks: {mutant.breaks}")
            if mutant.survives:
                print(f"  survives: {mutant.survives}")
        print(f"{len(mutants)} mutants")
        return 0
    root = Path(options.scratch)
    root.mkdir(parents=True, exist_ok=True)
    results = Results(root / "results.json", options.fresh)
    texts = {mutant.file: (CHECKOUT / mutant.file).read_text(encoding="utf-8") for mutant in mutants}
    verdicts: dict[str, Verdict] = {}
    waiting: list[Mutant] = []
    for mutant in mutants:
        known = results.verdict(mutant, texts[mutant.file])
        if known and not (options.survivors and not known.is_killed):
            verdicts[mutant.id] = known
        else:
            waiting.append(mutant)
    print(f"{len(mutants)} mutants, {len(waiting)} to be tried, in {root}", flush=True)
    faults: list[str] = []

    def work(scratch: Scratch, left: queue.Queue[Mutant]) -> None:
        while not faults:
            try:
                mutant = left.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            try:
                verdict = try_mutant(mutant, scratch)
            except Exception as error:  # reported at the end
                faults.append(f"{mutant.id}: {error}")
                return
            verdicts[mutant.id] = verdict
            results.store(mutant, texts[mutant.file], verdict)
            print(f"{verdict.name:17} {mutant.id}, {time.monotonic() - began:.0f} s: {verdict.reason}", flush=True)

    copies = [Scratch(root / str(number)) for number in range(options.jobs)] if waiting else []
    # The checkout is read once: it may change during the run.
    tree = "".join(copy.update(keeping=set(texts)) for copy in copies)
    for group in passes(waiting, texts):
        if faults:
            break
        print(f"building {len(group)} mutants", flush=True)
        for copy in copies:
            for id, verdict in build(copy, group, texts).items():
                verdicts[id] = verdict
                print(f"{verdict.name:17} {id}: {verdict.reason}", flush=True)
        check_tests(copies[0], mutants, results, tree)
        left: queue.Queue[Mutant] = queue.Queue()
        for mutant in group:
            if mutant.id not in verdicts:
                left.put(mutant)
        threads = [threading.Thread(target=work, args=(copy, left)) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return report(mutants, verdicts, faults)


def report(mutants: list[Mutant], verdicts: dict[str, Verdict], faults: list[str]) -> int:
    """Prints the verdicts in numbers, and all but the killed ones by name."""
    count = collections.Counter(verdict.name for verdict in verdicts.values())
    print()
    for name in ("killed", "killed by timeout", "survived", "invalid"):
        print(f"{name:18}{count[name]:>4}")
    unexplained = 0
    for mutant in mutants:
        verdict = verdicts.get(mutant.id)
        if verdict is None or verdict.name == "killed":
            continue
        unexplained += verdict.name == "invalid" or verdict.name == "survived" and not mutant.survives
        print(f"\n{verdict.name}: {mutant.id}\n  {mutant.file}\n  - {mutant.before}\n  + {mutant.after}\n"
              f"  breaks: {mutant.breaks}\n  {verdict.reason}")
    valid = sum(verdict.name != "invalid" for verdict in verdicts.values())
    killed = sum(verdict.is_killed for verdict in verdicts.values())
    print(f"\n{killed} of {valid} mutants killed ({100 * killed / max(1, valid):.1f} %)")
    for fault in faults:
        print(f"\nthis run was ended: {fault}")
    return 1 if faults or unexplained or len(verdicts) < len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
