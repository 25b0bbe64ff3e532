"""A model server of Ollama's kind whose answers the test controls."""

from __future__ import annotations

import json
import threading
import time

from harness import background
from harness.machine import TIMEOUT
from harness.model_server import LAST, LINES, ModelServer, line

WORDS = ["Grüße", "🐣", "日本語", "naïve", '"quoted"', "a\nline", "Ελλάδα", "👩‍👩‍👧", "plain", "\\u0041"]


def speech(count, name=""):
    """Pieces of a text in which no two are alike, with characters of one to four bytes."""
    return [f"{name}{number} {WORDS[number % len(WORDS)]} " for number in range(count)]


class Exchange:
    """One request to the model, and its answer so far, for a script that blocks."""

    def __init__(self, exchange):
        self._exchange = exchange
        self.request = exchange.request
        self.gone = threading.Event()
        self.said = ""

    @property
    def body(self):
        """The request as its bytes."""
        return self._exchange.body

    @property
    def prompts(self):
        """The roles and texts of the messages in the request."""
        return [(message["role"], message["content"]) for message in self.request["messages"]]

    def say(self, *pieces, pause=0.002):
        """Sends one line for each piece, until the client disconnects."""
        for piece in pieces:
            # Half of the lines have their characters as \u escapes.
            self.write({"message": {"role": "assistant", "content": piece}, "done": False}, ascii=len(self.said) % 2 == 1)
            self.said += piece
            self.leaves(within=pause)

    def until(self, event):
        """Waits for an event of the test, or for the peer to disconnect."""
        while not event.wait(0.01) and not self.leaves(within=0):
            pass

    def leaves(self, within=TIMEOUT):
        """Whether the peer closes the connection in this time."""
        until = time.monotonic() + within
        while not self._exchange.has_left:
            if (left := until - time.monotonic()) <= 0:
                return False
            time.sleep(min(0.01, left))
        self.gone.set()
        return True

    def end(self, **counts):
        counts = {"prompt_eval_count": len(self.request.get("messages", ())), "eval_count": 7, "total_duration": 12345678} | counts
        self.write({"message": {"role": "assistant", "content": ""}} | LAST | counts)
        self.finish()

    def finish(self):
        """Ends the answer after the lines that were written."""
        self._run(self._exchange.finish())

    def write(self, members, ascii=False):
        said = {"model": self.request["model"], "created_at": "2026-01-01T00:00:00Z"} | members
        self._run(self._exchange.send(json.dumps(said, ensure_ascii=ascii, separators=(",", ":")) + "\n"))

    def _run(self, work):
        try:
            background.run(work)
        except OSError:
            self.gone.set()


class Model:
    """The server. Its `script` is called with each exchange; unless it returns BREAK_OFF, the answer ends regularly."""

    BREAK_OFF = object()

    def __init__(self, tests, names=()):
        """`names` are the models that it lists, and has; without names it has every model and lists none."""
        self.names = names
        self.script = lambda exchange: exchange.say("Nothing to say.")
        # Its answer to /api/show, which is no exchange.
        self.shown = {"capabilities": ["completion", "tools"], "details": {}, "model_info": {}}
        # The reason why it refuses a chat, for each request; None to answer.
        self.refuses = lambda request: None
        self.exchanges = []
        self.changed = threading.Condition()
        server = ModelServer(self._serve)
        background.run(server.start())
        self.url = server.url
        tests.addClassCleanup(lambda: background.run(server.stop()))

    async def _serve(self, inner):
        if inner.method == "GET":
            # It is the weather service too.
            if inner.path.startswith("/v1/forecast"):
                return await inner.answer(json.dumps({"current": {"temperature_2m": 53.4}}))
            names = self.names
            return await inner.answer(json.dumps({"models": [{"name": name} for name in names]} if names else {}))
        exchange, name = Exchange(inner), inner.request.get("model")
        is_shown, is_chat = inner.path == "/api/show", inner.path in ("/api/chat", "/api/generate")
        if not is_shown:
            with self.changed:
                self.exchanges.append(exchange)
                self.changed.notify_all()
        if (is_shown or is_chat) and not self.has(name):
            return await inner.answer(json.dumps({"error": f"model '{name}' not found"}), 404)
        if is_shown:
            return await inner.answer(json.dumps(self.shown))
        if reason := self.refuses(inner.request):
            return await inner.answer(json.dumps({"error": reason}), 400)
        if is_chat and not inner.request.get("messages") and not inner.request.get("prompt"):
            loaded = line(name, {}, done=True, done_reason="load")
            if inner.path == "/api/generate":
                loaded = json.dumps({key: value for key, value in json.loads(loaded).items() if key != "message"} | {"response": ""})
            return await inner.answer(loaded)
        await inner.begin(LINES)
        if await background.in_thread(lambda: self.script(exchange)) != Model.BREAK_OFF:
            await background.in_thread(exchange.end)

    def has(self, name):
        """Whether it answers prompts to a model of this name."""
        return not self.names or name in self.names or f"{name}:latest" in self.names

    def exchange(self, number=0):
        """Waits for the exchange of this number since `reset`."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.exchanges) > number, TIMEOUT), "the model was not asked"
            return self.exchanges[number]

    def reset(self):
        with self.changed:
            self.exchanges = []
