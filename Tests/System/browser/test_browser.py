"""EventSource in a real browser. Run by script/test browser."""

import json

from browser.browser import Network, found
from harness.chatterd import Server
from harness.client import call, prompt, stream
from harness.machine import make_directory
from harness.model import Model, speech
from harness.reply_test_case import ServerTestCase


class BrowserTests(ServerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)
        cls.model = Model(cls)
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.model.reset()
        self.network = Network(self, self.url)

    def open_reply(self, app, script):
        """Posts a prompt and disconnects; returns the path of the reply."""
        self.model.script = script
        with stream(self.url, prompt("Speak.", app, model="m", on_disconnect="finish")) as response:
            return response.headers["Location"]

    def read(self, path):
        return found(self.network, self.directory, path)

    def assert_whole(self, seen, path):
        """Each event came once with its position, and the text since the last reset is the stored one."""
        text = ""
        for kind, id, data in seen["events"]:
            if kind == "reset":
                text = ""
            elif kind == "message":
                text += json.loads(data)["message"]["content"]
                self.assertEqual(int(id.removesuffix("-end").rpartition("~")[2]), len(text.encode()))
        self.assertEqual(text, self.stored(path)["message"]["content"])

    def assert_closed_by_204(self, seen):
        """The last answer was 204, and EventSource has not reconnected since."""
        requests = self.network.requests
        self.assertEqual([request.status for request in requests], [200] * (len(requests) - 1) + [204])
        self.assertEqual(requests[-1].last_event_id, seen["events"][-1][1])
        self.assertTrue(seen["events"][-1][1].endswith("-end"), seen["events"][-1])
        self.assertEqual(seen["state"], 2)

    def test_a_browser_that_loses_its_connection_twice_reads_a_live_reply_whole_and_stops(self):
        network, pieces = self.network, speech(160)

        def script(exchange):
            exchange.say(*pieces[:10])
            exchange.until(network.came[0])
            exchange.say(*pieces[10:40])
            exchange.until(network.cut[0])
            exchange.say(*pieces[40:80])  # while the browser is away
            exchange.until(network.came[1])
            exchange.say(*pieces[80:120])
            exchange.until(network.cut[1])
            exchange.say(*pieces[120:140])
            exchange.until(network.came[2])
            exchange.say(*pieces[140:])

        path = self.open_reply("live", script)
        network.cuts = [2500, 2500]
        seen = self.read(path)

        self.assert_whole(seen, path)
        self.assertEqual(self.stored(path)["message"]["content"], "".join(pieces))
        self.assertEqual(json.loads(seen["events"][-1][2])["done_reason"], "stop")
        self.assert_closed_by_204(seen)
        # Two cuts and one end: each time the browser reconnected with the id of its last complete event.
        self.assertEqual(seen["lost"], 3)
        asked = [request.last_event_id for request in network.requests]
        self.assertEqual(asked, [None] + [request.ids[-1] for request in network.requests[:3]])
        self.assertEqual({request.accept for request in network.requests}, {"text/event-stream"})
        self.assertEqual(len(self.model.exchanges), 1)

    def test_a_browser_that_loses_its_connection_reads_a_finished_reply_whole_and_stops(self):
        text = "".join(speech(8000))
        path = self.open_reply("finished", lambda exchange: exchange.say(text, text))
        with stream(self.url, prompt("And now?", "finished", model="m")) as response:
            response.read()  # the first reply is over when the second is
        self.network.cuts = [100_000, 60_000]
        seen = self.read(path)
        self.assert_whole(seen, path)
        self.assertEqual(self.stored(path)["message"]["content"], text + text)
        self.assert_closed_by_204(seen)
        self.assertEqual(seen["lost"], 3)

    def test_a_browser_gets_a_permanent_failure_and_stops(self):
        def script(exchange):
            exchange.say(*speech(5))
            return Model.BREAK_OFF

        path = self.open_reply("failed", script)
        seen = self.read(path)
        self.assert_whole(seen, path)
        kind, _, data = seen["events"][-1]
        self.assertEqual(kind, "error")
        self.assertEqual({"code", "retryable", "error", "done"} - set(json.loads(data)), set())
        self.assert_closed_by_204(seen)

    def test_a_browser_whose_reply_is_stopped_elsewhere_gets_a_last_line_and_stops(self):
        network = self.network

        def script(exchange):
            exchange.say(*speech(20))
            exchange.until(network.came[0])
            call(self.url, "DELETE", self.path)
            exchange.until(exchange.gone)
            return Model.BREAK_OFF

        self.path = self.open_reply("stopped", script)
        seen = self.read(self.path)
        self.assert_whole(seen, self.path)
        last = json.loads(seen["events"][-1][2])
        self.assertEqual((last["done"], last["done_reason"], last["state"]), (True, "stop", "cancelled"))
        self.assert_closed_by_204(seen)
