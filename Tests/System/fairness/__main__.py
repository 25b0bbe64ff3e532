"""Fairness of the queue in front of a model server with one slot, with three chatterd processes.

Three chatterd processes on one separate PostgreSQL, in front of a model server with one slot: an app with 200 prompts
against apps with two, 20 equal apps, kill -9 of a process with prompts in the queue. The order of the answers counts,
not their time. Prints its results, and ends with 1 if the queue was not fair or a prompt lost its rank; a minute, and
25 s with --short, which has smaller crowds.
CHATTERD names another program than the debug build.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from fairness.fair_cluster import FairCluster
from fairness.queue_scenarios import Findings, crowd, death, equals, tidy
from harness.machine import raise_file_limit, run_program, say

LIMIT = 1200
"""Timeout of the whole run in seconds: a prompt that waits for ever ends it."""


async def run(options: argparse.Namespace, scratch: str) -> Findings:
    """Runs all scenarios, one after the other."""
    findings = Findings()
    cluster = FairCluster(options, scratch)
    try:
        async with asyncio.timeout(LIMIT):
            await cluster.start()
            if options.short:
                await crowd(cluster, findings, "branches", 24, 2, is_parallel=True)
                await death(cluster, findings, apps=4, prompts=12, left=6)
            else:
                await crowd(cluster, findings, "turns", 200, 10, is_parallel=False)
                await crowd(cluster, findings, "branches", 200, 10, is_parallel=True)
                await equals(cluster, findings, apps=20, prompts=12)
                await death(cluster, findings, apps=6, prompts=24, left=12)
            await tidy(cluster, findings)
            await cluster.stop()
        findings.faults += [f"{fault.kind}: {fault.text}" for fault in cluster.record.violations]
    finally:
        # From here on the run itself closes connections.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        cluster.abandon()
    return findings


def main() -> int:
    """Parses the options, runs, and prints the table."""
    parser = argparse.ArgumentParser(prog="script/test fairness --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--pgbouncer", default="", help="the path of a PgBouncer, which then runs between chatterd and PostgreSQL")
    options = parser.parse_args()
    raise_file_limit()
    return run_program("fairness", lambda scratch: report(asyncio.run(run(options, scratch))))


def report(findings: Findings) -> bool:
    """Prints the table; returns whether there is no fault."""
    width = max(len(what) for what, _, _ in findings.figures)
    for name, found, required in findings.figures:
        say(f"{name:<{width}}  {found:>8}  {required}")
    for fault in findings.faults[:20]:
        say(f"FAULT {fault}")
    say("fair" if not findings.faults else f"{len(findings.faults)} faults")
    return not findings.faults


if __name__ == "__main__":
    sys.exit(main())
