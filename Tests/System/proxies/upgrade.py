"""script/test upgrade -- [--callers N] [--rounds N]

The upgrade from the previous release under load, forward and back: no request fails, no byte is lost or doubled.

Three processes of the previous release serve behind HAProxy with deploy/haproxy.cfg, and clients send prompts all the time: each with a key,
some with a second reader behind another process, some sent again with their key after the end. The new program says what it would migrate
(--dry-run), and migrates. Then one process after the other is replaced by the new program, by the previous one again, and by the new one for
good. After each restart all clients have met the new mixture. A request that is not answered with 200 counts as failed, also if a retry
would succeed; a stream may be cut by a stop, and continues at another process. Each text is compared with the stored row and with what the
model server has said.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from typing import Any

from harness.machine import raise_file_limit, run_program, say
from harness.processes import Process
from proxies.programs import HAProxy
from proxies.proxied_cluster import Caller, ProxiedCluster

LIMIT = 900
"""The timeout of the whole run, in seconds."""
TABLES = """
SELECT (SELECT string_agg(name, ' ' ORDER BY name) FROM chatterd_migrations) AS "needed", to_regclass('chatterd_expansions')::text AS "expansions"
"""


class Upgrade:
    """The course of one run."""

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self.options = options
        self.faults: list[str] = []
        self.figures: dict[str, float] = {}
        # A stop waits for the replies that run.
        old = argparse.Namespace(program=options.previous)
        self.cluster = ProxiedCluster(old, scratch, HAProxy(options.haproxy, scratch), CHATTERD_SHUTDOWN_LIMIT="120s")

    async def run(self) -> None:
        """Runs, and adds up."""
        cluster = self.cluster
        try:
            async with asyncio.timeout(LIMIT):
                await cluster.start()
                callers = [Caller(cluster, number) for number in range(self.options.callers)]
                talking = [asyncio.create_task(caller.run()) for caller in callers]
                await self._met()
                await self._migrate()
                for _ in range(self.options.rounds):
                    await self._replace("new", self.options.program)
                    await self._replace("previous", self.options.previous)
                await self._replace("new", self.options.program)
                for caller in callers:
                    caller.is_over = True
                await asyncio.gather(*talking)
                self.figures |= await cluster.examine(callers, self.faults)
                await cluster.stop()
        finally:
            # From here on the run itself closes connections.
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            cluster.abandon()
        failed = {name: number for name, number in cluster.record.count.items() if number and (name.startswith("status ") or name == "requests cut")}
        if failed:
            self.faults.append(f"failed requests: {failed}")
        if self.figures["interrupted"]:
            self.faults.append(f"{self.figures['interrupted']} replies are not complete")

    async def _met(self) -> None:
        """Waits until the clients have met the present processes."""
        count = self.cluster.record.count
        wanted = count["prompts"] + 2 * self.options.callers

        async def holds() -> bool:
            return bool(count["prompts"] >= wanted)

        await self.cluster.eventually("prompts are answered", holds)

    async def _migrate(self) -> None:
        """Migrates under load; before, the program says so, and changes nothing."""
        before = await self._tables()
        plan = await self._run("migrate", "--dry-run")
        if await self._tables() != before:
            self.faults.append("migrate --dry-run has changed the database")
        planned = [line.split()[0] for line in plan.splitlines() if not line.startswith(" ")]
        say(plan.rstrip())
        said = await self._run("migrate")
        say(said.rstrip())
        applied = [line.removeprefix("applied migration ") for line in said.splitlines() if line.startswith("applied migration ")]
        if not planned or applied != planned:
            self.faults.append(f"migrate --dry-run said {planned}, and migrate did {said}")
        # What the previous release reads is unchanged.
        if (await self._tables())["needed"] != before["needed"]:
            self.faults.append("the previous release would refuse the database")

    async def _tables(self) -> dict[str, Any]:
        return (await self.cluster.database.rows(TABLES))[0]

    async def _run(self, *words: str) -> str:
        run = await asyncio.create_subprocess_exec(
            self.options.program, *words, env={"DATABASE_URL": self.cluster.database.conninfo}, stdout=subprocess.PIPE)
        output, _ = await run.communicate()
        if run.returncode != 0:
            self.faults.append(f"chatterd {' '.join(words)} ended with {run.returncode}")
        return output.decode()

    async def _replace(self, name: str, program: str) -> None:
        """Replaces one process after the other."""
        for process in self.cluster.processes:
            await self._restart(process, program)
            await self._met()
        say(f"{self.cluster.record.now():5.0f} s: all processes are of the {name} release, "
            f"{self.cluster.record.count['prompts']} prompts")

    async def _restart(self, process: Process, program: str) -> None:
        await process.stop()
        process.command[0] = program
        process.start()
        await process.wait_until_ready()
        self.figures["restarts"] = self.figures.get("restarts", 0) + 1


def main() -> int:
    """Reads the options, runs, reports."""
    parser = argparse.ArgumentParser(prog="script/test upgrade --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "previous", "haproxy"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--callers", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1, help="how often it goes forward and back")
    options = parser.parse_args()
    raise_file_limit()

    def work(scratch: str) -> bool:
        upgrade = Upgrade(options, scratch)
        asyncio.run(upgrade.run())
        for what, count in upgrade.figures.items():
            say(f"{what:24}{count:>10,}")
        for fault in upgrade.faults[:20]:
            say(f"FAULT {fault}")
        return not upgrade.faults

    return run_program("upgrade", work)


if __name__ == "__main__":
    sys.exit(main())
