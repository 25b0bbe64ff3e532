"""The chatterd processes, each on a separate port, which can be killed."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import pwd
import signal
import socket
import subprocess
from typing import Any

from harness.record import Record

FAILOVERS, RESCUES = 2, 1
"""Further requests for an answer that fails, before its first word and behind it."""
SETTINGS = {
    "CHATTERD_FAILOVER_ATTEMPTS": str(FAILOVERS),
    "CHATTERD_RESCUE_ATTEMPTS": str(RESCUES),
    "CHATTERD_SHARDS": "2",
    "CHATTERD_DISCONNECT_GRACE": "5s",
    "CHATTERD_KEEPALIVE": "1s",
    "CHATTERD_WRITE_TIMEOUT": "5s",
    "CHATTERD_UNSENT_LIMIT": "64KiB",
    "CHATTERD_UPSTREAM_SILENCE_TIMEOUT": "5s",
    "CHATTERD_SHUTDOWN_LIMIT": "2s",
    "CHATTERD_STORE_START_TIMEOUT": "10m",
    "CHATTERD_LOG_APPID": "plain",
}
"""Short limits, so that all of them are met in a run."""
LONG = dict.fromkeys((
    "CHATTERD_DISCONNECT_GRACE", "CHATTERD_WRITE_TIMEOUT", "CHATTERD_HEAD_TIMEOUT", "CHATTERD_BODY_TIMEOUT", "CHATTERD_IDLE_TIMEOUT",
    "CHATTERD_STORE_TIMEOUT", "CHATTERD_STORE_PATIENCE", "CHATTERD_STORE_START_TIMEOUT", "CHATTERD_UPSTREAM_FIRST_BYTE_TIMEOUT",
    "CHATTERD_UPSTREAM_SILENCE_TIMEOUT"), "10m") | {"CHATTERD_UPSTREAM_CONNECT_TIMEOUT": "5m"}
"""Limits that no pause of a process exceeds, for runs that test something else."""
TIMEOUT = 240.0
"""Timeout in seconds of events that must happen: far longer than they need on the busiest machine."""


def keep_port() -> socket.socket:
    """A free port. The system gives it to no other program while the socket exists."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def as_database_user() -> dict[str, Any]:
    """The options of a process that refuses to run as root, and does not write where it was started."""
    options: dict[str, Any] = {"cwd": "/", "stdin": subprocess.DEVNULL}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    return options


def die_with_us() -> None:
    """Makes the kernel kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Server:
    """One chatterd, which is started again on the same port after each kill."""

    def __init__(self, slot: int, program: str, scratch: str, conninfo: str, upstream: int, record: Record) -> None:
        self._holder = keep_port()
        self.slot, self.port = slot, int(self._holder.getsockname()[1])
        self.kills = 0
        # Grows when a process dies, stops or is frozen; odd meanwhile, because it accepts connections until it is dead.
        self.changes = 0
        self.failure_lock = asyncio.Lock()  # one injected failure at a time
        self._program, self._conninfo, self._upstream, self._record = program, conninfo, upstream, record
        self.log_path = f"{scratch}/chatterd.{slot}.log"
        self._log = open(self.log_path, "ab")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process; does not wait until it listens."""
        ours = ("PG", "CHATTERD_", "DATABASE_", "OLLAMA_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self._process = subprocess.Popen(
            [self._program, "serve"], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
            preexec_fn=die_with_us,
            env=kept | SETTINGS | {"CHATTERD_LISTEN": f"127.0.0.1:{self.port}", "DATABASE_URL": self._conninfo} | self.settings())

    def settings(self) -> dict[str, str]:
        """The settings of the model servers, the same for all, because the list is in the database.

        They state the context, so that chatterd does not mistake an empty answer for a conversation that is too long.
        """
        server = {"name": "scripted", "kind": "ollama", "url": f"http://127.0.0.1:{self._upstream}", "context": 1_000_000}
        return {"CHATTERD_UPSTREAMS": json.dumps([server])}

    async def wait_until_ready(self) -> None:
        """Waits until it accepts connections."""
        until = asyncio.get_running_loop().time() + TIMEOUT
        while asyncio.get_running_loop().time() < until:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise RuntimeError(f"chatterd {self.slot} does not start: see {self.log_path}")

    async def kill(self) -> None:
        """Kills the process with SIGKILL, and starts it again at once."""
        self.kills += 1
        self.changes += 1
        if (process := self._process) is not None:
            # No other task must find the process dead.
            self._process = None
            process.kill()
            await asyncio.to_thread(process.wait)
        self.changes += 1
        self.start()

    async def freeze(self, seconds: float) -> None:
        """Freezes the process for a while. It continues with its old state."""
        if self._process is None:
            return
        self.changes += 1
        self._process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._process.send_signal(signal.SIGCONT)
            self.changes += 1

    async def restart(self) -> None:
        """Stops the process with SIGTERM, as an update does, and restarts it."""
        self.kills += 1
        self.changes += 1
        process, self._process = self._process, None
        await self._terminate(process)
        self.changes += 1
        self.start()

    def look(self) -> None:
        """Notices that the process has ended although it was not killed, and restarts it."""
        if self._process is None or (status := self._process.poll()) is None:
            return
        self.kills += 1
        self.changes += 2
        self._record.violation("processes ended by themselves", "", f"chatterd {self.slot}: status {status}, see {self.log_path}")
        self.start()

    async def stop(self) -> None:
        """Stops the process with SIGTERM."""
        process, self._process = self._process, None
        await self._terminate(process)

    async def _terminate(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is None:
            return
        process.terminate()
        try:
            status = await asyncio.to_thread(process.wait, TIMEOUT)
        except subprocess.TimeoutExpired:
            self._record.violation("processes that do not stop", "", f"chatterd {self.slot}, {TIMEOUT:.0f} s after SIGTERM")
            process.kill()
            process.wait()
        else:
            if status != 0:
                self._record.violation("processes that do not stop", "", f"chatterd {self.slot}: status {status}, see {self.log_path}")

    def abandon(self) -> None:
        """Kills the process if it still exists."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._holder.close()
