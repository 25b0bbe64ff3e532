"""Agents of Pydantic AI."""

from __future__ import annotations

from pydantic_ai import Agent, BinaryContent, Embedder
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from compatibility.program import MODEL, City, Program, pieces_of, wait


class AI(Program):
    """What the agents have. A subclass makes the model."""

    error = ("pydantic_ai.exceptions.ModelHTTPError",)

    def model(self, name=MODEL):
        raise NotImplementedError

    def chat(self, model=MODEL):
        agent, history = Agent(self.model(model)), []

        def ask(prompt):
            result = wait(agent.run(prompt, message_history=history))
            history[:] = result.all_messages()
            return result.output

        return ask

    def stream(self, prompt):
        async def pieces():
            async with Agent(self.model()).run_stream(prompt) as result:
                async for piece in result.stream_text(delta=True, debounce_by=None):
                    yield piece

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        return wait(Agent(self.model(), tools=[weather]).run(prompt)).output

    def structured(self, prompt):
        return wait(Agent(self.model(), output_type=City).run(prompt)).output

    def image(self, prompt, png):
        return wait(Agent(self.model()).run([prompt, BinaryContent(png, media_type="image/png")])).output


class Chat(AI):
    """Chat completions."""

    def model(self, name=MODEL):
        return OpenAIChatModel(name, provider=OpenAIProvider(base_url=self.v1, api_key=self.key))

    def embed(self, texts):
        model = OpenAIEmbeddingModel(MODEL, provider=OpenAIProvider(base_url=self.v1, api_key=self.key))
        return wait(Embedder(model).embed_documents(texts)).embeddings


class Responses(AI):
    """Responses."""

    def model(self, name=MODEL):
        return OpenAIResponsesModel(name, provider=OpenAIProvider(base_url=self.v1, api_key=self.key))


class Anthropic(AI):
    """Messages."""

    def model(self, name=MODEL):
        return AnthropicModel(name, provider=AnthropicProvider(base_url=self.url, api_key=self.key))
