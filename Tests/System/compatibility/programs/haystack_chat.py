"""Chat generators, agents and embedders of Haystack."""

from __future__ import annotations

import base64
import os

from haystack.components.agents import Agent
from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from haystack_integrations.components.embedders.ollama import OllamaTextEmbedder
from haystack_integrations.components.generators.ollama import OllamaChatGenerator

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_to


class Generator(Program):
    """What both generators have."""

    def generator(self, model=MODEL, **more):
        raise NotImplementedError

    def chat(self, model=MODEL):
        generator, messages = self.generator(model), []

        def ask(prompt):
            messages.append(ChatMessage.from_user(prompt))
            messages.extend(generator.run(messages)["replies"])
            return messages[-1].text

        return ask

    def stream(self, prompt):
        def work(put):
            async def take(chunk):
                put(chunk.content)

            return self.generator().run_async([ChatMessage.from_user(prompt)], streaming_callback=take)

        return pieces_to(work)

    def tools(self, prompt, weather):
        agent = Agent(chat_generator=self.generator(), tools=[create_tool_from_function(weather)])
        return agent.run(messages=[ChatMessage.from_user(prompt)])["last_message"].text

    def image(self, prompt, png):
        picture = ImageContent(base64.b64encode(png).decode(), mime_type="image/png")
        return self.generator().run([ChatMessage.from_user(content_parts=[prompt, picture])])["replies"][0].text


class OpenAI(Generator):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def generator(self, model=MODEL, **more):
        return OpenAIChatGenerator(
            model=model, api_base_url=self.v1, api_key=Secret.from_token(self.key), timeout=TIMEOUT, max_retries=0, **more)

    def structured(self, prompt):
        generator = self.generator(generation_kwargs={"response_format": City})
        return City.model_validate_json(generator.run([ChatMessage.from_user(prompt)])["replies"][0].text)

    def embed(self, texts):
        embedder = OpenAITextEmbedder(model=MODEL, api_base_url=self.v1, api_key=Secret.from_token(self.key))
        return [embedder.run(text)["embedding"] for text in texts]


class Ollama(Generator):
    """Ollama's API, with the integration `ollama-haystack`. Its key is that of Ollama's package, a variable."""

    error = ("ollama._types.ResponseError",)

    def generator(self, model=MODEL, **more):
        os.environ["OLLAMA_API_KEY"] = self.key
        return OllamaChatGenerator(model=model, url=self.url, timeout=int(TIMEOUT), **more)

    def structured(self, prompt):
        generator = self.generator(response_format=City.model_json_schema())
        return City.model_validate_json(generator.run([ChatMessage.from_user(prompt)])["replies"][0].text)

    def embed(self, texts):
        os.environ["OLLAMA_API_KEY"] = self.key
        embedder = OllamaTextEmbedder(model=MODEL, url=self.url)
        return [embedder.run(text)["embedding"] for text in texts]
