"""One fault in one form: requested, read by all kinds of readers, compared with the stored row, and scored."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from faults.behaviours import GOOD, Behaviour
from faults.catalogue import Fault
from faults.dialects import DIALECTS
from faults.numbered_words import Text, call_of, thoughts_of
from faults.provider import Call, ScriptedServer, ServerPort, Provider
from harness.cluster import Cluster
from harness.exchange import Address, Exchange, Lost
from harness.ledger import Ledger, Seal, Wrong
from harness.machine import TIMEOUT
from harness.record import Record
from harness.script import canonical

FORMS = ("stream", "whole", "again", "alone")
"""Two servers, as a stream and in one piece; one server that does better at the next call, and one that does not."""
SCORES = ("fail", "safe", "partial", "pass")
"""From the worst to the best."""
LIMIT = 2 * TIMEOUT
"""Seconds after which a case counts as hanging."""
CANARY = "canary"
"""The beginning of every key."""
NOTICE = "is starting over"
"""Part of the notice that clients show which do not know `reset`."""


class Broken(Exception):
    """A guarantee is broken: the score is fail."""


@dataclass
class SharedSetup:
    """The setup that all cases share."""

    address: Address
    record: Record
    cluster: Cluster
    steady: dict[str, ScriptedServer]  # by kind: a healthy server
    budget: int  # calls beyond the first one


@dataclass
class Answer:
    """The result of a reader."""

    ledger: Ledger
    old_text: str = ""  # the text of a client that does not know `reset` and `error`
    model: str = ""  # that the last line names

    @property
    def seal(self) -> Seal:
        return self.ledger.seal(0)


@dataclass
class FaultCase:
    """A fault, a kind and a form."""

    fault: Fault
    kind: str
    form: str
    score: str = "fail"
    text: str = ""  # the reason, or the evidence
    seconds: float = 0
    calls: list[Call] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    settled: int = 0  # calls when it was over
    own_port: ServerPort | None = None  # of the first server, if it restarts

    @property
    def name(self) -> str:
        """The model's name, which no other case has."""
        words = re.sub(r"[^a-z0-9]+", "-", self.fault.name.lower()).strip("-")
        return f"{words}.{self.kind}.{self.form}"

    @property
    def plan(self) -> str:
        """The calls that the case should make."""
        return {"again": self.fault.again_plan, "alone": self.fault.alone_plan}.get(self.form, self.fault.plan)

    @property
    def expected(self) -> str:
        """The minimum score of the case."""
        usual = "safe" if self.fault.is_drawn else self.fault.score
        alone = "safe" if self.is_early else self.fault.alone
        return {"again": self.fault.again, "alone": alone}.get(self.form, usual)

    @property
    def is_early(self) -> bool:
        """Whether this program was paused, so that chatterd detected the silence of a server earlier than planned."""
        is_silent = self.fault.behaviour.then in ("stall", "comments")
        return is_silent and any(call.outcome in ("left", "running") and not call.is_there for call in self.calls)

    @property
    def is_well(self) -> bool:
        """Whether the result is as expected."""
        return SCORES.index(self.score) >= SCORES.index(self.expected)

    def entries(self, provider: Provider, closed_port: int) -> list[dict[str, object]]:
        """Its model servers as CHATTERD_UPSTREAMS lists them."""
        fault = self.fault
        good = Behaviour(is_tool=True) if fault.has_tool else GOOD
        servers = {"p": (fault.behaviour, good) if self.form == "again" else (fault.behaviour, *fault.later)}
        if self.form in ("stream", "whole"):
            servers["s"] = (good,) if fault.has_tool else fault.other
        entries = []
        for priority, (letter, behaviours) in enumerate(servers.items()):
            key, kind = f"{CANARY}-{letter}-{self.name}", self.kind
            if fault.is_mixed and letter == "s":
                kind = "ollama" if kind == "openai" else "openai"
            continuation = fault.continuation
            if letter == "s" and fault.other_continuation is not None:
                continuation = fault.other_continuation
            server = provider.servers[f"{self.name}/{letter}"] = ScriptedServer(
                letter, self.name, DIALECTS[kind], behaviours, continuation, key, self.calls, self.strange)
            port = closed_port if fault.is_refused and letter == "p" else provider.port
            if fault.restarts and letter == "p":
                self.own_port = server.own_port = ServerPort(provider)
                port = server.own_port.port
            entry: dict[str, object] = {
                "name": f"{letter}.{self.name}", "kind": kind, "key": key, "models": [self.name], "priority": 9 - priority,
                "url": f"http://127.0.0.1:{port}/{self.name}/{letter}" + ("/v1" if kind == "openai" else ""),
                "continuation": continuation}
            if fault.slots is not None:
                entry["slots"] = fault.slots
            entries.append(entry | (dict(fault.limits) if letter == "p" or fault.is_drawn else {}))
        return entries


class CaseRun:
    """A case under way."""

    def __init__(self, case: FaultCase, setup: SharedSetup) -> None:
        self.case, self._setup = case, setup
        self._fault = case.fault
        self._appid = f"faults.{case.name}"
        self._opening: asyncio.Task[None] | None = None
        self._expected: list[str] = []  # the expected messages of the next request to the model

    async def run(self) -> None:
        """Runs the case and gives it its score."""
        case, began = self.case, time.monotonic()
        try:
            async with asyncio.timeout(LIMIT):
                case.score, case.text = await self._try()
        except TimeoutError:
            case.text = f"it hangs: nothing was over after {LIMIT:.0f} s"
        except (Broken, Wrong, Lost) as broken:
            case.text = f"{type(broken).__name__}: {broken}"
        case.seconds = time.monotonic() - began
        case.settled = len(case.calls)

    async def _try(self) -> tuple[str, str]:
        if self.case.own_port:
            await self._open(self.case.own_port)
        for turn in range(self._fault.turns):
            await self._steady_turn(f"long turn {turn} " + "x" * 4000)
        if self.case.form == "whole":
            score, text, prompt, row = await self._ask_whole()
        else:
            score, text, prompt, row = await self._ask_stream()
        self._check_calls()
        self._check_thoughts(row["thinking"] or "", score == "pass")
        if score == "pass" or row["message"].strip() and not self._calls_of(row):
            self._expected += [prompt, row["message"]]
        if score != "pass" and self._fault.code and not text.startswith(self._fault.code + ":"):
            raise Broken(f"the code is not {self._fault.code}: {text}")
        if self._fault.is_healthy:
            await self._check_health()
        await self._steady_turn("What did we say?")
        return score, text

    async def _open(self, own_port: ServerPort) -> None:
        """Makes the first server listen: at once, or some time after the request if it restarts before the answer."""
        if self._fault.behaviour.then == "restart":
            await own_port.start()
        else:
            self._opening = asyncio.create_task(own_port.restart())

    async def _check_health(self) -> None:
        """Checks that a bad request does not count against the first server."""
        seen = await (await self._ask("GET", "/models")).json()
        servers = [one for one in seen["upstreams"] if one["name"] == f"p.{self.case.name}"]
        if [one["health"] for one in servers] not in (["healthy"], ["unknown"]):
            raise Broken(f"the server is blamed: {servers}")

    # --- requests

    async def _post(self, model: str, prompt: str, is_stream: bool = True) -> Exchange:
        body = {"appID": self._appid, "model": model, "stream": is_stream, "messages": [{"role": "user", "content": prompt}]}
        return await self._ask("POST", "/llmchat", body=body)

    async def _ask(self, method: str, path: str, fields: dict[str, str] | None = None, body: Any = None) -> Exchange:
        return await Exchange.ask(self._setup.address, self._setup.record, method, path, fields, body)

    async def _ask_stream(self) -> tuple[str, str, str, dict[str, Any]]:
        prompt = f"{self.case.name}: süße Grüße 🌍"
        exchange = await self._post(self.case.name, prompt)
        if exchange.status != 200:
            raise Broken(f"status {exchange.status}: {(await exchange.body())[:200]!r}")
        path = exchange.fields["location"]
        mine, live = await asyncio.gather(self._read(exchange, "post"), self._read(await self._ask("GET", path), "live"))
        again = await self._read(await self._ask("GET", path), "again")
        row = await self._row(path)
        score, text, shown = self._judge(mine, row)
        for answer in (mine, live, again):
            self._check_reader(answer.seal, mine, row)
        await self._check_document(path, row, shown)
        return score, text, prompt, row

    async def _read(self, exchange: Exchange, reader: str) -> Answer:
        answer = Answer(Ledger(reader))
        async for event in exchange.events():
            data = json.loads(event.data)
            answer.old_text += data.get("message", {}).get("content", "")
            answer.model = data.get("model", "")
            if not answer.ledger.append(event):
                raise Broken(f"{reader}: cannot be read on: {event.data}")
            if event.name == "reset":
                self._check_reset(data)
        if answer.ledger.final is None:
            raise Broken(f"{reader}: the stream ended without an end, behind {answer.ledger.last_id!r}")
        return answer

    @staticmethod
    def _check_reset(data: dict[str, Any]) -> None:
        message = data.get("message", {})
        if data.get("done") is not False or message.get("role") != "assistant" or NOTICE not in message.get("content", "") \
                or not data.get("model") or not data.get("created_at"):
            raise Broken(f"a reset that old clients do not survive: {data}")

    async def _ask_whole(self) -> tuple[str, str, str, dict[str, Any]]:
        prompt = f"{self.case.name}: in one piece"
        exchange = await self._post(self.case.name, prompt, is_stream=False)
        seen = await exchange.json()
        row = await self._row(exchange.fields["location"])
        if exchange.status != 200:
            if row["state"] != "failed" or "done" in seen or not seen.get("error"):
                raise Broken(f"status {exchange.status}, {seen}, stored {row['state']}")
            return ("partial" if row["message"] else "safe"), f"{seen.get('code')}: {seen['error']}", prompt, row
        message = seen["message"]
        calls = message.get("tool_calls", [])
        if seen.get("done") is not True or row["state"] != "complete" or message.get("content", "") != row["message"] \
                or calls != self._calls_of(row):
            raise Broken(f"in one piece {str(seen)[:300]}, stored {row['state']}: {row['message'][:200]!r}")
        self._check_model(seen["model"])
        self._check_reason(seen)
        shown = self._read_text(row["message"], calls, is_whole=True)
        await self._check_document(exchange.fields["location"], row, shown)
        return "pass", "", prompt, row

    # --- comparisons

    def _judge(self, mine: Answer, row: dict[str, Any]) -> tuple[str, str, Text]:
        """The score by the text of the first reader."""
        ledger = mine.ledger
        final = ledger.final or {}
        text = row["message"]
        shown = self._read_text(text, self._calls_of(row), is_whole=not ledger.is_error)
        if not ledger.is_error:
            if final.get("state", "complete") != "complete" or row["state"] != "complete":
                raise Broken(f"the last line says {final}, stored is {row['state']}")
            self._check_model(mine.model)
            self._check_reason(final)
            is_restarted = None if self.case.is_early else self._fault.is_restarted
            if self.case.form == "stream" and is_restarted is not None and bool(ledger.resets) != is_restarted:
                raise Broken(f"{ledger.resets} resets")
            if ledger.resets and not mine.old_text.endswith(f"{NOTICE}.]\n\n{text}"):
                raise Broken(f"a client that does not know of resets shows {mine.old_text!r}")
            if not ledger.resets and mine.old_text != text:
                raise Broken(f"a client that joins all texts has {mine.old_text!r}")
            return "pass", "", shown
        if row["state"] != "failed":
            raise Broken(f"the last event is an error, {final}, and stored is {row['state']}")
        if not final.get("error") or not final.get("code") or final.get("done") is not True:
            raise Broken(f"an error without its words: {final}")
        return ("partial" if shown.words else "safe"), f"{final['code']}: {final['error']}", shown

    def _read_text(self, text: str, calls: list[Any], is_whole: bool) -> Text:
        """Reads the text of the reader as words of the calls."""
        shown = Text.read(text, self._fault.behaviour.twice)
        if shown.fault:
            raise Broken(shown.fault)
        made = {call.label: call for call in self.case.calls}
        for stretch in shown.stretches:
            if stretch.label not in made:
                raise Broken(f"words of {stretch.label}, which was not asked")
            if made[stretch.label].first != stretch.first:
                raise Broken(f"{stretch.label} was to begin with word {made[stretch.label].first}, and is shown from {stretch.first}")
        if self._fault.has_tool:
            arguments = [call["function"]["arguments"] for call in calls]
            said = [] if self._fault.behaviour.is_limited else [call_of(self.case.calls[-1].label)]
            if is_whole and arguments != said or len(arguments) > 1 or text:
                raise Broken(f"the tool calls are {calls}, beside {text!r}")
        elif calls:
            raise Broken(f"tool calls that no server made: {calls}")
        elif is_whole and not shown.is_whole:
            raise Broken(f"{shown.words} words as a whole answer: …{text[-80:]!r}")
        return shown

    def _check_thoughts(self, text: str, is_whole: bool) -> None:
        """Checks that the thinking comes from the calls, and is complete for the last one."""
        calls, counts = {call.label: call for call in self.case.calls}, thoughts_of(text)
        if counts is None or any(label not in calls or count > calls[label].thoughts for label, count in counts.items()):
            raise Broken(f"the thoughts are {text!r}")
        if is_whole and counts.get(self.case.calls[-1].label, 0) != self.case.calls[-1].thoughts:
            raise Broken(f"the last call thought {self.case.calls[-1].thoughts} words, stored is {text!r}")

    def _check_model(self, model: str) -> None:
        """The name in the lines: the server's name in lines of the server, else the requested one."""
        said = self._fault.behaviour.model if self.case.kind == "ollama" else ""
        if model != (said or self.case.name):
            raise Broken(f"the model is said to be {model!r}, and not {said or self.case.name!r}")

    def _check_reason(self, last: dict[str, Any]) -> None:
        """Checks that the last line reports an answer that the token limit cut."""
        if (last.get("done_reason") == "length") != self._fault.behaviour.is_limited:
            raise Broken(f"the last line is {last}")

    def _check_reader(self, seal: Seal, mine: Answer, row: dict[str, Any]) -> None:
        """Checks that a reader has the stored text, and got the same end."""
        parts = (row["message"].encode(), (row["thinking"] or "").encode(), canonical(self._calls_of(row)).encode())
        if fault := seal.agrees(parts):
            raise Broken(f"{seal.reader}: {fault}")
        if seal.position.attempt != row["attempt"]:
            raise Broken(f"{seal.reader} read attempt {seal.position.attempt}, stored is {row['attempt']}")
        one, other = (self._without_message(event) for event in (seal.final, mine.ledger.final))
        if seal.is_error != mine.ledger.is_error or one != other:
            raise Broken(f"{seal.reader} got {one}, the first reader {other}")

    @staticmethod
    def _without_message(event: dict[str, Any] | None) -> dict[str, Any]:
        return {name: value for name, value in (event or {}).items() if name != "message"}

    @staticmethod
    def _calls_of(row: dict[str, Any]) -> list[Any]:
        return list(json.loads("{" + (row["extras"] or "") + "}").get("tool_calls") or [])

    async def _row(self, location: str) -> dict[str, Any]:
        """The row of the reply, when it is closed."""
        name = location.removeprefix("/replies/")
        columns = "state, message, thinking, extras, attempt, last_event"
        until = time.monotonic() + TIMEOUT
        while True:
            rows = await self._setup.cluster.rows(f"SELECT {columns} FROM chatts WHERE appid = '{self._appid}' AND id = '{name}'")
            if rows and rows[0]["state"] != "streaming":
                return rows[0]
            if time.monotonic() > until:
                break
            await asyncio.sleep(0.1)
        raise Broken(f"the row of the reply is {rows}")

    async def _check_document(self, path: str, row: dict[str, Any], shown: Text) -> None:
        """The reply as JSON: the same text, and the server of each part."""
        exchange = await self._ask("GET", path, {"Accept": "application/json"})
        seen = await exchange.json()
        state, message = seen.get("state"), seen.get("message", {})
        if exchange.status != 200 or state != row["state"] or message.get("content") != row["message"] or seen["attempt"] != row["attempt"]:
            raise Broken(f"as JSON {str(seen)[:300]}, stored {row['state']}: {row['message'][:100]!r}")
        servers = {"p": f"p.{self.case.name}", "s": f"s.{self.case.name}"}
        made: list[tuple[str, int, int]] = []
        for stretch in shown.stretches:
            server = servers[stretch.label[0]]
            if made and made[-1][0] == server and self._fault.continuation == "none":
                raise Broken(f"two calls of {server} in one text")
            made.append((server, stretch.start, stretch.end))
        parts = [(part["upstream"], part["from"], part["to"]) for part in seen.get("parts", [])]
        if self._joined(parts) != self._joined(made):
            raise Broken(f"the parts are said to be {seen.get('parts')}; they are {made}")
        if any(part["model"] != self.case.name for part in seen.get("parts", [])):
            raise Broken(f"the parts name another model: {seen['parts']}")

    @staticmethod
    def _joined(parts: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
        """Parts, with those of one server in a row as one."""
        joined: list[tuple[str, int, int]] = []
        for server, start, end in parts:
            if joined and joined[-1][0] == server and joined[-1][2] == start:
                joined[-1] = (server, joined[-1][1], end)
            elif start < end:
                joined.append((server, start, end))
        return joined

    # --- the model servers

    def _check_calls(self) -> None:
        """Checks that the calls follow the plan, one at a time, and that no answer was left unread."""
        calls = self.case.calls
        order = ",".join(call.label for call in calls)
        if not re.fullmatch(self.case.plan, order):
            raise Broken(f"the calls were {order or 'none'}; the plan is {self.case.plan or 'none'}")
        if len(calls) > 1 + self._setup.budget:
            raise Broken(f"{len(calls)} calls, and the budget is {self._setup.budget} more than one")
        if any(call.outcome == "complete" for call in calls[:-1]):
            raise Broken("asked again behind a complete answer: " + "; ".join(map(str, calls)))
        for index, call in enumerate(calls):
            again = next((later for later in calls[index + 1:] if later.label[0] == call.label[0]), None)
            if again and again.began - call.began < call.retry_after:
                raise Broken(f"{again.label} came after {again.began - call.began:.2f} s; Retry-After was {call.retry_after} s")
        if self.case.strange:
            raise Broken("; ".join(self.case.strange))

    async def _steady_turn(self, words: str) -> None:
        """A turn with a healthy server. Its request must have all answers, and no other messages."""
        server, prompt = self._setup.steady[self.case.kind], f"{self.case.name}: {words}"
        answer = await self._read(await self._post(server.model, prompt), "steady")
        if answer.ledger.is_error or not Text.read(answer.old_text).is_whole:
            raise Broken(f"the turn {words[:20]!r} with a server in good health: {answer.ledger.final}")
        self._expected.append(prompt)
        seen = [[message["content"] or "" for message in call.messages] for call in server.calls if call.messages[-1]["content"] == prompt]
        if seen != [self._expected]:
            raise Broken(f"the next model was sent {seen}; it should be once {self._expected}")
        self._expected.append(answer.old_text)
