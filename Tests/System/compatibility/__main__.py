"""Programs from the Python package index at the front doors of chatterd: what of each works, in both modes.

Each program runs in a process of its virtual environment, and a scripted model server behind chatterd records what arrives. Prints a line
for each program, and ends with 1 if a feature works or fails otherwise than the catalogue says, or if docs/compatibility.md has another
table. CHATTERD names another program than the debug build.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time

from compatibility import document
from compatibility.catalogue import ENTRIES, Entry
from compatibility.run import Outcome, run
from compatibility.texts import FEATURES
from compatibility.world import MODES, World
from harness.machine import raise_file_limit, run_program, say


def work(options: argparse.Namespace, pythons: dict[str, str], directory: str) -> bool:
    """Runs the programs; whether all is as the catalogue and the document say."""
    entries = [entry for entry in ENTRIES if entry.environment in pythons and (entry.is_short or not options.short)]
    entries = [entry for entry in entries if not options.names or any(name.lower() in entry.name.lower() for name in options.names)]
    outcomes: dict[str, Outcome] = {}
    surprises: list[str] = []
    failed: set[str] = set()
    with contextlib.ExitStack() as stack:

        def one(entry: Entry, world: World) -> None:
            began = time.monotonic()
            outcome = outcomes[entry.name] = run(entry, pythons[entry.environment], directory, world, options.feature)
            marks = ["-" if feature not in outcome.features else "." if options.feature and feature not in options.feature else
                     "".join("x" if (mode, feature) in outcome.faults else "v" for mode in MODES) for feature in FEATURES]
            found = outcome.surprises(entry, options.feature)
            surprises.extend(found)
            failed.update([entry.name] if found else [])
            line = f"{entry.name:<42} {' '.join(f'{mark:<2}' for mark in marks)} {time.monotonic() - began:5.1f} s"
            say("\n".join([line, *(f"  FAULT {fault}" for fault in found)]))

        waiting = iter(entries)

        def several(world: World) -> None:
            # Each thread takes the next program that no other one has taken.
            while True:
                with lock:
                    entry = next(waiting, None)
                if entry is None:
                    return
                one(entry, world)

        lock = threading.Lock()
        # They do not keep the process when the run is ended.
        threads = [threading.Thread(target=several, args=(World(stack),), daemon=True) for _ in range(min(options.jobs, len(entries)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if not entries or len(outcomes) < len(entries):
        say("no program has this name" if not entries else "not all programs have run")
        return False
    if options.feature:
        return not surprises
    if options.write:
        document.PATH.write_text(document.page(ENTRIES, {name: outcome for name, outcome in outcomes.items() if name not in failed}))
    found = document.differences(ENTRIES, outcomes)
    for line in found:
        say(f"  FAULT {line}")
    say(f"{len(outcomes)} programs, {len(surprises)} faults")
    return not surprises and not found


def main() -> int:
    """Parses the options, and runs."""
    parser = argparse.ArgumentParser(
        prog="script/test programs --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose name has one of these texts; without one, all programs")
    parser.add_argument("--python", action="append", default=[], metavar="ENVIRONMENT=PYTHON", help=argparse.SUPPRESS)
    parser.add_argument("--short", action="store_true", help="the programs that are part of each script/test")
    parser.add_argument("--jobs", type=int, default=2, help="programs that run at a time")
    parser.add_argument("--feature", action="append", default=[], choices=FEATURES, help="only this feature, any number of times")
    parser.add_argument("--write", action="store_true", help="writes the rows of the programs without faults into docs/compatibility.md")
    options = parser.parse_args()
    raise_file_limit()
    pythons = dict(pair.split("=", 1) for pair in options.python)
    return run_program("compatibility", lambda directory: work(options, pythons, directory))


if __name__ == "__main__":
    sys.exit(main())
