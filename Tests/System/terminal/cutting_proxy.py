"""A proxy before a server whose connections the test cuts."""

import socket
import threading


class CuttingProxy:
    """Passes bytes on until the test cuts the connections.

    `cut_after` cuts each one after that many bytes of its answer; it may be a function that returns the number for the next one.
    """

    def __init__(self, target, add_cleanup):
        host, port = target.removeprefix("http://").split(":")
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._links, self._is_open, self.cut_after, self.count = [], True, None, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        add_cleanup(self._end)

    def _end(self):
        # The thread that accepts is woken, because a close alone does not end its call.
        self._is_open = False
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self):
        """Cuts all connections."""
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            for end in link:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        """Cuts all connections, and every later one at once."""
        self._is_open = False
        self.cut()

    def open(self):
        self._is_open = True

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._is_open:
                near.close()
                continue
            far = socket.create_connection(self._target)
            with self._lock:
                self._links.append((near, far))
                self.count += 1
            threading.Thread(target=self._join, args=[near, far, self._limit()], daemon=True).start()

    def _limit(self):
        return self.cut_after() if callable(self.cut_after) else self.cut_after

    def _join(self, near, far, limit):
        with near, far:
            back = threading.Thread(target=self._pass_on, args=[far, near, limit], daemon=True)
            back.start()
            self._pass_on(near, far, None)
            back.join()

    @staticmethod
    def _pass_on(source, target, limit):
        try:
            while piece := source.recv(65536):
                if limit is not None and len(piece) >= limit:
                    target.sendall(piece[:limit])
                    break
                target.sendall(piece)
                limit = None if limit is None else limit - len(piece)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
