"""The dialects of the scripted model servers: OpenAI's chat completions as server-sent events, and Ollama's lines."""

from __future__ import annotations

import json
from typing import Any

from faults.numbered_words import call_of

NAME = "get_weather"


def dumps(value: object) -> str:
    """JSON as servers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Ollama:
    """`/api/chat` and its NDJSON."""

    kind = "ollama"
    path = "/api/chat"
    content_type = "application/x-ndjson"

    @staticmethod
    def models(names: list[str]) -> str:
        """The answer to a request for the list of models."""
        return dumps({"models": [{"name": name, "model": name} for name in names]})

    def _line(self, model: str, message: dict[str, object], rest: str = '"done":false') -> str:
        return f'{{"model":"{model}","created_at":"2026-01-01T00:00:00Z","message":{dumps({"role": "assistant"} | message)},{rest}}}\n'

    def opening(self, model: str) -> str:
        """The part of an answer before the first word."""
        return ""

    def word(self, model: str, text: str) -> str:
        """A word."""
        return self._line(model, {"content": text})

    def thought(self, model: str, text: str) -> str:
        """A word of thinking."""
        return self._line(model, {"content": "", "thinking": text})

    def end(self, model: str, words: int, prompt: int, is_tool: bool = False) -> str:
        """The end of a good answer."""
        counts = f'"total_duration":1000,"prompt_eval_count":{prompt},"eval_count":{words}'
        return self._line(model, {"content": ""}, f'"done":true,"done_reason":"stop",{counts}')

    def call(self, model: str, label: str) -> list[str]:
        """A tool call, in the pieces of its stream."""
        call = {"function": {"name": NAME, "arguments": call_of(label)}}
        line = self._line(model, {"content": "", "tool_calls": [call]})
        return [line[:len(line) * 2 // 3], line[len(line) * 2 // 3:]]

    def broken_call(self, model: str, label: str) -> str:
        """A tool call with incomplete arguments, in a complete answer."""
        call = f'{{"function":{{"name":"{NAME}","arguments":{{"city":"Åle}}}}'
        line = self._line(model, {"content": "", "tool_calls": ["CALL"]})
        return line.replace('"CALL"', call) + self.end(model, 0, 10)

    def cut_call(self, model: str, label: str, is_closed: bool) -> str:
        """A tool call that the token limit cuts: in a separate line, or in the last one."""
        call = {"function": {"name": NAME, "arguments": {}}}
        message: dict[str, object] = {"content": "", "tool_calls": [call]}
        last = '"done":true,"done_reason":"length"'
        if is_closed:
            return self._line(model, message) + self._line(model, {"content": ""}, last)
        return self._line(model, message, last)

    @staticmethod
    def garbage() -> str:
        """A piece in the middle that cannot be parsed."""
        return '{"model":"m","message":{"role":"assistant","content":"bro\n'

    @staticmethod
    def error(text: str) -> str:
        """An error in the middle of an answer."""
        return dumps({"error": text}) + "\n"

    @staticmethod
    def done() -> str:
        """The output that may still follow an error."""
        return '{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n'

    @staticmethod
    def empty() -> str:
        """An answer without content."""
        return ""

    @staticmethod
    def refusal(text: str, type: str) -> str:
        """The body of an answer with an error status."""
        return dumps({"error": text})

    def too_long(self, prompt: int, window: int) -> str:
        """The body of a refused prompt: JSON in a string, as Ollama passes on the message of its runner."""
        return dumps({"error": OpenAI().too_long(prompt, window)})

    @staticmethod
    def continuation_fault(body: dict[str, Any], how: str) -> str:
        """The fault of a request that has a text to continue; empty if it has none."""
        return ""


class OpenAI:
    """`/v1/chat/completions` and its events."""

    kind = "openai"
    path = "/chat/completions"
    content_type = "text/event-stream"

    @staticmethod
    def models(names: list[str]) -> str:
        """The answer to a request for the list of models."""
        return dumps({"object": "list", "data": [{"id": name, "object": "model", "created": 1, "owned_by": "faults"} for name in names]})

    @staticmethod
    def _event(model: str, delta: dict[str, object] | None, finish: str | None = None, **rest: object) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1763000000, "model": model, "choices": choices}
        return f"data: {dumps(chunk | rest)}\n\n"

    def opening(self, model: str) -> str:
        """The part of an answer before the first word."""
        return self._event(model, {"role": "assistant", "content": ""})

    def word(self, model: str, text: str) -> str:
        """A word."""
        return self._event(model, {"content": text})

    def thought(self, model: str, text: str) -> str:
        """A word of thinking."""
        return self._event(model, {"reasoning_content": text})

    def end(self, model: str, words: int, prompt: int, is_tool: bool = False) -> str:
        """The end of a good answer."""
        usage = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
        return self._event(model, {}, "tool_calls" if is_tool else "stop") + self._event(model, None, usage=usage) + self.done()

    def call(self, model: str, label: str) -> list[str]:
        """A tool call, in the pieces of its stream."""
        arguments = dumps(call_of(label))
        begin = {"index": 0, "id": f"call_{label}", "type": "function", "function": {"name": NAME, "arguments": ""}}
        pieces = [arguments[index:index + 7] for index in range(0, len(arguments), 7)]
        return [self._event(model, {"tool_calls": [begin]})] + [
            self._event(model, {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]

    def broken_call(self, model: str, label: str) -> str:
        """A tool call with incomplete arguments, in a complete answer."""
        return "".join(self.call(model, label)[:-2]) + self.end(model, 0, 10, True)

    def cut_call(self, model: str, label: str, is_closed: bool) -> str:
        """A tool call that the token limit cuts: its arguments break off as llama.cpp's do, or are `{}` as vLLM's are."""
        pieces = self.call(model, label)
        if is_closed:
            piece = {"index": 0, "function": {"arguments": "{}"}}
            pieces = [pieces[0], self._event(model, {"tool_calls": [piece]})]
        return "".join(pieces if is_closed else pieces[:-2]) + self._event(model, {}, "length") + self.done()

    @staticmethod
    def garbage() -> str:
        """A piece in the middle that cannot be parsed."""
        return 'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"bro\n\n'

    @staticmethod
    def error(text: str) -> str:
        """An error in the middle of an answer."""
        return 'data: {"error": ' + json.dumps({"message": text, "type": "InternalServerError", "param": None, "code": 500}) + "}\n\n"

    @staticmethod
    def done() -> str:
        """The output that may still follow an error."""
        return "data: [DONE]\n\n"

    @staticmethod
    def empty() -> str:
        """An answer without content."""
        return "data: [DONE]\n\n"

    @staticmethod
    def refusal(text: str, type: str) -> str:
        """The body of an answer with an error status."""
        return dumps({"error": {"message": text, "type": type, "param": None, "code": None}})

    @staticmethod
    def too_long(prompt: int, window: int) -> str:
        """The body of a refused prompt."""
        text = f"request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
        return dumps({"error": {
            "code": 400, "message": text, "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": window}})

    @staticmethod
    def continuation_fault(body: dict[str, Any], how: str) -> str:
        """The fault of a request that has a text to continue; empty if it has none."""
        asked = (body.get("continue_final_message"), body.get("add_generation_prompt"))
        if how == "continue_final_message" and asked != (True, False):
            return "continue_final_message is not asked for"
        return ""


DIALECTS = {"openai": OpenAI(), "ollama": Ollama()}
Dialect = OpenAI | Ollama
