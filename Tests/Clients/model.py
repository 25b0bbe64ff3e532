"""A model server of Ollama's kind whose answers the test controls."""

import http.server
import json
import select
import threading

from server import TIMEOUT, LocalServer

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

    def end(self):
        counts = {"prompt_eval_count": len(self.request.get("messages", ())), "eval_count": 7, "total_duration": 12345678}
        self.write({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"} | counts)
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
        with self.server.model.changed:
            self.server.model.exchanges.append(exchange)
            self.server.model.changed.notify_all()
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.server.model.script(exchange) != Model.BREAK_OFF:
            exchange.end()

    def log_message(self, *_):
        pass


class Model:
    """The server. Its `script` is called with each exchange; unless it returns BREAK_OFF, the answer ends regularly."""

    BREAK_OFF = object()

    def __init__(self, tests, names=()):
        """`names` are the models that it lists."""
        self.names = names
        self.script = lambda exchange: exchange.say("Nothing to say.")
        self.exchanges = []
        self.changed = threading.Condition()
        server = LocalServer(Handler, tests.addClassCleanup)
        server.model, self.url = self, server.url

    def exchange(self, number=0):
        """Waits for the exchange of this number since `reset`."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.exchanges) > number, TIMEOUT), "the model was not asked"
            return self.exchanges[number]

    def reset(self):
        with self.changed:
            self.exchanges = []
