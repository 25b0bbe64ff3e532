"""A client of the front doors: one conversation whose turns come through all their APIs, with faults of all kinds."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from chaos.client import Client
from chaos.door_answers import ANSWERS, DoorAnswer, ResponseAnswer
from chaos.run_state import Delivery, Prompt, Reply
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
        self._record.count["prompts of the doors"] += 1
        kind = self._chance.choice(ANSWERS)
        reader = f"{prompt.token}{kind.path}"
        body = kind.body(prompt.script.prompt()) | {"model": "chaos", "stream": True}
        fields = {"Idempotency-Key": prompt.token, "X-History": "append"}
        if "conversation" in self._member.names:
            fields["X-Conversation-ID"] = self._member.conversation
        if kind is ResponseAnswer and "conversation" in self._member.names and self._chance.random() < 0.5:
            body["conversation"] = self._member.conversation
        if (policy := self._chance.choices((None, "finish", "cancel"), (80, 14, 6))[0]) is not None:
            fields["On-Disconnect"] = policy
        leaves_at = self._chance.randint(1, 60) if self._chance.random() < 0.06 else None
        is_stopped = self._chance.random() < 0.1
        answer, reply = kind(), None
        stopping: asyncio.Task[None] | None = None
        prompt.posted_at = self._record.now()
        while not self._state.is_over:
            found = await self._ask_for(prompt, reply, answer, fields, body)
            if found is None:
                await self._state.pause(self._chance, 0.3)
                continue
            exchange, answer = found
            if location := exchange.fields.get("location"):
                exchange.fields["location"] = location
                reply, _ = self._acknowledged(prompt, [exchange])
                acknowledged.set()
            if exchange.status != 200:
                if await self._is_over(prompt, reply, exchange, answer):
                    break
                if exchange.status == 409:
                    answer = kind()
                await self._state.pause(self._chance, 0.3)
                continue
            if reply is None:
                self._record.violation("lost replies", prompt.token, f"{reader}: a stream without a Location")
                exchange.close()
                break
            if is_stopped and stopping is None:
                stopping = asyncio.create_task(self._stop(reply))
            await self._deliver(prompt, reply, exchange, answer, leaves_at)
            self._keep(reader, reply, answer)
            if leaves_at is not None:
                self._record.note(prompt.token, f"{reader}: leaves")
                break
            if answer.end == "done" or answer.end == "error" and await self._is_end(reply, answer.error):
                self._record.note(prompt.token, f"{reader}: {answer.end} {answer.error}")
                reply.deliveries[-1].is_final = True
                break
            if not isinstance(answer, ResponseAnswer) or answer.end:
                answer = kind()
            await self._state.pause(self._chance, 0.3)
        acknowledged.set()
        if stopping is not None:
            await stopping
        if reply is not None and answer.end and self._chance.random() < 0.4:
            await self._retrieve(prompt, reply)

    async def _ask_for(
        self, prompt: Prompt, reply: Reply | None, answer: DoorAnswer, fields: dict[str, str], body: dict[str, Any]
    ) -> tuple[Exchange, DoorAnswer] | None:
        """Posts the prompt, also again, or asks for the rest of a response; None if the request was lost."""
        try:
            if isinstance(answer, ResponseAnswer) and reply is not None:
                self._record.count["responses continued"] += 1
                answer.resumed()
                path = f"/v1/responses/resp_{reply.id}?stream=true"
                if answer.number is not None:
                    path += f"&starting_after={answer.number}"
                return await self._ask("GET", path), answer
            self._record.count["retries"] += reply is not None
            return await self._ask("POST", answer.path, fields, body), answer
        except Lost as loss:
            self._record.note(prompt.token, f"{answer.path} lost: {loss}")
            self._lost(loss, prompt.token, f"POST {answer.path}")
            return None

    async def _is_over(self, prompt: Prompt, reply: Reply | None, exchange: Exchange, answer: DoorAnswer) -> bool:
        """Whether a refusal ends the turn."""
        expected = (*REFUSALS, 409) if isinstance(answer, ResponseAnswer) and answer.number is not None else REFUSALS
        try:
            said = await exchange.body()
        except Lost as loss:
            self._lost(loss, prompt.token, answer.path)
            return False
        finally:
            exchange.close()
        self._record.note(prompt.token, f"{answer.path}: {exchange.status} {said[:300]!r}")
        self._record.count[f"status {exchange.status}"] += 1
        if exchange.status not in expected or b'"internal"' in said:
            self._record.violation("wrong statuses", prompt.token, f"{answer.path}: {exchange.status} {said[:300]!r}")
            return True
        if exchange.status == 409:
            self._record.count["resets"] += 1
            return False
        if exchange.status in BUSY:
            self._note_unconfirmed("POST")
        if reply is not None and exchange.status != 404 and not await self._has_stored_end(reply):
            return False
        return reply is not None or exchange.status not in BUSY

    async def _is_end(self, reply: Reply, error: str) -> bool:
        """Whether an error is the end of the reply: then every retry would get it, too."""
        state = await self._stored_state(reply)
        return state != "streaming" and not (state == "complete" and any(text in error for text in INTERIM))

    async def _has_stored_end(self, reply: Reply) -> bool:
        """Whether the reply is over: then every retry would get the same end."""
        return await self._stored_state(reply) != "streaming"

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

    async def _deliver(
        self, prompt: Prompt, reply: Reply, exchange: Exchange, answer: DoorAnswer, leaves_at: int | None
    ) -> None:
        """Reads a stream to its end, or until the client leaves."""
        events = 0
        try:
            async for _ in answer.read(exchange):
                events += 1
                if events == leaves_at:
                    return
            if not answer.is_closed:
                self._record.violation("dishonest ends", prompt.token, f"{answer.path}: the body ended behind {events} events")
        except Lost as loss:
            self._record.note(prompt.token, f"{answer.path} lost behind {events} events: {loss}")
            self._lost(loss, prompt.token, answer.path)
            answer.end = ""
        except Wrong as wrong:
            self._record.violation("bytes lost or doubled", prompt.token, f"{answer.path}: {wrong}")
            answer.end = "error"
        finally:
            exchange.close()

    def _keep(self, reader: str, reply: Reply, answer: DoorAnswer) -> None:
        attempt = answer.attempt if isinstance(answer, ResponseAnswer) and answer.number is not None else None
        reply.deliveries.append(Delivery(
            reader, answer.text.encode(), answer.thinking.encode(),
            [(name, json.loads(arguments or "{}")) for name, arguments in answer.calls] if answer.end == "done" else [],
            attempt, answer.end, answer.error))

    async def _retrieve(self, prompt: Prompt, reply: Reply) -> None:
        """Reads the answer as a response in one piece, through any API it came."""
        while not self._state.is_over:
            try:
                exchange = await self._ask("GET", f"/v1/responses/resp_{reply.id}")
                said = await exchange.json()
            except Lost as loss:
                self._lost(loss, prompt.token, "GET of a response")
            else:
                exchange.close()
                if exchange.status == 200:
                    if said["status"] in ("completed", "failed"):
                        reply.deliveries.append(self._whole_response(prompt, said))
                    return
                if exchange.status != 503:
                    self._record.violation("wrong statuses", prompt.token, f"GET of a response: {exchange.status} {said}")
                    return
            await self._state.pause(self._chance, 0.3)

    @staticmethod
    def _whole_response(prompt: Prompt, said: dict[str, Any]) -> Delivery:
        def parts(kind: str) -> bytes:
            items = [item for item in said["output"] if item["type"] == kind]
            return "".join(part["text"] for item in items for part in item["content"]).encode()

        calls = [(item["name"], json.loads(item["arguments"])) for item in said["output"] if item["type"] == "function_call"]
        end = "done" if said["status"] == "completed" else "error"
        return Delivery(
            f"{prompt.token} as a response", parts("message"), parts("reasoning"), calls if end == "done" else [],
            1 << 30, end, json.dumps(said.get("error")), is_final=True)
