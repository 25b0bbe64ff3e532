"""An HTTP server of a test that is no model server: pages, and proxies that know HTTP."""

import http.server
import sys
import threading


class LocalServer(http.server.ThreadingHTTPServer):
    """The server, on a separate port."""

    daemon_threads, block_on_close = True, False

    def __init__(self, handler, add_cleanup):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        add_cleanup(self.server_close)
        add_cleanup(self.shutdown)

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)
