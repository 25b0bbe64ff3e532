#!/usr/bin/env python3
"""What a long answer costs an app: CPU seconds of the libraries for an answer of n and of 8n, on each of their paths, with tokens of five
bytes as fast as they come.

Started by script/bench, which builds the client. Ends with 1 if a path costs more for 8n than 12 times the cost of n, so that it is not
linear. See docs/costs.md."""
import argparse, http.server, json, socketserver, subprocess, sys, threading

PATHS = {
    "client.answer": "text", "client.snapshots": "text", "model.events": "text", "model.reply": "text", "session.ollama": "text",
    "session.openai": "text", "session.chatterd": "text", "session.observed": "text", "typed.strings": "strings",
    "typed.numbers": "numbers", "typed.object": "object",
}
SIZES = {"text": 250_000, "strings": 2_000, "numbers": 4_000, "object": 4_000}
"""Bytes, elements or members of n."""
LARGEST = 12


def pieces(model: str) -> list[str]:
    """The tokens of an answer, which the name of the model says: `text:1000`."""
    kind, count = model.split(":")[0], int(model.split(":")[1])
    if kind == "text":
        return ["abcd "] * (count // 5)
    if kind == "object":
        text = json.dumps({f"m{i}": i for i in range(count)})
    else:
        text = json.dumps({"value": [i if kind == "numbers" else f"text{i}" for i in range(count)]})
    return [text[i : i + 5] for i in range(0, len(text), 5)]


class ModelServer(http.server.BaseHTTPRequestHandler):
    """Ollama, OpenAI and chatterd."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [json.dumps(piece) for piece in pieces(body["model"])]
        line = '{"model":"m","created_at":"2026-11-20T14:28:59Z","message":{"role":"assistant","content":%s},"done":false}'
        end = '{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":5}'
        chunk = '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}'
        last = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
        match self.path:
            case "/api/chat":
                lines = [line % text + "\n" for text in texts] + [end + "\n"]
            case "/llmchat":
                lines = [f"id: {i}\ndata: {line % text}\n\n" for i, text in enumerate(texts)] + [f"id: 0-end\ndata: {end}\n\n"]
            case _:
                lines = [f"data: {chunk % text}\n\n" for text in texts] + [f"data: {last}\n\ndata: [DONE]\n\n"]
        answer = "".join(lines).encode()
        self.send_response(200)
        self.send_header("Location", "/replies/r")
        self.send_header("Content-Type", "application/x-ndjson" if self.path == "/api/chat" else "text/event-stream")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_DELETE(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the built client")
    parser.add_argument("--only", default="", help="the beginning of the names of paths")
    options = parser.parse_args()
    server = Threads(("127.0.0.1", 0), ModelServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"

    def cost(path: str, model: str) -> float:
        run = subprocess.run([options.program, url, path, model], capture_output=True, text=True, timeout=600)
        if run.returncode:
            sys.exit(f"{path} {model}: {run.stderr[-500:]}")
        return float(run.stdout.split()[0])

    slow = []
    print(f"{'path':18} {'n':>14} {'CPU s':>8} {'8n':>8} {'ratio':>6}")
    for path, kind in PATHS.items():
        if not path.startswith(options.only):
            continue
        small, large = (min(cost(path, f"{kind}:{SIZES[kind] * factor}") for _ in range(5)) for factor in (1, 8))
        print(f"{path:18} {f'{SIZES[kind]} {kind}':>14} {small:8.2f} {large:8.2f} {large / small:6.1f}", flush=True)
        if large / small > LARGEST:
            slow.append(path)
    if slow:
        print(f"not linear: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
