"""Server-sent events, as chatterd writes them: the HTML Standard, section 9.2, with one `data` field in each event."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    id: str
    data: str


def event_of(block: bytes) -> Event | None:
    """The event in the lines before an empty line; None if they are comments or other fields alone."""
    fields = {"event": "", "id": "", "data": ""}
    for line in block.decode().split("\n"):
        name, colon, value = line.partition(":")
        assert colon, f"a line without a colon: {line}"
        fields[name] = value.removeprefix(" ")
    return Event(fields["event"], fields["id"], fields["data"]) if fields["data"] else None
