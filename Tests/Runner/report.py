"""What a run says at its end: times, what did not run, and why checks failed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from swift_tests import SwiftTests

REASONS = 22
"""Lines in all that say why checks failed: they fit into the last 30 lines of a run."""
WIDTH = 240
TELLING = re.compile(
    r"✘|recorded an issue|error:|FAILED|^(FAIL|ERROR):|Fatal error|[Cc]rashed|violation|"
    r"WARNING: ThreadSanitizer|ERROR: (Thread|Address)Sanitizer"
)
REPORT = re.compile(r"WARNING: ThreadSanitizer|ERROR: (Thread|Address)Sanitizer|Fatal error|💣|[Cc]rashed at")


@dataclass
class Result:
    name: str
    seconds: float
    cpu: float
    outcome: str
    """`passed`, `failed` or `not run`."""
    reason: str = ""
    text: str = ""
    """The output, if the check failed."""
    swift_tests: SwiftTests | None = None


def table(results: list[Result], total: float) -> list[str]:
    """The time and the CPU time of each check, slowest first."""
    lines = [f"{'check':<20}{'time':>9}{'CPU':>9}"]
    for result in sorted(results, key=lambda result: -result.seconds):
        note = "" if result.outcome == "passed" else f"  {result.outcome}"
        lines.append(f"{result.name:<20}{result.seconds:>7.0f} s{result.cpu:>7.0f} s{note}")
    return lines + [f"{'all':<20}{total:>7.0f} s{sum(result.cpu for result in results):>7.0f} s"]


def slowest_tests(results: list[Result]) -> list[str]:
    lines = []
    for result in results:
        if result.swift_tests and len(result.swift_tests.seconds) > 1 and (slowest := result.swift_tests.slowest()):
            lines.append(f"the slowest tests of {result.name}:")
            lines += [f"{seconds:>7.1f} s  {name}" for seconds, name in slowest]
    return lines


def reasons(result: Result, most: int) -> list[str]:
    """The lines that say why a check failed: failed tests by name, else telling lines of its output, else its last lines."""
    found = []
    if result.swift_tests:
        found = [f"{name}: {issue}" for name, issue in result.swift_tests.failed.items()]
    rest = 0
    lines = result.text.splitlines()
    for line in lines:
        if REPORT.search(line):
            rest = 8
        if rest > 0 or (not found and TELLING.search(line)) or (not result.swift_tests and TELLING.search(line)):
            found.append(line)
        rest -= 1
    found = list(dict.fromkeys(line.strip()[:WIDTH] for line in found if line.strip()))
    if not found:
        found = [line[:WIDTH] for line in lines[-most:]]
    if len(found) > most:
        found = found[: most - 1] + [f"… and {len(found) - most + 1} lines more"]
    return found


def repeats(results: list[Result]) -> list[str]:
    names = dict.fromkeys(result.name for result in results)
    counts = {name: [result.outcome for result in results if result.name == name] for name in names}
    return [f"{name}: {len(all)} runs, {all.count('failed')} failed" for name, all in counts.items()]


def conclusion(results: list[Result]) -> list[str]:
    lines = [f"NOT RUN: {result.name}: {result.reason}" for result in results if result.outcome == "not run"]
    failed = [result for result in results if result.outcome == "failed"]
    for result in failed:
        lines.append(f"FAILED: {result.name}: {result.reason[:WIDTH]}")
        lines += [f"    {line}" for line in reasons(result, max(3, REASONS // len(failed) - 1))]
    lines.append("some checks FAILED" if failed else "all checks passed")
    return lines
