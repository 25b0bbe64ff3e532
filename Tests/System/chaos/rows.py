"""The stored rows, linked to conversations."""

from __future__ import annotations

import json
from dataclasses import dataclass

from harness.script import Script, canonical
from harness.upstream import canonical_of, digest

FAILED = ("failed", "interrupted")
FINAL = ("complete", "cancelled", *FAILED)


@dataclass
class Row:
    """A row of `chatts`."""

    seq: int
    turn: int | None
    name: str
    message: str
    id: str
    state: str | None
    thinking: str | None
    extras: str | None
    attempt: int | None
    handovers: int | None
    after: int | None
    last_event: str | None
    holder: str | None

    @property
    def is_reply(self) -> bool:
        return self.turn == self.seq

    @property
    def calls(self) -> list[object]:
        """The tool calls of the message."""
        members = json.loads("{" + (self.extras or "") + "}")
        return list(members.get("tool_calls") or [])

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Text, thinking and tool calls, as readers get them."""
        return self.message.encode(), (self.thinking or "").encode(), canonical(self.calls).encode()

    def __str__(self) -> str:
        text, thinking, calls = map(len, self.parts)
        return (f"seq {self.seq}, turn {self.turn}, after {self.after}, {self.name}, id {self.id}, state {self.state}, attempt "
                f"{self.attempt}, holder {self.holder}, {text}+{thinking}+{calls} bytes, last event {(self.last_event or '')[:300]}")


class Conversation:
    """The rows of one appID, linked."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self._by_seq = {row.seq: row for row in rows}
        self._before = {row.seq: previous for previous, row in zip([None, *rows], rows)}
        self.prompts: dict[str, list[Row]] = {}
        for row in rows:
            if row.name == "user" and (script := Script.parse(row.message)):
                self.prompts.setdefault(script.token, []).append(row)
        self.replies = {row.id: row for row in rows if row.is_reply and row.name == "assistant"}

    def before(self, row: Row) -> Row | None:
        """The row that a row follows."""
        if row.after is None:
            return self._before[row.seq]
        return self._by_seq.get(row.after)

    def prompt(self, reply: Row) -> Row | None:
        """The prompt that a reply answers."""
        row = self.before(reply)
        return row if row is not None and row.name == "user" else None

    def history(self, prompt: Row) -> list[str]:
        """The expected messages of the request to the model, as digests."""
        return [digest(row.name, row.message, canonical_of(row.calls)) for row in self.branch(prompt)]

    def branch(self, prompt: Row) -> list[Row]:
        """The turns with an answer on the path to a prompt, and the prompt."""
        rows: list[Row] = []
        row: Row | None = prompt
        counts = True
        while row is not None:
            if row.is_reply:
                counts = row.state == "complete" or bool(row.message.strip()) and not row.calls
            if row.state != "choice" and (counts or row.turn is None):
                rows.append(row)
            row = self.before(row)
        return rows[::-1]
