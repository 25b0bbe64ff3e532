"""Agents of Google's ADK, with LiteLLM as their model."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

from compatibility.program import MODEL, TIMEOUT, City, Program, Reported, pieces_of, wait


class OpenAI(Program):
    """Chat completions."""

    error = ("compatibility.program.Reported",)
    prefix = "openai"

    @property
    def base(self):
        return self.v1

    def runner(self, model=MODEL, **more):
        lite = LiteLlm(f"{self.prefix}/{model}", api_base=self.base, api_key=self.key, timeout=TIMEOUT, num_retries=0)
        return InMemoryRunner(LlmAgent(name="agent", model=lite, **more), app_name="compatibility")

    async def events(self, runner, session, *parts, **more):
        message = types.Content(role="user", parts=list(parts))
        async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=message, **more):
            if event.error_code:
                raise Reported(event.error_message)
            yield event

    def session(self, runner):
        return wait(runner.session_service.create_session(app_name="compatibility", user_id="ada"))

    def ask(self, runner, session, *parts):
        async def last():
            texts = [""]
            async for event in self.events(runner, session, *parts):
                if event.content and event.content.parts and event.content.parts[-1].text:
                    texts.append(event.content.parts[-1].text)
            return texts[-1]

        return wait(last())

    def chat(self, model=MODEL):
        runner = self.runner(model)
        session = self.session(runner)
        return lambda prompt: self.ask(runner, session, types.Part(text=prompt))

    def stream(self, prompt):
        runner = self.runner()
        session = self.session(runner)

        async def pieces():
            config = RunConfig(streaming_mode=StreamingMode.SSE)
            async for event in self.events(runner, session, types.Part(text=prompt), run_config=config):
                if event.partial and event.content and event.content.parts:
                    yield event.content.parts[0].text or ""

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        runner = self.runner(tools=[weather])
        return self.ask(runner, self.session(runner), types.Part(text=prompt))

    def structured(self, prompt):
        runner = self.runner(output_schema=City)
        return City.model_validate_json(self.ask(runner, self.session(runner), types.Part(text=prompt)))

    def image(self, prompt, png):
        runner = self.runner()
        return self.ask(runner, self.session(runner), types.Part(text=prompt), types.Part.from_bytes(data=png, mime_type="image/png"))


class Ollama(OpenAI):
    """Ollama's API."""

    prefix = "ollama_chat"

    @property
    def base(self):
        return self.url
