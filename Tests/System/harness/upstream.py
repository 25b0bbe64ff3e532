"""A model server like Ollama that follows the orders in the prompt, and records each request."""

from __future__ import annotations

import asyncio
import bisect
import collections
import hashlib
import json
import random
from dataclasses import dataclass, field
from typing import Any, Callable

from harness.model_server import ModelExchange, ModelServer
from harness.record import Record
from harness.script import Line, Script, answer


def digest(role: str, content: str, calls: str = "") -> str:
    """A message of a conversation in few bytes."""
    return role + ":" + hashlib.sha256(f"{content}\0{calls}".encode()).hexdigest()[:16]


@dataclass
class Call:
    """One request for an answer."""

    token: str
    number: int  # of those for this prompt
    began: float
    messages: list[str] = field(default_factory=list)  # digests
    rounds: int = 0  # of calls of the server's tools, before it
    outcome: str = "running"
    sent: int = 0  # lines
    sent_at: list[float] = field(default_factory=list)  # of each line of a slow answer
    is_slow: bool = False  # a process was frozen meanwhile: chatterd may have closed the exchange as silent

    def __str__(self) -> str:
        return (f"call {self.number} at {self.began:.3f}, after {self.rounds} rounds: {self.outcome} after {self.sent} lines, "
                f"{len(self.messages)} messages")


class Upstream(ModelServer):
    """POST /api/chat, the same for all processes."""

    def __init__(self, record: Record, read_steps: Callable[[str, list[Any]], None] = lambda *_: None) -> None:
        """`read_steps` gets the token of each prompt that calls tools, and the messages after the prompt."""
        super().__init__(self._exchange)
        self._read_steps = read_steps
        self.calls: dict[str, list[Call]] = collections.defaultdict(list)
        self.strange: list[str] = []
        self._record = record

    def running(self) -> int:
        """The number of running answers."""
        return sum(call.outcome == "running" for calls in self.calls.values() for call in calls)

    def lines_until(self, token: str, time: float) -> int:
        """The number of lines that were sent for a prompt with a slow answer until a time."""
        return sum(bisect.bisect_right(call.sent_at, time) for call in self.calls[token])

    async def _exchange(self, exchange: ModelExchange) -> None:
        if exchange.method != "POST" or not exchange.path.endswith("/api/chat"):
            return await exchange.answer('{"models":[{"name":"chaos"}],"version":"0.0.0"}')
        call, script = self._accept_call(exchange.body)
        try:
            await self._answer(call, script, exchange)
        except OSError:
            call.outcome = "aborted"
        # A process that was frozen meanwhile may have blamed the model server for the silence.
        call.is_slow = self._record.was_paused_since(call.began) or self._record.was_any_process_lost(call.began, self._record.now())
        if call.outcome == "aborted":
            self._record.count["upstream aborts"] += 1
        self._record.note(script.token, f"upstream: call {call.number} {call.outcome} after {call.sent} lines")

    def _accept_call(self, body: bytes) -> tuple[Call, Script]:
        messages = json.loads(body)["messages"]
        last = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        steps = messages[last + 1:]
        script = Script.parse(messages[last]["content"]) or Script("?", 0, 0, 0, 1, 0, 0, 0, "fail-status")
        if script.token == "?":
            self.strange.append(f"asked {body[-300:]!r}")
        calls = self.calls[script.token]
        call = Call(script.token, len(calls) + 1, self._record.now())
        call.rounds = sum(message["role"] == "assistant" for message in steps)
        for message in messages:
            said = message.get("tool_calls", [])
            call.messages.append(digest(message["role"], message.get("content", ""), canonical_of(said)))
        calls.append(call)
        self._record.count["upstream calls"] += 1
        self._record.note(script.token, f"upstream: call {call.number}, {len(messages)} messages, {call.rounds} rounds")
        if script.rounds:
            self._read_steps(script.token, steps)
        return call, script

    async def _answer(self, call: Call, script: Script, exchange: ModelExchange) -> None:
        """Sends the answer of the script."""
        said, ending = answer(script, call.number, call.rounds), script.ending_of(call.rounds)
        stop = len(said) if ending == "complete" else random.Random(script.seed).randrange(len(said))
        if ending == "fail-silent":
            # chatterd waits much longer for a first line than for another one.
            stop = max(1, stop)
        if ending in ("fail-status", "fail-missing"):
            status, text = (500, "scripted failure") if ending == "fail-status" else (404, "model not found, as scripted")
            await exchange.answer(json.dumps({"error": text}), status)
        if ending in ("fail-status", "fail-missing", "fail-headless"):
            call.outcome = ending
            return
        await exchange.begin()
        escaped = script.seed % 3 == 0
        for start in range(0, stop, script.burst):
            piece = said[start:min(start + script.burst, stop)]
            await exchange.send("".join(
                self._line(line, start + index == len(said) - 1, escaped, call) for index, line in enumerate(piece)))
            call.sent += len(piece)
            if script.pace:
                call.sent_at += [self._record.now()] * len(piece)
                await exchange.rest(script.pace / 1000)
            elif start % 64 == 0:
                await asyncio.sleep(0)
        if ending == "fail-line":
            await exchange.send('{"error":"scripted failure in the middle"}\n')
        if ending == "fail-silent":
            await exchange.rest(60)
            raise ConnectionResetError
        call.outcome = ending
        if ending != "fail-cut":
            await exchange.finish()

    @staticmethod
    def _line(line: Line, is_last: bool, escaped: bool, call: Call) -> str:
        message: dict[str, object] = {"role": "assistant", "content": line.text}
        if line.thinking:
            message["thinking"] = line.thinking
        text = json.dumps(message, ensure_ascii=escaped, separators=(",", ":"))
        if line.calls:
            # Not escaped: tool calls are stored as they came.
            text = f'{text[:-1]},"tool_calls":[{line.calls}]}}'
        done = '"done":false'
        if is_last:
            counts = f'"prompt_eval_count":{len(call.messages)},"eval_count":{call.sent}'
            done = f'"done_reason":"stop","done":true,"total_duration":1,{counts}'
        return f'{{"model":"chaos","created_at":"2026-01-01T00:00:00Z","message":{text},{done}}}\n'


def canonical_of(calls: list[Any]) -> str:
    """Tool calls of a message as one text, without their ids."""
    said = [{"function": {name: call["function"].get(name) for name in ("name", "arguments")}} for call in calls]
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if calls else ""
