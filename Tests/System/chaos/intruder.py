"""Requests for the conversations and replies of others, and requests with credentials that are over."""

from __future__ import annotations

import asyncio
import random
import re
import uuid
from urllib.parse import quote

from chaos.credentials import Access, Member
from chaos.reader import Reader
from chaos.run_state import Prompt, RunState
from harness.exchange import Exchange, Lost

TOKEN = re.compile(rb"(?:token=|\[)(c\d+t\d+)\b")
"""The beginning of each prompt, and of each answer with text."""
REFUSALS = (400, 403, 404, 422, 503)


class Intruder(Reader):
    """A person, or an app, that has no prompts."""

    def __init__(self, state: RunState, access: Access, number: int) -> None:
        chance = random.Random(f"{state.seed}/intruder/{number}")
        super().__init__(state, chance, Member(access, f"intruder {number}", chance, has_links=False))
        self._access = access

    async def run(self) -> None:
        """Sends requests until the run is about to end."""
        while not self._state.is_draining:
            await self._state.pause(self._chance, 0.4)
            try:
                if self._access.dead and self._chance.random() < 0.4:
                    await self._use_the_dead()
                elif target := self._target():
                    await self._trespass(target)
            except Lost as loss:
                self._lost(loss, "", "an intruder")

    async def _use_the_dead(self) -> None:
        """Sends a credential that all processes have refused."""
        credential = self._chance.choice(self._access.dead[-200:])
        path = credential.probe
        if not credential.reply and (target := self._target()):
            path = self._chance.choice((path, "/models", f"/replies/{target.replies[-1].id}", "/conversations"))
        await self._access.probe(self._state.anywhere(self._chance), credential, path)

    def _target(self) -> Prompt | None:
        """A prompt of another owner, with a reply."""
        prompts = list(self._state.prompts.values())[-300:]
        foreign = [prompt for prompt in prompts if prompt.replies and prompt.owner != self._member.owner]
        return self._chance.choice(foreign) if foreign else None

    async def _trespass(self, target: Prompt) -> None:
        chance, id = self._chance, target.replies[-1].id
        name, app = target.appid.split("\x1f")[2] or target.owner[0], target.owner[0]
        guessed = str(uuid.UUID(int=uuid.UUID(id).int ^ 1 << chance.randrange(60)))
        conversation = f"/conversations/{quote(name, safe='')}"
        method, path, body = chance.choice([
            ("GET", f"/replies/{id}", None),
            ("GET", f"/replies/{id}?appID={app}", None),
            ("GET", f"/replies/{guessed}", None),
            ("DELETE", f"/replies/{id}", None),
            ("POST", f"/replies/{id}/choose", None),
            ("POST", f"/replies/{id}/approvals", {"round": 0, "index": 0, "approve": True}),
            ("POST", f"/replies/{id}/regenerate", None),
            ("POST", "/links", {"reply": id}),
            ("GET", conversation, None),
            ("GET", f"/conversations/{quote(target.appid, safe='')}", None),
            ("GET", f"{conversation}/export", None),
            ("GET", f"{conversation}/events", None),
            ("POST", f"{conversation}/fork", None),
            ("GET", "/conversations?q=token%3Dc", None),
        ])
        fields = {"Accept": chance.choice(("application/json", "text/event-stream"))}
        exchange = await self._ask(method, path, fields, body)
        self._record.count["requests for what others own"] += 1
        try:
            said = await self._beginning(exchange)
        finally:
            exchange.close()
        # Only the search is answered, with what belongs to the owner: an app owns what all its keys write.
        is_answered = exchange.status not in REFUSALS and "?q=" not in path
        if is_answered or any(self._is_foreign(token.decode()) for token in TOKEN.findall(said)):
            self._record.violation(
                "foreign answers", target.token,
                f"{method} {path} of {target.owner} by {self._member.owner}: {exchange.status} {said[:500]!r}")

    def _is_foreign(self, token: str) -> bool:
        prompt = self._state.prompts.get(token)
        return prompt is None or prompt.owner != self._member.owner

    @staticmethod
    async def _beginning(exchange: Exchange) -> bytes:
        """The body; of a stream what comes within a second."""
        said = b""
        try:
            async with asyncio.timeout(1 if exchange.status == 200 else None):
                async for piece in exchange.pieces():
                    said += piece
        except TimeoutError:
            pass
        return said
