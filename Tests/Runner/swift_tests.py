"""Runs the test program of a build, and reads its events: which tests passed, failed or never ended, and how long each took."""

from __future__ import annotations

import json
from pathlib import Path

from processes import Commands, CutOff, Failed

SLOWEST = 20


class SwiftTests:
    """The events of one run, in swift-testing's event stream: one JSON object a line."""

    def __init__(self, events: Path) -> None:
        self.events = events
        self.seconds: dict[str, float] = {}
        self.failed: dict[str, str] = {}
        """The first issue of each failed test."""
        self.running: dict[str, float] = {}
        """Tests that have started and not ended, with the time of their start."""
        self.skipped = 0
        self.functions: set[str] = set()

    def run(self, commands: Commands, build: Path, options: list[str], env: dict[str, str]) -> None:
        """Runs the program; raises `Failed` if a test failed, if none ran, or if the program ended early."""
        program = build / "chatterdPackageTests.xctest"
        times = self.events.with_suffix(".times")
        self.events.unlink(missing_ok=True)
        times.unlink(missing_ok=True)
        # SwiftPM's own runner would plan the build again, for many seconds.
        command = [program, "--testing-library", "swift-testing", "--quiet", *options]
        command += ["--event-stream-output-path", self.events, "--event-stream-version", "0"]
        failure: Failed | None = None
        try:
            commands.run(*command, env={"CHATTERD_TEST_TIMES": str(times)} | env)
        except Failed as error:
            failure = error
        self.read(times)
        commands.log.say(f"Tests: {self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped")
        if isinstance(failure, CutOff) and not self.failed:
            raise CutOff(f"{failure}{self.unfinished()}")
        if not failure and not self.seconds:
            raise Failed(f"no test ran: {program}")
        if failure and not (self.failed and not self.running):
            raise Failed(f"{failure}{self.unfinished()}") from failure
        if self.failed:
            raise Failed(f"{len(self.failed)} tests failed")

    @property
    def passed(self) -> int:
        return len(self.seconds.keys() - self.failed.keys())

    def unfinished(self) -> str:
        """The tests that had not ended, the last to start first."""
        names = sorted(self.running, key=self.running.__getitem__, reverse=True)
        return f"; had not ended: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}" if names else ""

    def read(self, times: Path) -> None:
        if not self.events.exists():
            return
        for line in self.events.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a program that was killed
            payload = record["payload"]
            if record["kind"] == "test":
                if payload["kind"] == "function":
                    self.functions.add(payload["id"])
                continue
            if (test := payload.get("testID")) not in self.functions:
                continue
            self.note(payload["kind"], test, payload)
        if times.exists():
            # A test of the whole program waits for its turn first; this is the time without the wait.
            for line in times.read_text().splitlines():
                seconds, _, test = line.partition("\t")
                if test in self.seconds:
                    self.seconds[test] = float(seconds)

    def note(self, kind: str, test: str, payload: dict) -> None:
        name = name_of(test)
        now = payload["instant"]["absolute"]
        if kind == "testStarted":
            self.running[name] = now
        elif kind == "testEnded":
            self.seconds[name] = now - self.running.pop(name, now)
        elif kind == "testSkipped":
            self.skipped += 1
        elif kind == "issueRecorded" and not payload.get("issue", {}).get("isKnown"):
            text = " ".join(message["text"] for message in payload.get("messages", []))
            self.failed.setdefault(name, " ".join(text.split()))

    def slowest(self) -> list[tuple[float, str]]:
        return sorted(((seconds, name) for name, seconds in self.seconds.items()), reverse=True)[:SLOWEST]


def name_of(test: str) -> str:
    """`Module.Suite/test()/File.swift:1:2` without its place in the source."""
    return "/".join(part for part in test.split("/") if not (part.count(":") == 2 and ".swift:" in part))
