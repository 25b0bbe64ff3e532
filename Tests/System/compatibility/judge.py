"""Whether a feature works: what a program has returned, against what the model server received and sent."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from compatibility import texts
from compatibility.catalogue import Entry
from compatibility.world import World, holder
from harness.model import Exchange


class Fault(Exception):
    """The feature does not work; the text says why."""


def same(what: str, found: Any, wanted: Any) -> None:
    """Two values are equal."""
    if found != wanted:
        raise Fault(f"{what} is {found!r} and not {wanted!r}")


def dialogue(exchange: Exchange) -> list[tuple[str, str]]:
    """The messages of a request, without those of the system, which the program writes."""
    return [(message["role"], message["content"]) for message in exchange.request["messages"] if message["role"] != "system"]


class Judge:
    """Judges the results of one program."""

    def __init__(self, world: World, entry: Entry, errors: list[str]) -> None:
        self.world, self.entry, self.errors = world, entry, errors

    def judge(self, feature: str, value: Any) -> None:
        """Raises a `Fault` if a feature does not work."""
        try:
            getattr(self, feature.replace(" ", "_"))(value)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise Fault(f"{value!r} is not what the feature returns, or the model server got something else: {error!r}") from error

    def asked(self, prompt: str) -> list[Exchange]:
        """The requests whose last prompt is this one; not those for a title, which quote a whole chat."""
        found = []
        for exchange in self.world.asked:
            messages = exchange.request.get("messages", ())
            # One program sends a picture as a message without a text.
            prompts = [message["content"] for message in messages if message["role"] == "user" and message["content"]]
            if prompts and prompt in prompts[-1] and not any(f"{name}: {prompt}" in prompts[-1] for name in ("User", "Assistant")):
                found.append(exchange)
        return found

    def only(self, prompt: str) -> Exchange:
        """The one request with a prompt."""
        found = self.asked(prompt)
        same(f"the number of requests with {prompt!r}", len(found), 1)
        return found[0]

    def said(self, found: Any, wanted: str) -> None:
        """The program has the text of the answer, and the commands among them have it in their output."""
        if self.entry.is_exact:
            same("the answer", found, wanted)
        elif not isinstance(found, str) or wanted not in found:
            raise Fault(f"the output {found!r} lacks {wanted!r}")

    def is_asked(self, exchange: Exchange, *wanted: tuple[str, str]) -> None:
        """The model server has got exactly these messages; those of a program that writes more around them have them in this order."""
        found = dialogue(exchange)
        if self.entry.is_exact:
            return same("what the model server got", found, list(wanted))
        rest = iter(found)
        for role, text in wanted:
            if not any(role == other and text in content for other, content in rest):
                raise Fault(f"the model server got {found!r}, without {text!r} of the {role} in its order")

    def two_turns(self, value: Any) -> None:
        exchanges = [self.only(prompt) for prompt in (texts.FIRST, texts.OTHER, texts.SECOND)]
        answers = [exchange.said for exchange in exchanges]
        if self.entry.is_exact:
            same("the number of requests", len(self.world.asked), 3)
        for found, wanted in zip(value, answers, strict=True):
            self.said(found, wanted)
        first, other, second = exchanges
        self.is_asked(first, ("user", texts.FIRST))
        self.is_asked(other, ("user", texts.OTHER))
        self.is_asked(second, ("user", texts.FIRST), ("assistant", answers[0]), ("user", texts.SECOND))
        foreign = ((first, texts.OTHER), (other, texts.FIRST), (other, answers[0]), (second, texts.OTHER), (second, answers[1]))
        for exchange, text in foreign:
            if text in json.dumps(exchange.request, ensure_ascii=False):
                raise Fault(f"the model server got {text!r} in another chat")

    def stream(self, value: Any) -> None:
        self.is_asked(self.only(texts.STREAM), ("user", texts.STREAM))
        self.said("".join(value), "".join(texts.PIECES))
        if len(value) < 2:
            raise Fault(f"the answer came in one piece: {value!r}")

    def tools(self, value: Any) -> None:
        same("the calls of the function", value["calls"], [texts.ARGUMENTS])
        exchanges = self.asked(texts.WEATHER)
        same("the number of requests", len(exchanges), 2)
        messages = exchanges[-1].request["messages"]
        if self.entry.writes_calls:
            past = [message["content"] for message in messages if message["role"] != "system"]
            for wanted in (texts.RESULT, texts.ARGUMENTS["city"]):
                if not any(wanted in text for text in past):
                    raise Fault(f"the model server got no {wanted!r} back: {past!r}")
        else:
            results = [message["content"] for message in messages if message["role"] == "tool"]
            if len(results) != 1 or texts.RESULT not in results[0] and json.dumps(texts.RESULT)[1:-1] not in results[0]:
                raise Fault(f"the results of functions that the model server got are {results!r}")
            calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
            same("the arguments that the model server got back", [call["arguments"] for call in calls], [texts.ARGUMENTS])
        self.said(value["text"], texts.RAIN)

    def error(self, value: Any) -> None:
        if not set(self.errors) & set(value["classes"]):
            raise Fault(f"the error is none of {', '.join(self.errors)}, but {value['classes'][:1]}: {value['text'][:300]}")
        if texts.UNKNOWN not in value["text"]:
            raise Fault(f"the error does not name the model: {value['text'][:300]}")
        same("what the model server answered", [exchange.said for exchange in self.world.asked if exchange.said], [])

    def cancel(self, value: Any) -> None:
        if self.entry.is_exact:
            same("the beginning", value.strip(), texts.BEGUN)
        if not self.only(texts.FOREVER).gone.wait(texts.TIMEOUT):
            raise Fault("the model server goes on after the client has left")

    def unicode(self, value: Any) -> None:
        self.is_asked(self.only(texts.UNICODE), ("user", texts.UNICODE))
        self.said(value, texts.UNICODE)

    def image(self, value: Any) -> None:
        self.said(value, texts.SEEN)
        pictures = [picture for message in self.only(texts.PICTURE).request["messages"] for picture in message.get("images", ())]
        same("the number of pictures", len(pictures), 1)
        data = base64.b64decode(pictures[0], validate=True)
        # Some programs read the picture and write it again.
        if data != texts.IMAGE:
            same("the picture that the model server got", pixels(data), pixels(texts.IMAGE))

    def structured_output(self, value: Any) -> None:
        same("the object", value, texts.PLACE)
        request = self.asked(texts.CITY)[0].request
        schemas = [request.get("format"), *(tool["function"]["parameters"] for tool in request.get("tools", ()))]
        prompt = json.dumps(request["messages"])
        if not any(holder(schema) is not None for schema in schemas) and not all(name in prompt for name in texts.PLACE):
            raise Fault(f"the model server got no schema: {request!r}")

    def embeddings(self, value: Any) -> None:
        same("the vectors", value, list(texts.VECTORS.values()))
        inputs = [exchange.request.get("input", exchange.request.get("prompt")) for exchange in self.world.asked]
        same("what the model server got", [text for one in inputs for text in ([one] if isinstance(one, str) else one)], texts.INPUTS)

    def models(self, value: Any) -> None:
        if not any(texts.MODEL == name or f"{texts.MODEL}:latest" in name for name in value):
            raise Fault(f"the list has no model {texts.MODEL!r}: {value!r}")


def pixels(png: bytes) -> tuple[bytes, bytes]:
    """The head and the pixels of a PNG with one pixel, whatever it is compressed with."""
    head, data, place = b"", b"", 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place:place + 4])
        kind, part = png[place + 4:place + 8], png[place + 8:place + 8 + size]
        head, data = (part if kind == b"IHDR" else head), data + (part if kind == b"IDAT" else b"")
        place += 12 + size
    # The first byte is the filter, which has no effect on a single pixel.
    return head, zlib.decompress(data)[1:]
