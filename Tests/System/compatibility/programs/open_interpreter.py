"""Open Interpreter, as a library: its command asks in a terminal."""

from __future__ import annotations

from interpreter import OpenInterpreter

from compatibility.program import MODEL, Program


class Interpreter(Program):
    """Chats. It writes its own instructions before each."""

    error = ("litellm.exceptions.NotFoundError",)
    leaves_streams = False

    def interpreter(self, model=MODEL):
        made = OpenInterpreter(offline=True, auto_run=False, disable_telemetry=True)
        made.llm.model, made.llm.api_base, made.llm.api_key = f"openai/{model}", self.v1, self.key
        made.llm.context_window, made.llm.max_tokens, made.llm.supports_functions = 8192, 512, False
        made.llm.supports_vision = True
        return made

    def chat(self, model=MODEL):
        interpreter = self.interpreter(model)
        return lambda prompt: interpreter.chat(prompt, display=False)[-1]["content"]

    def stream(self, prompt):
        for chunk in self.interpreter().chat(prompt, display=False, stream=True):
            if chunk.get("type") == "message" and isinstance(chunk.get("content"), str):
                yield chunk["content"]
