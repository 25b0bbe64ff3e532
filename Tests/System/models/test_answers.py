"""A real llama.cpp server through chatterd: its answers arrive unchanged.

Run by script/test models.
"""

import unittest

from harness.client import call, stop, stream
from models import shared_answer_tests
from models.model_server import MODEL, ModelServer, known
from models.relay_test_case import RelayTestCase
from models.scripts import TOOL
from models.shared_answer_tests import TEXTS, says


class DirectAnswerTests(unittest.TestCase):
    """The server answers directly, so that the comparisons below have content."""

    @classmethod
    def setUpClass(cls):
        cls.model = ModelServer(cls)

    def test_answers_equal_the_scripts(self):
        for name in TEXTS:
            with self.subTest(name):
                answer = self.model.ask([says("user", name)])
                self.assertEqual((answer.text, answer.finish, answer.error), (known(name), "stop", None))

    def test_thinking_and_calls_arrive(self):
        answer = self.model.ask([says("user", "think")])
        self.assertEqual(answer.text, "The answer is 4.")
        self.assertIn("That is four.", answer.thinking)
        answer = self.model.ask([says("user", "both")], tools=[TOOL])
        self.assertEqual([arguments["city"] for _, arguments in answer.calls], ["Bergen", "Bodø"])
        self.assertEqual((answer.text, answer.finish), ("", "tool_calls"))


class RelayedAnswerTests(shared_answer_tests.Answers):
    @classmethod
    def setUpClass(cls):
        cls.provider = ModelServer(cls)
        cls.serve(cls.upstream("llama", cls.provider.url))

    def test_models_are_listed_with_their_context(self):
        def listed():
            status, _, answer = call(self.url, "GET", "/models")
            self.assertEqual(status, 200)
            return {model["name"]: model for model in answer["models"]}.get(MODEL)

        # A server that does not list its models within two seconds is omitted for the moment.
        model = self.eventually(listed)
        self.assertEqual((model["upstream"], model.get("context")), ("llama", 4096))


class EndlessAnswerTests(RelayTestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = ModelServer(cls, "--slow")
        cls.serve(cls.upstream("llama", cls.model.url))

    def begun(self, lines):
        """Reads to the middle of the answer."""
        while b"again" not in (line := lines.readline()):
            self.assertTrue(line, "it has an end")
        self.assertEqual(self.model.busy, 1)

    def test_a_stop_frees_the_model_server(self):
        with stream(self.url, self.body("forever")) as lines:
            path = lines.headers["Location"]
            self.begun(lines)
            self.assertEqual(stop(self.url, path)[1]["state"], "cancelled")
            last = self.parse(b":" + lines.read()).last
        self.assertEqual((last["done_reason"], last["state"]), ("stop", "cancelled"))
        self.eventually(lambda: self.model.busy == 0)

    def test_a_disconnect_frees_the_model_server(self):
        with stream(self.url, self.body("forever", on_disconnect="cancel")) as lines:
            self.begun(lines)
        self.eventually(lambda: self.model.busy == 0)
