"""Three chatterd processes behind a proxy, a model server that waits for the scenario, and clients that recover as the API says."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from typing import Any, Awaitable, Callable

from harness.chatterd import LONG
from harness.cluster import Cluster
from harness.exchange import Address, Exchange, Lost
from harness.ledger import Ledger, Wrong
from harness.machine import TIMEOUT
from harness.model_server import LAST, ModelExchange, ModelServer, line
from harness.processes import Process
from harness.record import Record
from harness.script import Script, answer, whole
from harness.upstream import Upstream
from proxies.programs import HAProxy, Nginx

COUNTS = ("prompts", "keys repeated", "resumes", "requests cut", "streams cut", "status 502", "status 503", "status 504")
RETRIED = (502, 503, 504)
"""Statuses after which a client retries the same request."""
DELAY = 3
"""Seconds of CHATTERD_SHUTDOWN_DELAY: longer than HAProxy needs to notice that /readyz says 503."""


class SteppedModel(ModelServer):
    """A model server that says one word and then waits for the scenario."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.proceed = asyncio.Event()
        self.has_left = asyncio.Event()
        self.answer = ["second"]
        """The lines after its first word."""

    async def _answer(self, exchange: ModelExchange) -> None:
        proceed = self.proceed
        try:
            await exchange.begin()
            await exchange.send(line("hand", {"content": "first "}))
            while not proceed.is_set():
                await exchange.rest(0.02)
            for text in self.answer:
                await exchange.send(line("hand", {"content": text}))
            await exchange.send(line("hand", {}, **LAST))
            await exchange.finish()
        except OSError:
            self.has_left.set()


def settings(upstream: ModelServer, hand: ModelServer) -> dict[str, str]:
    """The settings of a chatterd with two model servers, which is stopped as in a release."""
    upstreams = [{"name": "script", "kind": "ollama", "url": upstream.url, "models": ["chaos"]},
                 {"name": "hand", "kind": "ollama", "url": hand.url, "models": ["hand"]},
                 {"name": "echo", "kind": "echo"}]
    return LONG | {
        "CHATTERD_UPSTREAMS": json.dumps(upstreams), "CHATTERD_SHUTDOWN_DELAY": f"{DELAY}s", "CHATTERD_SHUTDOWN_LIMIT": "2s",
        "CHATTERD_DISCONNECT_GRACE": "30s", "CHATTERD_BODY_LIMIT": "8MiB"}


class ProxiedCluster:
    """The processes, the database, the proxy and the model servers."""

    def __init__(self, options: Any, scratch: str, proxy: Nginx | HAProxy, **changes: str) -> None:
        self.record, self.database, self.proxy = Record(), Cluster(scratch), proxy
        self._changes = changes
        self.hand, self.upstream = SteppedModel(), Upstream(self.record)
        self.processes: list[Process] = []
        self._options, self._scratch = options, scratch

    async def start(self) -> None:
        """Starts everything, and waits until the proxy answers for chatterd."""
        await asyncio.gather(self.hand.start(), self.upstream.start(), self.database.make())
        for slot in range(3):
            process = Process(
                slot, self._options.program, self._scratch, self.database.conninfo, self.record, **settings(self.upstream, self.hand) | self._changes)
            process.start()
            self.processes.append(process)
        for process in self.processes:
            await process.wait_until_ready()
        await self.proxy.begin([process.port for process in self.processes])
        await self.eventually("the proxy reaches chatterd", lambda: self.status("GET", "/readyz", 200))

    async def measured(self, port: int) -> tuple[int, list[str]]:
        """The exit code of doctor for a stream at a port, and its lines about that."""
        run = await asyncio.create_subprocess_exec(
            self._options.program, "doctor", "--through", f"http://127.0.0.1:{port}", stdout=asyncio.subprocess.PIPE,
            env={"CHATTERD_UPSTREAMS": '[{"name": "parrot", "kind": "echo"}]', "CHATTERD_LISTEN": "127.0.0.1:0", "DATABASE_URL": self.database.conninfo})
        output, _ = await run.communicate()
        return run.returncode or 0, [line for line in output.decode().splitlines() if " through " in line]

    async def eventually(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        """Waits for a condition."""
        until = asyncio.get_running_loop().time() + TIMEOUT
        while not await holds():
            if asyncio.get_running_loop().time() > until:
                raise RuntimeError(f"never: {what}")
            await asyncio.sleep(0.05)

    async def status(self, method: str, path: str, wanted: int) -> bool:
        """Whether a request through the proxy has this status."""
        try:
            exchange = await self.ask(method, path)
        except Lost:
            return False
        exchange.close()
        return exchange.status == wanted

    async def ask(self, method: str, path: str, body: Any = None, fields: dict[str, str] | None = None) -> Exchange:
        """A request through the proxy."""
        return await Exchange.ask(Address(self.proxy.port), self.record, method, path, fields, body)

    async def examine(self, callers: list[Caller], faults: list[str]) -> dict[str, float]:
        """Compares what clients have read with the table and the model server's answers; adds the faults, and returns the counts."""
        count = self.record.count
        figures: dict[str, float] = {"interrupted": 0} | {name: count[name] for name in COUNTS}
        for script, ledger in (reply for caller in callers for reply in caller.replies):
            rows = await self.database.rows(
                "SELECT r.state, r.message FROM chatts p LEFT JOIN chatts r ON r.appid = p.appid AND r.turn = p.turn AND r.seq = r.turn "
                f"WHERE p.message LIKE 'token={script.token} %'")
            if len(rows) != 1 or rows[0]["state"] is None:
                faults.append(f"{script.token}: stored {len(rows)} times, {rows}")
                continue
            stored = (rows[0]["message"].encode(), b"", b"")
            if wrong := ledger.seal(self.record.now()).agrees(stored):
                faults.append(f"{script.token}: {wrong}")
            if ledger.is_error != (rows[0]["state"] != "complete"):
                faults.append(f"{script.token}: reported {ledger.final}, stored as {rows[0]['state']}")
            said = [whole(answer(script, call.number))[0] for call in self.upstream.calls[script.token]]
            if rows[0]["state"] == "complete" and not any(text == stored[0] for text in said):
                faults.append(f"{script.token}: complete, but none of {len(said)} answers")
            figures["interrupted"] += rows[0]["state"] != "complete"
        faults += [f"{violation.kind}: {violation.token} {violation.text}" for violation in self.record.violations]
        return figures

    async def stop(self) -> None:
        """Stops the processes in order, and then the servers that they need."""
        await asyncio.gather(*(process.stop() for process in self.processes))
        self.abandon()

    def abandon(self) -> None:
        """Kills all remaining processes."""
        for process in self.processes:
            process.close()
        self.processes = []
        self.proxy.stop()
        self.database.stop()


class Caller:
    """A client that posts prompts with a key, retries refused requests, and resumes after cuts."""

    def __init__(self, cluster: ProxiedCluster, number: int) -> None:
        self._cluster, self._number = cluster, number
        self._chance, self._numbers = random.Random(number), itertools.count()
        self.replies: list[tuple[Script, Ledger]] = []
        self.is_over = False

    async def run(self) -> None:
        """Sends prompts until the scenario is over."""
        count = self._cluster.record.count
        while not self.is_over:
            script = Script(token=f"c{self._number}t{next(self._numbers)}", seed=self._chance.getrandbits(32),
                            lines=self._chance.randint(3, 150), words=3, burst=1, pace=self._chance.randint(0, 60), thinking=0, calls=0,
                            ending="complete")
            body = {"appID": f"caller.{self._number}", "model": "chaos", "messages": [{"role": "user", "content": script.prompt()}]}
            exchange = await self._retry("POST", "/llmchat", body, {"Idempotency-Key": script.token})
            path = exchange.fields["location"]
            count["prompts"] += 1
            reading = [self._follow(path, script, exchange)]
            if self._chance.random() < 0.5:
                # Probably another process answers than the one that generates the reply.
                reading.append(self._follow(path, script, await self._retry("GET", path, None, {})))
            await asyncio.gather(*reading)
            if self._chance.random() < 0.3:
                again = await self._retry("POST", "/llmchat", body, {"Idempotency-Key": script.token})
                again.close()
                if again.fields["location"] != path:
                    self._cluster.record.violation("doubled prompts", script.token, f"{path} and {again.fields['location']}")
                count["keys repeated"] += 1

    async def _follow(self, path: str, script: Script, exchange: Exchange) -> None:
        """Reads a reply to its end, over several connections if needed."""
        ledger = Ledger(script.token)
        self.replies.append((script, ledger))
        while not await self._read(exchange, ledger):
            self._cluster.record.count["resumes"] += 1
            exchange = await self._retry("GET", path, None, {"Last-Event-ID": ledger.last_id} if ledger.last_id else {})

    async def _retry(self, method: str, path: str, body: Any, fields: dict[str, str]) -> Exchange:
        """Sends a request until it gets an answer."""
        cluster, until = self._cluster, self._cluster.record.now() + TIMEOUT
        while cluster.record.now() < until:
            try:
                exchange = await cluster.ask(method, path, body, fields)
                if exchange.status == 200:
                    return exchange
                text = (await exchange.body()).decode()
                exchange.close()
                cluster.record.count[f"status {exchange.status}"] += 1
                if exchange.status not in RETRIED or not json.loads(text).get("retryable"):
                    raise RuntimeError(f"{method} {path}: {exchange.status} {text}")
            except Lost:
                cluster.record.count["requests cut"] += 1
            await asyncio.sleep(self._chance.uniform(0.05, 0.3))
        raise RuntimeError(f"{method} {path} was never answered")

    async def _read(self, exchange: Exchange, ledger: Ledger) -> bool:
        """Reads the events of a stream; returns whether the reply has ended."""
        try:
            async for event in exchange.events():
                if not ledger.append(event):
                    break
        except Lost:
            self._cluster.record.count["streams cut"] += 1
        except Wrong as wrong:
            self._cluster.record.violation("bytes lost or doubled", ledger.reader, str(wrong))
            return True
        finally:
            exchange.close()
        return ledger.final is not None
