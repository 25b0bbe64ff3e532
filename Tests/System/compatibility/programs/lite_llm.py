"""LiteLLM as a library, with three of its providers."""

from __future__ import annotations

import base64
import json

import litellm

from compatibility.program import DESCRIPTION, MODEL, PARAMETERS, TIMEOUT, City, Program, pieces_of

TOOLS = [{"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": PARAMETERS}}]


class OpenAI(Program):
    """The provider `openai`."""

    error = ("litellm.exceptions.NotFoundError",)
    provider = "openai"

    @property
    def base(self):
        return self.v1

    def options(self, model=MODEL):
        return {"model": f"{self.provider}/{model}", "api_base": self.base, "api_key": self.key, "timeout": TIMEOUT, "max_retries": 0}

    def ask(self, messages, model=MODEL, **more):
        return litellm.completion(messages=messages, **self.options(model), **more).choices[0].message

    def chat(self, model=MODEL):
        messages = []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            messages.append(self.ask(messages, model))
            return messages[-1].content

        return ask

    def stream(self, prompt):
        async def pieces():
            stream = await litellm.acompletion(messages=[{"role": "user", "content": prompt}], stream=True, **self.options())
            try:
                async for chunk in stream:
                    yield chunk.choices[0].delta.content or ""
            finally:
                await stream.aclose()

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        messages = [{"role": "user", "content": prompt}]
        messages.append(self.ask(messages, tools=TOOLS))
        for call in messages[-1].tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))})
        return self.ask(messages, tools=TOOLS).content

    def structured(self, prompt):
        return City.model_validate_json(self.ask([{"role": "user", "content": prompt}], response_format=City).content)

    def image(self, prompt, png):
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": url}}]
        return self.ask([{"role": "user", "content": parts}]).content

    def embed(self, texts):
        return [item["embedding"] for item in litellm.embedding(input=texts, encoding_format="float", **self.options()).data]


class Ollama(OpenAI):
    """The provider `ollama_chat`."""

    provider = "ollama_chat"

    @property
    def base(self):
        return self.url

    def embed(self, texts):
        options = self.options() | {"model": f"ollama/{MODEL}"}
        return [item["embedding"] for item in litellm.embedding(input=texts, **options).data]


class Anthropic(OpenAI):
    """The provider `anthropic`."""

    provider = "anthropic"
    embed = None

    @property
    def base(self):
        return self.url
