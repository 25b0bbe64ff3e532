"""The command `sgpt`."""

from __future__ import annotations

import itertools

from compatibility.program import MODEL, Command


class Sgpt(Command):
    """Chats, and answers in the terminal. It writes a role before the chat."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count()

    def environment(self):
        return {
            "API_BASE_URL": self.v1, "OPENAI_API_KEY": self.key, "PRETTIFY_MARKDOWN": "false", "OPENAI_USE_FUNCTIONS": "false",
            "CHAT_CACHE_PATH": str(self.home / "chats"), "CACHE_PATH": str(self.home / "cache"), "REQUEST_TIMEOUT": "600",
        }

    def chat(self, model=MODEL):
        name = f"chat-{next(self.numbers)}"
        return lambda prompt: self.run("sgpt", "--model", model, "--no-cache", "--chat", name, prompt).removesuffix("\n")

    def stream(self, prompt):
        return self.pieces("sgpt", "--model", MODEL, "--no-cache", prompt)
