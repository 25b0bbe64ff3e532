"""A client with several chats at once in one key, at the front doors. Each request carries the history of its chat."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from chaos.door_answers import (
    AnthropicAnswer, DoorAnswer, GenerateAnswer, OllamaAnswer, OpenAIAnswer, ResponseAnswer)
from chaos.door_client import DoorClient, DoorRequest
from chaos.messages import Message, ToolCall, results
from chaos.run_state import Prompt, Turn
from harness.exchange import Lost
from harness.script import Script

CHATS: tuple[type[DoorAnswer], ...] = (OpenAIAnswer, OllamaAnswer, AnthropicAnswer, ResponseAnswer)
AUDITED = 4
"""The replies of a client that it asks for once more at the end of the run."""


@dataclass
class Chat:
    """A chat as its client sees it: its messages are what the model gets."""

    name: str
    kind: type[DoorAnswer]
    is_chain: bool  # a request has its new messages only, and names the response that they follow
    is_stored: bool
    has_keys: bool  # requests that are repeated have an Idempotency-Key
    has_name: bool  # its program names it
    system: str  # the text of the system; empty for none
    messages: list[Message] = field(default_factory=list)

    @property
    def follows(self) -> str | None:
        """The last stored reply that the client has as a whole."""
        return next((message.reply for message in reversed(self.messages) if message.reply), None)

    def cut(self, start: int) -> None:
        """Removes the messages from one of the user on, with the results of tools before it."""
        del self.messages[start:]
        while self.messages and self.messages[-1].role == "tool":
            del self.messages[-1]


class ChatClient(DoorClient):
    """Chats of one owner. They may begin with the same words, and no conversation is named but by their programs."""

    async def run(self) -> None:
        """Runs the chats at once, until they or the run are over."""
        chance = self._chance
        self._orders = iter(range(1 << 30))
        self._asked: list[Turn] = []
        first = self._script() if chance.random() < 0.6 else None
        await asyncio.gather(*(self._chat(self._begin(index), first) for index in range(chance.choice((1, 2, 2, 3, 4)))))

    def _begin(self, index: int) -> Chat:
        chance = self._chance
        kind = chance.choice((*CHATS, ResponseAnswer))
        is_response = kind is ResponseAnswer
        is_stored = not (is_response and chance.random() < 0.3)
        return Chat(
            f"{self._number}.{index}", kind, is_response and is_stored and chance.random() < 0.4, is_stored,
            has_keys=chance.random() < 0.5, has_name=chance.random() < 0.2,
            system=chance.choice(("", "", f"You are chat {index}.", f"You are chat {index}. Request ")))

    def _script(self) -> Script:
        """The orders of a prompt. Chats whose messages are equal are not told apart, so each answer has a text."""
        script = Script.draw(f"c{self._number}t{next(self._orders)}", self._chance, self._state.is_short)
        return replace(script, lines=max(1, script.lines))

    async def _chat(self, chat: Chat, first: Script | None) -> None:
        chance = self._chance
        for index in range(chance.randint(2, 5)):
            if self._state.is_draining:
                break
            script = first if index == 0 and first else self._script()
            starts = [place for place, message in enumerate(chat.messages) if message.role == "user"]
            what = chance.choices(("go on", "ask again", "edit", "aside"), (72, 8, 8, 12))[0]
            if what == "aside":
                await self._aside(chat)
            elif starts and what == "ask again":
                script = Script.parse(chat.messages[starts[-1]].text) or script
                chat.cut(starts[-1])
            elif starts and what == "edit":
                chat.cut(chance.choice(starts))
                self._record.count["branches"] += 1
            await self._say(chat, script)

    async def _say(self, chat: Chat, script: Script) -> None:
        """Asks for the next answer of a chat, and keeps what a program would keep of it."""
        chance = self._chance
        kind = chat.kind if chat.is_chain or not chat.is_stored or chance.random() < 0.9 else chance.choice(CHATS)
        added = [*results(chat.messages), Message("user", script.prompt())]
        turn, body, fields = self._turn_of(chat, kind, script, added, chat.is_stored)
        if chat.has_keys:
            fields["Idempotency-Key"] = f"{chat.name}/{len(self._state.turns)}"
        if chat.has_name:
            fields["X-Chat-Id"] = f"chat {chat.name}"
        request = self._request(turn.prompt, kind, body, fields)
        request.turn, turn.has_key = turn, chat.has_keys
        await self._converse(request)
        answer, reply = request.answer, request.reply
        if answer.end == "done" and reply is not None:
            calls = tuple(
                ToolCall(f"call_{reply.id[:8]}_{index}", name, json.loads(arguments or "{}"))
                for index, (name, arguments) in enumerate(answer.calls))
            thinking = answer.thinking if chance.random() < 0.5 else ""
            chat.messages += [*added, Message(
                "assistant", answer.text, thinking, calls, reply=reply.id if chat.is_stored else None)]
            return
        # A program forgets the prompt, or keeps it, or keeps what it has of the answer.
        kept = chance.choices(("nothing", "prompt", "beginning"), (50, 25, 25))[0]
        if chat.is_chain or kept == "nothing":
            return
        chat.messages += added
        if kept == "beginning" and answer.text.strip():
            chat.messages.append(Message("assistant", answer.text))

    async def _aside(self, chat: Chat) -> None:
        """Asks for something that belongs to no chat: a title, a prompt without a history, or one that nothing is stored of."""
        script = self._script()
        prompt = Message("user", script.prompt())
        alone = Chat(chat.name, GenerateAnswer, False, False, False, False, chat.system)
        kind = self._chance.choice((GenerateAnswer, OpenAIAnswer, ResponseAnswer))
        if kind is ResponseAnswer and chat.follows and (chat.is_chain or not chat.system):
            # The history is copied from the store.
            place = next(place for place, message in enumerate(chat.messages) if message.reply == chat.follows)
            alone = replace(chat, is_chain=True, is_stored=False, messages=chat.messages[:place + 1])
        added = [*results(alone.messages), prompt]
        turn, body, fields = self._turn_of(alone, kind, script, added, is_stored=kind is OpenAIAnswer)
        request = self._request(turn.prompt, kind, body, fields)
        request.turn = turn
        await self._converse(request)

    def _turn_of(
        self, chat: Chat, kind: type[DoorAnswer], script: Script, added: list[Message], is_stored: bool
    ) -> tuple[Turn, dict[str, Any], dict[str, str]]:
        """A turn, and the body and fields of its request. The model must get the messages of the chat, and those that are added."""
        state = self._state
        prompt = state.prompts.get(script.token)
        if prompt is None:
            prompt = Prompt(script, self._member.key, self._member.owner, 0, None, may_repeat=False, is_of_chats=True)
            state.prompts[script.token] = prompt
            self._record.count["prompts"] += 1
        text = f"{chat.system}{len(state.turns)}." if chat.system.endswith(" ") else chat.system
        system = [Message("system", text)] if text else []
        follows = chat.follows
        turn = Turn(
            prompt, kind.path, system[0].digest if system else None, [message.digest for message in chat.messages + added], follows,
            is_stored, has_key=False)
        state.turns.append(turn)
        self._asked.append(turn)
        if chat.is_chain and follows:
            return turn, kind.body(system + added) | {"previous_response_id": f"resp_{follows}"} | self._store(kind, is_stored), {}
        return turn, kind.body(system + chat.messages + added) | self._store(kind, is_stored), {}

    @staticmethod
    def _store(kind: type[DoorAnswer], is_stored: bool) -> dict[str, Any]:
        return {} if is_stored or kind is not ResponseAnswer else {"store": False}

    # --- when the faults are over

    async def audit(self) -> None:
        """Checks that what was acknowledged can be read, and that lists have only what belongs to them."""
        stored = [turn for turn in self._asked if turn.is_stored and turn.replies]
        for turn in self._chance.sample(stored, min(AUDITED, len(stored))):
            await self._retrieve(turn.prompt, turn.replies[-1])
        if self._member.person is None:
            # An app has the conversations of many clients here.
            return
        for turn in [turn for turn in self._asked if not turn.is_stored][:AUDITED]:
            if any(turn.prompt is one.prompt and one.is_stored for one in self._asked):
                continue
            for which in ("", "&requests=1"):
                if listed := await self._listed(f"token={turn.prompt.token} ", which):
                    self._record.violation("listed, and not stored", turn.prompt.token, f"{which}: {listed}")

    async def _listed(self, text: str, which: str) -> list[Any]:
        """The conversations in a list that have a text."""
        cursor = ""
        while not self._state.is_over:
            try:
                exchange = await self._ask("GET", f"/conversations?q={quote(text)}{which}{cursor}")
                page = await exchange.json()
            except Lost as loss:
                self._lost(loss, "", "GET /conversations")
                continue
            exchange.close()
            if exchange.status != 200:
                await self._state.pause(self._chance, 0.3)
            elif page["conversations"] or "next" not in page:
                return list(page["conversations"])
            else:
                cursor = f"&cursor={quote(page['next'])}"
        return []
