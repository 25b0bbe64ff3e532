"""The server of the tools that chatterd runs: it records each start of a call, and what it has answered."""

from __future__ import annotations

import collections
import json
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from harness.model_server import ModelExchange, ModelServer
from harness.record import Record
from harness.script import MISFIT, NO_TOOL, TOOLS, WORDS

UNKNOWN = "The outcome of this call is unknown: the server stopped while the tool ran. It may have had its effect."
STOPPED = "The call was stopped before its end. It may have had its effect."
NEVER_MADE = "The call was not made: the server stopped before it."
NOT_FOUND = f"Error: there is no tool of this name. The tools are {', '.join(TOOLS)}."
DOES_NOT_FIT = "Error: the arguments do not fit their schema: the value at /n "
"""What chatterd says in place of a result."""
LIMIT = 64 << 10
"""The longest result, in bytes, as chatterd has it without a setting."""
OUTCOMES = {
    "result": 70,
    "long": 12,  # longer than a page of a history reads at once
    "too long": 1,
    "status": 7,  # 500 in place of a result
    "cut": 4,  # the connection breaks in the middle
    "headless": 4,  # the connection closes in order before the head
    "reset": 2,  # and with RST
}
PARAMETERS = {
    "type": "object", "properties": {"call": {"type": "string"}, "word": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["call", "word", "n"],
}


@dataclass
class Start:
    """A start of a call."""

    key: str  # of the call, as chatterd names it
    tool: str
    arguments: dict[str, Any]
    number: int  # of the starts with this key
    at: float  # seconds of the run
    state: str = "running"  # `done` or `failed` as soon as the answer may have arrived, `left` after its peer has left
    text: str = ""  # the result that follows from the answer; of a broken connection, its beginning

    def gives(self, state: str, text: str) -> bool:
        """Whether a stored result is that of this start."""
        if state != self.state:
            return False
        return text == self.text or state == "failed" and self.text.endswith(":") and text.startswith(self.text)

    @property
    def call(self) -> str:
        """The call of the model: the token, the number of its request, the round and the place."""
        return str(self.arguments.get("call"))

    @property
    def token(self) -> str:
        """The token of the prompt."""
        return self.call.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.key}: {self.tool} {self.call} at {self.at:.3f}, start {self.number}: {self.state} {self.text[:100]!r}"


class ToolServer(ModelServer):
    """`book` runs alone, `count` beside others, `look_up` beside others and again: only that one is idempotent."""

    def __init__(self, record: Record, seed: int, longest: float) -> None:
        """`longest` is the longest time that a call takes, in seconds."""
        super().__init__(self._exchange)
        self.starts: dict[str, list[Start]] = collections.defaultdict(list)  # by key
        self.by_call: dict[str, list[Start]] = collections.defaultdict(list)
        self._record, self._seed, self._longest = record, seed, longest

    @staticmethod
    def is_idempotent(tool: str) -> bool:
        """Whether calls of a tool may run again."""
        return tool == "look_up"

    @property
    def declarations(self) -> str:
        """The setting of the processes. No call ends by its time: a machine may stand still."""
        common = {"parameters": PARAMETERS, "allow_private": True, "timeout": "10m"}
        arguments = "call={call}&word={word}&n={n}"
        return json.dumps([
            {"name": "book", "description": "Books a place.", "url": f"{self.url}/book", "method": "POST"} | common,
            {"name": "count", "description": "Counts once more.", "url": f"{self.url}/count?{arguments}", "parallel": True} | common,
            {"name": "look_up", "description": "Looks a word up.", "url": f"{self.url}/look_up?{arguments}", "pointer": "/result",
             "idempotent": True, "parallel": True} | common])

    # --- calls

    async def _exchange(self, exchange: ModelExchange) -> None:
        address = urlsplit(exchange.path)
        if exchange.method == "POST":
            arguments = exchange.request
        else:
            query = parse_qs(address.query, keep_blank_values=True, errors="strict")
            arguments = {name: values[0] for name, values in query.items()}
            arguments["n"] = int(arguments["n"])
        start = self.begin(exchange.fields.get("idempotency-key", ""), address.path.removeprefix("/"), arguments)
        try:
            await self._answer(start, exchange)
        except OSError:
            start.state = "left" if start.state == "running" else start.state
            raise
        finally:
            self._record.note(start.token, f"tool: {start}")

    def begin(self, key: str, tool: str, arguments: dict[str, Any]) -> Start:
        """Records a start."""
        start = Start(key, tool, arguments, len(self.starts[key]) + 1, self._record.now())
        self.starts[key].append(start)
        self.by_call[start.call].append(start)
        self._record.count["calls of tools"] += 1
        self._record.count["calls of tools again"] += start.number > 1
        self._record.note(start.token, f"tool: begins {start}")
        return start

    async def _answer(self, start: Start, exchange: ModelExchange) -> None:
        chance = random.Random(f"{self._seed}/{start.call}/{start.number}")
        outcome = chance.choices(tuple(OUTCOMES), tuple(OUTCOMES.values()))[0]
        seconds = chance.choices((0.0, chance.uniform(0.02, 0.4), chance.uniform(0.5, self._longest)), (40, 20, 40))[0]
        said = f"[{start.tool} {start.call} {start.number}] " + " ".join(chance.choices(WORDS, k=chance.randint(0, 20)))
        if outcome in ("long", "too long"):
            said += "…" * (chance.randint(2_000, 8_000) if outcome == "long" else LIMIT)
        body = json.dumps({"result": said}, ensure_ascii=False) if start.tool == "look_up" else said
        if seconds:
            await exchange.rest(seconds)
        # The answer may arrive from here on.
        if outcome in ("result", "long"):
            start.text, start.state = said, "done"
        elif outcome == "too long":
            start.text, start.state = f"Error: the answer has more than {LIMIT} bytes.", "failed"
        elif outcome == "status":
            start.text, start.state = f"Error: the server answered with status 500: {said}", "failed"
        else:
            start.text, start.state = f"Error: {self.url}:", "failed"
        if outcome == "status":
            await exchange.answer(said, 500, type="text/plain")
        elif outcome == "cut":
            data = body.encode()
            await exchange.send_raw(f"HTTP/1.1 200 OK\r\nContent-Length: {len(data) + 1}\r\n\r\n".encode() + data)
        elif outcome == "reset":
            exchange.reset()
        elif outcome != "headless":
            await exchange.answer(body)

    # --- what a model reads

    def read(self, token: str, steps: list[Any]) -> None:
        """Checks the results that the model server gets after a prompt, at that moment."""
        calls: list[Any] = []
        for message in steps:
            if message["role"] == "assistant":
                if calls:
                    self._record.violation("wrong results", token, f"calls without a result: {calls}")
                calls = list(message.get("tool_calls") or [])
            elif message["role"] != "tool" or not calls:
                self._record.violation("wrong results", token, f"a message between the steps: {str(message)[:300]}")
            else:
                call = calls.pop(0)
                function, text = call["function"], message["content"]
                if message.get("tool_name") != function["name"] or message.get("tool_call_id") != call.get("id"):
                    self._record.violation("wrong results", token, f"the result names another call than {call}: {str(message)[:300]}")
                starts = self.by_call[function["arguments"]["call"]]
                is_given = any(start.gives(start.state, text) for start in starts if start.state in ("done", "failed"))
                is_unknown = text == UNKNOWN and not self.is_idempotent(function["name"])
                if not is_given and not is_unknown and not refuses(function, text):
                    self._record.violation("wrong results", token, f"the model reads {text[:300]!r}; {call}; {[str(one) for one in starts]}")
        if calls:
            self._record.violation("wrong results", token, f"calls without a result: {calls}")


def is_refused(function: dict[str, Any]) -> bool:
    """Whether chatterd must not make a call."""
    return function["name"] == NO_TOOL or function["arguments"]["n"] == MISFIT


def refuses(function: dict[str, Any], text: str) -> bool:
    """Whether a result tells why a call is not made."""
    if function["name"] == NO_TOOL:
        return text == NOT_FOUND
    return is_refused(function) and text.startswith(DOES_NOT_FIT)
