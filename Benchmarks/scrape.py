"""What a scrape of the metrics costs beside many slow streams: windows with and without scrapes, in pairs. Part of bench.py."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import threading
import time
import urllib.request
from typing import Any, Callable, Iterator

STREAMS, RATE, RAMP, TOKENS = 9500, 2, 60, 420
PAIRS, SECONDS, SCRAPES = 9, 5, 20
"""The pairs of windows, the seconds of a window, and the scrapes in one."""
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
    """The windows, which begin and end with the lines that `load` prints each second."""

    def __init__(self, cpu: Callable[[], float], page: str) -> None:
        self.cpu_ms: list[float] = []
        """Of a scrape, by the difference of each pair."""
        self.p99: dict[bool, list[float]] = {False: [], True: []}
        """Milliseconds of delay with and without scrapes: the median of the seconds of each window."""
        self.scrape_ms: list[float] = []
        self.size = 0
        self._cpu, self._page = cpu, page

    def measure(self, seconds: Iterator[dict[str, int]]) -> None:
        """Measures all pairs. Every other one is reversed."""
        for number in range(PAIRS):
            used = {has_scrapes: self._window(seconds, has_scrapes) for has_scrapes in (number % 2 == 1, number % 2 == 0)}
            self.cpu_ms.append((used[True] - used[False]) * SECONDS / SCRAPES * 1000)

    def _window(self, seconds: Iterator[dict[str, int]], has_scrapes: bool) -> float:
        """The CPU seconds of a second of the window."""
        scraper = threading.Thread(target=self._scrape)
        next(seconds)
        begun, before = time.monotonic(), self._cpu()
        if has_scrapes:
            scraper.start()
        delays = [next(seconds)["delay_p99_us"] for _ in range(SECONDS)]
        if has_scrapes:
            scraper.join()
        used, passed = self._cpu() - before, time.monotonic() - begun
        self.p99[has_scrapes].append(statistics.median(delays) / 1000)
        return used / passed

    def _scrape(self) -> None:
        begun = time.monotonic()
        for number in range(SCRAPES):
            time.sleep(max(0, begun + number * SECONDS / SCRAPES - time.monotonic()))
            asked = time.monotonic()
            with urllib.request.urlopen(self._page, timeout=30) as response:
                self.size = len(response.read())
            self.scrape_ms.append((time.monotonic() - asked) * 1000)


def measure(bench: Any, server: Any, prefix: str, page: str) -> dict[str, Any]:
    """The result of the streams."""
    command = [f"{bench.options.programs}/load", "-p", str(server.port), "-m", MODEL, "-a", prefix, "-c", str(STREAMS), "-n", str(STREAMS),
               "-r", str(RAMP), "-t", "900", "-i", "-w"]
    process = bench.start(command, stdout=subprocess.PIPE, text=True)
    windows = Windows(lambda: bench.cpu(server.pid), page)
    try:
        lines = map(json.loads, process.stdout)
        is_up = any("up" in line for line in lines)
        for _ in range(5):
            next(lines)
        windows.measure(lines)
        rest = list(lines)
    finally:
        bench.stop(process)
    result = rest[-1]
    if not is_up or not any("down" in line for line in rest):
        result["errors"], result["first_error"] = result["errors"] or 1, result["first_error"] or "an answer ended before the last window"
    return result | {"cpu_us": statistics.median(windows.cpu_ms) * 1000, "windows": windows}


def table(results: dict[str, list[dict[str, Any]]], interval: Callable[[list[float]], tuple[float, float]]) -> list[list[str]]:
    """The rows by build: medians of all pairs, with the interval of 95 %."""
    def cell(values: list[float]) -> str:
        low, high = interval(values)
        return f"{statistics.median(values):.2f} ({low:.2f}–{high:.2f})"

    rows = [[TITLE, "CPU ms a scrape", "its time, ms", "page, KiB", "delay p99 ms without", "with", "difference", "errors", "stored"], ["---"] * 9]
    for name, runs in results.items():
        every = [run["windows"] for run in runs]
        without, with_scrapes = ([value for one in every for value in one.p99[kind]] for kind in (False, True))
        rows.append([
            name, cell([value for one in every for value in one.cpu_ms]), cell([value for one in every for value in one.scrape_ms]),
            f"{every[-1].size / 1024:.0f}", cell(without), cell(with_scrapes), cell([b - a for a, b in zip(without, with_scrapes)]),
            str(sum(run["errors"] for run in runs)), " ".join(sorted({run["stored"] for run in runs}))])
    return rows
