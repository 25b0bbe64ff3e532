"""What a number of prompts a day needs, computed from measured costs. Part of model.py.

The options are assumptions about use and about machines; every cost is measured."""

from __future__ import annotations

import argparse
import math

from bench import markdown

DEMANDS = {"a million": 1e6, "a billion": 1e9}
DAY = 86_400
OPTIONS = {
    "peak": (3, "the busiest second of a day, times the mean"),
    "tokens": (400, "tokens of an answer"),
    "rate": (20, "tokens a second of a stream"),
    "history": (20, "messages of 200 bytes that a prompt sends to the model"),
    "text": (2_000, "bytes of a prompt with its answer"),
    "model-tokens": (2_000, "tokens a second of one model server, all its slots together"),
    "slots": (64, "answers that one model server generates at once"),
    "connections": (10_000, "clients of one process of chatterd"),
    "cores": (16, "cores of a machine"),
    "load": (0.5, "the share of its cores that may be busy at the peak"),
    "wal": (200, "MB/s of WAL that the disk of a database keeps up with"),
    "disk": (4_000, "GB of that disk"),
    "days": (90, "days for which conversations are kept"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    for name, (default, meaning) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=float, default=default, help=f"{meaning} ({default:g})")


def report(options: argparse.Namespace, costs: dict[str, dict[str, float]], history: dict[str, float], wide: float,
           sizes: dict[float, float]) -> str:
    """The tables of the assumptions and of the demand."""
    seconds = options.tokens / options.rate
    per_prompt = lambda name: (  # noqa: E731
        costs[name]["live prompt"] + options.tokens * costs[name]["live token"] + seconds * costs[name]["stream"])
    # The bytes on the disk, through the two sizes of text that were measured.
    (few, small), (many, large) = sorted(sizes.items())
    stored = small + (large - small) / (many - few) * (options.text - few)
    wal = per_prompt("WAL")
    # A whole page for each page that is changed first after a checkpoint: the difference to a prompt that finds its pages written already.
    pages = max(0.0, wide - costs["WAL"]["prompt"] - 20 * costs["WAL"]["token"])
    cpu = {name: per_prompt(name) + options.history * history[name] for name in ("chatterd", "PostgreSQL")}

    usable, day = options.cores * options.load, DAY / options.peak
    # The prompts a day that one of each kind carries, by each of its limits.
    carried = {
        ("model server", "tokens"): day * options.model_tokens / options.tokens,
        ("model server", "slots"): day * options.slots / seconds,
        ("process of chatterd", "connections"): day * options.connections / seconds,
        ("machine of chatterd", "cores"): day * usable / cpu["chatterd"],
        ("machine of PostgreSQL", "cores"): day * usable / cpu["PostgreSQL"],
        ("machine of PostgreSQL", "WAL, at its highest after a checkpoint"): day * options.wal * 1e6 / (wal + pages),
        ("machine of PostgreSQL", "WAL, later"): day * options.wal * 1e6 / wal,
        ("machine of PostgreSQL", "disk"): options.disk * 1e9 / options.days / stored,
    }
    rows: dict[str, list[str]] = {}
    for demand in DEMANDS.values():
        peak = demand / day
        figures = {
            "prompts a second, mean": demand / DAY, "prompts a second, peak": peak, "live streams": peak * seconds,
            "tokens a second": peak * options.tokens, "connections of chatterd, to clients and model servers": 2 * peak * seconds,
            "cores, chatterd": peak * cpu["chatterd"], "cores, PostgreSQL": peak * cpu["PostgreSQL"],
            "WAL, MB/s, at its highest after a checkpoint": peak * (wal + pages) / 1e6, "WAL, MB/s, later": peak * wal / 1e6,
            "GB kept": demand * options.days * stored / 1e9}
        for name, value in figures.items():
            rows.setdefault(name, []).append(form(value))
    head = ["prompts a day", *DEMANDS]
    table = markdown([head, ["---"] * len(head), *([name, *cells] for name, cells in rows.items())])
    head = ["one", "limit", "prompts a day", *(f"for {name}" for name in DEMANDS)]
    machines = markdown([head, ["---"] * len(head), *(
        [kind, limit, form(most), *(f"{math.ceil(demand / most):,}" for demand in DEMANDS.values())] for (kind, limit), most in carried.items())])
    assumed = markdown([
        ["assumed", "value"], ["---"] * 2, *([meaning, f"{getattr(options, name.replace('-', '_')):,g}"] for name, (_, meaning) in OPTIONS.items())])
    each = "\n".join([
        f"A prompt of the demand costs chatterd {cpu['chatterd'] * 1e3:.2f} ms and PostgreSQL {cpu['PostgreSQL'] * 1e3:.2f} ms, of which its history "
        f"of {options.history:g} messages {options.history * history['chatterd'] * 1e3:.3f} and {options.history * history['PostgreSQL'] * 1e3:.3f} ms.",
        f"It writes {wal:,.0f} bytes of WAL, and up to {pages:,.0f} more when it finds its pages unchanged since the last checkpoint. "
        f"It keeps {stored:,.0f} bytes on the disk.",
    ])
    return f"{each}\n\n{assumed}\n\n{table}\n\n{machines}\n"


def form(value: float) -> str:
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
