"""What a scrape of the metrics costs beside many slow streams: windows with and without scrapes in turn. Part of bench.py."""

from __future__ import annotations

import itertools
import json
import socket
import statistics
import subprocess
import threading
import time
import urllib.request
from typing import Any, Callable, Iterator

STREAMS, RATE, RAMP, TOKENS = 9500, 2, 60, 460
SECONDS, SCRAPES = 5, {"none": 0, "one": 1, "many": 20}
"""The length of a window, and the scrapes in each kind: one costs too little to be seen in the CPU time, and twenty are too many for the delay."""
ROUNDS = 9
"""The windows of each kind."""
TITLE = f"scrape: {STREAMS:,} streams at {RATE} tokens/s"
MODEL = f"t{TOKENS}r{RATE}b1"


def run(bench: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The result of one build of chatterd, as (title, result)."""
    bench.runs += 1
    bench.clear(name)
    prefix = f"run{bench.runs}-"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with bench.server(name, {"CHATTERD_METRICS_LISTEN": f"127.0.0.1:{port}"}) as server:
        result = measure(bench, server, prefix, f"http://127.0.0.1:{port}/metrics")
        result["stored"] = bench.stored(prefix, MODEL, result["requests"], name)
    yield TITLE, result


class Windows:
    """The windows, each of which begins and ends with a line of `load`."""

    def __init__(self, cpu: Callable[[], float], page: str) -> None:
        self.cpu: dict[str, list[float]] = {kind: [] for kind in SCRAPES}
        """CPU seconds of a second."""
        self.p99: dict[str, list[float]] = {kind: [] for kind in SCRAPES}
        """Milliseconds of delay."""
        self.scrape_ms: list[float] = []
        self.size = 0
        self._cpu, self._page = cpu, page

    @property
    def cpu_ms(self) -> list[float]:
        """The CPU time of a scrape, by the difference of two windows of each round."""
        seconds = SECONDS * 1000 / SCRAPES["many"]
        return [(many - none) * seconds for many, none in zip(self.cpu["many"], self.cpu["none"])]

    def measure(self, lines: Iterator[dict[str, int]]) -> None:
        """Measures all windows, in another order in each round."""
        orders = itertools.cycle(itertools.permutations(SCRAPES))
        next(lines)
        for order in itertools.islice(orders, ROUNDS):
            for kind in order:
                begun, before = time.monotonic(), self._cpu()
                scraper = threading.Thread(target=self._scrape, args=(SCRAPES[kind],))
                scraper.start()
                delay = next(lines)["delay_p99_us"]
                scraper.join()
                self.cpu[kind].append((self._cpu() - before) / (time.monotonic() - begun))
                self.p99[kind].append(delay / 1000)

    def _scrape(self, count: int) -> None:
        begun = time.monotonic()
        for number in range(count):
            # The only one is in the middle.
            time.sleep(max(0, begun + (number + 0.5) * SECONDS / count - time.monotonic()))
            asked = time.monotonic()
            with urllib.request.urlopen(self._page, timeout=30) as response:
                self.size = len(response.read())
            self.scrape_ms.append((time.monotonic() - asked) * 1000)


def measure(bench: Any, server: Any, prefix: str, page: str) -> dict[str, Any]:
    """The result of the streams."""
    command = [f"{bench.options.programs}/load", "-p", str(server.port), "-m", MODEL, "-a", prefix, "-c", str(STREAMS), "-n", str(STREAMS),
               "-r", str(RAMP), "-t", "900", "-i", str(SECONDS), "-w"]
    process = bench.start(command, stdout=subprocess.PIPE, text=True)
    windows = Windows(lambda: bench.cpu(server.pid), page)
    try:
        lines = map(json.loads, process.stdout)
        is_up = any("up" in line for line in lines)
        windows.measure(lines)
        rest = list(lines)
    finally:
        bench.stop(process)
    result = rest[-1]
    if not is_up or not any("down" in line for line in rest):
        result["errors"], result["first_error"] = result["errors"] or 1, result["first_error"] or "an answer ended before the last window"
    return result | {"cpu_us": statistics.median(windows.cpu_ms) * 1000, "windows": windows}


def table(results: dict[str, list[dict[str, Any]]], interval: Callable[[list[float]], tuple[float, float]]) -> list[list[str]]:
    """The rows by build: medians of all windows, with the interval of 95 %."""
    def cell(values: list[float]) -> str:
        low, high = interval(values)
        return f"{statistics.median(values):.1f} ({low:.1f}–{high:.1f})"

    differences = [f"with {SCRAPES[kind]} scrape{'s' * (SCRAPES[kind] > 1)}, more" for kind in ("one", "many")]
    rows = [[TITLE, "CPU ms a scrape", "its time, ms", "KiB", f"delay p99 ms in {SECONDS} s", *differences, "errors", "stored"], ["---"] * 9]
    for name, runs in results.items():
        every = [run["windows"] for run in runs]
        p99 = {kind: [value for one in every for value in one.p99[kind]] for kind in SCRAPES}
        rows.append([
            name, cell([value for one in every for value in one.cpu_ms]), cell([value for one in every for value in one.scrape_ms]),
            f"{every[-1].size / 1024:.0f}", cell(p99["none"]), *(cell([b - a for a, b in zip(p99["none"], p99[kind])]) for kind in ("one", "many")),
            str(sum(run["errors"] for run in runs)), " ".join(sorted({run["stored"] for run in runs}))])
    return rows
