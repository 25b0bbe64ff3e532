"""A model server of kind openai, in a process of its own, whose answer depends on the name of the model:

    short    five words              fail     status 400
    burst    300 words in one write  long-N   N bytes of text, as fast as they are read
    slow     a word a second, for a minute
    late     five words, after a minute

Any other name is answered like `short`, as llama.cpp does."""

from __future__ import annotations

import json
import sys
from typing import Iterator

from harness import background
from harness.model_server import EVENTS, ModelExchange, ModelServer

WORDS = ["This ", "is ", "the ", "whole ", "answer."]
ANSWER = "".join(WORDS)


def pieces(model: str) -> Iterator[str]:
    """The words of a model, piece by piece."""
    if model == "slow":
        yield from WORDS * 12
    elif model.startswith("long-"):
        left = int(model[5:])
        while left > 0:
            piece = ("word " * 820)[:left]
            left -= len(piece)
            yield piece
    else:
        yield from WORDS


def model_of(head: bytes) -> str:
    """The name of the model, which begins chatterd's requests."""
    start = head.find(b'"model":"')
    end = head.find(b'"', start + 9) if start >= 0 else -1
    return "x" * 1000 if start >= 0 and end < 0 else head[start + 9:end].decode(errors="replace")


def event(delta: dict[str, str], **more: str) -> str:
    """A piece of an answer."""
    choice = {"index": 0, "delta": delta} | more
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


async def answer(exchange: ModelExchange) -> None:
    """The list of models, which is empty, as any model is accepted; or an answer."""
    if exchange.method == "GET":
        return await exchange.answer('{"object":"list","data":[]}')
    model = model_of(exchange.body)
    if model == "fail":
        return await exchange.answer('{"error":{"message":"The model says no.","code":400}}', 400)
    await exchange.begin(EVENTS)
    if model == "late":
        await exchange.rest(60)
    if len(model) > 256 or model == "burst":
        await exchange.send(event({"content": "word "}) * 300)
    else:
        for piece in pieces(model):
            await exchange.send(event({"content": piece}))
            if model == "slow":
                await exchange.rest(1)
    await exchange.send(event({}, finish_reason="stop") + "data: [DONE]\n\n")
    await exchange.finish()


def main() -> None:
    """Serves until its standard input ends."""
    server = ModelServer(answer, keeps_bodies=False)
    background.run(server.start())
    print(server.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
