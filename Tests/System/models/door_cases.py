"""The cases of clients of other projects at the front doors of a chatterd with a real llama.cpp server behind it."""

import contextlib

from models.model_server import MODEL, ModelServer, known
from models.relay_test_case import RelayTestCase
from models.scripts import SCRIPTS
from models.shared_answer_tests import says

CALL = ("get_weather", {"city": "Oslo", "unit": "celsius"})
FIELDS = {"On-Disconnect": "cancel"}
"""A client that leaves must not keep the model busy."""
SLOW = "slow"
"""A model whose answers last long enough to be cancelled."""
ROOM = 1024
"""Tokens of the context."""


class Client:
    """A package as a client of one dialect. A message is a dictionary with a role and a content, or whatever `answered` appends."""

    name = ""
    error = Exception

    def __init__(self, url):
        self.url = url

    def whole(self, messages, tools=False, model=MODEL):
        """The text, the calls as pairs of name and arguments, and the answer itself."""
        raise NotImplementedError

    def streamed(self, messages, model=MODEL):
        """The pieces of the text; the client closes its stream when the iterator is closed."""
        raise NotImplementedError

    def answered(self, messages, answer):
        """The messages with the call of an answer, and its result `cold`."""
        raise NotImplementedError

    def status(self, error):
        """The status that an error reports."""
        return error.status_code


class Cases(RelayTestCase):
    """One server for all clients. Subclasses have the `clients`."""

    clients = ()

    @classmethod
    def setUpClass(cls):
        cls.model, cls.slow = ModelServer(cls, "--context", str(ROOM)), ModelServer(cls, "--slow")
        upstreams = [cls.upstream("llama", cls.model.url), cls.upstream("slow", cls.slow.url, SLOW)]
        # Without another server, which may have any model.
        cls.serve(*upstreams, OLLAMA_URL="", CHATTERD_FAILOVER_ATTEMPTS="0", CHATTERD_RESCUE_ATTEMPTS="0")

    def each(self, case):
        """Runs a case with each client."""
        for client in self.clients:
            with self.subTest(client.name):
                case(client(self.url))

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        def case(client):
            messages = [says("system", "Be brief."), says("user", "unicode")]
            text = "".join(client.streamed(messages))
            self.assertEqual(text, known("unicode"))
            messages += [says("assistant", text), says("user", "count")]
            self.assertEqual(client.whole(messages)[0], self.model.ask(messages).text)

        self.each(case)

    def test_a_tool_is_called_and_answered(self):
        def case(client):
            messages = [says("user", "weather")]
            text, calls, answer = client.whole(messages, tools=True)
            self.assertEqual((text, calls), ("", [CALL]))
            self.assertEqual(client.whole(client.answered(messages, answer), tools=True)[0], SCRIPTS["result"])

        self.each(case)

    def test_a_model_that_does_not_exist_is_an_error(self):
        def case(client):
            with self.assertRaisesRegex(client.error, "none") as raised:
                client.whole([says("user", "hello")], model="none")
            self.assertEqual(client.status(raised.exception), 404)

        self.each(case)

    def test_a_prompt_that_never_fits_is_an_error(self):
        def case(client):
            with self.assertRaisesRegex(client.error, "context") as raised:
                client.whole([says("user", "hello, " * ROOM)])
            self.assertEqual(client.status(raised.exception), 400)

        self.each(case)

    def test_a_stream_is_cancelled(self):
        def case(client):
            with contextlib.closing(client.streamed([says("user", "forever")], SLOW)) as pieces:
                text = ""
                while "again" not in text:
                    text += next(pieces)
            self.eventually(lambda: self.slow.busy == 0)

        self.each(case)
