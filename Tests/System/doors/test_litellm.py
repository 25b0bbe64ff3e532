"""LiteLLM's library at the front doors, as a client of each dialect. Run by script/test --all doors."""

import json
import os
import subprocess
import sys

# Otherwise it fetches a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import openai

from doors.door_test_case import CALL, TOOL, DoorTestCase
from harness.machine import TIMEOUT
from harness.model import speech

TOOLS = [{"type": "function", "function": TOOL}]


def ask(provider, base, messages, model="m", **more):
    """Asks a model at an address with a provider of LiteLLM."""
    return litellm.completion(
        model=f"{provider}/{model}", messages=messages, api_base=base, api_key="none",
        extra_headers={"On-Disconnect": "cancel"}, num_retries=0, max_retries=0, timeout=TIMEOUT, **more)


def leave_after_the_first_text(provider, base):
    """Ends this process in the middle of a stream."""
    stream = ask(provider, base, [{"role": "user", "content": "Hi"}], stream=True)
    while not next(stream).choices[0].delta.content:
        pass
    os._exit(0)


class Cases:
    """The cases of each dialect. Subclasses name their `provider` and its `path`."""

    path = ""

    def ask(self, messages, model="m", **more):
        return ask(self.provider, self.url + self.path, messages, model, **more)

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = speech(40)
        self.says(*pieces)
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße 🐣"}]
        chunks = list(self.ask(messages, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), "".join(pieces))
        built = litellm.stream_chunk_builder(chunks, messages=messages)
        self.assertEqual((built.choices[0].finish_reason, built.usage.completion_tokens), ("stop", 7))
        messages += [{"role": "assistant", "content": "".join(pieces)}, {"role": "user", "content": "And?"}]
        whole = self.ask(messages, max_tokens=9)
        self.assertEqual(whole.choices[0].message.content, "".join(pieces))
        self.assertEqual((whole.usage.prompt_tokens, whole.usage.completion_tokens), (4, 7))
        self.assertEqual(self.model.exchange(1).prompts, [(m["role"], m["content"]) for m in messages])
        self.assertEqual(self.model.exchange(1).request["options"]["num_predict"], 9)

    def test_a_tool_is_called_and_answered(self):
        self.calls_then_says("Rain.")
        messages = [{"role": "user", "content": "Weather?"}]
        for stream in (False, True):
            with self.subTest(stream=stream):
                answer = self.ask(messages, tools=TOOLS, stream=stream)
                if stream:
                    answer = litellm.stream_chunk_builder(list(answer), messages=messages)
                self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
                call = answer.choices[0].message.tool_calls[0]
                self.assertEqual(
                    (call.function.name, json.loads(call.function.arguments)), ("weather", CALL["function"]["arguments"]))
        result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
        answer = self.ask(messages + [answer.choices[0].message.model_dump(), result], tools=TOOLS)
        self.assertEqual(answer.choices[0].message.content, "Rain.")
        sent = self.model.exchange(2).request["messages"]
        self.assertEqual(sent[1]["tool_calls"][0]["function"]["arguments"], CALL["function"]["arguments"])
        self.assertEqual((sent[2]["role"], sent[2]["content"]), ("tool", "rain"))

    def test_a_model_that_does_not_exist_is_an_error(self):
        with self.assertRaises(litellm.NotFoundError) as raised:
            self.ask([{"role": "user", "content": "Hi"}], model="none")
        self.assertIn("none", str(raised.exception))

    def test_an_error_in_a_stream_is_raised(self):
        self.fails_after("Half")
        received = ""
        with self.assertRaisesRegex(openai.APIError, "out of memory"):
            for chunk in self.ask([{"role": "user", "content": "Hi"}], stream=True):
                received += chunk.choices[0].delta.content or ""
        self.assertEqual(received, "Half")

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        # LiteLLM's streams have no method to close them, and something in it keeps those of OpenAI alive.
        client = "import sys; from doors import test_litellm; test_litellm.leave_after_the_first_text(*sys.argv[1:])"
        subprocess.run([sys.executable, "-B", "-c", client, self.provider, self.url + self.path], check=True, timeout=TIMEOUT)
        self.assert_model_is_left()


class OpenAITests(Cases, DoorTestCase):
    provider, path = "openai", "/v1"


class OllamaTests(Cases, DoorTestCase):
    provider = "ollama_chat"


class AnthropicTests(Cases, DoorTestCase):
    provider = "anthropic"


class ResponseTests(DoorTestCase):
    """Responses of LiteLLM."""

    def ask(self, input, **more):
        return litellm.responses(
            model="openai/m", input=input, api_base=f"{self.url}/v1", api_key="none",
            extra_headers={"On-Disconnect": "cancel", "X-App-ID": self.app}, timeout=TIMEOUT, **more)

    def test_a_conversation_is_continued_in_a_stream(self):
        pieces = speech(9)
        self.says(*pieces)
        first = self.ask("Grüße 🐣")
        self.assertEqual(first.output[0].content[0].text, "".join(pieces))
        events = list(self.ask("And?", previous_response_id=first.id, stream=True))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        self.assertEqual((text, events[-1].type), ("".join(pieces), "response.completed"))
        self.assertEqual(
            self.model.exchange(1).prompts, [("user", "Grüße 🐣"), ("assistant", "".join(pieces)), ("user", "And?")])
