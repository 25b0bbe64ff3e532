"""Base class of the tests of real model servers: a chatterd in front of one, and helpers for client actions."""

import json

from harness.chatterd import Server
from harness.client import events, prompt, stream
from harness.machine import make_directory
from harness.reply_test_case import ServerTestCase
from models.model_server import MODEL, Answer
from models.scripts import TOOL


WEATHER = {"name": "get_weather", "description": "The weather of a city.", "parameters": TOOL["function"]["parameters"],
           "command": ["/bin/cat"], "parallel": True}
"""The tool of the server, which answers with its arguments."""
WORD = b'" 20,"'
"""In an answer that counts, the word at which a fault comes."""


class RelayTestCase(ServerTestCase):
    gate = None

    @classmethod
    def serve(cls, *upstreams, **variables):
        """Starts chatterd with these upstreams."""
        tools = json.dumps([WEATHER])
        cls.server = Server(make_directory(cls), CHATTERD_UPSTREAMS=json.dumps(upstreams), CHATTERD_TOOLS=tools, **variables)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    @staticmethod
    def upstream(name, url, model=MODEL, **more):
        return {"name": name, "kind": "openai", "url": url, "models": [model]} | more

    def body(self, text, **more):
        return prompt(text, more.pop("app", self.app), **{"model": MODEL} | more)

    def ask(self, text, **more):
        """The answer as a client gets it, which must equal the stored one."""
        with stream(self.url, self.body(text, **more)) as response:
            answer = self.parse(response.read())
            answer.path = response.headers["Location"]
        stored = self.stored(answer.path)
        self.assertEqual(stored["message"]["content"], answer.text)
        self.assertEqual(stored["message"].get("thinking", ""), answer.thinking)
        self.assertEqual(json.dumps(stored["message"].get("tool_calls", [])), json.dumps(answer.raw_calls))
        answer.state = stored["state"]
        return answer

    def parse(self, data):
        answer = Answer()
        answer.kinds, answer.raw_calls, answer.last = [], [], None
        for kind, _, line in events(data):
            self.assertIsNone(answer.last, "an event after the last one")
            answer.kinds.append(kind)
            if kind == "reset":
                answer.text, answer.thinking, answer.raw_calls = "", "", []
                continue
            if kind == "message":
                answer.text += line["message"]["content"]
                answer.thinking += line["message"].get("thinking", "")
                answer.raw_calls += line["message"].get("tool_calls", [])
            if line["done"]:
                answer.last = line
        self.assertIsNotNone(answer.last, "no end")
        answer.calls = [(call["function"]["name"], call["function"]["arguments"]) for call in answer.raw_calls]
        answer.error = answer.last.get("code")
        answer.finish = answer.last.get("done_reason")
        answer.prompt_tokens = answer.last.get("prompt_eval_count")
        answer.answer_tokens = answer.last.get("eval_count")
        return answer

    def assert_same(self, answer, direct):
        """Asserts that the client got the answer of the model server, and the model server the messages of the client."""
        self.assertEqual((answer.error, direct.error), (None, None))
        self.assertEqual(answer.text, direct.text.replace("\0", "\ufffd"))
        self.assertEqual(answer.thinking, direct.thinking.replace("\0", "\ufffd"))
        self.assertEqual(answer.called, direct.called)
        self.assertEqual(answer.finish, {"tool_calls": "stop"}.get(direct.finish, direct.finish))
        self.assertEqual(answer.prompt_tokens, direct.prompt_tokens)
        self.assertEqual(answer.answer_tokens, direct.answer_tokens)

    def cut_off(self, body, trouble):
        """The answer to a prompt that counts, with a fault of its model server in the middle."""
        if self.gate is not None:
            # The model server goes no further, so that the fault comes in time.
            self.gate.hold_at(WORD)
        with stream(self.url, body) as lines:
            read = b""
            while WORD not in read:
                self.assertTrue(line := lines.readline(), "it ended early")
                read += line
            trouble()
            answer = self.parse(read + lines.read())
        answer.stored = self.stored(lines.headers["Location"])
        self.assertEqual(answer.stored["message"]["content"], answer.text)
        return answer

    def assert_whole(self, answer, text, *makers):
        """Asserts that no word is missing or doubled, and that the parts name the right servers."""
        self.assertEqual((answer.error, answer.finish, answer.stored["state"]), (None, "stop", "complete"))
        self.assertEqual(answer.text, text)
        parts = answer.stored["parts"]
        self.assertEqual([part["upstream"] for part in parts], list(makers))
        ends = [part["to"] for part in parts]
        self.assertEqual([part["from"] for part in parts], [0, *ends[:-1]])
        self.assertEqual(ends[-1], len(text.encode()))
