"""The library `llm` with its plugin for Ollama at the front door of a chatterd with a real llama.cpp server behind it.

Run by script/test models.
"""

import contextlib
import os

import llm
import ollama
from llm_ollama.models.chat import OllamaChatModel

from harness.machine import make_directory
from models import door_cases
from models.door_cases import FIELDS, Client
from models.model_server import MODEL


def get_weather(city: str, unit: str) -> str:
    """The weather of a city."""
    return "cold"


class LLM(Client):
    name, error = "llm", ollama.ResponseError

    def model(self, name):
        # An unlisted model has no entry in the library's list.
        return OllamaChatModel(model_id=f"ollama/{name}", ollama_name=name, capabilities=["completion", "tools"])

    def ask(self, messages, stream, model=MODEL, **more):
        made = {"system": llm.system, "user": llm.user, "assistant": llm.assistant}
        said = [made[message["role"]](message["content"]) for message in messages]
        return self.model(model).prompt(messages=said, stream=stream, **more)

    def whole(self, messages, tools=False, model=MODEL):
        if isinstance(messages, llm.Response):
            # It runs the tools, and sends the results.
            answer = messages.reply(stream=False)
        else:
            answer = self.ask(messages, False, model, tools=[get_weather] if tools else None)
        text = answer.text()
        return text, [(call.name, dict(call.arguments)) for call in answer.tool_calls()], answer

    def streamed(self, messages, model=MODEL):
        with contextlib.closing(iter(self.ask(messages, True, model))) as pieces:
            yield from pieces

    def answered(self, messages, answer):
        return answer


class DoorLLMTests(door_cases.Cases):
    clients = (LLM,)

    def setUp(self):
        super().setUp()
        fields = ",".join(f"{name}={value}" for name, value in FIELDS.items())
        os.environ |= {"OLLAMA_HOST": self.url, "OLLAMA_HEADERS": fields, "LLM_USER_PATH": make_directory(type(self))}

    def test_the_model_is_found(self):
        self.assertEqual(llm.get_model(f"ollama/{MODEL}").model_id, f"ollama/{MODEL}")
