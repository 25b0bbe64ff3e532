"""Figures of the page in a real browser: script/bench page."""

import re
import threading

from playwright.sync_api import expect

from page.page_case import PageCase

LINE = "Words of an answer with **bold** ones, `code` and a [link](https://chatterd.example/) now and then.\n"
LONG_TASKS = """
window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({type: "longtask", buffered: true});
"""


class Measurements(PageCase):
    """Each test prints its figure beside its limit, and fails beyond it."""

    def fill(self, name, count, text):
        """Makes a conversation of numbered messages."""
        roles = ("assistant", "user")
        self.import_messages(name, [{"role": roles[seq % 2], "content": f"{seq} {text}"} for seq in range(1, count + 1)])

    def report(self, what, value, limit, unit):
        print(f"| {what} | {value:,.0f} {unit}| below {limit:,.0f} {unit}|", flush=True)
        self.assertLess(value, limit, what)

    def test_bytes_of_the_first_paint(self):
        client = self.page.context.new_cdp_session(self.page)
        client.send("Network.enable")
        sizes = []
        client.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        self.page.goto("/")
        self.page.wait_for_load_state("networkidle")
        self.report(f"bytes of an empty page, {len(sizes)} responses with their heads", sum(sizes), 50_000, "B ")
        self.open()
        sizes.clear()
        self.page.goto("/")
        self.page.wait_for_load_state("networkidle")
        self.report("the same when it is opened again", sum(sizes), 20_000, "B ")

    def test_opening_of_5000_messages(self):
        self.fill("long", 5000, LINE * 3)
        self.open()
        found = self.page.evaluate("""async () => {
            const began = performance.now();
            location.hash = "long";
            while (![...document.querySelectorAll(".message")].some((one) => one.textContent.startsWith("5000 "))) {
                await new Promise(requestAnimationFrame);
            }
            await new Promise(requestAnimationFrame);
            return performance.now() - began;
        }""")
        self.report("a conversation of 5,000 messages opens", found, 1000, "ms ")

    def test_longest_task_of_a_long_answer(self):
        pieces = re.findall(r"\S+\s", LINE)
        text = [piece for number in range(2000) for piece in ([f"\n\n## Part {number}\n\n"] if number % 40 == 0 else []) + pieces]
        # About 200 KB; the last 4,000 tokens come a hundred each second.
        size, start = 0, len(text)
        while start and size < 200_000:
            start -= 1
            size += len(text[start])
        text = text[start:]

        go = threading.Event()
        self.addCleanup(go.set)

        def script(exchange):
            exchange.say("".join(text[:-4000]), "\n\nHere the tokens begin.\n\n", pause=0)
            exchange.until(go)
            for token in text[-4000:]:
                exchange.say(token, pause=0.01)

        self.model.script = script
        self.page.add_init_script(LONG_TASKS)
        self.open()
        self.write("Hello")
        expect(self.answer()).to_contain_text("Here the tokens begin.")
        self.page.evaluate("tasks.length = 0")
        go.set()
        self.wait_for_end()
        self.report("tasks over 50 ms at 100 tokens/s in an answer of 200 KB", len(self.page.evaluate("tasks")), 1, "")

    def test_memory_of_50_conversations(self):
        for number in range(10):
            self.fill(f"c{number}", 400, LINE * 5)
        self.open()
        client = self.page.context.new_cdp_session(self.page)
        sizes = []
        for round in range(6):
            for number in range(10):
                self.page.evaluate("(name) => { location.hash = name; }", f"c{number}")
                expect(self.page.locator("#list a[aria-current]")).to_have_attribute("href", f"#c{number}")
                expect(self.page.locator(".message").last).to_contain_text("400")
            client.send("HeapProfiler.collectGarbage")
            sizes.append(client.send("Runtime.getHeapUsage")["usedSize"] / 1024)
        # The first ten fill the caches of the browser.
        self.report(f"memory after ten conversations ({sizes[0]:,.0f} KiB), and its growth with 50 more", sizes[-1] - sizes[0], 1024, "KiB ")
