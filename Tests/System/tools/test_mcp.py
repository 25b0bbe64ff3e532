"""chatterd with servers of tools: those of PyPI's packages for the Model Context Protocol, in both revisions, by HTTP and as programs.

`MCP_PYTHON` has mcp 2, fastmcp and openai-agents, `MCP_1_PYTHON` has mcp 1.
"""

import asyncio
import json
import os
import pathlib
import subprocess

import openai
from openai.types.responses import response_output_item

from harness.chatterd import PROGRAM, Server
from harness.client import events, stream
from harness.machine import TIMEOUT
from harness.program import Program
from harness.reply_test_case import ReplyTestCase

SERVER = str(pathlib.Path(__file__).with_name("mcp_server.py"))
AGENT = str(pathlib.Path(__file__).with_name("agent.py"))
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


def calls_twice(exchange):
    """The model calls a tool in two requests, and answers with the last result."""
    results = [text for role, text in exchange.prompts if role == "tool"]
    if len(results) == 2:
        return exchange.say(results[-1])
    call = {"function": {"name": exchange.prompts[0][1], "arguments": {"a": 1, "b": 2}}}
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
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", default_headers={"X-App-ID": "responses"})
        for package, server in self.servers.items():
            with self.subTest(package):
                label = f"{package}_http"
                tool = {"type": "mcp", "server_label": label, "server_url": f"http://127.0.0.1:{server.port}/mcp",
                        "allowed_tools": ["add", "fail"], "require_approval": "never"}
                asked = {"model": "m", "input": f'{label}_add {{"a": 40, "b": 2}}', "tools": [tool]}
                response = client.responses.create(**asked)
                self.assertRegex(response.output_text, "^42 by ")
                self.assertEqual(response.tools[0].server_label, label)
                listed, call, message = response.output
                self.assertIsInstance(listed, response_output_item.McpListTools)
                self.assertEqual(([tool.name for tool in listed.tools], listed.server_label), (["add", "fail"], label))
                self.assertIn("a", listed.tools[0].input_schema["properties"])
                self.assertIsInstance(call, response_output_item.McpCall)
                self.assertEqual((call.name, call.server_label, call.status, call.error), ("add", label, "completed", None))
                self.assertEqual((json.loads(call.arguments), call.output), ({"a": 40, "b": 2}, response.output_text))
                self.assertEqual(client.responses.retrieve(response.id), response)
                names = [tool["function"]["name"] for tool in self.model.exchanges[-1].request["tools"]]
                self.assertEqual(names, [f"{label}_add", f"{label}_fail"])
                self.check_stream(client, asked)
                failed = client.responses.create(**asked | {"input": f"{label}_fail"}).output[1]
                self.assertEqual((failed.status, failed.output, failed.error.type), ("failed", None, "mcp_tool_execution_error"))
                self.assertRegex(failed.error.content[0]["text"], "^Error: .*fail")

    def check_stream(self, client, asked):
        """The events have the items of the response, and continue after each of them."""
        with client.responses.create(**asked, stream=True) as stream:
            events = list(stream)
        final = events[-1].response
        self.assertRegex("".join(event.delta for event in events if event.type == "response.output_text.delta"), "^42 by ")
        self.assertEqual([event.item for event in events if event.type == "response.output_item.done"], final.output)
        self.assertEqual([event.type for event in events if "mcp" in event.type], [f"response.mcp_{name}" for name in (
            "list_tools.in_progress", "list_tools.completed", "call.in_progress", "call_arguments.delta", "call_arguments.done", "call.completed")])
        self.assertEqual(client.responses.retrieve(final.id), final)
        for index, event in enumerate(events):
            rest = list(client.responses.retrieve(final.id, stream=True, starting_after=event.sequence_number))
            self.assertEqual(rest, events[index + 1:])
        with client.responses.stream(**asked) as stream:  # the package puts the items together from the events
            types = [item.type for item in stream.get_final_response().output]
        self.assertEqual(types, ["mcp_list_tools", "mcp_call", "message"])

    def test_request_limits_the_calls(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none")
        self.model.script = calls_twice
        tool = {"type": "mcp", "server_label": "mcp_http", "require_approval": "never"}
        response = client.responses.create(model="m", input="mcp_http_add", tools=[tool], max_tool_calls=1)
        self.assertEqual([(item.type, item.status) for item in response.output[1:]],
                         [("mcp_call", "completed"), ("mcp_call", "failed"), ("message", "completed")])
        self.assertEqual(response.max_tool_calls, 1)
        self.assertIn("max_tool_calls", response.output_text)

    def test_agents_use_tools_of_a_server(self):
        prompts = ['mcp_http_add {"a": 1, "b": 2}', 'mcp_http_add {"a": 3, "b": 4}', 'mcp_http_add {"a": 5, "b": 6}']
        roles = ["user", "assistant", "tool", "assistant"]
        for kind in ("list", "previous", "conversation"):
            with self.subTest(kind):
                told = self.run_agent(kind, "never", prompts)
                for said, total in zip(told, (3, 7, 11), strict=True):
                    self.assertRegex(said["text"], f"^{total} by ")
                    self.assertIn("mcp_call", said["items"])
                self.assertIn("response.mcp_call.completed", told[1]["events"])
                # The model gets each call of the earlier answers once.
                sent = [message["role"] for message in self.model.exchanges[-1].request["messages"]]
                self.assertEqual(sent, roles * 2 + roles[:3])

    def run_agent(self, kind, approval, prompts):
        command = [PYTHONS["mcp"], AGENT, f"{self.url}/v1", "mcp_http", kind, approval, *prompts]
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_agents_approve_calls(self):
        prompts = ['mcp_http_add {"a": 1, "b": 2}', 'mcp_http_add {"a": 3, "b": 4}']
        for kind in ("list", "previous"):
            with self.subTest(kind):
                for said, total in zip(self.run_agent(kind, "always", prompts), (3, 7), strict=True):
                    self.assertRegex(said["text"], f"^{total} by ")
                    kinds = [item for item in said["items"] if item != "mcp_list_tools"]
                    self.assertEqual(kinds, ["mcp_approval_request", "mcp_approval_response", "mcp_call", "message"])
                sent = [message["role"] for message in self.model.exchanges[-1].request["messages"]]
                self.assertEqual(sent, ["user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant", "tool"])

    def test_response_asks_for_an_approval(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", default_headers={"X-App-ID": "approvals"})
        tool = {"type": "mcp", "server_label": "mcp_http", "require_approval": {"never": {"tool_names": ["fail"]}}}
        for approve in (True, False):
            with self.subTest(approve):
                first = client.responses.create(model="m", input='mcp_http_add {"a": 40, "b": 2}', tools=[tool])
                asked = first.output[-1]
                self.assertIsInstance(asked, response_output_item.McpApprovalRequest)
                self.assertEqual((asked.name, asked.server_label, json.loads(asked.arguments)), ("add", "mcp_http", {"a": 40, "b": 2}))
                answer = {"type": "mcp_approval_response", "approval_request_id": asked.id, "approve": approve}
                second = client.responses.create(model="m", input=[answer], previous_response_id=first.id, tools=[tool])
                self.assertRegex(second.output_text, "^42 by " if approve else "refused")
                calls = [item.approval_request_id for item in second.output if item.type == "mcp_call"]
                self.assertEqual(calls, [asked.id] if approve else [])
        self.assertRegex(client.responses.create(model="m", input="mcp_http_fail", tools=[tool]).output_text, "^Error: .*fail")

    def test_response_cannot_name_another_server(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none")
        declared = {"type": "mcp", "server_label": "mcp_http", "require_approval": "never"}
        url = f"http://127.0.0.1:{self.servers['mcp'].port}/mcp"
        for change in ({"server_label": "other"}, {"server_url": "http://127.0.0.1:9/mcp"}, {"server_url": url + "2"},
                       {"require_approval": "sometimes"}, {"server_label": "mcp_program", "server_url": url}):
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
