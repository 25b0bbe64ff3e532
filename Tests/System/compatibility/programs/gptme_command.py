"""The command `gptme`."""

from __future__ import annotations

import itertools

from compatibility.program import MODEL, Command


class Gptme(Command):
    """Chats that go on by their names. It writes its own instructions before each."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count()

    def environment(self):
        return {"OPENAI_BASE_URL": self.v1, "OPENAI_API_KEY": self.key, "MODEL": f"local/{MODEL}"}

    def words(self, name, model=MODEL):
        plain = ["-n", "--system", "short", "--tools", "none", "--no-workspace"]
        return ["gptme", *plain, "--name", name, "-m", f"local/{model}"]

    def chat(self, model=MODEL):
        name = f"chat-{next(self.numbers)}"
        return lambda prompt: self.run(*self.words(name, model), prompt)

    def stream(self, prompt):
        return self.pieces(*self.words("stream"), prompt)
