"""The scenarios behind a proxy."""

from __future__ import annotations

import asyncio
import json

from harness.machine import TIMEOUT
from proxies.programs import Nginx
from proxies.proxied_cluster import Caller, ProxiedCluster

KEEPALIVE = 15.0
"""Seconds after which chatterd sends a comment into a silent stream (CHATTERD_KEEPALIVE by default)."""


def prompt(appid: str, **more: object) -> dict[str, object]:
    """The body of a prompt for the model server that waits."""
    return {"appID": appid, "model": "hand", "messages": [{"role": "user", "content": "Go."}]} | more


class ProxyScenarios:
    """The scenarios of one proxy, and the faults."""

    def __init__(self, cluster: ProxiedCluster, is_short: bool) -> None:
        self.cluster, self.is_short = cluster, is_short
        self.faults: list[str] = []
        self.figures: dict[str, float] = {}

    def require(self, is_met: bool, fault: str) -> None:
        """Notes a fault unless the condition holds."""
        if not is_met:
            self.faults.append(fault)

    async def run(self) -> None:
        """Runs all scenarios, one after the other."""
        for scenario in (self.events_come_as_they_are_made, self.leaving_is_noticed, self.silence_is_kept, self.large_bodies_pass,
                      self.operators_paths_are_hidden, self.doctor_measures_streams, self.rolling_restarts):
            # A new Event each time keeps the scenarios apart.
            self.cluster.hand.proceed, self.cluster.hand.has_left = asyncio.Event(), asyncio.Event()
            self.cluster.hand.answer = ["second"]
            try:
                async with asyncio.timeout(TIMEOUT + (120 if scenario == self.rolling_restarts else 0)):
                    await scenario()
            except Exception as error:  # the other scenarios still run
                self.faults.append(f"{scenario.__name__}: {type(error).__name__} {error}")

    async def events_come_as_they_are_made(self) -> None:
        """The first event arrives before the model server sends its second word; the server waits for that."""
        exchange = await self.cluster.ask("POST", "/llmchat", prompt("unbuffered"))
        said = []
        async for event in exchange.events():
            said.append(json.loads(event.data)["message"]["content"])
            self.cluster.hand.proceed.set()
        self.require(said[0] == "first " and "".join(said) == "first second", f"the events said {said}")

    async def doctor_measures_streams(self) -> None:
        """doctor finds streams that nginx holds back, and nothing wrong with the configurations in deploy/."""
        _, lines = await self.cluster.measured(self.cluster.proxy.port)
        self.require(len(lines) == 1 and lines[0].startswith("ok "), f"doctor says {lines}")
        if isinstance(self.cluster.proxy, Nginx):
            buffering = self.cluster.proxy.another()
            await buffering.begin([process.port for process in self.cluster.processes], buffers=True)
            try:
                status, lines = await self.cluster.measured(buffering.port)
                self.require(status == 2 and "something on the way buffers streams" in lines[0], f"doctor says {lines}")
            finally:
                buffering.stop()

    async def leaving_is_noticed(self) -> None:
        """A client that disconnects ends the request at the model server, if it has requested that."""
        exchange = await self.cluster.ask("POST", "/llmchat", prompt("leaving", on_disconnect="cancel"))
        async for _ in exchange.events():
            break
        exchange.close()
        await self.cluster.hand.has_left.wait()

    async def silence_is_kept(self) -> None:
        """A silent stream gets its comments; an answer in one piece may be silent for longer than proxies usually wait."""
        whole_answer = asyncio.create_task(self._whole())
        if not self.is_short:
            exchange = await self.cluster.ask("POST", "/llmchat", prompt("silent"))
            comments = 0
            async for piece in exchange.pieces():
                comments += piece.count(b": ") if b"data:" not in piece else 0
                if comments >= 5:
                    break
            exchange.close()
            self.figures["seconds of silence"] = 5 * KEEPALIVE
        self.cluster.hand.proceed.set()
        text = await whole_answer
        self.require(text == "first second", f"the whole answer was {text!r}")

    async def _whole(self) -> object:
        exchange = await self.cluster.ask("POST", "/llmchat", prompt("in one piece", stream=False))
        answer = await exchange.json()
        exchange.close()
        return answer.get("message", answer).get("content")

    async def large_bodies_pass(self) -> None:
        """8 MiB less the JSON around them are accepted, more is refused; a long answer comes back whole."""
        self.cluster.hand.proceed.set()
        self.cluster.hand.answer = ["x" * 10_000] * 400
        body = prompt("large", messages=[{"role": "user", "content": "y" * (8 * 1024 * 1024 - 200)}])
        exchange = await self.cluster.ask("POST", "/llmchat", body)
        self.require(exchange.status == 200, f"8 MiB: {exchange.status}")
        size = 0
        async for event in exchange.events():
            size += len(json.loads(event.data)["message"]["content"])
        exchange.close()
        self.require(size == 4_000_006, f"{size} bytes of an answer of 4,000,006")
        body = prompt("larger", messages=[{"role": "user", "content": "y" * (8 * 1024 * 1024 + 1)}])
        exchange = await self.cluster.ask("POST", "/llmchat", body)
        exchange.close()
        self.require(exchange.status == 413, f"more than 8 MiB: {exchange.status}")

    async def operators_paths_are_hidden(self) -> None:
        """Clients of the proxy cannot reach what is the operator's: model servers, keys of apps, and the audit log."""
        for path in ("/upstreams", "/upstreams/hand", "/%75pstreams", "/keys", "/keys/1/rotate", "/k%65ys", "/audit"):
            self.require(await self.cluster.status("GET", path, 404), f"GET {path} is not 404")

    async def rolling_restarts(self) -> None:
        """Processes are restarted one after the other while clients send prompts: no client loses or doubles text."""
        cluster, count = self.cluster, self.cluster.record.count
        callers = [Caller(cluster, number) for number in range(10 if self.is_short else 40)]
        talking = [asyncio.create_task(caller.run()) for caller in callers]
        rounds = 1 if self.is_short else 4
        for _ in range(rounds):
            for process in cluster.processes:
                before = count["prompts"]
                await process.stop()
                process.start()
                await process.wait_until_ready()
                # The clients have met each state.
                await cluster.eventually("prompts are answered", lambda: self._more(before + len(callers)))
        for caller in callers:
            caller.is_over = True
        await asyncio.gather(*talking)
        self.figures |= {"restarts": 3 * rounds} | await cluster.examine(callers, self.faults)
        self.require("no live upstreams" not in cluster.proxy.log(), "nginx: no live upstreams")

    async def _more(self, wanted: int) -> bool:
        return self.cluster.record.count["prompts"] >= wanted
