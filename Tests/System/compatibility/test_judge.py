"""The judge itself: each disagreement of a program and the model server is a fault, and so is each difference to the catalogue."""

import base64
import types
import unittest

from compatibility import document, texts
from compatibility.catalogue import Entry
from compatibility.judge import Fault, Judge
from compatibility.run import Outcome
from compatibility.texts import FEATURES

ENTRY = Entry("program", "OpenAI", ("program",), "clients", "program:Program")


def request(*messages, said="", **members):
    """A request that the model server has got, and its answer."""
    sent = {"messages": [{"role": role, "content": content} | more for role, content, more in messages]} | members
    return types.SimpleNamespace(request=sent, said=said)


def user(text, **more):
    return "user", text, more


class JudgeTests(unittest.TestCase):
    def judge(self, feature, value, *asked, entry=ENTRY, errors=("openai.NotFoundError",)):
        Judge(types.SimpleNamespace(asked=list(asked)), entry, list(errors)).judge(feature, value)

    def assert_fault(self, pattern, *arguments, **options):
        with self.assertRaisesRegex(Fault, pattern):
            self.judge(*arguments, **options)

    def turns(self, *second):
        first = request(user(texts.FIRST), said="One.")
        return [first, request(user(texts.OTHER), said="Two."), request(*second, said="Three.")]

    def test_two_chats_that_are_apart_pass(self):
        asked = self.turns(user(texts.FIRST), ("assistant", "One.", {}), user(texts.SECOND))
        self.judge("two turns", ["One.", "Two.", "Three."], *asked)

    def test_a_message_of_another_chat_is_a_fault(self):
        asked = self.turns(user(texts.OTHER), user(texts.FIRST), ("assistant", "One.", {}), user(texts.SECOND))
        self.assert_fault("what the model server got", "two turns", ["One.", "Two.", "Three."], *asked)
        loose = Entry("program", "OpenAI", ("program",), "clients", "program:Program", is_exact=False)
        self.assert_fault("in another chat", "two turns", ["One.", "Two.", "Three."], *asked, entry=loose)

    def test_a_missing_turn_is_a_fault(self):
        self.assert_fault("what the model server got", "two turns", ["One.", "Two.", "Three."], *self.turns(user(texts.SECOND)))

    def test_another_request_is_a_fault(self):
        asked = self.turns(user(texts.FIRST), ("assistant", "One.", {}), user(texts.SECOND))
        self.assert_fault("number of requests", "two turns", ["One.", "Two.", "Three."], *asked, request(user("A title.")))

    def test_a_stream_in_one_piece_or_with_another_text_is_a_fault(self):
        asked = request(user(texts.STREAM))
        self.judge("stream", texts.PIECES, asked)
        self.assert_fault("one piece", "stream", ["".join(texts.PIECES)], asked)
        self.assert_fault("the answer", "stream", texts.PIECES[:-1], asked)

    def test_a_function_must_run_and_its_result_must_arrive(self):
        value = {"text": texts.RAIN, "calls": [texts.ARGUMENTS]}
        called = "assistant", "", {"tool_calls": [{"function": {"name": "weather", "arguments": texts.ARGUMENTS}}]}
        first, last = request(user(texts.WEATHER)), ("tool", texts.RESULT, {})
        self.judge("tools", value, first, request(user(texts.WEATHER), called, last))
        self.assert_fault("calls", "tools", value | {"calls": []}, first, request(user(texts.WEATHER), called, last))
        self.assert_fault("results", "tools", value, first, request(user(texts.WEATHER), called))
        self.assert_fault("arguments", "tools", value, first, request(user(texts.WEATHER), last))

    def test_an_error_has_its_class_and_names_the_model(self):
        value = {"classes": ["openai.NotFoundError", "builtins.Exception"], "text": f"model '{texts.UNKNOWN}' not found"}
        self.judge("error", value)
        self.assert_fault("is none of", "error", value | {"classes": ["builtins.Exception"]})
        self.assert_fault("does not name", "error", value | {"text": "not found"})
        self.assert_fault("answered", "error", value, request(user(texts.FIRST), said="Hello."))

    def test_another_text_or_picture_is_a_fault(self):
        self.judge("unicode", texts.UNICODE, request(user(texts.UNICODE)))
        self.assert_fault("the answer", "unicode", texts.UNICODE[:-1], request(user(texts.UNICODE)))
        picture = base64.b64encode(texts.IMAGE).decode()
        self.judge("image", texts.SEEN, request(user(texts.PICTURE, images=[picture])))
        self.assert_fault("number of pictures", "image", texts.SEEN, request(user(texts.PICTURE)))

    def test_a_schema_must_arrive(self):
        schema = {"type": "object", "properties": {"name": {}, "people": {}}}
        self.judge("structured output", texts.PLACE, request(user(texts.CITY), format=schema))
        self.assert_fault("no schema", "structured output", texts.PLACE, request(user(texts.CITY)))
        self.assert_fault("the object", "structured output", texts.PLACE | {"people": 1}, request(user(texts.CITY), format=schema))

    def test_vectors_and_names_are_compared(self):
        vectors = list(texts.VECTORS.values())
        asked = types.SimpleNamespace(request={"input": texts.INPUTS})
        self.judge("embeddings", vectors, asked)
        self.assert_fault("vectors", "embeddings", vectors[::-1], asked)
        self.judge("models", ["echo", texts.MODEL])
        self.assert_fault("no model", "models", ["echo"])


class TableTests(unittest.TestCase):
    def test_regressions_and_repairs_differ_from_the_catalogue(self):
        known = Entry("program", "OpenAI", ("program",), "clients", "program:Program", {"keys stream": "It waits."})
        fails = Outcome(["stream"], ["1.0"], {("keys", "stream"): "no answer"})
        works = Outcome(["stream"], ["1.0"])
        self.assertEqual((fails.surprises(known, []), works.surprises(ENTRY, [])), ([], []))
        self.assertIn("no answer", fails.surprises(ENTRY, [])[0])
        self.assertIn("it works", works.surprises(known, [])[0])
        self.assertEqual(works.surprises(known, ["error"]), [])

    def test_a_cell_names_the_mode_that_works(self):
        known = Entry("program", "OpenAI", ("program",), "clients", "program:Program", {"keys stream": "Why.", "image": "Why."})
        line = document.row(known, Outcome(["stream", "image", "error"], ["1.0"]), document.notes([known]))
        cells = dict(zip(FEATURES, line.strip("| ").split(" | ")[3:], strict=True))
        self.assertEqual((cells["stream"], cells["image"], cells["error"]), ("open [1](#notes)", "✗ [1](#notes)", "✓"))
        self.assertEqual(cells["models"], "–")
