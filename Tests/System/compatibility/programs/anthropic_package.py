"""Anthropic's own package."""

from __future__ import annotations

import base64

import anthropic

from compatibility.program import MODEL, TIMEOUT, City, Program


class Messages(Program):
    """Messages; the tools are called by the package's own runner."""

    error = ("anthropic.NotFoundError",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.client = anthropic.Anthropic(base_url=self.url, api_key=self.key, timeout=TIMEOUT, max_retries=0)

    def chat(self, model=MODEL):
        messages = []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            answer = self.client.messages.create(model=model, max_tokens=99, messages=messages)
            messages.append({"role": "assistant", "content": answer.content})
            return answer.content[0].text

        return ask

    def stream(self, prompt):
        with self.client.messages.stream(model=MODEL, max_tokens=99, messages=[{"role": "user", "content": prompt}]) as stream:
            yield from stream.text_stream

    def tools(self, prompt, weather):
        runner = self.client.beta.messages.tool_runner(
            model=MODEL, max_tokens=99, tools=[anthropic.beta_tool(weather)], messages=[{"role": "user", "content": prompt}])
        return runner.until_done().content[0].text

    def structured(self, prompt):
        messages = [{"role": "user", "content": prompt}]
        return self.client.messages.parse(model=MODEL, max_tokens=99, messages=messages, output_format=City).parsed_output

    def image(self, prompt, png):
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
        content = [{"type": "image", "source": source}, {"type": "text", "text": prompt}]
        return self.client.messages.create(model=MODEL, max_tokens=99, messages=[{"role": "user", "content": content}]).content[0].text

    def models(self):
        return [model.id for model in self.client.models.list()]
