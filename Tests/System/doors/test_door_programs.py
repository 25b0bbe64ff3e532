"""The requests of programs, over a raw connection: `ollama run`, Open WebUI, oterm, gptme, Apple's client, Claude Code, Codex and GitHub
Copilot.

Each file in `fixtures` has the exchanges of one program. An exchange has a `request`; the pieces of the `model`; what of it the model
server is `asked`; and the `answer` with the status, the content type and the members that the program reads, as the original server
sends them. `ignored` is X-Ignored-Members, in any order. The other members are free. The requests of Claude Code, Codex, Copilot, and of
Open WebUI with OpenAI's API, are written after descriptions and not recorded. Run by script/test doors.
"""

import http.client
import json
import pathlib
import re
import socket
import urllib.parse

from doors.door_test_case import DoorTestCase
from harness.machine import TIMEOUT
from harness.model import Model

FIXTURES = pathlib.Path(__file__).with_name("fixtures")
KINDS = {
    "<any>": lambda value: True,
    "<array>": lambda value: isinstance(value, list),
    "<digest>": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value),
    "<empty>": lambda value: value == {},
    "<integer>": lambda value: type(value) is int,
    # A name that functions of OpenAI and its likes can have.
    "<name>": lambda value: isinstance(value, str) and re.fullmatch("[A-Za-z0-9_-]{1,64}", value),
    "<object>": lambda value: isinstance(value, dict),
    "<string>": lambda value: isinstance(value, str),
    # GitHub Copilot refuses older ones.
    "<version>": lambda value: re.fullmatch(r"\d+(\.\d+)+", value) and tuple(map(int, value.split("."))) >= (0, 6, 4),
    "<time>": lambda value: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", value),
}
COUNTS = {"load_duration": 11, "prompt_eval_duration": 12, "eval_duration": 13}


def difference(value, wanted, path="it"):
    """What a value lacks of what is wanted; an empty text if it lacks nothing."""
    if isinstance(wanted, str) and wanted in KINDS:
        return "" if KINDS[wanted](value) else f"{path} is not {wanted}: {value!r}"
    if isinstance(wanted, dict) and set(wanted) == {"<has>"}:
        found = isinstance(value, list) and any(not difference(one, wanted["<has>"]) for one in value)
        return "" if found else f"{path} has no {wanted['<has>']}: {value!r}"
    if isinstance(wanted, dict) and isinstance(value, dict):
        missing = [name for name in wanted if name not in value]
        faults = [difference(value[name], wanted[name], f"{path}.{name}") for name in wanted if name in value]
        return f"{path} lacks {missing}: {value!r}" if missing else next(filter(None, faults), "")
    if isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        return next(filter(None, (difference(*pair, f"{path}[{index}]") for index, pair in enumerate(zip(value, wanted)))), "")
    return "" if type(value) is type(wanted) and value == wanted else f"{path} is not {wanted!r}: {value!r}"


def expanded(value):
    """A body, with what it repeats."""
    if isinstance(value, dict) and "<times>" in value:
        copies = [json.loads(json.dumps(value["<value>"])) for _ in range(value["<times>"])]
        for number, copy in enumerate(copies):
            copy["function"]["name"] += str(number)
        return copies
    return {name: expanded(member) for name, member in value.items()} if isinstance(value, dict) else value


def script_of(pieces):
    """A script of the model server."""

    def script(exchange):
        for piece in pieces:
            if "error" in piece:
                exchange.write(piece)
                return Model.BREAK_OFF
            message = {"role": "assistant", "content": piece.get("text", "")}
            if "thinking" in piece:
                message["thinking"] = piece["thinking"]
            if "calls" in piece:
                message["tool_calls"] = piece["calls"]
            exchange.write({"message": message, "done": False})
            # Lines that arrive together may be sent as one event.
            exchange.leaves(within=0.05)
        exchange.end(**COUNTS)
        return Model.BREAK_OFF

    return script


DETAILS = {
    "parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"], "parameter_size": "1B",
    "quantization_level": "Q4_K_M",
}


class ProgramTests(DoorTestCase):
    def setUp(self):
        super().setUp()
        # For servers that ask the model server.
        self.model.shown = {
            "capabilities": ["completion", "tools"], "details": DETAILS, "model_info": {"llama.context_length": 4096},
            "modified_at": "2026-01-01T00:00:00Z",
        }

    def replay(self, name):
        """Sends the requests of a file over one connection."""
        fixture = json.loads((FIXTURES / f"{name}.json").read_text())
        address = urllib.parse.urlsplit(self.url)
        connection = socket.create_connection((address.hostname, address.port), TIMEOUT)
        self.addCleanup(connection.close)
        for number, exchange in enumerate(fixture["exchanges"]):
            request = exchange["request"]
            with self.subTest(fixture["client"], number=number, path=request["path"]):
                self.model.reset()
                self.model.script = script_of(exchange.get("model", ()))
                response = self.send(connection, address.netloc, request)
                body = response.read()
                self.compare(response, body.decode(), exchange["answer"])
                if "asked" in exchange:
                    self.assertEqual(difference(self.model.exchange().request, exchange["asked"]), "")

    def send(self, connection, host, request):
        body = json.dumps(expanded(request["body"]), ensure_ascii=False).encode() if "body" in request else b""
        fields = {"Host": host} | request["fields"] | ({"Content-Length": len(body)} if body else {})
        lines = [f"{request['method']} {request['path']} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        response = http.client.HTTPResponse(connection, method=request["method"])
        response.begin()
        # The program sends its next request over the same connection.
        self.assertFalse(response.will_close)
        return response

    def compare(self, response, text, answer):
        self.assertEqual(response.status, answer["status"], text)
        if "type" in answer:
            # The parameter `charset`, which Ollama adds, has no meaning for JSON (RFC 8259, section 11).
            self.assertEqual(response.headers["Content-Type"].split(";")[0], answer["type"])
        self.assertIsNone(response.headers["Content-Encoding"])
        self.assertEqual(set((response.headers["X-Ignored-Members"] or "").split(", ")), set(answer.get("ignored", "").split(", ")))
        if "body" in answer:
            self.assertEqual(difference(json.loads(text), answer["body"]), "")
        elif "lines" in answer:
            self.assertTrue(text.endswith("\n"), text)
            lines = [json.loads(line) for line in text.split("\n")[:-1]]
            self.assertEqual(difference(lines, answer["lines"]), "")
            self.assertFalse([line for line in lines[:-1] if "done_reason" in line])
        elif "events" in answer:
            self.assertTrue(text.endswith("\n\n"), text)
            events = []
            for block in text.split("\n\n")[:-1]:
                # Apple's client wants the space, and one line.
                found = re.fullmatch("data: (.*)", block)
                self.assertTrue(found, block)
                events.append("[DONE]" if found[1] == "[DONE]" else json.loads(found[1]))
            self.assertEqual(difference(events, answer["events"]), "")
        elif "named_events" in answer:
            self.assertTrue(text.endswith("\n\n"), text)
            events = []
            for block in text.split("\n\n")[:-1]:
                found = re.fullmatch(r"(?:event: ([a-z_.]+)\n)?data: (.*)|: .*", block)
                self.assertTrue(found, block)
                if found[2] == "[DONE]":
                    events.append(found[2])
                elif found[2] and found[1] != "ping":
                    events.append(json.loads(found[2]))
                    self.assertEqual(events[-1]["type"], found[1])
            self.assertEqual(difference(events, answer["named_events"]), "")

    def test_every_file_is_replayed(self):
        replayed = {name.removeprefix("test_").replace("_", "-") for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual({file.stem for file in FIXTURES.glob("*.json")}, replayed)

    def test_ollama_run(self):
        self.replay("ollama-run")

    def test_ollama_interactive(self):
        self.replay("ollama-interactive")

    def test_open_webui(self):
        self.replay("open-webui")

    def test_oterm(self):
        self.replay("oterm")

    def test_gptme(self):
        self.replay("gptme")

    def test_apple(self):
        self.replay("apple")

    def test_claude_code(self):
        self.replay("claude-code")

    def test_codex(self):
        self.replay("codex")

    def test_github_copilot(self):
        self.replay("github-copilot")

    def test_open_webui_openai(self):
        self.replay("open-webui-openai")
