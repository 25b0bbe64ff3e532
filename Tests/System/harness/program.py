"""A program of another project that listens on a port, as deploy/ configures it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from typing import Any

from harness.machine import TIMEOUT, TOP
from harness.server_process import ServerProcess


def configuration(name: str, changes: dict[str, str]) -> str:
    """A file of deploy/ with texts replaced, each of which must be there."""
    with open(TOP / "deploy" / name, encoding="utf-8") as file:
        text = file.read()
    for old, new in changes.items():
        if old not in text:
            raise RuntimeError(f"deploy/{name} does not hold {old!r}")
        text = text.replace(old, new)
    return text


class Program(ServerProcess):
    """A program that listens on its port of 127.0.0.1."""

    async def launch(self, command: list[str], **options: Any) -> None:
        """Starts it, and waits until it accepts connections."""
        self.command, self.options = command, self.options | options
        self.start()
        assert self.process is not None
        until = asyncio.get_running_loop().time() + TIMEOUT
        while asyncio.get_running_loop().time() < until and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"{self.name} does not start: see {self.log_path}")

    def stop(self) -> None:
        """Ends it in order, or at once if that takes long."""
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        self.close()
