"""CrewAI: its models and its agents."""

from __future__ import annotations

from crewai import LLM, Agent
from crewai.tools import tool

from compatibility.program import MODEL, TIMEOUT, City, Program


class OpenAI(Program):
    """Chat completions. Its agents write long prompts of their own, so chats use the model."""

    error = ("builtins.ValueError",)
    leaves_streams = False

    def llm(self, model=MODEL, **more):
        return LLM(f"openai/{model}", base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0, **more)

    def chat(self, model=MODEL):
        llm, messages = self.llm(model), []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            answer = llm.call(messages)
            messages.append({"role": "assistant", "content": answer})
            return answer

        return ask

    def stream(self, prompt):
        for frame in self.llm().stream_events(prompt).llm:
            yield frame.content

    def structured(self, prompt):
        return self.llm(response_format=City).call(prompt)

    def tools(self, prompt, weather):
        agent = Agent(role="forecaster", goal="Forecasts", backstory="None", llm=self.llm(), tools=[tool(weather)], max_iter=3)
        return agent.kickoff(prompt).raw
