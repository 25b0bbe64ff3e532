"""PgBouncer between chatterd and PostgreSQL, with deploy/pgbouncer.ini."""

from __future__ import annotations

from harness.cluster import Cluster
from harness.machine import as_database_user
from harness.program import Program, configuration


class PgBouncer(Program):
    """PgBouncer with deploy/pgbouncer.ini, in front of a cluster without passwords."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__(scratch, "pgbouncer")
        self._program, self._scratch = program, scratch

    async def begin(self, directory: str, database: str) -> None:
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
        await self.launch([self._program, path], **as_database_user())


class PooledCluster(Cluster):
    """A PostgreSQL that chatterd reaches through PgBouncer alone."""

    def __init__(self, scratch: str, program: str) -> None:
        super().__init__(scratch)
        self.pooler = PgBouncer(program, scratch)
        self.conninfo = f"host=127.0.0.1 port={self.pooler.port} user=postgres dbname=chaos sslmode=disable"

    async def make(self) -> None:
        """Makes the cluster, and starts PgBouncer."""
        await super().make()
        await self.pooler.begin(self.primary.directory, "chaos")

    def stop(self) -> None:
        """Stops both permanently."""
        self.pooler.stop()
        super().stop()
