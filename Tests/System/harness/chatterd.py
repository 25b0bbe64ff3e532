"""The program chatterd, as a process of a test."""

from __future__ import annotations

import os
import subprocess

from harness.machine import TIMEOUT, TOP
from harness.server_process import ServerProcess

PROGRAM = os.environ.get("CHATTERD", str(TOP / ".build/debug/chatterd"))
LONG = dict.fromkeys((
    "CHATTERD_DISCONNECT_GRACE", "CHATTERD_WRITE_TIMEOUT", "CHATTERD_HEAD_TIMEOUT", "CHATTERD_BODY_TIMEOUT", "CHATTERD_IDLE_TIMEOUT",
    "CHATTERD_STORE_TIMEOUT", "CHATTERD_STORE_PATIENCE", "CHATTERD_STORE_START_TIMEOUT", "CHATTERD_UPSTREAM_FIRST_BYTE_TIMEOUT",
    "CHATTERD_UPSTREAM_SILENCE_TIMEOUT"), "10m") | {"CHATTERD_UPSTREAM_CONNECT_TIMEOUT": "5m"}
"""Limits that no pause of a process exceeds, for tests that test something else."""
LISTENING = r"^listening on (http://\S+)"


class Chatterd(ServerProcess):
    """A chatterd. Without DATABASE_URL it has a private PostgreSQL in the directory (`serve --dev`)."""

    def __init__(self, directory: str, program: str = PROGRAM, name: str = "chatterd", **settings: str) -> None:
        super().__init__(directory, name)
        self.command = [program, "serve"] if "DATABASE_URL" in settings else [program, "serve", "--dev"]
        ours = ("PG", "CHATTERD_", "DATABASE_", "OLLAMA_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.options["env"] = kept | {"CHATTERD_LISTEN": f"127.0.0.1:{self.port}"} | settings


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
