"""A plain TCP proxy before a process that cuts, stalls and delays connections."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from dataclasses import dataclass
from typing import Callable

from harness.record import Record


@dataclass
class Cut:
    """The fault of one connection."""

    answer_bytes: int | None = None  # cut after this many bytes of the answer
    request_bytes: int | None = None  # cut after this many bytes of the request
    seconds: float | None = None  # cut after this time
    stall_at: int | None = None  # pause after this many bytes of the answer
    stall: float = 0  # the duration of the pause in seconds
    delay: float = 0  # seconds for each piece
    reset: bool = False  # with RST, not FIN
    lopsided: float = 0  # seconds by which the client notices the cut later than the server

    @classmethod
    def draw(cls, chance: random.Random) -> Cut:
        """Draws the fault; one connection in four has none."""
        one = cls(reset=chance.random() < 0.5)
        kind = chance.choices(("none", "answer", "request", "time", "stall"), (25, 45, 7, 15, 8))[0]
        if kind in ("answer", "stall"):
            one.answer_bytes = int(10 ** chance.uniform(0, 4.7))
        if kind == "request":
            one.request_bytes = chance.randint(0, 700)
        if kind == "time":
            one.seconds = 10 ** chance.uniform(-2.5, 0.5)
        if kind == "stall":
            one.stall_at = one.answer_bytes
            one.stall = 10 ** chance.uniform(-1, 0.5)
            one.answer_bytes = one.answer_bytes * 2 if chance.random() < 0.5 and one.answer_bytes else None
        if chance.random() < 0.1:
            one.delay = chance.uniform(0.001, 0.03)
        if chance.random() < 0.1:
            one.lopsided = chance.uniform(0.05, 1)
        return one


class Link:
    """One connection of a client through the proxy, and the reason of its end."""

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._then = changes()
        self.was_cut = False
        self.was_refused = False
        self.was_stalled = False

    @property
    def was_killed(self) -> bool:
        """Whether the process behind it was killed meanwhile, or was dying already."""
        return self._changes() != self._then or self._then % 2 == 1

    def is_excused(self) -> bool:
        """Whether this program ended the connection, and not the server."""
        return self.was_cut or self.was_refused or self.was_stalled or self.was_killed

    def __str__(self) -> str:
        why = [name for name in ("cut", "refused", "stalled", "killed") if getattr(self, f"was_{name}")]
        return "/".join(why) or "by the server"


class CuttingProxy:
    """The proxy before one process. `changes` is a number that grows when the process dies; odd while it does."""

    def __init__(self, record: Record, chance: random.Random, changes: Callable[[], int]) -> None:
        self.port = 0
        self.is_calm = False
        self._record, self._chance, self._changes = record, chance, changes
        self._links: dict[int, Link] = {}
        self._upstream = 0

    async def start(self, upstream: int) -> None:
        """Listens on a free port for a server on port `upstream`."""
        self._upstream = upstream
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]

    def link(self, port: int) -> Link | None:
        """Removes and returns the record of the connection of a client on a port."""
        return self._links.pop(port, None)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self._changes)
        self._links[writer.get_extra_info("peername")[1]] = link
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            link.was_refused = True
            writer.transport.abort()
            return
        cut = Cut() if self.is_calm else Cut.draw(self._chance)
        pumps = {
            asyncio.ensure_future(self._ask(reader, inner_writer, cut)),
            asyncio.ensure_future(self._answer(inner_reader, writer, cut, link)),
        }
        done, rest = await asyncio.wait(pumps, timeout=cut.seconds, return_when=asyncio.FIRST_COMPLETED)
        is_cut = not done or any(task.result() == "cut" for task in done)
        for task in rest:
            task.cancel()
        if is_cut:
            link.was_cut = True
            self._record.count["cuts"] += 1
            end(inner_writer, cut.reset)
            if cut.lopsided:
                await asyncio.sleep(cut.lopsided)
            end(writer, cut.reset)
        else:
            end(inner_writer, False)
            end(writer, False)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: Cut) -> str:
        passed = 0
        try:
            while piece := await reader.read(65536):
                limit = cut.request_bytes
                if limit is not None and passed + len(piece) > limit:
                    writer.write(piece[:max(0, limit - passed)])
                    return "cut"
                passed += len(piece)
                writer.write(piece)
                await writer.drain()
        except OSError:
            # The server's side: the other pump notices the cut after the bytes that were sent before.
            await asyncio.sleep(1)
        return "left"

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: Cut, link: Link
    ) -> str:
        passed = 0
        try:
            while piece := await reader.read(65536):
                limit = cut.answer_bytes
                if limit is not None and passed + len(piece) > limit:
                    writer.write(piece[:max(0, limit - passed)])
                    return "cut"
                passed += len(piece)
                if cut.delay and not self.is_calm:
                    await asyncio.sleep(cut.delay)
                writer.write(piece)
                await writer.drain()
                if cut.stall_at is not None and passed > cut.stall_at:
                    cut.stall_at = None
                    link.was_stalled = True
                    self._record.count["stalls"] += 1
                    await asyncio.sleep(cut.stall)
        except OSError:
            pass
        return "left"


def end(writer: asyncio.StreamWriter, reset: bool) -> None:
    """Ends a connection, in order or with RST."""
    if not reset:
        writer.close()
        return
    peer: socket.socket | None = writer.get_extra_info("socket")
    if peer is not None and not writer.transport.is_closing():
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
