"""The orders of a prompt to the scripted model server, and the answer that follows from them."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, fields, replace

ENDINGS = {
    "complete": 84,
    "fail-line": 3,  # an error line in the middle
    "fail-cut": 4,  # the connection breaks in the middle
    "fail-short": 2,  # an orderly end without the last line
    "fail-status": 3,  # 500 in place of an answer
    "fail-missing": 1,  # 404, there is no such model
    "fail-silent": 1,  # no further bytes arrive
    "fail-headless": 2,  # the connection closes before the head
}
TOOLS = ("book", "count", "look_up")
"""The tools of the server that rounds of calls name."""
NO_TOOL, MISFIT = "no_such_tool", "many"
"""The name of a call that no tool has, and an argument that does not fit its schema."""
ENDLESS = 2_000
"""The lines of an answer that ends only when it is stopped."""
WORDS = (
    "der die stream broke at a byte and nobody noticed it then 0 1234567890 \\ \" / <b> & {\"done\":true} data: id: 7 "
    "grün süß naïve Ελλάδα Привет 你好 世界 日本語 한국어 שלום مرحبا 🌍 😀 👩‍👩‍👧 🇩🇪 e\u0301 \u2028 \u2029 \ufeff \x7f \ud7ff \ue000 \U0010fffd"
).split(" ") + ["\n", "\n\n", "\t", "\r\n", "\b", " ", ""]


@dataclass(frozen=True)
class Script:
    """The orders to the model server in a prompt."""

    token: str  # unique in the run
    seed: int
    lines: int  # of the answer
    words: int  # in a line
    burst: int  # lines in one write
    pace: int  # milliseconds between writes
    thinking: int  # lines of thinking before the text
    calls: int  # tool calls behind the text
    ending: str
    rounds: int = 0  # of calls of the server's tools, before the answer

    def prompt(self) -> str:
        """The text of the prompt."""
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self)) + " · süße Grüße 🌍"

    @classmethod
    def parse(cls, prompt: str) -> Script | None:
        """The orders in a prompt; None if it has none."""
        words = dict(re.findall(r"(\w+)=(\S+)", prompt))
        try:
            return cls(**{field.name: str(words[field.name]) if field.name in ("token", "ending") else int(words[field.name])
                          for field in fields(cls)})
        except KeyError:
            return None

    @classmethod
    def draw(cls, token: str, chance: random.Random, hurried: bool) -> Script:
        """Draws the orders of one turn: most are short, some are long or slow."""
        kind = chance.choices(("short", "slow", "long", "huge", "empty"), (45, 30, 20, 3, 2))[0]
        lines, words, burst, pace = {
            "short": (chance.randint(2, 60), chance.randint(1, 4), chance.randint(1, 3), chance.randint(0, 30)),
            "slow": (chance.randint(20, 60), chance.randint(1, 3), 1, chance.randint(40, 90)),
            "long": (chance.randint(100, 300), chance.randint(4, 40), chance.randint(8, 40), chance.randint(5, 80)),
            "huge": (chance.randint(300, 500), chance.randint(200, 600), 8, chance.randint(0, 10)),
            "empty": (0, 1, 1, 0),
        }[kind]
        if hurried:
            lines, pace = lines // 2, pace // 2
        return cls(
            token=token, seed=chance.getrandbits(32), lines=lines, words=words, burst=burst, pace=pace,
            thinking=chance.choice((0, 0, 0, 3, 12)), calls=chance.choice((0, 0, 0, 0, 1, 3)),
            ending=chance.choices(tuple(ENDINGS), tuple(ENDINGS.values()))[0])

    def endless(self) -> Script:
        """The same turn with a slow answer that somebody must stop."""
        return replace(self, lines=ENDLESS, words=2, burst=1, pace=60, thinking=0, calls=0, ending="complete")

    def ending_of(self, round: int) -> str:
        """The ending of the answer to the request that follows so many rounds: one of them has that of the script."""
        return self.ending if round == self.seed % (self.rounds + 1) else "complete"

    @property
    def is_endless(self) -> bool:
        """Whether the answer must be stopped."""
        return self.lines == ENDLESS


@dataclass(frozen=True)
class Line:
    """The content of one line of an answer; `calls` are JSON objects with commas between them."""

    text: str = ""
    thinking: str = ""
    calls: str = ""


def canonical(calls: list[object]) -> str:
    """Tool calls in canonical form, as both sides of this program write them."""
    return ",".join(json.dumps(call, ensure_ascii=False, separators=(",", ":")) for call in calls)


def answer(script: Script, number: int, round: int = 0) -> list[Line]:
    """The lines of the whole answer to the prompt, asked for the `number`th time and after so many rounds; the last one is the final line.

    No two calls get the same answer, so that pieces of two are never mistaken for one.
    """
    chance = random.Random(f"{script.seed}/{number}")
    if round < script.rounds:
        return _round(script, number, round, chance)
    said = [Line(thinking=" ".join(chance.choices(WORDS, k=2)) + ";") for _ in range(script.thinking)]
    first = Line(text=f"[{script.token}#{number}] ") if script.lines else Line()
    said += [first] + [Line(text=" ".join(chance.choices(WORDS, k=script.words)) + " ") for _ in range(script.lines)]
    for index in range(script.calls):
        call = {"function": {"name": f"tool{index}", "arguments": {"n": chance.randint(0, 99), "s": chance.choice(WORDS)}}}
        said.append(Line(calls=canonical([call])))
    return said + [Line(text=chance.choice(("", "", "", "the end 🏁")))]


def _round(script: Script, number: int, round: int, chance: random.Random) -> list[Line]:
    """An answer that calls tools of the server: it says something or nothing before 1 to 3 calls."""
    said = [Line(thinking=" ".join(chance.choices(WORDS, k=2)) + ";") for _ in range(chance.choice((0, 0, 2)))]
    if chance.random() < 0.7:
        said += [Line(text=f"[{script.token}#{number}] ")]
        said += [Line(text=" ".join(chance.choices(WORDS, k=script.words)) + " ") for _ in range(chance.randint(0, 4))]
    calls: list[object] = []
    for index in range(chance.randint(1, 3)):
        name = NO_TOOL if chance.random() < 0.03 else chance.choices(TOOLS, (1, 1, 2))[0]
        n = MISFIT if chance.random() < 0.03 else chance.randint(0, 99)
        arguments = {"call": f"{script.token}.{number}.{round}.{index}", "word": chance.choice(WORDS), "n": n}
        id = {"id": f"call_{number}_{index}"} if script.seed % 2 else {}
        calls.append(id | {"function": {"name": name, "arguments": arguments}})
    if chance.random() < 0.5:
        said += [Line(calls=canonical([call])) for call in calls]
    else:
        said += [Line(text=chance.choice(("", "I look. ")), calls=canonical(calls))]
    return said + [Line()]


def whole(lines: list[Line]) -> tuple[bytes, bytes, bytes]:
    """Text, thinking and tool calls of lines together, as they should be stored."""
    return (
        "".join(line.text for line in lines).encode(),
        "".join(line.thinking for line in lines).encode(),
        ",".join(line.calls for line in lines if line.calls).encode(),
    )
