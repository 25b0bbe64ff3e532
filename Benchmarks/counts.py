"""What a work costs beside CPU time: WAL, rows for vacuum, allocations and system calls. Part of bench.py."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from typing import Any


class Session:
    """A connection to a database that stays open, so that a question costs no new process of PostgreSQL."""

    def __init__(self, bench: Any, database: str) -> None:
        self._stop = bench.stop
        self._process = bench.start(
            bench.postgres.psql(database), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.query("SELECT 1")

    def query(self, text: str) -> str:
        """The rows of the last statement, fields separated by |."""
        self._process.stdin.write(f"{text};\n\\echo end of rows\n")
        self._process.stdin.flush()
        lines = []
        while (line := self._process.stdout.readline()) != "end of rows\n":
            if not line:
                raise SystemExit(f"PostgreSQL refused: {text}")
            lines.append(line)
        return "".join(lines).strip()

    def wal(self) -> int:
        """The bytes of WAL that the cluster has written since its creation."""
        return int(self.query("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def close(self) -> None:
        self._stop(self._process)


TABLES = """
SELECT relname, n_tup_upd, n_tup_hot_upd, n_tup_del, n_dead_tup, autovacuum_count FROM pg_stat_user_tables
"""


def statistics(bench: Any, database: str, text: str) -> dict[str, tuple[int, ...]]:
    """The rows of a query of statistics by name. Processes of PostgreSQL write them at their end, so the server must be stopped."""
    for _ in range(100):
        busy = bench.postgres.query(
            f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend'", "postgres")
        if busy == "0":
            break
        time.sleep(0.05)
    rows = (line.split("|") for line in bench.postgres.query(text, database).splitlines())
    return {row[0]: tuple(map(int, row[1:])) for row in rows}


def tables(bench: Any, database: str) -> dict[str, tuple[int, ...]]:
    """The statistics of the tables."""
    return statistics(bench, database, TABLES)


def storage(before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]], units: int) -> dict[str, Any]:
    """The figures of a work from the statistics before and after it."""
    zero = (0,) * 5
    grown = {name: tuple(b - a for a, b in zip(before.get(name, zero), row)) for name, row in after.items()}
    updates, in_place = grown.get("chatts", zero)[:2]
    figures: dict[str, Any] = {
        "for_vacuum": sum(row[0] - row[1] + row[2] for row in grown.values()) / max(1, units),
        "dead_chatts": after.get("chatts", zero)[3],
        "dead_others": sum(row[3] for name, row in after.items() if name != "chatts"),
        "vacuumed": any(row[4] for row in grown.values()),
    }
    if updates:
        figures["hot"] = in_place / updates
    return figures


class Costs:
    """The meter of a timed run: CPU seconds of the server and of PostgreSQL, and bytes of WAL."""

    def __init__(self, bench: Any, server: Any, database: str | None) -> None:
        self._read = lambda: (bench.cpu(server.pid), bench.cpu(bench.postgres.process.pid))
        self._session = Session(bench, database) if database else None

    def begin(self) -> None:
        self._wal = self._session.wal() if self._session else 0
        self._before = self._read()

    def end(self) -> None:
        self._after = self._read()
        self._wal = self._session.wal() - self._wal if self._session else 0

    def figures(self, units: int, text: float) -> dict[str, float]:
        """The costs of a unit, and the WAL of a byte of text."""
        cpu, postgres = ((b - a) * 1e6 / max(1, units) for a, b in zip(self._before, self._after))
        figures = {"cpu_us": cpu, "postgres_us": postgres}
        if self._session and text:
            figures["wal"] = self._wal / text
        return figures

    def close(self) -> None:
        if self._session:
            self._session.close()


class Counts:
    """The meter of a separate run: allocations and system calls of the server. Counting slows it, so that its times mean nothing."""

    def __init__(self, bench: Any, server: Any) -> None:
        self._allocations, self._calls = bench.allocations, Calls(bench, bench.members(server.pid))

    def begin(self) -> None:
        self._calls.begin()
        self._before = self._allocations.read()

    def end(self) -> None:
        self._after = self._allocations.read()
        self._calls.end()

    def figures(self, units: int, _: float) -> dict[str, float]:
        """The counts of a unit. A counter that cannot count here has no figure."""
        figures = {}
        if self._allocations.read()[0]:
            calls, size = ((b - a) / max(1, units) for a, b in zip(self._before, self._after))
            figures = {"allocations": calls, "allocated": size}
        if self._calls.count is not None:
            figures["calls"] = self._calls.count / max(1, units)
        return figures

    def close(self) -> None:
        self._calls.close()


class Allocations:
    """The counter of allocations.c, in a file that servers and their children share."""

    def __init__(self, programs: str, scratch: str) -> None:
        self._path = f"{scratch}/allocations"
        with open(self._path, "wb") as file:
            file.write(bytes(16))
        os.chmod(self._path, 0o666)
        self.environment = {"LD_PRELOAD": os.path.abspath(f"{programs}/allocations.so"), "BENCH_ALLOCATIONS": self._path}

    def read(self) -> tuple[int, int]:
        """Calls and bytes so far."""
        with open(self._path, "rb") as file:
            calls, size = struct.unpack("QQ", file.read(16))
        return calls, size


def counter_of_calls() -> str | None:
    """The program that counts system calls here: perf, which hardly slows the server, else strace, else none."""
    if perf := shutil.which("perf"):
        test = subprocess.run([perf, "stat", "-x,", "-e", "raw_syscalls:sys_enter", "true"], capture_output=True, text=True, check=False)
        if re.match(r"[1-9]\d*,", test.stderr):
            return perf
    if strace := shutil.which("strace"):
        test = subprocess.run([strace, "-c", "true"], capture_output=True, check=False)
        if test.returncode == 0:
            return strace
    return None


class Calls:
    """The system calls of processes, all threads. `count` is None if nothing here can count them."""

    def __init__(self, bench: Any, pids: list[int]) -> None:
        self.count: int | None = None
        self._bench, self._pids, self._process = bench, pids, None
        self._report = f"{bench.scratch}/calls"
        self._perf = os.path.basename(bench.counter_of_calls or "") == "perf"
        if self._perf:
            # perf attaches now, and counts from the command "enable" on; it confirms each command.
            commands, self._commands = os.pipe()
            self._answers, answers = os.pipe()
            self._process = bench.start(
                [bench.counter_of_calls, "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-o", self._report, "-D", "-1",
                 "--control", f"fd:{commands},{answers}", "-p", ",".join(map(str, pids))],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(commands, answers))
            os.close(commands)
            os.close(answers)

    def begin(self) -> None:
        if self._perf:
            self._command(b"enable\n")
        elif program := self._bench.counter_of_calls:
            wanted = [argument for pid in self._pids for argument in ("-p", str(pid))]
            self._process = self._bench.start([program, "-c", "-f", "-o", self._report, *wanted], stderr=subprocess.PIPE, text=True)
            for _ in self._pids:
                self._process.stderr.readline()  # "Process … attached"

    def end(self) -> None:
        if self._perf:
            self._command(b"disable\n")
        self.close()
        if os.path.exists(self._report):
            with open(self._report, encoding="utf-8") as file:
                text = file.read()
            found = re.search(r"^(\d+),", text, re.M) if self._perf else re.search(r"^100\.00 +\S+ +\S+ +(\d+)", text, re.M)
            self.count = int(found[1]) if found else None
            os.remove(self._report)

    def _command(self, command: bytes) -> None:
        os.write(self._commands, command)
        os.read(self._answers, 16)

    def close(self) -> None:
        if self._process:
            self._bench.stop(self._process, signal.SIGINT)
            if self._perf:
                os.close(self._commands)
                os.close(self._answers)
            self._process = None
