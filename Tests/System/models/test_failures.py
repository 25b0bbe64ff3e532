"""A real llama.cpp server that is killed, or whose context is full: the results of clients, and the continuation by chatterd.

Run by script/test models.
"""

import concurrent.futures
import signal

from harness.client import call, post
from harness.cutting_proxy import Gate
from models.model_server import ModelServer, known
from models.relay_test_case import RelayTestCase
from models.scripts import TOOL
from models.shared_answer_tests import says

COUNT = known("count")


class FailingModelServerTests(RelayTestCase):
    ROOM = 1024

    @classmethod
    def setUpClass(cls):
        cls.slow, cls.quick = ModelServer(cls, "--slow"), ModelServer(cls)
        cls.narrow, cls.gate = ModelServer(cls, "--context", str(cls.ROOM)), Gate(cls.slow.url, cls.addClassCleanup)
        upstreams = [cls.upstream("alone", cls.gate.url, "alone"), cls.upstream("narrow", cls.narrow.url, "narrow")]
        # The same two servers, for each kind of continuation.
        for way in ("prefill", "continue_final_message", "none"):
            upstreams.append(cls.upstream(f"{way}-1", cls.gate.url, way, priority=2))
            upstreams.append(cls.upstream(f"{way}-2", cls.quick.url, way, priority=1, continuation=way))
        upstreams.append(cls.upstream("stall-1", cls.gate.url, "stall", priority=2, silence_timeout=10))
        upstreams.append(cls.upstream("stall-2", cls.quick.url, "stall", priority=1, continuation="prefill"))
        limits = {"CHATTERD_FAILOVER_ATTEMPTS": "0", "CHATTERD_RESCUE_ATTEMPTS": "1"}
        cls.serve(*upstreams, CHATTERD_UPSTREAM_RESTART_WAIT="0", **limits)

    def setUp(self):
        super().setUp()
        if self.slow.process.poll() is not None:
            self.slow.start()

    def ask_and_kill(self, model):
        """The answer to a prompt, in the middle of which its model server is killed."""
        return self.cut_off(self.body("count", model=model), self.slow.kill)

    def test_an_answer_fails_honestly_and_is_replayed(self):
        before = self.ask("hello", model="alone")
        answer = self.ask_and_kill("alone")
        self.assertEqual((answer.kinds[-1], answer.last["retryable"]), ("error", True), answer.last)
        self.assertTrue(answer.text.startswith("1, 2, 3,") and COUNT.startswith(answer.text), answer.text)
        self.assertEqual(answer.stored["state"], "failed")
        self.assertEqual(self.ask("hello", model="alone", app="another").error, "upstream_unavailable")
        self.slow.start()
        said = [says("user", "hello"), says("assistant", before.text), says("user", "count"), says("assistant", answer.text), says("user", "story")]
        self.assert_same(self.ask("story", model="alone"), self.slow.ask(said))

    def test_another_server_continues_the_text(self):
        answer = self.ask_and_kill("prefill")
        self.assertNotIn("reset", answer.kinds)
        self.assert_whole(answer, COUNT, "prefill-1", "prefill-2")

    def test_another_server_continues_with_continue_final_message(self):
        answer = self.ask_and_kill("continue_final_message")
        self.assertNotIn("reset", answer.kinds)
        self.assert_whole(answer, COUNT, "continue_final_message-1", "continue_final_message-2")

    def test_another_server_continues_when_one_stalls(self):
        process = self.slow.process
        self.addCleanup(process.send_signal, signal.SIGCONT)
        answer = self.cut_off(self.body("count", model="stall"), lambda: process.send_signal(signal.SIGSTOP))
        self.assertNotIn("reset", answer.kinds)
        self.assert_whole(answer, COUNT, "stall-1", "stall-2")

    def test_another_server_restarts_the_answer_if_it_cannot_continue(self):
        answer = self.ask_and_kill("none")
        self.assertEqual(answer.kinds.count("reset"), 1)
        self.assert_whole(answer, COUNT, "none-2")

    def test_a_picture_for_a_model_of_text_is_refused_and_no_server_is_blamed(self):
        picture = [says("user", "count", images=["iVBORw0KGgoAAAANSUhEUg=="])]
        for index in range(3):
            answer = self.ask("", model="prefill", app=f"{self.app}-{index}", messages=picture)
            self.assertEqual((answer.kinds, answer.error), (["error"], "upstream_rejected"), answer.last)
            self.assertFalse(answer.last["retryable"])
        reported = call(self.url, "GET", "/models")[2]["upstreams"]
        health = {one["name"]: one["health"] for one in reported}
        self.assertEqual((health["prefill-1"], health["prefill-2"]), ("healthy", "unknown"))

    def test_a_tool_call_that_the_token_limit_cuts_is_left_out(self):
        answer = self.ask("weather", model="prefill", tools=[TOOL], options={"num_predict": 4})
        self.assertEqual((answer.error, answer.finish, answer.raw_calls), (None, "length", []))

    def test_a_conversation_that_grows_too_long_is_trimmed_and_answered(self):
        said, left_out = [says("system", "Be brief.")], []
        self.assertEqual(post(self.url, "/llmprep", self.body("", messages=said))[0], 200)
        for number in range(12):
            said.append(says("user", f"{number} " + "hello and so on, " * 8))
            answer = self.ask(said[-1]["content"], model="narrow")
            self.assertEqual((answer.error, answer.text), (None, known("hello")))
            receipt = self.stored(answer.path)["receipt"]
            left_out = [index for gap in receipt.get("left_out", []) for index in range(gap["from"], gap["to"] + 1)]
            sent = [message for index, message in enumerate(said, 1) if index not in left_out]
            direct = self.narrow.ask(sent)
            self.assertEqual((direct.error, direct.prompt_tokens), (None, answer.prompt_tokens))
            self.assertEqual((receipt["messages"], sent[0]), (len(sent), said[0]))
            said.append(says("assistant", answer.text))
        self.assertGreater(len(left_out), 4)

    def test_a_prompt_that_never_fits_is_refused_honestly(self):
        answer = self.ask("hello, " * 400, model="narrow")
        self.assertEqual((answer.kinds, answer.error, answer.last["retryable"]), (["error"], "context_too_long", False))
        self.assertEqual((answer.text, answer.state), ("", "failed"))
        self.assertEqual(self.ask("count", model="narrow").text, COUNT)

    def test_endless_answers_that_share_the_room_end_honestly(self):
        def ask(number):
            return self.ask("forever", model="narrow", app=f"forever-{number}")

        with concurrent.futures.ThreadPoolExecutor(3) as crowd:
            answers = list(crowd.map(ask, range(3)))
        endless = known("forever") * self.ROOM
        for answer in answers:
            self.assertTrue(answer.text and endless.startswith(answer.text), answer.text)
            reported = (answer.kinds[-1], answer.finish, answer.state)
            self.assertIn(reported, [("error", None, "failed"), ("message", "length", "complete")], answer.last)
        self.assertEqual(self.ask("count", model="narrow").text, COUNT)


class RestartedModelServerTests(RelayTestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = ModelServer(cls, "--slow")
        cls.serve(cls.upstream("llama", cls.model.url), CHATTERD_UPSTREAM_RESTART_WAIT="10m")

    def test_its_answer_is_restarted(self):
        def kill_and_start():
            self.model.kill()
            self.model.start()

        answer = self.cut_off(self.body("count"), kill_and_start)
        self.assertEqual(answer.kinds.count("reset"), 1)
        self.assert_whole(answer, COUNT, "llama")
