"""A program of another project that listens on a port, as deploy/ configures it."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
from typing import Any

from harness.machine import TIMEOUT, end_with_us, keep_port
from harness.machine import TOP


def configuration(name: str, changes: dict[str, str]) -> str:
    """A file of deploy/ with texts replaced, each of which must be there."""
    with open(TOP / "deploy" / name, encoding="utf-8") as file:
        text = file.read()
    for old, new in changes.items():
        if old not in text:
            raise RuntimeError(f"deploy/{name} does not hold {old!r}")
        text = text.replace(old, new)
    return text


class Program:
    """A program that listens on a port of 127.0.0.1 and logs to a file."""

    def __init__(self, name: str, scratch: str) -> None:
        self._holder = keep_port()
        self.name, self.port = name, int(self._holder.getsockname()[1])
        self.log_path = f"{scratch}/{name}.log"
        self._log = open(self.log_path, "ab")
        self._process: subprocess.Popen[bytes] | None = None

    async def launch(self, command: list[str], **options: Any) -> None:
        """Starts it, and waits until it accepts connections."""
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, start_new_session=True, preexec_fn=end_with_us,
            **{"stdin": subprocess.DEVNULL} | options)
        until = asyncio.get_running_loop().time() + TIMEOUT
        while asyncio.get_running_loop().time() < until and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.name} does not start: see {self.log_path}")

    def log(self) -> str:
        """The log so far."""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self) -> None:
        """Ends it at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self._log.close()
        self._holder.close()
