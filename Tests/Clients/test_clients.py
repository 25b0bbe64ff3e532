"""Clients as people use them: curl, Python's own HTTP, httpx with an SSE reader. Run by script/test-clients."""

import asyncio
import http.client
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import unittest
import urllib.parse

import httpx
from httpx_sse import connect_sse

from server import PATIENCE, PROGRAM, TOP, Server, prompt


class Directory:
    """A place that PostgreSQL's user may enter."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="clients-")
        os.chmod(self.path, 0o755)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class AServerThatStays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = Directory()
        cls.addClassCleanup(cls.directory.remove)
        cls.server = Server(cls.directory.path)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def test_curl_shows_events_before_the_answer_is_over(self):
        command = ["curl", "-sN", f"{self.url}/llmchat", "-d", json.dumps(prompt("Tell me.", "curl"))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as curl:
            first = os.read(curl.stdout.fileno(), 65536)
            self.assertIn(b"data: ", first)
            self.assertNotIn(b'"done":true', first)
            rest = curl.stdout.read()
        self.assertEqual(curl.returncode, 0)
        self.assertIn(b'"done":true', rest.splitlines()[-2])

    def test_the_lines_that_the_server_offers_to_try_work_and_the_second_knows_the_first(self):
        offered = [self.server.expect(r"^ +(curl .*)").group(1) for _ in range(2)]
        answers = [subprocess.run(line, shell=True, capture_output=True, text=True, timeout=PATIENCE) for line in offered]
        for answer in answers:
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertIn('"done":true', answer.stdout)
        self.assertIn("Hello!", said(answers[1].stdout.splitlines()))

    def test_an_sse_library_reads_numbered_events_up_to_done(self):
        with httpx.Client(timeout=PATIENCE) as client:
            with connect_sse(client, "POST", f"{self.url}/llmchat", json=prompt("Grüße 🐣 \"q\"", "sse")) as source:
                events = list(source.iter_sse())
        self.assertEqual([event.id for event in events], [str(n) for n in range(1, len(events) + 1)])
        lines = [event.json() for event in events]
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        self.assertIn("Grüße 🐣 \"q\"", "".join(line["message"]["content"] for line in lines))

    def test_one_connection_of_the_standard_library_serves_many_requests(self):
        address = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
        for _ in range(2):
            connection.request("POST", "/llmchat", json.dumps(prompt("Again.", "stdlib")))
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            self.assertEqual(response.headers["content-type"].split(";")[0], "text/event-stream")
            self.assertIn('"done":true', response.read().decode().strip().splitlines()[-1])
            connection.request("GET", "/healthz")
            self.assertEqual(json.load(connection.getresponse()), {"status": "ok"})
        connection.close()

    def test_an_answer_in_one_piece(self):
        answer = httpx.post(f"{self.url}/llmchat", json=prompt("At once.", "whole", stream=False), timeout=PATIENCE)
        self.assertEqual(answer.status_code, 200)
        self.assertTrue(answer.json()["done"])
        self.assertIn("At once.", answer.json()["message"]["content"])

    def test_a_request_that_makes_no_sense_is_told_so(self):
        for body in [b"{", b"{}", json.dumps(prompt("x", app="")).encode(), json.dumps(prompt("x", messages=[])).encode()]:
            answer = httpx.post(f"{self.url}/llmchat", content=body, timeout=PATIENCE)
            self.assertEqual(answer.status_code, 422, body)
            self.assertEqual(set(answer.json()), {"error", "code"})

    def test_conversations_at_once_do_not_mix(self):
        async def converse(client, number):
            app, word = f"crowd-{number}", f"word-{number}-"
            for text in [word, "What did I say?"]:
                async with client.stream("POST", f"{self.url}/llmchat", json=prompt(text, app)) as answer:
                    last = said([line async for line in answer.aiter_lines()])
            return word in last and last.count("word-") == 1

        async def crowd():
            async with httpx.AsyncClient(timeout=PATIENCE) as client:
                return await asyncio.gather(*[converse(client, number) for number in range(30)])

        self.assertTrue(all(asyncio.run(crowd())))

    def test_a_chat_board(self):
        self.assertEqual(httpx.post(f"{self.url}/postchatt", json={"name": "ann", "message": "hi"}).json(), {})
        board = httpx.get(f"{self.url}/getchatts").json()
        self.assertEqual(board[-1][:2], ["ann", "hi"])
        self.assertEqual(len(board[-1]), 4)


class AServerThatComesAndGoes(unittest.TestCase):
    def setUp(self):
        self.directory = Directory()
        self.addCleanup(self.directory.remove)

    def serve(self, **variables):
        server = Server(self.directory.path, **variables)
        self.addCleanup(server.stop)
        return server

    def test_a_conversation_outlives_a_kill_in_the_middle_of_an_answer(self):
        server = self.serve()
        ask(server, "The kettle is copper.")
        with httpx.stream("POST", f"{server.url}/llmchat", json=prompt("Cut me off."), timeout=PATIENCE) as answer:
            lines = answer.iter_lines()
            next(lines)
            server.kill()
            with self.assertRaises(httpx.TransportError):
                list(lines)

        again = self.serve()
        self.assertEqual(again.rows("SELECT message FROM chatts WHERE message LIKE 'Cut%'"), ["Cut me off."])
        # The turn that was cut off is kept for the record and not replayed.
        self.assertIn("The kettle is copper.", ask(again, "What did I say?"))

    def test_sigterm_lets_a_running_answer_end_and_stops_postgresql(self):
        server = self.serve()
        with httpx.stream("POST", f"{server.url}/llmchat", json=prompt("Let me finish."), timeout=PATIENCE) as answer:
            lines = answer.iter_lines()
            first = next(lines)
            server.process.terminate()
            rest = [first, *lines]
        self.assertIn("Let me finish.", said(rest))
        self.assertEqual(server.stop(), 0)
        self.assertFalse(pathlib.Path(self.directory.path, ".chatterd/postgres/postmaster.pid").exists())

    def test_a_second_server_in_the_directory_is_refused_with_a_reason(self):
        server = self.serve()
        second = subprocess.run(
            [PROGRAM, "serve", "--dev"], cwd=self.directory.path, capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"process {server.process.pid}", second.stderr)

    def test_health_says_whether_the_server_is_there(self):
        server = self.serve()
        environment = os.environ | {"CHATTERD_LISTEN": urllib.parse.urlsplit(server.url).netloc}
        health = lambda: subprocess.run([PROGRAM, "health"], env=environment, capture_output=True, timeout=PATIENCE)
        self.assertEqual(health().returncode, 0)
        server.stop()
        self.assertEqual(health().returncode, 1)

    def test_https_with_the_certificate_of_script_certificate(self):
        subprocess.run([TOP / "script/certificate", "127.0.0.1"], cwd=self.directory.path, check=True, capture_output=True)
        certificate, key = (f"{self.directory.path}/chatterd.{end}" for end in ("crt", "key"))
        self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
        server = self.serve(
            CHATTERD_TLS_LISTEN="127.0.0.1:0", CHATTERD_TLS_CERT=certificate, CHATTERD_TLS_KEY=key
        )
        url = server.expect(r"^listening on (https://\S+)").group(1)
        trust = ssl.create_default_context(cafile=certificate)
        trust.verify_flags |= ssl.VERIFY_X509_STRICT
        answer = httpx.post(f"{url}/llmchat", json=prompt("In secret.", stream=False), verify=trust, timeout=PATIENCE)
        self.assertIn("In secret.", answer.json()["message"]["content"])
        with self.assertRaises(httpx.ConnectError):
            httpx.get(url)


def ask(server, text):
    with httpx.stream("POST", f"{server.url}/llmchat", json=prompt(text), timeout=PATIENCE) as answer:
        return said(list(answer.iter_lines()))


def said(lines):
    """The text of a stream's lines, which must end with `done`."""
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert events[-1]["done"] and "error" not in events[-1], events[-1]
    return "".join(event["message"]["content"] for event in events)


if __name__ == "__main__":
    unittest.main()
