"""The answer of the scripted model servers: numbered words that name their server, so that a lost or doubled word is noticed."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOTAL = 40
"""Words of a whole answer."""
MARKS = ("", "ü", "🌍", "\"", "\\", "世界", "\n", "</b>", "e\u0301", "data: ")
"""What stands in some of the words."""
CITY = "Ålesund"
"""What the answer's tool call asks for, when it has one."""


def word(place: int, who: str) -> str:
    """The word at a place, as a call says it."""
    return f"{place}{MARKS[place % len(MARKS)]}~{who} "


@dataclass(frozen=True)
class Stretch:
    """Words of one call in a row."""

    who: str
    first: int  # place of its first word
    words: int
    start: int  # in bytes of the text
    end: int


@dataclass(frozen=True)
class Text:
    """A text, read as words."""

    words: int  # places from the first one on that are there
    stretches: list[Stretch]
    fault: str  # what is wrong with it, if anything

    @classmethod
    def read(cls, text: str, twice: int | None = None) -> Text:
        """Reads a text; `twice` is the index of a word that a server said twice by itself."""
        stretches: list[Stretch] = []
        place, at, is_second = 0, 0, False
        while at < len(text):
            found = re.compile(r"(\d+)(\D*?)~([a-z]\d+) ").match(text, at)
            if not found or found[0] != word(int(found[1]), found[3]):
                return cls(place, stretches, f"after {place} words: {text[at:at + 60]!r}")
            said, who = int(found[1]), found[3]
            if said != place:
                lack = "doubled" if said < place else "missing"
                return cls(place, stretches, f"{lack} words: {said} where {place} belongs: {text[max(0, at - 20):at + 40]!r}")
            start = len(text[:at].encode())
            end = start + len(found[0].encode())
            if stretches and stretches[-1].who == who:
                last = stretches.pop()
                stretches.append(Stretch(who, last.first, last.words + 1, last.start, end))
            else:
                stretches.append(Stretch(who, said, 1, start, end))
            if place == twice and not is_second:
                is_second = True
            else:
                place += 1
            at = found.end()
        return cls(place, stretches, "")

    @property
    def is_whole(self) -> bool:
        """Whether it is all of an answer, each word once and in order."""
        return not self.fault and self.words == TOTAL


def thoughts_of(text: str) -> dict[str, int] | None:
    """How many words each call has thought aloud, each from its first one on; None when they are not whole or not in order."""
    counts: dict[str, int] = {}
    at, last = 0, ""
    while at < len(text):
        found = re.compile(r"(\d+)(\D*?)~([a-z]\d+) ").match(text, at)
        if not found or int(found[1]) != counts.get(found[3], 0) or found[0] != word(int(found[1]), found[3]):
            return None
        if last != found[3] and found[3] in counts:
            return None
        last = found[3]
        counts[last] = counts.get(last, 0) + 1
        at = found.end()
    return counts


def call_of(who: str) -> dict[str, object]:
    """The arguments of the tool call that a call makes."""
    return {"city": CITY, "by": who}
