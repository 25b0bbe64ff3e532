"""Many slow readers of one long answer, in a separate process."""

from __future__ import annotations

import resource
import selectors
import socket
import subprocess
import sys
import threading
import time

from harness.client import stream
from harness.machine import end_with_us

PIECE, PAUSE = 8_192, 0.2
"""The bytes that each reader reads at once, and the seconds of its pause after that."""


def make_answer(port: int, size: int) -> str:
    """Makes an answer of the given length; returns the path of its reply."""
    body = {"appID": "readers", "model": f"long-{size}", "messages": [{"role": "user", "content": "At length, please."}]}
    with stream(f"http://127.0.0.1:{port}", body) as response:
        said = response.read()
    if b'"done":true' not in said[-500:]:
        raise RuntimeError(f"there is no long answer: {said[-500:]!r}")
    return response.headers["Location"]


class SlowReaders:
    """The readers, controlled by the run."""

    def __init__(self, port: int, path: str, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", "attacks.readers", str(port), path, str(count)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, preexec_fn=end_with_us)
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def stop(self) -> tuple[int, int]:
        """Ends the readers; returns the bytes that they have read, and the number of those that were cut off."""
        output, _ = self._process.communicate(timeout=60)
        read, ended = output.split()
        return int(read), int(ended)


def read_slowly(port: int, path: str, count: int) -> tuple[int, int]:
    """Reads until standard input ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 100)), hard))
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    selector = selectors.DefaultSelector()
    connections = []
    for _ in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.connect(("127.0.0.1", port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        connection.setblocking(False)
        connections.append(connection)
        selector.register(connection, selectors.EVENT_READ)
    print("reading", flush=True)
    read = ended = 0
    while not over.is_set():
        begun = time.monotonic()
        for key, _ in selector.select(PAUSE):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            try:
                data = connection.recv(PIECE)
            except OSError:
                data = b""
            read += len(data)
            if not data:
                ended += 1
                selector.unregister(connection)
                connection.close()
        over.wait(max(0.0, PAUSE - (time.monotonic() - begun)))
    return read, ended


if __name__ == "__main__":
    print(*read_slowly(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
