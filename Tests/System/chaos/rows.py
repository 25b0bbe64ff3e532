"""The stored rows, linked to conversations."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from harness.script import Script, canonical
from harness.upstream import canonical_of, digest

FAILED = ("failed", "interrupted")
FINAL = ("complete", "cancelled", *FAILED)


@dataclass(frozen=True)
class Step:
    """A call of a tool of the server in a row, with its result."""

    json: Any  # the call, as the model has made it
    message: Any  # the message with its result

    @property
    def function(self) -> Any:
        """The name and the arguments."""
        return self.json["function"]

    @property
    def state(self) -> str:
        """What is known of it."""
        return str(self.message.get("state"))

    @property
    def result(self) -> str:
        """What the model reads."""
        return str(self.message["content"])

    def __str__(self) -> str:
        return f"{self.function['name']} {self.function['arguments']['call']}: {self.state} {self.result[:60]!r}"


@dataclass(frozen=True)
class Round:
    """What the model said in a request, up to the calls that it made."""

    message: Any
    steps: list[Step]

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Text, thinking and tool calls."""
        thinking, calls = self.message.get("thinking", ""), canonical(self.message["tool_calls"])
        return self.message["content"].encode(), thinking.encode(), calls.encode()

    @property
    def digests(self) -> list[str]:
        """Its messages, as the model server gets them."""
        said = digest("assistant", self.message["content"], canonical_of(self.message["tool_calls"]))
        return [said] + [digest("tool", step.result) for step in self.steps]

    def is_kept_in(self, other: Round) -> bool:
        """Whether another, later state of the round has its calls, and the same results where they had ended."""
        return self.message == other.message and all(
            step.state in ("waiting", "running") or step.message == later.message for step, later in zip(self.steps, other.steps))


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
        return list(self._members.get("tool_calls") or [])

    @functools.cached_property
    def _members(self) -> Any:
        return json.loads("{" + (self.extras or "") + "}")

    @functools.cached_property
    def rounds(self) -> list[Round]:
        """The rounds in which tools of the server were called."""
        rounds: list[Round] = []
        messages = list(self._members.get("steps") or [])
        while messages:
            said = messages.pop(0)
            calls = said["tool_calls"]
            results, messages = messages[:len(calls)], messages[len(calls):]
            if [message["role"] for message in (said, *results)] != ["assistant"] + ["tool"] * len(calls):
                raise ValueError(f"the steps have no result for each call: {self.extras}")
            rounds.append(Round(said, [Step(call, result) for call, result in zip(calls, results)]))
        return rounds

    @property
    def said(self) -> tuple[bytes, bytes]:
        """Text and thinking of the rounds."""
        parts = [one.parts for one in self.rounds]
        return b"".join(text for text, _, _ in parts), b"".join(thinking for _, thinking, _ in parts)

    @property
    def digests(self) -> list[str]:
        """The messages that a model server gets for it in a history."""
        text, said = self.message, self.said[0].decode()
        steps = [one for round in self.rounds for one in round.digests]
        return steps + [digest(self.name, text.removeprefix(said), canonical_of(self.calls))]

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Text, thinking and tool calls, as readers get them."""
        return self.message.encode(), (self.thinking or "").encode(), canonical(self.calls).encode()

    def __str__(self) -> str:
        text, thinking, calls = map(len, self.parts)
        return (f"seq {self.seq}, turn {self.turn}, after {self.after}, {self.name}, id {self.id}, state {self.state}, attempt "
                f"{self.attempt}, holder {self.holder}, {text}+{thinking}+{calls} bytes, steps "
                f"{[[str(step) for step in one.steps] for one in self.rounds]}, last event {(self.last_event or '')[:300]}")


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
        return [one for row in self.branch(prompt) for one in row.digests]

    def branch(self, prompt: Row) -> list[Row]:
        """The turns with an answer on the path to a prompt, and the prompt."""
        rows: list[Row] = []
        row: Row | None = prompt
        counts = True
        while row is not None:
            if row.is_reply:
                counts = row.state == "complete" or not row.calls and bool(row.message.strip() or row.rounds)
            if row.state != "choice" and (counts or row.turn is None):
                rows.append(row)
            row = self.before(row)
        return rows[::-1]
