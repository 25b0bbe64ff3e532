"""A client of the front doors: one conversation whose turns come through all their APIs, with faults of all kinds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from chaos.client import Client
from chaos.door_answers import ANSWERS, DoorAnswer, ResponseAnswer
from chaos.messages import Message
from chaos.run_state import Delivery, Prompt, Reply, Turn
from harness.exchange import Exchange, Lost
from harness.ledger import Wrong

REFUSALS = (500, 502, 503, 504, 529, 404)
"""Statuses of scripted failures, of busy processes and of a lost database."""
BUSY = (503, 529)
INTERIM = (
    "The credential has been revoked", "The server is being stopped", "he database ", "The answer was interrupted, and restarts.",
    "The answer is stored",
)
"""Errors that may end a stream and not its reply, which may be complete before this program asks for its state."""


TRIES = 4
"""The requests without a key for one answer: each of them is another prompt."""


@dataclass
class DoorRequest:
    """A request at a front door, which is repeated until it is answered, and the answer so far."""

    prompt: Prompt
    answer: DoorAnswer
    body: dict[str, Any]
    fields: dict[str, str]
    turn: Turn | None = None  # of a chat
    leaves_at: int | None = None  # its client leaves after this many events
    leaves_after: float | None = None  # or after this many seconds
    is_stopped: bool = False
    began: float = 0  # when it was sent first
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    reply: Reply | None = None

    @property
    def name(self) -> str:
        """The name of the request in reports."""
        how = "" if self.answer.is_streamed else " in one piece"
        return f"{self.prompt.token}{self.answer.path}{how}{' in the background' if self.body.get('background') else ''}"

    @property
    def has_key(self) -> bool:
        """Whether a request that is repeated gets the same reply."""
        return "Idempotency-Key" in self.fields

    @property
    def is_polled(self) -> bool:
        """Whether its answer is only the name of a response, which its client asks for again and again."""
        return "background" in self.body and not self.answer.is_streamed

    def restart(self) -> None:
        """Drops the answer: another stream has it from its beginning."""
        self.answer = type(self.answer)(self.answer.is_streamed)


class DoorClient(Client):
    """One conversation. A stream that breaks off is asked for again with its key; a response continues after its last event."""

    def _draw(self, order: int, is_endless: bool) -> Prompt:
        prompt = super()._draw(order, is_endless)
        # These APIs cannot name what a message follows, nor ask for another attempt.
        prompt.parent, prompt.may_repeat = None, False
        return prompt

    async def _turn(self, prompt: Prompt, acknowledged: asyncio.Event) -> None:
        if prompt.script.is_endless:
            await super()._turn(prompt, acknowledged)
            return
        kind = self._chance.choice(ANSWERS)
        fields = {"Idempotency-Key": prompt.token, "X-History": "append"}
        body = kind.body([Message("user", prompt.script.prompt())])
        if "conversation" in self._member.names:
            fields["X-Conversation-ID"] = self._member.conversation
        if kind is ResponseAnswer and "conversation" in self._member.names and self._chance.random() < 0.5:
            body["conversation"] = self._member.conversation
        request = self._request(prompt, kind, body, fields)
        request.acknowledged = acknowledged
        await self._converse(request)

    def _request(self, prompt: Prompt, kind: type[DoorAnswer], body: dict[str, Any], fields: dict[str, str]) -> DoorRequest:
        """A request with faults drawn from the seed."""
        chance = self._chance
        is_streamed = chance.random() < 0.65
        request = DoorRequest(prompt, kind(is_streamed), body | {"model": "chaos", "stream": is_streamed}, fields)
        if kind is ResponseAnswer and chance.random() < 0.4 and body.get("store", True):
            request.body["background"] = True
        if (policy := chance.choices((None, "finish", "cancel"), (80, 14, 6))[0]) is not None:
            fields["On-Disconnect"] = policy
        if chance.random() < 0.06:
            request.leaves_at = chance.randint(1, 60) if is_streamed else None
            request.leaves_after = None if is_streamed else chance.uniform(0.01, 1)
        request.is_stopped = chance.random() < 0.1
        return request

    async def _converse(self, request: DoorRequest) -> None:
        """Sends a request until its answer is over, or its client leaves."""
        prompt = request.prompt
        self._count(request)
        stopping: asyncio.Task[None] | None = None
        request.began = self._record.now()
        prompt.posted_at = prompt.posted_at or request.began
        tries = 0
        try:
            async with asyncio.timeout(request.leaves_after):
                while not self._state.is_over and (request.has_key or tries < TRIES):
                    exchange = await self._ask_for(request)
                    tries += not self._continues(request)
                    if exchange is not None:
                        is_over = await self._is_answered(request, exchange)
                        if request.is_stopped and stopping is None and request.reply is not None:
                            stopping = asyncio.create_task(self._stop(request.reply))
                        if is_over or await self._has_read_all(request, exchange):
                            break
                    await self._state.pause(self._chance, 0.3)
        except TimeoutError:
            self._record.note(prompt.token, f"{request.name}: leaves")
        request.acknowledged.set()
        if stopping is not None:
            await stopping
        if request.reply is not None and request.answer.end and self._chance.random() < 0.4:
            await self._retrieve(prompt, request.reply, request.turn is None or request.turn.is_stored)

    async def _is_answered(self, request: DoorRequest, exchange: Exchange) -> bool:
        """Takes the head of a response; returns whether the request is over without an answer."""
        if exchange.status == 200 and request.is_polled and request.reply is None:
            await self._read_name(request, exchange)
        elif "location" in exchange.fields:
            self._learn(request, exchange.fields["location"], exchange)
        elif exchange.status == 200 and request.reply is None:
            self._record.violation("lost replies", request.prompt.token, f"{request.name}: an answer without a Location")
            exchange.close()
            return True
        if exchange.status == 200:
            return False
        is_over = await self._is_over(request, exchange)
        if exchange.status == 409:
            request.restart()
        return is_over

    async def _read_name(self, request: DoorRequest, exchange: Exchange) -> None:
        """Reads the answer in the background for the name of its response."""
        try:
            said = await exchange.json()
        except Lost as loss:
            self._record.note(request.prompt.token, f"{request.name} lost: {loss}")
            self._lost(loss, request.prompt.token, request.name)
        else:
            self._learn(request, f"/replies/{said['id'].removeprefix('resp_')}", exchange)
        finally:
            exchange.close()

    def _learn(self, request: DoorRequest, location: str, exchange: Exchange) -> None:
        """Takes note of the reply that a request has got."""
        exchange.fields["location"] = location
        request.reply, _ = self._acknowledged(request.prompt, [exchange], request.began)
        # A prompt without a name at /api/generate has no such member, and nothing is stored of it either.
        if not request.body.get("store", True) or request.turn is not None and not request.turn.is_stored:
            self._member.passing.add(request.reply.id)
        request.acknowledged.set()
        if (turn := request.turn) is None:
            return
        if name := exchange.fields.get("x-conversation-id"):
            # Intruders ask for it.
            request.prompt.appid = self._member.key.rpartition("\x1f")[0] + "\x1f" + name
        if not any(known is request.reply for known in turn.replies):
            turn.replies.append(request.reply)

    def _count(self, request: DoorRequest) -> None:
        count = self._record.count
        count["prompts of the doors"] += 1
        count["in one piece"] += not request.answer.is_streamed
        count["in the background"] += "background" in request.body
        count["with store: false"] += not request.body.get("store", True)

    async def _has_read_all(self, request: DoorRequest, exchange: Exchange) -> bool:
        """Reads an answer; returns whether it is over, or its client has left."""
        answer, reply = request.answer, request.reply
        if exchange.is_closed or reply is None:
            return False
        has_left = await self._deliver(request, exchange)
        if answer.is_streamed or answer.end:
            self._keep(request, reply)
        if has_left:
            self._record.note(request.prompt.token, f"{request.name}: leaves")
            answer.end = ""
            return True
        if answer.end == "done" or answer.end == "error" and await self._is_end(reply, answer.error):
            self._record.note(request.prompt.token, f"{request.name}: {answer.end} {answer.error}")
            reply.deliveries[-1].is_final = True
            return True
        if not isinstance(answer, ResponseAnswer) or answer.end:
            request.restart()
        return False

    def _continues(self, request: DoorRequest) -> bool:
        """Whether the next request is for the rest of a response."""
        return isinstance(request.answer, ResponseAnswer) and request.reply is not None

    async def _ask_for(self, request: DoorRequest) -> Exchange | None:
        """Posts the prompt, also again, or asks for the rest of a response; None if the request was lost."""
        answer, reply = request.answer, request.reply
        try:
            if isinstance(answer, ResponseAnswer) and reply is not None:
                self._record.count["responses continued"] += 1
                answer.resumed()
                path = f"/v1/responses/resp_{reply.id}"
                if answer.is_streamed:
                    path += "?stream=true" + (f"&starting_after={answer.number}" if answer.number is not None else "")
                return await self._ask("GET", path)
            self._record.count["retries"] += reply is not None
            return await self._ask("POST", answer.path, request.fields, request.body)
        except Lost as loss:
            self._record.note(request.prompt.token, f"{request.name} lost: {loss}")
            self._lost(loss, request.prompt.token, f"POST {request.name}")
            return None

    async def _is_over(self, request: DoorRequest, exchange: Exchange) -> bool:
        """Whether a refusal ends the turn."""
        answer, token, reply = request.answer, request.prompt.token, request.reply
        expected = (*REFUSALS, 409) if isinstance(answer, ResponseAnswer) and answer.number is not None else REFUSALS
        try:
            said = await exchange.body()
        except Lost as loss:
            self._lost(loss, token, request.name)
            return False
        finally:
            exchange.close()
        self._record.note(token, f"{request.name}: {exchange.status} {said[:300]!r}")
        self._record.count[f"status {exchange.status}"] += 1
        if exchange.status not in expected or b'"internal"' in said:
            self._record.violation("wrong statuses", token, f"{request.name}: {exchange.status} {said[:300]!r}")
            return True
        try:
            answer.require_form(json.loads(said)["error"])
        except (Wrong, ValueError, KeyError) as wrong:
            self._record.violation("dishonest ends", token, f"{request.name}: {exchange.status} {said[:300]!r}: {wrong}")
        if exchange.status == 409:
            self._record.count["resets"] += 1
            return False
        if exchange.status in BUSY:
            self._note_unconfirmed("POST")
        if reply is not None and exchange.status != 404:
            state = await self._stored_state(reply)
            if state == "streaming":
                return False
            if state == "complete" and exchange.status not in BUSY and not any(text.encode() in said for text in INTERIM):
                self._record.violation("false ends", token, f"{request.name}: {exchange.status} {said[:300]!r}, and the reply is complete")
        return reply is not None or exchange.status not in BUSY

    async def _is_end(self, reply: Reply, error: str) -> bool:
        """Whether an error is the end of the reply: then every retry would get it, too."""
        state = await self._stored_state(reply)
        return state != "streaming" and not (state == "complete" and any(text in error for text in INTERIM))

    async def _stored_state(self, reply: Reply) -> str:
        """The state of the reply; empty if it is gone or the run is over."""
        while not self._state.is_over:
            try:
                exchange = await self._ask("GET", f"/replies/{reply.id}", {"Accept": "application/json"})
                said = await exchange.json()
            except Lost as loss:
                self._lost(loss, reply.token, "the state")
            else:
                exchange.close()
                if exchange.status == 200:
                    return str(said["state"])
                if exchange.status != 503:
                    return ""
            await self._state.pause(self._chance, 0.3)
        return ""

    async def _deliver(self, request: DoorRequest, exchange: Exchange) -> bool:
        """Reads an answer to its end; returns whether the client leaves before."""
        answer, token = request.answer, request.prompt.token
        events = 0
        try:
            if not answer.is_streamed:
                await answer.read_whole(exchange)
                return False
            async for _ in answer.read(exchange):
                events += 1
                if events == request.leaves_at:
                    return True
            if not answer.is_closed:
                self._record.violation("dishonest ends", token, f"{request.name}: the body ended behind {events} events")
        except Lost as loss:
            self._record.note(token, f"{request.name} lost behind {events} events: {loss}")
            self._lost(loss, token, request.name)
            answer.end = ""
        except Wrong as wrong:
            self._record.violation("bytes lost or doubled", token, f"{request.name}: {wrong}")
            answer.end = "error"
        finally:
            exchange.close()
        return False

    @staticmethod
    def _keep(request: DoorRequest, reply: Reply) -> None:
        answer = request.answer
        reply.deliveries.append(Delivery(
            request.name, answer.text.encode(), answer.thinking.encode(),
            [(name, json.loads(arguments or "{}")) for name, arguments in answer.calls] if answer.end == "done" else [],
            answer.attempt, answer.end, answer.error))

    async def _retrieve(self, prompt: Prompt, reply: Reply, is_stored: bool = True) -> None:
        """Reads the answer as a response in one piece, through any API it came. What is not stored is gone after a minute."""
        while not self._state.is_over:
            try:
                exchange = await self._ask("GET", f"/v1/responses/resp_{reply.id}")
                said = await exchange.json()
            except Lost as loss:
                self._lost(loss, prompt.token, "GET of a response")
            else:
                exchange.close()
                if exchange.status == 200:
                    whole = DoorRequest(prompt, ResponseAnswer(is_streamed=False), {}, {})
                    whole.answer.take_whole(said)
                    if said["status"] in ("completed", "failed"):
                        self._keep(whole, reply)
                        reply.deliveries[-1].is_final = True
                    return
                if exchange.status == 404 and not is_stored:
                    return
                if exchange.status != 503:
                    self._record.violation("wrong statuses", prompt.token, f"GET of a response: {exchange.status} {said}")
                    return
            await self._state.pause(self._chance, 0.3)
