"""Failures of the nodes of a Patroni cluster, one after the other, and the time without new prompts that each of them costs."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass

from chaos.run_state import RunState
from harness.machine import TIMEOUT, say
from harness.patroni import Leader, PatroniCluster
from harness.processes import Process

FREEZE = 50
"""Seconds for which a leader, or etcd, is frozen: longer than a leader may be silent (ttl)."""
LAG = 2
"""Seconds before the loss of a leader in which no standby receives its commits: none of them may be confirmed."""
BEFORE = 5
"""Seconds before an event that its time without new prompts may begin in."""
PROMPTS = 20
"""New prompts between two events."""


@dataclass
class Event:
    """An event, in seconds of the run."""

    name: str
    began: float
    led: float | None = None  # another node leads


class NodeFailures:
    """The events; the last third of them with processes that reach PostgreSQL through HAProxy."""

    def __init__(self, state: RunState, servers: list[Process], cluster: PatroniCluster) -> None:
        self._state, self._record, self._servers, self._cluster = state, state.record, servers, cluster
        self.events = 0

    async def run(self, count: int) -> None:
        """Has so many events, each on a whole cluster."""
        kinds = itertools.cycle((self._kill_node, self._freeze_node, self._switch_over, self._kill_postgres, self._freeze_etcd))
        through_haproxy = count // 3
        await self._prompts()
        for index, kind in zip(range(count), kinds):
            if index == count - through_haproxy:
                await self._turn_to_haproxy()
            leader = await self._cluster.whole()
            event = await kind(leader)
            await self._cluster.whole()
            await self._prompts()
            self._report(event, "hosts" if index < count - through_haproxy else "HAProxy")
            self.events += 1

    def _begin(self, name: str) -> Event:
        self._record.note_fault(name)
        return Event(name, self._record.now())

    def _report(self, event: Event, path: str) -> None:
        """Prints when another node led, and the longest time in which no stream of a new prompt began."""
        near = [at for at in self._state.openings if at >= event.began - BEFORE]
        gap = max(end - start for start, end in itertools.pairwise(near))
        led = "the same leader" if event.led is None else f"another leader after {event.led - event.began:4.1f} s"
        say(f"{event.name:42}{path:9}{led:30}no new prompts for {gap:4.1f} s")

    async def _prompts(self) -> None:
        """Waits for new prompts."""
        begun, until = len(self._state.openings), self._record.now() + TIMEOUT
        while len(self._state.openings) < begun + PROMPTS:
            if self._record.now() > until:
                raise RuntimeError(f"no new prompts are acknowledged for {TIMEOUT:.0f} s: see the logs of chatterd")
            await asyncio.sleep(0.1)

    async def _turn_to_haproxy(self) -> None:
        """Restarts one process after the other with HAProxy's address, as an update does."""
        for server in self._servers:
            server.options["env"]["DATABASE_URL"] = self._cluster.proxied
            self._record.count["restarts of chatterd"] += 1
            self._record.note_fault(f"restarts chatterd {server.slot} with SIGTERM")
            began = self._record.now()
            self._record.deaths.append((began, float("inf")))
            await server.restart()
            await server.wait_until_ready()
            self._record.deaths[-1] = (began, self._record.now())
        await self._prompts()

    # --- the events

    async def _another_leads(self, event: Event, leader: Leader) -> None:
        await self._cluster.leader(but=leader.node)
        event.led = self._record.now()

    async def _kill_node(self, leader: Leader) -> Event:
        standbys = [node for node in self._cluster.nodes if node is not leader.node]
        for node in standbys:
            node.fall_behind()
        try:
            await asyncio.sleep(LAG)
            event = self._begin("kill -9 of the leader's node")
            await asyncio.to_thread(leader.node.kill)
        finally:
            for node in standbys:
                node.proceed()
        await self._another_leads(event, leader)
        await self._prompts()
        leader.node.start()
        await self._cluster.whole(leader)
        return event

    async def _freeze_node(self, leader: Leader) -> Event:
        event = self._begin(f"the leader's node stands still, {FREEZE} s")
        leader.node.freeze()
        try:
            await asyncio.gather(asyncio.sleep(FREEZE), self._another_leads(event, leader))
            await self._prompts()
        finally:
            leader.node.proceed()
        await self._cluster.whole(leader)
        return event

    async def _switch_over(self, leader: Leader) -> Event:
        event = self._begin("switchover")
        await asyncio.gather(self._cluster.switch_over(leader), self._another_leads(event, leader))
        return event

    async def _kill_postgres(self, leader: Leader) -> Event:
        event = self._begin("kill -9 of PostgreSQL alone")
        leader.node.kill_postgres()
        self._look_who_leads(event, leader, await self._cluster.whole(leader))
        return event

    async def _freeze_etcd(self, leader: Leader) -> Event:
        event = self._begin(f"etcd stands still everywhere, {FREEZE} s")
        self._cluster.freeze_etcd()
        try:
            await asyncio.sleep(FREEZE)
        finally:
            self._cluster.proceed_etcd()
        self._look_who_leads(event, leader, await self._cluster.whole())
        return event

    def _look_who_leads(self, event: Event, before: Leader, after: Leader) -> None:
        if after.node is not before.node:
            event.led = self._record.now()
