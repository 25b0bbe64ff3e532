"""Requests of web pages to chatterd, in a real browser. Run by script/test browser."""

import json
import unittest
import urllib.parse

from browser.browser import Network, visited
from harness.chatterd import Server
from harness.client import call, prompt, stream
from harness.machine import make_directory


class PageTests(unittest.TestCase):
    """Pages are served at a separate port, under `127.0.0.1` and `localhost`: these are two further origins, and two sites."""

    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)

    def start(self, **variables):
        server = Server(self.directory, **variables)
        self.addCleanup(server.stop)
        return server

    def attempts(self, server, page, target, writes=False):
        """The report of a page at an address, and whether the conversation and the board are unchanged."""
        with stream(server.url, prompt("Remember me.", "page")) as response:
            reply = response.headers["Location"]
            response.read()
        call(server.url, "POST", "/postchatt", {"name": "ada", "message": "secret"})
        before = self.stored(server)
        query = urllib.parse.urlencode({"target": target, "app": "page", "reply": reply, "writes": "1" if writes else ""})
        seen = visited(self.network, self.directory, f"{page}/attempts?{query}")
        return seen, self.stored(server) == before

    def stored(self, server):
        return server.rows("SELECT appid, seq, name, message FROM chatts ORDER BY appid, seq")

    def network_for(self, server):
        self.network = Network(self, server.url)
        return self.network

    def assert_shut_out(self, seen, is_unchanged):
        self.assertTrue(is_unchanged, seen)
        self.assertEqual(seen["no-cors"], "opaque")
        for name in ("plain", "untyped", "delete", "read", "reply", "stream"):
            self.assertEqual(seen[name], "blocked", (name, seen))
        self.assertNotIn("secret", json.dumps(seen))

    def test_a_page_of_another_port_cannot_write_or_read(self):
        server = self.start()
        page = self.network_for(server).url
        self.assert_shut_out(*self.attempts(server, page, server.url))

    def test_a_page_of_another_site_cannot_write_or_read(self):
        server = self.start()
        page = self.network_for(server).url.replace("127.0.0.1", "localhost")
        self.assert_shut_out(*self.attempts(server, page, server.url))

    def test_a_page_with_a_rebound_name_cannot_write_or_read(self):
        server = self.start()
        # For the browser, chatterd is the page's own server: only the name differs.
        page = self.network_for(server).url.replace("127.0.0.1", "rebound.example")
        seen, is_unchanged = self.attempts(server, page, "")
        self.assertTrue(is_unchanged, seen)
        for name in ("plain", "untyped", "delete", "read", "reply"):
            self.assertTrue(seen[name].startswith("421 "), (name, seen))
        self.assertEqual(seen["stream"], "blocked")
        self.assertNotIn("secret", json.dumps(seen))

    def test_a_page_of_a_listed_origin_writes_and_reads(self):
        # The settings of chatterd need the page's origin, so the page's server starts first.
        network = Network(self, "http://127.0.0.1:9")
        self.network = network
        for page in (network.url, network.url.replace("127.0.0.1", "localhost")):
            server = self.start(CHATTERD_ORIGINS=page)
            seen, is_unchanged = self.attempts(server, page, server.url, writes=True)
            # A form is still refused: its body does not identify its sender.
            self.assertTrue(seen["plain"].startswith("415 "), seen)
            self.assertEqual(seen["delete"], "200 {}")
            self.assertIn("secret", seen["read"])
            self.assertIn("Remember me.", seen["reply"])
            self.assertEqual(seen["stream"], "event")
            self.assertEqual(seen["json"], "200 {}")
            self.assertFalse(is_unchanged)
            self.assertIn("Written by a page.", "".join(self.stored(server)))
            server.stop()

    def test_a_page_of_the_server_itself_writes_and_reads(self):
        server = self.start()
        page = self.network_for(server).url
        seen, is_unchanged = self.attempts(server, page, "", writes=True)
        self.assertTrue(seen["plain"].startswith("415 "), seen)
        self.assertIn("secret", seen["read"])
        self.assertIn("Remember me.", seen["reply"])
        self.assertEqual(seen["stream"], "event")
        self.assertEqual(seen["json"], "200 {}")
        self.assertFalse(is_unchanged)
        self.assertIn("Written by a page.", "".join(self.stored(server)))
