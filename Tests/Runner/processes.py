"""Runs the commands of a check: with a log, a time limit, and an end for everything that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
GRACE = 30
"""Seconds between SIGTERM and SIGKILL for a command that has reached its limit."""


class Failed(Exception):
    """A command of a check failed; the text says how."""


class CutOff(Failed):
    """The limit of the whole run ended a command before its own limit did."""


class NotRun(Exception):
    """A check cannot run on this machine; the text says why."""


class Terminal:
    """The output that a person sees. A lane of checks beside the main one shows its output when a check has ended."""

    lock = threading.Lock()

    @classmethod
    def write(cls, data: bytes) -> None:
        with cls.lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    @classmethod
    def say(cls, text: str) -> None:
        cls.write(text.encode() + b"\n")


class Log:
    """The output of one run of a check."""

    def __init__(self, path: Path, is_live: bool) -> None:
        self.path, self.is_live = path, is_live
        self.path.touch()
        self.shown = 0

    def say(self, text: str) -> None:
        with self.path.open("ab") as file:
            file.write(text.encode() + b"\n")
        self.show()

    def show(self) -> None:
        """Shows the output since the last call."""
        if self.is_live:
            with self.path.open("rb") as reader:
                reader.seek(self.shown)
                data = reader.read()
            self.shown += len(data)
            if data:
                Terminal.write(data)

    def text(self) -> str:
        return self.path.read_text(errors="replace")


class Processes:
    """The commands that run, so that all of them can be ended."""

    lock = threading.Lock()
    running: set[int] = set()

    @classmethod
    def end_all(cls) -> None:
        with cls.lock:
            for group in cls.running:
                kill_group(group, signal.SIGKILL)


def kill_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def lower_session(leader: int, nice: int) -> None:
    """Gives a session a lower priority: where Linux groups processes by session, the nice values of processes count within one only."""
    try:
        Path(f"/proc/{leader}/autogroup").write_text(str(nice))
    except OSError:
        pass  # this kernel does not group, or the command has ended


class Commands:
    """The commands of one run of a check. They share a log and a time limit; their CPU time is added up."""

    def __init__(self, log: Log, limit: float, left: float, nice: int = 0) -> None:
        """`limit`: the seconds after which the check hangs; `left`: those that the whole run still has."""
        self.log, self.nice = log, nice
        self.deadline = time.monotonic() + min(limit, left)
        self.hang = CutOff(f"the limit of the run cut it off after {left:.0f} s") if left < limit else Failed(f"it hung for {limit} s")
        self.cpu = 0.0

    def run(self, *command: str | Path, cwd: Path = TOP, env: dict[str, str] | None = None, shown: bool = True) -> None:
        """Runs a command to its end. `shown`: its output is part of the log, otherwise only if the command fails.

        Raises `NotRun` for status 77, and `Failed` for any other status than 0, for a signal, and for the limit."""
        status, output = self.finish([str(word) for word in command], cwd, env, shown)
        if not shown and status != 0:
            self.log.say(output.strip())
        name = " ".join(Path(word).name if index == 0 else str(word) for index, word in enumerate(command))[:160]
        if status == 77:
            raise NotRun((self.log.text().strip().splitlines() or ["it ended with status 77"])[-1])
        if status < 0:
            raise Failed(f"{name} was ended by {signal.Signals(-status).name}")
        if status != 0:
            raise Failed(f"{name} ended with status {status}")

    def finish(self, command: list[str], cwd: Path, env: dict[str, str] | None, shown: bool) -> tuple[int, str]:
        hidden = self.log.path.with_suffix(".hidden")
        with open(self.log.path if shown else hidden, "ab" if shown else "wb") as output:
            process = subprocess.Popen(
                ["nice", "-n", str(self.nice), *command],
                cwd=cwd,
                env=os.environ | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with Processes.lock:
            Processes.running.add(process.pid)
        lower_session(process.pid, self.nice)
        try:
            status = self.wait(process)
        finally:
            # What the command has left running ends with it.
            kill_group(process.pid, signal.SIGKILL)
            with Processes.lock:
                Processes.running.discard(process.pid)
            self.log.show()
        return status, "" if shown else hidden.read_text(errors="replace")

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        warned = False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                self.cpu += usage.ru_utime + usage.ru_stime
                process.returncode = os.waitstatus_to_exitcode(status)
                if warned:
                    raise self.hang
                return process.returncode
            self.log.show()
            if time.monotonic() > self.deadline:
                kill_group(process.pid, signal.SIGKILL if warned else signal.SIGTERM)
                self.deadline, warned = time.monotonic() + GRACE, True
            time.sleep(0.1)
