"""The smallest client: Python's own HTTP, and what an answer's lines say."""

import contextlib
import http.client
import json
import urllib.parse

from server import PATIENCE


def prompt(text, app="client", **more):
    """The body of a request."""
    return {"appID": app, "model": "echo", "messages": [{"role": "user", "content": text}], "stream": True} | more


def connect(url, **options):
    address = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    return contextlib.closing(kind(address.hostname, address.port, timeout=PATIENCE, **options))


def post(url, path, body, **options):
    """The status and the JSON of an answer in one piece."""
    with connect(url, **options) as connection:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        return response.status, json.load(response)


@contextlib.contextmanager
def stream(url, body):
    """An open stream, to be read line by line."""
    with connect(url) as connection:
        connection.request("POST", "/llmchat", json.dumps(body))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["content-type"].split(";")[0] == "text/event-stream"
        yield response


def ask(url, text, app="client"):
    """The text of a whole stream."""
    with stream(url, prompt(text, app)) as lines:
        return said(lines.read())


def said(stream):
    """The text of a stream's bytes, which must end with `done` and no error."""
    lines = stream.decode().split("\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert events[-1]["done"] and "error" not in events[-1], events[-1]
    return "".join(event["message"]["content"] for event in events)
