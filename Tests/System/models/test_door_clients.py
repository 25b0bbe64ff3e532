"""The packages ollama, openai and anthropic at the front doors of a chatterd with a real llama.cpp server behind it.

Run by script/test models.
"""

import contextlib
import json

import anthropic
import ollama
import openai
import pydantic

from harness.machine import TIMEOUT
from models import door_cases
from models.door_cases import FIELDS, SLOW, Client
from models.model_server import MODEL, known
from models.scripts import TOOL
from models.shared_answer_tests import says

FUNCTION = TOOL["function"]


class Ollama(Client):
    name, error = "ollama", ollama.ResponseError

    def __init__(self, url):
        self.chat = ollama.Client(url, headers=FIELDS, timeout=TIMEOUT).chat

    def whole(self, messages, tools=False, model=MODEL):
        answer = self.chat(model, messages, tools=[TOOL] if tools else None)
        calls = [(call.function.name, dict(call.function.arguments)) for call in answer.message.tool_calls or ()]
        return answer.message.content, calls, answer.message

    def streamed(self, messages, model=MODEL):
        with contextlib.closing(self.chat(model, messages, stream=True)) as stream:
            for part in stream:
                yield part.message.content

    def answered(self, messages, answer):
        return [*messages, answer, says("tool", "cold", tool_name=FUNCTION["name"])]


class OpenAI(Client):
    """What both APIs of the package have."""

    error = openai.APIStatusError

    def __init__(self, url):
        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT, default_headers=FIELDS)


class ChatCompletions(OpenAI):
    name = "openai, chat completions"

    def whole(self, messages, tools=False, model=MODEL):
        more = {"tools": [TOOL]} if tools else {}
        message = self.client.chat.completions.create(model=model, messages=messages, **more).choices[0].message
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        return message.content or "", calls, message

    def streamed(self, messages, model=MODEL):
        with self.client.chat.completions.create(model=model, messages=messages, stream=True) as stream:
            for chunk in stream:
                yield chunk.choices[0].delta.content or ""

    def answered(self, messages, answer):
        return [*messages, answer.model_dump(exclude_none=True), says("tool", "cold", tool_call_id=answer.tool_calls[0].id)]


class Responses(OpenAI):
    name = "openai, responses"

    def whole(self, messages, tools=False, model=MODEL):
        more = {"tools": [{"type": "function", "strict": False} | FUNCTION]} if tools else {}
        answer = self.client.responses.create(model=model, input=messages, **more)
        calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        return answer.output_text, calls, answer

    def streamed(self, messages, model=MODEL):
        with self.client.responses.create(model=model, input=messages, stream=True) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    yield event.delta

    def answered(self, messages, answer):
        call = next(item for item in answer.output if item.type == "function_call")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "cold"}
        return [*messages, call.model_dump(), result]


class Anthropic(Client):
    name, error = "anthropic", anthropic.APIStatusError

    def __init__(self, url):
        client = anthropic.Anthropic(
            base_url=url, api_key="none", max_retries=0, timeout=TIMEOUT, default_headers=FIELDS)
        self.messages = client.messages

    @staticmethod
    def request(messages, model=MODEL):
        systems = [message["content"] for message in messages if message["role"] == "system"]
        rest = [message for message in messages if message["role"] != "system"]
        return {"model": model, "max_tokens": 500, "messages": rest} | ({"system": systems[0]} if systems else {})

    def whole(self, messages, tools=False, model=MODEL):
        schema = {"name": FUNCTION["name"], "description": FUNCTION["description"], "input_schema": FUNCTION["parameters"]}
        answer = self.messages.create(**self.request(messages, model), **{"tools": [schema]} if tools else {})
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, [(block.name, block.input) for block in answer.content if block.type == "tool_use"], answer

    def streamed(self, messages, model=MODEL):
        with self.messages.stream(**self.request(messages, model)) as stream:
            yield from stream.text_stream

    def answered(self, messages, answer):
        call = next(block for block in answer.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "cold"}
        return [*messages, says("assistant", answer.content), says("user", [result])]


class City(pydantic.BaseModel):
    """The script `json`."""

    city: str
    temp_c: float
    tags: list[str]


class DoorClientTests(door_cases.Cases):
    clients = (Ollama, ChatCompletions, Responses, Anthropic)

    def test_an_answer_is_parsed(self):
        client, city = OpenAI(self.url).client, City(city="Oslo", temp_c=-3.5, tags=["cold", "æ"])
        messages = [says("user", "json")]
        whole = client.chat.completions.parse(model=MODEL, messages=messages, response_format=City)
        self.assertEqual(whole.choices[0].message.parsed, city)
        self.assertEqual(client.responses.parse(model=MODEL, input="json", text_format=City).output_parsed, city)
        self.assertEqual(City.model_validate_json(
            ollama.Client(self.url).chat(MODEL, messages, format=City.model_json_schema()).message.content), city)

    def test_a_response_in_the_background_is_continued(self):
        responses = OpenAI(self.url).client.with_options(default_headers={"X-App-ID": self.app}).responses
        with responses.create(model=SLOW, input="count", background=True, stream=True) as stream:
            events = []
            for event in stream:
                events.append(event)
                if event.type == "response.output_text.delta" and "20" in event.delta:
                    break
        identity, last = events[0].response.id, events[-1].sequence_number
        events += responses.retrieve(identity, stream=True, starting_after=last)
        numbers = [event.sequence_number for event in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        self.assertEqual((text, events[-1].type), (known("count"), "response.completed"))
        self.assertEqual(responses.retrieve(identity).output_text, text)
