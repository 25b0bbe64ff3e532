"""The same work through each front door, beside /llmchat: part of bench.py."""

from types import SimpleNamespace

import prompts
from prompts import checks, mean, ratio

PATHS = ("/llmchat", "/api/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages")
# The works: the model, the unit of the costs, and the connections.
WORKS = {
    "short chats: 64 at once, 20 tokens": ("t20r0b1", "request", 64),
    "fast streams: 16 × 2,000 tokens": ("t2000r0b1", "token", 16),
}
TITLES = {f"{path}, {title}": (path, title) for title in WORKS for path in PATHS}


def run(bench, quick, name, counting):
    """The result of each work through each path, as (title, result). Each has a fresh process and no other conversations."""
    bench.runs += 1
    seconds = 2 if quick else 5
    warm = SimpleNamespace(model="t20r0b1", unit="request")
    # Every other run is reversed, so that no path is always the last.
    titles = list(TITLES.items())
    for number, (title, (path, work)) in enumerate(titles if bench.runs % 2 else titles[::-1]):
        model, unit, connections = WORKS[work]
        prefix = f"run{bench.runs}-{number}-"
        arguments = ["-c", str(connections), "-n", "1000000", "-d", str(seconds)]
        bench.clear(name)
        with bench.server(name) as server, bench.meter(server, name) as meter:
            bench.load(server, warm, name, f"warm{bench.runs}-{number}-", ["-c", "32", "-n", "300"], path=path)
            result = bench.load(
                server, SimpleNamespace(model=model, unit=unit), name, prefix, arguments, meter=meter, path=path)
            result["stored"] = bench.stored(prefix, model, result["requests"], name)
        if counting and unit == "request":
            prompts.add_counts(bench, name, prompts.Kind(path=path), result)
        yield title, result


def tables(results):
    """A table of the results of each title, and those of the counts."""
    rows = [["work", "path", "CPU µs", "× /llmchat", "PostgreSQL µs", "errors", "stored"], ["---"] * 7]
    for title, runs in results.items():
        path, work = TITLES[title]
        first = results[f"{PATHS[0]}, {work}"]
        rows.append([
            f"{work}; a {WORKS[work][1]}", path, mean(runs, "cpu_us"), ratio(runs, first, "cpu_us"), mean(runs, "postgres_us"),
            *checks(runs)])
    return [rows, *prompts.counted({TITLES[title][0]: runs for title, runs in results.items() if "activity" in runs[0]})]
