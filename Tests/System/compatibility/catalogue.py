"""The table of the programs: what they are, where they are installed, and which of their features are known to fail."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One program at one door."""

    name: str
    door: str
    distributions: tuple[str, ...]
    """The packages whose versions the table has."""
    environment: str
    """The name of its file in Tests/Runner/requirements."""
    module: str
    """Its module and class in `programs`; without it the program cannot run, and `faults` says why."""
    faults: dict[str, str] = field(default_factory=dict)
    """Why a feature fails, by its name or by its mode and its name, `keys cancel`. Everything else must work."""
    lacks: str = ""
    """What the program has and this table does not try, with the reason."""
    is_exact: bool = True
    """Whether the program sends the prompt as it is, and returns the answer as it is. Programs that are commands write more around them."""
    writes_calls: bool = False
    """Whether the program writes calls of functions and their results into texts of the chat."""
    is_short: bool = False
    """Whether the short form runs it."""

    def fault(self, mode: str, feature: str) -> str:
        """Why a feature is known to fail in a mode; an empty text if it must work."""
        return self.faults.get(f"{mode} {feature}") or self.faults.get(feature, "")


IN_ANOTHER_CLASS = (
    "If only the model server knows that a model does not exist, a streamed request of `/v1/responses` is answered with 200 and the event "
    "`response.failed`, and by OpenAI with 404: the program raises a class of its own.")
AS_NOTHING = (
    "If only the model server knows that a model does not exist, a streamed request of `/v1/responses` is answered with 200 and the event "
    "`response.failed`, and by OpenAI with 404: the program takes it for an empty answer.")
NEEDS_PROBABILITIES = "Each request has `logprobs`, which chatterd refuses, because answers have no probabilities here."
NOT_CLOSED = (
    "cancel: the program does not close a stream that it leaves. The connection ends when Python removes the object, at any later time.")

ENTRIES = [
    Entry("OpenAI's package, chat completions", "OpenAI", ("openai",), "clients", "openai_package:Chat", is_short=True),
    Entry("OpenAI's package, responses", "Responses", ("openai",), "clients", "openai_package:Responses", is_short=True),
    Entry("Anthropic's package", "Anthropic", ("anthropic",), "clients", "anthropic_package:Messages", is_short=True),
    Entry("Ollama's package", "Ollama", ("ollama",), "clients", "ollama_package:Ollama", is_short=True),
    Entry("LangChain, langchain-openai", "OpenAI", ("langchain-openai",), "frameworks", "langchain:OpenAI"),
    Entry("LangChain, langchain-openai with responses", "Responses", ("langchain-openai",), "frameworks", "langchain:Responses"),
    Entry("LangChain, langchain-anthropic", "Anthropic", ("langchain-anthropic",), "frameworks", "langchain:Anthropic"),
    Entry("LangChain, langchain-ollama", "Ollama", ("langchain-ollama",), "frameworks", "langchain:Ollama"),
    Entry("LangGraph and LangChain's agent", "OpenAI", ("langgraph", "langchain"), "frameworks", "langchain:Graph"),
    Entry("Pydantic AI", "OpenAI", ("pydantic-ai-slim",), "frameworks", "pydantic_agents:Chat"),
    Entry("Pydantic AI with responses", "Responses", ("pydantic-ai-slim",), "frameworks", "pydantic_agents:Responses"),
    Entry("Pydantic AI with Anthropic's package", "Anthropic", ("pydantic-ai-slim",), "frameworks", "pydantic_agents:Anthropic"),
    Entry("OpenAI's agents", "OpenAI", ("openai-agents",), "frameworks", "openai_agents:Chat"),
    Entry("OpenAI's agents with responses", "Responses", ("openai-agents",), "frameworks", "openai_agents:Responses"),
    Entry("LiteLLM, openai", "OpenAI", ("litellm",), "frameworks", "lite_llm:OpenAI"),
    Entry("LiteLLM, ollama_chat", "Ollama", ("litellm",), "frameworks", "lite_llm:Ollama"),
    Entry("LiteLLM, anthropic", "Anthropic", ("litellm",), "frameworks", "lite_llm:Anthropic"),
    Entry("Haystack", "OpenAI", ("haystack-ai",), "frameworks", "haystack_chat:OpenAI"),
    Entry("Haystack, ollama-haystack", "Ollama", ("ollama-haystack",), "frameworks", "haystack_chat:Ollama"),
    Entry("smolagents", "OpenAI", ("smolagents",), "frameworks", "smol_agents:OpenAI", lacks=NOT_CLOSED, writes_calls=True),
    Entry("Agno, OpenAILike", "OpenAI", ("agno",), "frameworks", "agno_agents:OpenAI"),
    Entry("Agno, OpenAIChat", "OpenAI", ("agno",), "frameworks", "agno_agents:Chat"),
    Entry("Agno, OpenAIResponses", "Responses", ("agno",), "frameworks", "agno_agents:Responses"),
    Entry("Agno, Claude", "Anthropic", ("agno",), "frameworks", "agno_agents:Anthropic"),
    Entry("Agno, Ollama", "Ollama", ("agno",), "frameworks", "agno_agents:Ollama"),
    Entry("Outlines, OpenAI", "OpenAI", ("outlines",), "frameworks", "outlines_models:OpenAI"),
    Entry("Outlines, Ollama", "Ollama", ("outlines",), "frameworks", "outlines_models:Ollama"),
    Entry("AG2, OpenAIConfig", "OpenAI", ("ag2",), "frameworks", "ag2_agents:OpenAI"),
    Entry("AG2, OpenAIResponsesConfig", "Responses", ("ag2",), "frameworks", "ag2_agents:Responses", {"error": AS_NOTHING}),
    Entry("AG2, AnthropicConfig", "Anthropic", ("ag2",), "frameworks", "ag2_agents:Anthropic"),
    Entry("AG2, OllamaConfig", "Ollama", ("ag2",), "frameworks", "ag2_agents:Ollama"),
    Entry("Magentic", "OpenAI", ("magentic",), "frameworks", "magentic_chat:OpenAI"),
    Entry("DSPy", "OpenAI", ("dspy",), "frameworks", "dspy_modules:OpenAI",
          lacks="stream, tools: it reads them from texts in a form of its own, which the scripted model does not write."),
    Entry("Google ADK with LiteLLM, openai", "OpenAI", ("google-adk",), "frameworks", "google_adk:OpenAI"),
    Entry("Google ADK with LiteLLM, ollama_chat", "Ollama", ("google-adk",), "frameworks", "google_adk:Ollama"),
    Entry("AutoGen, OpenAI", "OpenAI", ("autogen-agentchat",), "frameworks", "autogen_agents:OpenAI"),
    Entry("AutoGen, Ollama", "Ollama", ("autogen-agentchat",), "frameworks", "autogen_agents:Ollama"),
    Entry("Semantic Kernel, OpenAI", "OpenAI", ("semantic-kernel",), "frameworks", "semantic_kernel_agents:OpenAI"),
    Entry("Semantic Kernel, Ollama", "Ollama", ("semantic-kernel",), "frameworks", "semantic_kernel_agents:Ollama"),
    Entry("Guidance", "OpenAI", ("guidance",), "frameworks", "guidance_models:OpenAI",
          dict.fromkeys(("two turns", "error", "unicode"), NEEDS_PROBABILITIES)),
    Entry("Strands, OpenAIModel", "OpenAI", ("strands-agents",), "frameworks-2", "strands_agents:OpenAI"),
    Entry("Strands, OpenAIResponsesModel", "Responses", ("strands-agents",), "frameworks-2", "strands_agents:Responses",
          {"error": IN_ANOTHER_CLASS}),
    Entry("Strands, AnthropicModel", "Anthropic", ("strands-agents",), "frameworks-2", "strands_agents:Anthropic"),
    Entry("Strands, OllamaModel", "Ollama", ("strands-agents",), "frameworks-2", "strands_agents:Ollama"),
    Entry("Mirascope, openai", "OpenAI", ("mirascope",), "frameworks-2", "mirascope_models:OpenAI"),
    Entry("Mirascope, openai with responses", "Responses", ("mirascope",), "frameworks-2", "mirascope_models:Responses"),
    Entry("Mirascope, anthropic", "Anthropic", ("mirascope",), "frameworks-2", "mirascope_models:Anthropic"),
    Entry("Mirascope, ollama", "OpenAI", ("mirascope",), "frameworks-2", "mirascope_models:Ollama"),
    Entry("LlamaIndex, openai-like", "OpenAI", ("llama-index-llms-openai-like",), "frameworks-2", "llama_index:OpenAI"),
    Entry("LlamaIndex, ollama", "Ollama", ("llama-index-llms-ollama",), "frameworks-2", "llama_index:Ollama"),
    Entry("Instructor, functions", "OpenAI", ("instructor",), "frameworks-2", "instructor_clients:Tools"),
    Entry("Instructor, schema", "OpenAI", ("instructor",), "frameworks-2", "instructor_clients:Schema"),
    Entry("SimpleMind", "OpenAI", ("simplemind",), "frameworks-2", "simple_mind:OpenAI", lacks=NOT_CLOSED),
    Entry("CrewAI", "OpenAI", ("crewai",), "crewai", "crew_ai:OpenAI",
          lacks="cancel: a thread of the program reads each stream to its end, also after the caller has left it."),
    Entry("llm, llm-ollama", "Ollama", ("llm", "llm-ollama"), "llm", "llm_command:Ollama"),
    Entry("llm, OpenAI", "OpenAI", ("llm",), "llm", "llm_command:OpenAI"),
    Entry("ShellGPT", "OpenAI", ("shell-gpt",), "shell-gpt", "shell_gpt:Sgpt", is_exact=False),
    Entry("gptme", "OpenAI", ("gptme",), "gptme", "gptme_command:Gptme", is_exact=False),
    Entry("aider", "OpenAI", ("aider-chat",), "aider", "aider_command:Aider", is_exact=False),
    Entry("Open Interpreter", "OpenAI", ("open-interpreter",), "open-interpreter", "open_interpreter:Interpreter",
          lacks=NOT_CLOSED, is_exact=False),
]
