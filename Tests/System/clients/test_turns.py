"""Replies that are stopped, requested again, chosen and removed. Run by script/test clients."""

import concurrent.futures

from harness.client import Reader, call, post, read_until, stop, stream
from harness.machine import TIMEOUT
from harness.model import speech
from harness.reply_test_case import JSON, ReplyTestCase


class StopAndRetryTests(ReplyTestCase):
    def test_stopping_a_reply_ends_it_for_every_reader(self):
        self.says_then_waits(speech(10))
        readers = [Reader() for _ in range(3)]
        path = self.start()
        with concurrent.futures.ThreadPoolExecutor(3) as crowd:
            reading = [crowd.submit(reader.read, self.url, path) for reader in readers]
            with stream(self.url, path=path) as lines:
                read_until(lines, b"9 ")
                status, answer = stop(self.url, path)
            concurrent.futures.wait(reading, TIMEOUT)
        self.assertEqual((status, answer), (200, {"id": path.removeprefix("/replies/"), "state": "cancelled"}))
        self.assertTrue(self.model.exchange().gone.wait(TIMEOUT), "the model server was not released")
        for reader in readers:
            self.assertEqual(reader.kinds[-1], "message")
            self.assertEqual(
                [reader.last[key] for key in ("done", "done_reason", "state")], [True, "stop", "cancelled"]
            )
            self.assert_has_all(reader, path)
            self.assertEqual(reader.read(self.url, path), 204)
        self.assertEqual(readers[0].text, "".join(speech(10)))
        self.assertEqual(self.stored(path)["state"], "cancelled")
        again = call(self.url, "DELETE", path)
        self.assertEqual((again[0], again[2]), (200, answer))

    def test_a_finished_reply_cannot_be_stopped_any_more(self):
        self.says("Over.")
        path = self.whole()
        status, _, answer = call(self.url, "DELETE", path)
        self.assertEqual((status, answer["state"]), (200, "complete"))
        self.assertEqual(self.stored(path)["message"]["content"], "Over.")

    def test_a_request_chooses_the_disconnect_policy_of_its_reply(self):
        wishes = [({"on_disconnect": "cancel"}, {}), ({}, {"On-Disconnect": "cancel"}), ({"on_disconnect": 0}, {})]
        for body, headers in wishes:
            self.model.reset()
            self.proceed.clear()
            self.says_then_waits(["Listen "], ["on."])
            with stream(self.url, self.body("Speak.", **body), headers) as response:
                path = response.headers["Location"]
                read_until(response, b"Listen")
            self.assertTrue(self.model.exchange().gone.wait(TIMEOUT), "the model server was not released")
            stored = self.settled(path)
            self.assertEqual((stored["state"], stored["message"]["content"]), ("cancelled", "Listen "))
            self.assertEqual(set(self.model.exchange().request) & {"on_disconnect", "on_interrupt", "parent"}, set())
        for nonsense in ("sometimes", -1, [], 1e99):
            status, _ = post(self.url, "/llmchat", self.body("Speak.", on_disconnect=nonsense))
            self.assertEqual(status, 422, nonsense)

    def test_a_retry_with_the_key_finds_the_reply_running_and_finished(self):
        self.says_then_waits(speech(5), speech(5, "more"))
        key, body = {"Idempotency-Key": "once"}, self.body("Speak.", on_disconnect="finish")
        with stream(self.url, body, key) as response:
            path = response.headers["Location"]
            response.readline()
        texts = []
        for turn in range(2):
            with stream(self.url, body, key) as response:
                self.assertEqual(response.headers["Location"], path)
                self.proceed.set()
                reader = Reader()
                reader.consume(response.read())
                texts.append(reader.text)
        self.assertEqual(texts, ["".join(speech(5) + speech(5, "more"))] * 2)
        self.assertEqual(len(self.model.exchanges), 1)
        other = call(self.url, "POST", "/llmchat", body | {"model": "other"}, key)
        self.assert_refused(other, 409, "idempotency_key_reused")
        foreign = post(self.url, "/llmchat", body | {"appID": "foreign", "stream": False}, headers=key)
        self.assertEqual(foreign[0], 200)
        self.assertEqual(len(self.model.exchanges), 2)

    def test_thirty_retries_at_once_ask_the_model_once(self):
        self.says(*speech(20))
        key, body = {"Idempotency-Key": "crowd"}, self.body("Speak.", on_disconnect="finish")

        def ask(_):
            with stream(self.url, body, key) as response:
                reader = Reader()
                reader.consume(response.read())
                return response.headers["Location"], reader.text

        with concurrent.futures.ThreadPoolExecutor(30) as crowd:
            answers = set(crowd.map(ask, range(30)))
        self.assertEqual([text for _, text in answers], ["".join(speech(20))])
        self.assertEqual(len(self.model.exchanges), 1)
        self.assertEqual(self.server.rows(f"SELECT count(*) FROM chatts WHERE appid = '{self.app}'"), ["2"])

    def test_an_invalid_key_is_refused(self):
        self.says("Never.")
        for key in ("", "k" * 256, "two words", "Schlüssel".encode("latin-1")):
            status, _, _ = call(self.url, "POST", "/llmchat", self.body("Speak."), {"Idempotency-Key": key})
            self.assertEqual(status, 422, key)
        self.assertEqual(self.model.exchanges, [])


class BranchTests(ReplyTestCase):
    def asked(self, number=-1):
        """The texts of the request to the model."""
        return [text for _, text in self.model.exchanges[number].prompts]

    def test_another_answer_can_be_asked_for_and_either_chosen(self):
        self.says("first")
        first = self.whole("Question.")
        self.says("second")
        second = self.whole(path=f"{first}/regenerate")
        self.assertNotEqual(first, second)
        self.assertEqual(self.asked(), ["Question."])
        self.assertEqual(self.stored(first)["message"]["content"], "first")
        self.assertEqual(self.stored(second)["message"]["content"], "second")

        self.says("Yes.")
        self.whole("After the second.")
        self.assertEqual(self.asked(), ["Question.", "second", "After the second."])
        self.assertEqual(call(self.url, "POST", f"{first}/choose")[::2], (200, {}))
        self.whole("After the first.")
        self.assertEqual(self.asked(), ["Question.", "first", "After the first."])

    def test_a_running_reply_cannot_be_chosen_and_a_stopped_one_can(self):
        self.says_then_waits(["Half"])
        path = self.start()
        with stream(self.url, path=path) as lines:
            read_until(lines, b"Half")
        self.assert_refused(call(self.url, "POST", f"{path}/choose"), 409, "reply_not_complete")
        stop(self.url, path)
        self.assertEqual(call(self.url, "POST", f"{path}/choose")[::2], (200, {}))

    def test_a_prompt_may_follow_an_earlier_reply_or_the_start(self):
        call(self.url, "POST", "/llmprep", {"appID": self.app, "messages": [{"role": "system", "content": "Be."}]})
        self.says("a")
        first = self.whole("1")
        self.says("b")
        self.whole("2")
        self.whole("3", parent=first.removeprefix("/replies/"))
        self.assertEqual(self.asked(), ["Be.", "1", "a", "3"])
        self.whole("4")
        self.assertEqual(self.asked(), ["Be.", "1", "a", "3", "b", "4"])
        self.whole("5", parent="start")
        self.assertEqual(self.asked(), ["Be.", "5"])
        for strange in ("00000000-0000-4000-8000-000000000000", "x"):
            status, answer = post(self.url, "/llmchat", self.body("6", parent=strange))
            self.assertIn((status, answer["code"]), [(404, "reply_not_found"), (422, "invalid_request")])

    def test_a_regenerated_reply_can_come_in_one_piece_from_another_model(self):
        self.says("first")
        first = self.whole("Question.", options={"seed": 5})
        self.says("second")
        status, headers, answer = call(self.url, "POST", f"{first}/regenerate", {"stream": False, "model": "n"})
        self.assertEqual((status, answer["message"]["content"], answer["model"]), (200, "second", "n"))
        self.assertEqual(self.stored(headers["Location"])["model"], "n")
        request = self.model.exchanges[-1].request
        self.assertEqual((request["model"], request["options"]), ("n", {"seed": 5}))

    def test_a_removed_conversation_leaves_no_rows(self):
        secret = "rosebud"
        self.says_then_waits([f"{secret} one "], ["two"])
        first = self.start(f"{secret}?", {"Idempotency-Key": f"{secret}-key"})
        with stream(self.url, path=first) as lines:
            read_until(lines, secret.encode())
            self.proceed.set()
            lines.read()
        self.proceed.clear()

        def script(exchange):
            exchange.say(f"{secret} one ")
            exchange.until(self.proceed)
            # The process notices the removal with the next event.
            while not exchange.gone.is_set():
                exchange.say("and on ", pause=0.05)

        self.model.script = script
        running = self.start(f"{secret}!")
        reader = Reader()
        with stream(self.url, path=running) as lines:
            begun = read_until(lines, secret.encode())
            self.assertIn(secret, self.server.dump())
            self.assertEqual(call(self.url, "DELETE", f"/conversations/{self.app}")[::2], (200, {}))
            self.proceed.set()
            reader.consume(begun + lines.read())
        self.assertEqual((reader.kinds[-1], reader.last["code"]), ("error", "conversation_replaced"))
        self.assertTrue(self.model.exchange(1).gone.wait(TIMEOUT), "the model server was not released")
        for path in (first, running):
            self.assertEqual(call(self.url, "GET", path, headers=JSON)[0], 404)
        # Sheets keep the text of running replies for two minutes at most. Here their tables take turns at once.
        turn = "SELECT chatterd_turn_sheets(interval '0', 0, interval '0')"
        self.eventually(lambda: self.server.rows(turn) and secret not in self.server.dump())
        dump = self.server.dump()
        # The audit log keeps the name of what was deleted, and no other table does.
        kept = [line.split("\t") for line in dump.splitlines() if self.app in line]
        self.assertEqual([line[3] for line in kept], ["conversation_deleted"])
        self.assertEqual(call(self.url, "DELETE", f"/conversations/{self.app}")[::2], (200, {}))
        self.says("new")
        self.whole("Who are you?")
        self.assertEqual(self.asked(), ["Who are you?"])
