"""Kills processes with SIGKILL at random moments."""

from __future__ import annotations

import asyncio
import random

from cluster import Cluster
from processes import Server
from record import Record

TARGETS = {"chatterd": 70, "two chatterd": 5, "backend": 11, "postmaster": 9, "postmaster and chatterd": 5}
FIRST = ["chatterd", "backend", "postmaster", "two chatterd"]
"""What a run begins with, so that a short one has some of each."""


class Killer:
    """Spreads kills over the run."""

    def __init__(self, record: Record, chance: random.Random, servers: list[Server], cluster: Cluster) -> None:
        self._record, self._chance, self._servers, self._cluster = record, chance, servers, cluster
        self.kills = 0

    async def run(self, kills: int, pause: float) -> None:
        """Kills so often, with so many seconds in between at the mean."""
        first = iter(FIRST)
        while self.kills < kills:
            await asyncio.sleep(self._chance.uniform(0.3, 1.7) * pause)
            await self._kill(next(first, None) or self._chance.choices(tuple(TARGETS), tuple(TARGETS.values()))[0])

    async def _kill(self, target: str) -> None:
        if target == "backend":
            if not await self._cluster.kill_backend(self._chance.getrandbits(16)):
                target = "chatterd"
            else:
                self._did("a backend of PostgreSQL", "kills of PostgreSQL")
        if "postmaster" in target:
            self._did("the postmaster", "kills of PostgreSQL")
        count = 2 if target == "two chatterd" else "chatterd" in target
        victims = self._chance.sample(self._servers, count)
        for victim in victims:
            self._did(f"chatterd {victim.slot}, life {victim.kills}", "kills of chatterd")
        work = [victim.kill() for victim in victims]
        if "postmaster" in target:
            work.append(self._cluster.kill())
        await asyncio.gather(*work)

    def _did(self, what: str, count: str) -> None:
        self.kills += 1
        self._record.count[count] += 1
        self._record.deed(f"killed {what}")
