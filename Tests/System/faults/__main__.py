"""Model servers that fail in every known way, and the reaction of chatterd.

Asks chatterd for answers of model servers that fail in some fifty ways, with and without a second, healthy server, and prints
the result of each as a table.

  pass     the client got a complete correct answer, once: no word is missing or doubled, the stored row, every other reader
           and the JSON of the reply are equal, and the record says which server generated which part
  partial  the client got a correct part, and an error says that the answer is incomplete
  safe     no text was shown, and an error says why
  fail     wrong, missing or doubled words shown as an answer, silence, a missing end, an extra request, a key sent to the
           wrong server, or any other broken guarantee

With two servers each fault must pass; bad requests must be refused. With one server that recovers at the next call, each
fault must pass if a retry makes sense. With one server that never recovers, each fault must end safe or partial. A word that
the server itself sends twice is passed on twice: no field of any dialect distinguishes a doubled event from a repeated word.

Servers that restart are asked through a second process, which waits for them; the first process does not wait.

In addition, N (100) courses of events are drawn at random, in which both servers fail in one way after the other: these may
have any score but fail.

--short: no answers in one piece, no second tries, 10 draws. Ends with 1 if a score is worse than expected.
CHATTERD names another program than the debug build.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import socket
import sys
import time
import traceback

from faults.behaviours import GOOD
from faults.catalogue import CATALOGUE, Fault, drawn
from faults.dialects import DIALECTS
from faults.fault_case import CANARY, FORMS, SCORES, CaseRun, SharedSetup, FaultCase
from faults.provider import ScriptedServer, Provider
from harness.chatterd import LONG
from harness.cluster import Cluster
from harness.exchange import Address
from harness.machine import TIMEOUT, run_program, say
from harness.processes import Process
from harness.record import Record

FAILOVERS, RESCUES = 4, 2
"""Further requests before the first word, and behind it."""
AT_ONCE = 16
"""Trials under way."""
SETTINGS = LONG | {"CHATTERD_FAILOVER_ATTEMPTS": str(FAILOVERS), "CHATTERD_RESCUE_ATTEMPTS": str(RESCUES)}
NO_WAIT, WAIT = "0", "10m"
"""The time that chatterd waits for servers that restart: none if they never come back."""
LEFT = """
SELECT (SELECT count(*) FROM chatterd_journal) AS "journal rows left",
    (SELECT count(*) FROM chatterd_queue) AS "tickets left",
    (SELECT count(*) FROM chatts WHERE state = 'streaming') AS "unfinished replies left"
"""
KEYS = f"""
SELECT count(*) AS n FROM (SELECT to_jsonb(c)::text AS t FROM chatts c UNION ALL
    SELECT to_jsonb(u)::text FROM chatterd_upstreams u) rows WHERE t LIKE '%{CANARY}-%'
"""


class FaultTable:
    """All cases, from the first process to the last check."""

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self._options, self._scratch = options, scratch
        self._record, self._provider, self._cluster = Record(), Provider(), Cluster(scratch)
        self.cases = [
            FaultCase(fault, kind, form) for fault in self._faults() for kind in fault.kinds for form in FORMS
            if kind in options.kinds and form in options.forms and options.only in fault.name and fault.is_tried(form)]
        self.wrongs: list[str] = []

    def _faults(self) -> list[Fault]:
        return [*CATALOGUE, *(drawn(self._options.seed, number) for number in range(self._options.drawn))]

    async def run(self) -> None:
        """Runs all cases."""
        await asyncio.gather(self._provider.start(), self._cluster.make())
        with socket.socket() as closed:
            # Bound and not listening: no other program gets the port, and connections are refused.
            closed.bind(("127.0.0.1", 0))
            relays = self._make_relays(closed.getsockname()[1])
            try:
                # One after the other: a frozen process would lose its replies to a process beside it.
                for waits, relay in relays.items():
                    await self._run(relay, [case for case in self.cases if case.fault.restarts == waits])
            finally:
                # From here on the run itself closes connections.
                asyncio.get_running_loop().set_exception_handler(lambda *_: None)
                for relay in relays.values():
                    relay.close()
                self._cluster.stop()

    async def _run(self, relay: Process, cases: list[FaultCase]) -> None:
        if not cases:
            return
        relay.start()
        await relay.wait_until_ready()
        setup = SharedSetup(Address(relay.port), self._record, self._cluster, self._steady, FAILOVERS + RESCUES)
        semaphore = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._one(CaseRun(case, setup), semaphore) for case in cases))
        relay.look()
        await self._look_around(relay)
        await relay.stop()

    @staticmethod
    async def _one(run: CaseRun, semaphore: asyncio.Semaphore) -> None:
        async with semaphore:
            try:
                await run.run()
            except Exception:  # the others continue, and the run fails at its end
                run.case.text = f"a fault of this program: {traceback.format_exc()}"

    def _make_relays(self, closed_port: int) -> dict[bool, Process]:
        """Processes by whether they wait for servers that restart. Both have all servers, as the list is in the database."""
        entries = [entry for case in self.cases for entry in case.entries(self._provider, closed_port)]
        self._steady = {}
        for kind in self._options.kinds:
            server = ScriptedServer("t", f"steady.{kind}", DIALECTS[kind], (GOOD,), "none", f"{CANARY}-t-{kind}")
            self._steady[kind] = self._provider.servers[f"{server.model}/t"] = server
            url = f"http://127.0.0.1:{self._provider.port}/{server.model}/t" + ("/v1" if kind == "openai" else "")
            entries.append({"name": server.model, "kind": kind, "url": url, "key": server.key, "models": [server.model]})
        path = f"{self._scratch}/upstreams.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        settings = SETTINGS | {"CHATTERD_UPSTREAMS": path}
        return {
            waits: Process(number, self._options.program, self._scratch, self._cluster.conninfo, self._record,
                           **settings | {"CHATTERD_UPSTREAM_RESTART_WAIT": wait})
            for number, (waits, wait) in enumerate({False: NO_WAIT, True: WAIT}.items())}

    async def _look_around(self, relay: Process) -> None:
        """Checks that no forbidden text and no leftover exists at the end."""
        until = time.monotonic() + TIMEOUT
        while True:
            running = [call for case in self.cases for call in case.calls if call.outcome == "running"]
            left = (await self._cluster.rows(LEFT))[0]
            if not running and not any(left.values()) or time.monotonic() > until:
                break
            await asyncio.sleep(0.1)
        for call in running:
            self.wrongs.append(f"an answer without a reader is still being generated: {call}")
        self.wrongs += [f"{count} {name}" for name, count in left.items() if count]
        for case in self.cases:
            if len(case.calls) > case.settled:
                self.wrongs.append(f"{case.name}: asked again when all was over: {'; '.join(map(str, case.calls))}")
        for text in self._provider.elsewhere:
            self.wrongs.append(f"a redirect was followed: {text!r}")
        self.wrongs += [f"a key in the log: {line}" for line in relay.log().splitlines() if f"{CANARY}-" in line]
        if (await self._cluster.rows(KEYS))[0]["n"]:
            self.wrongs.append("a key in the database")
        self.wrongs += [f"{violation.kind}: {violation.text}" for violation in self._record.violations]

    # --- the report

    def report(self) -> bool:
        """Prints the table; returns whether the run has passed."""
        forms = [form for form in FORMS if form in self._options.forms]
        heads = {"stream": "two servers", "whole": "in one piece", "again": "one, better next time", "alone": "one, never better"}
        say(f"{'fault':32}{'kind':8}" + "".join(f"{heads[form]:24}" for form in forms))
        by_name = {(case.fault.name, case.kind, case.form): case for case in self.cases}
        for fault in CATALOGUE:
            for kind in fault.kinds:
                row = [by_name.get((fault.name, kind, form)) for form in forms]
                if any(row):
                    say(f"{fault.name:32}{kind:8}" + "".join(f"{self._cell(case):24}" for case in row).rstrip())
        say("\nThe calls are named p1, p2 … at the first server, s1 … at the second one. script/test faults --help explains the scores.")
        for case in self.cases:
            if not case.is_well:
                say(f"\n== {case.fault.name}, kind {case.kind}, {heads[case.form]}: {case.score}, and not {case.expected}\n  {case.text}")
                for call in case.calls:
                    say(f"  {call}")
        for wrong in self.wrongs:
            say(f"\n== {wrong}")
        say("")
        for kind in self._options.kinds:
            self._sum_up(kind)
        if self.wrongs or not all(case.is_well for case in self.cases):
            return False
        say("all is well")
        return True

    @staticmethod
    def _cell(case: FaultCase | None) -> str:
        if case is None:
            return "-"
        calls = [call.label for call in case.calls]
        return f"{case.score}{'' if case.is_well else '!'} {','.join(calls)}"

    def _sum_up(self, kind: str) -> None:
        faults: dict[str, bool] = {}
        others: collections.Counter[str] = collections.Counter()
        lots: collections.Counter[str] = collections.Counter()
        well = 0
        for case in self.cases:
            if case.kind != kind or case.fault.is_drawn:
                continue
            if case.form in ("stream", "whole"):
                faults[case.fault.name] = faults.get(case.fault.name, True) and case.is_well
            else:
                others[case.score] += 1
                well += case.is_well
        for case in self.cases:
            if case.kind == kind and case.fault.is_drawn:
                lots[case.score] += 1
        if faults:
            say(f"kind {kind}: {sum(faults.values())} of {len(faults)} end as they should with two servers")
        if others:
            say(f"kind {kind} with one server alone: {well} of {others.total()} end as they should ({self._summary(others)})")
        if lots:
            say(f"kind {kind}, drawn from seed {self._options.seed}: {lots.total()} courses of events, {self._summary(lots)}")

    @staticmethod
    def _summary(scores: collections.Counter[str]) -> str:
        return ", ".join(f"{scores[score]} {score}" for score in reversed(SCORES) if scores[score])


def main() -> int:
    """Reads the options, runs, reports."""
    parser = argparse.ArgumentParser(prog="script/test faults --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kind", choices=sorted(DIALECTS))
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--only", default="", help="faults whose names hold this")
    parser.add_argument("--drawn", type=int, help="how many courses of events are drawn at random besides")
    parser.add_argument("--seed", type=int, default=20261120)
    options = parser.parse_args()
    if options.drawn is None:
        options.drawn = 10 if options.short else 100
    options.kinds = [options.kind] if options.kind else ["openai", "ollama"]
    options.forms = [options.form] if options.form else ["stream", "alone"] if options.short else list(FORMS)

    def work(scratch: str) -> bool:
        table = FaultTable(options, scratch)
        if not table.cases:
            raise ValueError("there is no such fault")
        asyncio.run(table.run())
        return table.report()

    return run_program("faults", work)


if __name__ == "__main__":
    sys.exit(main())
