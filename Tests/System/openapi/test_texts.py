"""Requests with a very long text in each place: comparing, hashing or splitting one by its characters takes minutes.

Routes that need a small body (`Request.smallBodyLimit`) refuse these by their size, and are not asked.
"""

import copy
import json
import unittest

from harness.chatterd import Server
from harness.client import call, connect, prompt
from harness.machine import make_directory
from harness.model import Model

ADMIN_TOKEN = "the-token-of-the-administrator"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
# Swift puts the marks in order before it compares the text, in quadratic time: for these texts, longer than any timeout here.
MARKS = "a" + "\u0301" * 400_000 + "\u0323" * 400_000
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "required": ["x"]}}}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TURN = [{"role": "user", "content": "Hi"}]
USED = [*TURN, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "1", "content": "r"}, *TURN]
CHAT = {"model": "m", "stream": False}

# Method, path and body.
REQUESTS = [
    ("POST", "/llmchat", prompt("Hi", stream=False, on_disconnect="finish", on_interrupt="close", when_busy="refuse", conversation="c", parent="p")),
    ("POST", "/llmchat", prompt("Hi", stream=False, format="json", think="low", tools=[TOOL], options={"stop": ["x"]})),
    ("POST", "/llmchat", {"appID": "tools", "stream": False, "model": "m", "messages": USED}),
    ("POST", "/llmtools", prompt("Hi", stream=False, tools=[TOOL])),
    ("POST", "/llmprep", prompt("Hi", stream=False)),
    ("POST", "/llmprompt", prompt("Hi", stream=False, options={"stop": "x"})),
    ("POST", "/conversations", {"appID": "client", "conversation": "d", "title": "t"}),
    ("POST", "/api/chat", CHAT | {"messages": USED, "tools": [TOOL], "format": "json", "options": {"stop": ["x"]}}),
    ("POST", "/api/generate", CHAT | {"prompt": "p", "system": "s", "suffix": "x", "format": "json", "images": ["aGk="]}),
    ("POST", "/api/show", {"model": "m"}),
    ("POST", "/api/embed", {"model": "m", "input": ["a"]}),
    ("POST", "/v1/chat/completions", CHAT | {"messages": USED, "tools": [TOOL], "tool_choice": "auto", "user": "u", "metadata": {"k": "v"}}),
    ("POST", "/v1/chat/completions", CHAT | {"messages": [{"role": "user", "name": "n", "content": [{"type": "text", "text": "t"}]}]}),
    ("POST", "/v1/completions", CHAT | {"prompt": "p", "suffix": "s", "stop": ["x"]}),
    ("POST", "/v1/embeddings", {"model": "m", "input": "a", "encoding_format": "float", "user": "u"}),
    ("POST", "/v1/responses", CHAT | {"input": "i", "instructions": "n", "previous_response_id": "p", "truncation": "auto"}),
    ("POST", "/v1/responses", CHAT | {
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "t"}]},
            {"type": "function_call", "call_id": "1", "namespace": "n", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "o"},
        ],
        "tools": [
            {"type": "function", "name": "f", "parameters": {}},
            {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "f", "parameters": {}}]},
        ],
        "tool_choice": "auto", "include": ["reasoning.encrypted_content"],
    }),
    ("POST", "/v1/conversations", {"metadata": {"k": "v"}, "items": [{"type": "message", "role": "user", "content": "t"}]}),
    ("POST", "/v1/conversations/client/items", {"items": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "t"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "o"},
    ]}),
    ("POST", "/v1/messages", CHAT | {
        "max_tokens": 9, "system": [{"type": "text", "text": "s"}], "metadata": {"user_id": "u"}, "stop_sequences": ["x"],
        "messages": [
            *TURN, {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": "b"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "r"}]},
        ],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}], "tool_choice": {"type": "auto"},
    }),
    ("POST", "/v1/messages/count_tokens", {"model": "m", "messages": TURN}),
]


# The same, for the administrator.
REQUESTS_OF_THE_ADMINISTRATOR = [
    ("POST", "/upstreams", {"name": "n", "url": "http://127.0.0.1:9", "kind": "openai", "models": ["m"], "defaults": {"think": "low"}}),
]


def answer(exchange):
    if "model" not in exchange.request:
        return Model.BREAK_OFF
    return exchange.say("You ", "said ", "so.", pause=0)


def places(value, path=()):
    """The paths to all texts, and to all objects."""
    if isinstance(value, (dict, str)):
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def changed(body, path, text):
    """The body with a text in a place; an object gets a member of that name, and one of that value."""
    if not path:
        return body | {text: text}
    body = copy.deepcopy(body)
    holder = body
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder[path[-1]], dict):
        holder[path[-1]] |= {text: text}
    else:
        holder[path[-1]] = text
    return body


class TextTests(unittest.TestCase):
    """Each request gets an answer, and the server is still there."""

    def check(self, requests, headers=None, **variables):
        model = Model(type(self))
        model.script = answer
        server = Server(make_directory(type(self)), OLLAMA_URL=model.url, **variables)
        self.addCleanup(server.stop)
        for method, path, body in requests:
            for place in places(body):
                with self.subTest(path=path, place=place), connect(server.url) as connection:
                    sent = json.dumps(changed(body, place, MARKS), ensure_ascii=False).encode()
                    connection.request(method, path, sent, headers or {})
                    response = connection.getresponse()
                    response.read()
                    self.assertNotEqual(response.status, 500)
        self.assertEqual(call(server.url, "GET", "/healthz")[0], 200)

    def test_long_texts_of_apps(self):
        self.check(REQUESTS)

    def test_long_texts_of_the_administrator(self):
        self.check(REQUESTS_OF_THE_ADMINISTRATOR, ADMIN, CHATTERD_ACCESS="keys", CHATTERD_ADMIN_TOKEN=ADMIN_TOKEN)
