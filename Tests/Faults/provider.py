"""Model servers that misbehave as the catalogue says, and remember who asked them what."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from acts import Act
from dialects import Dialect
from processes import keep_port
from words import TOTAL, Text, word

PATIENCE = 600.0
"""Seconds after which a server that says nothing gives up."""


@dataclass
class Call:
    """One request for an answer."""

    who: str  # the server's letter and the number of the call there, as its words tell
    began: float
    key: str
    messages: list[dict[str, Any]]
    first: int = 0  # place of the first word that it is to say
    lead: str = ""  # said before it
    said_before: Text | None = None  # what it says once more, from the start
    thoughts: int = 0  # words thought aloud
    retry_after: int = 0  # seconds for which it asks to be left alone
    outcome: str = "running"
    is_there: bool = False  # it has come to the place where something happens

    def __str__(self) -> str:
        return f"{self.who} at {self.began:.3f} from word {self.first}: {self.outcome}, {len(self.messages)} messages"


class Entrance:
    """A port of one server that may be closed for a while: connections are refused then."""

    DOWN = 1.0
    """Seconds for which a server that restarts is away."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._keeper = keep_port()
        self.port: int = self._keeper.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Listens."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20, reuse_address=True)

    async def restart(self) -> None:
        """Closes the port and all connections, and listens again after a while."""
        if self._server:
            self._server.close()
        for writer in list(self._writers):
            writer.close()
        await asyncio.sleep(self.DOWN)
        await self.open()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._provider.serve(reader, writer)
        finally:
            self._writers.discard(writer)


@dataclass
class Desk:
    """One model server, as a fault has it: `acts` are what it does at its first call, its second one …, the last one for good."""

    letter: str  # p for the first server, s for the second one
    model: str
    dialect: Dialect
    acts: tuple[Act, ...]
    continuation: str  # how it goes on from a text
    key: str
    book: list[Call] = field(default_factory=list)  # shared by the servers of a trial, in the order of the calls
    strange: list[str] = field(default_factory=list)  # requests that must not come; shared as well
    entrance: Entrance | None = None  # its own port, if it has one
    restarts: asyncio.Task[None] | None = None  # a restart under way


class Provider:
    """One port for all servers: the path tells them apart."""

    def __init__(self) -> None:
        self.port = 0
        self.elsewhere_port = 0
        self.elsewhere: list[str] = []  # what came to where a redirect leads
        self.desks: dict[str, Desk] = {}
        self._servers: list[asyncio.Server] = []

    async def start(self) -> None:
        """Listens on free ports."""
        self._servers = [
            await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024),
            await asyncio.start_server(self._trap, "127.0.0.1", 0)]
        self.port, self.elsewhere_port = (server.sockets[0].getsockname()[1] for server in self._servers)

    async def _trap(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.elsewhere.append((await reader.read(2000)).decode(errors="replace"))
        writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in head[1:] if line)}
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        desk = self.desks.get("/".join(path.split("/")[1:3]))
        if desk is None:
            return await self._say(writer, 404, "text/plain", b"nobody is here")
        key = fields.get("authorization", "").removeprefix("Bearer ")
        if key != desk.key:
            desk.strange.append(f"{method} {path} with the key {key!r}")
        if method != "POST" or not path.endswith(desk.dialect.path):
            return await self._say(writer, 200, "application/json", desk.dialect.models([desk.model]).encode())
        call, act = self._take(desk, key, json.loads(body))
        try:
            return await Answer(self, desk, call, act, reader, writer).run()
        except OSError:
            call.outcome = "left"
            return False

    @staticmethod
    def _take(desk: Desk, key: str, body: dict[str, Any]) -> tuple[Call, Act]:
        number = 1 + sum(call.who[0] == desk.letter for call in desk.book)
        call = Call(f"{desk.letter}{number}", time.monotonic(), key, body["messages"])
        if body.get("model") != desk.model or not body.get("stream"):
            desk.strange.append(f"{call.who}: model {body.get('model')!r}, stream {body.get('stream')!r}")
        act = desk.acts[min(number, len(desk.acts)) - 1]
        if call.messages[-1]["role"] == "assistant":
            text = call.messages[-1]["content"]
            # The space at the end may have been taken off; this server says it again then, as models do.
            call.lead = "" if text.endswith(" ") else " "
            begun = Text.read(text + call.lead)
            why = begun.fault or desk.dialect.continues(body, desk.continuation)
            if desk.continuation == "none":
                why = "it does not go on from a text"
            if why:
                desk.strange.append(f"{call.who} is to go on from {text[-80:]!r}: {why}")
            if act.forgets:
                call.lead, call.said_before = "", begun
            else:
                call.first = begun.words
        desk.book.append(call)
        return call, act

    @staticmethod
    async def _say(writer: asyncio.StreamWriter, status: int, type: str, body: bytes, fields: str = "") -> bool:
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return True


class Answer:
    """One answer that is being given."""

    def __init__(
        self, provider: Provider, desk: Desk, call: Call, act: Act, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._provider, self._desk, self._call, self._act = provider, desk, call, act
        self._reader, self._writer = reader, writer
        self._dialect = desk.dialect
        self._model = act.model or desk.model

    async def run(self) -> bool:
        """Gives it; returns whether the connection can be used again."""
        act, call = self._act, self._call
        if act.silent:
            return await self._wait_for_leave()
        if act.hangs_up or act.raw:
            self._writer.write(act.raw)
            call.outcome = "hung up"
            return False
        if act.is_late:
            await self._rest(act.pause)
        if act.status != 200 or act.body_of_error or act.page:
            return await self._refuse()
        prompt = sum(8 + len(str(message.get("content", "")).encode()) * 2 // 7 for message in call.messages)
        if act.window and prompt > act.window:
            call.outcome = "too long"
            return await self._body(400, self._dialect.too_long(prompt, act.window))
        self._writer.write((
            f"HTTP/1.1 200 OK\r\nContent-Type: {self._dialect.content_type}\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
        return await self._stream(prompt)

    async def _refuse(self) -> bool:
        act = self._act
        self._call.outcome = f"status {act.status}"
        self._call.retry_after = act.retry_after or 0
        fields = "" if act.retry_after is None else f"Retry-After: {act.retry_after}\r\n"
        if act.location:
            fields += f"Location: http://127.0.0.1:{self._provider.elsewhere_port}/taken\r\n"
        if act.page:
            return await self._body(act.status, act.page, "text/html; charset=utf-8", fields)
        return await self._body(act.status, self._dialect.refusal(act.says, act.type), "application/json", fields)

    async def _body(self, status: int, body: str, type: str = "application/json", fields: str = "") -> bool:
        return await Provider._say(self._writer, status, type, body.encode(), fields)

    async def _stream(self, prompt: int) -> bool:
        act, call, say = self._act, self._call, self._say
        if act.empty:
            call.outcome = "empty"
            return await self._close_body()
        if not act.is_bare:
            await say(self._dialect.opening(self._model))
        if not act.is_late:
            await self._rest(act.pause)
        for _ in range(act.comments):
            await say(": still thinking\n\n" if self._dialect.kind == "openai" else self._dialect.word(self._model, ""))
        for place in range(act.thoughts):
            await say(self._dialect.thought(self._model, word(place, call.who)))
            call.thoughts += 1
        if act.is_tool:
            return await self._tool(prompt)
        if act.is_mute and call.first > 0:
            call.outcome = "mute"
            await say(self._dialect.end(self._model, 0, prompt))
            return await self._close_body()
        for place in range(call.first, TOTAL):
            if place == call.first + act.words and act.then != "end" and not await self._then(place):
                return False
            lead = call.lead if place == call.first else ""
            said = self._dialect.word(self._model, lead + word(place, self._voice(place)))
            await say(said * (2 if place == act.twice else 1))
            await asyncio.sleep(0.002)
        end = self._dialect.end(self._model, TOTAL - call.first, prompt)
        await say(end * (2 if act.then == "end twice" else 1))
        if call.outcome in ("running", "end twice"):
            call.outcome = "complete" if call.said_before is None else "said again"
        return await self._close_body()

    def _voice(self, place: int) -> str:
        """Who says a word: the call, or the one that said it before, where a model says the same once more."""
        before = self._call.said_before.stretches if self._call.said_before else []
        return next((one.who for one in before if one.first <= place < one.first + one.words), self._call.who)

    async def _then(self, place: int) -> bool:
        """What happens in the middle; returns whether the answer goes on behind it."""
        act, call, dialect = self._act, self._call, self._dialect
        call.outcome, call.is_there = act.then, True
        text = f"{act.says} ({call.who})"
        match act.then:
            case "cut in a line":
                said = dialect.word(self._model, word(place, call.who)).encode()
                self._chunk(said[:len(said) * 3 // 4])
            case "reset":
                linger = struct.pack("ii", 1, 0)
                self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                # What has been written is to arrive before the reset overtakes it.
                await asyncio.sleep(0.05)
                self._writer.transport.abort()
            case "stall":
                await self._wait_for_leave()
            case "comments":
                while not self._has_left():
                    await self._say(": still thinking\n\n")
                    await asyncio.sleep(0.1)
            case "garbage":
                await self._say(dialect.garbage())
                return True
            case "error":
                await self._say(dialect.error(text))
                await self._close_body()
            case "error, then end":
                await self._say(dialect.error(text) + dialect.done())
                await self._close_body()
            case "clean end":
                await self._close_body()
            case "silent failure":
                await self._say(dialect.word("", ""))
                await self._close_body()
            case "end of nothing":
                await self._say(dialect.nothing())
                await self._close_body()
            case "restart":
                entrance = self._desk.entrance
                assert entrance
                self._desk.restarts = asyncio.create_task(entrance.restart())
            case "end twice" | "end":
                return True
            case "cut":
                pass
            case other:
                raise AssertionError(other)
        return False

    async def _tool(self, prompt: int) -> bool:
        act, call, dialect = self._act, self._call, self._dialect
        pieces = dialect.call(self._model, call.who)
        if act.then == "cut":
            for piece in pieces[:-1]:
                await self._say(piece)
            call.outcome = "cut"
            return False
        if act.is_limited:
            await self._say(dialect.cut_call(self._model, call.who, act.then == "closed"))
        elif act.then == "broken call":
            await self._say(dialect.broken_call(self._model, call.who))
        else:
            await self._say("".join(pieces) + dialect.end(self._model, 9, prompt, True))
        call.outcome = "complete" if act.then == "end" or act.is_limited else act.then
        return await self._close_body()

    def _chunk(self, piece: bytes) -> None:
        if piece:
            self._writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    async def _say(self, text: str) -> None:
        self._chunk(text.encode())
        await self._writer.drain()
        if self._has_left():
            raise ConnectionResetError

    async def _close_body(self) -> bool:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _rest(self, seconds: float) -> None:
        """Rests; throws when the other side leaves meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._has_left():
                raise ConnectionResetError
            await asyncio.sleep(0.05)

    async def _wait_for_leave(self) -> bool:
        """Says nothing until the other side has left, which it has to."""
        await self._rest(PATIENCE)
        self._call.outcome = "nobody left"
        return False

    def _has_left(self) -> bool:
        return self._reader.at_eof() or self._reader.exception() is not None or self._writer.transport.is_closing()
