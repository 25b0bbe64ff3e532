"""LlamaIndex with two of its packages for models."""

from __future__ import annotations

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.embeddings.ollama import OllamaEmbedding
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.ollama import Ollama as OllamaModel
from llama_index.llms.openai_like import OpenAILike

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of, wait


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def llm(self, model=MODEL):
        return OpenAILike(
            model=model, api_base=self.v1, api_key=self.key, is_chat_model=True, is_function_calling_model=True, timeout=TIMEOUT,
            max_retries=0, should_use_structured_outputs=True)

    def chat(self, model=MODEL):
        engine = SimpleChatEngine.from_defaults(llm=self.llm(model))
        return lambda prompt: str(engine.chat(prompt))

    def stream(self, prompt):
        async def pieces():
            async for piece in await self.llm().astream_chat([ChatMessage(prompt)]):
                yield piece.delta or ""

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        async def ask():
            return str(await FunctionAgent(tools=[weather], llm=self.llm()).run(prompt))

        return wait(ask())

    def structured(self, prompt):
        return self.llm().as_structured_llm(City).chat([ChatMessage(prompt)]).raw

    def image(self, prompt, png):
        message = ChatMessage(role="user", blocks=[TextBlock(text=prompt), ImageBlock(image=png, image_mimetype="image/png")])
        return self.llm().chat([message]).message.content

    def embed(self, texts):
        return OpenAILikeEmbedding(model_name=MODEL, api_base=self.v1, api_key=self.key).get_text_embedding_batch(texts)


class Ollama(OpenAI):
    """Ollama's API."""

    error = ("ollama._types.ResponseError",)

    def llm(self, model=MODEL):
        return OllamaModel(model, base_url=self.url, request_timeout=TIMEOUT, headers=self.fields, context_window=4096)

    def embed(self, texts):
        model = OllamaEmbedding(MODEL, base_url=self.url, client_kwargs={"headers": self.fields})
        return model.get_text_embedding_batch(texts)
