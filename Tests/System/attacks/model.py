"""A model server of kind openai and ollama whose answer depends on the name of the model:

    short    five words              fail     status 400
    burst    300 words in one write  long-N   N bytes of text, as fast as they are read
    slow     a word a second, for a minute

Any other name is answered like `short`, as llama.cpp does."""

from __future__ import annotations

import http.server
import json
import socketserver
import sys
import threading
import time
from typing import Iterator

WORDS = ["This ", "is ", "the ", "whole ", "answer."]
ANSWER = "".join(WORDS)


def pieces(model: str) -> Iterator[str]:
    """The words of a model, piece by piece."""
    if model == "slow":
        for word in WORDS * 12:
            yield word
            time.sleep(1)
    elif model.startswith("long-"):
        left = int(model[5:])
        while left > 0:
            piece = ("word " * 820)[:left]
            left -= len(piece)
            yield piece
    else:
        yield from WORDS


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of chatterd."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Writes no log."""

    def do_GET(self) -> None:  # noqa: N802
        """The list of models, which is empty: any model is accepted."""
        self._send(b'{"object":"list","data":[]}')

    def do_POST(self) -> None:  # noqa: N802
        """An answer."""
        left = int(self.headers.get("Content-Length", "0"))
        head = b""
        while left > 0:
            part = self.rfile.read(min(left, 1 << 16))
            if not part:
                return
            head, left = (head or part), left - len(part)
        model = self._model(head)
        if model == "fail":
            self._send(b'{"error":{"message":"The model says no.","code":400}}', 400)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if len(model) > 256 or model == "burst":
                events = [self._event({"choices": [{"index": 0, "delta": {"content": "word "}}]})] * 300
                self._chunk(b"".join(events))
            else:
                for piece in pieces(model):
                    self._chunk(self._event({"choices": [{"index": 0, "delta": {"content": piece}}]}))
            self._chunk(self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    @staticmethod
    def _model(head: bytes) -> str:
        """The name of the model, which begins chatterd's requests."""
        start = head.find(b'"model":"')
        end = head.find(b'"', start + 9) if start >= 0 else -1
        return "x" * 1000 if start >= 0 and end < 0 else head[start + 9:end].decode(errors="replace")

    @staticmethod
    def _event(event: dict[str, object]) -> bytes:
        return b"data: " + json.dumps({"object": "chat.completion.chunk"} | event).encode() + b"\n\n"

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class ModelServer(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512


def main() -> None:
    """Serves until its standard input ends."""
    server = ModelServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
