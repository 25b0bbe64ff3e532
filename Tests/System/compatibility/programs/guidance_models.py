"""Guidance with OpenAI's API."""

from __future__ import annotations

import guidance
from guidance.models import OpenAI as Model

from compatibility.program import MODEL, Program


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def chat(self, model=MODEL):
        last = [Model(model, base_url=self.v1, api_key=self.key, echo=False)]

        def ask(prompt):
            with guidance.user():
                last[0] += prompt
            with guidance.assistant():
                last[0] += guidance.gen("answer")
            return last[0]["answer"]

        return ask
