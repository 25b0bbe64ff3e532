"""Agents of Agno, with five classes of models."""

from __future__ import annotations

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.media import Image
from agno.models.anthropic import Claude
from agno.models.ollama import Ollama as OllamaModel
from agno.models.openai import OpenAIChat, OpenAIResponses
from agno.models.openai.like import OpenAILike

from compatibility.program import MODEL, TIMEOUT, City, Program, Reported, pieces_of


class OpenAI(Program):
    """Chat completions."""

    error = ("compatibility.program.Reported",)
    kind = OpenAILike

    def model(self, name):
        return self.kind(id=name, base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)

    def agent(self, name=MODEL, **more):
        return Agent(model=self.model(name), telemetry=False, **more)

    def chat(self, model=MODEL):
        agent = self.agent(model, db=InMemoryDb(), add_history_to_context=True)
        return lambda prompt: self.checked(agent.run(prompt))

    def checked(self, answer):
        """The text of an answer. An agent reports an error as its answer."""
        if answer.status == "ERROR":
            raise Reported(answer.content)
        return answer.content

    def stream(self, prompt):
        async def pieces():
            async for event in self.agent().arun(prompt, stream=True):
                if event.event == "RunContent":
                    yield event.content or ""

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        return self.agent(tools=[weather]).run(prompt).content

    def structured(self, prompt):
        return self.agent(output_schema=City).run(prompt).content

    def image(self, prompt, png):
        return self.agent().run(prompt, images=[Image(content=png, mime_type="image/png")]).content


class Chat(OpenAI):
    """The class for OpenAI itself."""

    kind = OpenAIChat


class Responses(OpenAI):
    """Responses."""

    kind = OpenAIResponses


class Anthropic(OpenAI):
    """Messages."""

    def model(self, name):
        return Claude(id=name, api_key=self.key, client_params={"base_url": self.url, "max_retries": 0}, timeout=TIMEOUT)


class Ollama(OpenAI):
    """Ollama's API."""

    def model(self, name):
        return OllamaModel(id=name, host=self.url, api_key=self.key, timeout=TIMEOUT)
