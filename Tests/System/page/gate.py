"""The network between the browser and chatterd, which a test can cut."""

import socket
import struct
import threading


class Gate:
    """Passes connections on to a port of this machine, unless it is cut."""

    def __init__(self, port):
        self.port_of_server = port
        self._is_cut = self._is_mute = False
        self._lock = threading.Lock()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Ends all connections, and refuses new ones."""
        with self._lock:
            self._is_cut = True
            ended, self._open = self._open, set()
        for one in ended:
            self._reset(one)

    def mute(self):
        """Drops what chatterd says, until the gate is restored: requests arrive, and their responses are lost."""
        with self._lock:
            self._is_mute = True

    def restore(self, port=None):
        """Passes connections on again, to another port if one is given."""
        with self._lock:
            self.port_of_server = port or self.port_of_server
            self._is_cut = self._is_mute = False

    def close(self):
        self.cut()
        self._listener.close()

    @staticmethod
    def _reset(connection):
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                try:
                    server = None if self._is_cut else socket.create_connection(("127.0.0.1", self.port_of_server))
                except OSError:
                    server = None
                if server is None:
                    self._reset(client)
                    continue
                self._open |= {client, server}
            for course in [(client, server, False), (server, client, True)]:
                threading.Thread(target=self._pass, args=course, daemon=True).start()

    def _pass(self, source, target, is_answer):
        try:
            while data := source.recv(65536):
                if not (is_answer and self._is_mute):
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            self._reset(source)
            self._reset(target)
