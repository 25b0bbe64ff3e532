"""A PostgreSQL of the run's own, which can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
from typing import Any, AsyncIterator

from processes import PATIENCE, die_with_us


def home() -> str:
    """The directory of PostgreSQL's programs; Debian keeps them beside PATH."""
    versions = sorted(os.listdir("/usr/lib/postgresql"), key=int) if os.path.isdir("/usr/lib/postgresql") else []
    return f"/usr/lib/postgresql/{versions[-1]}/bin" if versions else os.path.dirname(shutil.which("initdb") or "")


class Cluster:
    """A server on a unix socket in a private directory."""

    def __init__(self, scratch: str) -> None:
        self.directory = f"{scratch}/postgres"
        self.conninfo = f"host={self.directory} user=postgres dbname=chaos"
        self._programs = home()
        self._log = open(f"{scratch}/postgres.log", "ab")
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: dict[str, Any] = {"cwd": "/", "stdin": subprocess.DEVNULL}
        os.makedirs(f"{self.directory}/data", 0o700)
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chmod(scratch, 0o711)
            for path in (self.directory, f"{self.directory}/data"):
                os.chown(path, user.pw_uid, user.pw_gid)
            self._as_user.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])

    async def make(self) -> None:
        """Makes the data directory and the database, and starts the server."""
        command = [f"{self._programs}/initdb", "-D", f"{self.directory}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                   "--no-locale", "--no-sync"]
        await asyncio.to_thread(subprocess.run, command, check=True, stdout=self._log, stderr=self._log, **self._as_user)
        await self.start()
        await self.run("CREATE DATABASE chaos", "postgres")

    async def start(self) -> None:
        """Starts the server, as often as it takes, and waits until it answers."""
        settings = {
            "listen_addresses": "", "unix_socket_directories": self.directory, "max_connections": 100,
            "shared_buffers": "64MB", "dynamic_shared_memory_type": "mmap", "fsync": "off", "max_parallel_workers": 0,
            "log_min_messages": "warning", "timezone": "UTC", "max_wal_size": "1GB",
        }
        command = [f"{self._programs}/postgres", "-D", f"{self.directory}/data"]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        until = asyncio.get_running_loop().time() + PATIENCE
        while asyncio.get_running_loop().time() < until:
            # After a kill its children hold the shared memory for a moment; then a new one refuses to start.
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    command, stdout=self._log, stderr=self._log, start_new_session=True, preexec_fn=die_with_us, **self._as_user)
            await asyncio.sleep(0.05)
            if self._process.poll() is None and await self._answers():
                return
        raise RuntimeError("PostgreSQL does not start: see postgres.log")

    async def _answers(self) -> bool:
        probe = await asyncio.create_subprocess_exec(f"{self._programs}/pg_isready", "-q", "-h", self.directory, "-U", "postgres")
        return await probe.wait() == 0

    async def kill(self) -> None:
        """Kills the postmaster with SIGKILL, and starts another one."""
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        await self.start()

    async def kill_backend(self, number: int) -> bool:
        """Kills a backend that serves chatterd with SIGKILL: the postmaster then ends all others, and recovers."""
        try:
            found = await self.rows("SELECT pid FROM pg_stat_activity WHERE datname = 'chaos' AND pid <> pg_backend_pid()")
        except RuntimeError:
            return False
        if not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(found[number % len(found)]["pid"], signal.SIGKILL)
        return True

    def stop(self) -> None:
        """Stops the server for good."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._log.close()

    def _psql(self, database: str) -> list[str]:
        conninfo = f"host={self.directory} user=postgres dbname={database} client_encoding=UTF8"
        return [f"{self._programs}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo]

    async def run(self, statement: str, database: str = "chaos") -> bytes:
        """What psql prints."""
        process = await asyncio.create_subprocess_exec(
            *self._psql(database), "-c", statement, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(errors.decode(errors="replace").strip())
        return output

    async def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        output = await self.run(f"SELECT row_to_json(r) FROM ({query}) r")
        return [json.loads(line) for line in output.decode().split("\n") if line]

    async def stream(self, query: str) -> AsyncIterator[dict[str, Any]]:
        """The rows of a query one by one, however many they are."""
        process = await asyncio.create_subprocess_exec(
            *self._psql("chaos"), "-v", "FETCH_COUNT=200", "-c", f"SELECT row_to_json(r) FROM ({query}) r",
            stdout=asyncio.subprocess.PIPE, limit=1 << 28)
        assert process.stdout is not None
        while line := await process.stdout.readline():
            yield json.loads(line)
        if await process.wait() != 0:
            raise RuntimeError(f"psql failed at: {query}")
