"""server.py PROGRAM: runs the example against a server of one answer, which comes piece by piece, and its examples without one."""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

TIME = "2026-01-01T00:00:00Z"


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/llmchat" and self.headers["Idempotency-Key"], self.path
        last = body["messages"][-1]
        if body["model"] == "missing":
            return self.send(404, {"error": "The model does not exist.", "code": "model_not_found"})
        if body.get("tools") and last["role"] == "user":
            call = {"id": "c1", "function": {"name": "roll", "arguments": {"count": 2}}}
            return self.answer("/replies/b", [{"content": "", "tool_calls": [call]}, {"content": ""}])
        text = f"You have {last['content']}." if last["role"] == "tool" else last["content"]
        self.answer("/replies/a", [{"content": piece} for piece in [*text, ""]])

    def do_GET(self):
        """The rest of a reply that was begun before, and the list of conversations."""
        if self.path.startswith("/replies/"):
            return self.answer(self.path, [{"content": " whole"}, {"content": ""}], first=3)
        assert self.path.startswith("/conversations"), self.path
        one = {"conversation": "c1", "title": "Rivers", "createdAt": TIME, "updatedAt": TIME}
        self.send(200, {"conversations": [one | {"archived": False, "running": False}], "next": None})

    def answer(self, location, messages, first=0):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Location", location)
        self.send_header("Connection", "close")
        self.end_headers()
        for index, message in enumerate(messages, first):
            done = message is messages[-1]
            line = {"message": {"role": "assistant"} | message, "done": done, "model": "m"}
            self.wfile.write(f"id: {index}\ndata: {json.dumps(line)}\n\n".encode())

    def send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def ask(*arguments, lines="", code=0):
    """The output of the command, and of its errors."""
    run = subprocess.run([sys.argv[1], *arguments], input=lines.encode(), capture_output=True, timeout=120)
    output = (run.stdout + run.stderr).decode()
    assert run.returncode == code, (arguments, run.returncode, output)
    return output


def check(output, expected):
    assert output == expected, output


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    check(ask(url, "m", "Grüße aus Berlin"), "Grüße aus Berlin\n")
    check(ask("chat", url, "m", lines="one\n \ntwo\n"), "one\ntwo\n")
    check(ask("list", url), "c1\tRivers\n")
    output = ask("dice", url, "m", "Roll two.")
    rolled = output.split("[")[2].split("]")[0]
    check(output, f'[roll {{"count":2}}]\n[{rolled}]\nYou have {rolled}.\n')
    # What goes wrong first is a sentence, and no trap.
    check(ask(url, "missing", "x", code=1), "The model does not exist.\n")
    check(ask("chat", url, "missing", lines="x\n"), "\n(The model does not exist.)\n")
    assert ask("foo", "m", "x", code=1).count("\n") == 1

    # An answer goes on where the last start of the command has stored it.
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "chat.json")
        check(ask("chat", url, "m", file, lines="one\n"), "one\n")
        with open(file, encoding="utf-8") as stored:
            chat = json.load(stored)
        answer = chat["turns"][0]["answer"]
        del answer["end"]
        answer |= {"text": "The", "position": "2"}
        with open(file, "w", encoding="utf-8") as stored:
            json.dump(chat, stored)
        check(ask("chat", url, "m", file, lines="two\n"), "The whole\ntwo\n")
    server.shutdown()

for keywords, output in (
    (["attention"], "Attention, by V. et al.: attention\n"),
    ([], "The answer does not have the requested form: $.keywords has 0 elements, not 1 or more.\n"),
):
    paper = {"title": "Attention", "authors": "V. et al.", "abstract": "…", "keywords": keywords}
    check(ask("paper", json.dumps(paper)), output)
