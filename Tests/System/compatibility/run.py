"""The run of one program: its process, and the results of its features."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any

from compatibility.catalogue import Entry
from compatibility.judge import Fault, Judge
from compatibility.texts import FEATURES, TIMEOUT
from compatibility.world import MODES, World
from harness.machine import TOP, end_with_us

VARIABLES = {
    # No program reports to its maker, or fetches a list: what is not on this machine is refused at once.
    "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost", "DO_NOT_TRACK": "1", "OTEL_SDK_DISABLED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HAYSTACK_TELEMETRY_ENABLED": "False", "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false",
    "AGNO_TELEMETRY": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1", "ANONYMIZED_TELEMETRY": "False", "PYTHONWARNINGS": "ignore",
    "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1",
}


class Broken(Exception):
    """The process of a program has ended, or does not answer."""


class Child:
    """The process of a program."""

    def __init__(self, entry: Entry, python: str, directory: str) -> None:
        module, _, kind = entry.module.partition(":")
        names = [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_", "OLLAMA_"))]
        kept = {name: value for name, value in os.environ.items() if name not in names}
        home = f"{directory}/{module}-{kind}"
        os.makedirs(home, exist_ok=True)
        env = kept | VARIABLES | {"HOME": home, "DISTRIBUTIONS": json.dumps(entry.distributions)}
        with open(f"{directory}/{module}-{kind}.log", "ab") as log:
            self._process = subprocess.Popen(
                [python, "-B", "-m", "compatibility.child", module, kind, home], cwd=TOP / "Tests" / "System", env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True, preexec_fn=end_with_us)
        self._reports: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._reports.put(line)
        self._reports.put("")

    def send(self, **members: str) -> None:
        """Sends a request."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(members), file=self._process.stdin, flush=True)
        except OSError as error:
            raise Broken("its process has ended") from error

    def report(self) -> dict[str, Any]:
        """The next report."""
        try:
            line = self._reports.get(timeout=TIMEOUT)
        except queue.Empty:
            raise Broken(f"the program has not answered for {TIMEOUT:.0f} s") from None
        if not line:
            raise Broken(f"its process has ended with the status {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """Kills the process and those that it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()


@dataclass
class Outcome:
    """What a run of a program has found."""

    features: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    faults: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a feature of this name fails in a mode."""

    def surprises(self, entry: Entry, only: list[str]) -> list[str]:
        """What differs from the catalogue, in the features that were tried."""
        found = []
        for feature in only or self.features:
            for mode in MODES:
                fault, known = self.faults.get((mode, feature)), entry.fault(mode, feature)
                if fault and not known:
                    found.append(f"{entry.name}, {feature} in {mode} mode: {fault}")
                elif known and not fault:
                    found.append(f"{entry.name}, {feature} in {mode} mode: it works, but the catalogue says: {known}")
        if "" in self.features:
            found = [f"{entry.name}: {self.faults['', '']}"]
        return found


def run(entry: Entry, python: str, directory: str, world: World, only: list[str]) -> Outcome:
    """Runs all features of a program in both modes, or only some of them."""
    outcome, child = Outcome(), None
    errors: list[str] = []
    try:
        for mode in MODES:
            for feature in FEATURES:
                if child is None:
                    child = Child(entry, python, directory)
                    ready = child.report()
                    outcome.features, outcome.versions, errors = ready["features"], ready["versions"], ready["errors"]
                if feature not in outcome.features or only and feature not in only:
                    continue
                world.reset()
                try:
                    Judge(world, entry, errors).judge(feature, value_of(child, world, mode, feature))
                except Fault as fault:
                    outcome.faults[mode, feature] = str(fault)
                    with open(f"{directory}/requests.log", "a", encoding="utf-8") as log:
                        print(f"== {entry.name}, {feature} in {mode} mode: {fault}", file=log)
                        for exchange in world.asked:
                            print(exchange.body.decode(errors="replace"), "->", exchange.said, file=log)
                except Broken as broken:
                    outcome.faults[mode, feature] = str(broken)
                    child.close()
                    child = None
                finally:
                    world.proceed.set()
    except Broken as broken:
        # It is not there, or cannot be imported.
        outcome.features, outcome.faults = [""], {("", ""): f"it does not start: {broken}"}
    finally:
        if child is not None:
            child.close()
    return outcome


def value_of(child: Child, world: World, mode: str, feature: str) -> Any:
    """What a program returns for a feature."""
    child.send(feature=feature, url=world.urls[mode], key=world.keys[mode])
    while True:
        report = child.report()
        if report["event"] == "first":
            world.proceed.set()
        elif report["event"] == "failed":
            raise Fault(report["text"])
        else:
            return report["value"]
