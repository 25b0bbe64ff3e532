"""The messages of a chat, as its client keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from harness.upstream import canonical_of, digest


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: Any

    @property
    def text(self) -> str:
        """The arguments as a text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Message:
    """A message of the system, the user, the model (`assistant`) or a tool."""

    role: str
    text: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    result_of: ToolCall | None = None
    reply: str | None = None  # the id of the stored, complete reply that the message is

    @property
    def digest(self) -> str:
        """The message in few bytes, as the model server should get it."""
        calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in self.calls]
        return digest(self.role, self.text, canonical_of(calls))


def results(messages: list[Message]) -> list[Message]:
    """The results of the calls in the last message."""
    calls = messages[-1].calls if messages else ()
    return [Message("tool", f"the result of {call.id}", result_of=call) for call in calls]
