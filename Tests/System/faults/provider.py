"""Model servers with the behaviours of the catalogue, and a record of each request."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from faults.behaviours import Behaviour
from faults.dialects import Dialect
from faults.numbered_words import TOTAL, Text, word
from harness.machine import keep_port
from harness.model_server import ModelExchange, ModelServer

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


class ServerPort(ModelServer):
    """A port of one server that may be closed for a while: connections are refused then."""

    DOWN = 1.0
    """Seconds for which a server that restarts is away."""

    def __init__(self, provider: Provider) -> None:
        self._keeper = keep_port()
        super().__init__(provider.script, self._keeper.getsockname()[1])

    async def restart(self) -> None:
        """Closes the port and all connections, and listens again after a while."""
        await self.stop()
        await asyncio.sleep(self.DOWN)
        await self.start()


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


class Provider(ModelServer):
    """One port for all servers: the path tells them apart."""

    def __init__(self) -> None:
        super().__init__(self._exchange)
        self.trap = ModelServer(self._catch)
        """The target of redirects."""
        self.elsewhere: list[str] = []  # the requests to it
        self.servers: dict[str, ScriptedServer] = {}

    async def start(self) -> None:
        """Listens on free ports."""
        await super().start()
        await self.trap.start()

    async def _catch(self, exchange: ModelExchange) -> None:
        self.elsewhere.append(f"{exchange.method} {exchange.path} {exchange.fields}")

    async def _exchange(self, exchange: ModelExchange) -> None:
        method, path = exchange.method, exchange.path
        server = self.servers.get("/".join(path.split("/")[1:3]))
        if server is None:
            return await exchange.answer("no such server", 404, "text/plain")
        key = exchange.fields.get("authorization", "").removeprefix("Bearer ")
        if key != server.key:
            server.strange.append(f"{method} {path} with the key {key!r}")
        if method != "POST" or not path.endswith(server.dialect.path):
            return await exchange.answer(server.dialect.models([server.model]))
        call, behaviour = self._accept_call(server, key, exchange.request)
        try:
            await Answer(self, server, call, behaviour, exchange).run()
        except OSError:
            call.outcome = "left"

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


class Answer:
    """One running answer."""

    def __init__(
        self, provider: Provider, server: ScriptedServer, call: Call, behaviour: Behaviour, exchange: ModelExchange
    ) -> None:
        self._provider, self._server, self._call, self._behaviour = provider, server, call, behaviour
        self._exchange = exchange
        self._dialect = server.dialect
        self._model = behaviour.model or server.model

    async def run(self) -> None:
        """Sends the answer."""
        behaviour, call, exchange = self._behaviour, self._call, self._exchange
        if behaviour.silent:
            return await self._wait_for_leave()
        if behaviour.hangs_up or behaviour.raw:
            call.outcome = "hung up"
            return await exchange.send_raw(behaviour.raw)
        if behaviour.is_late:
            await exchange.rest(behaviour.pause)
        if behaviour.status != 200 or behaviour.body_of_error or behaviour.page:
            return await self._refuse()
        prompt = sum(8 + len(str(message.get("content", "")).encode()) * 2 // 7 for message in call.messages)
        if behaviour.window and prompt > behaviour.window:
            call.outcome = "too long"
            return await exchange.answer(self._dialect.too_long(prompt, behaviour.window), 400)
        await exchange.begin(self._dialect.content_type)
        await self._stream(prompt)

    async def _refuse(self) -> None:
        behaviour = self._behaviour
        self._call.outcome = f"status {behaviour.status}"
        self._call.retry_after = behaviour.retry_after or 0
        fields = "" if behaviour.retry_after is None else f"Retry-After: {behaviour.retry_after}\r\n"
        if behaviour.location:
            fields += f"Location: {self._provider.trap.url}/taken\r\n"
        if behaviour.page:
            await self._exchange.answer(behaviour.page, behaviour.status, "text/html; charset=utf-8", fields)
        else:
            await self._exchange.answer(self._dialect.refusal(behaviour.says, behaviour.type), behaviour.status, fields=fields)

    async def _stream(self, prompt: int) -> None:
        behaviour, call, say = self._behaviour, self._call, self._exchange.send
        if behaviour.empty:
            call.outcome = "empty"
            return await self._exchange.finish()
        if not behaviour.is_bare:
            await say(self._dialect.opening(self._model))
        if not behaviour.is_late:
            await self._exchange.rest(behaviour.pause)
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
            return await self._exchange.finish()
        for index in range(call.first, TOTAL):
            if index == call.first + behaviour.words and behaviour.then != "end" and not await self._then(index):
                self._exchange.stays_open = False
                return
            lead = call.lead if index == call.first else ""
            said = self._dialect.word(self._model, lead + word(index, self._voice(index)))
            await say(said * (2 if index == behaviour.twice else 1))
            await asyncio.sleep(0.002)
        end = self._dialect.end(self._model, TOTAL - call.first, prompt)
        await say(end * (2 if behaviour.then == "end twice" else 1))
        if call.outcome in ("running", "end twice"):
            call.outcome = "complete" if call.said_before is None else "said again"
        return await self._exchange.finish()

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
                await self._exchange.send(said[:len(said) * 3 // 4])
            case "reset":
                # Wait, so that the bytes written so far arrive before the reset.
                await asyncio.sleep(0.05)
                self._exchange.reset()
            case "stall":
                await self._wait_for_leave()
            case "comments":
                while True:
                    await self._exchange.send(": still thinking\n\n")
                    await asyncio.sleep(0.1)
            case "garbage":
                await self._exchange.send(dialect.garbage())
                return True
            case "error":
                await self._exchange.send(dialect.error(text))
                await self._exchange.finish()
            case "error, then end":
                await self._exchange.send(dialect.error(text) + dialect.done())
                await self._exchange.finish()
            case "clean end":
                await self._exchange.finish()
            case "silent failure":
                await self._exchange.send(dialect.word("", ""))
                await self._exchange.finish()
            case "empty end":
                await self._exchange.send(dialect.empty())
                await self._exchange.finish()
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

    async def _tool(self, prompt: int) -> None:
        behaviour, call, dialect = self._behaviour, self._call, self._dialect
        pieces = dialect.call(self._model, call.label)
        if behaviour.then == "cut":
            for piece in pieces[:-1]:
                await self._exchange.send(piece)
            call.outcome = "cut"
            return
        if behaviour.is_limited:
            await self._exchange.send(dialect.cut_call(self._model, call.label, behaviour.then == "closed"))
        elif behaviour.then == "broken call":
            await self._exchange.send(dialect.broken_call(self._model, call.label))
        else:
            await self._exchange.send("".join(pieces) + dialect.end(self._model, 9, prompt, True))
        call.outcome = "complete" if behaviour.then == "end" or behaviour.is_limited else behaviour.then
        return await self._exchange.finish()

    async def _wait_for_leave(self) -> None:
        """Sends no bytes until the peer has disconnected, as it must."""
        await self._exchange.rest(TIMEOUT)
        self._call.outcome = "the client did not leave"
