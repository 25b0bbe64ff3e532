"""nginx or HAProxy as deploy/ configures it, in front of three chatterd processes; or PgBouncer behind them.

Started by script/proxies, which fetches what it needs."""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import sys
import tempfile

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
    parser = argparse.ArgumentParser(prog="script/proxies")
    parser.add_argument("--program", required=True)
    parser.add_argument("--proxy", choices=[*PROXIES, "pgbouncer"], required=True)
    parser.add_argument("--path", required=True, help="of the program of the proxy")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.proxy == "pgbouncer":
        return examine(options.program, options.path)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    scratch = tempfile.mkdtemp(prefix=f"chatterd-{options.proxy}.")
    os.mkdir(f"{scratch}/repeats")
    faults = ["the run was not completed"]
    try:
        scenarios = asyncio.run(run(options, scratch))
        faults = scenarios.faults
        for what, count in scenarios.figures.items():
            print(f"{what:24}{count:>10,}", flush=True)
    finally:
        for fault in faults[:20]:
            print(f"FAULT {fault}", flush=True)
        if faults:
            print(f"logs: {scratch}", file=sys.stderr, flush=True)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    return 1 if faults else 0


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.exit(main())
