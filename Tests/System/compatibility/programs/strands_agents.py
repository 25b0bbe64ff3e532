"""Agents of Strands."""

from __future__ import annotations

from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.models.ollama import OllamaModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of, wait


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def model(self, name):
        return OpenAIModel(
            client_args={"base_url": self.v1, "api_key": self.key, "timeout": TIMEOUT, "max_retries": 0}, model_id=name)

    def agent(self, model=MODEL, **more):
        return Agent(model=self.model(model), callback_handler=None, **more)

    def chat(self, model=MODEL):
        agent = self.agent(model)
        # Called without a loop, it makes a new one each time, and the connections of its package for Anthropic stay in the old one.
        return lambda prompt: wait(agent.invoke_async(prompt)).message["content"][0]["text"]

    def stream(self, prompt):
        async def pieces():
            async for event in self.agent().stream_async(prompt):
                if "data" in event:
                    yield event["data"]

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        return self.agent(tools=[tool(weather)])(prompt).message["content"][0]["text"]

    def structured(self, prompt):
        return self.agent()(prompt, structured_output_model=City).structured_output

    def image(self, prompt, png):
        return self.agent()([{"text": prompt}, {"image": {"format": "png", "source": {"bytes": png}}}]).message["content"][0]["text"]


class Responses(OpenAI):
    """Responses."""

    def model(self, name):
        return OpenAIResponsesModel(
            client_args={"base_url": self.v1, "api_key": self.key, "timeout": TIMEOUT, "max_retries": 0}, model_id=name)


class Anthropic(OpenAI):
    """Messages."""

    error = ("anthropic.NotFoundError",)

    def model(self, name):
        return AnthropicModel(
            client_args={"base_url": self.url, "api_key": self.key, "timeout": TIMEOUT, "max_retries": 0}, model_id=name, max_tokens=99)


class Ollama(OpenAI):
    """Ollama's API."""

    error = ("ollama._types.ResponseError",)

    def model(self, name):
        return OllamaModel(self.url, ollama_client_args={"headers": self.fields, "timeout": TIMEOUT}, model_id=name)
