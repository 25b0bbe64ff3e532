"""Calls of tools of the server in chatter. Run by script/test terminal."""

import json

from harness.chatterd import Server
from harness.client import call
from terminal.chatter_test_case import ChatterTestCase

TOOLS = [
    {"name": "echo_input", "description": "Echo", "command": ["/bin/cat"]},
    {"name": "delete_all", "description": "Delete", "command": ["/bin/cat"], "approve": "always"},
]


class ToolTests(ChatterTestCase):
    @classmethod
    def serve(cls):
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_TOOLS=json.dumps(TOOLS))
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def begin(self, *names):
        """The model calls the tools, and then says what it has read."""
        def script(exchange):
            last = exchange.request["messages"][-1]
            if last["role"] == "tool":
                exchange.say("Read: ", last["content"])
            else:
                calls = [{"function": {"name": name, "arguments": {"x": 1}}} for name in names]
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False})

        self.model.script = script
        terminal = self.open()
        terminal.expect("> ")
        terminal.enter("Hello")
        return terminal

    def leave(self, terminal):
        terminal.send("\x04")
        self.assertEqual(terminal.status(), 0)

    def test_call_is_a_line(self):
        terminal = self.begin("echo_input", "nothing")
        terminal.expect('[the server runs echo_input({"x":1})]\n')
        terminal.expect("[nothing: Error: there is no tool of this name.")
        terminal.expect("Read: Error: there is no tool")
        terminal.expect("> ")
        self.leave(terminal)

    def test_person_approves_and_refuses_calls(self):
        terminal = self.begin("delete_all", "delete_all")
        terminal.expect('[delete_all({"x":1}) waits for an approval]\n')
        terminal.expect("run delete_all? [y/n] ")
        terminal.enter("perhaps")
        terminal.expect("run delete_all? [y/n] ")
        terminal.enter("n")
        terminal.expect("run delete_all? [y/n] ")
        terminal.enter("y")
        terminal.expect('[the server runs delete_all({"x":1})]\n')
        terminal.expect('Read: {"x":1}\n> ')
        self.leave(terminal)
        states = [step["state"] for step in self.messages()[-1]["steps"] if step["role"] == "tool"]
        self.assertEqual(states, ["refused", "done"])

    def test_answer_of_another_device_counts(self):
        terminal = self.begin("delete_all")
        terminal.expect("run delete_all? [y/n] ")
        reply = self.messages()[-1]["id"]
        body = {"round": 0, "index": 0, "approve": False}
        self.assertEqual(call(self.url, "POST", f"/replies/{reply}/approvals", body)[0], 200)
        terminal.enter("y")
        terminal.expect("The call has been refused already.")
        terminal.expect("Read: The person has refused this call.\n> ")
        self.leave(terminal)

    def test_ctrl_c_at_a_question_stops_the_answer(self):
        terminal = self.begin("delete_all")
        terminal.expect("run delete_all? [y/n] ")
        terminal.send("\x03")
        terminal.expect("[stopped]")
        terminal.expect("> ")
        self.leave(terminal)
        self.assertEqual(self.messages()[-1]["state"], "cancelled")

