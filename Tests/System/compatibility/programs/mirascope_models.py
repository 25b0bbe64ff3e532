"""Mirascope with three of its providers."""

from __future__ import annotations

import base64

from mirascope import llm
from mirascope.llm.content import Base64ImageSource

from compatibility.program import MODEL, City, Program, pieces_of


class OpenAI(Program):
    """Chat completions."""

    error = ("mirascope.llm.exceptions.NotFoundError",)
    provider, suffix = "openai", ":completions"

    @property
    def base(self):
        return self.v1

    def model(self, name=MODEL):
        # A provider with the same scope replaces the one of the mode before.
        llm.register_provider(self.provider, base_url=self.base, api_key=self.key)
        return llm.Model(f"{self.provider}/{name}{self.suffix}")

    def chat(self, model=MODEL):
        chat, last = self.model(model), []

        def ask(prompt):
            last[:] = [last[0].resume(prompt) if last else chat.call(prompt)]
            return last[0].text()

        return ask

    def stream(self, prompt):
        async def pieces():
            answer = await self.model().stream_async(prompt)
            async for chunk in answer.chunk_stream():
                if chunk.type == "text_chunk":
                    yield chunk.delta

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        answer = self.model().call(prompt, tools=[llm.tool(weather)])
        while answer.tool_calls:
            answer = answer.resume(answer.execute_tools())
        return answer.text()

    def structured(self, prompt):
        return self.model().call(prompt, format=City).parse()

    def image(self, prompt, png):
        source = Base64ImageSource(type="base64_image_source", data=base64.b64encode(png).decode(), mime_type="image/png")
        return self.model().call([prompt, llm.Image(source=source)]).text()


class Responses(OpenAI):
    """Responses."""

    suffix = ":responses"


class Anthropic(OpenAI):
    """Messages."""

    provider, suffix = "anthropic", ""

    @property
    def base(self):
        return self.url


class Ollama(OpenAI):
    """The provider for an Ollama, which uses its API for programs of OpenAI."""

    provider, suffix = "ollama", ""
