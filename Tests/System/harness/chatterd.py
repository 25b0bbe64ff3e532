"""The program chatterd, as a process of a test."""

from __future__ import annotations

import os
import re
import subprocess
import time

from harness.machine import TIMEOUT, TOP, end_with_us, keep_port

PROGRAM = os.environ.get("CHATTERD", str(TOP / ".build/debug/chatterd"))
LONG = dict.fromkeys((
    "CHATTERD_DISCONNECT_GRACE", "CHATTERD_WRITE_TIMEOUT", "CHATTERD_HEAD_TIMEOUT", "CHATTERD_BODY_TIMEOUT", "CHATTERD_IDLE_TIMEOUT",
    "CHATTERD_STORE_TIMEOUT", "CHATTERD_STORE_PATIENCE", "CHATTERD_STORE_START_TIMEOUT", "CHATTERD_UPSTREAM_FIRST_BYTE_TIMEOUT",
    "CHATTERD_UPSTREAM_SILENCE_TIMEOUT"), "10m") | {"CHATTERD_UPSTREAM_CONNECT_TIMEOUT": "5m"}
"""Limits that no pause of a process exceeds, for tests that test something else."""
LISTENING = r"^listening on (http://\S+)"


class Chatterd:
    """A process that is started any number of times, in one directory and on one port, with the same settings.

    Without DATABASE_URL it has a private PostgreSQL in the directory (`serve --dev`). Its log is a file in the directory.
    """

    def __init__(self, directory: str, program: str = PROGRAM, name: str = "chatterd", **settings: str) -> None:
        self.directory, self.log_path = directory, f"{directory}/{name}.log"
        self._holder = keep_port()
        self.port = int(self._holder.getsockname()[1])
        self._settings = {"CHATTERD_LISTEN": f"127.0.0.1:{self.port}"} | settings
        self._command = [program, "serve"] if "DATABASE_URL" in settings else [program, "serve", "--dev"]
        open(self.log_path, "ab").close()
        self._log = open(self.log_path, "rb")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process; does not wait until it listens."""
        ours = ("PG", "CHATTERD_", "DATABASE_", "OLLAMA_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self._log.seek(0, os.SEEK_END)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self._command, cwd=self.directory, env=kept | self._settings, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_us)

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
                raise AssertionError(f"no line of chatterd matches {pattern}, only:\n{self.log()}")
            time.sleep(0.01)

    def log(self) -> str:
        """The log so far, of all processes."""
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self) -> None:
        """Kills the process with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Kills the process if it still exists, and frees its port."""
        if self.process is not None:
            self.kill()
        self._log.close()
        self._holder.close()


class Server(Chatterd):
    """A chatterd with a private PostgreSQL, which listens when it is made, for tests that block."""

    def __init__(self, directory: str, **settings: str) -> None:
        # No process listens on the discard port, so the built-in model answers.
        super().__init__(directory, **LONG | {"OLLAMA_URL": "http://127.0.0.1:9"} | settings)
        self.restart()

    def restart(self) -> None:
        """Starts the process, and waits until it listens."""
        self.start()
        try:
            self.url = self.expect(LISTENING).group(1)
        except AssertionError:
            self.kill()
            raise

    def stop(self) -> int:
        """Stops the process like a service manager, for ever; returns its status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(TIMEOUT)
        self.close()
        return status

    def rows(self, statement: str) -> list[str]:
        """The rows of a query to the private database, as a list of lines."""
        return self._read("psql", "-XqAt", "-c", statement).splitlines()

    def dump(self) -> str:
        """The whole content of the private database, as text."""
        return self._read("pg_dump", "--data-only")

    def _read(self, *command: str) -> str:
        database = f"host={self.directory}/.chatterd/postgres user=chatterd dbname=chatterd"
        return subprocess.run([*command, "-d", database], check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout
