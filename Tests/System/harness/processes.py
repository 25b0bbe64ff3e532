"""The chatterd processes of a run, which is asynchronous: they are killed, stopped for a while and replaced."""

from __future__ import annotations

import asyncio
import signal
import subprocess

from harness.chatterd import LISTENING, Chatterd
from harness.machine import TIMEOUT
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


class Process(Chatterd):
    """One chatterd on the database of the run, which is started again on the same port after each kill."""

    def __init__(self, slot: int, program: str, directory: str, conninfo: str, record: Record, **settings: str) -> None:
        super().__init__(directory, program, f"chatterd.{slot}", **SETTINGS | {"DATABASE_URL": conninfo} | settings)
        self.slot, self.kills = slot, 0
        # Grows when a process dies, stops or is frozen; odd meanwhile, because it accepts connections until it is dead.
        self.changes = 0
        self.failure_lock = asyncio.Lock()  # one injected failure at a time
        self._record = record

    async def wait_until_ready(self) -> None:
        """Waits until it accepts connections."""
        until = asyncio.get_running_loop().time() + TIMEOUT
        while not self.found(LISTENING):
            if asyncio.get_running_loop().time() > until or self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"chatterd {self.slot} does not start: see {self.log_path}")
            await asyncio.sleep(0.05)

    async def replace(self) -> None:
        """Kills the process with SIGKILL, and starts another one at once."""
        self.kills += 1
        self.changes += 1
        if (process := self.process) is not None:
            # No other task must find the process dead.
            self.process = None
            process.kill()
            await asyncio.to_thread(process.wait)
        self.changes += 1
        self.start()

    async def freeze(self, seconds: float) -> None:
        """Freezes the process for a while. It continues with its old state."""
        if self.process is None:
            return
        self.changes += 1
        self.process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.process.send_signal(signal.SIGCONT)
            self.changes += 1

    async def restart(self) -> None:
        """Stops the process with SIGTERM, as an update does, and restarts it."""
        self.kills += 1
        self.changes += 1
        process, self.process = self.process, None
        await self._terminate(process)
        self.changes += 1
        self.start()

    def look(self) -> None:
        """Notices that the process has ended although it was not killed, and restarts it."""
        if self.process is None or (status := self.process.poll()) is None:
            return
        self.kills += 1
        self.changes += 2
        self._record.violation("processes ended by themselves", "", f"chatterd {self.slot}: status {status}, see {self.log_path}")
        self.start()

    async def stop(self) -> None:
        """Stops the process with SIGTERM."""
        process, self.process = self.process, None
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
