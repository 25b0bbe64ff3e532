"""Three chatterd processes on one database, a bad network, and kills: no byte may be lost or doubled, and no end may be false.

Three chatterd processes on one separate PostgreSQL, behind a proxy that cuts and stalls connections. Processes and
PostgreSQL are killed (kill -9), stopped and continued (SIGSTOP, SIGCONT) for shorter and longer than a lease, restarted
(SIGTERM), and the primary is replaced by its standby. Clients resume, retry, stop (DELETE), and compare every byte and every
end that they got with the stored row. The run ends after the given numbers of cuts and failures (5,000 and 120), but after M
minutes (10) at the latest. --seed repeats its decisions.

Half of the clients speak the APIs of the front doors: streamed, in one piece and in the background, where they poll a response
or continue it after its last event. Half of these have one conversation through all APIs. The others have several chats at
once in one key, often with the same first words: their requests carry the whole history, or name the response that they
follow, with store: false too. The model server must get exactly the messages of the client, each answer must end the stored
branch of its chat, and nothing may be stored or listed against store: false.

A quarter of the clients have prompts at /llmtools, whose model calls tools of the server in one to three rounds. The server of the
tools records each start of a call; some calls are slow, some fail, and some connections break. A call runs once, unless its tool is
idempotent: then it may run again with its key. Each call that has started must be a step of its row, each result there must be one
that the tool has given, and the model must read the steps as they are stored, in their round and with later prompts.

Every request needs a credential (CHATTERD_ACCESS=keys): keys of two apps, and client tokens, sessions and signed links of their
people. Some expire after seconds, and some are revoked while replies are read: then their streams must end, every process must
refuse them and never accept them again, and the next credential must continue the reply. Intruders ask for the replies and
conversations of others, and use credentials that are over.

With a synchronous standby (the default) no row may be lost. With an asynchronous standby the rows that only the primary had
are lost: the run reads them from the dead primary's files, and checks that no other row is lost or stored with a hole.

--short: some 300 cuts and 7 failures, without a standby, for some 50 s. Prints its counts; ends with 1 if a guarantee was
broken, and shows the first N (10) cases. CHATTERD names another program than the debug build.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys

from chaos.failure_injector import FailureInjector
from chaos.run import Run
from harness.cluster import Cluster
from harness.machine import raise_file_limit, run_program, say
from harness.pooler import PooledCluster


class ChaosRun(Run):
    """A run whose network cuts, and whose processes and PostgreSQL are killed and frozen."""

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self._database = PooledCluster(scratch, options.pgbouncer) if options.pgbouncer else Cluster(scratch, options.standby)
        super().__init__(options, scratch, self._database)

    async def _disturb(self) -> None:
        options, record = self.options, self.record
        until = record.now() + options.minutes * 60 - (20 if options.short else min(180, options.minutes * 18))
        injector = FailureInjector(record, self._chance("killer"), self.servers, self._database, longest=11 if options.short else 25)
        injecting = asyncio.create_task(injector.run(options.failures, max(0.5, (until - record.now()) * 0.85 / max(1, options.failures))))
        self._begin_talking()

        def is_over() -> bool:
            if injecting.done() and injecting.exception():
                raise injecting.exception() or AssertionError
            return record.now() >= until or record.count["cuts"] >= options.cuts and injecting.done()

        await self._watch(is_over, lambda: f"{record.count['cuts']} cuts, {injector.failures} failures")
        injector.is_over = True
        await injecting
        # A busy machine takes longer for each failure; the long form requires all of them.
        if record.count["cuts"] < options.cuts or injector.failures < (3 if options.short else options.failures):
            say(f"the time was up before there were {options.cuts} cuts and {options.failures} failures")


def main() -> int:
    """Reads the options, runs, reports."""
    parser = argparse.ArgumentParser(prog="script/test chaos --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--clients", type=int)
    parser.add_argument("--cuts", type=int)
    parser.add_argument("--failures", type=int, help="kills, stops and restarts")
    parser.add_argument("--standby", choices=("none", "sync", "async"))
    parser.add_argument("--pgbouncer", default="", help="the path of a PgBouncer, which then runs between chatterd and PostgreSQL")
    parser.add_argument("--attack", action="store_true", help="a client of another app sends the most expensive bodies all the time")
    parser.add_argument("--show", type=int, default=10, help="how many violations are printed in full")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.pgbouncer and options.standby not in (None, "none"):
        parser.error("a standby cannot be reached through --pgbouncer")
    usual = {"minutes": 1, "clients": 40, "cuts": 150, "failures": 7, "standby": "none"} if options.short else \
        {"minutes": 10, "clients": 100, "cuts": 5_000, "failures": 120, "standby": "none" if options.pgbouncer else "sync"}
    for name, value in usual.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    raise_file_limit()
    gc.freeze()
    standby = {"none": "no standby", "sync": "a synchronous standby", "async": "an asynchronous standby"}[options.standby]
    say(f"seed {options.seed}: at least {options.cuts} cuts and {options.failures} failures, {options.clients} clients, {standby}, "
        f"{options.minutes:g} minutes at most")

    def work(scratch: str) -> bool:
        run = ChaosRun(options, scratch)
        asyncio.run(run.run())
        return run.report()

    return run_program("chaos", work)


if __name__ == "__main__":
    sys.exit(main())
