"""The command `aider`."""

from __future__ import annotations

import itertools

from compatibility.program import MODEL, Command, Reported


class Aider(Command):
    """Questions (`/ask` mode) whose chats go on from their files. It writes its own instructions around each prompt."""

    error = ("compatibility.program.Reported",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count()

    def environment(self):
        return {"OPENAI_API_BASE": self.v1, "OPENAI_API_KEY": self.key, "AIDER_ANALYTICS_DISABLE": "true"}

    def words(self, name, model=MODEL):
        return [
            "aider", "--model", f"openai/{model}", "--chat-mode", "ask", "--no-git", "--yes-always", "--no-check-update", "--no-pretty",
            "--no-show-model-warnings", "--no-show-release-notes", "--no-fancy-input", "--map-tokens", "0", "--analytics-disable",
            "--chat-history-file", f"{name}.md", "--restore-chat-history", "--input-history-file", f"{name}.input",
        ]

    def chat(self, model=MODEL):
        name = f"chat-{next(self.numbers)}"

        def ask(prompt):
            output = self.run(*self.words(name, model), "--message", prompt)
            # An error is printed, and the status is 0.
            if "litellm.NotFoundError" in output:
                raise Reported(output)
            return output

        return ask

    def stream(self, prompt):
        return self.pieces(*self.words("stream"), "--message", prompt)
