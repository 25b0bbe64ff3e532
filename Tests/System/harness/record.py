"""The record of a run: counts, the history of each prompt, and the violations."""

from __future__ import annotations

import asyncio
import collections
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A guarantee that was broken."""

    kind: str
    token: str  # of the prompt; empty for a violation without one
    text: str


class Record:
    """The memory of the run, shared by all its parts."""

    NOTES = 200
    LONGEST_GAP = 1.0
    """Seconds without a heartbeat after which this program counts as paused; far less than chatterd's limits in a run."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.count: collections.Counter[str] = collections.Counter()
        self.violations: list[Violation] = []
        self.tokens: set[str] = set()  # of prompts with violations
        self.failures: list[str] = []  # that were injected
        self.deaths: list[tuple[float, float]] = []  # begin and end of failures that may cost a process its replies
        self._notes: dict[str, collections.deque[str]] = {}
        self._beat = self._late_beat = 0.0  # the time of the last heartbeat, and of the last late one

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    async def beat(self) -> None:
        """The heartbeat, which detects pauses of this program: client, network and model server all run in it."""
        while True:
            self._detect_pause()
            self._beat = self.now()
            await asyncio.sleep(self.LONGEST_GAP / 5)

    def was_paused_since(self, then: float) -> bool:
        """Whether this program was paused since a time: chatterd then measured a real silence."""
        self._detect_pause()
        return self._late_beat >= then

    def _detect_pause(self) -> None:
        # The caller may run before the next heartbeat.
        if (now := self.now()) - self._beat > self.LONGEST_GAP:
            self.count["pauses of this program"] += self._late_beat <= self._beat
            self._late_beat = now

    def note(self, token: str, text: str) -> None:
        """Records an event of a prompt."""
        notes = self._notes.get(token)
        if notes is None:
            notes = self._notes[token] = collections.deque(maxlen=self.NOTES)
        notes.append(f"{self.now():9.3f} {text}")

    def notes(self, token: str) -> list[str]:
        """The events of a prompt, oldest first."""
        return list(self._notes.get(token, ()))

    def was_any_process_lost(self, since: float, until: float) -> bool:
        """Whether an injected failure in this time may have cost a process its replies."""
        return any(began <= until and ended >= since for began, ended in self.deaths)

    def note_fault(self, text: str) -> None:
        """Records an injected failure."""
        self.failures.append(f"{self.now():9.3f} {text}")

    def violation(self, kind: str, token: str, text: str) -> None:
        """Records a violation."""
        self.count[kind] += 1
        self.violations.append(Violation(kind, token, text))
        self.tokens.add(token)
        if token:
            self.note(token, f"VIOLATION {kind}: {text}")
