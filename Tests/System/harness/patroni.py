"""Three nodes of PostgreSQL with Patroni and etcd, and HAProxy in front of them, with the files of deploy/patroni."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable

from harness.cleaner import workers
from harness.cluster import home
from harness.database import Database
from harness.machine import TIMEOUT, TOP, as_database_user, keep_port
from harness.program import Program, configuration
from harness.server_process import ServerProcess

NAMES = ("db1", "db2", "db3")
DATABASE = "chatterd"
ROLE, SUPERUSER, ADMINISTRATOR = ("chatterd", "change-me-chatterd"), ("postgres", "change-me-postgres"), ("patroni", "change-me-patroni")
"""Names and passwords in deploy/patroni."""
PYTHON = "/usr/bin/python3"
"""A Python that PostgreSQL's user may run. The packages are of Python alone, so its version may be another one than that of pip."""
PATIENCE = 3.0
"""Seconds for an answer of Patroni: a frozen node gives none."""


@dataclass(frozen=True)
class Programs:
    """The paths of programs of other projects."""

    etcd: str
    haproxy: str
    packages: str  # the folder of Python's packages, with Patroni


class PatroniNode:
    """A machine with etcd, Patroni and PostgreSQL. The processes of PostgreSQL are found by their working directory."""

    def __init__(self, name: str, scratch: str) -> None:
        self.name, self.directory = name, f"{scratch}/{name}"
        self.etcd, self.patroni = ServerProcess(scratch, f"{name}.etcd"), ServerProcess(scratch, f"{name}.patroni")
        self._holders = [keep_port(), keep_port()]
        self.etcd_peer_port, self.postgres_port = (int(holder.getsockname()[1]) for holder in self._holders)
        self.is_away = False
        os.makedirs(self.directory, 0o700)
        user = as_database_user()
        os.chown(self.directory, user.get("user", -1), user.get("group", -1))

    def configure(self, nodes: list[PatroniNode], programs: Programs) -> None:
        """Writes the files of deploy/patroni with the addresses and directories of the run."""
        options = as_database_user() | {"cwd": self.directory}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "PATRONI", "ETCD"))}
        peers, clients = "http://10.0.0.1:2380", "http://10.0.0.1:2379"
        etcd = configuration("patroni/etcd", {
            "INITIAL_CLUSTER=" + ",".join(f"{name}=http://10.0.0.{number}:2380" for number, name in enumerate(NAMES, 1)):
                "INITIAL_CLUSTER=" + ",".join(f"{node.name}=http://127.0.0.1:{node.etcd_peer_port}" for node in nodes),
            "NAME=db1": f"NAME={self.name}", peers: f"http://127.0.0.1:{self.etcd_peer_port}", clients: f"http://127.0.0.1:{self.etcd.port}",
            "/var/lib/etcd/chatterd": f"{self.directory}/etcd"})
        variables = dict(line.split("=", 1) for line in etcd.splitlines() if line and not line.startswith("#"))
        self.etcd.command = [programs.etcd]
        self.etcd.options = options | {"env": environment | variables}
        statements, file = f"{self.directory}/chatterd.sql", f"{self.directory}/patroni.yml"
        patroni = configuration("patroni/patroni.yml", {
            "10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379": ",".join(f"127.0.0.1:{node.etcd.port}" for node in nodes),
            "name: db1": f"name: {self.name}", "10.0.0.1:8008": f"127.0.0.1:{self.patroni.port}",
            "10.0.0.1:5432": f"127.0.0.1:{self.postgres_port}", "10.0.0.0/24": "127.0.0.0/8", "/etc/patroni/chatterd.sql": statements,
            "/usr/lib/postgresql/15/bin": home(), "/var/lib/postgresql/15/chatterd": f"{self.directory}/data",
            "/var/lib/postgresql/.pgpass-patroni": f"{self.directory}/pgpass", "/var/run/postgresql": self.directory,
            # A frozen node must not restart the machine of the test.
            "mode: automatic": "mode: off"})
        for path, text in ((file, patroni), (statements, configuration("patroni/chatterd.sql", {}))):
            with open(path, "w", encoding="utf-8") as written:
                written.write(text)
            os.chmod(path, 0o644)
        self.patroni.command = [PYTHON, "-B", "-m", "patroni", file]
        self.patroni.options = options | {"env": environment | {"PYTHONPATH": programs.packages}}

    def start(self) -> None:
        """Starts etcd and Patroni, which starts PostgreSQL."""
        self.etcd.start()
        self.patroni.start()
        self.is_away = False

    # --- its processes

    def processes(self) -> list[int]:
        """All of them, those of PostgreSQL included."""
        return workers([self.directory])

    def freeze(self) -> None:
        """Stops all processes, also those that others start meanwhile."""
        self.is_away = True
        stopped: set[int] = set()
        while left := set(self.processes()) - stopped:
            self._signal(left, signal.SIGSTOP)
            stopped |= left

    def fall_behind(self) -> None:
        """Stops all processes, and ends the one that receives commits: what the leader confirms from here on never arrives."""
        self.freeze()
        for process in self.processes():
            with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as file:
                if b"walreceiver" in file.read():
                    self._signal([process], signal.SIGTERM)
                    self._signal([process], signal.SIGCONT)

    def proceed(self) -> None:
        """Continues all processes after `freeze` or `fall_behind`."""
        self._signal(self.processes(), signal.SIGCONT)
        self.is_away = False

    def kill(self) -> None:
        """Kills all processes with SIGKILL, as the loss of the machine does: none of them does anything afterwards."""
        self.freeze()
        self._signal(self.processes(), signal.SIGKILL)
        for program in (self.patroni, self.etcd):
            program.kill()

    def kill_postgres(self) -> None:
        """Kills PostgreSQL with SIGKILL. Its other processes end when they notice that."""
        with open(f"{self.directory}/data/postmaster.pid", encoding="utf-8") as file:
            self._signal([int(file.readline())], signal.SIGKILL)

    def signal_etcd(self, number: int) -> None:
        """Sends a signal to etcd alone."""
        if self.etcd.process is not None:
            self.etcd.process.send_signal(number)

    @staticmethod
    def _signal(processes: Any, number: int) -> None:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def stop(self) -> None:
        """Ends all processes permanently: PostgreSQL in order, because it then removes its shared memory."""
        self.proceed()
        if self.patroni.process is not None:
            self.patroni.process.terminate()

    def close(self) -> None:
        """Ends what is left after `stop`."""
        if self.patroni.process is not None:
            with contextlib.suppress(Exception):
                self.patroni.process.wait(30)
        for program in (self.patroni, self.etcd):
            program.close()
        self._signal(self.processes(), signal.SIGKILL)
        for holder in self._holders:
            holder.close()

    # --- Patroni's API

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the document of an answer; status 0 without one."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.patroni.port}{path}", None if body is None else json.dumps(body).encode())
        if body is not None:
            request.add_header("Authorization", "Basic " + base64.b64encode(":".join(ADMINISTRATOR).encode()).decode())
            request.add_header("Content-Type", "application/json")
        try:
            # A change is answered when it is done.
            with urllib.request.urlopen(request, timeout=PATIENCE if body is None else TIMEOUT) as answer:
                status, data = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, data = error.code, error.read()
        except OSError:
            return 0, {}
        try:
            return status, json.loads(data)
        except ValueError:
            return status, data.decode(errors="replace")


@dataclass(frozen=True)
class Leader:
    """The node that leads, and since when."""

    node: PatroniNode
    since: str  # the start of its PostgreSQL


class PatroniCluster(Database):
    """The cluster of the nodes. A process of chatterd reaches it with `conninfo`, a list of hosts, or with `proxied`, through HAProxy."""

    def __init__(self, scratch: str, programs: Programs) -> None:
        super().__init__()
        self._scratch = scratch
        self.nodes = [PatroniNode(name, scratch) for name in NAMES]
        self._proxy = Program(scratch, "haproxy")
        hosts = ",".join(f"127.0.0.1:{node.postgres_port}" for node in self.nodes)
        role = ":".join(ROLE)
        self.conninfo = f"postgresql://{role}@{hosts}/{DATABASE}?target_session_attrs=read-write&connect_timeout=2"
        self.proxied = f"postgresql://{role}@127.0.0.1:{self._proxy.port}/{DATABASE}?target_session_attrs=read-write&connect_timeout=2"
        # PostgreSQL's user may not read the home of the one who runs this.
        self._programs = Programs(programs.etcd, programs.haproxy, f"{scratch}/packages")
        shutil.copytree(programs.packages, self._programs.packages, ignore=shutil.ignore_patterns("pip", "setuptools"))
        pathlib.Path(self._programs.packages).chmod(0o755)

    async def make(self) -> None:
        """Starts the nodes and HAProxy, and waits until the cluster is whole."""
        for node in self.nodes:
            node.configure(self.nodes, self._programs)
            node.start()
        await self.whole()
        changes = {"bind 127.0.0.1:5000": f"bind 127.0.0.1:{self._proxy.port}", "check port 8008 inter": "check inter"}
        for number, node in enumerate(self.nodes, 1):
            address = f"10.0.0.{number}:5432"
            changes[address] = f"127.0.0.1:{node.postgres_port} port {node.patroni.port}"
        file = f"{self._scratch}/haproxy.cfg"
        with open(file, "w", encoding="utf-8") as written:
            written.write(configuration("patroni/haproxy.cfg", changes))
        await self._proxy.launch([self._programs.haproxy, "-db", "-f", file])
        # At first HAProxy takes all of them for the leader.
        downs = 0

        async def is_settled() -> bool:
            nonlocal downs
            downs += self._proxy.found(r"Server postgresql/\w+ is DOWN") is not None
            return downs >= len(self.nodes) - 1

        await self._until(is_settled, "HAProxy does not find the standbys")

    def stop(self) -> None:
        """Ends all processes permanently."""
        self._proxy.stop()
        for node in self.nodes:
            node.stop()
        for node in self.nodes:
            node.close()

    def psql(self, database: str = "") -> list[str]:
        """The psql command for the leader."""
        ports = ",".join(str(node.postgres_port) for node in self.nodes)
        name, password = SUPERUSER
        conninfo = (f"host=127.0.0.1,127.0.0.1,127.0.0.1 port={ports} user={name} password={password} dbname={database or DATABASE} "
                    "target_session_attrs=read-write connect_timeout=10 client_encoding=UTF8")
        return [f"{home()}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo]

    # --- who leads

    async def leader(self, but: PatroniNode | None = None) -> Leader:
        """The node that leads, which is waited for; another one than `but`, if there is one."""
        found: list[Leader] = []

        async def is_found() -> bool:
            for node in self.nodes:
                if node is not but and not node.is_away:
                    status, said = await asyncio.to_thread(node.ask, "/primary")
                    if status == 200 and not node.is_away:
                        found.append(Leader(node, said["postmaster_start_time"]))
                        return True
            return False

        await self._until(is_found, "no node leads")
        return found[0]

    async def whole(self, after: Leader | None = None) -> Leader:
        """Waits until one node leads and two follow it, one of them synchronously; until another node leads than before, or the same one
        after a new start."""
        found: list[Leader] = []

        async def is_whole() -> bool:
            said = [(await asyncio.to_thread(node.ask, "/patroni"))[1] for node in self.nodes]
            leaders = [Leader(node, one["postmaster_start_time"]) for node, one in zip(self.nodes, said)
                       if one.get("role") == "primary" and one.get("state") == "running"]
            followers = [one for one in said if one.get("replication_state") == "streaming"]
            is_safe = any(one.get("sync_standby") for one in followers)
            if len(leaders) != 1 or len(followers) != len(self.nodes) - 1 or not is_safe or leaders[0] == after:
                return False
            found.append(leaders[0])
            return True

        await self._until(is_whole, "the cluster does not become whole")
        return found[0]

    async def switch_over(self, leader: Leader) -> None:
        """Has the synchronous standby lead in place of the leader, as an operator does before an update."""
        async def is_done() -> bool:
            # Patroni refuses it while the cluster is busy.
            await asyncio.to_thread(leader.node.ask, "/switchover", {"leader": leader.node.name})
            return (await self.leader()).node is not leader.node

        await self._until(is_done, "Patroni refuses the switchover")

    def freeze_etcd(self) -> None:
        """Stops etcd on all nodes."""
        for node in self.nodes:
            node.signal_etcd(signal.SIGSTOP)

    def proceed_etcd(self) -> None:
        """Continues etcd after `freeze_etcd`."""
        for node in self.nodes:
            node.signal_etcd(signal.SIGCONT)

    @staticmethod
    async def _until(condition: Callable[[], Any], failure: str) -> None:
        until = asyncio.get_running_loop().time() + TIMEOUT
        while not await condition():
            if asyncio.get_running_loop().time() > until:
                raise RuntimeError(f"{failure}: see the logs of Patroni")
            await asyncio.sleep(0.1)
