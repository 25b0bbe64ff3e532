"""LiteLLM's library, as a client of each dialect, at the front doors of a chatterd with a real llama.cpp server behind it.

Run by script/test models.
"""

import json
import os

# Otherwise it fetches a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import openai

from harness.machine import TIMEOUT
from models import door_cases
from models.door_cases import FIELDS, Client
from models.model_server import MODEL
from models.scripts import TOOL
from models.shared_answer_tests import says


class LiteLLM(Client):
    provider, path, error = "", "", openai.APIStatusError

    def ask(self, messages, model=MODEL, **more):
        return litellm.completion(
            model=f"{self.provider}/{model}", messages=messages, api_base=self.url + self.path, api_key="none",
            extra_headers=FIELDS, num_retries=0, max_retries=0, timeout=TIMEOUT, **more)

    def whole(self, messages, tools=False, model=MODEL):
        message = self.ask(messages, model, **{"tools": [TOOL]} if tools else {}).choices[0].message
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        return message.content or "", calls, message

    def streamed(self, messages, model=MODEL):
        for chunk in self.ask(messages, model, stream=True):
            yield chunk.choices[0].delta.content or ""

    def answered(self, messages, answer):
        return [*messages, answer.model_dump(), says("tool", "cold", tool_call_id=answer.tool_calls[0].id)]


class OpenAI(LiteLLM):
    name, provider, path = "openai", "openai", "/v1"


class Ollama(LiteLLM):
    name = provider = "ollama_chat"


class Anthropic(LiteLLM):
    name = provider = "anthropic"


class DoorLiteLLMTests(door_cases.Cases):
    clients = (OpenAI, Ollama, Anthropic)
    # Its streams have no method to close them; doors/test_litellm.py has this case with a scripted model.
    test_a_stream_is_cancelled = None
