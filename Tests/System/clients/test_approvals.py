"""Calls of tools that wait for an approval, while their server is killed. Run by script/test clients."""

import json
import pathlib

from harness.chatterd import Server
from harness.client import Reader, call, stream
from harness.reply_test_case import ReplyTestCase


class KilledServerTests(ReplyTestCase):
    @classmethod
    def serve(cls):
        cls.log = pathlib.Path(cls.directory) / "runs"
        program = ["/bin/sh", "-c", f'cat; echo "$CHATTERD_TOOL_KEY" >> {cls.log}']
        tools = [{"name": "act", "description": "Act", "command": program, "approve": "always"}]
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_TOOLS=json.dumps(tools))
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.log.write_text("")

        def script(exchange):
            last = exchange.request["messages"][-1]
            if last["role"] == "tool":
                exchange.say("Read: ", last["content"])
            else:
                tool_calls = [{"function": {"name": "act", "arguments": {"x": 1}}}]
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": tool_calls}, "done": False})

        self.model.script = script

    def ask(self):
        """Starts a reply, and waits until its call waits for an approval; returns its path."""
        with stream(self.url, self.body("Act.", on_disconnect="finish"), path="/llmtools") as response:
            path = response.headers["Location"]
        self.eventually(lambda: self.stored(path).get("approvals"))
        return path

    def answer(self, path, is_approved):
        return call(self.url, "POST", f"{path}/approvals", {"round": 0, "index": 0, "approve": is_approved})[0]

    def text(self, path):
        reader = Reader()
        self.assertEqual(reader.read(self.url, path), 200)
        return reader.text

    def test_call_still_waits_after_the_death_of_its_process(self):
        path = self.ask()
        self.server.kill()
        self.server.restart()
        # No process owns the reply yet, and it waits nevertheless.
        self.assertEqual(self.stored(path)["approvals"][0]["state"], "asked")
        self.assertEqual(self.answer(path, True), 200)
        self.assertEqual(self.text(path), 'Read: {"x":1}')
        self.assertEqual(len(self.log.read_text().splitlines()), 1)

    def test_confirmed_answer_outlives_the_process(self):
        for is_approved in (True, False, True):
            self.log.write_text("")
            path = self.ask()
            self.assertEqual(self.answer(path, is_approved), 200)
            self.server.kill()
            self.server.restart()
            text = self.text(path)
            runs = self.log.read_text().splitlines()
            if is_approved:
                # The call may have begun before the death; it never runs twice.
                self.assertLessEqual(len(runs), 1)
                self.assertTrue(text == 'Read: {"x":1}' or text.startswith("Read: The outcome of this call is unknown"), text)
            else:
                self.assertEqual((text, runs), ("Read: The person has refused this call.", []))
            # The answer that counts is the one that was confirmed.
            self.assertEqual([self.answer(path, is_approved), self.answer(path, not is_approved)], [200, 409])
