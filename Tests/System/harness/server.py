"""A real chatterd with a private PostgreSQL, for clients of other projects."""

import ctypes
import http.server
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("CHATTERD", str(TOP / ".build/debug/chatterd"))
TIMEOUT = 240
# Limits that no test reaches, even on a busy machine.
LONG = dict.fromkeys(
    """CHATTERD_DISCONNECT_GRACE CHATTERD_WRITE_TIMEOUT CHATTERD_HEAD_TIMEOUT CHATTERD_BODY_TIMEOUT CHATTERD_IDLE_TIMEOUT
    CHATTERD_STORE_TIMEOUT CHATTERD_STORE_PATIENCE CHATTERD_STORE_START_TIMEOUT CHATTERD_UPSTREAM_FIRST_BYTE_TIMEOUT
    CHATTERD_UPSTREAM_SILENCE_TIMEOUT""".split(),
    "10m",
) | {"CHATTERD_UPSTREAM_CONNECT_TIMEOUT": "5m"}


def stop_with_us():
    """Makes the kernel stop this process when the tests end."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def make_directory(tests):
    """A directory that PostgreSQL's user may enter, removed after the tests of a class."""
    path = tempfile.mkdtemp(prefix="clients-")
    os.chmod(path, 0o755)
    tests.addClassCleanup(shutil.rmtree, path, ignore_errors=True)
    return path


class Server:
    """`chatterd serve --dev` in a directory, on a separate port."""

    def __init__(self, directory, **variables):
        self.directory = directory
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CHATTERD_", "DATABASE"))}
        # No process listens on the discard port, so the built-in model answers.
        base = {"CHATTERD_LISTEN": "127.0.0.1:0", "OLLAMA_URL": "http://127.0.0.1:9"}
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--dev"], cwd=directory, env=kept | LONG | base | variables,
            stderr=subprocess.PIPE, text=True, preexec_fn=stop_with_us,
        )
        self.lines = []
        self._queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.url = self.expect(r"^listening on (http://\S+)").group(1)
        except AssertionError:
            self.kill()
            raise

    def _read(self):
        with self.process.stderr as log:
            for line in log:
                self._queue.put(line)
        self._queue.put(None)

    def expect(self, pattern):
        """Waits for a line of the log that matches."""
        while True:
            try:
                line = self._queue.get(timeout=TIMEOUT)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no line of chatterd matches {pattern}, only:\n{''.join(self.lines)}")
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)

    def rows(self, statement):
        """The rows of a query to the private database, as a list of lines."""
        socket = os.path.join(self.directory, ".chatterd/postgres")
        command = ["psql", f"host={socket} user=chatterd dbname=chatterd", "-XqAt", "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout.splitlines()

    def dump(self):
        """The whole content of the private database, as text."""
        socket = os.path.join(self.directory, ".chatterd/postgres")
        command = ["pg_dump", "--data-only", f"host={socket} user=chatterd dbname=chatterd"]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout

    def stop(self):
        """Stops the server like a service manager; returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)


class LocalServer(http.server.ThreadingHTTPServer):
    """An HTTP server of the test, on a separate port."""

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
