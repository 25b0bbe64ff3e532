"""Clients as people use them: curl, Python's own HTTP, httpx with an SSE reader. Run by script/test-clients."""

import concurrent.futures
import http.client
import importlib.util
import json
import os
import pathlib
import ssl
import subprocess
import unittest
import urllib.parse

from client import ask, connect, post, prompt, said, stream
from server import PATIENCE, PROGRAM, TOP, Server, make_directory

# An answer of many words, which takes seconds: it is not over before the client has looked, however busy the machine is.
LONG = " ".join(f"word{number}" for number in range(40))


class AServerThatStays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(make_directory(cls))
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def test_curl_shows_events_before_the_answer_is_over(self):
        command = ["curl", "-sN", f"{self.url}/llmchat", "-d", json.dumps(prompt(LONG, "curl"))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as curl:
            first = os.read(curl.stdout.fileno(), 65536)
            self.assertIn(b"data: ", first)
            self.assertNotIn(b'"done":true', first)
            rest = curl.stdout.read()
        self.assertEqual(curl.returncode, 0)
        self.assertIn(LONG, said(first + rest))

    def test_the_lines_that_the_server_offers_to_try_work_and_the_second_knows_the_first(self):
        offered = [self.server.expect(r"^ +(curl .*)").group(1) for _ in range(2)]
        answers = [subprocess.run(line, shell=True, capture_output=True, timeout=PATIENCE) for line in offered]
        self.assertEqual([answer.returncode for answer in answers], [0, 0])
        self.assertIn("Hello!", said(answers[0].stdout))
        self.assertIn("Hello!", said(answers[1].stdout))

    @unittest.skipUnless(importlib.util.find_spec("httpx_sse"), "httpx-sse could not be installed")
    def test_an_sse_library_reads_numbered_events_up_to_done(self):
        import httpx
        from httpx_sse import connect_sse

        with httpx.Client(timeout=PATIENCE) as client:
            with connect_sse(client, "POST", f"{self.url}/llmchat", json=prompt('Grüße 🐣 "q"', "sse")) as source:
                events = list(source.iter_sse())
        lines = [event.json() for event in events]
        texts = [line["message"]["content"] for line in lines]
        places = [len("".join(texts[: number + 1]).encode()) for number in range(len(texts))]
        self.assertEqual([event.id for event in events], [*map(str, places[:-1]), f"{places[-1]}-end"])
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        self.assertIn('Grüße 🐣 "q"', "".join(texts))

    def test_one_connection_serves_many_requests(self):
        with connect(self.url) as connection:
            for _ in range(2):
                connection.request("POST", "/llmchat", json.dumps(prompt("Again.", "stdlib")))
                self.assertIn("Again.", said(connection.getresponse().read()))
                connection.request("GET", "/healthz")
                self.assertEqual(json.load(connection.getresponse()), {"status": "ok"})

    def test_an_answer_in_one_piece(self):
        status, answer = post(self.url, "/llmchat", prompt("At once.", "whole", stream=False))
        self.assertEqual((status, answer["done"]), (200, True))
        self.assertIn("At once.", answer["message"]["content"])

    def test_a_request_that_makes_no_sense_is_told_so(self):
        for body in [b"{", {}, prompt("x", app=""), prompt("x", app="x" * 156), prompt("x", messages=[])]:
            status, answer = post(self.url, "/llmchat", body)
            self.assertEqual((status, set(answer)), (422, {"error", "code"}), body)

    def test_conversations_at_once_do_not_mix(self):
        def converse(number):
            ask(self.url, f"word-{number}-", f"crowd-{number}")
            return ask(self.url, "What did I say?", f"crowd-{number}")

        with concurrent.futures.ThreadPoolExecutor(30) as crowd:
            for number, answer in enumerate(crowd.map(converse, range(30))):
                self.assertTrue(answer.endswith(f"word-{number}-") and answer.count("word-") == 1, answer)

    def test_a_chat_board(self):
        self.assertEqual(post(self.url, "/postchatt", {"name": "ann", "message": "hi"}), (200, {}))
        with connect(self.url) as connection:
            connection.request("GET", "/getchatts")
            last = json.load(connection.getresponse())[-1]
        self.assertEqual((last[:2], len(last)), (["ann", "hi"], 4))


class AServerThatComesAndGoes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)

    def serve(self, **variables):
        server = Server(self.directory, **variables)
        self.addCleanup(server.stop)
        return server

    def test_a_conversation_outlives_a_kill_in_the_middle_of_an_answer(self):
        server = self.serve()
        ask(server.url, "The kettle is copper.")
        with stream(server.url, prompt(f"Cut me off. {LONG}")) as lines:
            lines.readline()
            server.kill()
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                lines.read()

        again = self.serve()
        self.assertEqual(again.rows("SELECT message FROM chatts WHERE message LIKE 'Cut%'"), [f"Cut me off. {LONG}"])
        # The turn that was cut off is kept for the record and not replayed.
        self.assertIn("The kettle is copper.", ask(again.url, "What did I say?"))

    def test_sigterm_lets_a_running_answer_end_and_stops_postgresql(self):
        server = self.serve()
        with stream(server.url, prompt("Let me finish.")) as lines:
            first = lines.readline()
            server.process.terminate()
            self.assertIn("Let me finish.", said(first + lines.read()))
        self.assertEqual(server.stop(), 0)
        self.assertFalse(pathlib.Path(self.directory, ".chatterd/postgres/postmaster.pid").exists())

    def test_a_second_server_in_the_directory_is_refused_with_a_reason(self):
        server = self.serve()
        second = subprocess.run(
            [PROGRAM, "serve", "--dev"], cwd=self.directory, capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"process {server.process.pid}", second.stderr)

    def test_health_says_whether_the_server_is_there(self):
        server = self.serve()
        environment = os.environ | {"CHATTERD_LISTEN": urllib.parse.urlsplit(server.url).netloc}

        def health():
            return subprocess.run([PROGRAM, "health"], env=environment, capture_output=True, timeout=PATIENCE).returncode

        self.assertEqual(health(), 0)
        server.stop()
        self.assertEqual(health(), 1)

    def test_https_with_the_certificate_of_script_certificate(self):
        subprocess.run([TOP / "script/certificate", "127.0.0.1"], cwd=self.directory, check=True, capture_output=True)
        certificate, key = (f"{self.directory}/chatterd.{end}" for end in ("crt", "key"))
        self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
        server = self.serve(CHATTERD_TLS_LISTEN="127.0.0.1:0", CHATTERD_TLS_CERT=certificate, CHATTERD_TLS_KEY=key)
        url = server.expect(r"^listening on (https://\S+)").group(1)
        trust = ssl.create_default_context(cafile=certificate)
        trust.verify_flags |= ssl.VERIFY_X509_STRICT
        status, answer = post(url, "/llmchat", prompt("In secret.", stream=False), context=trust)
        self.assertIn("In secret.", answer["message"]["content"])
        with self.assertRaises(ssl.SSLCertVerificationError):
            post(url, "/llmchat", prompt("To nobody.", stream=False), context=ssl.create_default_context())


if __name__ == "__main__":
    unittest.main()
