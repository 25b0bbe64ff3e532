"""The requests and the answers of the front doors: each API has its own form for messages, pieces, ends and errors."""

from __future__ import annotations

import json
from typing import Any, AsyncIterator

from chaos.messages import Message
from harness.exchange import Exchange
from harness.ledger import Wrong


class DoorAnswer:
    """An answer so far, streamed or in one piece. Subclasses read the documents of one API."""

    path = ""

    def __init__(self, is_streamed: bool) -> None:
        self.is_streamed = is_streamed
        self.text, self.thinking = "", ""
        self.calls: list[list[str]] = []  # names and arguments
        self.end = ""  # `done` or `error`, when the answer has said so
        self.error = ""
        self.is_closed = False  # nothing may follow

    @classmethod
    def body(cls, messages: list[Message]) -> dict[str, Any]:
        """The members of a request with these messages."""
        return {"messages": [cls.message(message) for message in messages]}

    @staticmethod
    def message(message: Message) -> dict[str, Any]:
        """A message in the form of the API."""
        raise NotImplementedError

    @property
    def attempt(self) -> int | None:
        """The attempt at the reply that the answer comes from; None where the API does not name it."""
        return None

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

    async def read_whole(self, exchange: Exchange) -> None:
        """Reads the answer in one piece; throws `Lost` and `Wrong`."""
        self.take_whole(await exchange.json())
        self.is_closed = True

    def take(self, data: dict[str, Any]) -> None:
        """Adds an event."""
        raise NotImplementedError

    def take_whole(self, data: dict[str, Any]) -> None:
        """Takes the answer in one piece."""
        raise NotImplementedError

    def fail(self, error: Any) -> None:
        """Ends the answer with an error; throws `Wrong` if it has another form than that of the API."""
        self.end, self.error = "error", json.dumps(error)
        self.require_form(error)

    @staticmethod
    def require_form(error: Any) -> None:
        """Throws `Wrong` unless the member `error` of a document has the form of the API."""
        if not isinstance(error, dict) or set(error) != {"message", "type", "param", "code"} or not error["message"]:
            raise Wrong(f"an error in another form: {error}")


class OpenAIAnswer(DoorAnswer):
    """Ends with a reason and `[DONE]`, or with an error."""

    path = "/v1/chat/completions"

    @staticmethod
    def message(message: Message) -> dict[str, Any]:
        said: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.thinking:
            said["reasoning_content"] = message.thinking
        if message.calls:
            said["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}} for call in message.calls]
        if message.result_of:
            said["tool_call_id"] = message.result_of.id
        return said

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

    def take_whole(self, data: dict[str, Any]) -> None:
        for choice in data["choices"]:
            self.take({"choices": [choice | {"delta": choice["message"]}]})


class OllamaAnswer(DoorAnswer):
    """Lines; the last one is done, or an error."""

    path = "/api/chat"

    @staticmethod
    def message(message: Message) -> dict[str, Any]:
        said: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.thinking:
            said["thinking"] = message.thinking
        if message.calls:
            said["tool_calls"] = [{"function": {"name": call.name, "arguments": call.arguments}} for call in message.calls]
        if message.result_of:
            said["tool_name"] = message.result_of.name
        return said

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
        message = self.said(data)
        self.text += message.get("content", "")
        self.thinking += message.get("thinking", "")
        for call in message.get("tool_calls", ()):
            self.calls.append([call["function"]["name"], json.dumps(call["function"]["arguments"])])
        if data["done"]:
            self.end, self.is_closed = "done", True

    def take_whole(self, data: dict[str, Any]) -> None:
        self.take(data)
        if self.end != "done":
            raise Wrong(f"in one piece, and not done: {data}")

    @staticmethod
    def said(data: dict[str, Any]) -> dict[str, Any]:
        """The message of a line."""
        return dict(data["message"])

    @staticmethod
    def require_form(error: Any) -> None:
        if not isinstance(error, str) or not error:
            raise Wrong(f"an error in another form: {error}")


class GenerateAnswer(OllamaAnswer):
    """Lines with texts in place of messages, for a prompt without a history."""

    path = "/api/generate"

    @classmethod
    def body(cls, messages: list[Message]) -> dict[str, Any]:
        system, prompt = [message.text for message in messages if message.role == "system"], messages[-1].text
        return {"prompt": prompt} | ({"system": system[0]} if system else {})

    @staticmethod
    def said(data: dict[str, Any]) -> dict[str, Any]:
        return {"content": data["response"], "thinking": data.get("thinking", ""), "tool_calls": data.get("tool_calls", ())}


class AnthropicAnswer(DoorAnswer):
    """Ends with `message_stop`, or with an error."""

    path = "/v1/messages"

    @classmethod
    def body(cls, messages: list[Message]) -> dict[str, Any]:
        said: list[dict[str, Any]] = []
        for message in messages:
            if message.role == "system":
                continue
            # The results of tools are in the next message of the user.
            one = cls.message(message)
            if said and said[-1]["role"] == "user" and said[-1]["content"][-1]["type"] == "tool_result":
                said[-1]["content"] += one["content"]
            else:
                said.append(one)
        system = [message.text for message in messages if message.role == "system"]
        return {"messages": said, "max_tokens": 1_000_000} | ({"system": system[0]} if system else {})

    @staticmethod
    def message(message: Message) -> dict[str, Any]:
        if message.result_of:
            return {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": message.result_of.id, "content": message.text}]}
        blocks: list[dict[str, Any]] = []
        if message.thinking:
            blocks.append({"type": "thinking", "thinking": message.thinking, "signature": ""})
        blocks.append({"type": "text", "text": message.text})
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls]
        return {"role": message.role, "content": blocks}

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

    def take_whole(self, data: dict[str, Any]) -> None:
        for block in data["content"]:
            if block["type"] == "tool_use":
                self.calls.append([block["name"], json.dumps(block["input"])])
            self.text += block.get("text", "")
            self.thinking += block.get("thinking", "")
        self.end = "done"

    @staticmethod
    def require_form(error: Any) -> None:
        if not isinstance(error, dict) or not {"type", "message"} <= set(error) or not error["message"]:
            raise Wrong(f"an error in another form: {error}")


class ResponseAnswer(DoorAnswer):
    """Events with numbers, over any number of connections. Ends with the response and `[DONE]`."""

    path = "/v1/responses"

    def __init__(self, is_streamed: bool) -> None:
        super().__init__(is_streamed)
        self.number: int | None = None
        self.is_broken = False  # the last stream has ended with an error of its own, and the response has not

    @classmethod
    def body(cls, messages: list[Message]) -> dict[str, Any]:
        items = [item for message in messages if message.role != "system" for item in cls.items(message)]
        system = [message.text for message in messages if message.role == "system"]
        is_text = len(items) == 1 and items[0].get("role") == "user"
        return {"input": items[0]["content"] if is_text else items} | ({"instructions": system[0]} if system else {})

    @staticmethod
    def items(message: Message) -> list[dict[str, Any]]:
        """The items of a message."""
        if message.result_of:
            return [{"type": "function_call_output", "call_id": message.result_of.id, "output": message.text}]
        if message.role != "assistant":
            return [{"role": message.role, "content": message.text}]
        items: list[dict[str, Any]] = []
        if message.thinking:
            items.append({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": message.thinking}]})
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": message.text}]})
        return items + [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text} for call in message.calls]

    @property
    def attempt(self) -> int | None:
        """The numbers of events name it. In one piece a response is what is stored then, of the last attempt."""
        if not self.is_streamed:
            return 1 << 30
        return None if self.number is None else 1 + (self.number >> 31)

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
            self._end(data["response"])

    def take_whole(self, data: dict[str, Any]) -> None:
        if data["status"] in ("queued", "in_progress"):
            return
        for item in data["output"]:
            text = "".join(part["text"] for part in item.get("content", ()))
            if item["type"] == "message":
                self.text += text
            elif item["type"] == "reasoning":
                self.thinking += text
            else:
                self.calls.append([item["name"], item["arguments"]])
        self._end(data)

    def _end(self, response: dict[str, Any]) -> None:
        if response["status"] == "completed":
            self.end = "done"
        else:
            self.fail(response.get("error") or response.get("incomplete_details"))

    @staticmethod
    def require_form(error: Any) -> None:
        if not isinstance(error, dict) or not error.get("reason") and not error.get("message"):
            raise Wrong(f"an error in another form: {error}")

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
