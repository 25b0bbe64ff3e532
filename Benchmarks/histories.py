"""Prompts of long conversations: the first of each one in a process (cold), and the next ones (warm). Part of bench.py.

A conversation is imported through the API in pieces, as it may have more messages than one /llmprep takes (16,384), and forked for
the others of its size. So its rows are those that the measured program itself makes."""

from __future__ import annotations

import http.client
import json
from typing import Any, Iterator

SIZES = (100, 1_000, 5_000, 10_000, 50_000)
NAMES = ("history", "window")  # without and with a known context window
CONTEXT = 4096
# One token. The model server counts a token of the prompt for each four bytes.
MODEL = "t1r0b1s0k4"
OWNER = "history"
PIECE = 4_000  # rows in a piece of an import
TIME = "2026-11-20T17:07:20.859441Z"
WORDS = "the quick brown fox " * 10


def titles(name: str, size: int) -> tuple[str, str]:
    """The titles of the cold and of the warm prompts."""
    window = f", window of {CONTEXT:,} tokens" if name == "window" else ""
    return tuple(f"history of {size:,} messages{window}, {which}" for which in ("cold", "warm"))


def row(number: int) -> str:
    """A row of an imported conversation: odd ones are prompts, even ones replies."""
    fields: dict[str, Any] = {"seq": number, "kind": "reply", "state": "complete", "role": "assistant"}
    if number % 2:
        fields = {"seq": number, "kind": "prompt", "turn": number + 1, "role": "user"}
    else:
        fields.update(id=f"00000000-0000-4000-8000-{number:012}", model=MODEL, finished_at=TIME)
    fields.update(content=f"{number} {WORDS}", time=TIME)
    return json.dumps(fields, separators=(",", ":"))


def build(port: int, names: list[str], size: int) -> None:
    """Makes conversations of a size."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def post(path: str, body: str, kind: str = "application/json") -> None:
        connection.request("POST", f"/conversations/{names[0]}/{path}", body.encode(), {"Content-Type": kind})
        response = connection.getresponse()
        answer = response.read()
        if response.status not in (200, 201):
            raise SystemExit(f"{path}: {response.status} {answer[:300]!r}")

    header = json.dumps({"chatterd": "conversation", "version": 1, "conversation": "history", "created_at": TIME, "updated_at": TIME})
    for first in range(1, size + 1, PIECE):
        last = min(size, first + PIECE - 1)
        lines = [header] * (first == 1) + [row(number) for number in range(first, last + 1)]
        lines += [f'{{"end":true,"rows":{size}}}'] * (last == size)
        post(f"import?appID={OWNER}&continue=1", "\n".join(lines) + "\n", "application/x-ndjson")
    for name in names[1:]:
        post(f"fork?appID={OWNER}", json.dumps({"conversation": name}))
    connection.close()


def number_of(size: int, quick: bool) -> int:
    """The number of conversations of a size."""
    number = {100: 40, 1_000: 20, 5_000: 8, 10_000: 4}.get(size, 2)
    return max(1, number // 2) if quick else number


def run(bench: Any, work: Any, name: str, sizes: tuple[int, ...], quick: bool, counting: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The results of all sizes on one build of chatterd, as (title, result)."""
    bench.runs += 1
    prefix = f"run{bench.runs}-"
    bench.clear(name)
    # On a busy machine a fork of 50,000 rows may take longer than the usual timeout.
    with bench.server(name, {"CHATTERD_STORE_TIMEOUT": "5m"}) as server:
        build(server.port, [f"warm{bench.runs}-long-{i}" for i in range(4)], 1_000)
        for size in sizes:
            build(server.port, [f"{prefix}{size}-{i}" for i in range(number_of(size, quick))], size)
    bench.postgres.query("VACUUM ANALYZE; CHECKPOINT", name)
    settings = {}
    if work.name == "window":
        description = {"name": "bench", "kind": "ollama", "url": f"http://127.0.0.1:{bench.upstream}", "context": CONTEXT}
        settings = {"OLLAMA_URL": "", "CHATTERD_UPSTREAMS": json.dumps([description])}
    for size in sizes:
        yield from prompts(bench, work, name, prefix, size, settings, quick, counting)


def prompts(
    bench: Any, work: Any, name: str, prefix: str, size: int, settings: dict[str, str], quick: bool, counting: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The results of one size: one process that is timed, and one whose allocations and system calls are counted."""
    number, stored = number_of(size, quick), 0
    results: dict[str, dict[str, Any]] = {}
    for counted in (False, True)[: 1 + counting]:
        with bench.server(name, settings, counting=counted) as server:
            bench.load(server, work, name, f"warm{bench.runs}-{size}-{counted}-", ["-c", "4", "-n", "60"], 1)
            # A new database connection costs milliseconds, also the one for long conversations.
            bench.load(server, work, name, f"warm{bench.runs}-long-", ["-o", OWNER, "-c", "1", "-n", "4"], 0)
            memory = bench.memory(server.pid)
            for title in titles(work.name, size):
                warm = title.endswith("warm")
                passes = 1 if not warm else 2 if counted else -(-(60 if quick else 200) // number)
                arguments = ["-o", OWNER, "-c", "1", "-n", str(number * passes), "-k", str(number), "-d", "2" if quick else "5", "-t", "120"]
                # One pass finds two messages more than the one before it, and its own prompt.
                expected = 0 if work.name == "window" else size + 1 + 2 * (stored // number)
                with bench.meter(server, name, counting=counted) as meter:
                    result = bench.load(server, work, name, f"{prefix}{size}-", arguments, expected, meter=meter)
                result.pop("wal", None)  # of 20 bytes of text for each prompt
                stored += result["requests"]
                result["history_kib"] = (bench.memory(server.pid) - memory) / number
                result["stored"] = bench.stored(f"{prefix}{size}-", work.model, stored, name, behind=size)
                bench.merge(results.setdefault(title, result), result)
    for title, result in results.items():
        yield title, result
