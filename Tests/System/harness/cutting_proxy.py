"""A plain TCP proxy before a process that cuts, stalls, silences and delays connections."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable

from harness import background


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
    """The proxy before one process.

    `draw` makes the fault of the next connection. `changes` is a number that grows when the process dies; odd while it does. `counts`
    gets the number of `cuts` and `stalls`.
    """

    def __init__(
        self, draw: Callable[[], Cut] = Cut, changes: Callable[[], int] = lambda: 0, counts: Counter[str] | None = None
    ) -> None:
        self.port = 0
        self.is_calm = False  # no connection has a fault
        self.is_closed = False  # connections are cut as they come
        self.is_mute = False  # answers are dropped
        self.hold_at = b""  # the next answer that has this word stops behind it
        self.count = 0  # of connections
        self.draw = draw
        self._changes, self._counts = changes, Counter() if counts is None else counts
        self._links: dict[int, Link] = {}
        self._open: set[asyncio.StreamWriter] = set()
        self._upstream = 0
        self._server: asyncio.Server | None = None

    async def start(self, upstream: int) -> None:
        """Listens on a free port for a server on port `upstream`."""
        self._upstream = upstream
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listens no longer, and cuts all connections."""
        if self._server is not None:
            self._server.close()
        self.cut(True)

    def link(self, port: int) -> Link | None:
        """Removes and returns the record of the connection of a client on a port."""
        return self._links.pop(port, None)

    def cut(self, reset: bool = False) -> None:
        """Cuts all connections."""
        for writer in list(self._open):
            end(writer, reset)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self._changes)
        self._links[writer.get_extra_info("peername")[1]] = link
        self.count += 1
        try:
            if self.is_closed:
                raise ConnectionRefusedError
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            link.was_refused = True
            writer.transport.abort()
            return
        cut = Cut() if self.is_calm else self.draw()
        self._open |= {writer, inner_writer}
        pumps = {
            asyncio.ensure_future(self._ask(reader, inner_writer, cut)),
            asyncio.ensure_future(self._answer(inner_reader, writer, cut, link)),
        }
        done, rest = await asyncio.wait(pumps, timeout=cut.seconds, return_when=asyncio.FIRST_COMPLETED)
        is_cut = not done or any(task.result() == "cut" for task in done)
        for task in rest:
            task.cancel()
        self._open -= {writer, inner_writer}
        if is_cut:
            link.was_cut = True
            self._counts["cuts"] += 1
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
        passed, seen, is_held = 0, b"", False
        try:
            while piece := await reader.read(65536):
                if self.is_mute or is_held:
                    continue
                if self.hold_at:
                    seen += piece
                    if is_held := self.hold_at in seen:
                        self.hold_at = b""
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
                    self._counts["stalls"] += 1
                    await asyncio.sleep(cut.stall)
        except OSError:
            pass
        return "left"


class Gate:
    """A cutting proxy whose test blocks, and cuts the connections itself."""

    def __init__(self, url: str, add_cleanup: Callable[..., Any], reset: bool = False) -> None:
        """`reset` cuts with RST, not FIN."""
        self.proxy, self._reset = CuttingProxy(), reset
        background.run(self.proxy.start(int(url.rpartition(":")[2])))
        self.url = f"http://127.0.0.1:{self.proxy.port}"
        add_cleanup(lambda: background.run(self.proxy.stop()))

    @property
    def count(self) -> int:
        """The number of connections so far."""
        return self.proxy.count

    async def _cut(self) -> None:
        self.proxy.cut(self._reset)

    def cut(self) -> None:
        """Cuts all connections."""
        background.run(self._cut())

    def close(self) -> None:
        """Cuts all connections, and every later one at once."""
        self.proxy.is_closed = True
        self.cut()

    def open(self) -> None:
        """Passes connections on again, and their answers."""
        self.proxy.is_closed = self.proxy.is_mute = False

    def mute(self) -> None:
        """Drops the answers until the gate is opened: requests arrive, and their responses are lost."""
        self.proxy.is_mute = True

    def hold_at(self, word: bytes) -> None:
        """Stops the next answer that has this word, behind it."""
        self.proxy.hold_at = word

    def cut_after(self, size: int | Callable[[], int]) -> None:
        """Cuts each later connection after this many bytes of its answers."""
        self.proxy.draw = lambda: Cut(answer_bytes=size() if callable(size) else size)

    def cut_no_more(self) -> None:
        """Cuts no later connection by itself."""
        self.proxy.draw = Cut


def end(writer: asyncio.StreamWriter, reset: bool) -> None:
    """Ends a connection, in order or with RST."""
    if not reset:
        writer.close()
        return
    peer: socket.socket | None = writer.get_extra_info("socket")
    if peer is not None and not writer.transport.is_closing():
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
