"""Compares the requests of chats with what the model server got, and their answers with the stored branches."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Callable

from chaos.rows import FINAL, Conversation, Row
from chaos.run_state import Delivery, Prompt, Reply, RunState, Turn
from harness.processes import FAILOVERS, RESCUES
from harness.record import Record
from harness.script import Script, answer, whole
from harness.upstream import Upstream

Faults = Callable[[Row, Delivery], tuple[str, str] | None]
STATELESS = "\x1e"
"""The beginning of the name of a conversation that is removed soon."""


@dataclass(frozen=True)
class Stored:
    """A stored reply."""

    appid: str
    conversation: Conversation
    prompt: Row
    row: Row

    @property
    def is_stateless(self) -> bool:
        """Whether it is of a request that nothing remains of."""
        return is_stateless(self.appid)


def is_stateless(appid: str) -> bool:
    """Whether a conversation is removed soon."""
    return appid.rpartition("\x1f")[2].startswith(STATELESS)


class ChatChecks:
    """The checks of the chats. `add` gets every conversation."""

    def __init__(self, state: RunState, upstream: Upstream) -> None:
        self._state, self._upstream = state, upstream
        self._record: Record = state.record
        self._turns: dict[str, list[Turn]] = collections.defaultdict(list)  # by token
        for turn in state.turns:
            self._turns[turn.prompt.token].append(turn)
        self._found: dict[str, list[Stored]] = collections.defaultdict(list)  # by token
        self._by_id: dict[str, Stored] = {}
        self._lost: set[str] = set()  # ids of replies in conversations that lost rows with a primary

    def add(self, appid: str, conversation: Conversation) -> None:
        """Takes the chats of a conversation."""
        for row in conversation.replies.values():
            asked = conversation.prompt(row)
            script = Script.parse(asked.message) if asked else None
            if asked and script and script.token in self._turns:
                stored = Stored(appid, conversation, asked, row)
                self._found[script.token].append(stored)
                self._by_id[row.id] = stored
        for token in conversation.prompts:
            if token in self._turns and not is_stateless(appid) and not any(turn.is_stored for turn in self._turns[token]):
                self._record.violation("stored against the request", token, appid)

    def excuse(self, conversation: Conversation, lost: Conversation) -> None:
        """Takes note of a conversation that lost rows with a primary."""
        self._lost |= {*conversation.replies, *lost.replies}

    def run(self, fault: Faults) -> None:
        """Checks all turns; `fault` finds the contradiction between what a door has delivered and the stored row."""
        readers: dict[str, list[Turn]] = collections.defaultdict(list)
        for token, turns in self._turns.items():
            prompt = turns[0].prompt
            self._check_input(prompt, turns)
            if any(turn.is_stored for turn in turns):
                self._check_stored(prompt, turns)
            for turn in turns:
                for reply in turn.replies:
                    readers[reply.id].append(turn)
                    self._check_reply(turn, reply, fault)
                if turn.has_key and len({reply.id for reply in turn.replies}) > 1 and not self._is_damaged(turn):
                    self._record.violation("doubled prompts", token, f"one key, the replies {[reply.id for reply in turn.replies]}")
        for id, turns in readers.items():
            if len(turns) > 1:
                self._record.violation("foreign answers", turns[0].prompt.token, f"{len(turns)} turns got {id}")

    def is_lost(self, token: str) -> bool:
        """Whether a primary that died had rows of a prompt."""
        return any(self._is_damaged(turn) for turn in self._turns.get(token, ()))

    def rows_of(self, token: str) -> str:
        """The rows of a prompt, each with the branch that it ends."""
        lines = []
        for stored in self._found[token]:
            lines.append(f"    {stored.appid!r}")
            lines += [f"      {row}" for row in (*stored.conversation.branch(stored.prompt), stored.row)]
        for turn in self._turns[token]:
            lines.append(f"    {turn.door} sent {turn.sent}, follows {turn.follows}")
        return "\n".join(lines)

    def _is_damaged(self, turn: Turn) -> bool:
        return turn.follows in self._lost or any(reply.id in self._lost for reply in turn.replies)

    def _check_input(self, prompt: Prompt, turns: list[Turn]) -> None:
        """Checks that the model server got exactly the messages of the client."""
        for call in self._upstream.calls.get(prompt.token, []):
            if not any(call.messages == turn.sent for turn in turns):
                self._record.violation(
                    "foreign messages", prompt.token,
                    f"{call}\n    was sent  {call.messages}\n    should be {[turn.sent for turn in turns]}")

    def _check_stored(self, prompt: Prompt, turns: list[Turn]) -> None:
        """Checks all replies to a prompt, also those that no client knows."""
        wrong = lambda kind, text: self._record.violation(kind, prompt.token, text)  # noqa: E731
        stored = [one for one in self._found[prompt.token] if one.row.id not in self._lost]
        app, person = prompt.owner
        for one in stored:
            self._record.count[f"replies {one.row.state}"] += 1
            if one.row.state not in FINAL:
                wrong("unfinished replies", f"{one.row}")
            if not one.appid.startswith(f"{app}\x1f{person or ''}\x1f"):
                wrong("foreign answers", f"{one.appid!r} of {prompt.owner}: {one.row}")
            history = self._history(one)
            if not one.is_stateless and not any(history == turn.messages for turn in turns if turn.is_stored):
                wrong("wrong branches", f"{one.row}\n    is  {history}\n    not {[turn.messages for turn in turns]}")
            self._check_text(prompt, one.row)
        if self.is_lost(prompt.token) or not all(turn.is_stored for turn in turns):
            return
        calls = self._upstream.calls.get(prompt.token, [])
        fails = prompt.script.ending != "complete" or any(call.is_slow for call in calls)
        attempts = sum((one.row.attempt or 1) + (one.row.handovers or 0) for one in stored)
        if len(calls) > attempts * (1 + FAILOVERS + RESCUES if fails else 1):
            wrong("doubled calls", f"{len(calls)} calls for {attempts} attempts at {len(stored)} replies")

    @staticmethod
    def _history(stored: Stored) -> list[str]:
        """The branch of a reply up to its prompt, without the texts of the system, which may change in a chat."""
        return [one for one in stored.conversation.history(stored.prompt) if not one.startswith("system:")]

    def _check_text(self, prompt: Prompt, row: Row) -> None:
        """Checks that the stored text comes from one answer of the model server."""
        if row.state == "complete" or any(row.parts):
            if not self._is_said(prompt, row.parts, is_whole=row.state == "complete"):
                self._record.violation("wrong answers", prompt.token, f"{row.state}: the text is in no answer: {row}")

    def _is_said(self, prompt: Prompt, parts: tuple[bytes, ...], is_whole: bool) -> bool:
        for call in self._upstream.calls.get(prompt.token, []):
            said = whole(answer(prompt.script, call.number))[:len(parts)]
            if said == parts if is_whole else all(one.startswith(part) for one, part in zip(said, parts)):
                return True
        return False

    def _check_reply(self, turn: Turn, reply: Reply, fault: Faults) -> None:
        """Checks a reply that a client has got."""
        wrong = lambda kind, text: self._record.violation(kind, turn.prompt.token, text)  # noqa: E731
        if self._is_damaged(turn):
            self._record.count["lost with a primary"] += 1
            return
        stored = self._by_id.get(reply.id)
        for delivery in reply.deliveries:
            parts = delivery.text, delivery.thinking
            if not self._is_said(turn.prompt, parts, is_whole=delivery.end == "done") and (delivery.end == "done" or any(parts)):
                wrong("wrong answers", f"{delivery.reader}: {delivery.end}, the text is in no answer: {parts}")
            if stored and (found := fault(stored.row, delivery)):
                wrong(found[0], f"{delivery.reader}: {found[1]}; {delivery.end} {delivery.error}; {stored.row}")
        if not turn.is_stored:
            if stored and not stored.is_stateless:
                wrong("stored against the request", f"{stored.appid!r}: {stored.row}")
            return
        if stored is None:
            wrong("lost replies", f"{turn.door}: {reply.id} was acknowledged, and is not stored")
            return
        history = self._history(stored)
        if history != turn.messages:
            wrong("wrong branches", f"{turn.door}: {stored.row}\n    is        {history}\n    should be {turn.messages}")
        branch = [row.id for row in stored.conversation.branch(stored.prompt)]
        if turn.follows is not None and turn.follows not in branch:
            wrong("split chats", f"{turn.door}: {reply.id} in {stored.appid!r} does not follow {turn.follows}: {branch}")
        for state in reply.stop_answers:
            if state in FINAL and state != stored.row.state:
                wrong("wrong endings", f"DELETE said {state}; {stored.row}")
