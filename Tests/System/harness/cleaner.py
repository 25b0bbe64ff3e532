"""Cleans up after a program: it reads names of directories until the program ends, in any way, and the other end of its pipe closes. Then
it kills the processes that work in these directories, and removes them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

GRACE = 1.0
"""Seconds in which processes end by themselves, because their parent has ended."""


def workers(directories: list[str]) -> list[int]:
    """The processes whose working directory is one of these, or is in one."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and any(f"{os.readlink(f'/proc/{entry}/cwd')}/".startswith(f"{path}/") for path in directories):
                found.append(int(entry))
    return found


def end(directories: list[str]) -> None:
    """Ends all processes in the directories. A stopped one must continue before it can end in order."""
    until = time.monotonic() + GRACE
    while left := workers(directories):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT if time.monotonic() < until else signal.SIGKILL)
        time.sleep(0.02)


def main() -> None:
    """Waits for the end of the program, and cleans up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    directories = sys.stdin.read().split("\n")[:-1]
    directories = [path for path in directories if os.path.exists(path)]
    end(directories)
    for path in directories:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
