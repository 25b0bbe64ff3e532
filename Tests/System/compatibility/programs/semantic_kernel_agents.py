"""Semantic Kernel: chat services and agents."""

from __future__ import annotations

import ollama
import openai
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.ollama import OllamaChatCompletion, OllamaTextEmbedding
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings, OpenAITextEmbedding
from semantic_kernel.contents import ChatMessageContent, ImageContent, TextContent
from semantic_kernel.functions import KernelArguments, kernel_function

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of, wait


class OpenAI(Program):
    """Chat completions."""

    error = ("semantic_kernel.exceptions.service_exceptions.ServiceResponseException",)

    def package(self):
        return openai.AsyncOpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)

    def service(self, model=MODEL):
        return OpenAIChatCompletion(ai_model_id=model, async_client=self.package())

    def agent(self, model=MODEL, **more):
        return ChatCompletionAgent(service=self.service(model), name="agent", **more)

    def chat(self, model=MODEL):
        agent, thread = self.agent(model), ChatHistoryAgentThread()
        return lambda prompt: str(wait(agent.get_response(messages=prompt, thread=thread)))

    def stream(self, prompt):
        async def pieces():
            async for piece in self.agent().invoke_stream(messages=prompt):
                yield str(piece)

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        plugin = type("Plugin", (), {"weather": staticmethod(kernel_function(weather))})
        return str(wait(self.agent(plugins=[plugin()]).get_response(messages=prompt)))

    def structured(self, prompt):
        settings = OpenAIChatPromptExecutionSettings(response_format=City)
        answer = wait(self.agent(arguments=KernelArguments(settings=settings)).get_response(messages=prompt))
        return City.model_validate_json(str(answer))

    def image(self, prompt, png):
        items = [TextContent(text=prompt), ImageContent(data=png, data_format="base64", mime_type="image/png")]
        return str(wait(self.agent().get_response(messages=ChatMessageContent(role="user", items=items))))

    def embed(self, texts):
        return wait(OpenAITextEmbedding(ai_model_id=MODEL, async_client=self.package()).generate_embeddings(texts))


class Ollama(OpenAI):
    """Ollama's API."""

    error = ("ollama._types.ResponseError",)
    structured = None

    def package(self):
        return ollama.AsyncClient(self.url, headers=self.fields, timeout=TIMEOUT)

    def service(self, model=MODEL):
        return OllamaChatCompletion(ai_model_id=model, client=self.package())

    def embed(self, texts):
        return wait(OllamaTextEmbedding(ai_model_id=MODEL, client=self.package()).generate_embeddings(texts))
