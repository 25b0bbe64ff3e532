"""nginx or HAProxy as deploy/ configures it, in front of three chatterd processes; or PgBouncer behind them.

Started by script/test proxies, which fetches what it needs."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from harness.machine import raise_file_limit, run_program, say
from proxies.plans import examine
from proxies.programs import HAProxy, Nginx
from proxies.proxied_cluster import ProxiedCluster
from proxies.proxy_scenarios import ProxyScenarios
from proxies.repeats import repeats

LIMIT = 1500
"""The timeout of the whole run, in seconds."""
PROXIES = {"nginx": Nginx, "haproxy": HAProxy}


async def run(options: argparse.Namespace, scratch: str) -> ProxyScenarios:
    """Runs all scenarios behind the proxy."""
    make = PROXIES[options.proxy]
    cluster = ProxiedCluster(options, scratch, make(options.path, scratch))
    scenarios = ProxyScenarios(cluster, options.short)
    os.mkdir(f"{scratch}/repeats")
    try:
        async with asyncio.timeout(LIMIT):
            await cluster.start()
            await scenarios.run()
            await cluster.stop()
            scenarios.faults += await repeats(make(options.path, f"{scratch}/repeats"))
    finally:
        # From here on the run itself closes connections.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        cluster.abandon()
    return scenarios


def main() -> int:
    """Reads the options, runs the scenarios, and prints the faults."""
    parser = argparse.ArgumentParser(prog="script/test proxies")
    parser.add_argument("--program", required=True)
    parser.add_argument("--proxy", choices=[*PROXIES, "pgbouncer"], required=True)
    parser.add_argument("--path", required=True, help="of the program of the proxy")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    raise_file_limit()

    def work(scratch: str) -> bool:
        if options.proxy == "pgbouncer":
            return examine(options.program, scratch, options.path)
        scenarios = asyncio.run(run(options, scratch))
        for what, count in scenarios.figures.items():
            say(f"{what:24}{count:>10,}")
        for fault in scenarios.faults[:20]:
            say(f"FAULT {fault}")
        return not scenarios.faults

    return run_program(options.proxy, work)


if __name__ == "__main__":
    sys.exit(main())
