"""A browser with the page of a real chatterd, whose model server the test scripts."""

import json
import os
import pathlib
import re
import threading
import time
import unittest
import urllib.parse

from playwright.sync_api import expect, sync_playwright

from harness.chatterd import Server
from harness.client import call
from harness.cutting_proxy import Gate
from harness.machine import make_directory
from harness.model import Model

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# Milliseconds for which a condition of the page is awaited: longer than a busy machine needs. PAGE_WAIT has other seconds.
WAIT = int(os.environ.get("PAGE_WAIT", "120")) * 1000
# A name of this machine to which browsers give none of the rights of localhost and of HTTPS.
LAN_HOST = "chat.lan"
ADMIN_TOKEN = "the-token-of-the-administrator"
# A folder whose files replace those of the program, so that the page can be changed without a build.
FILES = os.environ.get("PAGE_FILES")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}

# Counts what the policy forbids, before any script of the page runs.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

expect.set_options(timeout=WAIT)


class PageCase(unittest.TestCase):
    """One server and one browser for a class; each test has a fresh profile."""

    variables = {}
    mode = "open"

    @classmethod
    def setUpClass(cls):
        cls.model = Model(cls, ["tiny", "other"])
        cls.directory = make_directory(cls)
        cls.server = cls.start_server()
        cls.addClassCleanup(lambda: cls.server.stop())
        cls.gate = Gate(cls.server.url, cls.addClassCleanup, reset=True)
        play = sync_playwright().start()
        cls.addClassCleanup(play.stop)
        arguments = ["--no-sandbox", f"--host-resolver-rules=MAP {LAN_HOST} 127.0.0.1"]
        if FILES:
            # The browser takes a file of the folder for one of another network, from which it asks nothing of this machine.
            arguments.append("--disable-features=BlockInsecurePrivateNetworkRequests,LocalNetworkAccessChecks")
        cls.browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def upstreams(cls):
        return [{"name": "scripted", "kind": "ollama", "url": cls.model.url}]

    @classmethod
    def start_server(cls):
        return Server(cls.directory, **{
            "CHATTERD_UPSTREAMS": json.dumps(cls.upstreams()), "CHATTERD_ADMIN_TOKEN": ADMIN_TOKEN, "CHATTERD_ACCESS": cls.mode,
            "CHATTERD_UPSTREAM_RESTART_WAIT": "0",
        } | cls.variables)

    def setUp(self):
        self.model.reset()
        self.model.script = lambda exchange: exchange.say("Nothing ", "to say.")
        self.faults = []
        self.origins = set()
        self.page = self.new_page()
        self.addCleanup(self.check_faults)

    def check_faults(self):
        """No script failed, nothing was forbidden by the policy, and nothing was asked of other hosts."""
        self.assertEqual(self.faults, [])

    def new_context(self, **options):
        context = self.browser.new_context(base_url=self.gate.url, permissions=["clipboard-read", "clipboard-write"], **options)
        context.set_default_timeout(WAIT)
        self.addCleanup(context.close)
        context.add_init_script(WATCH)
        if FILES:
            context.route(re.compile(r"^http://[^/]+/$"), lambda route: self.serve_file(route, "index.html"))
            context.route("**/page/**", lambda route: self.serve_file(route, route.request.url.split("/page/", 1)[1]))
        return context

    @staticmethod
    def serve_file(route, name):
        file = pathlib.Path(FILES) / name
        if not file.is_file():
            return route.continue_()
        kind = TYPES.get(file.suffix, "application/octet-stream")
        return route.fulfill(body=file.read_bytes(), headers={"Content-Type": kind, "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"})

    def new_page(self, context=None, **options):
        page = (context or self.new_context(**options)).new_page()
        page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))
        page.on("console", lambda message: self.note(message))
        page.on("request", lambda request: self.check_host(request.url))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    def note(self, message):
        if "Content Security Policy" in message.text or "Trusted" in message.text:
            self.faults.append(message.text)

    def check_host(self, url):
        parts = urllib.parse.urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if parts.scheme in ("http", "https", "ws", "wss") and origin not in self.origins | {self.gate.url}:
            self.faults.append(f"request to another host: {url}")

    def answer_in_parts(self, first, rest):
        """The model says the first pieces, waits for the returned event, and says the rest."""
        event = threading.Event()
        self.addCleanup(event.set)

        def script(exchange):
            exchange.say(*first)
            exchange.until(event)
            exchange.say(*rest)

        self.model.script = script
        return event

    # The actions of a person

    def open(self, path="/", page=None):
        page = page or self.page
        page.goto(path)
        expect(page.locator("#model option[value=tiny]")).to_be_attached()
        page.locator("#model").select_option("tiny")
        return page

    def write(self, text, page=None):
        page = page or self.page
        page.locator("#prompt").fill(text)
        page.locator("#send").click()

    def ask(self, text, page=None):
        """Sends a prompt, and waits for the end of its answer."""
        page = page or self.page
        count = page.locator(".answer").count()
        self.write(text, page)
        expect(page.locator(".answer")).to_have_count(count + 1)
        self.wait_for_end(page)
        return page.locator(".answer").last

    def wait_for_end(self, page=None):
        expect((page or self.page).locator('.answer[aria-busy="true"]')).to_have_count(0)

    def wait_until(self, script, argument=None, page=None):
        """Waits until a script is true. Playwright's own waiting evaluates the script in the page from the second time on, which its policy
        refuses."""
        deadline = time.monotonic() + WAIT / 1000
        while not (page or self.page).evaluate(script, argument):
            self.assertLess(time.monotonic(), deadline, script)
            (page or self.page).wait_for_timeout(20)

    def answer(self, page=None):
        return (page or self.page).locator(".answer .markdown").last

    # The server behind the page

    def call(self, method, path, body=None, token=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        status, _, answer = call(self.server.url, method, path, body, headers)
        return status, answer

    def import_messages(self, name, messages):
        """Makes a conversation of messages."""
        lines = [{"chatterd": "conversation", "version": 1, "conversation": name, "created_at": "2026-11-20T17:07:20.859441Z",
                  "updated_at": "2026-11-20T17:07:23.751974Z"}]
        lines += [{"seq": seq, "kind": "message", "time": "2026-11-20T17:07:20.859441Z"} | message for seq, message in enumerate(messages, 1)]
        lines.append({"end": True, "rows": len(messages)})
        status, answer = self.call("POST", f"/conversations/{name}/import?appID=web", "\n".join(map(json.dumps, lines)) + "\n")
        self.assertEqual(status, 201, answer)

    def stored(self, page=None):
        """The messages of the open conversation, as the server has them."""
        name = (page or self.page).evaluate("location.hash.slice(1)")
        return self.call("GET", f"/conversations/{name}?appID=web&limit=200")[1]["messages"]
