"""A browser that reads a reply with EventSource, and the network between it and chatterd."""

import contextlib
import http.server
import json
import os
import queue
import shutil
import signal
import socket
import struct
import subprocess
import threading
import urllib.parse

from harness.local_server import LocalServer
from harness.machine import TIMEOUT, end_with_us

PROGRAM = os.environ.get("CHROMIUM", "chromium")

# The page reports the events of EventSource. After CLOSED it checks for a while whether EventSource reconnects.
PAGE = """<!doctype html><meta charset="utf-8"><script>
const found = {events: [], opened: 0, lost: 0};
const source = new EventSource(new URLSearchParams(location.search).get("reply"));
const tell = (path, body) => fetch(path, {method: "POST", body});
const keep = event => {
    found.events.push([event.type, event.lastEventId, event.data]);
    tell("/seen", event.lastEventId);
};
source.onopen = () => found.opened++;
source.onmessage = keep;
source.addEventListener("reset", keep);
source.addEventListener("error", event => {
    if (event instanceof MessageEvent) keep(event);
    else if (source.readyState === EventSource.CONNECTING) found.lost++;
    else setTimeout(() => tell("/found", JSON.stringify({...found, state: source.readyState})), 2500);
});
</script>"""


# The page tries every kind of request to a server, and reports the visible parts of the answers.
ATTEMPTS = """<!doctype html><meta charset="utf-8"><iframe name="sink"></iframe><script>
const query = new URLSearchParams(location.search);
const [target, app, reply] = [query.get("target"), query.get("app"), query.get("reply")];
const body = JSON.stringify({appID: app, messages: [{role: "system", content: "Written by a page."}]});
const json = {"Content-Type": "application/json", "Idempotency-Key": "page"};
const seen = {};
const attempt = async (name, path, options) => {
    try {
        const response = await fetch(target + path, options);
        seen[name] = response.type === "opaque" ? "opaque" : response.status + " " + (await response.text()).trim();
    } catch (error) {
        seen[name] = "blocked";
    }
};
const stream = path => new Promise(done => {
    const source = new EventSource(target + path);
    source.onmessage = event => { source.close(); done("event"); };
    source.onerror = () => { source.close(); done("blocked"); };
});
const form = type => new Promise(done => {
    const form = document.createElement("form");
    Object.assign(form, {method: "post", action: target + "/llmprep", enctype: type, target: "sink"});
    const field = document.createElement("input");
    [field.name, field.value] = [body.slice(0, -1) + ', "x": "', '"}'];
    form.append(field);
    document.body.append(form);
    document.querySelector("iframe").onload = () => done("sent");
    form.submit();
});
onload = async () => {
    await attempt("read", "/getchatts");
    await attempt("reply", reply, {headers: {Accept: "application/json"}});
    seen.stream = await stream(reply);
    await attempt("no-cors", "/llmprep", {method: "POST", mode: "no-cors", body});
    await attempt("plain", "/llmprep", {method: "POST", body});
    await attempt("untyped", "/llmprep", {method: "POST", body: new Blob([body])});
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) await form(type);
    await attempt("delete", "/conversations/" + app, {method: "DELETE"});
    if (query.get("writes")) await attempt("json", "/llmprep", {method: "POST", headers: json, body});
    await fetch("/found", {method: "POST", body: JSON.stringify(seen)});
};
</script>"""


class Request:
    """One request of the browser for a reply, and its response."""

    def __init__(self, headers):
        self.last_event_id = headers["Last-Event-ID"]
        self.accept = headers["Accept"]
        self.got = b""

    @property
    def status(self):
        return int(self.got.split(b" ", 2)[1])

    @property
    def ids(self):
        """The ids of the complete events that arrived."""
        blocks = self.got.split(b"\n\n")[:-1]
        return [line[4:].decode() for block in blocks for line in block.split(b"\n") if line.startswith(b"id: ")]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/page?"):
            self.answer(PAGE.encode())
        elif self.path.startswith("/attempts?"):
            self.answer(ATTEMPTS.encode())
        elif self.path.startswith(("/replies/", "/getchatts")):
            self.close_connection = True
            self.server.network.relay(self)
        else:
            self.answer(b"", status=404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path in ("/found", "/seen"):
            self.server.network.record(self.path, body.decode())
            self.answer(b"{}")
        else:
            self.close_connection = True
            self.server.network.relay(self, body)

    def do_DELETE(self):
        self.close_connection = True
        self.server.network.relay(self)

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Network:
    """Serves the page, and passes its requests for a reply on to chatterd byte by byte; cuts on demand.

    `cuts` has for each request the number of bytes after which its connection is cut, in the middle of a character.
    """

    def __init__(self, tests, target):
        self.target = urllib.parse.urlsplit(target)
        self.cuts, self.requests, self.seen = [], [], set()
        self.cut = [threading.Event(), threading.Event()]
        self.came = [threading.Event(), threading.Event(), threading.Event()]
        self.found = queue.Queue()
        self._changed = threading.Condition()
        server = LocalServer(Handler, tests.addCleanup)
        server.network, self.url = self, server.url

    def record(self, path, body):
        if path == "/found":
            self.found.put(json.loads(body))
            return
        with self._changed:
            self.seen.add(body)
            self._changed.notify_all()

    def relay(self, handler, body=b""):
        number, request = len(self.requests), Request(handler.headers)
        self.requests.append(request)
        limit = self.cuts[number] if number < len(self.cuts) else None
        # Unchanged, except for a separate connection for each request.
        lines = [handler.requestline, "Connection: close"]
        lines += [f"{name}: {value}" for name, value in handler.headers.items() if name.lower() != "connection"]
        with socket.create_connection((self.target.hostname, self.target.port), TIMEOUT) as server:
            server.sendall("\r\n".join(lines + ["", ""]).encode() + body)
            while data := server.recv(65536):
                end = None if limit is None else self.cut_index(data, limit - len(request.got))
                with contextlib.suppress(OSError):
                    handler.connection.sendall(data[:end])
                request.got += data[:end]
                # After an event the browser continues with the later text; without one it could get all of it in one event.
                if request.ids and number < len(self.came):
                    self.came[number].set()
                if end is not None:
                    self.reset(handler.connection, request, number)
                    return

    @staticmethod
    def cut_index(data, after):
        """The first index inside of a character, at this distance or later."""
        indexes = range(max(after, 0), len(data))
        return next((index for index in indexes if data[index] & 0xC0 == 0x80), None)

    def reset(self, connection, request, number):
        """Resets the connection once the browser has shown the complete events, because a reset may overtake bytes."""
        with self._changed:
            assert self._changed.wait_for(lambda: request.ids[-1] in self.seen, TIMEOUT), "the browser saw nothing"
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        self.cut[number].set()


@contextlib.contextmanager
def browser(directory, url):
    """Chromium without a window at this address, with a separate profile; it connects to this machine only."""
    options = [
        "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-proxy-server",
        "--disable-background-networking --disable-component-update --disable-default-apps --disable-extensions",
        "--disable-sync --metrics-recording-only --password-store=basic",
    ]
    command = [PROGRAM, *" ".join(options).split()]
    # A name of this machine that chatterd does not know: an attacker's page has such a name after DNS rebinding.
    command += ["--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
    # The tests do not test the browser's own protection against such pages.
    command += ["--disable-features=HttpsUpgrades,LocalNetworkAccessChecks"]
    home = os.path.join(directory, "browser")
    os.makedirs(home, exist_ok=True)
    environment = os.environ | {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    with open(os.path.join(home, "log"), "wb") as log:
        process = subprocess.Popen(
            [*command, f"--user-data-dir={home}/profile", url],
            env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            preexec_fn=end_with_us,
        )
    try:
        yield process
    finally:
        # Its processes form a separate group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(TIMEOUT)
        shutil.rmtree(f"{home}/profile", ignore_errors=True)


def found(network, directory, path):
    """The events of EventSource in a browser for a reply, after it has closed itself and stayed closed."""
    return visited(network, directory, f"{network.url}/page?reply={urllib.parse.quote(path)}")


def visited(network, directory, url):
    """The report of a page that a browser has opened."""
    with browser(directory, url):
        try:
            return network.found.get(timeout=TIMEOUT)
        except queue.Empty:
            with open(os.path.join(directory, "browser/log"), errors="replace") as log:
                said = "".join(line for line in log if "/dbus/" not in line)
                what = f"the browser has not ended, after {len(network.requests)} requests"
                raise AssertionError(f"{what}; it says:\n{said}") from None
