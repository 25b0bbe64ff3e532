"""A real model server with known answers, and its answers to direct requests."""

import contextlib
import json

from harness.client import call, connect
from harness.machine import TOP, make_directory
from harness.server_process import ServerProcess
from models.scripts import SCRIPTS

MODEL = "scripted"


def known(name):
    """The text of a script as a client gets it: bytes that are not UTF-8 are replaced, as everywhere, and NUL by chatterd."""
    text = SCRIPTS[name]
    return text if isinstance(text, str) else text.decode(errors="replace")


class Answer:
    """One answer, joined from its pieces."""

    def __init__(self):
        self.text, self.thinking, self.calls, self.finish, self.error = "", "", [], None, None
        self.prompt_tokens = self.answer_tokens = None

    @property
    def called(self):
        """Names and arguments; as JSON, so that the order of keys counts."""
        return [(name, json.dumps(arguments)) for name, arguments in self.calls]


class Provider:
    """A server with OpenAI's API at an address, asked directly."""

    url, headers = None, {"Content-Type": "application/json"}

    def ask(self, messages, **more):
        """The answer of the server to a direct request."""
        body = {"model": MODEL, "messages": messages, "stream": True, "stream_options": {"include_usage": True}} | more
        answer, calls = Answer(), {}
        with connect(self.url) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), self.headers)
            stream = connection.getresponse().read().decode()
        for line in stream.split("\n"):
            with contextlib.suppress(json.JSONDecodeError):
                self._parse_event(json.loads(line.removeprefix("data: ")), answer, calls)
        answer.calls = [(name, json.loads(arguments)) for name, arguments in calls.values()]
        return answer

    @staticmethod
    def _parse_event(event, answer, calls):
        answer.error = event.get("error", answer.error)
        if usage := event.get("usage"):
            answer.prompt_tokens, answer.answer_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        for choice in event.get("choices", []):
            delta = choice["delta"]
            answer.text += delta.get("content") or ""
            answer.thinking += delta.get("reasoning_content") or ""
            answer.finish = choice.get("finish_reason") or answer.finish
            for piece in delta.get("tool_calls") or []:
                name, arguments = calls.get(piece["index"], ("", ""))
                function = piece["function"]
                name, arguments = name + (function.get("name") or ""), arguments + (function.get("arguments") or "")
                calls[piece["index"]] = (name, arguments)


class ProviderProcess(Provider, ServerProcess):
    """A provider of a class of tests, which listens when it is made."""

    def __init__(self, tests, name):
        super().__init__(make_directory(tests), name)
        tests.addClassCleanup(self.close)

    def start(self):
        super().start()
        self.url = self.expect(r"(?:listening|running) on (http://[^\s/]+)")[1]


class ModelServer(ProviderProcess):
    """`script/model-server`."""

    def __init__(self, tests, *options):
        super().__init__(tests, "llama-server")
        self.command = [TOP / "script/model-server", "--port", str(self.port), *options]
        self.start()

    @property
    def busy(self):
        """The number of running requests."""
        return sum(slot["is_processing"] for slot in call(self.url, "GET", "/slots")[2])
