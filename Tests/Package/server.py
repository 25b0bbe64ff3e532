"""server.py PROGRAM: runs the example against a server of one answer, which comes piece by piece, and its examples without one."""

import http.server
import json
import subprocess
import sys
import threading


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/llmchat" and self.headers["Idempotency-Key"], self.path
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Location", "/replies/a")
        self.send_header("Connection", "close")
        self.end_headers()
        text = body["messages"][-1]["content"]
        for index, piece in enumerate([*text, ""]):
            line = {"message": {"role": "assistant", "content": piece}, "done": piece == "", "model": body["model"]}
            self.wfile.write(f"id: {index}\ndata: {json.dumps(line)}\n\n".encode())

    def log_message(self, *arguments):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    run = subprocess.run([sys.argv[1], url, "m", "Grüße aus Berlin"], stdout=subprocess.PIPE, timeout=120, check=True)
    assert run.stdout.decode() == "Grüße aus Berlin\n", run.stdout
    run = subprocess.run(
        [sys.argv[1], "chat", url, "m"], input="one\ntwo\n".encode(), stdout=subprocess.PIPE, timeout=120, check=True
    )
    assert run.stdout.decode() == "one\ntwo\n", run.stdout
    server.shutdown()

for keywords, output in (
    (["attention"], "Attention, by V. et al.: attention\n"),
    ([], "The answer does not have the requested form: $.keywords has 0 elements, not 1 or more.\n"),
):
    paper = {"title": "Attention", "authors": "V. et al.", "abstract": "…", "keywords": keywords}
    run = subprocess.run([sys.argv[1], "paper", json.dumps(paper)], stdout=subprocess.PIPE, timeout=120, check=True)
    assert run.stdout.decode() == output, run.stdout
