"""Clients as people use them: curl, Python's own HTTP, httpx with an SSE reader. Run by script/test clients."""

import concurrent.futures
import http.client
import importlib.util
import json
import os
import pathlib
import re
import ssl
import subprocess
import threading
import time
import unittest
import urllib.parse

from harness.chatterd import PROGRAM, Server
from harness.client import ask, call, connect, post, prompt, said, stream
from harness.machine import TIMEOUT, TOP, make_directory
from harness.model import Model


class RunningServerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(make_directory(cls))
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def test_the_suggested_commands_work_and_share_a_conversation(self):
        offered = [self.server.expect(r"^ +(curl .*)").group(1) for _ in range(2)]
        answers = [subprocess.run(line, shell=True, capture_output=True, timeout=TIMEOUT) for line in offered]
        self.assertEqual([answer.returncode for answer in answers], [0, 0])
        self.assertIn("Hello!", said(answers[0].stdout))
        self.assertIn("Hello!", said(answers[1].stdout))

    def test_the_token_of_the_printed_link_administers_model_servers(self):
        token = self.server.expect(r"^model servers are managed at http://.*/#/administer/([a-z0-9]{26}) until").group(1)
        for status, headers in ((401, {}), (200, {"Authorization": f"Bearer {token}"})):
            self.assertEqual(call(self.url, "GET", "/upstreams", headers=headers)[0], status)

    @unittest.skipUnless(importlib.util.find_spec("httpx_sse"), "httpx-sse could not be installed")
    def test_an_sse_library_reads_numbered_events_up_to_done(self):
        import httpx
        from httpx_sse import connect_sse

        with httpx.Client(timeout=TIMEOUT) as client:
            with connect_sse(client, "POST", f"{self.url}/llmchat", json=prompt('Grüße 🐣 "q"', "sse")) as source:
                events = list(source.iter_sse())
        lines = [event.json() for event in events]
        texts = [line["message"]["content"] for line in lines]
        positions = [len("".join(texts[: number + 1]).encode()) for number in range(len(texts))]
        self.assertEqual([event.id for event in events], [*map(str, positions[:-1]), f"{positions[-1]}-end"])
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

    def test_an_invalid_request_is_refused_with_a_reason(self):
        for body in [b"{", {}, prompt("x", app=""), prompt("x", app="x" * 156), prompt("x", messages=[])]:
            status, answer = post(self.url, "/llmchat", body)
            self.assertEqual((status, set(answer)), (422, {"error", "code", "retryable"}), body)

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


class RestartedServerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)

    def serve(self, **variables):
        server = Server(self.directory, **variables)
        self.addCleanup(server.stop)
        return server

    def test_a_conversation_outlives_a_kill_in_the_middle_of_an_answer(self):
        model, killed = Model(self), threading.Event()
        server = self.serve(OLLAMA_URL=model.url)
        ask(server.url, "The kettle is copper.", model="m")

        def script(exchange):
            exchange.say("I am ")
            exchange.until(killed)
            return Model.BREAK_OFF

        model.script = script
        with stream(server.url, prompt("Cut me off.", model="m")) as lines:
            lines.readline()
            server.kill()
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                lines.read()
        killed.set()

        model.script = lambda exchange: exchange.say("Copper.")
        again = self.serve(OLLAMA_URL=model.url)
        self.assertEqual(again.rows("SELECT message FROM chatts WHERE message LIKE 'Cut%'"), ["Cut me off."])
        # The answer that was cut off is replayed as far as it was stored; without a text it is not.
        ask(again.url, "What did I say?", model="m")
        said_by_user = [text for role, text in model.exchanges[-1].prompts if role == "user"]
        stored = again.rows("SELECT message FROM chatts WHERE state = 'interrupted'")
        cut_off = ["Cut me off."] if stored != [""] else []
        self.assertEqual(said_by_user, ["The kettle is copper.", *cut_off, "What did I say?"])

    def test_sigterm_lets_a_running_answer_end_and_stops_postgresql(self):
        server = self.serve(CHATTERD_SHUTDOWN_LIMIT="10m")
        with stream(server.url, prompt("Let me finish.")) as lines:
            first = lines.readline()
            server.process.terminate()
            self.assertIn("Let me finish.", said(first + lines.read()))
        # One signal only: a second one would cut the answer off.
        self.assertEqual(server.process.wait(TIMEOUT), 0)
        self.assertFalse(pathlib.Path(self.directory, ".chatterd/postgres/postmaster.pid").exists())

    def test_a_second_server_in_the_directory_is_refused_with_a_reason(self):
        server = self.serve()
        second = subprocess.run(
            [PROGRAM, "serve", "--dev"], cwd=self.directory, capture_output=True, text=True, timeout=TIMEOUT
        )
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"process {server.process.pid}", second.stderr)

    def test_health_reports_whether_the_server_runs(self):
        server = self.serve()
        environment = os.environ | {"CHATTERD_LISTEN": urllib.parse.urlsplit(server.url).netloc}

        def health():
            return subprocess.run([PROGRAM, "health"], env=environment, capture_output=True, timeout=TIMEOUT).returncode

        # The check waits three seconds for an answer, which may be too short on a busy machine.
        deadline = time.monotonic() + TIMEOUT
        while health() != 0:
            self.assertLess(time.monotonic(), deadline, "never healthy")
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
            post(url, "/llmchat", prompt("No answer expected.", stream=False), context=ssl.create_default_context())
