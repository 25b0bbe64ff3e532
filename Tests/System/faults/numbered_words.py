"""The answer of the scripted model servers: numbered words that name their server, so that a lost or doubled word is noticed."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOTAL = 40
"""Words of a whole answer."""
MARKS = ("", "ü", "🌍", "\"", "\\", "世界", "\n", "</b>", "e\u0301", "data: ")
"""The text inside some of the words."""
CITY = "Ålesund"
"""The argument of the tool call of an answer that has one."""


def word(index: int, label: str) -> str:
    """The word at an index of the answer to a call."""
    return f"{index}{MARKS[index % len(MARKS)]}~{label} "


@dataclass(frozen=True)
class Stretch:
    """Words of one call in a row."""

    label: str
    first: int  # index of its first word
    words: int
    start: int  # in bytes of the text
    end: int


@dataclass(frozen=True)
class Text:
    """A text, read as words."""

    words: int  # number of words from the first one
    stretches: list[Stretch]
    fault: str  # the fault, if any

    @classmethod
    def read(cls, text: str, twice: int | None = None) -> Text:
        """Reads a text; `twice` is the index of a word that a server sent twice by itself."""
        stretches: list[Stretch] = []
        index, at, is_second = 0, 0, False
        while at < len(text):
            found = re.compile(r"(\d+)(\D*?)~([a-z]\d+) ").match(text, at)
            if not found or found[0] != word(int(found[1]), found[3]):
                return cls(index, stretches, f"after {index} words: {text[at:at + 60]!r}")
            said, label = int(found[1]), found[3]
            if said != index:
                lack = "doubled" if said < index else "missing"
                return cls(index, stretches, f"{lack} words: {said} where {index} belongs: {text[max(0, at - 20):at + 40]!r}")
            start = len(text[:at].encode())
            end = start + len(found[0].encode())
            if stretches and stretches[-1].label == label:
                last = stretches.pop()
                stretches.append(Stretch(label, last.first, last.words + 1, last.start, end))
            else:
                stretches.append(Stretch(label, said, 1, start, end))
            if index == twice and not is_second:
                is_second = True
            else:
                index += 1
            at = found.end()
        return cls(index, stretches, "")

    @property
    def is_whole(self) -> bool:
        """Whether the text is a whole answer, with each word once and in order."""
        return not self.fault and self.words == TOTAL


def thoughts_of(text: str) -> dict[str, int] | None:
    """The number of words of thinking of each call, from its first one; None when they are incomplete or out of order."""
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


def call_of(label: str) -> dict[str, object]:
    """The arguments of the tool call that a call makes."""
    return {"city": CITY, "by": label}
