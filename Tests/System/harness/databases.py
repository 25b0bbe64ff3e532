"""A PostgreSQL whose databases have faults, and a disk that is soon full."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any

from harness import background
from harness.cluster import Node
from harness.machine import TIMEOUT, as_database_user

OWNER = "chat_owner"
"""The role of DATABASE_URL, which is no superuser."""


class DatabaseServer:
    """A cluster with databases that OWNER owns, and the roles of chatterd."""

    def __init__(self, directory: str) -> None:
        self._log = open(f"{directory}/postgres.log", "ab")
        self.node = Node(f"{directory}/postgres", self._log)
        self._count = 0
        background.run(self.node.make())
        background.run(self.node.start())
        self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")

    def stop(self) -> None:
        self.node.stop()
        self._log.close()

    def make_database(self, options: str = "") -> str:
        """Makes an empty database, and returns its name."""
        self._count += 1
        name = f"chat{self._count}"
        self.execute(f"CREATE DATABASE {name} OWNER {OWNER} {options}")
        return name

    def conninfo(self, database: str, role: str = OWNER) -> str:
        """The value of DATABASE_URL."""
        return f"host={self.node.directory} user={role} dbname={database}"

    def execute(self, statements: str, database: str = "postgres") -> str:
        """The output of psql as the superuser."""
        command = [*self.node.psql(database), "-f", "-"]
        run = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def require_passwords(self, role: str) -> None:
        """Has the server ask a role for its password."""
        path = f"{self.node.data}/pg_hba.conf"
        with open(path, encoding="utf-8") as file:
            rules = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"local all {role} scram-sha-256\n{rules}")
        self.execute("SELECT pg_reload_conf()")


class SmallDisk:
    """A file system of a few megabytes for a tablespace. Mounting one needs root."""

    def __init__(self, directory: str, megabytes: int) -> None:
        self.directory = directory
        self._filler = f"{directory}/filler"
        os.mkdir(directory)
        run = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", directory], capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"a full disk needs the right to mount a file system (root): {run.stderr}"
        user: dict[str, Any] = as_database_user()
        os.mkdir(f"{directory}/space", 0o700)
        os.chown(f"{directory}/space", user.get("user", -1), user.get("group", -1))

    def fill(self) -> None:
        """Leaves no byte free."""
        with open(self._filler, "ab", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    def free(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._filler)

    def remove(self) -> None:
        subprocess.run(["umount", "-l", self.directory], check=True)
