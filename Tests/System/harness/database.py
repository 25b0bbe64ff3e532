"""The database of a run, of one server or of several."""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncIterator


class Database:
    """The database of a run."""

    conninfo = ""
    """The value of DATABASE_URL."""
    is_lossy = False
    """Whether confirmed commits may be lost."""

    def __init__(self) -> None:
        self.lost: list[dict[str, Any]] = []  # new rows of dead primaries

    async def make(self) -> None:
        """Makes it, and starts all that it needs."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stops it permanently."""
        raise NotImplementedError

    def psql(self, database: str = "") -> list[str]:
        """The psql command for a database as a superuser, by default for that of chatterd."""
        raise NotImplementedError

    async def run(self, statement: str, database: str = "") -> bytes:
        """The output of psql."""
        return await self._query(self.psql(database), statement)

    @staticmethod
    async def _query(psql: list[str], statement: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *psql, "-c", statement, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(errors.decode(errors="replace").strip())
        return output

    async def rows(self, query: str, database: str = "") -> list[dict[str, Any]]:
        """The rows of a query."""
        output = await self.run(f"SELECT row_to_json(r) FROM ({query}) r", database)
        return [json.loads(line) for line in output.decode().split("\n") if line]

    async def stream(self, query: str) -> AsyncIterator[dict[str, Any]]:
        """The rows of a query one by one, in any number."""
        process = await asyncio.create_subprocess_exec(
            *self.psql(), "-v", "FETCH_COUNT=200", "-c", f"SELECT row_to_json(r) FROM ({query}) r",
            stdout=asyncio.subprocess.PIPE, limit=1 << 28)
        assert process.stdout is not None
        while line := await process.stdout.readline():
            yield json.loads(line)
        if await process.wait() != 0:
            raise RuntimeError(f"psql failed at: {query}")
