"""Agents of AutoGen."""

from __future__ import annotations

import io
import os

import PIL.Image
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent, MultiModalMessage
from autogen_core import CancellationToken, Image
from autogen_core.models import ModelInfo
from autogen_ext.models.ollama import OllamaChatCompletionClient
from autogen_ext.models.openai import OpenAIChatCompletionClient

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of, wait

INFO = ModelInfo(vision=True, function_calling=True, json_output=True, structured_output=True, family="unknown")


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def client(self, model):
        return OpenAIChatCompletionClient(
            model=model, base_url=self.v1, api_key=self.key, model_info=INFO, timeout=TIMEOUT, max_retries=0)

    def agent(self, model=MODEL, **more):
        return AssistantAgent("agent", model_client=self.client(model), system_message=None, **more)

    def chat(self, model=MODEL):
        agent = self.agent(model)
        return lambda prompt: wait(agent.run(task=prompt)).messages[-1].content

    def stream(self, prompt):
        async def pieces():
            token = CancellationToken()
            events = self.agent(model_client_stream=True).run_stream(task=prompt, cancellation_token=token)
            try:
                async for event in events:
                    if isinstance(event, ModelClientStreamingChunkEvent):
                        yield event.content
            finally:
                token.cancel()
                await events.aclose()

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        return wait(self.agent(tools=[weather], reflect_on_tool_use=True).run(task=prompt)).messages[-1].content

    def structured(self, prompt):
        return wait(self.agent(output_content_type=City).run(task=prompt)).messages[-1].content

    def image(self, prompt, png):
        picture = Image(PIL.Image.open(io.BytesIO(png)))
        message = MultiModalMessage(content=[prompt, picture], source="user")
        return wait(self.agent().on_messages([message], CancellationToken())).chat_message.content


class Ollama(OpenAI):
    """Ollama's API. Its key is that of Ollama's package, a variable."""

    error = ("ollama._types.ResponseError",)

    def client(self, model):
        os.environ["OLLAMA_API_KEY"] = self.key
        return OllamaChatCompletionClient(model=model, host=self.url, model_info=INFO, timeout=TIMEOUT)
