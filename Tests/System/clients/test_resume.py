"""Replies that are resumed after a cut, read by many, and read after the death of their server. Run by script/test clients."""

import concurrent.futures
import importlib.util
import json
import random
import subprocess
import threading
import unittest

from harness.client import Reader, call, read_until, said, stream
from harness.machine import TIMEOUT
from harness.model import Model, speech
from harness.reply_test_case import JSON, ReplyTestCase


class ResumedReplyTests(ReplyTestCase):
    def test_every_answer_has_the_location_of_its_reply(self):
        self.says("Here.")
        streamed = self.whole("One.")
        status, headers, _ = call(self.url, "POST", "/llmchat", self.body("Two.", stream=False))
        self.assertEqual(status, 200)
        for path in (streamed, headers["Location"]):
            self.assertRegex(path, r"^/replies/[A-Za-z0-9_-]{20,}$")
            self.assertEqual(self.stored(path)["message"], {"role": "assistant", "content": "Here."})
        self.assertNotEqual(streamed, headers["Location"])

    def test_curl_shows_events_before_the_answer_is_over(self):
        self.says_then_waits(["Eins, ", "zwei"], [", drei."])
        command = ["curl", "-sN", f"{self.url}/llmchat", "-d", json.dumps(self.body("Count."))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as curl:
            first = read_until(curl.stdout, b"zwei")
            self.proceed.set()
            rest = curl.stdout.read()
        self.assertEqual(curl.returncode, 0)
        self.assertEqual(said(first + rest), "Eins, zwei, drei.")

    def test_cuts_at_random_bytes_lose_and_double_no_text(self):
        pieces = speech(400)
        self.says(*pieces)
        dice = random.Random(3)
        path = self.start()
        for kind in ("live", "finished"):
            reader, connections = Reader(), 0
            while reader.last is None:
                connections += 1
                # Some connections end before the first event is whole, the first two in any case.
                reader.read(self.url, path, limit=dice.randrange(8000 if connections > 2 else 30))
            self.assert_has_all(reader, path)
            self.assertEqual(reader.text, "".join(pieces))
            self.assertEqual(reader.last["done_reason"], "stop")
            self.assertGreater(connections, 2, kind)
        self.assertEqual(len(self.model.exchanges), 1)

    def test_a_client_that_posted_continues_where_its_stream_was_cut(self):
        pieces = speech(60)
        self.says_then_waits(pieces[:30], pieces[30:])
        reader = Reader()
        with stream(self.url, self.body("Speak.")) as response:
            path = response.headers["Location"]
            reader.consume(response.read(3001))
        self.assertNotEqual(reader.text, "")
        self.proceed.set()
        self.assertEqual(reader.read(self.url, path), 200)
        self.assertEqual(reader.text, "".join(pieces))
        self.assert_has_all(reader, path)

    def test_curl_continues_after_it_was_killed(self):
        self.says(*speech(300))
        path, reader = self.start(), Reader()
        for limit in (1000, 5000, None):
            resume = [] if reader.id is None else ["-H", f"Last-Event-ID: {reader.id}"]
            with subprocess.Popen(["curl", "-sN", f"{self.url}{path}", *resume], stdout=subprocess.PIPE) as curl:
                reader.consume(curl.stdout.read(limit))
                curl.kill()
        self.assert_has_all(reader, path)

    @unittest.skipUnless(importlib.util.find_spec("httpx_sse"), "httpx-sse could not be installed")
    def test_an_sse_library_continues_with_the_last_id(self):
        import httpx
        from httpx_sse import connect_sse

        pieces, left = speech(100), [threading.Event(), threading.Event()]

        def script(exchange):
            # A late connection gets the existing text in one event: the next connection needs further text.
            exchange.say(*pieces[:20])
            exchange.until(left[0])
            exchange.say(*pieces[20:50])
            exchange.until(left[1])
            exchange.say(*pieces[50:])

        self.model.script = script
        for event in left:
            self.addCleanup(event.set)
        path, text, headers = self.start(), "", {}
        with httpx.Client(timeout=TIMEOUT) as client:
            for number in range(3):
                with connect_sse(client, "GET", f"{self.url}{path}", headers=headers) as source:
                    self.assertEqual(source.response.headers["Content-Type"].split(";")[0], "text/event-stream")
                    for event in source.iter_sse():
                        # The library makes an event of a separate `retry`.
                        self.assertNotEqual(event.data, "")
                        text += event.json()["message"]["content"]
                        headers = {"Last-Event-ID": event.id}
                        if number < 2:
                            break
                if number < 2:
                    left[number].set()
            self.assertEqual(client.get(f"{self.url}{path}", headers=headers).status_code, 204)
        self.assertEqual(text, self.stored(path)["message"]["content"])

    def get(self, path, *options):
        command = ["curl", "-sSf", f"{self.url}{path}", *options]
        return subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT).stdout

    def test_the_stream_begins_with_the_reconnection_time(self):
        self.says("Here.")
        path = self.whole()
        self.assertTrue(self.get(path).startswith(b"retry: 1000\n"))

    def test_the_last_id_may_stand_in_the_query(self):
        self.says(*speech(50))
        path = self.whole()
        first = Reader()
        first.read(self.url, path)
        position = len("".join(speech(20)).encode())
        for curl in ([f"{path}?last_event_id={position}"], [path, "-H", f"Last-Event-ID: {position}"]):
            second = Reader()
            second.text = "".join(speech(20))
            second.consume(self.get(*curl))
            self.assertEqual((second.text, second.id, second.last), (first.text, first.id, first.last))
        self.assertEqual(call(self.url, "GET", f"{path}?last_event_id={first.id}")[0], 204)

    def test_a_reader_at_the_end_gets_204_without_a_body(self):
        self.says("Over.")
        path, reader = self.whole(), Reader()
        self.assertEqual(reader.read(self.url, path), 200)
        self.assertRegex(reader.id, r"^\d+-end$")
        for _ in range(2):
            self.assertEqual(reader.read(self.url, path), 204)
        answer = subprocess.run(
            ["curl", "-si", "-H", f"Last-Event-ID: {reader.id}", f"{self.url}{path}"], capture_output=True
        ).stdout
        self.assertTrue(answer.startswith(b"HTTP/1.1 204 ") and answer.endswith(b"\r\n\r\n"), answer)

    def test_readers_that_join_at_any_time_get_the_same_text(self):
        pieces = speech(200)
        self.says_then_waits(pieces[:100], pieces[100:])
        path, half = self.start(), len("".join(pieces[:100]).encode())
        dice = random.Random(4)

        def read(number):
            reader = Reader()
            if number % 3 == 0:
                # Connects, reads a part of the first half, disconnects, and reconnects.
                reader.read(self.url, path, limit=dice.randrange(200, half // 2))
            if number == 20:
                self.proceed.set()
            reader.read(self.url, path)
            return reader

        with concurrent.futures.ThreadPoolExecutor(40) as crowd:
            readers = list(crowd.map(read, range(40)))
        self.assertEqual({reader.text for reader in readers}, {"".join(pieces)})
        self.assertEqual(len({reader.id for reader in readers}), 1)
        self.assertEqual(len(self.model.exchanges), 1)

    def test_an_id_beyond_the_reply_resets_the_reader(self):
        self.says("Short.")
        path = self.whole()
        reader = Reader()
        reader.id, reader.text = "999", "something else"
        self.assertEqual(reader.read(self.url, path), 200)
        self.assertEqual((reader.kinds[0], reader.text), ("reset", "Short."))

    def test_an_id_without_an_event_is_refused(self):
        self.says("Short.")
        path = self.whole()
        for strange in ("x", "-1", "1e3", "0.0", "5-End", "9" * 100):
            answer = call(self.url, "GET", path, headers={"Last-Event-ID": strange})
            self.assert_refused(answer, 422, "invalid_request")

    def test_a_reply_as_json(self):
        self.says_then_waits(["Eins, ", "zwei"], [", drei."])
        path = self.start()
        with stream(self.url, path=path) as lines:
            read_until(lines, b"zwei")
            running = self.stored(path)
            self.proceed.set()
            lines.read()
        self.assertEqual(running["done"], False)
        self.assertEqual((running["id"], running["model"]), (path.removeprefix("/replies/"), "m"))
        self.assertEqual((running["state"], running["message"]["content"]), ("streaming", "Eins, zwei"))
        done = self.stored(path)
        self.assertEqual((done["state"], done["done"], done["done_reason"]), ("complete", True, "stop"))
        self.assertEqual(done["message"], {"role": "assistant", "content": "Eins, zwei, drei."})
        self.assertEqual((done["attempt"], done["prompt_eval_count"], done["eval_count"]), (1, 1, 7))
        self.assertLess(done["created_at"], done["finished_at"])

    def test_replies_of_other_apps_and_unknown_replies_are_not_found(self):
        self.says("Mine.")
        path = self.whole()
        self.assertEqual(call(self.url, "GET", f"{path}?appID={self.app}", headers=JSON)[0], 200)
        for method, suffix in [("GET", ""), ("DELETE", ""), ("POST", "/regenerate"), ("POST", "/choose")]:
            answer = call(self.url, method, f"{path}{suffix}?appID=another")
            self.assert_refused(answer, 404, "reply_not_found")
        for strange in ("/replies/00000000-0000-4000-8000-000000000000", "/replies/x", "/replies/%20", f"{path}0"):
            for headers in ({}, JSON):
                status, _, answer = call(self.url, "GET", strange, headers=headers)
                self.assertEqual((status, answer["code"]), (404, "reply_not_found"), strange)
        self.assertEqual(self.stored(path)["message"]["content"], "Mine.")

    def test_a_failure_is_the_last_event_for_every_reader(self):
        def script(exchange):
            exchange.say("So far ")
            return Model.BREAK_OFF

        self.model.script = script
        path = self.start()
        readers = [Reader() for _ in range(2)]
        for reader in readers:
            reader.read(self.url, path)
            self.assertEqual((reader.text, reader.kinds[-1]), ("So far ", "error"))
            self.assertEqual(reader.read(self.url, path), 204)
        self.assertEqual(readers[0].last, readers[1].last)
        stored = self.stored(path)
        self.assertEqual((stored["state"], stored["message"]["content"]), ("failed", "So far "))
        self.assertEqual(stored["code"], readers[0].last["code"])


class KilledServerTests(ReplyTestCase):
    def cut_off(self, **more):
        """Starts a reply and kills the server in the middle, when the text is journalled; returns a reader of its start."""
        self.says_then_waits(speech(30))
        path, reader = self.start(**more), Reader()
        with stream(self.url, path=path) as lines:
            read_until(lines, b"29 ")
        reader.text = "".join(speech(10))
        reader.id = str(len(reader.text.encode()))
        size = len("".join(speech(30)).encode())
        journalled = """
            SELECT max(text_at + octet_length(text)) FROM chatterd_sheet_pieces(
                ARRAY(SELECT id FROM chatts WHERE turn = seq AND state = 'streaming'))"""
        self.eventually(lambda: self.server.rows(journalled) == [str(size)])
        self.server.kill()
        return path, reader

    def test_its_reader_gets_the_text_so_far_and_an_honest_end(self):
        path, reader = self.cut_off()
        self.server.restart()
        self.assertEqual(reader.read(self.url, path), 200)
        self.assertEqual(reader.kinds[-1], "error")
        self.assertEqual((reader.last["code"], reader.last["retryable"]), ("interrupted", True))
        self.assertEqual(reader.text, "".join(speech(30)))
        self.assertEqual(reader.read(self.url, path), 204)
        stored = self.stored(path)
        self.assertEqual((stored["state"], stored["message"]["content"]), ("interrupted", reader.text))
        self.assertEqual(self.server.rows("SELECT count(*) FROM chatterd_journal"), ["0"])
        self.says("Again.")
        self.whole("And now?")
        self.assertEqual([text for _, text in self.model.exchanges[-1].prompts], ["Speak.", reader.text, "And now?"])

    def test_on_interrupt_regenerate_restarts_the_reply_under_its_id(self):
        path, reader = self.cut_off(on_interrupt="regenerate")
        self.says(*speech(8, "again"))
        self.server.restart()
        self.assertEqual(reader.read(self.url, path), 200)
        self.assertIn("reset", reader.kinds)
        self.assertEqual(reader.text, "".join(speech(8, "again")))
        self.assertTrue(reader.id.startswith("2~"), reader.id)
        stored = self.stored(path)
        self.assertEqual((stored["state"], stored["attempt"]), ("complete", 2))
        self.assertEqual(stored["message"]["content"], reader.text)
        self.assertEqual(self.model.exchanges[0].prompts, self.model.exchanges[1].prompts)
