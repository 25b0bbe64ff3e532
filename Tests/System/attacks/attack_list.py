"""Attacks of hostile clients. Each attack runs in a separate process, with blocking sockets and threads, until it is killed."""

from __future__ import annotations

import itertools
import json
import os
import socket
import sys
import threading
import time
from typing import Callable

MIB = 1 << 20


class Target:
    """The server that is attacked."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self, receive: int | None = None) -> socket.socket:
        """A connection, with a receive buffer of this many bytes."""
        connection = socket.socket()
        if receive is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def send(self, path: str, body: bytes, receive: int | None = None) -> socket.socket:
        """Sends a request, and leaves the response unread."""
        connection = self.connect(receive)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return connection

    def exchange(self, path: str, body: bytes) -> bytes:
        """Sends a request, and reads until the server closes or is silent for a second."""
        with self.send(path, body) as connection:
            connection.settimeout(1)
            data = b""
            try:
                while part := connection.recv(1 << 16):
                    data = (data + part)[-4096:]
                    if data.endswith(b"0\r\n\r\n"):
                        break
            except TimeoutError:
                pass
            return data


def chat(app: str, content: str, model: str = "fail") -> bytes:
    """The body of a prompt."""
    return json.dumps({"appID": app, "model": model, "messages": [{"role": "user", "content": content}]}).encode()


def forever(count: int, act: Callable[[int], None]) -> None:
    """Repeats the same action on several threads."""
    def run(number: int) -> None:
        while True:
            try:
                act(number)
            except OSError:
                time.sleep(0.05)

    for number in range(count):
        threading.Thread(target=run, args=(number,), daemon=True).start()
    threading.Event().wait()


def unread_responses(target: Target) -> None:
    """S1: endless pipelined requests whose responses are not read; every other connection reads a little."""
    block = b"GET /x HTTP/1.1\r\nHost:127.0.0.1\r\n\r\n" * 2000

    def act(number: int) -> None:
        with target.connect() as connection:
            connection.settimeout(5)
            while True:
                connection.sendall(block)
                if number % 2:
                    connection.recv(4096)

    forever(4, act)


def failed_turns(target: Target) -> None:
    """S2: a conversation of 200 MB whose turns have all failed, and prompts to it, 16 at a time."""
    for _ in range(25):
        target.exchange("/llmchat", chat("grown", "x" * (8 * MIB - 200)))
    print("grown", flush=True)
    forever(16, lambda _: target.exchange("/llmchat", chat("grown", "y" * 100)) and None)


def waiting_turns(target: Target) -> None:
    """S2: conversations of 24 MiB that were answered, each with an answer under way and prompts that wait for it."""
    for number in range(4):
        for _ in range(4):
            target.exchange("/llmchat", chat(f"long{number}", "z" * (6 * MIB), "short"))
    print("grown", flush=True)

    def act(number: int) -> None:
        with target.send("/llmchat", chat(f"long{number % 4}", "more", "slow")):
            time.sleep(10)

    forever(32, act)


def board(target: Target) -> None:
    """S3: postings of 8 MiB, and lists that are asked for and not read."""
    def act(number: int) -> None:
        if number < 4:
            target.exchange("/postchatt", json.dumps({"name": "a", "message": "m" * (8 * MIB - 200)}).encode())
            target.exchange("/postchatt", json.dumps({"name": "a", "message": "m" * 16_000}).encode())
        else:
            with target.connect(4096) as connection:
                connection.sendall(b"GET /getchatts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                time.sleep(3)

    forever(24, act)


def unfinished_bodies(target: Target) -> None:
    """S4: bodies of 8 MiB that lack their last byte, half of them for an unknown path."""
    part = b"x" * (1 << 16)

    def act(number: int) -> None:
        with target.connect() as connection:
            path = "/nothing-here" if number % 2 else "/llmchat"
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {8 * MIB}\r\n\r\n".encode())
            for _ in range(127):
                connection.sendall(part)
            connection.sendall(part[1:])
            connection.recv(4096)

    forever(96, act)


def model_names(target: Target) -> None:
    """S5: names of models of 4,000,000 bytes, in answers of 300 pieces."""
    forever(8, lambda number: target.exchange("/llmchat", chat(f"name{number}", "hello", "m" * 4_000_000)) and None)


def large_prompts(target: Target) -> None:
    """D6b: 66 prompts of 7 MiB at once, whose answers need a minute."""
    def act(number: int) -> None:
        with target.send("/llmchat", chat(f"large{number}-{time.monotonic_ns()}", "p" * (7 * MIB), "slow")) as connection:
            connection.settimeout(30)
            while connection.recv(1 << 16):
                pass

    forever(66, act)


def one_app_s_memory(target: Target) -> None:
    """M4: prompts of 7 MiB of one app, each in another conversation, whose answers need a minute."""
    fields = f"Authorization: Bearer {os.environ['ATTACK_CREDENTIAL']}\r\n"
    steps = itertools.count()

    def act(_: int) -> None:
        body = json.dumps({"conversation": f"m{next(steps)}", "model": "slow", "messages": [{"role": "user", "content": "p" * (7 * MIB)}]})
        with target.connect() as connection:
            head = f"POST /llmchat HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body.encode())
            while connection.recv(1 << 16):
                pass

    forever(66, act)


def full_cache(target: Target) -> None:
    """Twice as many long histories as the cache holds, in turn: each prompt drops some of them, and reads another one."""
    count = 64

    def prompt(number: int) -> None:
        target.exchange("/llmchat", chat(f"kept{number}", "And now?", "short"))

    for number in range(count):
        messages = [{"role": "user" if index % 2 == 0 else "assistant", "content": f"{index} " + "k" * 1000} for index in range(1000)]
        target.exchange("/llmprep", json.dumps({"appID": f"kept{number}", "messages": messages}).encode())
        prompt(number)
    print("grown", flush=True)
    steps = itertools.count()
    forever(4, lambda _: prompt(next(steps) * 7 % count))


def refused_bodies(target: Target) -> None:
    """H1, for script/test chaos: the bodies that cost most, in turn, with an error at their end. No model server gets them."""
    field = f"Authorization: Bearer {os.environ['ATTACK_CREDENTIAL']}\r\n"
    turn = json.dumps([{"role": MARKS, "content": "a"}], ensure_ascii=False)
    sent = [
        ("/api/chat", nested(MARKS)), ("/v1/chat/completions", calls(MARKS)),
        ("/llmchat", f'{{"model":"m","messages":{turn}}}'.encode()),
        ("/v1/messages", f'{{"model":"m","max_tokens":9,"messages":{turn}}}'.encode()),
        ("/llmprompt", b'{"prompt":"' + b"\\n" * (3 * MIB) + b'"}'),
    ]
    steps = itertools.count()

    def act(_: int) -> None:
        path, body = sent[next(steps) % len(sent)]
        with target.connect() as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            connection.recv(4096)

    forever(1, act)


def post_forever(target: Target, path: str, body: bytes, fields: str = "") -> None:
    """Sends the same body on two threads, again and again, each time to its end."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-App-ID: attacker\r\n{fields}Content-Length: {len(body)}\r\n\r\n"

    def act(_: int) -> None:
        with target.connect() as connection:
            connection.sendall(head.encode() + body)
            connection.recv(4096)

    forever(2, act)


def nested(last: str = "user") -> bytes:
    """A request with arguments of a call that are three million numbers, nested 50 deep, and a last message of a role."""
    arguments = '{"a":' + "[" * 50 + ",".join(["1"] * 2_900_000) + "]" * 50 + "}"
    call = '{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":' + arguments + "}}]}"
    turns = '[{"role":"user","content":"a"},' + call + ',{"role":"' + last + '","content":"b"}]'
    return ('{"model":"short","messages":' + turns + "}").encode()


def nested_arguments(target: Target) -> None:
    """H1: deep arguments are compared with the history of a conversation."""
    post_forever(target, "/api/chat", nested(), "X-Conversation-ID: x\r\n")


def calls(last: str = "user") -> bytes:
    """A request whose messages have 200 calls each, and a last message of a role."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = []
    for _ in range(400):
        messages += [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [call] * 200}]
    return json.dumps({"model": "short", "messages": [*messages, {"role": last, "content": "b"}]}).encode()


def many_calls(target: Target) -> None:
    """H1: messages with 200 calls each."""
    post_forever(target, "/v1/chat/completions", calls())


def many_images(target: Target) -> None:
    """H1: a history with images in which every place of the request looks like the right one until its last image."""
    stored = [{"role": "user", "content": "a", "images": ["eA=="]}] * 16_000
    kept = json.dumps({"appID": "attacker", "conversation": "x", "messages": stored})
    target.exchange("/llmprep", kept.encode())
    print("grown", flush=True)
    messages = stored[:7_999] + [{"role": "user", "content": "a", "images": ["eQ=="]}] + [{"role": "user", "content": "a"}] * 8_200
    body = json.dumps({"model": "short", "messages": messages})
    post_forever(target, "/api/chat", body.encode(), "X-Conversation-ID: x\r\n")


MARKS = "a" + "\u0301" * 100_000 + "\u0323" * 100_000
"""A text that Swift compares with another one in 20 s, because it puts the marks in order."""


def marks_in_bodies(target: Target) -> None:
    """Texts of combining marks as a role, as the name of a member, and as words of closed sets."""
    turn = {"role": "user", "content": "a"}
    bodies = [
        ("/llmchat", {"model": "short", "messages": [{"role": MARKS, "content": "a"}]}),
        ("/llmchat", {"model": "short", "messages": [turn], "when_busy": MARKS}),
        ("/llmchat", {"model": "short", "messages": [turn], MARKS: 1}),
        ("/v1/chat/completions", {"model": "short", "messages": [{"role": MARKS, "content": "a"}]}),
        ("/v1/messages", {"model": "short", "max_tokens": 9, "messages": [turn], MARKS: 1}),
        ("/api/chat", {"model": "short", "messages": [turn | {"role": MARKS}]}),
    ]
    sent = [(path, json.dumps(body | {"appID": "attacker"} if path == "/llmchat" else body, ensure_ascii=False)) for path, body in bodies]
    steps = itertools.count()

    def act(_: int) -> None:
        path, body = sent[next(steps) % len(sent)]
        with target.send(path, body.encode()) as connection:
            connection.recv(4096)

    forever(2, act)


def marks_in_heads(target: Target) -> None:
    """Texts of combining marks in fields of the head, without a body."""
    names = ["Accept", "Authorization", "Cookie", "Origin", "If-None-Match", "Accept-Encoding", "Content-Type", "User-Agent", "X-App-ID"]
    text = "a" + "\u0301" * 3_900 + "\u0323" * 3_900
    heads = [f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n{name}: {text}\r\n\r\n".encode() for name in names]

    def act(_: int) -> None:
        with target.connect() as connection:
            for head in heads:
                connection.sendall(head)
                connection.recv(4096)

    forever(2, act)


def ended_sessions(target: Target) -> None:
    """H3: the end of sessions that never were, without a credential: 500 in one request, and one in the next."""
    steps = itertools.count()

    def act(number: int) -> None:
        cookies = ";".join(f"chatterd_session={number}-{next(steps)}" for _ in range(500))
        with target.connect() as connection:
            connection.sendall(f"DELETE /session HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookies}\r\n\r\n".encode())
            connection.recv(4096)
            cookie = f"chatterd_session={number}-{next(steps)}"
            connection.sendall(f"DELETE /session HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
            connection.recv(4096)

    forever(2, act)


def copied_conversations(target: Target) -> None:
    """M1: copies of a conversation of 6 MB, by requests without a body."""
    messages = [{"role": "user", "content": "k" * 60_000}] * 100
    target.exchange("/llmprep", json.dumps({"appID": "attacker", "conversation": "x", "messages": messages}).encode())
    print("grown", flush=True)
    post_forever(target, "/conversations/x/fork", b"")


def background_replies(target: Target) -> None:
    """M4: replies that nobody waits for, each in another conversation."""
    body = json.dumps({"model": "late", "background": True, "input": "a"})
    steps = itertools.count()

    def act(_: int) -> None:
        with target.connect() as connection:
            fields = f"X-App-ID: attacker\r\nX-Conversation-ID: c{next(steps)}\r\nContent-Length: {len(body)}\r\n"
            connection.sendall(f"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n{body}".encode())
            connection.recv(4096)

    forever(2, act)


def feeds(target: Target) -> None:
    """M4: feeds of conversations of one app, as many as it gets, and again whenever it loses one."""
    def act(number: int) -> None:
        head = f"GET /conversations/f{number}/events?appID=attacker HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        with target.connect() as connection:
            connection.sendall(head.encode())
            while connection.recv(4096):
                pass

    forever(400, act)


ATTACKS = {
    "S1 unread responses": unread_responses,
    "S2 failed turns": failed_turns,
    "S2 waiting turns": waiting_turns,
    "S3 board": board,
    "S4 unfinished bodies": unfinished_bodies,
    "S5 names of models": model_names,
    "D6b large prompts": large_prompts,
    "full cache": full_cache,
    "H1 nested arguments": nested_arguments,
    "H1 many calls": many_calls,
    "H1 many images": many_images,
    "H3 ended sessions": ended_sessions,
    "M1 copies": copied_conversations,
    "M4 background replies": background_replies,
    "M4 feeds": feeds,
    "M4 memory of an app": one_app_s_memory,
    "marks in bodies": marks_in_bodies,
    "marks in heads": marks_in_heads,
}
GROWS_FIRST = {"S2 failed turns", "S2 waiting turns", "full cache", "H1 many images", "M1 copies"}
"""Attacks that report when they have finished their preparation."""
STAYS_FLAT = {"full cache"}
"""Attacks after whose preparation the memory does not grow."""
NEEDS_KEYS = {"H3 ended sessions", "M4 memory of an app"}
"""Attacks on a server that serves nobody without a credential."""
REFUSES_NOBODY = {"M4 memory of an app"}
"""Attacks beside which the prompts of another app, of 100 KiB each, get no 503."""


if __name__ == "__main__":
    ATTACKS.get(sys.argv[2], refused_bodies)(Target(int(sys.argv[1])))
