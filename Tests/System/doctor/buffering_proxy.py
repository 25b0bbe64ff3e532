"""A proxy that keeps an answer back until it is complete, as one that buffers does, and may compress it."""

from __future__ import annotations

import gzip
import http.client
import http.server
import threading
import urllib.parse
from typing import Any

from harness.machine import TIMEOUT


class BufferingProxy:
    """It passes requests on to a server, and answers in one piece."""

    def __init__(self, url: str, compresses: bool = False) -> None:
        target = urllib.parse.urlsplit(url)

        class Handler(http.server.BaseHTTPRequestHandler):
            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=TIMEOUT)
                connection.request(self.command, self.path, body, {"Host": target.netloc, "Content-Type": "application/json"})
                answer = connection.getresponse()
                whole = answer.read()
                connection.close()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                if compresses and "gzip" in self.headers.get("Accept-Encoding", ""):
                    whole = gzip.compress(whole)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(whole)))
                self.end_headers()
                self.wfile.write(whole)

            do_POST = do_DELETE = _pass_on

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
