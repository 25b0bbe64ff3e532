"""An ordinary client that records its results."""

from __future__ import annotations

import http.client
import json
import threading
import time

from attacks.model import ANSWER
from harness.client import connect, events

TIMEOUT = 60.0
"""Seconds after which a prompt counts as unanswered."""


class OrdinaryClient(threading.Thread):
    """Sends small prompts one after the other, until it is stopped."""

    def __init__(self, port: int, pause: float = 0.1, fields: dict[str, str] | None = None, content: str = "Hello") -> None:
        super().__init__(daemon=True)
        self._port, self._pause, self._over, self._fields = port, pause, threading.Event(), fields or {}
        self._content = content
        self.answered = self.refused = 0
        self.wrong: list[str] = []
        self.times: list[float] = []

    def stop(self) -> None:
        """Ends the client after the current prompt."""
        self._over.set()
        self.join(2 * TIMEOUT)
        if self.is_alive():
            self.wrong.append("a prompt had no end")

    def run(self) -> None:
        """Sends prompts in a loop."""
        number = 0
        while not self._over.is_set():
            number += 1
            begun = time.monotonic()
            try:
                outcome = self._ask(f"client{number % 20}")
            except (OSError, http.client.HTTPException, ValueError) as error:
                outcome = f"{type(error).__name__}: {error}"
            if outcome == "answered":
                self.answered += 1
                self.times.append(time.monotonic() - begun)
            elif outcome == "refused":
                self.refused += 1
            else:
                self.wrong.append(outcome)
            self._over.wait(self._pause)

    def _ask(self, app: str) -> str:
        body = {"conversation" if self._fields else "appID": app, "model": "short", "messages": [{"role": "user", "content": self._content}]}
        with connect(f"http://127.0.0.1:{self._port}", TIMEOUT) as connection:
            connection.request("POST", "/llmchat", json.dumps(body), {"Content-Type": "application/json"} | self._fields)
            response = connection.getresponse()
            text = response.read()
        if response.status == 503:
            return "refused" if response.getheader("Retry-After") else "503 without Retry-After"
        if response.status != 200:
            return f"{response.status}: {text[:200]!r}"
        said, done = "", False
        for _, _, line in events(text):
            if "error" in line:
                return "refused" if line.get("code") == "overloaded" else f"error {line.get('code')}: {line['error']}"
            said += line.get("message", {}).get("content", "")
            done = done or line.get("done", False)
        if not done:
            return f"an answer without an end: {said[:100]}"
        return "answered" if said == ANSWER else f"another answer: {said[:100]}"
