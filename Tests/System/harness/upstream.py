"""A model server like Ollama that follows the orders in the prompt, and records each request."""

from __future__ import annotations

import asyncio
import collections
import hashlib
import json
import random
from dataclasses import dataclass, field

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
    outcome: str = "running"
    sent: int = 0  # lines
    is_slow: bool = False  # a process was frozen meanwhile: chatterd may have closed the exchange as silent

    def __str__(self) -> str:
        return (f"call {self.number} at {self.began:.3f}: {self.outcome} after {self.sent} lines, "
                f"{len(self.messages)} messages")


class Upstream:
    """POST /api/chat, the same for all processes."""

    def __init__(self, record: Record) -> None:
        self.calls: dict[str, list[Call]] = collections.defaultdict(list)
        self.strange: list[str] = []
        self.port = 0
        self._record = record
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listens on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    def running(self) -> int:
        """The number of running answers."""
        return sum(call.outcome == "running" for calls in self.calls.values() for call in calls)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        except asyncio.IncompleteReadError:
            return False
        method, path, _ = head[0].split(" ", 2)
        lengths = [line.split(":", 1)[1] for line in head if line.lower().startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0]) if lengths else 0)
        if method != "POST" or not path.endswith("/api/chat"):
            said = b'{"models":[{"name":"chaos"}],"version":"0.0.0"}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))
            await writer.drain()
            return True
        call, script = self._accept_call(body)
        try:
            stays_open = await self._answer(call, script, reader, writer)
        except OSError:
            call.outcome, stays_open = "aborted", False
        # A process that was frozen meanwhile may have blamed the model server for the silence.
        call.is_slow = self._record.was_paused_since(call.began) or self._record.was_any_process_lost(call.began, self._record.now())
        if call.outcome == "aborted":
            self._record.count["upstream aborts"] += 1
        self._record.note(script.token, f"upstream: call {call.number} {call.outcome} after {call.sent} lines")
        return stays_open

    def _accept_call(self, body: bytes) -> tuple[Call, Script]:
        messages = json.loads(body)["messages"]
        script = Script.parse(messages[-1]["content"]) or Script("?", 0, 0, 0, 1, 0, 0, 0, "fail-status")
        if script.token == "?":
            self.strange.append(f"asked {body[-300:]!r}")
        calls = self.calls[script.token]
        call = Call(script.token, len(calls) + 1, self._record.now())
        for message in messages:
            said = message.get("tool_calls", [])
            call.messages.append(digest(message["role"], message.get("content", ""), canonical_of(said)))
        calls.append(call)
        self._record.count["upstream calls"] += 1
        self._record.note(script.token, f"upstream: call {call.number}, {len(messages)} messages")
        return call, script

    async def _answer(
        self, call: Call, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Sends the answer of the script; returns whether the connection can be used again."""
        said = answer(script, call.number)
        stop = len(said) if script.ending == "complete" else random.Random(script.seed).randrange(len(said))
        if script.ending in ("fail-status", "fail-missing"):
            status, text = (500, "scripted failure") if script.ending == "fail-status" else (404, "model not found, as scripted")
            body = json.dumps({"error": text}).encode()
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
            await writer.drain()
            call.outcome = script.ending
            return False
        if script.ending == "fail-headless":
            call.outcome = script.ending
            return False
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        escaped = script.seed % 3 == 0
        for start in range(0, stop, script.burst):
            piece = said[start:min(start + script.burst, stop)]
            bodies = [self._line(line, start + index == len(said) - 1, escaped, call) for index, line in enumerate(piece)]
            text = "".join(bodies).encode()
            writer.write(b"%x\r\n%s\r\n" % (len(text), text))
            await writer.drain()
            call.sent += len(piece)
            if script.pace:
                await asyncio.sleep(script.pace / 1000)
            elif start % 64 == 0:
                await asyncio.sleep(0)
            if has_left(reader, writer):
                raise ConnectionResetError
        if script.ending == "fail-line":
            text = b'{"error":"scripted failure in the middle"}\n'
            writer.write(b"%x\r\n%s\r\n" % (len(text), text))
        if script.ending == "fail-silent":
            for _ in range(600):
                if has_left(reader, writer):
                    break
                await asyncio.sleep(0.1)
            raise ConnectionResetError
        if script.ending == "fail-cut":
            await writer.drain()
            writer.transport.abort()
            call.outcome = script.ending
            return False
        call.outcome = script.ending
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

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


def has_left(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the peer has closed or lost the connection."""
    return reader.at_eof() or reader.exception() is not None or writer.transport.is_closing()


def canonical_of(calls: list[object]) -> str:
    """Tool calls of a message as one text."""
    return json.dumps(calls, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if calls else ""
