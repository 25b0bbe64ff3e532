"""A model server like Ollama that needs the same time for every answer, and records when each request arrived."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from harness.model_server import LAST, ModelExchange, ModelServer, line


@dataclass
class Call:
    """One request for an answer."""

    token: str  # the prompt, word for word
    began: float
    ended: float = 0.0
    is_whole: bool = False


class SlotServer(ModelServer):
    """POST /api/chat with a fixed service time."""

    def __init__(self, service: float) -> None:
        super().__init__(self._answer)
        self.service = service
        self.calls: list[Call] = []
        self.running = 0
        self.most = 0  # answers at once
        self._progress = asyncio.Event()
        self._room = math.inf  # answers that may still begin
        self._opened = asyncio.Event()

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

    async def _answer(self, exchange: ModelExchange) -> None:
        if exchange.method != "POST":
            return
        clock = asyncio.get_running_loop().time
        call = Call(exchange.request["messages"][-1]["content"], clock())
        self.calls.append(call)
        self._progress.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await exchange.begin()
            while self._room < 1:
                self._opened.clear()
                await self._opened.wait()
            self._room -= 1
            # No bytes arrive unless the client disconnects.
            await exchange.rest(self.service)
            call.is_whole = True
        finally:
            self.running -= 1
            call.ended = clock()
        await exchange.send(line("fair", {"content": call.token}) + line("fair", {}, **LAST))
        await exchange.finish()
