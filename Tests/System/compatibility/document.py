"""The table as a document."""

from __future__ import annotations

from collections.abc import Iterable

from compatibility.catalogue import Entry
from compatibility.run import Outcome
from compatibility.texts import FEATURES
from compatibility.world import MODES
from harness.machine import TOP

PATH = TOP / "docs" / "compatibility.md"
INTRODUCTION = """# Compatibility

Which unmodified programs work with chatterd when their base URL and, in `keys` mode, their key is set, and what of each works?
`script/test programs` runs each program against chatterd in both modes, with a scripted model server behind it, and compares this table
with what it finds. `script/test programs -- --write` writes it: change [the catalogue](../Tests/System/compatibility/catalogue.py), and
not this page. The programs marked with \\* are part of each `script/test` (`compatibility`).

| mark | meaning |
| --- | --- |
| ✓ | works in `open` and in `keys` mode |
| open, keys | works in this mode only |
| ✗ | fails in both modes |
| – | not tried: the program has no such feature, or is used without it here. A note says why, where it is a fault of the program. |

The column *API* is the [front door](doors.md). In `keys` mode all requests of a program have one key, and no program names its
conversations. A feature works if both sides agree:

| feature | what is compared |
| --- | --- |
| two turns | Two chats take turns. The model gets exactly the messages of the chat that asks, and none of the other one. |
| stream | The model server sends the rest of the answer only after the program has got the first piece. The pieces are the whole answer. |
| tools | The model calls a function of the program. The function runs, and its result and the call come back to the model. |
| error | A model that does not exist raises the program's own class for it. The text names the model, and no model answers. |
| cancel | The program leaves a stream in its middle. chatterd closes its connection to the model server, at once with `CHATTERD_DISCONNECT_GRACE=0s`, which the run sets. |
| unicode | A prompt and an answer with characters of one to four bytes, joined emoji and combining marks arrive unchanged. |
| image | The model gets the picture. |
| structured output | The model gets the schema, as a format, as a function or in the prompt, and the program returns the right object. |
| embeddings | The model gets the texts, and the program returns the vectors. |
| models | The program lists the model. |
"""


def notes(entries: Iterable[Entry]) -> dict[str, int]:
    """The numbers of the notes."""
    found: dict[str, int] = {}
    for entry in entries:
        for text in [*entry.faults.values(), *([entry.lacks] if entry.lacks else [])]:
            found.setdefault(text, len(found) + 1)
    return found


def cell(entry: Entry, outcome: Outcome, feature: str, numbers: dict[str, int]) -> str:
    """What the table says of a feature."""
    if feature not in outcome.features:
        return "–"
    works = [mode for mode in MODES if not entry.fault(mode, feature)]
    marks = sorted({numbers[text] for mode in MODES if (text := entry.fault(mode, feature))})
    mark = {2: "✓", 1: works[0] if works else "", 0: "✗"}[len(works)]
    return " ".join([mark, *(f"[{number}](#notes)" for number in marks)])


def row(entry: Entry, outcome: Outcome, numbers: dict[str, int]) -> str:
    """The line of a program."""
    name = title(entry)
    if entry.lacks:
        name += f" [{numbers[entry.lacks]}](#notes)"
    versions = ", ".join(dict.fromkeys(outcome.versions))
    cells = [name, versions, entry.door, *(cell(entry, outcome, feature, numbers) for feature in FEATURES)]
    return f"| {' | '.join(cells)} |"


def title(entry: Entry) -> str:
    """The program as the table names it, without its notes."""
    return f"{entry.name} \\*" if entry.is_short else entry.name


def present() -> str:
    """The document on the disk."""
    return PATH.read_text() if PATH.exists() else ""


def page(entries: list[Entry], outcomes: dict[str, Outcome]) -> str:
    """The whole document. The rows of programs that have not run are those on the disk."""
    numbers = notes(entries)
    rows = [line.strip("|").strip().split(" | ") for line in present().splitlines()]
    old = {cells[0].partition(" [")[0]: cells for cells in rows if len(cells) == 3 + len(FEATURES)}
    lines = [INTRODUCTION, "## Programs", ""]
    lines += [f"| program | version | API | {' | '.join(FEATURES)} |", "| --- " * (3 + len(FEATURES)) + "|"]
    for entry in entries:
        outcome = outcomes.get(entry.name)
        if outcome is None and (cells := old.get(title(entry))):
            outcome = Outcome([feature for feature, cell in zip(FEATURES, cells[3:], strict=True) if cell != "–"], [cells[1]])
        lines += [row(entry, outcome, numbers)] if outcome else []
    lines += ["", "## Notes", "", *(f"{number}. {text}" for text, number in numbers.items())]
    return "\n".join(lines) + "\n"


def differences(entries: list[Entry], outcomes: dict[str, Outcome]) -> list[str]:
    """The lines that the document on the disk lacks, for the programs that have run."""
    text = present()
    if len(outcomes) == len(entries):
        return [] if text == page(entries, outcomes) else ["docs/compatibility.md is another one: write it with --write"]
    numbers = notes(entries)
    wanted = [row(entry, outcomes[entry.name], numbers) for entry in entries if entry.name in outcomes]
    return [f"docs/compatibility.md lacks: {line}" for line in wanted if line not in text.splitlines()]
