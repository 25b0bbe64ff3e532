"""Attacks on the memory of chatterd, one after the other, with an ordinary client beside each.

Attacks chatterd, with CHATTERD_MEMORY=256MiB and its own PostgreSQL, in the ways that once exhausted the memory: unread
responses, conversations of failed turns, the board, unfinished bodies, names of models, large prompts, more long histories
than the cache holds; and on what all share: the event loops, the replies, the feeds, the disk. Each attack runs for N seconds (120) beside an ordinary client. Then N (1000) slow readers read an
answer of 8 MB.
Prints a table. Ends with 1 if the resident memory exceeded 1.2 budgets, if it grew while the cache was full (checked from 60
seconds on), if the ordinary client got anything but its answer or a 503, or if its prompts took more than three times as
long beside an attack, or beside the readers (median), or if its larger prompts got a 503 while another app filled its share of
the memory. CHATTERD names another program than the debug build: the figures are
those of a release build.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time

from attacks.attack_list import ATTACKS, GROWS_FIRST, NEEDS_KEYS, REFUSES_NOBODY, STAYS_FLAT
from attacks.ordinary_client import OrdinaryClient
from attacks.readers import SlowReaders, make_answer
from harness.chatterd import LISTENING, Chatterd
from harness.client import call
from harness.cluster import Cluster
from harness.machine import end_with_us, run_program, say

ADMIN_TOKEN = "the-token-of-the-administrator"
BUDGET = 256 << 20
MARGIN = 1.2
"""The highest allowed resident memory, in budgets."""
GROWTH = 0.05
"""The highest allowed growth of the resident memory from the middle third of a run to its last third, in budgets."""
GROWTH_SECONDS = 60
"""A shorter run does not show growth."""
SLOWER = 3
"""The highest allowed factor by which slow readers, or an attack, delay a prompt."""
ALONE = 30
"""The number of prompts of an ordinary client before an attack."""


class Relay(Chatterd):
    """A chatterd with a budget, and its resident memory."""

    def __init__(self, program: str, scratch: str, conninfo: str, model: int, has_keys: bool = False) -> None:
        access = {"CHATTERD_ACCESS": "keys", "CHATTERD_ADMIN_TOKEN": ADMIN_TOKEN} if has_keys else {}
        super().__init__(
            scratch, program, DATABASE_URL=conninfo, CHATTERD_SHARDS="2", CHATTERD_MEMORY=f"{BUDGET >> 20}MiB",
            CHATTERD_FAILOVER_ATTEMPTS="0", CHATTERD_RESCUE_ATTEMPTS="0", CHATTERD_MAX_REPLIES="300",
            CHATTERD_UPSTREAMS=f'[{{"name":"any","kind":"openai","url":"http://127.0.0.1:{model}"}}]', **access)
        self._has_keys = has_keys
        self.peak = 0
        self.samples: list[int] = []
        """The resident memory at each sample since `samples` was last emptied."""
        self._over = threading.Event()

    def begin(self) -> None:
        """Starts the process, waits until it listens, and begins to sample."""
        self.start()
        self.expect(LISTENING)
        threading.Thread(target=self._sample, daemon=True).start()

    def make_key(self, app: str) -> str:
        """A key of an app; none is needed if the server has no keys."""
        if not self._has_keys:
            return ""
        admin = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        return call(f"http://127.0.0.1:{self.port}", "POST", "/keys", {"app": app}, admin)[2]["key"]

    def make_client(self, content: str) -> OrdinaryClient:
        """An ordinary client, with a key if the server needs one."""
        key = self.make_key("client")
        return OrdinaryClient(self.port, fields={"Authorization": f"Bearer {key}"} if key else {}, content=content)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def _sample(self) -> None:
        assert self.process is not None
        while not self._over.wait(0.02):
            try:
                with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                    self.samples.append(int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE"))
                self.peak = max(self.peak, self.samples[-1])
            except (OSError, IndexError):
                return

    def close(self) -> None:
        """Kills it."""
        self._over.set()
        super().close()


class AttackRuns:
    """All attacks, each on a separate database and process."""

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self._options, self._scratch = options, scratch
        self.failures = 0

    def fail(self, words: str) -> None:
        """Notes a fault."""
        self.failures += 1
        say(f"  WRONG: {words}")

    async def run(self) -> None:
        """Runs the selected attacks."""
        cluster = Cluster(self._scratch)
        await cluster.make()
        model = subprocess.Popen(
            [sys.executable, "-B", "-m", "attacks.model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=end_with_us)
        assert model.stdout is not None
        port = int(model.stdout.readline())
        try:
            say(f"budget {BUDGET >> 20} MiB, {self._options.seconds} s each\n")
            say(f"{'attack':24} {'peak MiB':>9} {'answered':>9} {'503':>6} {'wrong':>6} {'alone ms':>9} {'beside ms':>10} {'slowest ms':>11}")
            for name in ATTACKS:
                if self._options.only in name:
                    work = lambda relay: self._attack(name, relay)  # noqa: B023, E731
                    await self._with_relay(cluster, port, work, has_keys=name in NEEDS_KEYS)
            if self._options.readers and self._options.only in "slow readers":
                await self._with_relay(cluster, port, self._readers)
        finally:
            model.kill()
            cluster.stop()

    async def _with_relay(self, cluster: Cluster, model: int, work, has_keys: bool = False) -> None:  # noqa: ANN001
        await cluster.run("DROP DATABASE IF EXISTS attacked WITH (FORCE)", "postgres")
        await cluster.run("CREATE DATABASE attacked", "postgres")
        relay = Relay(self._options.program, self._scratch, cluster.conninfo.replace("dbname=chaos", "dbname=attacked"), model, has_keys)
        try:
            relay.begin()
            await asyncio.to_thread(work, relay)
        finally:
            relay.close()

    def _attack(self, name: str, relay: Relay) -> None:
        content = "Hello" * 20_000 if name in REFUSES_NOBODY else "Hello"
        client = relay.make_client(content)
        client.start()
        while client.answered + client.refused + len(client.wrong) < ALONE and relay.is_alive:
            time.sleep(0.05)
        client.stop()
        before = statistics.median(client.times) if client.times else 0
        attacker = subprocess.Popen(
            [sys.executable, "-B", "-m", "attacks.attack_list", str(relay.port), name], stdout=subprocess.PIPE, preexec_fn=end_with_us,
            env=os.environ | {"ATTACK_CREDENTIAL": relay.make_key("attacker")})
        client = relay.make_client(content)
        try:
            if name in GROWS_FIRST and attacker.stdout is not None:
                attacker.stdout.readline()
            client.start()
            relay.samples = []
            until = time.monotonic() + self._options.seconds
            while time.monotonic() < until and relay.is_alive:
                time.sleep(0.1)
        finally:
            attacker.kill()
            attacker.wait()
        client.stop()
        median, slowest = (statistics.median(client.times), max(client.times)) if client.times else (0, 0)
        say(f"{name:24} {relay.peak / (1 << 20):9.0f} {client.answered:9} {client.refused:6} {len(client.wrong):6} "
            f"{before * 1000:9.1f} {median * 1000:10.1f} {slowest * 1000:11.0f}")
        if not relay.is_alive:
            self.fail(f"chatterd is gone: see {relay.log_path}")
        if relay.peak > MARGIN * BUDGET:
            self.fail(f"{relay.peak >> 20} MiB are more than {MARGIN} budgets")
        if name in STAYS_FLAT:
            self._check_growth(relay.samples)
        if client.answered + client.refused == 0:
            self.fail("the ordinary client got no answer")
        if median > SLOWER * before:
            self.fail(f"a prompt takes more than {SLOWER} times as long beside the attack")
        if name in REFUSES_NOBODY and client.refused > 0:
            self.fail("prompts of another app are refused")
        for words in client.wrong[:5]:
            self.fail(words)

    def _check_growth(self, samples: list[int]) -> None:
        third = len(samples) // 3
        middle, last = (statistics.median(samples[start * third:(start + 1) * third]) for start in (1, 2))
        say(f"  resident memory, median: {middle / (1 << 20):.1f} MiB in the middle third, {last / (1 << 20):.1f} MiB in the last")
        if self._options.seconds < GROWTH_SECONDS:
            say(f"  NOT CHECKED: {self._options.seconds:.0f} s are too short to show growth")
        elif last - middle > GROWTH * BUDGET:
            self.fail("the memory grows")

    def _readers(self, relay: Relay) -> None:
        path = make_answer(relay.port, 8_000_000)
        client = relay.make_client("Hello")
        client.start()
        time.sleep(self._options.seconds / 2)
        alone = list(client.times)
        readers = SlowReaders(relay.port, path, self._options.readers)
        try:
            time.sleep(2)
            client.times.clear()
            time.sleep(self._options.seconds)
        finally:
            bytes_read, ended = readers.stop()
        client.stop()
        if not alone or not client.times:
            self.fail("no prompt was answered beside the readers")
            return
        before, beside = statistics.median(alone), statistics.median(client.times)
        say(f"\n{self._options.readers} slow readers of an answer of 8 MB: {bytes_read / 1e6:.0f} MB read, {ended} cut off; "
            f"a prompt takes {before * 1000:.1f} ms alone and {beside * 1000:.1f} ms beside them (median), "
            f"{max(client.times) * 1000:.0f} ms at most; peak {relay.peak >> 20} MiB, {client.refused} times 503")
        if beside > SLOWER * before:
            self.fail(f"that is more than {SLOWER} times as long")
        if relay.peak > MARGIN * BUDGET:
            self.fail(f"{relay.peak >> 20} MiB are more than {MARGIN} budgets")
        for words in client.wrong[:5]:
            self.fail(words)


def main() -> int:
    """Runs the attacks; returns 1 if one fails."""
    parser = argparse.ArgumentParser(prog="script/test attacks --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--only", default="")
    parser.add_argument("--readers", type=int, default=1000)
    options = parser.parse_args()

    def work(scratch: str) -> bool:
        runs = AttackRuns(options, scratch)
        asyncio.run(runs.run())
        say("\nall as it should be" if runs.failures == 0 else f"\n{runs.failures} things are WRONG")
        return runs.failures == 0

    return run_program("attacks", work)


if __name__ == "__main__":
    sys.exit(main())
