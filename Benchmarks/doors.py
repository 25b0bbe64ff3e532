"""The same work through each front door, beside /llmchat: part of bench.py."""

import statistics
from types import SimpleNamespace

PATHS = ("/llmchat", "/api/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages")
# The works: the model, the unit of the costs, and the connections.
WORKS = {
    "short chats: 64 at once, 20 tokens": ("t20r0b1", "request", 64),
    "fast streams: 16 × 2,000 tokens": ("t2000r0b1", "token", 16),
}
TITLES = {f"{path}, {title}": (path, title) for title in WORKS for path in PATHS}


def run(bench, quick, name):
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
        yield title, result


def table(results):
    """A table of the results of each title."""
    rows = [["work", "path", "CPU µs", "× /llmchat", "PostgreSQL µs", "errors", "stored"], ["---"] * 7]
    for title, runs in results.items():
        path, work = TITLES[title]
        first = results[f"{PATHS[0]}, {work}"]
        ratios = [run["cpu_us"] / beside["cpu_us"] for run, beside in zip(runs, first)]
        spread = f" ({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else ""
        cpu, postgres = (statistics.mean(run[key] for run in runs) for key in ("cpu_us", "postgres_us"))
        rows.append([
            f"{work}; a {WORKS[work][1]}", path, f"{cpu:.2f}", f"{statistics.mean(ratios):.2f}{spread}", f"{postgres:.2f}",
            str(sum(run["errors"] for run in runs)), " ".join(sorted({run["stored"] for run in runs}))])
    return rows
