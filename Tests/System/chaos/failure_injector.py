"""Kills, stops and restarts processes at times drawn from the seed."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any, AsyncIterator, Coroutine

from harness.cluster import Cluster
from harness.processes import Process
from harness.record import Record

FAILURES = {
    "kill chatterd": 24, "kill two chatterd": 3, "kill a backend": 8, "kill the postmaster": 6, "kill the postmaster and chatterd": 3,
    "freeze chatterd": 26, "freeze two chatterd": 6, "freeze PostgreSQL": 8, "restart chatterd": 12, "fail over": 4,
}
FIRST = ["kill chatterd", "freeze chatterd", "kill a backend", "restart chatterd", "freeze PostgreSQL", "kill the postmaster",
         "freeze two chatterd", "kill two chatterd"]
"""The first failures of a run, so that a short run has some of each kind."""
OF_THE_DATABASE = {"freeze PostgreSQL": 50, "kill a backend": 20, "kill the postmaster": 15, "fail over": 15}
ROUND, QUIET_ROUND = 20, 6
"""The number of failures of any kind, and of failures on the database alone: then no reply of a living process may be lost."""
FREEZES = ((0.2, 4), (9, 13), (14, 25))
"""The lengths of a freeze, in seconds: shorter than a lease, longer than a lease, longer than chatterd waits for the database."""


class FailureInjector:
    """Distributes its failures over the run."""

    def __init__(self, record: Record, chance: random.Random, servers: list[Process], cluster: Cluster, longest: float) -> None:
        self._record, self._chance, self._servers, self._cluster = record, chance, servers, cluster
        self._longest = longest  # the longest freeze, in seconds
        self._under_way: set[asyncio.Task[None]] = set()
        self.failures = 0
        self.is_over = False

    async def run(self, failures: int, pause: float) -> None:
        """Performs the failures, with the given mean number of seconds in between; ends when all frozen processes continue."""
        try:
            while self.failures < failures:
                until = self._record.now() + self._chance.uniform(0.3, 1.7) * pause
                while self._record.now() < until and not self.is_over:
                    await asyncio.sleep(0.1)
                if self.is_over:
                    return
                failure, is_quiet = self._draw()
                if is_quiet:
                    # Earlier failures on processes are over.
                    await self._finish()
                task = asyncio.create_task(self._perform(failure))
                self._under_way.add(task)
                self.failures += 1
        finally:
            await self._finish()

    async def _finish(self) -> None:
        under_way, self._under_way = self._under_way, set()
        for outcome in await asyncio.gather(*under_way, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    def _draw(self) -> tuple[str, bool]:
        """The next failure, and whether it excludes failures of processes at that time."""
        index = self.failures - len(FIRST)
        is_quiet = index >= 0 and index % (ROUND + QUIET_ROUND) >= ROUND
        kinds = OF_THE_DATABASE if is_quiet else FAILURES
        failure = FIRST[self.failures] if index < 0 else self._chance.choices(tuple(kinds), tuple(kinds.values()))[0]
        return failure, is_quiet

    def _perform(self, failure: str) -> Coroutine[Any, Any, None]:
        """Draws all decisions at once, so that they depend only on the seed."""
        victims = self._chance.sample(self._servers, 2 if "two" in failure else 1)
        shortest, longest = self._chance.choice(FREEZES)
        seconds = min(self._chance.uniform(shortest, longest), self._longest)
        lag, gap = self._chance.uniform(0, 2), self._chance.choice((0.0, self._chance.uniform(0, 4), self._chance.uniform(9, 12)))
        number = self._chance.getrandbits(16)
        if failure == "fail over":
            if self._cluster.standby is None:
                failure = "freeze PostgreSQL"
            else:
                return self._fail_over(lag, gap)
        if failure == "freeze PostgreSQL":
            return self._freeze_database(seconds)
        if failure == "kill a backend":
            return self._kill_backend(number)
        if failure == "kill the postmaster":
            return self._kill_postmaster([])
        if failure == "kill the postmaster and chatterd":
            return self._kill_postmaster(victims)
        verb = failure.split()[0]
        return self._each(verb, victims, seconds)

    # --- chatterd

    async def _each(self, verb: str, victims: list[Process], seconds: float) -> None:
        await asyncio.gather(*(self._one(verb, victim, seconds) for victim in victims))

    async def _one(self, verb: str, victim: Process, seconds: float) -> None:
        name = f"chatterd {victim.slot}, life {victim.kills}"
        if victim.failure_lock.locked():
            # Another failure is not over. All failures that waited for it would happen at once.
            return
        async with victim.failure_lock, self._death():
            if verb == "kill":
                self._did(f"killed {name}", "kills of chatterd")
                await victim.replace()
            elif verb == "restart":
                self._did(f"restarts {name} with SIGTERM", "restarts of chatterd")
                await victim.restart()
                self._record.note_fault(f"restarted {name}")
            else:
                self._did(f"stops {name} for {seconds:.1f} s", "freezes of chatterd")
                await victim.freeze(seconds)
                self._record.note_fault(f"continued {name}")

    @contextlib.asynccontextmanager
    async def _death(self) -> AsyncIterator[None]:
        """Notes a time in which a process may lose its replies; readers may learn of the loss later."""
        began = self._record.now()
        index = len(self._record.deaths)
        self._record.deaths.append((began, float("inf")))
        try:
            yield
        finally:
            self._record.deaths[index] = (began, self._record.now())

    # --- the database

    async def _freeze_database(self, seconds: float) -> None:
        if self._cluster.failure_lock.locked():
            return
        async with self._cluster.failure_lock:
            self._did(f"stops PostgreSQL for {seconds:.1f} s", "freezes of PostgreSQL")
            await self._cluster.freeze(seconds)
            self._record.note_fault("continued PostgreSQL")

    async def _kill_backend(self, number: int) -> None:
        if self._cluster.failure_lock.locked():
            return
        async with self._cluster.failure_lock:
            self._did("killed a backend of PostgreSQL", "kills of PostgreSQL")
            await self._cluster.kill_backend(number)

    async def _kill_postmaster(self, victims: list[Process]) -> None:
        if self._cluster.failure_lock.locked():
            return
        async with self._cluster.failure_lock:
            self._did("killed the postmaster", "kills of PostgreSQL")
            await asyncio.gather(self._cluster.kill(), *(self._one("kill", victim, 0) for victim in victims))

    async def _fail_over(self, lag: float, gap: float) -> None:
        if self._cluster.failure_lock.locked():
            return
        async with self._cluster.failure_lock:
            self._did(f"stops the standby for {lag:.1f} s, kills the primary, promotes {gap:.1f} s later", "failovers")
            await self._cluster.fail_over(lag, gap)
            self._record.note_fault("promoted, and another standby follows")

    def _did(self, what: str, count: str) -> None:
        self._record.count[count] += 1
        self._record.note_fault(what)
