"""Readers that wait, for the changes of a conversation or for the next token of a reply: part of bench.py."""

import http.client, json, statistics
from types import SimpleNamespace

READERS = 1000
TITLES = {f"{READERS:,} feeds, each of its own conversation": "feed", f"{READERS:,} readers of one reply of a token a second": "reply"}


def run(bench, name):
    """The memory of a reader of each kind, as (title, result). Each kind has a fresh process."""
    bench.runs += 1
    prefix = f"run{bench.runs}-"
    bench.clear(name)
    for title, kind in TITLES.items():
        with bench.server(name) as server:
            work = SimpleNamespace(model="t20r0b1", unit="request")
            prompts = {"feed": ["-n", str(READERS), "-k", str(READERS)], "reply": ["-n", "300"]}
            # One after the other: the memory that many streams have left would hide the cost of a reader.
            result = bench.load(server, work, name, prefix + kind, ["-c", "1", *prompts[kind]])
            asking, path = start_reply(server, prefix) if kind == "reply" else (None, None)
            before, readers = bench.memory(server.pid), []
            for i in range(READERS):
                reader = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
                reader.request("GET", path or f"/conversations/{prefix}{kind}{i}/events")
                readers.append(reader.getresponse())
            refused = sum(reader.status != 200 for reader in readers)
            result["kib"] = (bench.memory(server.pid) - before) / READERS
            for reader in filter(None, [*readers, asking]):
                reader.close()
        result["errors"] += refused
        result["first_error"] = result["first_error"] or ("not 200" if refused else "")
        yield title, result | {"stored": "–"}


def start_reply(server, app):
    """A reply that goes on for minutes: the response to its prompt, and its path."""
    asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    question = {"appID": app, "model": "t600r1b1", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    asking.request("POST", "/llmchat", json.dumps(question, separators=(",", ":")), {"Content-Type": "application/json"})
    response = asking.getresponse()
    return response, response.getheader("Location")


def tables(results):
    """A table of the results of each title."""
    rows = [["parked readers", "KiB each", "errors"], ["---"] * 3]
    for title, runs in results.items():
        kib = [run["kib"] for run in runs]
        spread = f" ({min(kib):.2f}–{max(kib):.2f})" if len(kib) > 1 else ""
        rows.append([title, f"{statistics.mean(kib):.2f}{spread}", str(sum(run["errors"] for run in runs))])
    return [rows]
