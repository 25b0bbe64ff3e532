"""OpenAI's own package, with both of its APIs."""

from __future__ import annotations

import base64
import json

import openai

from compatibility.program import DESCRIPTION, MODEL, PARAMETERS, TIMEOUT, City, Program


class Package(Program):
    """What both APIs have."""

    error = ("openai.NotFoundError",)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.client = openai.OpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)

    def models(self):
        return [model.id for model in self.client.models.list()]


class Chat(Package):
    """Chat completions."""

    def chat(self, model=MODEL):
        messages = []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            answer = self.client.chat.completions.create(model=model, messages=messages).choices[0].message
            messages.append(answer)
            return answer.content

        return ask

    def stream(self, prompt):
        with self.client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": prompt}], stream=True) as chunks:
            for chunk in chunks:
                yield chunk.choices[0].delta.content or ""

    def tools(self, prompt, weather):
        tools = [{"type": "function", "function": {
            "name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS, "strict": True}}]
        messages = [{"role": "user", "content": prompt}]
        answer = self.client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
        messages.append(answer)
        for call in answer.tool_calls:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return self.client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message.content

    def structured(self, prompt):
        messages = [{"role": "user", "content": prompt}]
        return self.client.chat.completions.parse(model=MODEL, messages=messages, response_format=City).choices[0].message.parsed

    def image(self, prompt, png):
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": url, "detail": "high"}}]
        answer = self.client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": parts}])
        return answer.choices[0].message.content

    def embed(self, texts):
        return [item.embedding for item in self.client.embeddings.create(model=MODEL, input=texts).data]


class Responses(Package):
    """Responses, whose history is the one that the package sends."""

    def chat(self, model=MODEL):
        items = []

        def ask(prompt):
            items.append({"role": "user", "content": prompt})
            answer = self.client.responses.create(model=model, input=items)
            items.extend(answer.output)
            return answer.output_text

        return ask

    def stream(self, prompt):
        with self.client.responses.create(model=MODEL, input=prompt, stream=True) as events:
            for event in events:
                if event.type == "response.output_text.delta":
                    yield event.delta

    def tools(self, prompt, weather):
        tools = [{"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS, "strict": True}]
        items = [{"role": "user", "content": prompt}]
        answer = self.client.responses.create(model=MODEL, input=items, tools=tools)
        items += answer.output
        for call in answer.output:
            if call.type == "function_call":
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": weather(**json.loads(call.arguments))})
        return self.client.responses.create(model=MODEL, input=items, tools=tools).output_text

    def structured(self, prompt):
        return self.client.responses.parse(model=MODEL, input=prompt, text_format=City).output_parsed

    def image(self, prompt, png):
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts = [{"type": "input_text", "text": prompt}, {"type": "input_image", "image_url": url, "detail": "high"}]
        return self.client.responses.create(model=MODEL, input=[{"role": "user", "content": parts}]).output_text
