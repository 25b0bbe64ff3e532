"""Databases, each with its process of chatterd, its model server and its clients, under constant work. Part of model.py."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import Any

from bench import PROMPT, Bench
from counts import Session

GROUPS = ("chatterd", "PostgreSQL", "model server", "clients")
RAMP = 5.0  # seconds in which slow streams begin, so that their ends are spread too
SETTLING = 2.0  # seconds before a measurement
REPORTS = 3.0  # the clients go on so long after it, as they report once a second
SIZE = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN ('chatts', 'chatterd_conversations') OR oid IN (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = 'chatts'::regclass)
"""
# The rows of the conversations `wide-0` to `wide-999` lie on pages of their own, in the tables and in the index of conversations.
WIDE = 1000
ROWS = """
INSERT INTO chatts (appid, seq, turn, name, message, state, id, model, attempt, finished, total, opened, closed)
SELECT name, s, 2, CASE s WHEN 2 THEN 'assistant' ELSE 'user' END, 'message of some words',
    CASE s WHEN 2 THEN 'complete' ELSE 'prompt' END, gen_random_uuid(), 'm', 1, now(), 512, 1, CASE s WHEN 2 THEN 2 END
FROM generate_series(0, {0} - 1) i, generate_series(0, 100) j, generate_series(1, 2) s,
    LATERAL (SELECT 'wide-' || i || CASE WHEN j > 0 THEN '-' || j ELSE '' END AS name) n;
INSERT INTO chatterd_conversations (appid, owner, revision) SELECT DISTINCT appid, appid || E'\\x1F\\x1F', 2 FROM chatts WHERE appid LIKE 'wide-%';
VACUUM ANALYZE;
CHECKPOINT;
"""


@dataclass(frozen=True)
class Work:
    """Clients that ask again when an answer has ended. A rate of 0 is as fast as they read."""

    tokens: int
    rate: int
    connections: int

    @property
    def model(self) -> str:
        return f"t{self.tokens}r{self.rate}b1"

    def part(self, parts: int) -> Work:
        return Work(self.tokens, self.rate, self.connections // parts)

    def __str__(self) -> str:
        if self.rate:
            return f"{self.connections:,} streams of {self.tokens} tokens, {self.rate} a second"
        return f"{self.connections} at once, {self.tokens} tokens, as fast as they are read"


class Cell:
    """One database, and everything that works for it."""

    def __init__(self, options: argparse.Namespace, scratch: str, stack: contextlib.ExitStack) -> None:
        os.mkdir(scratch, 0o755)
        self.bench = Bench(options, scratch, stack)
        self.server = stack.enter_context(self.bench.server("chatterd"))
        self._session = Session(self.bench, "chatterd")
        stack.callback(self._session.close)
        self.loads: list[Load] = []

    def read(self) -> dict[str, float]:
        """CPU seconds of each group, and bytes of WAL, since the start."""
        pids = (self.server.pid, self.bench.postgres.process.pid, self.bench.model_server.pid)
        figures = dict(zip(GROUPS, map(self.bench.cpu, pids)))
        figures["clients"] = sum(self.bench.cpu(load.process.pid) for load in self.loads)
        figures["WAL"] = self._session.wal()
        return figures

    def size(self) -> int:
        """The bytes of the conversations on the disk."""
        return int(self._session.query(SIZE))

    def wal_of_wide_prompts(self) -> float:
        """The WAL of a prompt that finds its pages unchanged since the last checkpoint, so that PostgreSQL writes them whole."""
        self.bench.clear("chatterd")
        self.bench.postgres.query(ROWS.format(WIDE))
        before = self._session.wal()
        load = Load(self, Work(20, 0, 4), "wide-", ["-n", str(WIDE), "-k", str(WIDE), "-e", "3"])
        load.finish(behind=2)
        return (self._session.wal() - before) / WIDE


class Load:
    """A process with all clients of one work."""

    def __init__(self, cell: Cell, work: Work, prefix: str, arguments: list[str]) -> None:
        self.work, self.prefix, self._cell = work, prefix, cell
        self._samples = [(time.monotonic(), 0)]
        self.result: dict[str, Any] = {}
        command = [f"{cell.bench.options.programs}/load", "-p", str(cell.server.port), "-m", work.model, "-a", prefix,
                   "-c", str(work.connections), *arguments]
        self.process = cell.bench.start(command, stdout=subprocess.PIPE, text=True)
        cell.loads.append(self)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.result = json.loads(line)
            self._samples.append((time.monotonic(), self.result["now" if "now" in self.result else "tokens"]))

    def tokens(self, moment: float) -> float:
        """The tokens until a moment, which lies between two reports of the process."""
        before = max(sample for sample in self._samples if sample[0] <= moment)
        after = min((sample for sample in self._samples if sample[0] > moment), default=before)
        passed = after[0] - before[0]
        return before[1] + ((after[1] - before[1]) * (moment - before[0]) / passed if passed else 0)

    def finish(self, behind: int = 0, earlier: int = 0) -> int:
        """Waits for the last answers, and checks that all are right and stored, as are earlier ones. Returns their number.

        `behind` is the number of rows that each conversation had before."""
        self._reader.join()
        self.process.wait()
        self._cell.loads.remove(self)
        requests = self.result["requests"]
        wrong = f"{self.result['errors']} errors, {self.result['first_error']}" if self.result["errors"] else ""
        stored = self._cell.bench.stored(self.prefix, self.work.model, requests + earlier, behind=behind)
        if wrong or stored != "all":
            raise SystemExit(f"{self.work}: {wrong} {stored}")
        return requests


@dataclass(frozen=True)
class Measured:
    """What a time of constant work did and cost, each second."""

    tokens: list[float]  # of each work
    costs: dict[str, float]  # CPU of each group, and WAL
    others: float  # CPU of all other processes, the driver among them
    bytes_a_prompt: float  # on the disk

    @property
    def cores(self) -> float:
        return sum(self.costs[group] for group in GROUPS)


def busy() -> float:
    """The CPU seconds of the machine since its start, without those of waiting and of the host."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, interrupts, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


numbers = itertools.count(1)


def measure(cells: list[Cell], works: list[Work], seconds: float) -> Measured:
    """Runs works on all cells at once, each of which gets its part. Measures from the time when all have begun."""
    for cell in cells:
        cell.bench.clear("chatterd")
    number, sizes = next(numbers), sum(cell.size() for cell in cells)
    until = SETTLING + (RAMP if any(work.rate for work in works) else 0)
    begun = time.monotonic()
    loads = []
    for i, work in enumerate(works):
        arguments = ["-n", "100000000", "-d", str(until + seconds + REPORTS), "-t", str(until + seconds + 120), "-i", "1"]
        arguments += ["-r", str(RAMP)] if work.rate else []
        loads.append([Load(cell, work.part(len(cells)), f"run{number}-{i}-", arguments) for cell in cells])
    time.sleep(max(0.0, begun + until - time.monotonic()))
    machine, before, begun = busy(), [cell.read() for cell in cells], time.monotonic()
    time.sleep(seconds)
    machine, after, ended = busy() - machine, [cell.read() for cell in cells], time.monotonic()
    requests = sum(load.finish() for each in loads for load in each)
    sizes = sum(cell.size() for cell in cells) - sizes
    passed = ended - begun
    costs = {name: sum(b[name] - a[name] for a, b in zip(before, after)) / passed for name in (*GROUPS, "WAL")}
    return Measured(
        tokens=[sum(load.tokens(ended) - load.tokens(begun) for load in each) / passed for each in loads],
        costs=costs,
        others=max(0.0, machine / passed - sum(costs[group] for group in GROUPS)),
        bytes_a_prompt=sizes / max(1, requests))


def text(work: Work) -> float:
    """The bytes of the text of a prompt and its answer."""
    return len(PROMPT) + len(Bench.text_of(work.model).encode())
