"""Pictures of the page's main states: script/test screenshots."""

import os
import threading

from playwright.sync_api import expect

from page.page_case import ADMIN_TOKEN, PageCase

PICTURES = os.environ["PICTURES"]
PYTHON = """Walk the list once and keep what you have seen in a set. It is O(n), and the order stays:

```python
def unique(items):
    seen = set()
    return [item for item in items if not (item in seen or seen.add(item))]
```

| way | keeps the order | needs |
| --- | --- | --- |
| `set(items)` | no | hashable items |
| `dict.fromkeys(items)` | yes | hashable items |
| the loop above | yes | hashable items |

For items that **cannot be hashed**, compare with `==` in a list instead; that is quadratic.
"""
ROME = "Stay in *Trastevere* if you like to walk home after dinner, or in *Monti* if you want to be near the ruins. Both are quiet after midnight."


class Screenshots(PageCase):
    @classmethod
    def upstreams(cls):
        return [super().upstreams()[0] | {"name": "gpu", "context": 8192}]

    def picture(self, name):
        self.page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)).filter(() => false))")
        self.page.screenshot(path=f"{PICTURES}/{name}.png", animations="disabled")

    def fill(self):
        self.model.script = lambda exchange: exchange.say(ROME)
        self.open()
        for text in ("Ideas for a birthday cake without eggs", "Explain tides to a child", "Where shall we stay in Rome?"):
            self.ask(text)
            self.page.locator("#new").click()
        self.model.script = lambda exchange: exchange.say(PYTHON)
        self.ask("How do I remove duplicates from a list in Python, in order?")
        self.ask_again("And what does it cost?", "One look at each item: *O(n)* time, and memory for the set.")

    def ask_again(self, prompt, answer):
        self.model.script = lambda exchange: exchange.say(answer)
        self.ask(prompt)

    def test_pictures(self):
        self.open()
        self.picture("empty")
        self.fill()
        expect(self.page.locator("#gauge")).to_be_visible()
        self.page.locator("#scroller").evaluate("(element) => { element.scrollTop = 0; }")
        self.picture("conversation")
        self.page.locator("#scroller").evaluate("(element) => { element.scrollTop = element.scrollHeight; }")
        self.page.locator(".answer").last.get_by_role("button", name="Details").click()
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.picture("details")
        self.page.keyboard.press("Escape")
        self.reasoning_and_error()
        self.servers()
        address = self.page.url
        for name, options in [
            ("dark", {"color_scheme": "dark"}), ("phone", {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 1, "has_touch": True}),
            ("phone-dark", {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark", "has_touch": True}),
        ]:
            self.page = self.new_page(**options)
            self.open(address)
            expect(self.page.locator(".answer").last).to_be_visible()
            self.picture(name)

    def reasoning_and_error(self):
        rest = threading.Event()
        self.addCleanup(rest.set)

        def script(exchange):
            thought = "The user wants the weather. I have a tool for that, so I call it for Rome."
            call = {"function": {"name": "weather", "arguments": {"city": "Rome", "days": 3}}}
            exchange.write({"message": {"role": "assistant", "content": "", "thinking": thought}, "done": False})
            exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})
            exchange.say("Let me look that up for you")
            exchange.until(rest)
            exchange.write({"error": "the graphics card ran out of memory"})
            return self.model.BREAK_OFF

        self.page.locator("#new").click()
        self.model.script = script
        self.write("What will the weather be in Rome?")
        expect(self.answer()).to_contain_text("Let me look")
        for summary in self.page.locator(".answer summary").all():
            summary.click()
        self.picture("running")
        rest.set()
        expect(self.page.locator(".answer .error")).to_be_visible()
        self.wait_for_end()
        self.picture("error")
        self.page.go_back()
        expect(self.page.locator(".answer")).to_have_count(2)

    def servers(self):
        self.page.locator("#servers").click()
        self.page.get_by_label("Administrator").fill(ADMIN_TOKEN)
        self.page.keyboard.press("Enter")
        row = self.page.locator(".servers li").filter(has_text="gpu")
        self.model.script = lambda exchange: exchange.say("Hello", " there")
        row.get_by_role("button", name="Test").click()
        expect(row.locator(".result")).to_contain_text("It works")
        self.picture("servers")
        self.page.keyboard.press("Escape")
