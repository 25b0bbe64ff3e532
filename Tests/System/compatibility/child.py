"""The process of one program: it carries out the features that are named on its standard input, one JSON object a line, and reports.

`python -B -m compatibility.child MODULE CLASS HOME` runs in the virtual environment of the program. It says what the program has
returned and judges nothing: the process that started it compares that with what the model server received.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable

from compatibility import texts
from compatibility.program import Program

Say = Callable[..., None]


def two_turns(program: Any, say: Say) -> Any:
    """A second chat begins between the turns of the first one."""
    one, other = program.chat(), program.chat()
    return [one(texts.FIRST), other(texts.OTHER), one(texts.SECOND)]


def stream(program: Any, say: Say) -> Any:
    """The model server sends the rest when the first piece has arrived."""
    got, has_first = [], False
    for piece in program.stream(texts.STREAM):
        if piece:
            got.append(piece)
        # Commands print before they ask.
        if not has_first and texts.PIECES[0].strip(" ,") in "".join(got):
            has_first, got = True, ["".join(got)]
            say(event="first")
    return got


def tools(program: Any, say: Say) -> Any:
    """The function has been called if the process has its arguments."""
    calls = []

    def weather(city: str, days: int) -> str:
        """The weather of a city.

        Args:
            city: The name of the city.
            days: The number of days.
        """
        calls.append({"city": city, "days": days})
        return texts.RESULT

    return {"text": program.tools(texts.WEATHER, weather), "calls": calls}


def error(program: Any, say: Say) -> Any:
    """All classes of the exception, and its text."""
    try:
        text = program.chat(texts.UNKNOWN)(texts.FIRST)
    except Exception as raised:
        return {"classes": [f"{kind.__module__}.{kind.__qualname__}" for kind in type(raised).__mro__], "text": str(raised)}
    return {"classes": ["no exception"], "text": repr(text)}


def cancel(program: Any, say: Say) -> Any:
    """The stream is closed after its first piece."""
    pieces = program.stream(texts.FOREVER)
    got = ""
    while texts.BEGUN not in got:
        got += next(pieces)
    pieces.close()
    return got


def unicode(program: Any, say: Say) -> Any:
    return program.chat()(texts.UNICODE)


def image(program: Any, say: Say) -> Any:
    return program.image(texts.PICTURE, texts.IMAGE)


def structured(program: Any, say: Say) -> Any:
    place = program.structured(texts.CITY)
    return place if isinstance(place, dict) else place.model_dump()


def embeddings(program: Any, say: Say) -> Any:
    return [[float(number) for number in vector] for vector in program.embed(texts.INPUTS)]


def models(program: Any, say: Say) -> Any:
    return list(program.models())


FEATURES = {
    "two turns": (two_turns, "chat"), "stream": (stream, "stream"), "tools": (tools, "tools"), "error": (error, "chat"),
    "cancel": (cancel, "stream"), "unicode": (unicode, "chat"), "image": (image, "image"), "structured output": (structured, "structured"),
    "embeddings": (embeddings, "embed"), "models": (models, "models"),
}
"""Each feature, and the method that a program with this feature has."""


def features(kind: type[Program]) -> list[str]:
    """The features of a program."""
    found = [name for name, (_, method) in FEATURES.items() if getattr(kind, method, None) is not None]
    has = {"two turns": kind.keeps_history, "cancel": kind.leaves_streams, "error": bool(kind.error)}
    return [name for name in found if has.get(name, True)]


def main() -> None:
    """Serves the requests until the standard input ends."""
    # Programs print: their output goes to the log, and the reports have a descriptor of their own.
    reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def say(**members: Any) -> None:
        print(json.dumps(members), file=reports, flush=True)

    module, name, home = sys.argv[1:]
    kind = getattr(importlib.import_module(f"compatibility.programs.{module}"), name)
    distributions = json.loads(os.environ["DISTRIBUTIONS"])
    say(event="ready", features=features(kind), errors=kind.error, versions=[importlib.metadata.version(one) for one in distributions])
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        print(f"== {request}", file=sys.stderr, flush=True)
        try:
            program = kind(request["url"], request["key"], Path(home) / str(number))
            say(event="result", value=FEATURES[request["feature"]][0](program, say))
        except Exception as raised:
            traceback.print_exc()
            say(event="failed", text=f"{type(raised).__name__}: {raised}")
    reports.flush()
    # Threads and event loops that a program has left do not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
