"""The command `llm`, with its plugin for Ollama, and with a model of OpenAI's API."""

from __future__ import annotations

import itertools
import json

from compatibility.program import MODEL, Command
from compatibility.texts import RESULT, UNKNOWN

# The function runs in the process of the command, and leaves its arguments in a file.
FUNCTION = f"""
import json, pathlib

def weather(city: str, days: int) -> str:
    "The weather of a city."
    with pathlib.Path("calls.jsonl").open("a") as file:
        print(json.dumps(dict(city=city, days=days)), file=file)
    return {RESULT!r}
"""


class Ollama(Command):
    """The plugin `llm-ollama`. Its variable for a key is that of Ollama's package."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count()

    def environment(self, home=None):
        return {"OLLAMA_HOST": self.url, "OLLAMA_API_KEY": self.key, "LLM_USER_PATH": str(home or self.home)}

    def words(self, model=MODEL):
        return ["llm", "-m", f"ollama/{model}:latest"]

    def chat(self, model=MODEL):
        # The option `-c` continues the last chat of a folder.
        home = self.home / f"chat-{next(self.numbers)}"
        home.mkdir(parents=True)
        turns = []

        def ask(prompt):
            output = self.run(*self.words(model), *turns, prompt, env=self.environment(home))
            turns[:] = ["-c"]
            return output.removesuffix("\n")

        return ask

    def stream(self, prompt):
        for piece in self.pieces(*self.words(), prompt):
            yield piece.removesuffix("\n")

    def tools(self, prompt, weather):
        output = self.run(*self.words(), "--functions", FUNCTION, prompt)
        for line in (self.home / "calls.jsonl").read_text().splitlines():
            weather(**json.loads(line))
        return output.removesuffix("\n")

    def structured(self, prompt):
        return json.loads(self.run(*self.words(), "--schema", "name, people int", prompt))

    def image(self, prompt, png):
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "picture.png").write_bytes(png)
        return self.run(*self.words(), "-a", "picture.png", prompt).removesuffix("\n")

    def models(self):
        lines = self.run("llm", "models", "list").splitlines()
        return [line.partition(": ")[2].removeprefix("ollama/") for line in lines]


class OpenAI(Ollama):
    """A model of its file `extra-openai-models.yaml`."""

    models = None

    def environment(self, home=None):
        home = home or self.home
        entry = (
            "- model_id: our-{0}\n  model_name: {0}\n  api_base: {1}\n  api_key_name: openai\n"
            "  vision: true\n  supports_tools: true\n  supports_schema: true\n")
        (home / "extra-openai-models.yaml").write_text("".join(entry.format(name, self.v1) for name in (MODEL, UNKNOWN)))
        return {"LLM_USER_PATH": str(home), "OPENAI_API_KEY": self.key}

    def words(self, model=MODEL):
        return ["llm", "-m", f"our-{model}"]
