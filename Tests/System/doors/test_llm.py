"""The program `llm` with its plugin for Ollama, and its library, at the front door of Ollama. Run by script/test --all doors."""

import json
import os
import subprocess
import sys

from doors.door_test_case import CALL, DoorTestCase
from harness.machine import TIMEOUT, make_directory
from harness.model import speech

# A model in a conversation of its library that calls a tool.
CHAIN = """
import llm

def weather(city: str, days: int) -> str:
    "The weather of a city."
    return f"{city}, {days} days: rain"

conversation = llm.get_model("ollama/m:latest").conversation(tools=[weather])
print("".join(conversation.chain("Weather?")))
"""


class LLMTests(DoorTestCase):
    """Each command runs in a process of its own, with a directory of its own."""

    @classmethod
    def serve(cls):
        # The program sends no fields of ours: a reply without a reader is cancelled at once.
        super().serve(CHATTERD_DISCONNECT_GRACE="0s")

    def setUp(self):
        super().setUp()
        self.environment = os.environ | {"OLLAMA_HOST": self.url, "LLM_USER_PATH": make_directory(type(self))}

    def start(self, *arguments):
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, *arguments], env=self.environment, text=True, **pipes)

    def run_llm(self, *arguments):
        """The status, the output and the errors of a command."""
        with self.start("-m", "llm", *arguments) as process:
            output, errors = process.communicate(timeout=TIMEOUT)
            return process.returncode, output, errors

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = [piece.replace("\n", " ") for piece in speech(40)]
        self.says(*pieces)
        status, output, errors = self.run_llm("-m", "ollama/m:latest", "-s", "Be brief.", "-o", "seed", "7", "Grüße 🐣")
        self.assertEqual((status, output, errors), (0, "".join(pieces) + "\n", ""))
        status, output, errors = self.run_llm("-c", "--no-stream", "And?")
        self.assertEqual((status, output, errors), (0, "".join(pieces) + "\n", ""))
        self.assertEqual(
            self.model.exchange(1).prompts,
            [("system", "Be brief."), ("user", "Grüße 🐣"), ("assistant", "".join(pieces)), ("user", "And?")])
        self.assertEqual(self.model.exchange().request["options"]["seed"], 7)

    def test_a_tool_is_called_and_answered(self):
        self.calls_then_says("Rain.")
        with self.start("-c", CHAIN) as process:
            output, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, output, errors), (0, "Rain.\n", ""))
        sent = self.model.exchange(1).request["messages"]
        self.assertEqual(sent[1]["tool_calls"][0]["function"]["arguments"], CALL["function"]["arguments"])
        self.assertEqual((sent[2]["role"], sent[2]["content"]), ("tool", "Ålesund, 2 days: rain"))

    def test_an_answer_has_a_schema(self):
        self.says('{"name":"Oslo",', '"people":700000}')
        status, output, errors = self.run_llm("-m", "ollama/m:latest", "--schema", "name, people int", "A city.")
        self.assertEqual((status, json.loads(output), errors), (0, {"name": "Oslo", "people": 700_000}, ""))
        self.assertEqual(set(self.model.exchange().request["format"]["properties"]), {"name", "people"})

    def test_errors_are_reported(self):
        self.fails_after("Half")
        status, output, errors = self.run_llm("-m", "ollama/m:latest", "Hi")
        self.assertNotEqual(status, 0)
        self.assertIn("Half", output)
        self.assertIn("out of memory", errors)

    def test_every_model_is_listed(self):
        self.model.names = ["m:latest", "other:1b"]
        self.addCleanup(setattr, self.model, "names", ["m:latest"])

        def listed():
            _, output, _ = self.run_llm("models", "list")
            return all(f": ollama/{name}" in output for name in ("m:latest", "other:1b", "echo"))

        # The server asks its model servers for their models from time to time.
        self.eventually(listed)

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        with self.start("-m", "llm", "-m", "ollama/m:latest", "Hi") as process:
            self.assertEqual(process.stdout.read(3), "One")
            process.terminate()
        self.assert_model_is_left()
