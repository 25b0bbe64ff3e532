"""The models and the tool-calling agent of smolagents."""

from __future__ import annotations

import io

import PIL.Image
from smolagents import OpenAIModel, ToolCallingAgent, tool

from compatibility.program import MODEL, TIMEOUT, City, Program


class OpenAI(Program):
    """Chat completions. Its agents write long prompts of their own, so chats use the model."""

    error = ("openai.NotFoundError",)
    leaves_streams = False

    def model(self, name=MODEL, **more):
        return OpenAIModel(name, api_base=self.v1, api_key=self.key, client_kwargs={"timeout": TIMEOUT, "max_retries": 0}, **more)

    def chat(self, model=MODEL):
        chat, messages = self.model(model), []

        def ask(prompt):
            messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
            answer = chat.generate(messages).content
            messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
            return answer

        return ask

    def stream(self, prompt):
        for delta in self.model().generate_stream([{"role": "user", "content": [{"type": "text", "text": prompt}]}]):
            yield delta.content or ""

    def tools(self, prompt, weather):
        # It writes the calls and results of functions into texts, and gets its answer as a call of `final_answer`.
        return ToolCallingAgent([tool(weather)], self.model(), max_steps=3).run(prompt)

    def structured(self, prompt):
        schema = {"type": "json_schema", "json_schema": {"name": "city", "schema": City.model_json_schema()}}
        messages = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        return City.model_validate_json(self.model().generate(messages, response_format=schema).content)

    def image(self, prompt, png):
        picture = {"type": "image", "image": PIL.Image.open(io.BytesIO(png))}
        return self.model().generate([{"role": "user", "content": [{"type": "text", "text": prompt}, picture]}]).content
