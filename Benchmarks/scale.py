#!/usr/bin/env python3
"""Lists, reads, searches and continues conversations of one owner: alone in the database, and among those of many others.

Prints for each request its time and the pages of PostgreSQL's buffers that its statements touch, with the indexes of their plans.
Started by script/bench scale. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import collections
import contextlib
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench import Postgres, free_port, start, stop, wait_for

ROUNDS = 15
ROWS = """
INSERT INTO chatts (appid, seq, turn, name, message, state, id, model, attempt, finished, opened, floor)
SELECT format(E'app%s\\x1f\\x1ftalk%s', o, c), s, (s + 1) / 2 * 2, CASE s % 2 WHEN 0 THEN 'assistant' ELSE 'user' END,
    'message ' || s || repeat(' of some words', 8), CASE s % 2 WHEN 0 THEN 'complete' ELSE 'prompt' END,
    gen_random_uuid(), 't20r0b1', 1, now(), s, s - 1
FROM generate_series(1, {owners}) o, generate_series(1, {conversations}) c, generate_series(1, {messages}) s;
INSERT INTO chatterd_conversations (appid, owner, revision)
SELECT appid, substring(appid FROM E'^[^\\x1f]*\\x1f\\x1f'), max(seq) FROM chatts GROUP BY appid;
VACUUM ANALYZE;
"""
PLANS = """
ALTER DATABASE {0} SET session_preload_libraries = 'auto_explain';
ALTER DATABASE {0} SET auto_explain.log_min_duration = 0;
ALTER DATABASE {0} SET auto_explain.log_analyze = on;
ALTER DATABASE {0} SET auto_explain.log_timing = off;
ALTER DATABASE {0} SET auto_explain.log_buffers = on;
ALTER DATABASE {0} SET auto_explain.log_nested_statements = on;
ALTER DATABASE {0} SET auto_explain.log_format = json;
"""


def requests(number: int) -> dict[str, tuple[str, str, str | None]]:
    """The requests of one round, by name."""
    prompt = json.dumps({
        "model": "t20r0b1", "appID": "app1", "conversation": f"talk{number + 1}",
        "messages": [{"role": "user", "content": "and now"}], "stream": True})
    return {
        "list": ("GET", "/conversations?appID=app1&limit=50", None),
        "read the newest page": ("GET", f"/conversations/talk{number + 1}?appID=app1&limit=50", None),
        "search, found": ("GET", "/conversations?appID=app1&q=message+50", None),
        "search, not found": ("GET", "/conversations?appID=app1&q=unheard-of", None),
        "next prompt": ("POST", "/llmchat", prompt),
    }


class Log:
    """The plans in the log of PostgreSQL."""

    def __init__(self, path: str) -> None:
        self._path, self._offset = path, os.path.getsize(path)

    def skip(self) -> None:
        """Forgets the plans until now."""
        self._offset = os.path.getsize(self._path)

    def take(self) -> tuple[int, set[str]]:
        """The buffer pages of the new plans, and their indexes; a table that was read as a whole has a `!`."""
        with open(self._path, encoding="utf-8", errors="replace") as file:
            file.seek(self._offset)
            text = file.read()
            self._offset = file.tell()
        pages, indexes = 0, set()
        for match in re.finditer(r"plan:\n((?:\t.*\n)+)", text):
            plan = json.loads(match[1])["Plan"]
            pages += plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)
            todo = [plan]
            while todo:
                node = todo.pop()
                todo += node.get("Plans", [])
                indexes |= {node["Index Name"]} if "Index Name" in node else set()
                if node["Node Type"] == "Seq Scan" and node["Relation Name"] in ("chatts", "chatterd_conversations"):
                    indexes.add("!" + node["Relation Name"])
        return pages, indexes


def call(port: int, method: str, path: str, body: str | None) -> bytes:
    """The body of a response, which must be 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(f"{method} {path}: {response.status} {answer[:200]!r}")
        return answer


def measure(postgres: Postgres, log: Log, program: str, model_server: str, scratch: str, database: str, size: dict[str, int]) -> dict[str, Any]:
    """The results of one database."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CHATTERD_", "PG", "OLLAMA_URL"))}
    environment.update(CHATTERD_LISTEN=f"127.0.0.1:{port}", DATABASE_URL=postgres.url(database), OLLAMA_URL=model_server)

    def serve() -> Any:
        with open(f"{scratch}/{database}.log", "w", encoding="utf-8") as file:
            process = start([program, "serve"], stdout=file, stderr=file, env=environment)
        wait_for(process, port, f"{scratch}/{database}.log")
        return process

    stop(serve())
    postgres.query(ROWS.format(**size), database)
    results: dict[str, Any] = collections.defaultdict(lambda: {"ms": [], "pages": [], "indexes": set()})
    # The times first: plans cost time.
    for kind in ("ms", "pages"):
        if kind == "pages":
            postgres.query(PLANS.format(database), "postgres")
        process = serve()
        try:
            for number in range(ROUNDS):
                for name, request in requests(number).items():
                    log.skip()
                    began = time.perf_counter()
                    call(port, *request)
                    if kind == "ms":
                        results[name]["ms"].append((time.perf_counter() - began) * 1000)
                    else:
                        pages, indexes = log.take()
                        results[name]["pages"].append(pages)
                        results[name]["indexes"] |= indexes
        finally:
            stop(process)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="scale.py")
    parser.add_argument("--program", required=True)
    parser.add_argument("--upstream", required=True, help="the program of upstream.c")
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--conversations", type=int, default=100, help="of each owner")
    parser.add_argument("--messages", type=int, default=100, help="of each conversation")
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="chatterd-scale-")
    os.chmod(scratch, 0o755)
    postgres = Postgres(scratch)
    upstream = start([options.upstream], stdout=subprocess.PIPE, text=True)
    try:
        model_server = f"http://127.0.0.1:{int(upstream.stdout.readline())}"
        size = {"conversations": options.conversations, "messages": options.messages}
        log = Log(f"{scratch}/postgres.log")
        alone = measure(postgres, log, options.program, model_server, scratch, "chatterd", dict(size, owners=1))
        among = measure(postgres, log, options.program, model_server, scratch, "before", dict(size, owners=options.owners))
    finally:
        stop(upstream)
        stop(postgres.process)
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"An owner with {options.conversations:,} conversations of {options.messages:,} messages, alone and among {options.owners:,} "
          "equal ones; medians.\n")
    print("| request | ms, alone | ms, among | pages, alone | pages, among | indexes |\n| --- | --- | --- | --- | --- | --- |")
    for name, one in alone.items():
        other = among[name]
        cells = [f"{statistics.median(one['ms']):.2f}", f"{statistics.median(other['ms']):.2f}",
                 f"{statistics.median(one['pages']):.0f}", f"{statistics.median(other['pages']):.0f}",
                 ", ".join(sorted(other["indexes"]))]
        print(f"| {name} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
