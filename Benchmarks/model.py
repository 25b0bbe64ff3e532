#!/usr/bin/env python3
"""Measures what a prompt, a token and a live stream cost on a saturated machine, predicts a mix of work from it for one and for two
databases, and measures the mix. Then it computes what a million and a billion prompts a day need.

Started by script/bench model. See docs/scale.md."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import demand  # noqa: E402
import histories  # noqa: E402
from bench import markdown, say  # noqa: E402
from cells import GROUPS, SETTLING, Cell, Load, Measured, Work, measure, text  # noqa: E402

MEASURES = (*GROUPS, "WAL")
UNITS = ("database", "prompt", "token", "live prompt", "live token", "stream")
# Each work of the mix lies between those from which the costs are computed.
FAST = Work(20, 0, 64)
CALIBRATION = (
    [], [FAST], [Work(400, 0, 64)],
    [FAST, Work(50, 10, 800)], [FAST, Work(100, 20, 800)], [FAST, Work(15, 10, 800)],
)
MIX = [Work(60, 0, 64), Work(90, 15, 600)]
QUIET = 0.15  # cores that other processes may use
HISTORY, CONVERSATIONS = 500, 128  # messages of a conversation, and conversations
PARTITIONS = """
ALTER TABLE chatts RENAME TO chatts_whole;
CREATE TABLE chatts (LIKE chatts_whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY HASH (appid);
SELECT format('CREATE TABLE chatts_%s PARTITION OF chatts FOR VALUES WITH (MODULUS {0}, REMAINDER %s)', n, n)
FROM generate_series(0, {0} - 1) AS n \\gexec
SELECT format('ALTER INDEX %I RENAME TO %I', indexname, indexname || '_whole') FROM pg_indexes WHERE tablename = 'chatts_whole' \\gexec
SELECT replace(indexdef, '_whole', '') FROM pg_indexes WHERE tablename = 'chatts_whole' \\gexec
SELECT replace(pg_get_triggerdef(oid), 'chatts_whole', 'chatts') FROM pg_trigger
WHERE tgrelid = 'chatts_whole'::regclass AND NOT tgisinternal \\gexec
ALTER TABLE chatts ENABLE ROW LEVEL SECURITY;
SELECT format('CREATE POLICY chatterd_owner ON chatts USING (%s)', pg_get_expr(polqual, polrelid)) FROM pg_policy
WHERE polrelid = 'chatts_whole'::regclass \\gexec
GRANT SELECT, INSERT, UPDATE, DELETE ON chatts TO chatterd_member;
DROP TABLE chatts_whole;
"""


def amounts(cells: int, works: list[Work], tokens: list[float]) -> list[float]:
    """How much of each unit there is, each second."""
    result = dict.fromkeys(UNITS, 0.0) | {"database": float(cells)}
    for work, rate in zip(works, tokens):
        live = "live " if work.rate else ""
        result[f"{live}prompt"] += rate / work.tokens
        result[f"{live}token"] += rate
        result["stream"] += work.connections if work.rate else 0
    return [result[unit] for unit in UNITS]


def solved(system: list[list[float]]) -> list[float]:
    """The solution of linear equations, each with its right side as the last element."""
    n = len(system)
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(system[row][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for j in range(n):
            if j != i:
                factor = system[j][i] / system[i][i]
                system[j] = [a - factor * b for a, b in zip(system[j], system[i])]
    return [system[i][n] / system[i][i] for i in range(n)]


def fitted(rows: list[list[float]], values: list[float]) -> list[float]:
    """The costs of units that explain measurements with the least relative errors, in the sense of least squares. None is below zero:
    noise in the others would be the only reason, so such a unit counts as free."""
    # Columns of similar size keep the elimination exact.
    scales = [max(row[i] for row in rows) for i in range(len(rows[0]))]
    rows = [[amount / scale / value for amount, scale in zip(row, scales)] for row, value in zip(rows, values)]
    paid = list(range(len(scales)))
    while True:
        costs = solved([[sum(row[i] * row[j] for row in rows) for j in paid] + [sum(row[i] for row in rows)] for i in paid])
        least = min(range(len(paid)), key=costs.__getitem__)
        if costs[least] >= 0:
            found = dict(zip(paid, costs))
            return [found.get(i, 0.0) / scale for i, scale in enumerate(scales)]
        del paid[least]


class Model:
    """The costs of the units, and the cores of a saturated machine."""

    def __init__(self, runs: list[tuple[list[Work], Measured]]) -> None:
        idle = [run for works, run in runs if not works]
        busy = [(amounts(1, works, run.tokens)[1:], run) for works, run in runs if works]
        self.costs: dict[str, dict[str, float]] = {}
        for name in MEASURES:
            still = statistics.mean(run.costs[name] for run in idle)
            units = fitted([row for row, _ in busy], [run.costs[name] - still for _, run in busy])
            self.costs[name] = dict(zip(UNITS, [still, *units]))
        self.used = [run.cores for _, run in busy]
        self.cores = statistics.mean(self.used)

    def of(self, name: str, amounts: list[float]) -> float:
        return sum(self.costs[name][unit] * amount for unit, amount in zip(UNITS, amounts))

    def predicted(self, cells: int) -> dict[str, float]:
        """The mix on a saturated machine: live streams take what they cost, and prompts that come as fast as possible the rest."""
        fast, live = MIX
        streams = live.connections * live.rate
        cpu = lambda tokens: sum(self.of(group, amounts(cells, MIX, [tokens, streams])) for group in GROUPS)  # noqa: E731
        rest = self.cores - cpu(0)
        tokens = rest / (cpu(1) - cpu(0))
        return self.figures(amounts(cells, MIX, [tokens, streams]), tokens / fast.tokens)

    def figures(self, amounts: list[float], prompts: float) -> dict[str, float]:
        return {"prompts": prompts} | {name: self.of(name, amounts) for name in MEASURES}


# --- a run


class Databases:
    """Some databases with all that belongs to them, which have done some work already."""

    def __init__(self, options: argparse.Namespace, number: int, partitions: int = 0) -> None:
        self._options, self._number, self._partitions = options, number, partitions

    def __enter__(self) -> list[Cell]:
        self._stack = contextlib.ExitStack()
        scratch = tempfile.mkdtemp(prefix="chatterd-model-")
        self._stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        os.chmod(scratch, 0o755)
        cells = [Cell(self._options, f"{scratch}/{i}", self._stack) for i in range(self._number)]
        for cell in cells if self._partitions else ():
            cell.bench.postgres.query(PARTITIONS.format(self._partitions))
        measure(cells, [FAST], 1)
        return cells

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def report(title: str, works: list[Work], run: Measured) -> None:
    rates = ", ".join(f"{tokens / work.tokens:,.0f} prompts/s" for tokens, work in zip(run.tokens, works))
    shares = ", ".join(f"{group} {run.costs[group]:.2f}" for group in GROUPS)
    say(f"{title}: {rates or 'idle'}; {run.cores:.2f} cores: {shares}; others {run.others:.2f}; WAL {run.costs['WAL'] / 1e6:.2f} MB/s")


def history_costs(cell: Cell, model: Model, seconds: float) -> dict[str, float]:
    """What a message of the history adds to the cost of a prompt, while the history is in memory."""
    bench = cell.bench
    bench.clear("chatterd")
    histories.build(cell.server.port, [f"long-{i}" for i in range(CONVERSATIONS)], HISTORY)
    arguments = ["-o", histories.OWNER, "-n", "100000000", "-k", str(CONVERSATIONS), "-e", "0", "-i", "1"]
    Load(cell, Work(20, 0, 16), "long-", [*arguments, "-n", str(CONVERSATIONS)]).finish(behind=HISTORY)  # reads all histories
    load = Load(cell, Work(20, 0, 16), "long-", [*arguments, "-d", str(SETTLING + seconds)])
    time.sleep(SETTLING)
    before, begun = cell.read(), time.monotonic()
    time.sleep(seconds - 1)
    after, ended = cell.read(), time.monotonic()
    load.finish(behind=HISTORY, earlier=CONVERSATIONS)
    prompts = (load.tokens(ended) - load.tokens(begun)) / load.work.tokens
    messages = (load.result["least_messages"] + load.result["most_messages"]) / 2
    plain = {name: model.costs[name]["prompt"] + load.work.tokens * model.costs[name]["token"] for name in GROUPS}
    return {name: ((after[name] - before[name]) / prompts - plain[name]) / messages for name in GROUPS}


def number(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def costs_table(model: Model) -> str:
    head = ["a second of", *(f"{group}, µs" for group in GROUPS), "WAL, bytes"]
    names = {
        "database": "an idle database with its process", "prompt": "one prompt whose answer comes at once", "token": "one token of such an answer",
        "live prompt": "one prompt whose answer is journalled", "live token": "one token of such an answer", "stream": "one live stream"}
    rows = [[names[unit], *(number(model.costs[name][unit] * 1e6) for name in GROUPS), number(model.costs["WAL"][unit])] for unit in UNITS]
    return markdown([head, ["---"] * len(head), *rows])


NAMES = {"prompts": "prompts/s beside the live streams", "WAL": "WAL, MB/s"} | {group: f"{group}, cores" for group in GROUPS}


def comparison(predicted: dict[str, float], measured: list[dict[str, float]], limit: float) -> tuple[list[list[str]], list[str]]:
    """The rows of a table, and the figures that are not as predicted."""
    rows, wrong = [], []
    for name, title in NAMES.items():
        scale = 1e6 if name == "WAL" else 1
        values = [each[name] / scale for each in measured]
        ratio = statistics.median(values) * scale / predicted[name]
        if abs(ratio - 1) > limit:
            wrong.append(f"{title}: {ratio:.2f}")
        rows.append([title, number(predicted[name] / scale), number(statistics.median(values)),
                     f"{number(min(values))}–{number(max(values))}", f"{ratio:.2f}"])
    return rows, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="model.py")
    for program in ("chatterd", "programs"):
        parser.add_argument(f"--{program}", required=True)
    parser.add_argument("--runs", type=int, default=3, help="of the mix, for each number of databases")
    parser.add_argument("--rounds", type=int, default=2, help="of the works from which the costs are computed")
    parser.add_argument("--seconds", type=float, default=6, help="of each measurement")
    parser.add_argument("--limit", type=float, default=15, help="the greatest error of a prediction, in percent")
    parser.add_argument("--partitions", type=int, default=0, help="measure the mix with `chatts` in so many hash partitions too")
    demand.arguments(parser)
    options = parser.parse_args()
    options.counts, options.nginx = False, "nginx"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    begun, runs, sizes = time.monotonic(), [], {}
    with Databases(options, 1) as cells:
        for _ in range(options.rounds):
            for works in CALIBRATION:
                runs.append((works, measure(cells, works, options.seconds)))
                report(" and ".join(map(str, works)) or "no work", *runs[-1])
                if len(works) == 1:
                    sizes[text(works[0])] = runs[-1][1].bytes_a_prompt
        model = Model(runs)
        history = history_costs(cells[0], model, options.seconds)
        wide = cells[0].wal_of_wide_prompts()

    others, sections, wrong = [run.others for _, run in runs], [], []
    for title, number_of_cells, partitions in (
        ("one database", 1, 0), ("two databases", 2, 0), (f"one database, {options.partitions} partitions", 1, options.partitions)):
        if title.endswith(" partitions") and not partitions:
            continue
        predicted, measured = model.predicted(number_of_cells), []
        with Databases(options, number_of_cells, partitions) as cells:
            for _ in range(options.runs):
                run = measure(cells, MIX, options.seconds)
                report(title, MIX, run)
                measured.append(model_figures(run))
                others.append(run.others)
        rows, off = comparison(predicted, measured, options.limit / 100)
        wrong += [f"{title}: {each}" for each in off]
        head = [title, "predicted", "measured, median", "least–greatest", "ratio"]
        sections.append(markdown([head, ["---"] * len(head), *rows]))

    print(f"\n{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
          f"{time.monotonic() - begun:.0f} s. The machine has {model.cores:.2f} cores for the four groups "
          f"({min(model.used):.2f}–{max(model.used):.2f}); other processes used {min(others):.2f}–{max(others):.2f}.\n\n{costs_table(model)}\n")
    print(f"The mix: {' and '.join(map(str, MIX))}, divided among the databases.\n")
    print("\n\n".join(sections), "\n")
    print(demand.report(options, model.costs, history, wide, sizes))
    if max(others) > QUIET:
        print(f"OTHER PROCESSES used up to {max(others):.2f} cores: the machine was not quiet, and the figures mean little")
    for each in wrong:
        print(f"MORE THAN {options.limit:g} % OFF: {each}")
    return 1 if wrong else 0


def model_figures(run: Measured) -> dict[str, float]:
    return {"prompts": run.tokens[0] / MIX[0].tokens} | {name: run.costs[name] for name in MEASURES}


if __name__ == "__main__":
    sys.exit(main())
