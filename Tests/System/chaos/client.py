"""A client: one conversation with faults of all kinds, drawn from the seed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from chaos.credentials import Access, Member
from chaos.reader import Reader
from chaos.run_state import Prompt, Reply, RunState
from harness.exchange import Exchange, Lost
from harness.script import Script

WAIT_CODES = ("store_unavailable", "overloaded", "shutting_down")
"""Errors before the stream after which the same request is sent again."""


class Client(Reader):
    """One conversation."""

    def __init__(self, state: RunState, access: Access, number: int) -> None:
        chance = random.Random(f"{state.seed}/client/{number}")
        super().__init__(state, chance, Member(access, str(number), chance))
        self._appid = self._member.key
        self._number = number
        self._known: list[Reply] = []

    async def run(self) -> None:
        """Sends prompts until the conversation or the run is over."""
        chance, state = self._chance, self._state
        if chance.random() < 0.2 and not await self._seed():
            return
        under_way: list[asyncio.Task[None]] = []
        turns = chance.choice((1, 1, 2, 3, 4))
        revoking = chance.randrange(turns) if chance.random() < 0.2 else None
        for order in range(turns):
            if state.is_draining:
                break
            prompt = self._draw(order, order == revoking)
            state.prompts[prompt.token] = prompt
            self._record.count["prompts"] += 1
            task = asyncio.create_task(self._turn(prompt, acknowledged := asyncio.Event()))
            under_way.append(task)
            if chance.random() < 0.15:
                # The next prompt is posted as soon as this one is accepted, and must wait for its turn.
                waiting = asyncio.create_task(acknowledged.wait())
                await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
            else:
                await task
        await asyncio.gather(*under_way)
        # A request that arrives after the deletion begins the conversation again.
        if chance.random() < 0.1 and not state.is_draining and not self._may_arrive_late:
            await self._delete()

    # --- the conversation

    def _draw(self, order: int, is_endless: bool) -> Prompt:
        chance = self._chance
        parent = None
        if self._known and chance.random() < 0.15:
            parent = chance.choice([reply.id for reply in self._known] + ["start"])
            self._record.count["branches"] += 1
        script = Script.draw(f"c{self._number}t{order}", chance, self._state.is_short)
        if is_endless:
            script = script.endless()
        return Prompt(script, self._appid, self._member.owner, order, parent, may_repeat=chance.random() < 0.3)

    async def _seed(self) -> bool:
        """Begins with a system prompt. Sent once, because a lost request may still replace the conversation later."""
        text = f"You are number {self._number}."
        body = self._member.names | {"messages": [{"role": "system", "content": text}]}
        try:
            answer = await self._ask("POST", "/llmprep", None, body)
        except Lost as loss:
            self._lost(loss, self._appid, "POST /llmprep")
            return False
        answer.close()
        return answer.status == 200

    async def _delete(self) -> None:
        self._state.deleted.add(self._appid)
        answer = await self._retry("DELETE", self._member.path, None, self._appid)
        if answer is not None and answer.status == 200:
            self._record.count["conversations deleted"] += 1
        else:
            self._state.deleted.discard(self._appid)
            self._record.violation("wrong statuses", "", f"DELETE of {self._appid}: {answer and answer.status}")

    # --- one turn

    async def _turn(self, prompt: Prompt, acknowledged: asyncio.Event) -> None:
        chance = self._chance
        body: dict[str, Any] = self._member.names | {
            "model": "chaos", "stream": True,
            "messages": [{"role": "user", "content": prompt.script.prompt()}]}
        fields = {"Idempotency-Key": prompt.token}
        if prompt.path == "/llmtools":
            if not prompt.may_repeat:
                body["on_interrupt"] = "close"
        elif prompt.may_repeat:
            body["on_interrupt"] = "regenerate"
        if prompt.parent is not None:
            body["parent"] = prompt.parent
        policy = chance.choices((None, "finish", "cancel", 1, 3), (70, 10, 6, 7, 7))[0]
        if policy is not None and chance.random() < 0.3:
            fields["On-Disconnect"] = str(policy)
        elif policy is not None:
            body["on_disconnect"] = policy
        if chance.random() < 0.06 and not prompt.script.is_endless:
            body["stream"] = False
            await self._whole(prompt, body, fields)
            acknowledged.set()
            return
        if prompt.script.is_endless:
            await asyncio.gather(self._revoke(prompt), self._post_and_follow(prompt, body, fields, acknowledged))
            return
        if reply := await self._post_and_follow(prompt, body, fields, acknowledged):
            await self._afterwards(prompt, reply, body, fields)

    async def _post_and_follow(
        self, prompt: Prompt, body: Any, fields: dict[str, str], acknowledged: asyncio.Event
    ) -> Reply | None:
        found = await self._post(prompt, prompt.path, body, fields)
        acknowledged.set()
        if not found:
            return None
        reply, exchanges = found
        self._known.append(reply)
        await self._follow(reply, exchanges)
        return reply

    async def _revoke(self, prompt: Prompt) -> None:
        """Revokes the credentials of this client while it posts and reads, and stops the endless reply with the next ones."""
        await self._state.pause(self._chance, 2)
        try:
            await self._member.revoke(is_hasty=self._chance.random() < 0.4)
        except Lost as loss:
            self._lost(loss, prompt.token, "a revocation")
        while not self._state.is_over and not prompt.replies:
            await self._state.pause(self._chance, 0.2)
        for reply in prompt.replies:
            await self._stop(reply)

    async def _post(
        self, prompt: Prompt, path: str, body: Any, fields: dict[str, str]
    ) -> tuple[Reply, list[Exchange]] | None:
        """Posts until a head arrives, sometimes at all processes at once; returns the exchanges that have one."""
        chance, state = self._chance, self._state
        tries = 0
        prompt.posted_at = prompt.posted_at or self._record.now()
        while not state.is_over:
            width = 1 if chance.random() < 0.9 else chance.randint(2, 5)
            if tries:
                self._record.count["retries"] += width
            tries += 1
            proxies = [state.anywhere(chance) for _ in range(width)]
            asked = [self._ask("POST", path, fields, body, proxy) for proxy in proxies]
            exchanges: list[Exchange] = []
            for outcome in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(outcome, Exchange):
                    exchanges.append(outcome)
                elif isinstance(outcome, Lost):
                    self._record.note(prompt.token, f"POST lost: {outcome}")
                    self._lost(outcome, prompt.token, f"POST {path}")
                elif outcome is not None:
                    raise outcome
            taken = []
            for exchange in exchanges:
                if exchange.status == 200:
                    taken.append(exchange)
                else:
                    await self._refused(exchange, prompt.token, f"POST {path}", (503,))
            if taken:
                return self._acknowledged(prompt, taken)
            await state.pause(chance, 0.3)
        return None

    def _acknowledged(
        self, prompt: Prompt, exchanges: list[Exchange], began: float | None = None
    ) -> tuple[Reply, list[Exchange]]:
        # The head of a stream is sent as soon as the prompt is stored, an answer in one piece later.
        is_stream = any(one.status == 200 and one.fields.get("content-type") != "application/json" for one in exchanges)
        if is_stream and not prompt.is_acknowledged:
            self._state.openings.append(self._record.now())
        prompt.is_acknowledged = True
        names = {exchange.fields.get("location", "").removeprefix("/replies/") for exchange in exchanges}
        name = min(names)
        if len(names) > 1 or not name:
            self._record.violation("doubled prompts", prompt.token, f"one key, the replies {names}")
        self._record.note(prompt.token, f"accepted as {name}, {len(exchanges)} times at once")
        known = [reply for reply in prompt.replies if reply.id == name]
        if not known:
            known = [Reply(name, prompt.token, prompt.posted_at if began is None else began)]
            prompt.replies += known
        return known[0], exchanges

    async def _whole(self, prompt: Prompt, body: Any, fields: dict[str, str]) -> None:
        """Requests the answer in one piece until it arrives."""
        tries = 0
        prompt.posted_at = self._record.now()
        while not self._state.is_over:
            self._record.count["retries"] += tries > 0
            tries += 1
            try:
                exchange = await self._ask("POST", prompt.path, fields, body)
                if exchange.status == 200:
                    answer = await exchange.json()
                    exchange.close()
                    reply, _ = self._acknowledged(prompt, [exchange])
                    reply.wholes.append(answer)
                    self._known.append(reply)
                    return
            except Lost as loss:
                self._record.note(prompt.token, f"POST lost: {loss}")
                self._lost(loss, prompt.token, f"POST {prompt.path}, in one piece")
                await self._state.pause(self._chance, 0.3)
                continue
            code = await self._refused(exchange, prompt.token, f"POST {prompt.path}, in one piece", (503, 502, 504, 404, 500))
            if code.startswith("internal"):
                self._record.violation("wrong statuses", prompt.token, f"in one piece: {code}")
                return
            if code and (code not in WAIT_CODES or await self._has_ended(exchange, code)):
                prompt.errors.append(code)
                return

    async def _has_ended(self, refusal: Exchange, code: str) -> bool:
        """Whether a refusal is the stored end of the reply: every retry with the same key would get it.

        The refusal of an answer whose storing is not confirmed is none: a retry gets the complete answer. Nor is one of a process that
        stops: the reply may have another end before this program asks for it."""
        if not (path := refusal.fields.get("location")):
            return False
        try:
            exchange = await self._ask("GET", path, {"Accept": "application/json"})
            said = await exchange.json()
            exchange.close()
        except Lost as loss:
            self._lost(loss, "", f"GET {path}")
            return False
        return exchange.status == 200 and said["state"] not in ("streaming", "complete") and said.get("code", "interrupted") == code

    # --- when a turn is over

    async def _afterwards(self, prompt: Prompt, reply: Reply, body: Any, fields: dict[str, str]) -> None:
        """Sends one more request of a random kind."""
        chance = self._chance
        path = f"/replies/{reply.id}"
        what = chance.choices(
            ("nothing", "read again", "whole", "retry", "other body", "other app", "regenerate", "choose"),
            (50, 8, 7, 7, 4, 4, 12, 8))[0]
        if self._state.is_draining and what in ("regenerate", "retry"):
            return
        if what == "read again":
            await self._read(reply, f"{reply.id[:8]}/again", None)
            ends = [seal for seal in reply.seals if seal.final is not None]
            if ends:
                await self._expect(prompt, (204,), "GET", path, None, {"Last-Event-ID": str(ends[-1].position)})
        elif what == "whole":
            await self._read_whole(reply)
        elif what == "retry":
            if found := await self._post(prompt, prompt.path, body, fields):
                await self._follow(*found)
        elif what == "other body":
            await self._expect(prompt, (409,), "POST", prompt.path, body | {"keep_alive": 1}, fields)
        elif what == "other app":
            await self._expect(prompt, (403, 404), "GET", path + "?appID=somebody.else")
        elif what == "choose":
            chosen = chance.choice(self._known)
            await self._expect(prompt, (200, 409), "POST", f"/replies/{chosen.id}/choose")
        elif what == "regenerate":
            await self._regenerate(prompt, chance.choice(prompt.replies))

    async def _expect(
        self, prompt: Prompt, statuses: tuple[int, ...], method: str, path: str, body: Any = None,
        fields: dict[str, str] | None = None
    ) -> None:
        answer = await self._retry(method, path, body, prompt.token, fields)
        if answer is not None:
            self._record.note(prompt.token, f"{method} {path}: {answer.status}")
            if answer.status not in statuses:
                self._record.violation("wrong statuses", prompt.token, f"{method} {path}: {answer.status}, not {statuses}")

    async def _regenerate(self, prompt: Prompt, reply: Reply) -> None:
        """Requests another answer once, because the request has no key for a retry."""
        self._record.count["regenerates"] += 1
        began = self._record.now()
        try:
            exchange = await self._ask("POST", f"/replies/{reply.id}/regenerate", None, {"stream": True})
        except Lost as loss:
            self._record.note(prompt.token, f"regenerate lost: {loss}")
            self._lost(loss, prompt.token, "regenerate")
            return
        if exchange.status != 200:
            await self._refused(exchange, prompt.token, "regenerate", (503,))
            return
        another, exchanges = self._acknowledged(prompt, [exchange], began)
        self._known.append(another)
        await self._follow(another, exchanges)

