"""A separate PostgreSQL for the run, with a standby if requested: it can be killed, stopped for a while, and replaced by its standby."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
from typing import Any

from harness.database import Database
from harness.machine import TIMEOUT, as_database_user, end_with_us

SETTINGS = {
    "listen_addresses": "", "max_connections": 100, "shared_buffers": "64MB", "dynamic_shared_memory_type": "mmap", "fsync": "off",
    "max_parallel_workers": 0, "log_min_messages": "warning", "timezone": "UTC", "max_wal_size": "1GB",
    "wal_retrieve_retry_interval": "200ms",
}


def home() -> str:
    """The directory of PostgreSQL's programs; Debian keeps them beside PATH."""
    versions = sorted(os.listdir("/usr/lib/postgresql"), key=int) if os.path.isdir("/usr/lib/postgresql") else []
    return f"/usr/lib/postgresql/{versions[-1]}/bin" if versions else os.path.dirname(shutil.which("initdb") or "")


class Node:
    """One server on a unix socket in a private directory."""

    def __init__(self, directory: str, log: Any) -> None:
        self.directory, self.data = directory, f"{directory}/data"
        self._log = log
        self._programs = home()
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user = as_database_user()
        os.makedirs(self.data, 0o700)
        for path in (self.directory, self.data):
            os.chown(path, self._as_user.get("user", -1), self._as_user.get("group", -1))

    async def make(self) -> None:
        """Creates an empty data directory."""
        await self._run(f"{self._programs}/initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
                        "--no-sync")

    async def copy(self, primary: Node, as_standby: bool = True) -> None:
        """Turns the data directory into a base backup of another server: that of its standby, or of a server of its own."""
        await asyncio.to_thread(shutil.rmtree, self.data)
        standby = ["-R"] if as_standby else []
        await self._run(f"{self._programs}/pg_basebackup", "-D", self.data, "-h", primary.directory, "-U", "postgres", *standby,
                        "--checkpoint=fast", "--no-sync")

    async def _run(self, *command: str) -> None:
        await asyncio.to_thread(subprocess.run, command, check=True, stdout=self._log, stderr=self._log, **self._as_user)

    async def start(self, socket: str = "") -> None:
        """Starts the server, with retries, and waits until it answers; its socket may be in another directory."""
        socket = socket or self.directory
        command = [f"{self._programs}/postgres", "-D", self.data, "-c", f"unix_socket_directories={socket}"]
        for name, value in SETTINGS.items():
            command += ["-c", f"{name}={value}"]
        until = asyncio.get_running_loop().time() + TIMEOUT
        while asyncio.get_running_loop().time() < until:
            # After a kill its children hold the shared memory for a moment; then a new one refuses to start.
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    command, stdout=self._log, stderr=self._log, start_new_session=True,
                    # It ends at once, and removes its shared memory.
                    preexec_fn=functools.partial(end_with_us, signal.SIGQUIT), **self._as_user)
            await asyncio.sleep(0.05)
            if self._process.poll() is None and await self._answers(socket):
                return
        raise RuntimeError("PostgreSQL does not start: see postgres.log")

    async def _answers(self, socket: str) -> bool:
        probe = await asyncio.create_subprocess_exec(f"{self._programs}/pg_isready", "-q", "-h", socket, "-U", "postgres")
        return await probe.wait() == 0

    def configure(self, **settings: str) -> None:
        """Changes settings that the server reads again without a restart."""
        path = f"{self.data}/postgresql.auto.conf"
        with open(path, encoding="utf-8") as file:
            kept = [line for line in file if line.split("=")[0].strip() not in settings]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(kept + [f"{name} = '{value}'\n" for name, value in settings.items()])
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def signal(self, number: int) -> None:
        """Sends a signal to all its processes. The postmaster is stopped before the others, so that it starts no further
        process, and killed after them, so that none remains without it.
        """
        if self._process is None or self._process.poll() is not None:
            return
        if number == signal.SIGSTOP:
            self._process.send_signal(number)
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, IndexError):
                if entry.isdigit():
                    with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                        if int(file.read().rpartition(")")[2].split()[1]) == self._process.pid:
                            os.kill(int(entry), number)
        if number != signal.SIGSTOP:
            self._process.send_signal(number)

    async def kill(self) -> None:
        """Kills the postmaster with SIGKILL; its children end a little later."""
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def kill_all(self) -> None:
        """Kills all its processes at the same time, so that none of them commits afterwards."""
        self.signal(signal.SIGSTOP)
        self.signal(signal.SIGKILL)
        await self.kill()

    def stop(self) -> None:
        """Stops the server permanently."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def psql(self, database: str, socket: str = "") -> list[str]:
        """The psql command for this server."""
        conninfo = f"host={socket or self.directory} user=postgres dbname={database} client_encoding=UTF8"
        return [f"{self._programs}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo]


class Cluster(Database):
    """The server that chatterd uses, and its standby, if there is one: `none`, `sync` or `async`."""

    def __init__(self, scratch: str, standby: str = "none") -> None:
        super().__init__()
        self._log = open(f"{scratch}/postgres.log", "ab")
        self._scratch = scratch
        self._is_synchronous = standby == "sync"
        self.primary = Node(f"{scratch}/postgres", self._log)
        self.standby = None if standby == "none" else Node(f"{scratch}/standby", self._log)
        hosts = ",".join(node.directory for node in (self.primary, self.standby) if node)
        self.conninfo = f"host={hosts} user=postgres dbname=chaos"
        if self.standby is not None:
            self.conninfo += " target_session_attrs=read-write connect_timeout=5"
        self.is_lossy = standby == "async"
        self.failure_lock = asyncio.Lock()  # one injected failure at a time

    async def make(self) -> None:
        """Creates the data directory and the database, and starts the server and its standby."""
        await self.primary.make()
        await self.primary.start()
        await self.run("CREATE DATABASE chaos", "postgres")
        if self.standby is not None:
            await self._add_standby()

    async def kill(self) -> None:
        """Kills the postmaster with SIGKILL, and starts another one."""
        await self.primary.kill()
        await self.primary.start()

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

    async def freeze(self, seconds: float) -> None:
        """Stops all processes of the server for a while, like a machine that swaps or migrates."""
        self.primary.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.primary.signal(signal.SIGCONT)

    async def fail_over(self, lag: float, gap: float) -> None:
        """Kills the server permanently and promotes its standby `gap` seconds later; then creates another standby.

        Before that the standby is frozen for `lag` seconds: a synchronous standby blocks all commits meanwhile, an asynchronous
        one misses them.
        """
        assert self.standby is not None
        self.standby.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(lag)
            if self.is_lossy:
                await self.primary.kill_all()
        finally:
            self.standby.signal(signal.SIGCONT)
        if not self.is_lossy:
            await self.primary.kill_all()
        await asyncio.sleep(gap)
        self.standby.configure(synchronous_standby_names="")
        self.primary, self.standby = self.standby, self.primary
        await self.run("SELECT pg_promote(true, 240)", "postgres")
        if self.is_lossy:
            await self._remember_lost(self.standby)
        await self._add_standby()

    async def _remember_lost(self, node: Node) -> None:
        """Reads the last commits of a dead server, at a socket that no other program can reach."""
        socket = f"{node.directory}/lost"
        os.makedirs(socket, exist_ok=True)
        os.chmod(socket, 0o777)
        await node.start(socket)
        recent = "SELECT * FROM chatts WHERE greatest(time, finished) > now() - interval '5 minutes'"
        rows = await self._query(node.psql("chaos", socket), f"SELECT row_to_json(r) FROM ({recent}) r")
        self.lost += [json.loads(line) for line in rows.decode().split("\n") if line]
        await node.kill_all()

    async def _add_standby(self) -> None:
        assert self.standby is not None
        await self.standby.copy(self.primary)
        await self.standby.start()
        await self._wait_for_standby("streaming")
        if self._is_synchronous:
            self.primary.configure(synchronous_standby_names="*")
            await self._wait_for_standby("sync")

    async def _wait_for_standby(self, state: str) -> None:
        until = asyncio.get_running_loop().time() + TIMEOUT
        while asyncio.get_running_loop().time() < until:
            with contextlib.suppress(RuntimeError):
                found = await self.rows("SELECT state, sync_state FROM pg_stat_replication", "postgres")
                if any(state in row.values() for row in found):
                    return
            await asyncio.sleep(0.1)
        raise RuntimeError("the standby does not follow: see postgres.log")

    def stop(self) -> None:
        """Stops the servers permanently."""
        for node in (self.primary, self.standby):
            if node is not None:
                node.stop()
        self._log.close()

    def psql(self, database: str = "") -> list[str]:
        """The psql command for the primary."""
        return self.primary.psql(database or "chaos")
