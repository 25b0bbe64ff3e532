"""Magentic: chats and functions that are prompts."""

from __future__ import annotations

from magentic import AsyncStreamedStr, Chat, FunctionCall, ImageBytes, UserMessage
from magentic.chat_model.openai_chat_model import OpenaiChatModel

from compatibility.program import MODEL, City, Program, pieces_of


class OpenAI(Program):
    """Chat completions."""

    error = ("openai.NotFoundError",)

    def model(self, name=MODEL):
        return OpenaiChatModel(name, base_url=self.v1, api_key=self.key)

    def chat(self, model=MODEL):
        last = [Chat(messages=[], model=self.model(model), output_types=[str])]

        def ask(prompt):
            last[0] = last[0].add_user_message(prompt).submit()
            return last[0].last_message.content

        return ask

    def stream(self, prompt):
        async def pieces():
            chat = await Chat(messages=[UserMessage(prompt)], model=self.model(), output_types=[AsyncStreamedStr]).asubmit()
            async for piece in chat.last_message.content:
                yield piece

        return pieces_of(pieces())

    def tools(self, prompt, weather):
        chat = Chat(messages=[UserMessage(prompt)], functions=[weather], output_types=[str, FunctionCall[str]], model=self.model())
        return chat.submit().exec_function_call().submit().last_message.content

    def structured(self, prompt):
        return Chat(messages=[UserMessage(prompt)], model=self.model(), output_types=[City]).submit().last_message.content

    def image(self, prompt, png):
        chat = Chat(messages=[UserMessage([prompt, ImageBytes(png)])], model=self.model(), output_types=[str])
        return chat.submit().last_message.content
