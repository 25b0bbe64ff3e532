"""The events of one reply that one reader has got, over all its connections."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from harness.events import Event
from harness.script import canonical


class Wrong(Exception):
    """An event that must not come."""


@dataclass(frozen=True)
class Position:
    """The id of an event: the attempt of the reply, and the bytes of its parts so far."""

    attempt: int = 1
    text: int = 0
    thinking: int = 0
    calls: int = 0
    is_end: bool = False

    @classmethod
    def parse(cls, id: str) -> Position:
        found = re.fullmatch(r"(?:(\d+)~)?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-end)?", id)
        if not found:
            raise Wrong(f"the id {id!r} is no position")
        attempt, text, thinking, calls, end = found.groups()
        return cls(int(attempt or 1), int(text), int(thinking or 0), int(calls or 0), end is not None)

    def __str__(self) -> str:
        parts = [self.text] + ([self.thinking] if self.thinking or self.calls else []) + ([self.calls] if self.calls else [])
        return (f"{self.attempt}~" if self.attempt > 1 else "") + ".".join(map(str, parts)) + ("-end" if self.is_end else "")


@dataclass(frozen=True)
class Seal:
    """A ledger without its bytes: their numbers and their digests."""

    reader: str
    position: Position
    digests: tuple[str, str, str]
    final: dict[str, Any] | None  # the last event
    is_error: bool
    at: float  # the time of the seal, in seconds of the run

    def agrees(self, stored: tuple[bytes, bytes, bytes]) -> str:
        """The difference to the stored parts; an empty text if it is their beginning, or all of them."""
        lengths = (self.position.text, self.position.thinking, self.position.calls)
        for name, length, digest, part in zip(("text", "thinking", "tool calls"), lengths, self.digests, stored):
            if length > len(part) or self.final is not None and length != len(part):
                return f"{name}: {length} bytes read, {len(part)} stored"
            if hashlib.sha256(part[:length]).hexdigest() != digest:
                return f"{name}: of {length} bytes read some are not those stored"
        return ""


class Ledger:
    """Adds up events, and checks each against its position."""

    def __init__(self, reader: str) -> None:
        self.reader = reader
        self.last_id = ""
        self.final: dict[str, Any] | None = None
        self.is_error = False
        self.resets = 0
        self._attempt = 1
        self._parts = (bytearray(), bytearray(), bytearray())

    @property
    def size(self) -> int:
        """Bytes so far."""
        return sum(map(len, self._parts))

    @property
    def position(self) -> Position:
        """The position after the last event."""
        text, thinking, calls = map(len, self._parts)
        return Position(self._attempt, text, thinking, calls, self.final is not None)

    def append(self, event: Event) -> bool:
        """Adds an event; returns whether the reader can continue, which it cannot after an error without an id.

        Throws `Wrong`.
        """
        if self.final is not None:
            raise Wrong(f"an event behind the last one: {event}")
        data = json.loads(event.data)
        if not self.last_id and event.id:
            # A reader without text gets no `reset` for an earlier attempt.
            self._attempt = Position.parse(event.id).attempt
        if event.name == "error":
            if not event.id.endswith("-end"):
                return False
            self.final, self.is_error = data, True
        elif event.name == "reset":
            for part in self._parts:
                part.clear()
            self._attempt = data["attempt"]
            self.resets += 1
        elif event.name == "":
            self._append_line(data)
        else:
            raise Wrong(f"an event of another name: {event}")
        if Position.parse(event.id) != self.position:
            raise Wrong(f"the id {event.id} does not belong to {self.position}: {event.data[:300]}")
        self.last_id = event.id
        return True

    def _append_line(self, data: dict[str, Any]) -> None:
        text, thinking, calls = self._parts
        message = data["message"]
        text += message["content"].encode()
        thinking += message.get("thinking", "").encode()
        if said := message.get("tool_calls"):
            calls += (b"," if calls else b"") + canonical(said).encode()
        if data["done"]:
            self.final = data

    def seal(self, now: float) -> Seal:
        """The seal of the ledger, for the checks at the end."""
        digests = tuple(hashlib.sha256(part).hexdigest() for part in self._parts)
        return Seal(self.reader, self.position, (digests[0], digests[1], digests[2]), self.final, self.is_error, now)
