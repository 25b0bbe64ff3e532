"""chatterd with servers of tools: those of PyPI's packages for the Model Context Protocol, in both revisions, by HTTP and as programs.

`MCP_PYTHON` has mcp 2 and fastmcp, `MCP_1_PYTHON` has mcp 1.
"""

import asyncio
import json
import os
import pathlib
import subprocess

import openai

from harness.chatterd import PROGRAM, Server
from harness.client import events, stream
from harness.machine import TIMEOUT
from harness.program import Program
from harness.reply_test_case import ReplyTestCase

SERVER = str(pathlib.Path(__file__).with_name("mcp_server.py"))
PYTHONS = {"mcp": os.environ["MCP_PYTHON"], "fastmcp": os.environ["MCP_PYTHON"], "mcp1": os.environ["MCP_1_PYTHON"]}
CAST = [f"{package}_{way}" for package in PYTHONS for way in ("http", "program")]


def uses_tools(exchange):
    """The prompt is the name of a tool and its arguments. The model calls it, and answers with the result."""
    role, text = exchange.prompts[-1]
    if role == "tool":
        return exchange.say(text)
    name, _, arguments = text.partition(" ")
    call = {"function": {"name": name, "arguments": json.loads(arguments or "{}")}}
    exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})


class MCPTest(ReplyTestCase):
    old_log = 0
    """The length of the log of earlier processes."""

    @classmethod
    def serve(cls):
        cls.servers, entries = {}, []
        for package, python in PYTHONS.items():
            server = cls.servers[package] = Program(cls.directory, package)
            cls.addClassCleanup(server.stop)
            asyncio.run(server.launch([python, SERVER, package, str(server.port)]))
            entries.append({"name": f"{package}_http", "mcp": f"http://127.0.0.1:{server.port}/mcp", "allow_private": True})
            entries.append({"name": f"{package}_program", "mcp": [python, SERVER, package]})
        cls.tools = json.dumps(entries)
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_TOOLS=cls.tools)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.model.script = uses_tools
        # A program may take longer to start than a start of chatterd waits for it.
        self.eventually(lambda: all(f'"tool":"{name}","count":3' in self.server.log()[self.old_log:] for name in CAST))

    def ask(self, text):
        """The answer of the model, which is the result of the tool."""
        with stream(self.url, self.body(text), path="/llmtools") as response:
            return "".join(line["message"]["content"] for kind, _, line in events(response.read()) if kind == "message")

    def sum_by(self, name):
        """Calls a tool; returns the process that has run it."""
        answer = self.ask(f'{name}_add {{"a": 40, "b": 2}}')
        total, _, process = answer.partition(" by ")
        self.assertEqual(total, "42", answer)
        return int(process)

    def test_tools_of_all_servers_run(self):
        for name in CAST:
            with self.subTest(name):
                self.assertEqual(self.sum_by(name), self.sum_by(name))

    def test_tool_that_fails_is_a_result(self):
        for name in CAST:
            with self.subTest(name):
                self.assertRegex(self.ask(f"{name}_fail"), "^Error: .*fail")

    def test_arguments_of_the_wrong_type_reach_no_server(self):
        self.assertIn("do not fit their schema", self.ask('mcp_http_add {"a": "x", "b": 2}'))

    def test_program_that_dies_is_started_again(self):
        for package in PYTHONS:
            with self.subTest(package):
                first = self.sum_by(f"{package}_program")
                self.assertRegex(self.ask(f"{package}_program_die"), "^Error: the program has")
                self.assertNotEqual(self.sum_by(f"{package}_program"), first)

    def test_server_that_was_restarted_is_used_again(self):
        for package, server in self.servers.items():
            with self.subTest(package):
                first = self.sum_by(f"{package}_http")
                server.kill()
                self.assertRegex(self.ask(f'{package}_http_add {{"a": 1, "b": 2}}'), "^Error: ")
                asyncio.run(server.launch(server.command))
                self.assertNotEqual(self.sum_by(f"{package}_http"), first)

    def test_programs_do_not_outlive_their_server(self):
        processes = [self.sum_by(f"{package}_program") for package in PYTHONS]
        self.server.kill()
        self.eventually(lambda: not any(os.path.exists(f"/proc/{process}") for process in processes))
        MCPTest.old_log = len(self.server.log())
        self.server.restart()

    def test_response_has_tools_of_a_server(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none")
        for package, server in self.servers.items():
            with self.subTest(package):
                tool = {"type": "mcp", "server_label": f"{package}_http", "server_url": f"http://127.0.0.1:{server.port}/mcp",
                        "allowed_tools": ["add"], "require_approval": "never"}
                asked = {"model": "m", "input": f'{package}_http_add {{"a": 40, "b": 2}}', "tools": [tool]}
                response = client.responses.create(**asked)
                self.assertRegex(response.output_text, "^42 by ")
                self.assertEqual(response.tools[0].server_label, f"{package}_http")
                with client.responses.create(**asked, stream=True) as events:
                    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
                self.assertRegex(text, "^42 by ")
                names = [tool["function"]["name"] for tool in self.model.exchanges[-1].request["tools"]]
                self.assertEqual(names, [f"{package}_http_add"])

    def test_response_cannot_name_another_server(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none")
        declared = {"type": "mcp", "server_label": "mcp_http", "require_approval": "never"}
        url = f"http://127.0.0.1:{self.servers['mcp'].port}/mcp"
        for change in ({"server_label": "other"}, {"server_url": "http://127.0.0.1:9/mcp"}, {"server_url": url + "2"},
                       {"require_approval": "always"}, {"server_label": "mcp_program", "server_url": url}):
            with self.subTest(change), self.assertRaises(openai.BadRequestError) as refused:
                client.responses.create(model="m", input="mcp_http_add", tools=[declared | change])
            self.assertIn("tools[0].", refused.exception.message)
        self.assertEqual(self.model.exchanges, [])

    def test_list_of_the_command_has_all_tools(self):
        environment = {"PATH": os.environ["PATH"], "CHATTERD_TOOLS": self.tools}
        listed = subprocess.run([PROGRAM, "tools", "list"], env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        lines = sorted(line.partition(":")[0] for line in listed.stdout.splitlines() if not line.startswith("problem"))
        if not listed.returncode:  # a slow start of a program is a problem that the command names
            self.assertEqual(lines, sorted(f"{name}_{tool}" for name in CAST for tool in ("add", "die", "fail")))
