"""Compares the steps in the rows with the calls of tools that have started."""

from __future__ import annotations

from chaos.rows import Conversation, Row, Step
from chaos.run_state import RunState
from chaos.tool_server import NEVER_MADE, STOPPED, UNKNOWN, Start, ToolServer, is_refused, refuses
from harness.record import Record

STATES = ("waiting", "running", "done", "failed", "unknown")
ENDED = STATES[2:]


class ToolChecks:
    """The checks of the tools of the server. `add` gets every conversation."""

    def __init__(self, state: RunState, tools: ToolServer) -> None:
        self._state, self._tools = state, tools
        self._record: Record = state.record
        self._replies: dict[str, Row] = {}  # by id

    def add(self, conversation: Conversation) -> None:
        """Takes the replies of a conversation."""
        self._replies |= conversation.replies

    def run(self, lost: set[str], damaged: set[str]) -> None:
        """Checks all calls; `lost` are the replies that ran on a primary that died, `damaged` the conversations that lost rows with it."""
        for key, starts in self._tools.starts.items():
            if (prompt := self._state.prompts.get(starts[0].token)) is None:
                self._wrong("wrong steps", starts[0], "of a prompt that no client has sent")
            elif key.rsplit("-", 2)[0] in lost or prompt.appid in damaged:
                # The steps may have gone with the primary: then the calls have run again.
                self._record.count["lost with a primary"] += 1
            else:
                self._check_starts(key, starts, is_deleted=prompt.appid in self._state.deleted)
        for row in self._replies.values():
            if row.id not in lost:
                self._check_steps(row)

    def _wrong(self, kind: str, start: Start, text: str) -> None:
        self._record.violation(kind, start.token, f"{text}: {start}")

    def _check_starts(self, key: str, starts: list[Start], is_deleted: bool) -> None:
        """Checks the starts of one call."""
        first = starts[0]
        for start in starts[1:]:
            if not self._tools.is_idempotent(start.tool):
                self._wrong("calls run twice", start, "not idempotent")
            if (start.tool, start.arguments) != (first.tool, first.arguments):
                self._wrong("calls run twice", start, f"another call with the key of {first}")
        if any(other.key != key for other in self._tools.by_call[first.call]):
            self._wrong("calls run twice", first, f"one call of the model, the keys {[one.key for one in self._tools.by_call[first.call]]}")
        if is_deleted:
            return
        id, round, index = key.rsplit("-", 2)
        row = self._replies.get(id)
        if row is None:
            self._wrong("lost steps", first, "no reply has it")
        elif int(round) >= len(row.rounds) or int(index) >= len(row.rounds[int(round)].steps):
            self._wrong("lost steps", first, f"not among the steps; {row}")
        else:
            function = row.rounds[int(round)].steps[int(index)].function
            if (function["name"], function["arguments"]) != (first.tool, first.arguments):
                self._wrong("lost steps", first, f"another call is stored; {row}")
            if len(starts) > (row.attempt or 1):
                self._wrong("calls run twice", starts[-1], f"more starts than attempts; {row}")

    def _check_steps(self, row: Row) -> None:
        """Checks the stored steps of one reply."""
        for number, round in enumerate(row.rounds):
            for index, step in enumerate(round.steps):
                self._record.count[f"steps {step.state}"] += 1
                starts = self._tools.starts.get(f"{row.id}-{number}-{index}", [])
                if fault := self._fault(row, step, starts, is_last=round is row.rounds[-1]):
                    token = step.function["arguments"]["call"].partition(".")[0]
                    self._record.violation(fault[0], token, f"{fault[1]}: {step}; {[str(start) for start in starts]}; {row}")

    def _fault(self, row: Row, step: Step, starts: list[Start], is_last: bool) -> tuple[str, str] | None:
        """What is wrong with a step: the kind, and a text."""
        function, state, text = step.function, step.state, step.result
        if state not in STATES:
            return "wrong steps", "no state"
        if step.message.get("tool_name") != function["name"] or step.message.get("tool_call_id") != step.json.get("id"):
            return "wrong steps", "the result names another call"
        if is_refused(function) and (starts or state not in ("failed", "waiting", "running", "unknown")):
            return "wrong results", "chatterd must not make this call"
        if state in ("done", "failed"):
            if any(start.gives(state, text) for start in starts) or state == "failed" and refuses(function, text):
                return None
            return "wrong results", "no start has given this result"
        if state not in ENDED and (row.state == "complete" or not is_last):
            return "wrong steps", "the reply went on before the end of the call"
        if state == "waiting":
            if starts:
                return "lost steps", "stored as not made, and it has started"
            return None if text == NEVER_MADE else ("wrong results", "another text for a call that was not made")
        if state == "running":
            return None if text == UNKNOWN else ("wrong results", "another text for a call whose end is unknown")
        if text == STOPPED:
            return None if row.state != "complete" else ("wrong steps", "a call was stopped, and the reply is complete")
        if text != UNKNOWN:
            return "wrong results", "another text for a call whose end is unknown"
        if (row.attempt or 1) == 1:
            return "wrong steps", "no process was lost"
        return ("wrong steps", "the call was not repeated") if self._tools.is_idempotent(function["name"]) else None
