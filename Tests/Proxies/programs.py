"""nginx, HAProxy and PgBouncer as deploy/ configures them, on separate ports."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import socket
import subprocess
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(HERE, "..", "..", "deploy")
sys.path.append(os.path.join(HERE, "..", "Chaos"))

from cluster import Cluster  # noqa: E402
from processes import TIMEOUT, die_with_us, keep_port  # noqa: E402


def configuration(name: str, changes: dict[str, str]) -> str:
    """A file of deploy/ with texts replaced, each of which must be there."""
    with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
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
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True, preexec_fn=die_with_us,
            **options)
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


def servers(ports: list[int]) -> dict[str, str]:
    """The changes that replace the ports in deploy/ by those of the processes."""
    return {f"127.0.0.1:{8081 + index}": f"127.0.0.1:{port}" for index, port in enumerate(ports)}


class Nginx(Program):
    """nginx with deploy/nginx.conf."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__("nginx", scratch)
        self._program, self._home = program, f"{scratch}/nginx"
        os.makedirs(self._home)

    async def start(self, ports: list[int]) -> None:
        """Starts it in front of the processes on these ports."""
        site = configuration("nginx.conf", servers(ports) | {"listen 80;": f"listen 127.0.0.1:{self.port};"})
        paths = "".join(f"{name}_temp_path {self._home}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self._home}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"daemon off; worker_processes 2; pid {self._home}/pid; error_log stderr info;\n"
                       + ("user root;\n" if os.geteuid() == 0 else "")
                       + f"events {{ worker_connections 4096; }}\nhttp {{ access_log off; {paths}\n{site}\n}}\n")
        await self.launch([self._program, "-p", self._home, "-c", f"{self._home}/nginx.conf", "-e", "stderr"])


class HAProxy(Program):
    """HAProxy with deploy/haproxy.cfg."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__("haproxy", scratch)
        self._program, self._file = program, f"{scratch}/haproxy.cfg"

    async def start(self, ports: list[int]) -> None:
        """Starts it in front of the processes on these ports."""
        changes = servers(ports) | {"bind :80\n": f"bind 127.0.0.1:{self.port}\n"}
        with open(self._file, "w", encoding="utf-8") as file:
            file.write(configuration("haproxy.cfg", changes))
        await self.launch([self._program, "-db", "-f", self._file])


class PgBouncer(Program):
    """PgBouncer with deploy/pgbouncer.ini, in front of a cluster without passwords."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__("pgbouncer", scratch)
        self._program, self._scratch = program, scratch

    async def start(self, directory: str, database: str) -> None:
        """Starts it in front of a database of the cluster whose socket is in `directory`."""
        users = f"{directory}/users"
        with open(users, "w", encoding="utf-8") as file:
            file.write('"postgres" ""\n')
        changes = {
            "conversations = host=127.0.0.1 port=5432 dbname=conversations": f"{database} = host={directory} dbname={database}",
            "listen_port = 6432": f"listen_port = {self.port}\nunix_socket_dir =",
            "auth_type = scram-sha-256": "auth_type = trust",
            "/etc/pgbouncer/userlist.txt": users,
        }
        path = f"{directory}/pgbouncer.ini"
        with open(path, "w", encoding="utf-8") as file:
            file.write(configuration("pgbouncer.ini", changes))
        options: dict[str, Any] = {"cwd": "/"}
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
        await self.launch([self._program, path], **options)


class PooledCluster(Cluster):
    """A PostgreSQL that chatterd reaches through PgBouncer alone."""

    program = ""
    """The path of PgBouncer."""

    def __init__(self, scratch: str, standby: str = "none") -> None:
        super().__init__(scratch, standby)
        self.pooler = PgBouncer(self.program, scratch)
        self.conninfo = f"host=127.0.0.1 port={self.pooler.port} user=postgres dbname=chaos sslmode=disable"

    async def make(self) -> None:
        """Makes the cluster, and starts PgBouncer."""
        await super().make()
        await self.pooler.start(self.primary.directory, "chaos")

    def stop(self) -> None:
        """Stops both permanently."""
        self.pooler.stop()
        super().stop()
