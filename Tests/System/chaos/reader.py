"""Reading replies over as many connections as necessary."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from chaos.credentials import Member
from chaos.run_state import Reply, RunState
from harness.cutting_proxy import CuttingProxy
from harness.exchange import Exchange, Lost
from harness.ledger import Ledger, Wrong
from harness.machine import TIMEOUT

LATE = 200
"""Events of a slow answer that may be on their way when all processes have refused the credential of its reader, beside those that this
program has not read for a while."""


class Reader:
    """A client that sends requests to the processes and reads replies. Its actions are drawn from `chance`."""

    def __init__(self, state: RunState, chance: random.Random, member: Member) -> None:
        self._state, self._record, self._chance, self._member = state, state.record, chance, member
        # Whether the server may still execute a POST of this client, because its outcome is unknown.
        self._may_arrive_late = False

    async def _ask(
        self, method: str, path: str, fields: dict[str, str] | None = None, body: Any = None, proxy: CuttingProxy | None = None
    ) -> Exchange:
        """Sends a request with a credential, and again with another one when that is over; throws `Lost`."""
        reply = path.partition("?")[0].removeprefix("/replies/") if method == "GET" and path.startswith("/replies/") else None
        while not self._state.is_over:
            credential = await self._member.credential(reply)
            was_over = credential.is_over
            exchange = await Exchange.ask(
                proxy or self._state.anywhere(self._chance), self._record, method, credential.address(path),
                (fields or {}) | credential.fields, body)
            self._member.look(exchange.status, credential, was_over, f"{method} {path}")
            if exchange.status != 401:
                exchange.credential = credential
                return exchange
            exchange.close()
            self._member.refused(credential, f"{method} {path}")
            await self._state.pause(self._chance, 0.1)
        raise Lost("the run is over", True)

    async def _retry(self, method: str, path: str, body: Any, token: str, fields: dict[str, str] | None = None) -> Exchange | None:
        """Sends a request until it is answered, and closes the connection without reading the body."""
        until = self._record.now() + TIMEOUT
        while self._record.now() < until:
            try:
                answer = await self._ask(method, path, fields, body)
            except Lost as loss:
                self._lost(loss, token, f"{method} {path}")
            else:
                answer.close()
                if answer.status != 503:
                    return answer
                self._note_unconfirmed(method)
                await asyncio.sleep(0.2)
            await self._state.pause(self._chance, 0.1)
        self._record.violation("requests without an answer", token, f"{method} {path}")
        return None

    def _lost(self, loss: Lost, token: str, what: str) -> None:
        self._note_unconfirmed(what)
        if not loss.is_excused:
            self._record.violation("dishonest ends", token, f"{what}: {loss}")

    def _note_unconfirmed(self, what: str) -> None:
        """Notes that a request without a clear answer may still be executed, whatever its client does next."""
        self._may_arrive_late = self._may_arrive_late or what.startswith("POST")

    async def _refused(self, exchange: Exchange, token: str, what: str, expected: tuple[int, ...]) -> str:
        """Reads an error; returns its code, or an empty text if it was lost."""
        try:
            body = await exchange.body()
        except Lost as loss:
            self._lost(loss, token, what)
            return ""
        finally:
            exchange.close()
        self._record.note(token, f"{what}: {exchange.status} {body[:200]!r}")
        if exchange.status not in expected:
            self._record.violation("wrong statuses", token, f"{what}: {exchange.status} {body[:300]!r}")
        self._record.count[f"status {exchange.status}"] += 1
        if exchange.status == 503:
            self._note_unconfirmed(what)
            await self._state.pause(self._chance, 0.5)
        return str(json.loads(body or b"{}").get("code", ""))

    # --- a reply

    async def _follow(self, reply: Reply, exchanges: list[Exchange]) -> None:
        """Reads a reply with one or more readers, and sometimes stops it."""
        chance = self._chance
        tasks = [self._read(reply, f"{reply.id[:8]}/{index}", exchange) for index, exchange in enumerate(exchanges)]
        if chance.random() < 0.2:
            for index in range(chance.randint(1, 3)):
                tasks.append(self._read_later(reply, f"{reply.id[:8]}/late{index}"))
        if chance.random() < 0.12:
            tasks.append(self._stop(reply))
        await asyncio.gather(*tasks)

    async def _read_later(self, reply: Reply, reader: str) -> None:
        await self._state.pause(self._chance, 4)
        await self._read(reply, reader, None)

    def _most_late(self, reply: Reply, exchange: Exchange, early: int) -> int:
        """The events that a reader may get with a credential that has ended: the model server has sent what they have before."""
        if not self._state.prompts[reply.token].script.is_endless:
            return 1 << 62
        return LATE + max(0, self._state.upstream.lines_until(reply.token, exchange.credential.died_at) - early)

    async def _read(self, reply: Reply, reader: str, exchange: Exchange | None) -> None:
        """Reads a reply to its end over as many connections as necessary, or disconnects before the end."""
        chance, state, record = self._chance, self._state, self._record
        ledger = Ledger(reader)
        plan = chance.choices(("stay", "come back", "leave", "stall"), (75, 10, 5, 10))[0]
        turn_at = int(10 ** chance.uniform(0.5, 4)) if plan != "stay" else 1 << 62
        while ledger.final is None:
            if exchange is None:
                exchange = await self._resume(reply, ledger)
                if exchange is None:
                    break
            is_over = False
            early = late = 0
            try:
                async for event in exchange.events():
                    late += exchange.credential.is_dead
                    early += not exchange.credential.is_dead
                    if is_over or late > LATE and late > self._most_late(reply, exchange, early):
                        why = "an event behind the refusal" if is_over else f"{late} events with {exchange.credential}"
                        record.violation("bytes after a revocation", reply.token, f"{reader}: {why}")
                        break
                    if not ledger.append(event):
                        record.note(reply.token, f"{reader}: cannot read on at {ledger.last_id}: {event.data}")
                        record.count["readings refused"] += 1
                        is_over = True
                        if json.loads(event.data)["code"] == "unauthorized":
                            self._member.ended(exchange.credential, f"{reader}: the stream")
                    elif ledger.size > turn_at and ledger.final is None:
                        turn_at = 1 << 62
                        if plan != "stall":
                            break
                        record.count["stalls"] += 1
                        exchange.was_stalled = True
                        await state.pause(chance, 7 if chance.random() < 0.2 else 1)
                else:
                    if ledger.final is None and not is_over:
                        record.violation("dishonest ends", reply.token, f"{reader}: the body ended behind {ledger.last_id!r}")
                    plan = "stay" if plan == "stall" else plan
            except Lost as loss:
                record.note(reply.token, f"{reader}: lost at {ledger.last_id!r}: {loss}")
                self._lost(loss, reply.token, f"{reader} at {ledger.last_id!r}")
            except Wrong as wrong:
                record.violation("bytes lost or doubled", reply.token, f"{reader}: {wrong}")
                return
            finally:
                exchange.close()
                exchange = None
            if is_over:
                # A reader that cannot continue here asks another process, after a pause.
                await state.pause(chance, 0.5)
            if turn_at == 1 << 62 and plan in ("leave", "come back") and ledger.final is None:
                record.note(reply.token, f"{reader}: leaves at {ledger.last_id!r}, to {plan}")
                if plan == "leave":
                    break
                plan = "stay"
                await state.pause(chance, 10 if chance.random() < 0.3 else 2)
        record.count["resets"] += ledger.resets
        record.note(reply.token, f"{reader}: ends with {ledger.position}{', an error' if ledger.is_error else ''}")
        reply.seals.append(ledger.seal(record.now()))

    async def _resume(self, reply: Reply, ledger: Ledger) -> Exchange | None:
        """A connection that continues where the ledger ends; None when the run is over, or there is no such reply."""
        chance, record = self._chance, self._record
        while not self._state.is_over:
            path, fields = f"/replies/{reply.id}", {"Accept": "text/event-stream"}
            if ledger.last_id:
                if chance.random() < 0.5:
                    fields["Last-Event-ID"] = ledger.last_id
                else:
                    path += f"?last_event_id={ledger.last_id}"
            record.count["resumes"] += 1
            try:
                exchange = await self._ask("GET", path, fields)
            except Lost as loss:
                self._lost(loss, reply.token, f"GET {path}")
                await self._state.pause(chance, 0.2)
                continue
            if exchange.status == 200:
                record.note(reply.token, f"{ledger.reader}: reads on behind {ledger.last_id!r}")
                return exchange
            await self._refused(exchange, reply.token, f"GET {path}", (503,))
            if exchange.status != 503:
                return None
            await self._state.pause(chance, 0.3)
        return None

    async def _stop(self, reply: Reply) -> None:
        """Stops the reply through any process."""
        await self._state.pause(self._chance, 10 ** self._chance.uniform(-2, 0.5))
        self._record.count["stops"] += 1
        while not self._state.is_over:
            try:
                exchange = await self._ask("DELETE", f"/replies/{reply.id}")
                if exchange.status in (200, 202):
                    said = await exchange.json()
                    self._record.note(reply.token, f"DELETE: {exchange.status} {said}")
                    reply.stop_answers.append(str(said.get("state")))
                    exchange.close()
                    return
                expected = (503, 404) if reply.id in self._member.passing else (503,)
                await self._refused(exchange, reply.token, "DELETE", expected)
                if exchange.status != 503:
                    return
            except Lost as loss:
                self._lost(loss, reply.token, "DELETE")
            await self._state.pause(self._chance, 0.2)

    async def _read_whole(self, reply: Reply) -> None:
        while not self._state.is_over:
            try:
                exchange = await self._ask("GET", f"/replies/{reply.id}", {"Accept": "application/json"})
                if exchange.status == 200:
                    reply.wholes.append(await exchange.json())
                    exchange.close()
                    return
                await self._refused(exchange, reply.token, "GET as JSON", (503,))
                if exchange.status != 503:
                    return
            except Lost as loss:
                self._lost(loss, reply.token, "GET as JSON")
            await self._state.pause(self._chance, 0.3)
