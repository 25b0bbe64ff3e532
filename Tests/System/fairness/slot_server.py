"""A model server like Ollama whose answers begin when the test lets them, and that records the order of the requests."""

from __future__ import annotations

import asyncio
import math

from harness.model_server import LAST, ModelExchange, ModelServer, line

SERVICE = 0.05
"""Seconds that an answer takes."""


class SlotServer(ModelServer):
    """POST /api/chat, with answers that begin when the test lets them."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.calls: list[str] = []  # the prompts of the requests, word for word
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
        for token in self.calls:
            if token in tokens:
                seen.setdefault(token)
        return list(seen)

    async def wait_for(self, count: int, tokens: set[str]) -> None:
        """Waits for requests for this many of the prompts."""
        while len(self.started(tokens)) < count:
            self._progress.clear()
            await self._progress.wait()

    async def _answer(self, exchange: ModelExchange) -> None:
        if exchange.method != "POST":
            return
        token = exchange.request["messages"][-1]["content"]
        self.calls.append(token)
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
            await exchange.rest(SERVICE)
        finally:
            self.running -= 1
        await exchange.send(line("fair", {"content": token}) + line("fair", {}, **LAST))
        await exchange.finish()
