"""A real model server with known answers, and its answers to direct requests."""

import contextlib
import json
import queue
import re
import socket
import subprocess
import threading

from harness.client import call, connect
from harness.machine import TIMEOUT, TOP, end_with_us
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


def listening(command, environment=None):
    """Runs a server; returns its process and its address, which it prints."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=end_with_us,
    )
    addresses = queue.Queue()
    threading.Thread(target=_read, args=(process.stdout, addresses), daemon=True).start()
    found = addresses.get(timeout=TIMEOUT)
    if not isinstance(found, re.Match):
        raise AssertionError(f"{command[0]} does not listen, it says only:\n{found}")
    return process, found[1]


def _read(log, addresses):
    """Reads a log to its end, so that its writer never blocks."""
    said = ""
    with log:
        for line in log:
            if found := re.search(r"(?:listening|running) on (http://[^\s/]+)", line.decode(errors="replace")):
                addresses.put(found)
            said += line.decode(errors="replace") if addresses.empty() else ""
    addresses.put(said)


class ModelServer(Provider):
    """`script/model-server` on a separate port, which it keeps after a restart."""

    def __init__(self, tests, *options):
        # No other program gets the port while it is down.
        holder = socket.socket()
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            holder.setsockopt(socket.SOL_SOCKET, option, 1)
        holder.bind(("127.0.0.1", 0))
        tests.addClassCleanup(holder.close)
        self.options, self.port = options, holder.getsockname()[1]
        self.start()
        tests.addClassCleanup(self.kill)

    def start(self):
        self.process, self.url = listening([TOP / "script/model-server", "--port", str(self.port), *self.options])

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)

    @property
    def busy(self):
        """The number of running requests."""
        return sum(slot["is_processing"] for slot in call(self.url, "GET", "/slots")[2])
