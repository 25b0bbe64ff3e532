"""The conversations of the test: those that have ended, those under load, and replies that run during the backups."""

from __future__ import annotations

import threading
import urllib.parse
from dataclasses import dataclass

from harness.client import call, connect, events, prompt, read_until, said, stream
from harness.model import speech

APP = "backup"
OPENING = speech(8, "opening ")
"""What the model says to a held prompt, before it waits."""
REST = speech(4, "rest ")
PIECES = 20
HOLD = "Hold."


@dataclass(frozen=True)
class Held:
    """A reply that runs during the backups."""

    conversation: str
    path: str
    is_regenerated: bool


class HoldingModel:
    """The script of a model whose answer to a prompt is known, and which holds some of them."""

    def __init__(self) -> None:
        self.proceed = threading.Event()

    def answer(self, exchange) -> None:
        text = exchange.prompts[-1][1]
        if text == HOLD:
            exchange.say(*OPENING)
            exchange.until(self.proceed)
            exchange.say(*REST)
        else:
            exchange.say(*speech(PIECES, f"{text} "))

    @staticmethod
    def expected(text: str) -> str:
        """The whole answer to a prompt."""
        return "".join(OPENING + REST if text == HOLD else speech(PIECES, f"{text} "))


class Conversations:
    """A client of one app, and what it knows of its conversations."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.begun: list[str] = []
        """Conversations with a prompt that may have been stored."""
        self.ended: list[str] = []
        """Conversations whose client got the whole answer."""
        self.is_over = threading.Event()

    def ask(self, name: str) -> str:
        """Asks in a conversation of its own, whose prompt is its name; returns the path of the reply, which has ended."""
        self.begun.append(name)
        body = prompt(name, APP, model="m", conversation=name)
        with stream(self.url, body, {"Idempotency-Key": key(name)}) as lines:
            assert said(lines.read()) == HoldingModel.expected(name)
            self.ended.append(name)
            return lines.headers["Location"]

    def ask_until_over(self, client: int) -> None:
        """Asks in one conversation after the other."""
        number = 0
        while not self.is_over.is_set():
            number += 1
            self.ask(f"load {client} {number}")

    def hold(self, number: int) -> Held:
        """Leaves a reply running whose first pieces have arrived."""
        name, is_regenerated = f"held {number}", number % 2 == 1
        body = prompt(HOLD, APP, model="m", conversation=name, on_disconnect="finish")
        with stream(self.url, body | ({"on_interrupt": "regenerate"} if is_regenerated else {})) as lines:
            read_until(lines, f"opening {len(OPENING) - 1} ".encode())
            return Held(name, lines.headers["Location"], is_regenerated)


def key(name: str) -> str:
    """The Idempotency-Key of the prompt of a conversation."""
    return f"key-{name.replace(' ', '-')}"


def place(name: str, more: str = "") -> str:
    """The path of a conversation."""
    return f"/conversations/{urllib.parse.quote(name)}{more}?appID={APP}"


def exported(url: str, name: str) -> bytes:
    """The export of a conversation as its bytes."""
    with connect(url) as connection:
        connection.request("GET", place(name, "/export"))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return response.read()


def messages(url: str, name: str) -> list[dict]:
    """The messages of a conversation; none if it does not exist."""
    status, _, answer = call(url, "GET", place(name))
    assert status in (200, 404), answer
    return answer["messages"] if status == 200 else []


def ends_of(url: str, path: str) -> dict:
    """The last event of a reply, which is waited for."""
    with stream(url, path=path) as lines:
        return list(events(lines.read()))[-1][2]
