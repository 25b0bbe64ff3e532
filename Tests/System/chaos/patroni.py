"""A Patroni cluster of three nodes, with the files of deploy/patroni, and two chatterd processes: nodes are killed and frozen, and the
leader changes, while clients talk. No acknowledged prompt may be lost or doubled, no end may be false, and every stream has one.

Each node has etcd, Patroni and PostgreSQL. The events take turns: kill -9 of all processes of the leader's node, after 2 s in which no
standby received its commits; it starts again when another one leads; SIGSTOP of all of them for 50 s, then SIGCONT; a switchover; kill -9 of PostgreSQL alone; SIGSTOP of etcd on all
nodes for 50 s. Between two events the cluster becomes whole again. In the first two thirds of the events chatterd has a list of hosts,
then it is restarted, and reaches PostgreSQL through HAProxy. The clients, their network and the checks are those of script/test chaos;
the processes of chatterd live all the time, so no reply may be interrupted but by that restart.

Prints for each event when another node leads, and the longest time without a new prompt; these are no conditions. 3 events take some
three minutes, 15 some twelve. Ends with 1 if a guarantee was broken. CHATTERD names another program than the debug build.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys

from chaos.node_failures import NodeFailures
from chaos.run import Run
from harness.machine import TIMEOUT, raise_file_limit, run_program, say
from harness.patroni import PatroniCluster, Programs

ISOLATED = "row-level security keeps owners apart"
"""What doctor says if the role of deploy/patroni has all rights that it needs."""
SHORT = 3
"""The events of a short run."""


class PatroniRun(Run):
    """A run on a Patroni cluster."""

    processes = 2

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self._patroni = PatroniCluster(scratch, Programs(options.etcd, options.haproxy, options.packages))
        super().__init__(options, scratch, self._patroni)

    async def _disturb(self) -> None:
        for path in (self._patroni.conninfo, self._patroni.proxied):
            await self._consult_doctor(path)
        failures = NodeFailures(self.state, self.servers, self._patroni)
        failing = asyncio.create_task(failures.run(self.options.events))
        self._begin_talking()
        await self._watch(failing.done, lambda: f"{failures.events} events")
        await failing

    async def _consult_doctor(self, path: str) -> None:
        """The operator's check finds nothing wrong with the roles and the database of deploy/patroni."""
        settings = {"DATABASE_URL": path, "CHATTERD_LISTEN": "127.0.0.1:0", "CHATTERD_UPSTREAMS": '[{"name": "parrot", "kind": "echo"}]'}
        environment, until = self.servers[0].options["env"] | settings, self.record.now() + TIMEOUT
        while True:
            doctor = await asyncio.create_subprocess_exec(
                self.options.program, "doctor", env=environment, stdout=asyncio.subprocess.PIPE)
            said = (await doctor.communicate())[0].decode()
            if doctor.returncode in (0, 1) and ISOLATED in said:
                return
            if self.record.now() > until:
                self.record.violation("faults that doctor finds", "", said)
                return
            # 1 is for warnings: this environment has other model servers. A database that stands still is found, too.
            await asyncio.sleep(0.5)


def main() -> int:
    """Reads the options, runs, reports."""
    parser = argparse.ArgumentParser(prog="script/test patroni --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "etcd", "haproxy", "packages"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, default=SHORT)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--show", type=int, default=10, help="how many violations are printed in full")
    options = parser.parse_args()
    options.short, options.attack = options.events <= SHORT, False
    raise_file_limit()
    gc.freeze()
    say(f"seed {options.seed}: {options.events} events, {options.clients} clients")

    def work(scratch: str) -> bool:
        run = PatroniRun(options, scratch)
        asyncio.run(run.run())
        return run.report()

    return run_program("patroni", work)


if __name__ == "__main__":
    sys.exit(main())
