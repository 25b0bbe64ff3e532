"""A scripted model server, and two servers in front of it: one in each mode."""

from __future__ import annotations

import contextlib
import json
import threading
import types
from typing import Any

from compatibility import texts
from harness.chatterd import Server
from harness.client import call
from harness.machine import new_directory
from harness.model import Exchange, Model

ADMIN_TOKEN = "an-admin-token-of-the-test"
MODES = ("open", "keys")


class World:
    """The servers of a run."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.model = Model(types.SimpleNamespace(addClassCleanup=stack.callback), [f"{texts.MODEL}:latest"])
        self.model.shown = {"capabilities": ["completion", "tools", "vision"], "details": {}, "model_info": {}}
        self.model.script = self.answer
        self.proceed = threading.Event()
        stack.callback(self.proceed.set)
        self.urls: dict[str, str] = {}
        self.keys = {"open": "none"}
        self.servers = []
        for mode in MODES:
            # A client that has left is noticed at once, and a failure is reported without another request.
            server = Server(
                new_directory(f"compatibility-{mode}"), OLLAMA_URL=self.model.url, CHATTERD_ACCESS=mode, CHATTERD_ADMIN_TOKEN=ADMIN_TOKEN,
                CHATTERD_DISCONNECT_GRACE="0s", CHATTERD_RESCUE_ATTEMPTS="0", CHATTERD_FAILOVER_ATTEMPTS="0", CHATTERD_KEEPALIVE="1s")
            stack.callback(server.stop)
            self.servers.append(server)
            self.urls[mode] = server.url
        self.fresh_key("none")

    def fresh_key(self, app: str) -> None:
        """Makes the key that the next program uses."""
        status, _, made = call(self.urls["keys"], "POST", "/keys", {"app": app}, {"Authorization": f"Bearer {ADMIN_TOKEN}"})
        assert status == 201, made
        self.keys["keys"] = made["key"]

    def reset(self) -> None:
        """Forgets the requests of the feature before."""
        self.proceed.clear()
        self.model.reset()

    @property
    def asked(self) -> list[Exchange]:
        """The requests that the model server has got."""
        with self.model.changed:
            return list(self.model.exchanges)

    def answer(self, exchange: Exchange) -> Any:
        """The script of the model server: the last prompt of the request decides what it does."""
        request = exchange.request
        if "input" in request:
            inputs = [request["input"]] if isinstance(request["input"], str) else request["input"]
            exchange.write({"embeddings": [texts.VECTORS.get(text, [0, 0, 0]) for text in inputs], "prompt_eval_count": len(inputs)})
            exchange.finish()
            return Model.BREAK_OFF
        if "messages" not in request:
            # The older form, with one text.
            exchange.write({"embedding": texts.VECTORS[request["prompt"]]})
            exchange.finish()
            return Model.BREAK_OFF
        last = request["messages"][-1]
        prompts = [message["content"] for message in request["messages"] if message["role"] == "user" and message["content"]]
        text = next((prompt for prompt in reversed(prompts) if texts.CITY in prompt), prompts[-1] if prompts else "")
        functions = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
        if texts.FOREVER in text:
            exchange.say(f"{texts.BEGUN} ")
            # It ends when the client has left, or with the feature.
            exchange.until(self.proceed)
        elif texts.STREAM in text:
            exchange.say(texts.PIECES[0])
            exchange.until(self.proceed)
            exchange.say(*texts.PIECES[1:])
        elif texts.UNICODE in text:
            exchange.say(*(texts.UNICODE[start:start + 3] for start in range(0, len(texts.UNICODE), 3)))
        elif texts.WEATHER in text:
            weather = next((name for name in functions if "weather" in name.lower()), None)
            if last["role"] != "tool" and weather and not any(texts.RESULT in prompt for prompt in prompts):
                self.call(exchange, weather, texts.ARGUMENTS)
            elif "final_answer" in functions:
                self.call(exchange, "final_answer", {"answer": texts.RAIN})
            else:
                exchange.say(texts.RAIN)
        elif texts.CITY in text:
            name = next((name for name, function in functions.items() if holder(function["parameters"]) is not None), None)
            if name is None or last["role"] == "tool":
                exchange.say(*json.dumps(wrapped(request.get("format"), texts.PLACE), ensure_ascii=False).partition(","))
            else:
                self.call(exchange, name, wrapped(functions[name]["parameters"], texts.PLACE))
        elif "complete" in functions and text.startswith("<system>"):
            # An agent asks whether it has finished.
            self.call(exchange, "complete", {})
        elif texts.PICTURE in text:
            exchange.say(texts.SEEN)
        else:
            # The number of the answer is that of the request.
            number = self.asked.index(exchange)
            exchange.say(*texts.ANSWERS[min(number, 2)].partition(", "))

    @staticmethod
    def call(exchange: Exchange, name: str, arguments: Any) -> None:
        """The model calls a function."""
        exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": name, "arguments": arguments}}]}, "done": False})


def holder(schema: Any) -> list[str] | None:
    """The path to the object with the members of a city in a schema; None if there is none."""
    if not isinstance(schema, dict):
        return None
    definitions = schema.get("$defs", {})

    def search(part: Any, depth: int) -> list[str] | None:
        if "$ref" in part:
            part = definitions.get(part["$ref"].rpartition("/")[2], {})
        members = part.get("properties", {})
        if set(texts.PLACE) <= set(members):
            return []
        for name, member in members.items():
            if depth and isinstance(member, dict) and (path := search(member, depth - 1)) is not None:
                return [name, *path]
        return None

    return search(schema, 3)


def wrapped(schema: Any, value: Any) -> Any:
    """A city in the objects in which the schema has it."""
    for name in reversed(holder(schema) or []):
        value = {name: value}
    return value
