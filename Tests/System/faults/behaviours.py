"""The behaviour of a scripted model server for a request."""

from __future__ import annotations

from dataclasses import dataclass

from faults.numbered_words import TOTAL


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of the server for one request. The default is a good answer."""

    silent: bool = False  # never answers
    hangs_up: bool = False  # the connection is closed in place of an answer
    raw: bytes = b""  # sent in place of an HTTP response
    status: int = 200
    retry_after: int | None = None  # seconds
    says: str = ""  # the words of an error
    type: str = "server_error"  # of an error
    page: str = ""  # a web page in place of JSON
    location: str = ""  # where a redirect leads: "elsewhere"
    window: int = 0  # tokens that fit; a longer prompt is refused
    empty: bool = False  # a body of no bytes
    body_of_error: bool = False  # 200, and the error's JSON as the whole body
    is_bare: bool = False  # the dialect's empty event before the first word is missing
    comments: int = 0  # comments, or empty lines, before the first word
    pause: float = 0  # seconds between the head and the first word
    is_late: bool = False  # the pause is before the head
    words: int = TOTAL  # words of the call before the fault
    then: str = "end"  # the fault there, see `Provider._then`
    twice: int | None = None  # index of a word that is sent twice
    model: str = ""  # another name than the requested one
    thoughts: int = 0  # words of thinking before the first word
    is_tool: bool = False  # a tool call in place of words
    is_limited: bool = False  # the token limit cuts that call; `then` is "closed" if it still looks whole
    is_mute: bool = False  # asked to continue a text, it ends without words
    begins_again: bool = False  # asked to continue a text, it begins from the start


GOOD = Behaviour()
"""A good answer."""
