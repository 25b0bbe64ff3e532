"""Compares the stored rows with the results of the clients and the answers of the model server."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields
from typing import Any, AsyncIterator

from chaos.chat_checks import ChatChecks
from chaos.rows import FAILED, FINAL, Conversation, Row
from chaos.run_state import Delivery, Prompt, Reply, RunState
from chaos.tool_checks import ToolChecks
from chaos.tool_server import ToolServer
from harness.database import Database
from harness.ledger import Seal
from harness.processes import FAILOVERS, RESCUES
from harness.record import Record
from harness.script import answer, canonical, whole
from harness.upstream import Upstream


class Checks:
    """The checks after the run; violations go to the record."""

    def __init__(self, state: RunState, upstream: Upstream, tools: ToolServer, cluster: Database) -> None:
        self._state, self._upstream, self._tools, self._cluster = state, upstream, tools, cluster
        self._record: Record = state.record
        self._row: dict[str, str] = {}  # by token, for reports
        self._lost: dict[str, list[Row]] = {}  # by appID: rows of a primary that died
        self._damaged: set[str] = set()  # appIDs of conversations that lost rows with a primary

    async def run(self) -> None:
        """Checks every conversation."""
        for row in self._cluster.lost:
            known = {field.name: row[field.name] for field in fields(Row)}
            self._lost.setdefault(row["appid"], []).append(Row(**known))
        prompts: dict[str, list[Prompt]] = {}
        for prompt in self._state.prompts.values():
            if not prompt.is_of_chats:
                prompts.setdefault(prompt.appid, []).append(prompt)
        chats = ChatChecks(self._state, self._upstream)
        steps = ToolChecks(self._state, self._tools)
        unseen = set(self._lost)
        async for appid, conversation in self._conversations():
            chats.add(appid, conversation)
            steps.add(conversation)
            self._check(appid, conversation, prompts.pop(appid, []))
            unseen.discard(appid)
            if appid in self._damaged:
                chats.excuse(conversation, Conversation(self._lost[appid]))
        for appid, rest in prompts.items():
            self._check(appid, Conversation([]), rest)
        for appid in unseen:
            chats.excuse(Conversation([]), Conversation(self._lost[appid]))
        chats.run(self._delivery_fault)
        steps.run({row.id for rows in self._lost.values() for row in rows if row.state not in FINAL}, self._damaged)
        await self._check_deleted()
        for text in self._upstream.strange:
            self._record.violation("strange upstream calls", "", text)
        if self._cluster.is_lossy:
            self._excuse(chats)
        for prompt in self._state.prompts.values():
            if prompt.is_of_chats and prompt.token in self._record.tokens:
                self._row[prompt.token] = chats.rows_of(prompt.token)

    def _excuse(self, chats: ChatChecks) -> None:
        """Drops the violations of damaged conversations that were noted during the run: their replies may be unknown by now.

        A key stands for a second reply when the first one was lost with its primary.
        """
        tokens = {
            prompt.token for prompt in self._state.prompts.values()
            if (chats.is_lost(prompt.token) if prompt.is_of_chats else prompt.appid in self._damaged)}
        for violation in list(self._record.violations):
            if violation.token in tokens and (violation.kind == "wrong statuses" or violation.text.startswith("one key, ")):
                self._record.violations.remove(violation)
                self._record.count[violation.kind] -= 1
                self._record.count["lost with a primary"] += 1

    def rows_of(self, token: str) -> str:
        """The rows of a prompt with a violation."""
        return self._row.get(token, "    no rows")

    async def _conversations(self) -> AsyncIterator[tuple[str, Conversation]]:
        columns = ", ".join(field.name for field in fields(Row))
        key, rows = None, list[Row]()
        async for row in self._cluster.stream(f"SELECT appid, {columns} FROM chatts ORDER BY appid, seq"):
            appid = row.pop("appid")
            if appid != key and key is not None:
                yield key, Conversation(rows)
                rows = []
            key = appid
            rows.append(Row(**row))
        if key is not None:
            yield key, Conversation(rows)

    def _check(self, appid: str, conversation: Conversation, prompts: list[Prompt]) -> None:
        if appid in self._state.deleted:
            if conversation.rows and self._cluster.is_lossy and self._record.count["failovers"]:
                # The deletion itself may have been lost; the clients' ledgers no longer record it.
                self._record.count["lost with a primary"] += 1
            elif conversation.rows:
                self._record.violation("deleted, and still there", "", f"{appid}: {len(conversation.rows)} rows")
            return
        lost = Conversation(self._lost.get(appid, []))
        if self._is_damaged(conversation, lost):
            self._damaged.add(appid)
            for prompt in prompts:
                self._check_damaged(conversation, lost, prompt)
        else:
            self._check_order(conversation, prompts)
            for prompt in prompts:
                self._check_prompt(conversation, prompt)
        for prompt in prompts:
            if prompt.token in self._record.tokens:
                self._row[prompt.token] = "\n".join(f"    {row}" for row in conversation.rows)

    @staticmethod
    def _is_damaged(conversation: Conversation, lost: Conversation) -> bool:
        """Whether a dead primary had rows of the conversation that are now missing or different."""
        stored = {row.id: row for row in conversation.rows}
        for row in lost.rows:
            now = stored.get(row.id)
            if now is None or row.state in FINAL and (row.state, row.parts) != (now.state, now.parts):
                return True
            if (row.attempt or 1) > (now.attempt or 1):
                return True
            if len(row.rounds) > len(now.rounds) or not all(one.is_kept_in(later) for one, later in zip(row.rounds, now.rounds)):
                return True
        return False

    def _check_damaged(self, conversation: Conversation, lost: Conversation, prompt: Prompt) -> None:
        """Checks a conversation that lost rows with a primary: the stored text has no hole, and every end that a reader got was
        stored, here or on the dead primary."""
        wrong = lambda kind, text: self._record.violation(kind, prompt.token, text)  # noqa: E731
        rows, before = conversation.prompts.get(prompt.token, []), lost.prompts.get(prompt.token, [])
        if prompt.is_acknowledged and not rows:
            if before:
                self._record.count["lost with a primary"] += 1
            else:
                wrong("lost prompts", "acknowledged, and neither stored nor lost with a primary")
        if len(rows) > 1:
            wrong("doubled prompts", f"stored {len(rows)} times")
        for row in conversation.replies.values():
            if (asked := conversation.prompt(row)) and asked in rows:
                self._check_text(prompt, row)
        for reply in prompt.replies:
            versions = [row for row in (conversation.replies.get(reply.id), *self._versions(lost, reply.id)) if row]
            for seal in reply.seals:
                if seal.final is None or not versions and seal.final.get("code") == "conversation_replaced":
                    continue
                faults = [self._fault(row, seal) for row in versions]
                if all(faults):
                    kind, text = next((fault for fault in faults if fault), ("lost replies", "no row has it"))
                    wrong(kind, f"{seal.reader}: {text}; {[str(row) for row in versions]}")
                elif faults[0]:
                    self._record.count["lost with a primary"] += 1

    @staticmethod
    def _versions(lost: Conversation, id: str) -> list[Row]:
        return [row for row in lost.rows if row.id == id]

    async def _check_deleted(self) -> None:
        """Checks that no table has rows of a deleted conversation."""
        for table in ("chatterd_keys", "chatterd_journal", "chatterd_signals"):
            async for row in self._cluster.stream(f"SELECT appid, count(*) FROM {table} GROUP BY appid"):
                if row["appid"] in self._state.deleted:
                    self._record.violation("deleted, and still there", "", f"{row} of {table}")

    def _check_order(self, conversation: Conversation, prompts: list[Prompt]) -> None:
        positions = []
        for prompt in sorted(prompts, key=lambda prompt: prompt.order):
            if prompt.is_acknowledged and (rows := conversation.prompts.get(prompt.token)):
                positions.append((rows[0].seq, prompt))
        for (first, _), (second, prompt) in itertools.pairwise(positions):
            if first > second:
                self._record.violation("turns out of order", prompt.token, f"seq {second} behind {first}")

    def _check_prompt(self, conversation: Conversation, prompt: Prompt) -> None:
        wrong = lambda kind, text: self._record.violation(kind, prompt.token, text)  # noqa: E731
        rows = conversation.prompts.get(prompt.token, [])
        if prompt.is_acknowledged and not rows:
            wrong("lost prompts", "acknowledged, and not stored")
        if len(rows) > 1:
            wrong("doubled prompts", f"stored {len(rows)} times")
        if rows and rows[0].message != prompt.script.prompt():
            wrong("changed prompts", rows[0].message)
        replies = [row for row in conversation.replies.values() if (asked := conversation.prompt(row)) and asked in rows]
        if rows and not replies:
            wrong("lost replies", "a prompt without a reply")
        for row in replies:
            self._record.count[f"replies {row.state}"] += 1
            if row.state not in FINAL:
                wrong("unfinished replies", f"{row}")
            self._check_text(prompt, row)
        self._check_calls(conversation, prompt, rows, replies)
        for code in prompt.errors:
            reported = [json.loads(row.last_event or "{}").get("code", "interrupted") for row in replies if row.state in FAILED]
            if code not in reported:
                wrong("wrong endings", f"reported {code} in one piece, stored {reported}")
        for reply in prompt.replies:
            stored = conversation.replies.get(reply.id)
            if stored is None:
                wrong("lost replies", f"{reply.id} was acknowledged, and is not stored")
                continue
            if stored not in replies:
                wrong("lost replies", f"{reply.id} answers another prompt")
            for seal in reply.seals:
                if fault := self._fault(stored, seal):
                    wrong(fault[0], f"{seal.reader}: {fault[1]}; {stored}")
            self._check_cause(prompt, reply, stored)
            for delivery in reply.deliveries:
                if fault := self._delivery_fault(stored, delivery):
                    wrong(fault[0], f"{delivery.reader}: {fault[1]}; {delivery.end} {delivery.error}; {stored}")
            self._check_wholes(prompt, reply, stored)

    def _check_text(self, prompt: Prompt, row: Row) -> None:
        """Checks that the stored text comes from one answer of the model server, and that of each round from one for that round."""
        calls = self._upstream.calls.get(prompt.token, [])
        rounds = range(len(row.rounds))
        answers = {number: [whole(answer(prompt.script, call.number, number)) for call in calls if call.rounds == number]
                   for number in (*rounds, len(rounds))}
        if not all(row.rounds[number].parts in answers[number] for number in rounds):
            self._record.violation("wrong answers", prompt.token, f"a round is in none of {len(calls)} answers: {row}")
            return
        before = row.said
        # The calls of a round are no part of the reply. It may have ended before the next answer.
        is_last = len(rounds) == prompt.script.rounds
        for text, thinking, called in [*answers[len(rounds)], (b"", b"", b"")]:
            said = (before[0] + text, before[1] + thinking, called if is_last else b"")
            if row.state == "complete" and is_last and row.parts == said and (text, thinking, called) in answers[len(rounds)]:
                return
            if row.state != "complete" and all(part.startswith(stored) for part, stored in zip(said, row.parts)):
                return
        self._record.violation("wrong answers", prompt.token, f"{row.state}: the text is in none of {len(calls)} answers: {row}")

    def _check_calls(self, conversation: Conversation, prompt: Prompt, rows: list[Row], replies: list[Row]) -> None:
        calls = self._upstream.calls.get(prompt.token, [])
        attempts = sum(row.attempt or 1 for row in replies)
        # A failed answer is retried, before and after its first word.
        fails = prompt.script.ending != "complete" or any(call.is_slow for call in calls)
        if len(calls) > attempts * (prompt.script.rounds + 1) * (1 + FAILOVERS + RESCUES if fails else 1):
            self._record.violation(
                "doubled calls", prompt.token, f"{len(calls)} calls for {attempts} attempts at {len(replies)} replies")
        # A stopping process hands prompts without text over to the other processes.
        if any((row.attempt or 1) > 1 + (row.handovers or 0) for row in replies) and not prompt.may_repeat and not fails:
            self._record.violation("doubled calls", prompt.token, "made again, though on_interrupt does not say so")
        if not rows:
            if calls and not prompt.is_acknowledged:
                self._record.violation("doubled calls", prompt.token, "the model was asked, and the prompt is not stored")
            return
        history = conversation.history(rows[0])
        for call in calls:
            # The request for another round has the steps of its reply, as they are stored: a step is stored before the model reads it.
            steps = [[one for round in row.rounds[:call.rounds] for one in round.digests]
                     for row in replies if len(row.rounds) >= call.rounds]
            if not any(call.messages == history + messages for messages in (steps if call.rounds else [[]])):
                self._record.violation(
                    "wrong histories", prompt.token,
                    f"{call}\n    was sent  {call.messages}\n    should be {history}\n    with one of {steps}")

    @staticmethod
    def _fault(row: Row, seal: Seal) -> tuple[str, str] | None:
        """The contradiction between a reader's end and the stored row: the kind, and a text."""
        if seal.final is None:
            # The reader does not return. Text beyond the journal of a killed process is lost; a `reset` would have said so.
            if row.attempt != seal.position.attempt or row.state == "interrupted" and seal.position.text > len(row.parts[0]):
                return None
            fault = seal.agrees(row.parts)
            return ("bytes lost or doubled", fault) if fault and row.state != "interrupted" else None
        if row.attempt != seal.position.attempt:
            return "false ends", f"reported the end of attempt {seal.position.attempt}"
        if fault := seal.agrees(row.parts):
            return "false ends", f"reported {seal.final}, {fault}"
        if seal.is_error != (row.state in FAILED) or \
                not seal.is_error and (seal.final.get("state") == "cancelled") != (row.state == "cancelled"):
            return "false ends", f"reported {seal.final}"
        if row.last_event and without_message(json.loads(row.last_event)) != without_message(seal.final):
            return "false ends", f"reported {seal.final}"
        return None

    @staticmethod
    def _delivery_fault(row: Row, delivery: Delivery) -> tuple[str, str] | None:
        """The contradiction between what a front door has delivered and the stored row: the kind, and a text."""
        text, thinking, _ = row.parts
        if delivery.end == "done":
            if row.state != "complete":
                return "false ends", "reported as complete"
            if (delivery.text, delivery.thinking) != (text, thinking):
                return "bytes lost or doubled", f"{len(delivery.text)}+{len(delivery.thinking)} bytes read, all of them"
            stored: list[Any] = [call["function"] for call in row.calls]  # type: ignore[index]
            if delivery.calls != [(function["name"], function["arguments"]) for function in stored]:
                return "bytes lost or doubled", f"calls {delivery.calls}"
            return None
        if delivery.is_final and row.state == "complete":
            return "false ends", "reported as failed"
        # An answer that restarts takes nothing back here: its streams end with an error. Only responses name the attempt.
        is_older = (row.attempt or 1) > (delivery.attempt or 1)
        # Text beyond the journal of a killed process is lost.
        is_cut = row.state == "interrupted" and delivery.text.startswith(text)
        if not is_older and not is_cut and not (text.startswith(delivery.text) and thinking.startswith(delivery.thinking)):
            return "bytes lost or doubled", f"{len(delivery.text)}+{len(delivery.thinking)} bytes read are no beginning"
        return None

    def _check_cause(self, prompt: Prompt, reply: Reply, row: Row) -> None:
        """Checks that a reply is interrupted only if its process was killed, stopped or restarted."""
        ends = [seal.at for seal in reply.seals if seal.final is not None]
        if row.state == "interrupted" and ends and not self._record.was_any_process_lost(reply.began, min(ends)):
            self._record.violation("interrupted without a cause", prompt.token, f"no process was lost meanwhile; {row}")

    def _check_wholes(self, prompt: Prompt, reply: Reply, row: Row) -> None:
        for answer_ in reply.wholes:
            message: Any = answer_.get("message") or {}
            parts = (message.get("content", ""), message.get("thinking", ""), canonical(message.get("tool_calls", [])))
            state = answer_.get("state", "complete")
            if state == "streaming":
                continue
            if tuple(part.encode() for part in parts) != row.parts or state != row.state:
                self._record.violation("bytes lost or doubled", prompt.token, f"as JSON: {str(answer_)[:500]}; {row}")
        for state in reply.stop_answers:
            if state in FINAL and state != row.state:
                self._record.violation("wrong endings", prompt.token, f"DELETE said {state}; {row}")


def without_message(event: dict[str, Any]) -> dict[str, Any]:
    """A last event without the members that may be empty when it is read again."""
    return {name: value for name, value in event.items() if name != "message"}
