"""A reverse proxy that serves chatterd below a path of its own, as nginx does with `location /chat/`."""

import http.client
import http.server
import urllib.parse

from harness.local_server import LocalServer
from harness.machine import TIMEOUT

PREFIX = "/chat"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        self.close_connection = True
        if not self.path.startswith(PREFIX + "/"):
            self.server.strays.append(self.path)
            return self.send_error(404)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = urllib.parse.urlsplit(self.server.target)
        connection = http.client.HTTPConnection(target.hostname, target.port, timeout=TIMEOUT)
        # The page is asked for under this host, and chatterd compares Origin with Host.
        connection.request(self.command, self.path.removeprefix(PREFIX), body, dict(self.headers))
        response = connection.getresponse()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, PREFIX + value if name.lower() == "location" else value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := response.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = forward

    def log_message(self, *_):
        pass


class PrefixProxy(LocalServer):
    """The proxy. `strays` are the paths outside of the prefix that were asked for."""

    def __init__(self, target, add_cleanup):
        super().__init__(Handler, add_cleanup)
        self.target, self.strays = target, []
