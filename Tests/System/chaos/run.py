"""One run with clients, failures and checks."""

from __future__ import annotations

import argparse
import asyncio
import collections
import functools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import traceback
from typing import Callable

from chaos.chat_client import ChatClient
from chaos.checks import Checks
from chaos.client import Client
from chaos.credentials import ADMIN_TOKEN, Access
from chaos.door_client import DoorClient
from chaos.intruder import Intruder
from chaos.run_state import RunState
from chaos.tool_checks import STATES
from chaos.tool_client import ToolClient
from chaos.tool_server import ToolServer
from harness.cutting_proxy import CuttingProxy, Cut
from harness.database import Database
from harness.machine import TIMEOUT, end_with_us, say
from harness.processes import Process
from harness.record import Record
from harness.upstream import Upstream

LEFT_OVERS = """
SELECT (SELECT count(*) FROM chatterd_journal) AS "journal rows left",
    (SELECT count(*) FROM chatterd_signals WHERE at < now() - interval '{age} s') AS "signals left",
    (SELECT count(*) FROM chatts WHERE state = 'streaming') AS "unfinished replies left",
    (SELECT count(*) FROM chatterd_processes WHERE expires_at < now() - interval '{age} s') AS "leases left"
"""
"""Rows that must be gone at the end. Rows of dead processes are removed after a minute: a run that does not wait for that looks
for older rows."""
TABLE = [
    "prompts", "prompts of the doors", "prompts with tools", "in one piece", "in the background", "with store: false", "branches", "regenerates",
    "replies complete", "replies failed", "replies cancelled", "replies interrupted",
    "bytes read", "cuts", "stalls", "resumes", "responses continued", "retries", "resets", "readings refused", "stops", "conversations deleted",
    "keys and tokens made", "sessions and links made", "revocations", "streams ended by a revocation", "requests refused as revoked",
    "requests refused as expired", "requests with ended credentials", "requests for what others own",
    "kills of chatterd", "restarts of chatterd", "freezes of chatterd", "kills of PostgreSQL", "freezes of PostgreSQL", "failovers",
    "lost with a primary", "upstream calls", "upstream aborts", "calls of tools", "calls of tools again",
    *(f"steps {state}" for state in STATES), "status 503", "pauses of this program",
]
NONE_OF = [
    "lost prompts", "doubled prompts", "lost replies", "unfinished replies", "bytes lost or doubled", "wrong answers", "false ends",
    "interrupted without a cause", "wrong endings", "wrong histories", "foreign messages", "wrong branches", "split chats",
    "stored against the request", "listed, and not stored", "turns out of order", "doubled calls", "dishonest ends", "leases left",
    "journal rows left", "signals left", "answers left at the model server", "foreign answers", "ended credentials accepted",
    "valid credentials refused", "revocations without effect", "bytes after a revocation",
    "broken messages", "calls run twice", "lost steps", "wrong results", "wrong steps",
]
BROKEN_MESSAGES = re.compile(
    r"invalid frontend message type|invalid byte sequence|insufficient data left in message|invalid message format"
    r"|invalid string in message|protocol synchronization was lost")
"""Lines of the logs that tell of messages that the other side has not sent so: bytes of one client among those of another one."""
INTRUDERS = 3
AUDITED = 200
"""Clients of chats that ask for their replies and lists once more at the end."""


class Run:
    """One run, from the first process to the last check."""

    processes = 3
    """Those of chatterd."""

    def __init__(self, options: argparse.Namespace, scratch: str, cluster: Database) -> None:
        self.options, self.scratch, self.cluster = options, scratch, cluster
        self.record = Record()
        self.tools = ToolServer(self.record, options.seed, longest=2 if options.short else 5)
        self.upstream = Upstream(self.record, self.tools.read)
        self.state = RunState(self.record, self.upstream, options.seed, options.short)
        self.access = Access(self.state, cluster.is_lossy)
        self.servers: list[Process] = []
        self.attackers: list[subprocess.Popen] = []
        self.chat_clients: list[ChatClient] = []
        self.checks = Checks(self.state, self.upstream, self.tools, self.cluster)
        self._numbers = iter(range(1 << 30))

    async def run(self) -> None:
        """Runs, and checks."""
        self._heart = asyncio.create_task(self.record.beat())
        try:
            await self._start()
            await self._disturb()
            await self._stop_disturbing()
            await self._settle()
            await asyncio.gather(*(server.stop() for server in self.servers))
            if not self.options.short:
                self._left((await self.cluster.rows("SELECT count(*) AS \"leases left\" FROM chatterd_processes"))[0])
            await self.checks.run()
            self._read_logs()
        finally:
            # From here on the run itself closes connections.
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            for server in self.servers:
                server.close()
            self.cluster.stop()

    def _chance(self, name: str) -> random.Random:
        return random.Random(f"{self.options.seed}/{name}")

    async def _start(self) -> None:
        await asyncio.gather(self.upstream.start(), self.tools.start(), self.cluster.make())
        # The context is stated, so that chatterd does not mistake an empty answer for a conversation that is too long.
        upstreams = [{"name": "scripted", "kind": "ollama", "url": self.upstream.url, "context": 1_000_000}]
        settings = {"CHATTERD_UPSTREAMS": json.dumps(upstreams), "CHATTERD_TOOLS": self.tools.declarations,
                    "CHATTERD_ACCESS": "keys", "CHATTERD_ADMIN_TOKEN": ADMIN_TOKEN}
        for slot in range(self.processes):
            server = Process(slot, self.options.program, self.scratch, self.cluster.conninfo, self.record, **settings)
            server.start()
            self.servers.append(server)
            draw = functools.partial(Cut.draw, self._chance(f"cutter/{slot}"))
            proxy = CuttingProxy(draw, lambda server=server: server.changes, self.record.count)
            await proxy.start(server.port)
            self.state.proxies.append(proxy)
        for server in self.servers:
            await server.wait_until_ready()
        await self.access.start()
        if self.options.attack:
            key = await self.access.make_key({"app": "attacker", "label": "attacks"})
            for server in self.servers:
                command = [sys.executable, "-B", "-m", "attacks.attack_list", str(server.port), "refused bodies"]
                environment = os.environ | {"ATTACK_CREDENTIAL": key.fields["Authorization"].removeprefix("Bearer ")}
                self.attackers.append(subprocess.Popen(command, env=environment, preexec_fn=end_with_us))

    async def _disturb(self) -> None:
        """Runs clients and faults until both have reached their numbers, or the time is up."""
        raise NotImplementedError

    def _begin_talking(self) -> None:
        self._talking = [asyncio.create_task(self._talk()) for _ in range(self.options.clients)]
        self._talking += [asyncio.create_task(self._intrude(number)) for number in range(INTRUDERS)]

    async def _watch(self, is_over: Callable[[], bool], progress: Callable[[], str]) -> None:
        """Looks after the processes until the faults are over, and prints the progress."""
        record, reported = self.record, self.record.now()
        while not is_over():
            await asyncio.sleep(0.2)
            for server in self.servers:
                server.look()
            if record.now() > reported + 30:
                reported = record.now()
                say(f"{reported:6.0f} s: {record.count['prompts']} prompts, {progress()}, {len(record.violations)} guarantees broken")

    async def _talk(self) -> None:
        """Runs one client: one conversation after another."""
        while not self.state.is_draining:
            number = next(self._numbers)
            try:
                # Half of the clients speak the APIs of the front doors.
                client = (Client, ChatClient, DoorClient, ToolClient)[number % 4](self.state, self.access, number)
                if isinstance(client, ChatClient):
                    self.chat_clients.append(client)
                await client.run()
            except Exception:  # the run continues, and fails at its end
                self.record.violation("faults of this program", "", f"client {number}\n{traceback.format_exc()}")

    async def _audit(self) -> None:
        """Reads again what clients of chats have got, one client after the other."""
        for client in self._chance("audit").sample(self.chat_clients, min(AUDITED, len(self.chat_clients))):
            try:
                await client.audit()
            except Exception:  # the run continues, and fails at its end
                self.record.violation("faults of this program", "", traceback.format_exc())

    async def _intrude(self, number: int) -> None:
        try:
            await Intruder(self.state, self.access, number).run()
        except Exception:  # the run continues, and fails at its end
            self.record.violation("faults of this program", "", f"intruder {number}\n{traceback.format_exc()}")

    async def _stop_disturbing(self) -> None:
        """Stops the cuts and waits until the clients have ended."""
        self.state.is_draining = True
        for attacker in self.attackers:
            attacker.kill()
        for proxy in self.state.proxies:
            proxy.is_calm = True
        self.record.note_fault("calm from here")
        _, hanging = await asyncio.wait(self._talking, timeout=TIMEOUT)
        if not hanging:
            _, hanging = await asyncio.wait({asyncio.create_task(self._audit())}, timeout=TIMEOUT)
        self.state.is_over = True
        if hanging:
            _, hanging = await asyncio.wait(hanging, timeout=10)
        for task in hanging:
            stack = [line for frame in task.get_stack() for line in traceback.format_stack(frame)[-2:]]
            self.record.violation("clients that hang", "", "".join(stack))
            task.cancel()

    async def _settle(self) -> None:
        """Waits until everything under way has ended, up to a limit."""
        age, until = 90 if self.options.short else 0, self.record.now() + TIMEOUT
        while True:
            left = (await self.cluster.rows(LEFT_OVERS.format(age=age)))[0]
            left["answers left at the model server"] = self.upstream.running()
            if not any(left.values()):
                return
            if self.record.now() > until:
                break
            await asyncio.sleep(0.5)
        self._left(left)

    def _read_logs(self) -> None:
        for path in sorted(pathlib.Path(self.scratch).glob("*.log")):
            with open(path, encoding="utf-8", errors="replace") as log:
                for line in filter(BROKEN_MESSAGES.search, log):
                    self.record.violation("broken messages", "", f"{path.name}: {line.strip()[:300]}")

    def _left(self, left: dict[str, int]) -> None:
        for name, count in left.items():
            for _ in range(count):
                self.record.violation(name, "", "")

    def report(self) -> bool:
        """Prints the results; returns whether the run has passed."""
        count, violations = self.record.count, self.record.violations
        others = sorted({violation.kind for violation in violations} - set(NONE_OF))
        for name in TABLE + [""] + NONE_OF + others:
            say(f"{name:36}{count[name]:>14,}" if name else "")
        kinds = collections.Counter(violation.kind for violation in violations)
        # The check's conclusion shows the lines that contain "violation".
        say(f"\nseed {self.options.seed}, {self.record.now():.0f} s, {len(violations)} violations: {dict(kinds)}")
        reported: set[str] = set()
        for violation in [one for one in violations if one.text][:self.options.show]:
            say(f"\n== violation: {violation.kind}: {violation.token}: {violation.text}")
            if violation.token and violation.token not in reported:
                reported.add(violation.token)
                say(self.details(violation.token))
        if not violations:
            say("all is well")
            return True
        with open(f"{self.scratch}/report.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(self.record.failures) + "\n")
            for violation in violations:
                file.write(f"\n== {violation.kind}: {violation.token}\n  {violation.text}\n")
                if violation.token:
                    file.write(self.details(violation.token) + "\n")
        say("\nreport.txt, beside the logs, tells all of it")
        return False

    def details(self, token: str) -> str:
        """All records of a prompt."""
        prompt = self.state.prompts.get(token)
        lines = [f"  {prompt}" if prompt else "", "  what happened:"]
        lines += [f"    {note}" for note in self.record.notes(token)]
        lines += ["  upstream:"] + [f"    {call}" for call in self.upstream.calls.get(token, [])]
        starts = [start for starts in self.tools.starts.values() for start in starts if start.token == token]
        lines += ["  calls of tools:"] * bool(starts) + [f"    {start}" for start in starts]
        lines += ["  rows of the conversation:", self.checks.rows_of(token)]
        return "\n".join(lines)
