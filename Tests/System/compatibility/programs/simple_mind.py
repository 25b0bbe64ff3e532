"""SimpleMind, which reads its settings from variables."""

import os
from typing import Annotated

import pydantic
import simplemind
from simplemind.settings import settings

from compatibility.program import DESCRIPTION, MODEL, City, Program


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)
    leaves_streams = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        # The variables count when it is imported, and the other mode has others.
        os.environ["OPENAI_BASE_URL"] = self.v1
        settings.OPENAI_API_KEY = pydantic.SecretStr(self.key)

    def chat(self, model=MODEL):
        conversation = simplemind.create_conversation(llm_model=model, llm_provider="openai")

        def ask(prompt):
            conversation.add_message("user", prompt)
            return conversation.send().text

        return ask

    def stream(self, prompt):
        yield from simplemind.generate_text(prompt, llm_model=MODEL, llm_provider="openai", stream=True)

    def structured(self, prompt):
        return simplemind.generate_data(prompt, llm_model=MODEL, llm_provider="openai", response_model=City)

    def tools(self, prompt, weather):
        conversation = simplemind.create_conversation(llm_model=MODEL, llm_provider="openai")
        conversation.add_message("user", prompt)

        # It wants a description of each parameter in its annotation.
        def described(
            city: Annotated[str, pydantic.Field(description="The name of the city.")],
            days: Annotated[int, pydantic.Field(description="The number of days.")],
        ) -> str:
            return weather(city, days)

        described.__name__, described.__doc__ = "weather", DESCRIPTION
        return conversation.send(tools=[described]).text
