"""Model servers with the behaviours of the catalogue, and a record of each request."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from faults.behaviours import Behaviour
from faults.dialects import Dialect
from faults.numbered_words import TOTAL, Text, word
from harness.processes import keep_port

TIMEOUT = 600.0
"""Seconds after which a silent server closes the connection."""


@dataclass
class Call:
    """One request for an answer."""

    label: str  # the server's letter and the number of its call, as in its words
    began: float
    key: str
    messages: list[dict[str, Any]]
    first: int = 0  # index of its first word
    lead: str = ""  # said before it
    said_before: Text | None = None  # the text that it repeats from the start
    thoughts: int = 0  # words of thinking
    retry_after: int = 0  # seconds of its Retry-After
    outcome: str = "running"
    is_there: bool = False  # it has reached the fault

    def __str__(self) -> str:
        return f"{self.label} at {self.began:.3f} from word {self.first}: {self.outcome}, {len(self.messages)} messages"


class ServerPort:
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
class ScriptedServer:
    """One model server of a fault: `behaviours` are for its first call, its second one …, the last one for all further calls."""

    letter: str  # p for the first server, s for the second one
    model: str
    dialect: Dialect
    behaviours: tuple[Behaviour, ...]
    continuation: str  # the continuation of a text
    key: str
    calls: list[Call] = field(default_factory=list)  # shared by the servers of a case, in the order of the calls
    strange: list[str] = field(default_factory=list)  # requests that must not come; shared as well
    own_port: ServerPort | None = None  # its own port, if it has one
    restarts: asyncio.Task[None] | None = None  # a restart under way


class Provider:
    """One port for all servers: the path tells them apart."""

    def __init__(self) -> None:
        self.port = 0
        self.elsewhere_port = 0
        self.elsewhere: list[str] = []  # the requests to the target of a redirect
        self.servers: dict[str, ScriptedServer] = {}
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
        server = self.servers.get("/".join(path.split("/")[1:3]))
        if server is None:
            return await self._say(writer, 404, "text/plain", b"no such server")
        key = fields.get("authorization", "").removeprefix("Bearer ")
        if key != server.key:
            server.strange.append(f"{method} {path} with the key {key!r}")
        if method != "POST" or not path.endswith(server.dialect.path):
            return await self._say(writer, 200, "application/json", server.dialect.models([server.model]).encode())
        call, behaviour = self._accept_call(server, key, json.loads(body))
        try:
            return await Answer(self, server, call, behaviour, reader, writer).run()
        except OSError:
            call.outcome = "left"
            return False

    @staticmethod
    def _accept_call(server: ScriptedServer, key: str, body: dict[str, Any]) -> tuple[Call, Behaviour]:
        number = 1 + sum(call.label[0] == server.letter for call in server.calls)
        call = Call(f"{server.letter}{number}", time.monotonic(), key, body["messages"])
        if body.get("model") != server.model or not body.get("stream"):
            server.strange.append(f"{call.label}: model {body.get('model')!r}, stream {body.get('stream')!r}")
        behaviour = server.behaviours[min(number, len(server.behaviours)) - 1]
        if call.messages[-1]["role"] == "assistant":
            text = call.messages[-1]["content"]
            # The space at the end may be missing. This server repeats it then, as models do.
            call.lead = "" if text.endswith(" ") else " "
            begun = Text.read(text + call.lead)
            why = begun.fault or server.dialect.continuation_fault(body, server.continuation)
            if server.continuation == "none":
                why = "it does not continue a text"
            if why:
                server.strange.append(f"{call.label} should continue {text[-80:]!r}: {why}")
            if behaviour.begins_again:
                call.lead, call.said_before = "", begun
            else:
                call.first = begun.words
        server.calls.append(call)
        return call, behaviour

    @staticmethod
    async def _say(writer: asyncio.StreamWriter, status: int, type: str, body: bytes, fields: str = "") -> bool:
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return True


class Answer:
    """One running answer."""

    def __init__(
        self, provider: Provider, server: ScriptedServer, call: Call, behaviour: Behaviour, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._provider, self._server, self._call, self._behaviour = provider, server, call, behaviour
        self._reader, self._writer = reader, writer
        self._dialect = server.dialect
        self._model = behaviour.model or server.model

    async def run(self) -> bool:
        """Sends the answer; returns whether the connection can be used again."""
        behaviour, call = self._behaviour, self._call
        if behaviour.silent:
            return await self._wait_for_leave()
        if behaviour.hangs_up or behaviour.raw:
            self._writer.write(behaviour.raw)
            call.outcome = "hung up"
            return False
        if behaviour.is_late:
            await self._rest(behaviour.pause)
        if behaviour.status != 200 or behaviour.body_of_error or behaviour.page:
            return await self._refuse()
        prompt = sum(8 + len(str(message.get("content", "")).encode()) * 2 // 7 for message in call.messages)
        if behaviour.window and prompt > behaviour.window:
            call.outcome = "too long"
            return await self._body(400, self._dialect.too_long(prompt, behaviour.window))
        self._writer.write((
            f"HTTP/1.1 200 OK\r\nContent-Type: {self._dialect.content_type}\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
        return await self._stream(prompt)

    async def _refuse(self) -> bool:
        behaviour = self._behaviour
        self._call.outcome = f"status {behaviour.status}"
        self._call.retry_after = behaviour.retry_after or 0
        fields = "" if behaviour.retry_after is None else f"Retry-After: {behaviour.retry_after}\r\n"
        if behaviour.location:
            fields += f"Location: http://127.0.0.1:{self._provider.elsewhere_port}/taken\r\n"
        if behaviour.page:
            return await self._body(behaviour.status, behaviour.page, "text/html; charset=utf-8", fields)
        return await self._body(behaviour.status, self._dialect.refusal(behaviour.says, behaviour.type), "application/json", fields)

    async def _body(self, status: int, body: str, type: str = "application/json", fields: str = "") -> bool:
        return await Provider._say(self._writer, status, type, body.encode(), fields)

    async def _stream(self, prompt: int) -> bool:
        behaviour, call, say = self._behaviour, self._call, self._say
        if behaviour.empty:
            call.outcome = "empty"
            return await self._close_body()
        if not behaviour.is_bare:
            await say(self._dialect.opening(self._model))
        if not behaviour.is_late:
            await self._rest(behaviour.pause)
        for _ in range(behaviour.comments):
            await say(": still thinking\n\n" if self._dialect.kind == "openai" else self._dialect.word(self._model, ""))
        for index in range(behaviour.thoughts):
            await say(self._dialect.thought(self._model, word(index, call.label)))
            call.thoughts += 1
        if behaviour.is_tool:
            return await self._tool(prompt)
        if behaviour.is_mute and call.first > 0:
            call.outcome = "mute"
            await say(self._dialect.end(self._model, 0, prompt))
            return await self._close_body()
        for index in range(call.first, TOTAL):
            if index == call.first + behaviour.words and behaviour.then != "end" and not await self._then(index):
                return False
            lead = call.lead if index == call.first else ""
            said = self._dialect.word(self._model, lead + word(index, self._voice(index)))
            await say(said * (2 if index == behaviour.twice else 1))
            await asyncio.sleep(0.002)
        end = self._dialect.end(self._model, TOTAL - call.first, prompt)
        await say(end * (2 if behaviour.then == "end twice" else 1))
        if call.outcome in ("running", "end twice"):
            call.outcome = "complete" if call.said_before is None else "said again"
        return await self._close_body()

    def _voice(self, index: int) -> str:
        """The name in a word: the call, or an earlier one whose words the model repeats."""
        before = self._call.said_before.stretches if self._call.said_before else []
        return next((one.label for one in before if one.first <= index < one.first + one.words), self._call.label)

    async def _then(self, index: int) -> bool:
        """Performs the fault in the middle; returns whether the answer continues after it."""
        behaviour, call, dialect = self._behaviour, self._call, self._dialect
        call.outcome, call.is_there = behaviour.then, True
        text = f"{behaviour.says} ({call.label})"
        match behaviour.then:
            case "cut in a line":
                said = dialect.word(self._model, word(index, call.label)).encode()
                self._chunk(said[:len(said) * 3 // 4])
            case "reset":
                linger = struct.pack("ii", 1, 0)
                self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                # Wait, so that the bytes written so far arrive before the reset.
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
            case "empty end":
                await self._say(dialect.empty())
                await self._close_body()
            case "restart":
                own_port = self._server.own_port
                assert own_port
                self._server.restarts = asyncio.create_task(own_port.restart())
            case "end twice" | "end":
                return True
            case "cut":
                pass
            case other:
                raise AssertionError(other)
        return False

    async def _tool(self, prompt: int) -> bool:
        behaviour, call, dialect = self._behaviour, self._call, self._dialect
        pieces = dialect.call(self._model, call.label)
        if behaviour.then == "cut":
            for piece in pieces[:-1]:
                await self._say(piece)
            call.outcome = "cut"
            return False
        if behaviour.is_limited:
            await self._say(dialect.cut_call(self._model, call.label, behaviour.then == "closed"))
        elif behaviour.then == "broken call":
            await self._say(dialect.broken_call(self._model, call.label))
        else:
            await self._say("".join(pieces) + dialect.end(self._model, 9, prompt, True))
        call.outcome = "complete" if behaviour.then == "end" or behaviour.is_limited else behaviour.then
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
        """Pauses; throws if the peer disconnects meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._has_left():
                raise ConnectionResetError
            await asyncio.sleep(0.05)

    async def _wait_for_leave(self) -> bool:
        """Sends no bytes until the peer has disconnected, as it must."""
        await self._rest(TIMEOUT)
        self._call.outcome = "the client did not leave"
        return False

    def _has_left(self) -> bool:
        return self._reader.at_eof() or self._reader.exception() is not None or self._writer.transport.is_closing()
