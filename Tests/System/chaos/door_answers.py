"""The answers of the front doors: each API has its own form for pieces, ends and errors."""

from __future__ import annotations

import json
from typing import Any, AsyncIterator

from harness.exchange import Exchange
from harness.ledger import Wrong


class DoorAnswer:
    """A streamed answer so far. Subclasses read the events of one API."""

    path = ""

    def __init__(self) -> None:
        self.text, self.thinking = "", ""
        self.calls: list[list[str]] = []  # names and arguments
        self.end = ""  # `done` or `error`, when the stream has said so
        self.error = ""
        self.is_closed = False  # nothing may follow

    @staticmethod
    def body(text: str) -> dict[str, Any]:
        """The members of a request with a new message."""
        return {"messages": [{"role": "user", "content": text}]}

    async def read(self, exchange: Exchange) -> AsyncIterator[None]:
        """Reads the events one by one; throws `Lost` and `Wrong`."""
        async for event in exchange.events():
            if self.is_closed:
                raise Wrong(f"an event behind the last one: {event}")
            if event.data == "[DONE]":
                self.is_closed = True
            else:
                self.take(json.loads(event.data))
            yield

    def take(self, data: dict[str, Any]) -> None:
        """Adds an event."""
        raise NotImplementedError

    def fail(self, error: Any) -> None:
        """Ends the answer with an error."""
        self.end, self.error = "error", json.dumps(error)


class OpenAIAnswer(DoorAnswer):
    """Ends with a reason and `[DONE]`, or with an error."""

    path = "/v1/chat/completions"

    def take(self, data: dict[str, Any]) -> None:
        if "error" in data:
            self.fail(data["error"])
            self.is_closed = True
            return
        for choice in data["choices"]:
            delta = choice["delta"]
            self.text += delta.get("content") or ""
            self.thinking += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or ():
                self.calls.append([call["function"]["name"], call["function"]["arguments"]])
            if choice.get("finish_reason"):
                self.end = "done"


class OllamaAnswer(DoorAnswer):
    """Lines; the last one is done, or an error."""

    path = "/api/chat"

    async def read(self, exchange: Exchange) -> AsyncIterator[None]:
        rest = b""
        async for piece in exchange.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if self.is_closed:
                    raise Wrong(f"a line behind the last one: {line!r}")
                # The keep-alives are spaces.
                self.take(json.loads(line.strip()))
                yield
        if rest.strip():
            raise Wrong(f"a line without its end: {rest!r}")

    def take(self, data: dict[str, Any]) -> None:
        if "error" in data:
            self.fail(data["error"])
            self.is_closed = True
            return
        message = data["message"]
        self.text += message.get("content", "")
        self.thinking += message.get("thinking", "")
        for call in message.get("tool_calls", ()):
            self.calls.append([call["function"]["name"], json.dumps(call["function"]["arguments"])])
        if data["done"]:
            self.end, self.is_closed = "done", True


class AnthropicAnswer(DoorAnswer):
    """Ends with `message_stop`, or with an error."""

    path = "/v1/messages"

    @staticmethod
    def body(text: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}], "max_tokens": 1_000_000}

    def take(self, data: dict[str, Any]) -> None:
        if data["type"] == "error":
            self.fail(data["error"])
            self.is_closed = True
        elif data["type"] == "content_block_start" and data["content_block"]["type"] == "tool_use":
            self.calls.append([data["content_block"]["name"], ""])
        elif data["type"] == "content_block_delta":
            delta = data["delta"]
            self.text += delta.get("text", "")
            self.thinking += delta.get("thinking", "")
            if "partial_json" in delta:
                self.calls[-1][1] += delta["partial_json"]
        elif data["type"] == "message_stop":
            self.end, self.is_closed = "done", True


class ResponseAnswer(DoorAnswer):
    """Events with numbers, over any number of connections. Ends with the response and `[DONE]`."""

    path = "/v1/responses"

    def __init__(self) -> None:
        super().__init__()
        self.number: int | None = None
        self.is_broken = False  # the last stream has ended with an error of its own, and the response has not

    @staticmethod
    def body(text: str) -> dict[str, Any]:
        return {"input": text}

    @property
    def attempt(self) -> int:
        """The attempt of the events: their numbers name it."""
        return 1 + ((self.number or 0) >> 31)

    def take(self, data: dict[str, Any]) -> None:
        kind = data["type"]
        if kind == "error":
            self.is_broken = self.is_closed = True
            self.error = json.dumps(data)
            return
        number = data["sequence_number"]
        if self.number is not None and number <= self.number:
            raise Wrong(f"event {number} behind {self.number}: {kind}")
        if self.number is not None and number >> 31 != self.number >> 31 and self.number & 0x7FFF_FFFF > 2:
            raise Wrong(f"event {number} of another attempt behind {self.number}")
        self.number = number
        if kind == "response.output_text.delta":
            self.text += data["delta"]
        elif kind == "response.reasoning.delta":
            self.thinking += data["delta"]
        elif kind == "response.output_item.done" and data["item"]["type"] == "function_call":
            self.calls.append([data["item"]["name"], data["item"]["arguments"]])
        elif kind == "response.completed":
            self.end = "done"
            self._compare(data["response"])
        elif kind in ("response.failed", "response.incomplete"):
            self.fail(data["response"].get("error") or data["response"].get("incomplete_details"))

    def resumed(self) -> None:
        """Another stream continues after the last event."""
        self.is_broken = self.is_closed = False

    def _compare(self, response: dict[str, Any]) -> None:
        """Compares the whole answer in the last event with its pieces."""
        whole = "".join(
            part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])
        if whole != self.text:
            raise Wrong(f"the pieces have {len(self.text)} characters, and the response {len(whole)}")


ANSWERS: tuple[type[DoorAnswer], ...] = (OpenAIAnswer, OllamaAnswer, AnthropicAnswer, ResponseAnswer)
