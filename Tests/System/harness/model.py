"""A model server of Ollama's kind whose answers the test controls."""

import http.server
import json
import select
import threading

from harness.server import TIMEOUT, LocalServer

WORDS = ["Grüße", "🐣", "日本語", "naïve", '"quoted"', "a\nline", "Ελλάδα", "👩‍👩‍👧", "plain", "\\u0041"]


def speech(count, name=""):
    """Pieces of a text in which no two are alike, with characters of one to four bytes."""
    return [f"{name}{number} {WORDS[number % len(WORDS)]} " for number in range(count)]


class Exchange:
    """One request to the model, and its answer so far."""

    def __init__(self, handler, request):
        self._handler = handler
        self._left = False
        self.request = request
        self.gone = threading.Event()
        self.said = ""

    @property
    def prompts(self):
        """The roles and texts of the messages in the request."""
        return [(message["role"], message["content"]) for message in self.request["messages"]]

    def say(self, *pieces, pause=0.002):
        """Sends one line for each piece, until the client disconnects."""
        for piece in pieces:
            # Half of the lines have their characters as \u escapes.
            line = {"message": {"role": "assistant", "content": piece}, "done": False}
            self.write(line, ascii=len(self.said) % 2 == 1)
            self.said += piece
            self.leaves(within=pause)

    def until(self, event):
        """Waits for an event of the test, or for the peer to disconnect."""
        while not event.is_set() and not self.leaves(within=0.01):
            pass

    def leaves(self, within=TIMEOUT):
        """Whether the peer closes the connection in this time."""
        if not self._left and select.select([self._handler.connection], [], [], within)[0]:
            self._left = not self._handler.connection.recv(1)
            if self._left:
                self.gone.set()
        return self._left

    def end(self, **counts):
        counts = {"prompt_eval_count": len(self.request.get("messages", ())), "eval_count": 7, "total_duration": 12345678} | counts
        self.write({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"} | counts)
        self.finish()

    def finish(self):
        """Ends the answer after the lines that were written."""
        self._send(b"0\r\n\r\n")

    def write(self, members, ascii=False):
        line = {"model": self.request["model"], "created_at": "2026-01-01T00:00:00Z"} | members
        data = json.dumps(line, ensure_ascii=ascii, separators=(",", ":")).encode() + b"\n"
        self._send(b"%x\r\n%b\r\n" % (len(data), data))

    def _send(self, data):
        try:
            self._handler.wfile.write(data)
        except OSError:
            self._left = True
            self.gone.set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        names = self.server.model.names
        body = json.dumps({"models": [{"name": name} for name in names]} if names else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        exchange = Exchange(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        model, name = self.server.model, exchange.request.get("model")
        is_shown = self.path == "/api/show"
        if not is_shown:
            with model.changed:
                model.exchanges.append(exchange)
                model.changed.notify_all()
        if (is_shown or self.path in ("/api/chat", "/api/generate")) and not model.has(name):
            return self.reply(404, {"error": f"model '{name}' not found"})
        if is_shown:
            return self.reply(200, model.shown)
        empty = not exchange.request.get("messages") and not exchange.request.get("prompt")
        if empty and self.path in ("/api/chat", "/api/generate"):
            loaded = {"response": ""} if self.path == "/api/generate" else {"message": {"role": "assistant", "content": ""}}
            head = {"model": name, "created_at": "2026-01-01T00:00:00Z"}
            return self.reply(200, head | loaded | {"done": True, "done_reason": "load"})
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.server.model.script(exchange) != Model.BREAK_OFF:
            exchange.end()

    def reply(self, status, document):
        """Answers in one piece."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        # A connection that closes unannounced may lose the next request.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Model:
    """The server. Its `script` is called with each exchange; unless it returns BREAK_OFF, the answer ends regularly."""

    BREAK_OFF = object()

    def __init__(self, tests, names=()):
        """`names` are the models that it lists, and has; without names it has every model and lists none."""
        self.names = names
        self.script = lambda exchange: exchange.say("Nothing to say.")
        # Its answer to /api/show, which is no exchange.
        self.shown = {"capabilities": ["completion", "tools"], "details": {}, "model_info": {}}
        self.exchanges = []
        self.changed = threading.Condition()
        server = LocalServer(Handler, tests.addClassCleanup)
        server.model, self.url = self, server.url

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
