"""What the modules of the programs share. It runs in the virtual environment of the program."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, AsyncGenerator, Callable, Coroutine, Iterator

import pydantic

from compatibility.texts import MODEL, TIMEOUT

DESCRIPTION = "The weather of a city."
PARAMETERS = {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"],
    "additionalProperties": False,
}
"""The function of the feature `tools`, for programs that take a JSON Schema."""


class City(pydantic.BaseModel):
    """A city."""

    name: str
    people: int


class Reported(Exception):
    """The program returns an error as its answer, and raises nothing."""


class Refused(Exception):
    """A program that is a command has ended with a status other than 0."""


class Program:
    """The base class. A subclass has these methods for what its program can do.

    * `chat(model)` begins a chat: a function from a prompt to its answer, which keeps the history as the program does it.
    * `stream(prompt)` yields the pieces of an answer, and leaves it when it is closed.
    * `tools(prompt, weather)` lets the model call the function `weather(city, days)`, and returns the answer.
    * `structured(prompt)` returns a `City`, or its members.
    * `image(prompt, png)` returns the answer to a prompt with a picture.
    * `embed(texts)` returns their vectors.
    * `models()` returns the names of the models.
    """

    keeps_history = True
    """A program without a history has no feature `two turns`."""
    leaves_streams = True
    """A program that reads each stream to its end has no feature `cancel`."""
    error: tuple[str, ...] = ()
    """The names of classes, of which an error for an unknown model is one; without them the feature is absent."""

    def __init__(self, url: str, key: str, home: Path) -> None:
        self.url, self.key, self.home = url, key, home

    @property
    def v1(self) -> str:
        """The base URL of OpenAI's API."""
        return f"{self.url}/v1"

    @property
    def fields(self) -> dict[str, str]:
        """The fields for programs that have no setting for a key."""
        return {"Authorization": f"Bearer {self.key}"}


class Command(Program):
    """A program that is a command: it runs in a process and a directory of its own."""

    error = ("compatibility.program.Refused",)

    def environment(self) -> dict[str, str]:
        """The variables that a user sets."""
        return {}

    def start(self, *arguments: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[Any]:
        """Starts the command, whose first word is a program of the virtual environment."""
        program = [str(Path(sys.executable).with_name(arguments[0])), *arguments[1:]]
        self.home.mkdir(parents=True, exist_ok=True)
        variables = os.environ | {"HOME": str(self.home), "TERM": "dumb", "NO_COLOR": "1"} | self.environment() | (env or {})
        return subprocess.Popen(program, cwd=self.home, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options)

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        """The output of a command."""
        with self.start(*arguments, env=env, stderr=subprocess.PIPE, encoding="utf-8") as process:
            output, errors = process.communicate(timeout=TIMEOUT)
        print(output, errors, file=sys.stderr)
        if process.returncode:
            raise Refused(f"{process.returncode}: {output} {errors}")
        return output

    def pieces(self, *arguments: str) -> Iterator[str]:
        """The output of a command as it comes. The command is terminated when the iterator is closed."""
        with self.start(*arguments) as process:
            try:
                while piece := os.read(process.stdout.fileno(), 4096):
                    yield piece.decode()
            finally:
                process.terminate()


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """One event loop for all requests, because clients keep connections. It runs in a thread, so that what a program has begun ends."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result()


def pieces_to(work: Callable[[Callable[[str], None]], Coroutine[Any, Any, Any]]) -> Iterator[str]:
    """The pieces that a coroutine passes to its argument. It runs in one task, which is cancelled when the iterator is closed."""
    got: queue.Queue[str | None] = queue.Queue()

    async def run() -> None:
        try:
            await work(got.put)
        finally:
            got.put(None)

    task = asyncio.run_coroutine_threadsafe(run(), loop())
    try:
        while (piece := got.get(timeout=TIMEOUT)) is not None:
            yield piece
        task.result()
    finally:
        task.cancel()


def pieces_of(stream: AsyncGenerator[str, None]) -> Iterator[str]:
    """The pieces of an asynchronous generator."""

    async def run(put: Callable[[str], None]) -> None:
        async with contextlib.aclosing(stream):
            async for piece in stream:
                put(piece)

    return pieces_to(run)
