"""PgBouncer between chatterd and PostgreSQL: three processes migrate at once, and no statement of the API reads the whole table.

The plans are those of chatterd's own statements, as auto_explain logs them."""

from __future__ import annotations

import asyncio
import collections
import json
import re
from typing import Any

from harness.exchange import Address, Exchange
from harness.machine import TIMEOUT, say
from harness.pooler import PooledCluster
from harness.processes import Process
from harness.record import Record
from harness.script import Script
from harness.upstream import Upstream
from proxies.proxied_cluster import settings

ROWS = """
INSERT INTO chatts (appid, seq, turn, name, message, state, id, model, attempt, finished)
SELECT 'app' || a, s, (s + 1) / 2 * 2, CASE s % 2 WHEN 0 THEN 'assistant' ELSE 'user' END, repeat('word ', 20),
    CASE s % 2 WHEN 0 THEN 'complete' ELSE 'prompt' END, gen_random_uuid(), 'chaos', 1, now()
FROM generate_series(1, {apps}) a, LATERAL generate_series(1, CASE a WHEN 2 THEN {large} ELSE 10 END) s
"""
SHAPES = {"many small conversations": (5000, 10), "a large one among small ones": (1000, 40_000)}
"""Each has some 50,000 rows: the number of conversations, and the rows of the second one; the others have ten."""
EXPLAIN = """
ALTER DATABASE chaos SET session_preload_libraries = 'auto_explain';
ALTER DATABASE chaos SET auto_explain.log_min_duration = 0;
ALTER DATABASE chaos SET auto_explain.log_format = 'json'
"""


class Plans:
    """The run."""

    def __init__(self, program: str, scratch: str, pgbouncer: str) -> None:
        self.record, self.cluster = Record(), PooledCluster(scratch, pgbouncer)
        self.upstream = Upstream(self.record)
        self.faults: list[str] = []
        self.indexes: dict[str, set[str]] = collections.defaultdict(set)
        self._program, self._scratch = program, scratch
        self._processes: list[Process] = []
        self._count = self._is_read = 0

    async def run(self) -> None:
        """Migrates, fills the table in each shape, sends requests, and checks the plans."""
        await asyncio.gather(self.upstream.start(), self.cluster.make())
        for statement in EXPLAIN.split(";"):
            await self.cluster.run(statement, "postgres")
        for slot in range(3):
            process = Process(
                slot, self._program, self._scratch, self.cluster.conninfo, self.record, **settings(self.upstream, self.upstream))
            process.start()
            self._processes.append(process)
        for process in self._processes:
            await process.wait_until_ready()
        # Migrations read whole tables.
        self._is_read = len(self._log())
        for shape, (apps, large) in SHAPES.items():
            await self.cluster.run("TRUNCATE chatts")
            await self.cluster.run(ROWS.format(apps=apps, large=large))
            for analyzed in (False, True):
                if analyzed:
                    await self.cluster.run("ANALYZE chatts")
                for appid in ("app1", "neighbour"):
                    await self._talk(appid)
            self._read(shape)
        left = await self.cluster.rows("SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'")
        self._require(left == [{"n": 0}], f"advisory locks left on pooled sessions: {left}")
        left = await self.cluster.rows("SELECT count(*) AS n FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
        self._require(left == [{"n": 0}], f"transactions left open: {left}")
        shown = (await self._pooled("SHOW plan_cache_mode", "SHOW statement_timeout", "SELECT count(*) FROM pg_prepared_statements"))
        self._require(shown == ["auto", "0", "0"], f"left on pooled sessions: {shown}")
        await asyncio.gather(*(process.stop() for process in self._processes))

    def _require(self, is_met: bool, fault: str) -> None:
        if not is_met:
            self.faults.append(fault)

    async def _pooled(self, *statements: str) -> list[str]:
        """The view of another client of the pooler."""
        command = [self.cluster.primary.psql("chaos")[0], "-XqAt", "-d", self.cluster.conninfo]
        for statement in statements:
            command += ["-c", statement]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0].decode().split()

    async def _ask(self, method: str, path: str, body: Any = None, fields: dict[str, str] | None = None, status: int = 200) -> Exchange:
        """A request to the next process; the caller reads its body."""
        self._count += 1
        address = Address(self._processes[self._count % 3].port)
        exchange = await Exchange.ask(address, self.record, method, path, fields, body)
        if exchange.status != status:
            self.faults.append(f"{method} {path}: {exchange.status} {(await exchange.body())[:300]!r}")
        return exchange

    async def _done(self, method: str, path: str, body: Any = None, fields: dict[str, str] | None = None, status: int = 200) -> bytes:
        exchange = await self._ask(method, path, body, fields, status)
        try:
            return await exchange.body()
        finally:
            exchange.close()

    async def _talk(self, appid: str) -> None:
        """All requests of the API that touch conversations."""
        key = f"k{self._count}"

        def prompt(text: str, **more: Any) -> dict[str, Any]:
            return {"appID": appid, "model": "chaos", "messages": [{"role": "user", "content": text}]} | more

        def script(lines: int, pace: int) -> str:
            return Script(f"t{self._count}", self._count, lines, 3, 1, pace, 1, 0, "complete").prompt()

        if appid == "neighbour":
            system = {"appID": appid, "messages": [{"role": "system", "content": "You are a neighbour."}]}
            await self._done("POST", "/llmprep", system)
        said = await self._done("POST", "/llmchat", prompt(script(3, 0)))
        self._require(b'"done":true' in said, f"no end: {said[-300:]!r}")
        slow = prompt(script(40, 30), on_interrupt="regenerate", on_disconnect="finish")
        first = await self._ask("POST", "/llmchat", slow, {"Idempotency-Key": key})
        path, last = first.fields["location"], ""
        async for event in first.events():
            last = event.id
            break
        first.close()
        said = await self._done("GET", path, None, {"Last-Event-ID": last})
        self._require(b'"done":true' in said, f"resumed without an end: {said[-300:]!r}")
        await self._done("POST", "/llmchat", slow, {"Idempotency-Key": key})
        await self._done("GET", path, None, {"Accept": "application/json"})
        await self._done("POST", f"{path}/regenerate", {"stream": False})
        await self._done("POST", f"{path}/choose")
        await self._done("POST", "/llmchat", prompt(script(3, 0), parent=path[9:], stream=False))
        stopped = await self._ask("POST", "/llmchat", prompt(script(4000, 30)))
        await self._done("DELETE", stopped.fields["location"])
        said = await stopped.body()
        stopped.close()
        self._require(b"cancelled" in said, f"stopped, and reported {said[-300:]!r}")
        if appid == "neighbour":
            await self._done("DELETE", f"/conversations/{appid}")

    def _read(self, shape: str) -> None:
        """Reads the plans that were logged since the last call."""
        log = self._log()[self._is_read:]
        for text in re.findall(r"plan:\n((?:\t.*\n)+)", log):
            document = json.loads(text.replace("\n\t", "\n"))
            query = " ".join(document["Query Text"].split())
            for node in nodes(document["Plan"]):
                if node.get("Relation Name") == "chatts" and node["Node Type"] == "Seq Scan" and not self._is_ours(query):
                    self.faults.append(f"{shape}: the whole table is read: {query[:200]}")
                if node.get("Index Name", "").startswith("chatts"):
                    self.indexes[query[:90]].add(node["Index Name"])

    def _log(self) -> str:
        with open(f"{self._scratch}/postgres.log", encoding="utf-8", errors="replace") as file:
            return file.read()

    @staticmethod
    def _is_ours(query: str) -> bool:
        """Whether a query is this program's own."""
        return query.startswith(("INSERT INTO chatts (appid, seq, turn, name, message, state, id, model, attempt", "TRUNCATE"))

    def abandon(self) -> None:
        """Kills all remaining processes."""
        for process in self._processes:
            process.close()
        self.cluster.stop()


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A plan and all plans below it."""
    return [plan] + [node for child in plan.get("Plans", []) for node in nodes(child)]


async def run(plans: Plans) -> None:
    """Runs with a limit."""
    try:
        async with asyncio.timeout(2 * TIMEOUT):
            await plans.run()
    finally:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        plans.abandon()


def examine(program: str, scratch: str, pgbouncer: str) -> bool:
    """Runs, and prints the statements with their indexes; returns whether there is no fault."""
    plans = Plans(program, scratch, pgbouncer)
    asyncio.run(run(plans))
    for query, indexes in sorted(plans.indexes.items()):
        say(f"{', '.join(sorted(indexes)):30} {query}")
    if not plans.indexes:
        plans.faults.append("no plan was logged")
    for fault in plans.faults[:20]:
        say(f"FAULT {fault}")
    return not plans.faults
