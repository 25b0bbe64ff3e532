"""The smallest client: Python's own HTTP, and the content of an answer's lines."""

import contextlib
import http.client
import json
import urllib.parse

from harness.events import event_of
from harness.machine import TIMEOUT


def prompt(text, app="client", **more):
    """The body of a request."""
    return {"appID": app, "model": "echo", "messages": [{"role": "user", "content": text}], "stream": True} | more


def connect(url, timeout=TIMEOUT, **options):
    """A connection to a server, for any number of requests."""
    address = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    return contextlib.closing(kind(address.hostname, address.port, timeout=timeout, **options))


def call(url, method, path, body=None, headers=None, **options):
    """The status, the headers and the JSON of an answer in one piece."""
    with connect(url, **options) as connection:
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
        response = connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None


def post(url, path, body, **options):
    """The status and the JSON of an answer in one piece."""
    status, _, answer = call(url, "POST", path, body, **options)
    return status, answer


@contextlib.contextmanager
def stream(url, body=None, headers=None, path="/llmchat"):
    """An open stream that is read line by line; without a body, that of an existing reply at its path."""
    with connect(url) as connection:
        method, body = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["content-type"].split(";")[0] == "text/event-stream"
        yield response


def read_until(lines, word):
    """Reads to the line that has this word; returns the bytes."""
    read = b""
    while word not in (line := lines.readline()):
        assert line, f"the stream ended before {word}: {read}"
        read += line
    return read + line


def stop(url, path):
    """Stops a reply, and asks again until it is over; the status and the JSON of the last answer."""
    status = 202
    while status == 202:
        status, _, answer = call(url, "DELETE", path)
    return status, answer


def ask(url, text, app="client", **more):
    """The text of a whole stream."""
    with stream(url, prompt(text, app, **more)) as lines:
        return said(lines.read())


def said(stream):
    """The text of a stream's bytes, which must end with `done` and no error."""
    lines = [line for _, _, line in events(stream)]
    assert lines[-1]["done"] and "error" not in lines[-1], lines[-1]
    return "".join(line["message"]["content"] for line in lines)


def events(stream):
    """The kind, the id and the data of each whole event in a stream's bytes; an unfinished one at the end is left out."""
    for block in stream.split(b"\n\n")[:-1]:
        if event := event_of(block):
            yield event.name or "message", event.id or None, json.loads(event.data)


class Reader:
    """The part of a reply that one client has got, over any number of connections."""

    def __init__(self):
        self.id, self.text, self.kinds, self.last = None, "", [], None

    def read(self, url, path, limit=None):
        """Continues reading, for this many bytes or to the end of the stream; returns the status."""
        with connect(url) as connection:
            connection.request("GET", path, headers={} if self.id is None else {"Last-Event-ID": self.id})
            response = connection.getresponse()
            if response.status == 200:
                self.consume(response.read(limit))
            return response.status

    def consume(self, stream):
        for kind, id, data in events(stream):
            assert self.last is None, f"an event after the last one: {data}"
            self.kinds.append(kind)
            if kind == "error" and id is None:
                # The process that streams cannot announce an end of the reply: only the stored row has one.
                self.last = data
                continue
            assert id is not None, data
            self.id = id
            if kind == "reset":
                self.text = ""
                continue
            if kind == "message":
                self.text += data["message"]["content"]
                # Without thinking and tool calls a position in the reply is the number of bytes of its text.
                assert id.removesuffix("-end").rpartition("~")[2] == str(len(self.text.encode())), (id, self.text)
            if data["done"]:
                assert id.endswith("-end"), id
                self.last = data
