"""Outlines with OpenAI's and with Ollama's package."""

from __future__ import annotations

import io

import ollama
import openai
import outlines
import PIL.Image
from outlines.inputs import Chat, Image

from compatibility.program import MODEL, TIMEOUT, City, Program, pieces_of


class OpenAI(Program):
    """Chat completions."""

    error = ("outlines.exceptions.NotFoundError",)

    def model(self, name=MODEL):
        return outlines.from_openai(openai.OpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0), name)

    def asynchronous_model(self):
        return outlines.from_openai(openai.AsyncOpenAI(base_url=self.v1, api_key=self.key, timeout=TIMEOUT, max_retries=0), MODEL)

    def chat(self, model=MODEL):
        chat, history = self.model(model), Chat()

        def ask(prompt):
            history.add_user_message(prompt)
            answer = chat(history)
            history.add_assistant_message(answer)
            return answer

        return ask

    def stream(self, prompt):
        return pieces_of(self.asynchronous_model().stream(prompt))

    def structured(self, prompt):
        return City.model_validate_json(self.model()(prompt, City))

    def image(self, prompt, png):
        return self.model()([prompt, Image(PIL.Image.open(io.BytesIO(png)))])


class Ollama(OpenAI):
    """Ollama's API."""

    def model(self, name=MODEL):
        return outlines.from_ollama(ollama.Client(self.url, headers=self.fields, timeout=TIMEOUT), name)

    def asynchronous_model(self):
        return outlines.from_ollama(ollama.AsyncClient(self.url, headers=self.fields, timeout=TIMEOUT), MODEL)
