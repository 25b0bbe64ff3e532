"""A real chatterd with a private PostgreSQL, for clients that are not ours to write."""

import os
import pathlib
import queue
import re
import signal
import subprocess
import threading

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("CHATTERD", str(TOP / ".build/debug/chatterd"))
PATIENCE = 60


class Server:
    """`chatterd serve --dev` in a directory, on a port of its own."""

    def __init__(self, directory, **variables):
        self.directory = directory
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CHATTERD_", "DATABASE"))}
        # Nothing listens on the discard port, so the built-in model answers.
        base = {"CHATTERD_LISTEN": "127.0.0.1:0", "OLLAMA_URL": "http://127.0.0.1:9"}
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--dev"], cwd=directory, env=kept | base | variables, stderr=subprocess.PIPE, text=True
        )
        self.lines = []
        self._queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = self.expect(r"^listening on (http://\S+)").group(1)

    def _read(self):
        with self.process.stderr as log:
            for line in log:
                self._queue.put(line)
        self._queue.put(None)

    def expect(self, pattern):
        """Waits for a line of the log that matches."""
        while True:
            try:
                line = self._queue.get(timeout=PATIENCE)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"chatterd never said {pattern}, only:\n{''.join(self.lines)}")
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def rows(self, statement):
        """What the private database answers, a list of lines."""
        socket = os.path.join(self.directory, ".chatterd/postgres")
        command = ["psql", f"host={socket} user=chatterd dbname=chatterd", "-XqAt", "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.splitlines()

    def stop(self):
        """Ends it as a service manager does; returns its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)
