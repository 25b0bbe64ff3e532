"""Base class of the tests of replies."""

import threading
import time
import unittest

from harness.chatterd import Server
from harness.client import Reader, call, events, prompt, stream
from harness.machine import TIMEOUT, make_directory
from harness.model import Model

JSON = {"Accept": "application/json"}


class ServerTestCase(unittest.TestCase):
    """What tests of one server share."""

    def setUp(self):
        self.app = self.id().rpartition(".")[2]

    def stored(self, path):
        """The reply as JSON."""
        status, _, answer = call(self.url, "GET", path, headers=JSON)
        self.assertEqual(status, 200, answer)
        return answer

    def eventually(self, condition):
        """Waits until a condition holds; returns its value."""
        deadline = time.monotonic() + TIMEOUT
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, "the expected state was not reached in time")
            time.sleep(0.02)
        return found


class ReplyTestCase(ServerTestCase):
    """A server with a scripted model, and helpers for the actions of clients."""

    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)
        cls.model = Model(cls)
        cls.serve()

    @classmethod
    def serve(cls):
        # A client that has gone is noticed at the next keep-alive.
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_KEEPALIVE="1s")
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.model.reset()
        self.proceed = threading.Event()
        self.addCleanup(self.proceed.set)

    def says(self, *pieces):
        """The model gives this answer to every prompt."""
        self.model.script = lambda exchange: exchange.say(*pieces)

    def says_then_waits(self, first, rest=()):
        """The model sends the first pieces, waits for `proceed`, and sends the rest."""

        def script(exchange):
            exchange.say(*first)
            exchange.until(self.proceed)
            exchange.say(*rest)

        self.model.script = script

    def body(self, text, **more):
        return prompt(text, self.app, model="m", **more)

    def start(self, text="Speak.", headers=None, **more):
        """Posts a prompt and disconnects at once; returns the path of the reply."""
        with stream(self.url, self.body(text, on_disconnect="finish", **more), headers) as response:
            return response.headers["Location"]

    def whole(self, text="Speak.", path="/llmchat", **more):
        """Posts a prompt and reads to the end; returns the path of the reply."""
        body = {} if path != "/llmchat" else self.body(text, **more)
        with stream(self.url, body, path=path) as response:
            kind, _, last = list(events(response.read()))[-1]
            self.assertEqual((kind, last["done"]), ("message", True), last)
            return response.headers["Location"]

    def settled(self, path):
        """Waits for the end of the reply; returns the stored reply."""
        Reader().read(self.url, path)
        return self.stored(path)

    def assert_has_all(self, reader, path):
        stored = self.stored(path)
        self.assertEqual(reader.text, stored["message"]["content"])
        self.assertTrue(stored["done"])
        self.assertIsNotNone(reader.last)

    def assert_refused(self, answer, status, code):
        self.assertEqual((answer[0], set(answer[2]), answer[2]["code"]), (status, {"error", "code", "retryable"}, code))
