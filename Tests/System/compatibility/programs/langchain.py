"""LangChain's chat models with the packages of three makers, and an agent of LangGraph."""

from __future__ import annotations

import base64

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of


class ChatModel(Program):
    """What all chat models have. A subclass makes one."""

    method = "json_schema"

    def model(self, name=MODEL):
        raise NotImplementedError

    def chat(self, model=MODEL):
        messages, chat = [], self.model(model)

        def ask(prompt):
            messages.append(HumanMessage(prompt))
            messages.append(chat.invoke(messages))
            return messages[-1].text

        return ask

    def stream(self, prompt):
        for chunk in self.model().stream(prompt):
            yield chunk.text

    def tools(self, prompt, weather):
        function = tool(weather)
        model = self.model().bind_tools([function])
        messages = [HumanMessage(prompt)]
        messages.append(model.invoke(messages))
        for call in messages[-1].tool_calls:
            messages.append(ToolMessage(function.invoke(call["args"]), tool_call_id=call["id"]))
        return model.invoke(messages).text

    def structured(self, prompt):
        return self.model().with_structured_output(City, method=self.method).invoke(prompt)

    def image(self, prompt, png):
        picture = {"type": "image", "base64": base64.b64encode(png).decode(), "mime_type": "image/png"}
        return self.model().invoke([HumanMessage([{"type": "text", "text": prompt}, picture])]).text


class OpenAI(ChatModel):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def model(self, name=MODEL):
        return ChatOpenAI(model=name, base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)

    def embed(self, texts):
        # It counts tokens with a list that it would have to fetch.
        model = OpenAIEmbeddings(model=MODEL, base_url=self.v1, api_key=self.key, check_embedding_ctx_length=False)
        return model.embed_documents(texts)


class Responses(ChatModel):
    """Responses."""

    error = ("openai.NotFoundError",)

    def model(self, name=MODEL):
        return ChatOpenAI(model=name, base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0, use_responses_api=True)


class Anthropic(ChatModel):
    """Messages."""

    error = ("anthropic.NotFoundError",)

    def model(self, name=MODEL):
        return ChatAnthropic(model=name, base_url=self.url, api_key=self.key, timeout=TIMEOUT, max_retries=0)


class Ollama(ChatModel):
    """Ollama's API."""

    error = ("ollama._types.ResponseError",)

    def model(self, name=MODEL):
        return ChatOllama(model=name, base_url=self.url, client_kwargs={"headers": self.fields, "timeout": TIMEOUT})

    def embed(self, texts):
        return OllamaEmbeddings(model=MODEL, base_url=self.url, client_kwargs={"headers": self.fields}).embed_documents(texts)


class Graph(OpenAI):
    """A graph with a memory of its own, and LangChain's agent on it."""

    image = embed = None

    def chat(self, model=MODEL):
        chat = self.model(model)
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": chat.invoke(state["messages"])})
        graph.add_edge(START, "model")
        program = graph.compile(checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "1"}}
        return lambda prompt: program.invoke({"messages": [HumanMessage(prompt)]}, thread)["messages"][-1].text

    def stream(self, prompt):
        async def pieces():
            async for chunk, _ in create_agent(self.model()).astream({"messages": [HumanMessage(prompt)]}, stream_mode="messages"):
                yield chunk.text

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        agent = create_agent(self.model(), [tool(weather)])
        return agent.invoke({"messages": [HumanMessage(prompt)]})["messages"][-1].text

    def structured(self, prompt):
        agent = create_agent(self.model(), response_format=City)
        return agent.invoke({"messages": [HumanMessage(prompt)]})["structured_response"]
