"""The journal of many slow streams while a transaction is open as pg_dump opens it. Part of bench.py."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from typing import Any, Iterator

from counts import Costs, Session

STREAMS, TOKENS, RAMP = 2000, 300, 30
TITLE = f"journal: {STREAMS:,} streams of {TOKENS} tokens, 10 a second, and an open dump"
# A dump locks all tables before it reads the first one, and holds the locks to its end.
DUMP = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT format('LOCK TABLE %s IN ACCESS SHARE MODE', string_agg(oid::regclass::text, ', '))
FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace \\gexec
SELECT count(*) FROM chatts
"""
SIZE = r"""
SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
WHERE relkind = 'r' AND (relname LIKE 'chatterd\_journal%' OR relname LIKE 'chatterd\_sheet%')
"""
FIGURES = {"journal_peak": "journal, peak, MiB", "journal_end": "journal, end, MiB"}


def run(bench: Any, work: Any, name: str, seconds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The result of one build of chatterd, as (title, result)."""
    bench.runs += 1
    bench.clear(name)
    prefix = f"run{bench.runs}-"
    with bench.server(name) as server:
        size, dump, costs = Session(bench, name), Session(bench, name), Costs(bench, server, name)
        journal = lambda: int(size.query(SIZE)) / 2**20  # noqa: E731
        try:
            dump.query(DUMP)
            result = measure(bench, work, server, prefix, seconds, costs, journal)
            dump.query("COMMIT")
            time.sleep(10)
            result["journal_after"] = journal()
        finally:
            for each in (size, dump, costs):
                each.close()
        result["stored"] = bench.stored(prefix, work.model, result["requests"], name)
    yield work.title, result


def measure(bench: Any, work: Any, server: Any, prefix: str, seconds: int, costs: Costs, journal: Any) -> dict[str, Any]:
    """The result of the streams. The costs are those from the time when all have begun until no more begin: beginnings, ends and text."""
    command = [f"{bench.options.programs}/load", "-p", str(server.port), "-m", work.model, "-a", prefix, "-c", str(STREAMS), "-n", "100000000",
               "-d", str(RAMP + seconds), "-r", str(RAMP), "-t", str(RAMP + seconds + 120), "-i", "1"]
    answer = len(bench.text_of(work.model).encode()) / TOKENS
    sizes: list[float] = []
    begun, tokens, ended = time.monotonic(), None, False
    process = bench.start(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            result, passed = json.loads(line), time.monotonic() - begun
            if "now" not in result:
                continue
            sizes.append(journal())
            if ended:
                continue
            if tokens is None and passed >= RAMP:
                costs.begin()
                tokens = result["now"]
            elif tokens is not None and passed >= RAMP + seconds:
                costs.end()
                tokens, ended = result["now"] - tokens, True
    finally:
        bench.stop(process)
    if not ended:
        result["errors"], result["first_error"] = result["errors"] or 1, result["first_error"] or "the streams ended too early"
        return result | {"cpu_us": 0.0}
    result.update(costs.figures(tokens, tokens * answer))
    return result | {"journal_peak": max(sizes), "journal_end": sizes[-1], "tokens_a_second": tokens / seconds}


def table(results: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """A table of the results of each build."""
    head = [TITLE, "CPU µs a token", "PostgreSQL µs", "WAL bytes a byte", "journal MiB, peak", "at the end", "10 s after the dump",
            "delay p99 ms", "errors", "stored"]
    rows = [head, ["---"] * len(head)]
    for name, runs in results.items():
        mean = lambda key: statistics.mean(run.get(key, 0) for run in runs)  # noqa: E731, B023
        rows.append([name, *(f"{mean(key):.2f}" for key in ("cpu_us", "postgres_us", "wal", "journal_peak", "journal_end", "journal_after")),
                     f"{mean('delay_p99_us') / 1000:.1f}", str(sum(run["errors"] for run in runs)), " ".join(sorted({run["stored"] for run in runs}))])
    return rows
