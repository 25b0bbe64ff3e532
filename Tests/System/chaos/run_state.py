"""The state that the clients of a run share, and that the checks read."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from harness.cutting_proxy import CuttingProxy
from harness.ledger import Seal
from harness.record import Record
from harness.script import Script
from harness.upstream import Upstream


@dataclass
class Delivery:
    """What a stream of a front door, or several of a response, have delivered of an answer."""

    reader: str
    text: bytes
    thinking: bytes
    calls: list[tuple[str, object]]  # names and arguments; of complete answers only
    attempt: int | None  # None where the API does not name it
    end: str  # `done`, `error`, or empty after a cut
    error: str
    is_final: bool = False  # the reply was over, as the client saw it


@dataclass
class Reply:
    """A reply whose name a client has learned."""

    id: str
    token: str
    began: float  # when its prompt was sent first
    seals: list[Seal] = field(default_factory=list)
    wholes: list[dict[str, object]] = field(default_factory=list)  # as JSON, not as events
    stop_answers: list[str] = field(default_factory=list)  # states
    deliveries: list[Delivery] = field(default_factory=list)  # by front doors


@dataclass
class Prompt:
    """A prompt that a client has posted."""

    script: Script
    appid: str  # the key of its conversation in the store
    owner: tuple[str, str | None]  # the app and the person
    order: int  # in its conversation
    parent: str | None
    may_repeat: bool  # on_interrupt is regenerate
    posted_at: float = 0  # when it was sent first
    is_acknowledged: bool = False
    replies: list[Reply] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # codes that came in place of the answer in one piece
    path: str = "/llmchat"
    is_of_chats: bool = False  # its requests carry their history: `Turn` has them

    @property
    def token(self) -> str:
        return self.script.token


@dataclass
class Turn:
    """A request of a chat, with its retries. It carries its history, or names the reply that it follows."""

    prompt: Prompt  # several chats may begin with it
    door: str
    system: str | None  # digests of the messages that the model must get, no more and no fewer
    messages: list[str]
    follows: str | None  # the last stored reply that the client has as a whole
    is_stored: bool
    has_key: bool
    replies: list[Reply] = field(default_factory=list)

    @property
    def sent(self) -> list[str]:
        """All messages."""
        return [self.system] * (self.system is not None) + self.messages


class RunState:
    """The addresses of the processes, the model server, and the prompts so far."""

    def __init__(self, record: Record, upstream: Upstream, seed: int, is_short: bool) -> None:
        self.record, self.upstream, self.seed, self.is_short = record, upstream, seed, is_short
        self.proxies: list[CuttingProxy] = []
        self.prompts: dict[str, Prompt] = {}
        self.turns: list[Turn] = []  # of chats
        self.openings: list[float] = []  # when the streams of new prompts began, in seconds of the run
        self.deleted: set[str] = set()  # conversations
        self.is_draining = False
        self.is_over = False

    def anywhere(self, chance: random.Random) -> CuttingProxy:
        """A process for the next request."""
        return chance.choice(self.proxies)

    async def pause(self, chance: random.Random, most: float) -> None:
        """Waits for a moment, unless the run is about to end."""
        await asyncio.sleep(chance.uniform(0, 0.1 if self.is_draining else most))
