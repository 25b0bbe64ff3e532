"""What a run remembers: counts, what happened to each prompt, and what was wrong."""

from __future__ import annotations

import collections
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A promise that was broken."""

    kind: str
    token: str  # of the prompt; empty when it is about none
    text: str


class Record:
    """The memory of the run, shared by all its parts."""

    NOTES = 200

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.count: collections.Counter[str] = collections.Counter()
        self.violations: list[Violation] = []
        self.tokens: set[str] = set()  # of prompts that something was wrong with
        self.deeds: list[str] = []  # of the killer
        self._notes: dict[str, collections.deque[str]] = {}

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def note(self, token: str, text: str) -> None:
        """Remembers what happened to a prompt."""
        notes = self._notes.get(token)
        if notes is None:
            notes = self._notes[token] = collections.deque(maxlen=self.NOTES)
        notes.append(f"{self.now():9.3f} {text}")

    def notes(self, token: str) -> list[str]:
        """What happened to a prompt, oldest first."""
        return list(self._notes.get(token, ()))

    def deed(self, text: str) -> None:
        """Remembers what the killer did."""
        self.deeds.append(f"{self.now():9.3f} {text}")

    def violation(self, kind: str, token: str, text: str) -> None:
        """Remembers that something is wrong."""
        self.count[kind] += 1
        self.violations.append(Violation(kind, token, text))
        self.tokens.add(token)
        if token:
            self.note(token, f"VIOLATION {kind}: {text}")
