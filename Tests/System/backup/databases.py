"""The clusters of the test: one under load, and those that its backups are restored into, as docs/backup.md describes it."""

from __future__ import annotations

import subprocess
from typing import Any

from harness import background
from harness.cluster import Node, home
from harness.machine import TIMEOUT

DATABASE, OWNER = "chat", "chat_owner"
"""The database, and the role of DATABASE_URL, which is no superuser."""


class DatabaseServer:
    """A cluster with a superuser, which the roles of chatterd are added to."""

    def __init__(self, directory: str) -> None:
        self._log = open(f"{directory}/postgres.log", "ab")
        self.node = Node(f"{directory}/postgres", self._log)

    def conninfo(self, role: str = OWNER) -> str:
        """The value of DATABASE_URL."""
        return f"host={self.node.directory} user={role} dbname={DATABASE}"

    def begin(self) -> None:
        """Makes an empty cluster."""
        background.run(self.node.make())
        background.run(self.node.start())

    def begin_from(self, original: DatabaseServer) -> None:
        """Makes a base backup of a cluster that is in use."""
        background.run(self.node.copy(original.node, as_standby=False))

    def start(self) -> None:
        background.run(self.node.start())

    def stop(self) -> None:
        self.node.stop()
        self._log.close()

    def execute(self, statements: str, database: str = "postgres") -> str:
        """The output of psql as the superuser."""
        return self._run(*self.node.psql(database), "-f", "-", input=statements)

    def tool(self, name: str, *arguments: str, role: str = "postgres", **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs a program of PostgreSQL against this cluster; the caller looks at its status."""
        command = [f"{home()}/{name}", "-h", self.node.directory, "-U", role, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, **options)

    def dump(self, path: str, role: str) -> subprocess.CompletedProcess[str]:
        """Writes a logical dump to a file."""
        return self.tool("pg_dump", "--format=custom", f"--file={path}", DATABASE, role=role)

    def roles(self) -> str:
        """The statements that make the roles."""
        run = self.tool("pg_dumpall", "--roles-only")
        assert run.returncode == 0, run.stderr
        return run.stdout

    def restore(self, path: str, roles: str) -> None:
        """Restores a logical dump into this empty cluster, with its roles."""
        # The superuser exists already.
        self.execute("\n".join(line for line in roles.splitlines() if "ROLE postgres" not in line))
        self.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
        self._restore(path)

    def restore_as_owner(self, path: str) -> None:
        """Restores a logical dump into this empty cluster, where the restoring role is no superuser."""
        self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE;\nCREATE DATABASE {DATABASE} OWNER {OWNER};")
        self._restore(path, "--no-owner", "--no-privileges", role=OWNER)

    def _restore(self, path: str, *options: str, role: str = "postgres") -> None:
        run = self.tool("pg_restore", "--exit-on-error", *options, f"--dbname={DATABASE}", path, role=role)
        assert run.returncode == 0, run.stderr

    @staticmethod
    def _run(*command: str, input: str) -> str:
        run = subprocess.run(command, input=input, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout
