"""The credentials of a run: keys of apps, and client tokens, sessions and signed links of people. They expire and are revoked."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable
from urllib.parse import quote

from chaos.run_state import RunState
from harness.cutting_proxy import CuttingProxy
from harness.exchange import Exchange, Lost
from harness.record import Record

ADMIN_TOKEN = "the-administrator-of-chaos"
APPS = ("chaos.shop", "chaos.desk")
SEPARATOR = "\x1f"
"""The separator of app, person and name in the key of a conversation."""
TICK = 1.0
"""Seconds by which a process may notice an end later: it reads whole seconds."""
REFUSALS = 5
"""Refusals in a row after which a process counts as knowing of a revocation: its shards learn of it one after the other."""


@dataclass(eq=False)
class Credential:
    """What a request needs, and what the run knows of it."""

    kind: str  # key, token, session or link
    fields: dict[str, str]
    ends: tuple[float, float] = (float("inf"), float("inf"))  # the earliest and the latest end, in seconds since 1970
    link: str = ""
    reply: str = ""  # the only reply that it may read
    name: str = ""  # the id of a key
    is_revoked: bool = False  # a revocation has been sent
    is_dead: bool = False  # all processes have refused it
    died_at: float = 0  # when they had, in seconds of the run
    made: float = field(default_factory=time.time)  # when its maker answered, in seconds since 1970

    @property
    def is_over(self) -> bool:
        """Whether every process must refuse it."""
        return self.is_dead or time.time() >= self.ends[1] + TICK

    @property
    def may_be_refused(self) -> bool:
        """Whether a process may refuse it."""
        return self.is_revoked or time.time() >= self.ends[0]

    def address(self, path: str) -> str:
        """A path with the link, if this is one."""
        return path + ("&" if "?" in path else "?") + f"link={self.link}" if self.link else path

    @property
    def probe(self) -> str:
        """A path that it may read."""
        return self.address(f"/replies/{self.reply}") if self.reply else "/session"

    def __str__(self) -> str:
        return f"a {self.kind} of {self.made:.3f} until {self.ends[0]:.0f}{', revoked' if self.is_revoked else ''}{', dead' if self.is_dead else ''}"


@dataclass(frozen=True)
class Answer:
    """The answer to a request for a credential."""

    status: int
    fields: dict[str, str]
    document: Any
    was_repeated: bool  # an earlier attempt was lost, and may still have an effect


def bearer(text: str) -> dict[str, str]:
    """The field of a key or a token."""
    return {"Authorization": f"Bearer {text}"}


class Access:
    """The servers of the apps: they have a key of each app that stays valid, and ask for credentials until they get them."""

    def __init__(self, state: RunState, is_lossy: bool) -> None:
        self.state, self._record = state, state.record
        self.chance = random.Random(f"{state.seed}/access")
        self.administrator = Credential("admin token", bearer(ADMIN_TOKEN))
        self.keys: dict[str, Credential] = {}  # by app
        self.dead: list[Credential] = []
        self._is_lossy = is_lossy
        self.absent = (404,) if is_lossy else ()  # the status of what was lost with a primary

    async def start(self) -> None:
        """Makes the keys of the apps."""
        for app in APPS:
            self.keys[app] = await self.make_key({"app": app, "label": "stays valid"})

    async def make_key(self, body: dict[str, Any]) -> Credential:
        """Makes a key."""
        made = (await self.request("POST", "/keys", self.administrator, body, (201,))).document
        end = float(made.get("expires_at", "inf"))
        return Credential("key", bearer(made["key"]), (end, end), name=made["id"])

    async def request(self, method: str, path: str, credential: Credential, body: Any, expected: tuple[int, ...]) -> Answer:
        """Repeats a request until it is answered; throws `Lost` when the run is over."""
        was_repeated = False
        while not self.state.is_over:
            try:
                exchange = await Exchange.ask(
                    self.state.anywhere(self.chance), self._record, method, path, credential.fields, body)
                try:
                    document = await exchange.json()
                finally:
                    exchange.close()
            except Lost as loss:
                self._lost(loss, f"{method} {path}")
            else:
                if exchange.status in expected:
                    return Answer(exchange.status, exchange.fields, document, was_repeated)
                if exchange.status == 401:
                    self.wrong("valid credentials refused", f"{method} {path} with {credential}: {document}")
                elif exchange.status != 503:
                    self._record.violation("wrong statuses", "", f"{method} {path}: {exchange.status} {document}")
            was_repeated = True
            await self.state.pause(self.chance, 1)
        raise Lost("the run is over", True)

    def _lost(self, loss: Lost, what: str) -> None:
        if not loss.is_excused:
            self._record.violation("dishonest ends", "", f"{what}: {loss}")

    def wrong(self, kind: str, text: str) -> None:
        """Records a violation, unless a primary that died may have lost the key or the revocation."""
        text = f"{self._record.now():.3f} s, {time.time():.3f}: {text}"
        if self._is_lossy and self._record.count["failovers"]:
            self._record.count["lost with a primary"] += 1
        else:
            self._record.violation(kind, "", text)

    async def wait_until_refused(self, credentials: list[Credential], again: Callable[[], Awaitable[None]]) -> None:
        """Waits until every process refuses revoked credentials; `again` repeats the revocation if it may be lost."""
        latest: dict[str, Credential] = {}
        for credential in sorted(credentials, key=lambda one: one.ends[1]):
            latest[credential.kind] = credential
        probes = [self._wait(proxy, one, again) for proxy in self.state.proxies for one in latest.values()]
        if not all(await asyncio.gather(*probes)):
            return
        if any(time.time() >= one.ends[0] for one in latest.values()):
            # They may have been refused for their age, which ends no stream, before a process could learn of the revocation.
            return
        for credential in credentials:
            credential.is_dead, credential.died_at = True, self._record.now()
        self.dead += credentials

    async def _wait(self, proxy: CuttingProxy, credential: Credential, again: Callable[[], Awaitable[None]]) -> bool:
        refusals, failovers = 0, self._record.count["failovers"]
        while refusals < REFUSALS:
            if self.state.is_over:
                self.wrong("revocations without effect", f"{credential}: {refusals} refusals")
                return False
            try:
                status = await self.probe(proxy, credential, credential.probe)
            except Lost as loss:
                self._lost(loss, credential.probe)
                status = 503
            if status == 401:
                refusals += 1
                self._record.count["requests refused as revoked"] += 1
            elif status != 503:
                refusals = 0
            if status not in (401, 503) and self._is_lossy and failovers < self._record.count["failovers"]:
                failovers = self._record.count["failovers"]
                await again()
            if status != 401:
                await asyncio.sleep(0.05)
        return True

    async def probe(self, proxy: CuttingProxy, credential: Credential, path: str) -> int:
        """The status of a request; throws `Lost`."""
        was_over = credential.is_over
        exchange = await Exchange.ask(
            proxy, self._record, "GET", path, {"Accept": "application/json"} | credential.fields)
        exchange.close()
        self.look(exchange.status, credential, was_over, path)
        return exchange.status

    def look(self, status: int, credential: Credential, was_over: bool, what: str) -> None:
        """Checks that a credential that was over when it was sent is refused."""
        if was_over:
            self._record.count["requests with ended credentials"] += 1
            # A path with bad bytes is refused before the credential is read.
            if status not in (400, 401, 503):
                self.wrong("ended credentials accepted", f"{what}: {status} with {credential}")


class Member:
    """The owner of a conversation, a person or an app, with the credentials that a client has for it."""

    def __init__(self, access: Access, label: str, chance: random.Random, has_links: bool = True) -> None:
        self._access, self._chance = access, chance
        self._record: Record = access.state.record
        self.app = chance.choice(APPS)
        self.person = None if chance.random() < 0.3 else f"person {label}"
        # An app has many clients here, so each of them needs a conversation with a name.
        is_named = self.person is None or chance.random() < 0.5
        self.conversation = f"conversation/{label}" if is_named else self.app
        self.names: dict[str, str] = {"conversation": self.conversation} if is_named else {}
        if chance.random() < 0.5:
            self.names["appID"] = self.app
        self._kinds = (70, 15, 15) if has_links else (80, 20, 0)
        self._lifetime = chance.randint(2, 6) if chance.random() < 0.3 else 900
        self._lock = asyncio.Lock()
        self._main: Credential | None = None
        self._others: dict[str, Credential] = {}  # sessions and links: by "session", or the reply
        self._made: list[Credential] = []
        self._may_be_revoked_again = False
        # Replies of which nothing is stored: they are gone a minute after their end.
        self.passing: set[str] = set()

    @property
    def owner(self) -> tuple[str, str | None]:
        """The app and the person."""
        return self.app, self.person

    @property
    def key(self) -> str:
        """The key of the conversation in the store."""
        name = self.conversation if "conversation" in self.names else ""
        return f"{self.app}{SEPARATOR}{self.person or ''}{SEPARATOR}{name}"

    @property
    def path(self) -> str:
        """The path of the conversation."""
        return f"/conversations/{quote(self.conversation, safe='')}"

    def look(self, status: int, credential: Credential, was_over: bool, what: str) -> None:
        """Checks that a credential that was over when it was sent is refused."""
        self._access.look(status, credential, was_over, what)

    async def credential(self, reply: str | None) -> Credential:
        """A credential for the next request; for a reading of a reply also a session or a link. It may be over.

        Throws `Lost` when the run is over.
        """
        async with self._lock:
            kind = self._chance.choices(("main", "session", "link"), self._kinds)[0] if reply else "main"
            while True:
                main = self._main
                # Half of the clients use a token until it is refused.
                if main is None or main.is_over and self._chance.random() < 0.5:
                    main = self._main = await self._make()
                if kind == "main":
                    return main
                name = reply if kind == "link" and reply else kind
                known = self._others.get(name)
                if known and not known.is_over:
                    return known
                if made := await self._exchange(main, reply if kind == "link" else None):
                    self._others[name] = made
                    return made

    async def _make(self) -> Credential:
        """A key of the app, or a token of the person."""
        self._record.count["keys and tokens made"] += 1
        if self.person is None:
            body: dict[str, Any] = {"app": self.app, "label": self.conversation, "scopes": ["chat", "read"]}
            if self._lifetime < 900:
                body["expires_in"] = self._lifetime
            made = await self._access.make_key(body)
        else:
            key = self._access.keys[self.app]
            body = {"person": self.person, "expires_in": self._lifetime}
            answer = await self._access.request("POST", "/tokens", key, body, (201,))
            text = answer.document["access_token"]
            end = json.loads(base64.urlsafe_b64decode(text.split(".")[1] + "=="))["exp"]
            made = Credential("token", bearer(text), (end, end))
        self._made.append(made)
        return made

    async def _exchange(self, main: Credential, reply: str | None) -> Credential | None:
        """A session, or a link to a reply, made with a credential; None if that was refused. There is no link to a reply that is gone."""
        was_over, began = main.is_over, int(time.time())
        path, body = ("/links", {"reply": reply}) if reply else ("/session", None)
        absent = (404,) if reply in self.passing else self._access.absent
        answer = await self._access.request("POST", path, main, body, (201, 401, *absent))
        self._access.look(answer.status, main, was_over, f"POST {path}")
        if answer.status == 401:
            self.refused(main, f"POST {path}")
            return None
        if answer.status == 404:
            return main
        self._record.count["sessions and links made"] += 1
        if reply:
            lifetime = answer.document["expires_in"]
            made = Credential("link", {}, (began + lifetime, int(time.time()) + lifetime), answer.document["link"], reply)
        else:
            end = float(answer.document["expires_at"])
            made = Credential("session", {"Cookie": answer.fields["set-cookie"].split(";")[0]}, (end, end))
        self._made.append(made)
        return made

    def refused(self, credential: Credential, what: str) -> None:
        """Takes note of a refusal: the next request has another credential."""
        if not credential.may_be_refused and not self._may_be_revoked_again:
            self._access.wrong("valid credentials refused", f"{what} with {credential}")
        self._record.count["requests refused as revoked" if credential.is_revoked else "requests refused as expired"] += 1
        self._drop(credential)

    def ended(self, credential: Credential, what: str) -> None:
        """Takes note of the end of a stream by a revocation. The end of a token ends no stream."""
        if not credential.is_revoked and not self._may_be_revoked_again:
            self._access.wrong("valid credentials refused", f"{what} of {credential}")
        self._record.count["streams ended by a revocation"] += 1
        self._drop(credential)

    def _drop(self, credential: Credential) -> None:
        if self._main is credential:
            self._main = None
        self._others = {name: one for name, one in self._others.items() if one is not credential}

    async def revoke(self, is_hasty: bool) -> None:
        """Revokes the key, or all credentials of the person, and waits until all processes know. A hasty client gets others before.

        Throws `Lost` when the run is over.
        """
        async with self._lock:
            # Also those that have expired: their streams may still run.
            revoked = list(self._made)
            for credential in revoked:
                credential.is_revoked = True
            self._main, self._others, self._made = None, {}, []
            self._record.count["revocations"] += 1
            await self._revoke(revoked)
            if not is_hasty:
                await self._access.wait_until_refused(revoked, lambda: self._revoke(revoked))
        if is_hasty:
            await self._access.wait_until_refused(revoked, lambda: self._revoke(revoked))

    async def _revoke(self, credentials: list[Credential]) -> None:
        if self.person is None:
            for key in [one for one in credentials if one.kind == "key"]:
                path = f"/keys/{key.name}"
                await self._access.request("DELETE", path, self._access.administrator, None, (200, *self._access.absent))
            return
        path = f"/people/{quote(self.person)}"
        answer = await self._access.request("DELETE", path, self._access.keys[self.app], None, (200,))
        # A lost attempt may revoke what is made by then.
        self._may_be_revoked_again |= answer.was_repeated
        # The tokens of this second are revoked, too.
        second = int(time.time())
        while int(time.time()) == second:
            await asyncio.sleep(0.02)
