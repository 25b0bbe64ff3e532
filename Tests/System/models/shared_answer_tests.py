"""Tests that an answer through chatterd equals the answer of the model server itself."""

import json

from harness.client import post, stream
from models.model_server import known
from models.relay_test_case import RelayTestCase
from models.scripts import SCRIPTS, TOOL

WITHOUT_A_WORD = ("weather", "both", "san_francisco", "alice", "result")
TEXTS = [name for name in SCRIPTS if name not in ("think", "forever", *WITHOUT_A_WORD)]


def says(role, text, **more):
    return {"role": role, "content": text} | more


class Texts(RelayTestCase):
    """Tests that every provider passes. Subclasses have a `provider`."""

    def test_text_equals_the_text_of_the_model_server(self):
        for name in TEXTS:
            with self.subTest(name):
                self.assert_same(self.ask(name, app=f"{self.app}-{name}"), self.provider.ask([says("user", name)]))

    def test_an_answer_in_one_piece_is_the_same(self):
        for name in ("unicode", "adversarial", "think", "empty"):
            with self.subTest(name):
                status, answer = post(self.url, "/llmchat", self.body(name, app=f"{self.app}-{name}", stream=False))
                direct = self.provider.ask([says("user", name)])
                self.assertEqual((status, answer["done"]), (200, True))
                self.assertEqual(answer["message"]["content"], direct.text.replace("\0", "\ufffd"))
                self.assertEqual(answer["message"].get("thinking", ""), direct.thinking)

    def test_each_request_has_all_earlier_turns(self):
        said = [says("system", "Be brief.")]
        self.assertEqual(post(self.url, "/llmprep", self.body("", messages=said)), (200, {}))
        for name in ("count", "story", "unicode", "garbage", "adversarial", "think", "empty", "hello"):
            said.append(says("user", name))
            answer = self.ask(name)
            self.assert_same(answer, self.provider.ask(said))
            said.append(says("assistant", answer.text))

    def test_options_are_translated(self):
        wishes = [
            ("count", {"options": {"num_predict": 7, "temperature": 0, "seed": 5}}, {"max_tokens": 7}),
            ("count", {"options": {"stop": ["20"], "top_k": 1, "min_p": 0.5}}, {"stop": ["20"]}),
            ("json", {"format": "json"}, {"response_format": {"type": "json_object"}}),
        ]
        for index, (name, wish, translated) in enumerate(wishes):
            with self.subTest(wish):
                answer = self.ask(name, app=f"{self.app}-{index}", **wish)
                self.assert_same(answer, self.provider.ask([says("user", name)], **translated))
        self.assertEqual(self.ask("count", options={"num_predict": 7}).finish, "length")


class Answers(Texts):
    """Tests that most providers pass."""

    def test_thinking_is_separate_from_text(self):
        answer = self.ask("think")
        self.assert_same(answer, self.provider.ask([says("user", "think")]))
        self.assertNotEqual(answer.thinking, "")

    def test_tool_calls_come_whole(self):
        for name, count in (("weather", 1), ("both", 2)):
            with self.subTest(name):
                answer = self.ask(name, app=f"{self.app}-{name}", tools=[TOOL])
                self.assert_same(answer, self.provider.ask([says("user", name)], tools=[TOOL]))
                self.assertEqual([call["function"].get("index") for call in answer.raw_calls], list(range(count)))
                self.assertEqual(len({call["id"] for call in answer.raw_calls}), count)

    def test_the_answer_of_a_tool_goes_back_to_the_model(self):
        calls = self.ask("both", tools=[TOOL]).raw_calls
        results = [says("tool", f"-{index} °C", tool_call_id=call["id"]) for index, call in enumerate(calls)]
        answer = self.ask("", messages=results, tools=[TOOL])
        replayed = [{"id": call["id"], "type": "function", "function": dict(call["function"])} for call in calls]
        for function in (call["function"] for call in replayed):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        said = [says("user", "both"), says("assistant", "", tool_calls=replayed), *results]
        self.assert_same(answer, self.provider.ask(said, tools=[TOOL]))
        self.assertEqual(answer.text, known("result"))

    def test_tools_of_the_server_run_until_the_model_answers(self):
        for name, cities in (("weather", ["Oslo"]), ("both", ["Bergen", "Bodø"])):
            with self.subTest(name):
                app = f"{self.app}-{name}"
                with stream(self.url, self.body(name, app=app), path="/llmtools") as response:
                    answer = self.parse(response.read())
                self.assertEqual((answer.error, answer.text, answer.raw_calls), (None, known("result"), []))
                steps = self.stored(f"/conversations/{app}")["messages"][-1]["steps"]
                results = [(step["state"], json.loads(step["content"])["city"]) for step in steps if step["role"] == "tool"]
                self.assertEqual(results, [("done", city) for city in cities])

    def test_a_schema_is_respected(self):
        members = {"city": {"type": "string"}, "temp_c": {"type": "number"}, "tags": {"type": "array"}}
        schema = {"type": "object", "properties": members, "required": list(members)}
        shape = {"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}}
        answer = self.ask("json", format=schema)
        self.assert_same(answer, self.provider.ask([says("user", "json")], response_format=shape))

    def test_a_refusal_has_the_message_of_the_model_server(self):
        answer = self.ask("", messages=[says("user", "count", images=["iVBORw0KGgoAAAANSUhEUg=="])])
        self.assertIn("image input is not supported", answer.last["error"])
        self.assertEqual((answer.text, answer.kinds), ("", ["error"]))
