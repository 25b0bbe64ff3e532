"""A page with the Markdown renderer in Chromium, for tests."""

import contextlib
import functools
import http.server
import os
import pathlib

from playwright.sync_api import sync_playwright

from harness.local_server import LocalServer
from harness.machine import TOP

SCRIPT = pathlib.Path(__file__).with_suffix(".js")
FILES = TOP / "Sources" / "Program" / "Page" / "Files"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# Milliseconds, longer than a busy machine needs.
WAIT = 120_000
# The policy of chatterd's web page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# A page that makes nodes of the HTML of another program cannot have that policy.
LENIENT = "default-src 'none'; script-src 'self'"
HTML = b'<!DOCTYPE html><meta charset="utf-8"><title>Markdown</title><script type="module" src="/markdown_page.js"></script>'


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the page, the tests' script and the renderer."""

    extensions_map = {"": "application/octet-stream", ".js": "text/javascript; charset=utf-8"}

    def __init__(self, *arguments, policy, **options):
        self.policy = policy
        super().__init__(*arguments, **options)

    def translate_path(self, path):
        return str(SCRIPT if path == "/markdown_page.js" else FILES / path.lstrip("/"))

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(HTML)))
        self.end_headers()
        self.wfile.write(HTML)

    def end_headers(self):
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, *arguments):
        pass


class MarkdownPage:
    """An open page. `page` is Playwright's, `requests` are the addresses that it asked for."""

    def __init__(self, policy=POLICY):
        self.cleanups = contextlib.ExitStack()
        self.url = LocalServer(functools.partial(Handler, policy=policy), self.cleanups.callback).url + "/"
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self.page = self.browser.new_page()
        self.page.set_default_timeout(WAIT)
        self.requests = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.route(lambda url: not url.startswith(self.url), lambda route: route.abort())
        self.page.goto(self.url)
        # Playwright's own waiting would need eval, which the policy refuses.
        while not self.page.evaluate("globalThis.isReady === true"):
            self.page.wait_for_timeout(20)

    def call(self, name, *arguments):
        """Calls a function of markdown_page.js."""
        return self.page.evaluate("([name, values]) => globalThis[name](...values)", [name, arguments])

    def requests_to_others(self):
        """The addresses of other hosts that the page asked for, in vain."""
        return [url for url in self.requests if not url.startswith((self.url, "data:", "blob:", "about:"))]

    def close(self):
        self.browser.close()
        self.playwright.stop()
        self.cleanups.close()
