"""Base class of the tests of the front doors: a chatterd in front of a scripted Ollama."""

from harness.chatterd import Server
from harness.machine import TIMEOUT
from harness.model import Model
from harness.reply_test_case import ReplyTestCase

TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ADMIN_TOKEN = "an-admin-token-of-the-test"
CALL = {"function": {"name": "weather", "arguments": {"city": "Ålesund", "days": 2}}}


class DoorTestCase(ReplyTestCase):
    """A server with a scripted Ollama behind it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model.names = ["m:latest"]

    @classmethod
    def serve(cls, **variables):
        # A failure is reported, and no other request is made.
        alone = {"CHATTERD_RESCUE_ATTEMPTS": "0", "CHATTERD_FAILOVER_ATTEMPTS": "0", "CHATTERD_KEEPALIVE": "1s",
                 "CHATTERD_ADMIN_TOKEN": ADMIN_TOKEN}
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, **alone | variables)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def calls(self):
        """The model calls a tool in answer to every prompt."""
        message = {"role": "assistant", "content": "", "tool_calls": [CALL]}
        self.model.script = lambda exchange: exchange.write({"message": message, "done": False})

    def calls_then_says(self, *pieces):
        """The model calls a tool, and answers when it has the result."""

        def script(exchange):
            if exchange.request["messages"][-1]["role"] == "tool":
                exchange.say(*pieces)
            else:
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [CALL]}, "done": False})

        self.model.script = script

    def fails_after(self, piece):
        """The model says something, and reports an error."""

        def script(exchange):
            exchange.say(piece)
            exchange.write({"error": "out of memory"})
            return Model.BREAK_OFF

        self.model.script = script

    def answers(self, *lines):
        """The model sends these lines and no more."""

        def script(exchange):
            for line in lines:
                exchange.write(line)
            exchange.finish()
            return Model.BREAK_OFF

        self.model.script = script

    def assert_model_is_left(self):
        """The client has closed its stream: the model is not asked any longer."""
        self.assertTrue(self.model.exchange().gone.wait(TIMEOUT))
