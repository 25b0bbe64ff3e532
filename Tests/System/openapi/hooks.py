"""Hooks of schemathesis. They lead a part of the generated requests to things that exist, and none to a foreign host."""

import itertools
import os
from collections.abc import MutableMapping

import schemathesis

from harness.client import connect, prompt, stream

URL, MODEL_URL, APP = (os.environ[name] for name in ("API_URL", "API_MODEL_URL", "API_APP"))
CONVERSATION = "Rome"
HEADERS = {"Authorization": f"Bearer {token}"} if (token := os.environ.get("API_CREDENTIAL")) else {}
# Requests that remove a conversation, or all.
REMOVALS = {("DELETE", "/conversations"), ("DELETE", "/conversations/{c}"), ("POST", "/llmprep")}

calls = itertools.count()


class Conversation:
    """A conversation of two turns, and its last reply. After its removal it is made again."""

    def __init__(self):
        self.reply = None

    def make(self):
        for text in "Where shall we stay?", "And in May?":
            with stream(URL, prompt(text, APP, conversation=CONVERSATION, model="m"), HEADERS) as response:
                response.read()
        self.reply = response.headers["Location"].rpartition("/")[2]

    def export(self):
        with connect(URL) as connection:
            connection.request("GET", f"/conversations/{CONVERSATION}/export?appID={APP}", headers=HEADERS)
            return connection.getresponse().read()


conversation = Conversation()


def replace(container, name, value):
    """Replaces a value that is a text; other values are tests of their own."""
    if isinstance(container, MutableMapping) and isinstance(container.get(name), str):
        container[name] = value


@schemathesis.serializer("application/x-ndjson")
def serialize_lines(context, value):
    """The body of an import: a real export, or as it is generated."""
    if isinstance(value, bytes):
        return value
    return conversation.export() if next(calls) % 2 and conversation.reply else str(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    # A model server is asked for its models, so no generated address may be asked.
    replace(case.body, "url", MODEL_URL)
    # Every third request stays as it is generated. Generated names lead nowhere, and a foreign app is refused.
    if not APP or next(calls) % 3 == 0:
        return
    if not conversation.reply:
        conversation.make()
    replace(case.body, "appID", APP)
    replace(case.body, "parent", conversation.reply)
    replace(case.query, "appID", APP)
    replace(case.headers, "X-App-ID", APP)
    if not case.path.endswith("/import"):
        replace(case.path_parameters, "c", CONVERSATION)
    if case.path.startswith("/replies/"):
        replace(case.path_parameters, "id", conversation.reply)


@schemathesis.hook
def after_call(context, case, response):
    if (case.method, case.path) in REMOVALS and response.status_code == 200:
        conversation.reply = None
