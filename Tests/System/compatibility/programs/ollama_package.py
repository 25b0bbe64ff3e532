"""Ollama's own package."""

from __future__ import annotations

import ollama

from compatibility.program import MODEL, TIMEOUT, City, Program


class Ollama(Program):
    """Chats, vectors and lists."""

    error = ("ollama._types.ResponseError",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.client = ollama.Client(self.url, headers=self.fields, timeout=TIMEOUT)

    def chat(self, model=MODEL):
        messages = []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            answer = self.client.chat(model, messages).message
            messages.append(answer)
            return answer.content

        return ask

    def stream(self, prompt):
        for part in self.client.chat(MODEL, [{"role": "user", "content": prompt}], stream=True):
            yield part.message.content

    def tools(self, prompt, weather):
        messages = [{"role": "user", "content": prompt}]
        answer = self.client.chat(MODEL, messages, tools=[weather]).message
        messages.append(answer)
        for call in answer.tool_calls:
            messages.append({"role": "tool", "tool_name": call.function.name, "content": weather(**call.function.arguments)})
        return self.client.chat(MODEL, messages, tools=[weather]).message.content

    def structured(self, prompt):
        answer = self.client.chat(MODEL, [{"role": "user", "content": prompt}], format=City.model_json_schema())
        return City.model_validate_json(answer.message.content)

    def image(self, prompt, png):
        return self.client.chat(MODEL, [{"role": "user", "content": prompt, "images": [png]}]).message.content

    def embed(self, texts):
        return self.client.embed(MODEL, texts).embeddings

    def models(self):
        return [model.model for model in self.client.list().models]
