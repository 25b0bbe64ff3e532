"""A server of a test as a process with a log."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Any

from harness.machine import TIMEOUT, end_with_us, keep_port


class ServerProcess:
    """A process that is started any number of times with the same options, always on the same port.

    Its log is a file in a directory of the test. Subclasses set the command.
    """

    def __init__(self, directory: str, name: str) -> None:
        self.directory, self.name, self.log_path = directory, name, f"{directory}/{name}.log"
        self._holder = keep_port()
        self.port = int(self._holder.getsockname()[1])
        self.command: list[str] = []
        self.options: dict[str, Any] = {"cwd": directory, "stdin": subprocess.DEVNULL}
        self.process: subprocess.Popen[bytes] | None = None
        open(self.log_path, "ab").close()
        self._log = open(self.log_path, "rb")

    def start(self) -> None:
        """Starts the process; does not wait until it listens."""
        self._log.seek(0, os.SEEK_END)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True, preexec_fn=end_with_us, **self.options)

    def found(self, pattern: str) -> re.Match[str] | None:
        """The match in the next line of the log that has one; None if the process has not written such a line. No line is read twice."""
        while (line := self._log.readline()).endswith(b"\n"):
            if match := re.search(pattern, line.decode(errors="replace")):
                return match
        self._log.seek(-len(line), os.SEEK_CUR)
        return None

    def expect(self, pattern: str) -> re.Match[str]:
        """Waits for a line of the log that matches."""
        assert self.process is not None
        until = time.monotonic() + TIMEOUT
        while True:
            is_over = self.process.poll() is not None or time.monotonic() > until
            if match := self.found(pattern):
                return match
            if is_over:
                raise AssertionError(f"no line of {self.name} matches {pattern}, only:\n{self.log()}")
            time.sleep(0.01)

    def log(self) -> str:
        """The log so far, of all processes."""
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self) -> None:
        """Kills the process with SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        """Kills the process if it still exists, and frees its port."""
        self.kill()
        self._log.close()
        self._holder.close()
