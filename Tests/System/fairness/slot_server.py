"""A model server like Ollama that needs the same time for every answer, and records when each request arrived."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass


@dataclass
class Call:
    """One request for an answer."""

    token: str  # the prompt, word for word
    began: float
    ended: float = 0.0
    is_whole: bool = False


class SlotServer:
    """POST /api/chat with a fixed service time."""

    def __init__(self, service: float) -> None:
        self.service = service
        self.port = 0
        self.calls: list[Call] = []
        self.running = 0
        self.most = 0  # answers at once
        self._server: asyncio.Server | None = None
        self._progress = asyncio.Event()
        self._room = math.inf  # answers that may still begin
        self._opened = asyncio.Event()

    async def start(self) -> None:
        """Listens on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Begins no further answer: requests wait."""
        self._room = 0

    def open(self, count: float = math.inf) -> None:
        """Begins this many answers, or all."""
        self._room = count
        self._opened.set()

    def started(self, tokens: set[str]) -> list[str]:
        """The requested prompts among these, in order, each once."""
        seen: dict[str, None] = {}
        for call in self.calls:
            if call.token in tokens:
                seen.setdefault(call.token)
        return list(seen)

    def first(self, token: str) -> Call:
        """The first request for a prompt."""
        return next(call for call in self.calls if call.token == token)

    async def wait_for(self, count: int, tokens: set[str]) -> None:
        """Waits for requests for this many of the prompts."""
        while len(self.started(tokens)) < count:
            self._progress.clear()
            await self._progress.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
            body = json.loads(await reader.readexactly(length))
            await self._answer(body, reader, writer)
        except (OSError, asyncio.IncompleteReadError, StopIteration):
            pass  # the client has disconnected, or sent another request
        finally:
            writer.close()

    async def _answer(self, body: dict[str, list[dict[str, str]]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        call = Call(body["messages"][-1]["content"], clock())
        self.calls.append(call)
        self._progress.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n")
            await writer.drain()
            while self._room < 1:
                self._opened.clear()
                await self._opened.wait()
            self._room -= 1
            try:
                # No bytes arrive unless the client disconnects.
                async with asyncio.timeout(self.service):
                    await reader.read(1)
                return
            except TimeoutError:
                pass
            call.is_whole = True
        finally:
            self.running -= 1
            call.ended = clock()
        for content, end in ((call.token, {"done": False}), ("", {"done": True, "done_reason": "stop"})):
            line = {"model": "fair", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": content}}
            writer.write(json.dumps(line | end).encode() + b"\n")
        await writer.drain()
