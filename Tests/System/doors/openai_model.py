"""A model server of the kind `openai` whose answer a test sets, and which records its requests."""

import json

from harness import background
from harness.model_server import EVENTS, ModelServer


class OpenAIModel:
    """The server. It has one model."""

    def __init__(self, tests, name):
        self.name = name
        self.answers({"content": "Hello."})
        server = ModelServer(self._serve)
        background.run(server.start())
        self.url = server.url
        tests.addClassCleanup(lambda: background.run(server.stop()))

    def answers(self, *deltas, **ending):
        """Each answer has these deltas; `ending` are members of the last choice. Forgets its requests."""
        self.requests, self.deltas, self.ending = [], deltas, {"finish_reason": "stop"} | ending

    async def _serve(self, exchange):
        if exchange.method == "GET":
            return await exchange.answer(json.dumps({"object": "list", "data": [{"id": self.name, "object": "model"}]}))
        self.requests.append(exchange.request)
        await exchange.begin(EVENTS)
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in self.deltas]
        for choice in [*choices, {"index": 0, "delta": {}} | self.ending]:
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": self.name, "choices": [choice]}
            await exchange.send(f"data: {json.dumps(chunk)}\n\n")
        await exchange.send("data: [DONE]\n\n")
        await exchange.finish()
