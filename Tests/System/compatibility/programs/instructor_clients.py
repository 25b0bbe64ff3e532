"""Instructor: objects as answers."""

from __future__ import annotations

import instructor
import openai

from compatibility.program import MODEL, TIMEOUT, City, Program


class Tools(Program):
    """Objects as calls of a function."""

    error = ("openai.NotFoundError",)
    keeps_history = False
    mode = instructor.Mode.TOOLS

    def client(self):
        package = openai.OpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)
        return instructor.from_openai(package, mode=self.mode)

    def chat(self, model=MODEL):
        def ask(prompt):
            messages = [{"role": "user", "content": prompt}]
            return self.client().chat.completions.create(model=model, messages=messages, response_model=None).choices[0].message.content

        return ask

    def structured(self, prompt):
        messages = [{"role": "user", "content": prompt}]
        return self.client().chat.completions.create(model=MODEL, messages=messages, response_model=City, max_retries=0)


class Schema(Tools):
    """Objects with a format."""

    mode = instructor.Mode.JSON_SCHEMA
