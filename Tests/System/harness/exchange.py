"""One HTTP exchange of a client. The reader distinguishes a cut from an end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, AsyncIterator

from harness.cutting_proxy import CuttingProxy, Link
from harness.events import Event, event_of
from harness.machine import TIMEOUT
from harness.record import Record

SILENCE = TIMEOUT
"""Seconds without a byte after which a connection counts as hanging; comments come every second."""


class Lost(Exception):
    """The connection ended before the message did."""

    def __init__(self, why: str, is_excused: bool) -> None:
        super().__init__(why)
        self.is_excused = is_excused


@dataclass(frozen=True)
class Address:
    """The port of a server whose connections this program does not cut, in place of a cutting proxy."""

    port: int

    def link(self, _: int) -> None:
        """No record of a connection: each may be lost, by a program between this one and the server."""


class Exchange:
    """A request, and its response so far, on a separate connection."""

    def __init__(self, proxy: CuttingProxy | Address, record: Record) -> None:
        self.status = 0
        self.fields: dict[str, str] = {}
        self.was_stalled = False
        self.is_closed = False
        self.credential: Any = None  # that of the request, for its reader
        self._proxy, self._record, self._began = proxy, record, record.now()
        self._port = 0
        self._link: Link | None = None
        self._buffer = bytearray()
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    async def ask(
        cls, proxy: CuttingProxy | Address, record: Record, method: str, path: str, fields: dict[str, str] | None = None, body: Any = None
    ) -> Exchange:
        """Sends a request, and returns when the head of the response has arrived; throws `Lost`."""
        exchange = cls(proxy, record)
        try:
            await exchange._ask(method, path, fields or {}, b"" if body is None else json.dumps(body, ensure_ascii=False).encode())
        except BaseException:
            exchange.close()
            raise
        return exchange

    async def _ask(self, method: str, path: str, fields: dict[str, str], body: bytes) -> None:
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        if body:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        try:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._proxy.port, limit=32768)
            self._port = self._writer.get_extra_info("sockname")[1]
            self._writer.write("\r\n".join(head + ["", ""]).encode() + body)
        except OSError as error:
            raise self._lost(str(error)) from None
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            await self._more()
        lines = bytes(self._buffer[:end]).decode().split("\r\n")
        del self._buffer[:end + 4]
        self.status = int(lines[0].split(" ")[1])
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.fields[name.lower()] = value.strip()

    async def _more(self) -> None:
        assert self._reader is not None
        try:
            async with asyncio.timeout(SILENCE):
                piece = await self._reader.read(65536)
        except TimeoutError:
            raise Lost(f"silent for {SILENCE:.0f} s", False) from None
        except OSError as error:
            raise self._lost(str(error)) from None
        if not piece:
            raise self._lost("closed")
        # Read at once: after a lost connection, another one may get its port before this program notices.
        self._link = self._link or self._proxy.link(self._port)
        self._record.count["bytes read"] += len(piece)
        self._buffer += piece

    def _lost(self, why: str) -> Lost:
        link = self._link or self._proxy.link(self._port)
        # Without a link the proxy has not even accepted the connection.
        is_excused = self.was_stalled or link is None or link.is_excused() or self._record.was_paused_since(self._began)
        return Lost(f"{why}: {link or 'not accepted'}", is_excused)

    async def body(self) -> bytes:
        """The rest of the body."""
        return b"".join([piece async for piece in self.pieces()])

    async def json(self) -> Any:
        """The body as JSON."""
        return json.loads(await self.body())

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        if self.fields.get("transfer-encoding", "") != "chunked":
            left = int(self.fields.get("content-length", "0"))
            while left > 0:
                if not self._buffer:
                    await self._more()
                piece = bytes(self._buffer[:left])
                del self._buffer[:left]
                left -= len(piece)
                yield piece
            return
        while True:
            while (end := self._buffer.find(b"\r\n")) < 0:
                await self._more()
            size = int(bytes(self._buffer[:end]).split(b";")[0], 16)
            while len(self._buffer) < end + 2 + size + 2:
                await self._more()
            piece = bytes(self._buffer[end + 2:end + 2 + size])
            del self._buffer[:end + 2 + size + 2]
            if size == 0:
                return
            yield piece

    async def events(self) -> AsyncIterator[Event]:
        """The events; ends when the body ends in order, throws `Lost` when it does not."""
        rest = b""
        async for piece in self.pieces():
            *blocks, rest = (rest + piece).split(b"\n\n")
            for block in blocks:
                if event := event_of(block):
                    yield event
        if rest.strip():
            raise Lost(f"an event without its end: {rest[-100:]!r}", False)

    def close(self) -> None:
        """Closes the connection."""
        self.is_closed = True
        if self._link is None:
            self._proxy.link(self._port)
        if self._writer is not None:
            self._writer.transport.abort()
