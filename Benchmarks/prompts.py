"""Prompts of several kinds, and what PostgreSQL does for each: part of bench.py."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Iterator

from activity import Activity, triggers

WORK = SimpleNamespace(model="t20r0b1", unit="request")
AT_ONCE = {"one at a time": (1, 300), "64 at once": (64, 3000)}  # the connections of the counted runs, and their prompts
LEAST = {"one at a time": 0.5, "64 at once": 0.04}  # what is rarer comes from the passing of time


@dataclass(frozen=True)
class Kind:
    """A kind of prompts: arguments of load.c, the turn of their conversations, arguments of `chatterd keys create`, and the path."""

    arguments: tuple[str, ...] = ()
    turn: int = 1
    key: tuple[str, ...] | None = None
    path: str = "/llmchat"


OF_ONE_APP = ("-o", "bench")
LIMITS = ("--requests-per-minute", "1000000", "--tokens-per-day", "1000000000", "--concurrent-replies", "10000")
TITLES = {
    "first of a conversation": Kind(),
    "second of a conversation": Kind(turn=2),
    "first, with Idempotency-Key": Kind(("-H", "Idempotency-Key: prompt-%u")),
    "first, conversations of one app": Kind(OF_ONE_APP),
    "the same, with a key": Kind(OF_ONE_APP, key=()),
    "the same, with a key with limits": Kind(OF_ONE_APP, key=LIMITS),
}


class Clients:
    """A server, and the clients whose prompts of one kind it answers."""

    def __init__(self, bench: Any, name: str, kind: Kind, prefix: str) -> None:
        self._bench, self._name, self._kind, self._prefix = bench, name, kind, prefix
        self._arguments, self._settings = list(kind.arguments), {}
        if kind.key is not None:
            command = [getattr(bench.options, name), "keys", "create", "--app", kind.arguments[-1], *kind.key]
            created = subprocess.run(command, env=bench.environment(name), check=True, stdout=subprocess.PIPE, text=True)
            self._arguments += ["-H", f"Authorization: Bearer {created.stdout.split()[-1]}"]
            self._settings = {"CHATTERD_ACCESS": "keys"}
        self.prompts = 0

    @contextlib.contextmanager
    def served(self) -> Iterator[Any]:
        """A fresh process of the server that has answered some prompts, and no other conversations."""
        self._bench.clear(self._name)
        with self._bench.server(self._name, self._settings) as self._server:
            self.ask("warm", 32, 300)
            yield self._server

    def ask(self, part: str, connections: int, prompts: int, meter: Any = None) -> dict[str, Any]:
        """The result of prompts in conversations of their own, whose earlier turns are not measured."""
        prefix, turns = f"{self._prefix}{part}-", self._kind.turn
        arguments = ["-c", str(connections), "-n", str(prompts), "-k", str(prompts), *self._arguments]
        for turn in range(1, turns + 1):
            result = self._bench.load(
                self._server, WORK, self._name, prefix, arguments, expected_messages=2 * turn - 1, meter=meter if turn == turns else None,
                path=self._kind.path)
            self.prompts += result["requests"]
        result["stored"] = self._bench.stored(prefix, WORK.model, turns * result["requests"], self._name)
        return result


def run(bench: Any, quick: bool, name: str, counting: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The result of each kind of prompts, as (title, result). Each has a fresh process and no other conversations."""
    bench.runs += 1
    # Every other run is reversed, so that no kind is always the last.
    kinds = list(TITLES.items())
    for number, (title, kind) in enumerate(kinds if bench.runs % 2 else kinds[::-1]):
        clients = Clients(bench, name, kind, f"run{bench.runs}-{number}-")
        with clients.served() as server, bench.meter(server, name) as meter:
            result = clients.ask("timed", 64, 4000 if quick else 12000, meter)
        if counting:
            add_counts(bench, name, kind, result)
        yield title, result


def add_counts(bench: Any, name: str, kind: Kind, result: dict[str, Any]) -> None:
    """Adds to a result what PostgreSQL does for a prompt of a kind, as separate runs count it."""
    bench.runs += 2  # An even number: the others keep their turns.
    clients = Clients(bench, name, kind, f"counted{bench.runs}-")
    before, activity = triggers(bench, name), Activity(bench, name)
    with activity.logged(), clients.served():
        runs = {at_once: clients.ask(str(number), *size, activity) for number, (at_once, size) in enumerate(AT_ONCE.items())}
    calls = {f"trigger calls: {function}": (n - before.get(function, 0)) / clients.prompts for function, n in triggers(bench, name).items()}
    for run in runs.values():
        bench.merge(result, run)
    result["activity"] = {at_once: run["activity"] | calls for at_once, run in runs.items()}


def tables(results: dict[str, list[dict[str, Any]]]) -> list[list[list[str]]]:
    """The table of the costs of each kind, and those of the counts."""
    if not results:
        return []
    results = {title: results[title] for title in TITLES if title in results}
    first = next(iter(results.values()))
    head = ["a prompt, 64 at once, 20 tokens", "CPU µs", "× first", "PostgreSQL µs", "× first", "errors", "stored"]
    costs = [head, ["---"] * len(head)] + [
        [title, *(cell for key in ("cpu_us", "postgres_us") for cell in (mean(results[title], key), ratio(results[title], first, key))),
         *checks(results[title])] for title in results]
    return [costs, *counted(results)]


# The columns of the table of sums, and the beginnings of the names of the counts that they add.
SUMS = {
    "statements": "statements: ", "commits": "commits", "trigger calls": "trigger calls: ", "rows inserted": "rows inserted: ",
    "rows updated": "rows updated", "in place": "rows updated in place: ", "rows deleted": "rows deleted: ",
    "index entries": "index entries: ", "WAL records": "WAL records", "WAL bytes": "WAL bytes"}


def counted(results: dict[str, list[dict[str, Any]]]) -> list[list[list[str]]]:
    """A table of the sums of the counts of each title, and one by statement, trigger, table and index."""
    counts = {title: runs[0]["activity"] for title, runs in results.items() if "activity" in runs[0]}
    names = sorted({
        name for both in counts.values() for at_once, one in both.items() for name, n in one.items() if n >= LEAST[at_once]})
    sums = [["PostgreSQL, for a prompt and its end", "", *SUMS], ["---"] * (len(SUMS) + 2)]
    for at_once in AT_ONCE:
        for title, both in counts.items():
            sums.append([title, at_once, *(
                form(sum(both[at_once].get(name, 0) for name in names if name.startswith(start))) for start in SUMS.values())])
    details = [[" / ".join(AT_ONCE), *counts], ["---"] * (len(counts) + 1)]
    for name in names:
        if ": " in name:
            cells = (dict.fromkeys(form(both[at_once].get(name, 0)) for at_once in AT_ONCE) for both in counts.values())
            details.append([name, *map(" / ".join, cells)])
    return [sums, details] if counts else []


def mean(runs: list[dict[str, Any]], key: str) -> str:
    return f"{statistics.mean(run[key] for run in runs):.2f}"


def ratio(runs: list[dict[str, Any]], first: list[dict[str, Any]], key: str) -> str:
    """The mean ratio to the runs of the first row in the same rounds, with the least and the greatest one."""
    ratios = [run[key] / beside[key] for run, beside in zip(runs, first)]
    return f"{statistics.mean(ratios):.2f}" + (f" ({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else "")


def checks(runs: list[dict[str, Any]]) -> list[str]:
    """The errors of a row, and whether all replies are stored."""
    return [str(sum(run["errors"] for run in runs)), " ".join(sorted({run["stored"] for run in runs}))]


def form(value: float) -> str:
    return f"{value:,.{0 if value >= 100 else 2}f}" if value >= 0.005 else "–"
