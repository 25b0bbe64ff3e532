"""Agents of AG2."""

from __future__ import annotations

import os

from ag2 import Agent, ImageInput, MemoryStream, tool
from ag2.config import AnthropicConfig, OllamaConfig, OpenAIConfig, OpenAIResponsesConfig
from ag2.events import ModelMessageChunk

from compatibility.program import MODEL, City, Program, pieces_to, wait


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def config(self, model):
        return OpenAIConfig(model=model, base_url=self.v1, api_key=self.key, max_retries=0, streaming=True)

    def agent(self, model=MODEL, **more):
        return Agent("agent", config=self.config(model), **more)

    def chat(self, model=MODEL):
        last = [self.agent(model)]

        def ask(prompt):
            last[0] = wait(last[0].ask(prompt))
            return last[0].body

        return ask

    def stream(self, prompt):
        def work(put):
            stream = MemoryStream()
            stream.where(ModelMessageChunk).subscribe(lambda event: put(event.content), sync_to_thread=False)
            return self.agent().ask(prompt, stream=stream)

        return pieces_to(work)

    def tools(self, prompt, weather):
        return wait(self.agent(tools=[tool(weather)]).ask(prompt)).body

    def structured(self, prompt):
        async def ask():
            return await (await self.agent(response_schema=City).ask(prompt)).content()

        return wait(ask())

    def image(self, prompt, png):
        return wait(self.agent().ask(prompt, ImageInput(data=png, media_type="image/png"))).body


class Responses(OpenAI):
    """Responses."""

    def config(self, model):
        return OpenAIResponsesConfig(model=model, base_url=self.v1, api_key=self.key, max_retries=0, streaming=True)


class Anthropic(OpenAI):
    """Messages."""

    error = ("anthropic.NotFoundError",)

    def config(self, model):
        return AnthropicConfig(model=model, base_url=self.url, api_key=self.key, max_retries=0, streaming=True)


class Ollama(OpenAI):
    """Ollama's API. Its key is that of Ollama's package, a variable."""

    error = ("ollama._types.ResponseError",)

    def config(self, model):
        os.environ["OLLAMA_API_KEY"] = self.key
        return OllamaConfig(model=model, host=self.url, streaming=True)
