"""The app of docs/tutorial.md, in a real browser. Run by script/test page."""

import http.server
import os
import pathlib
import re
import unittest

from playwright.sync_api import expect, sync_playwright

from harness.chatterd import Server
from harness.local_server import LocalServer
from harness.machine import TOP, make_directory

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WAIT = 120_000
TUTORIAL = pathlib.Path(TOP) / "docs" / "tutorial.md"


class TutorialTests(unittest.TestCase):
    def setUp(self):
        expect.set_options(timeout=WAIT)
        self.app = ""
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(test.app.encode())

            def log_message(self, *arguments):
                pass

        pages = LocalServer(Handler, self.addCleanup)
        self.server = Server(make_directory(type(self)), CHATTERD_ORIGINS=pages.url)
        self.addCleanup(self.server.stop)
        self.app = TUTORIAL.read_text().split("```html\n")[1].split("```")[0].replace("http://127.0.0.1:8080", self.server.url)
        play = sync_playwright().start()
        self.addCleanup(play.stop)
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self.addCleanup(browser.close)
        self.page = browser.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.goto(f"{pages.url}/chat.html")

    def ask(self, prompt):
        self.page.fill("input", prompt)
        self.page.click("button")

    def line(self, number):
        return self.page.locator("p").nth(number)

    def test_the_app_loses_nothing(self):
        self.ask("My name is Ada.")
        expect(self.line(1)).to_contain_text("I am")
        self.page.reload()
        expect(self.line(0)).to_have_text("me: My name is Ada.")
        expect(self.line(1)).to_contain_text("You said: My name is Ada.")

        self.ask("What did I say?")
        expect(self.line(3)).to_contain_text("Before")
        self.server.kill()
        self.ask("Are you there?")
        expect(self.line(4)).to_have_text("me: Are you there?")
        self.server.restart()
        expect(self.line(5)).to_contain_text("You said: Are you there?")
        # It may have been complete before the server was killed.
        expect(self.line(3)).to_have_text(re.compile(r"My name is Ada\.$|\[The server stopped in the middle of this answer\. Ask again\.\]$"))
        expect(self.page.locator("p")).to_have_count(6)


if __name__ == "__main__":
    unittest.main()
