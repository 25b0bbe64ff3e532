"""OpenAI's agents."""

from __future__ import annotations

import base64

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, SQLiteSession, function_tool
from openai import AsyncOpenAI

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of, wait


class Chat(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)
    kind = OpenAIChatCompletionsModel

    def agent(self, name=MODEL, **options):
        client = AsyncOpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0)
        return Agent(name="agent", model=self.kind(name, client), **options)

    def chat(self, model=MODEL):
        agent, session = self.agent(model), SQLiteSession("chat")
        return lambda prompt: wait(Runner.run(agent, prompt, session=session)).final_output

    def stream(self, prompt):
        async def pieces():
            result = Runner.run_streamed(self.agent(), prompt)
            try:
                async for event in result.stream_events():
                    if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                        yield event.data.delta
            finally:
                result.cancel()

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        return wait(Runner.run(self.agent(tools=[function_tool(weather)]), prompt)).final_output

    def structured(self, prompt):
        return wait(Runner.run(self.agent(output_type=City), prompt)).final_output

    def image(self, prompt, png):
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts = [{"type": "input_text", "text": prompt}, {"type": "input_image", "image_url": url, "detail": "auto"}]
        return wait(Runner.run(self.agent(), [{"role": "user", "content": parts}])).final_output


class Responses(Chat):
    """Responses."""

    kind = OpenAIResponsesModel
