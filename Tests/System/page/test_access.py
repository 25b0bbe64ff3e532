"""The page without a mouse, without eyes, on a phone, in the dark."""

import pathlib
import re
import threading

import axe_playwright_python
from playwright.sync_api import expect

from harness.machine import TOP
from page.page_case import ADMIN_TOKEN, Model, PageCase

AXE = pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
ANSWER = """# A title

Some **bold** text, `code`, and a [link](https://chatterd.example/).

> A quotation

1. one
2. two

```py
print("Hello")
```

| name | value |
| --- | ---: |
| a | 1 |
"""


def script(exchange):
    exchange.write({"message": {"role": "assistant", "content": "", "thinking": "Let me see."}, "done": False})
    call = {"function": {"name": "weather", "arguments": {"city": "Rome"}}}
    exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})
    exchange.say(ANSWER)


class AccessibilityTests(PageCase):
    """axe has no findings in any state, in both colour schemes and on a phone."""

    def setUp(self):
        super().setUp()
        self.call("DELETE", "/conversations?appID=web&all=1")
        self.model.script = script

    def check(self, state):
        # An element that fades has a colour between two.
        self.page.evaluate("Promise.all(document.getAnimations().map((one) => { one.cancel(); return 0; }))")
        self.page.evaluate(AXE)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
        self.assertEqual([(one["id"], [node["html"][:160] for node in one["nodes"]]) for one in found], [], state)

    def check_states(self):
        self.open()
        self.check("empty")
        self.ask("Hello")
        for summary in self.page.locator(".answer summary").all():
            summary.click()
        self.check("conversation")
        self.page.get_by_role("button", name="Another answer").click()
        expect(self.page.locator(".alternatives")).to_be_visible()
        self.wait_for_end()
        self.check("alternatives")
        self.page.get_by_role("button", name="Details").click()
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.check("details")
        self.page.keyboard.press("Escape")
        self.page.locator("#options").click()
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.check("options")
        self.page.keyboard.press("Escape")
        self.page.locator("#actions summary").click()
        self.check("menu")
        self.page.locator("#delete").click()
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.check("question")
        self.page.keyboard.press("Escape")
        self.model.script = lambda exchange: (exchange.say("Half"), exchange.write({"error": "the model burst"}), Model.BREAK_OFF)[-1]
        self.write("Again")
        expect(self.page.locator(".answer .error").last).to_be_visible()
        self.check("error")

    def test_light(self):
        self.check_states()

    def test_dark(self):
        self.page = self.new_page(color_scheme="dark")
        self.check_states()

    def test_phone(self):
        self.page = self.new_page(viewport={"width": 375, "height": 700}, has_touch=True, is_mobile=True)
        self.check_states()
        self.page.locator("#open-sidebar").click()
        self.check("list")

    def test_model_servers(self):
        self.open()
        self.page.locator("#servers").click()
        self.check("token")
        self.page.get_by_label("Administrator").fill(ADMIN_TOKEN)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".servers li").first).to_be_visible()
        self.page.get_by_role("button", name="Add", exact=True).click()
        self.check("model servers")

    def test_running_answer(self):
        rest = threading.Event()
        self.addCleanup(rest.set)
        self.model.script = lambda exchange: (exchange.say("Half"), exchange.until(rest))[-1]
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("Half")
        self.check("running")

    def test_structure_has_names_and_roles(self):
        self.open()
        self.ask("Hello")
        for role, name in [("navigation", "Conversations"), ("textbox", "Write a prompt"), ("searchbox", "Search"), ("combobox", "Model"),
                           ("region", "Messages"), ("article", "You"), ("article", "Answer"), ("log", None), ("alert", None), ("main", None)]:
            expect(self.page.get_by_role(role, name=name) if name else self.page.get_by_role(role)).to_have_count(1)


class SignInAccessibilityTests(AccessibilityTests):
    mode = "keys"
    test_light = test_dark = test_phone = test_model_servers = test_running_answer = test_structure_has_names_and_roles = None

    def setUp(self):
        PageCase.setUp(self)

    def test_sign_in(self):
        self.page.goto("/")
        expect(self.page.get_by_label("Key or token")).to_be_focused()
        self.check("sign-in")


class KeyboardTests(PageCase):
    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, locator, limit=60):
        for _ in range(limit):
            if locator.evaluate("(element) => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        self.fail(f"Tab does not lead to {locator}")

    def test_conversation_is_led_by_keyboard_only(self):
        self.open()
        expect(self.page.locator("#prompt")).to_be_focused()
        self.page.keyboard.type("Two")
        self.press("Shift+Enter")
        self.page.keyboard.type("lines")
        self.press("Enter")
        expect(self.page.locator(".answer")).to_have_count(1)
        self.wait_for_end()
        self.assertEqual(self.model.exchange().prompts, [("user", "Two\nlines")])
        self.press("Shift+Tab")
        self.tab_to(self.page.get_by_role("button", name="Edit"))
        self.press("Enter")
        expect(self.page.locator("#prompt")).to_be_focused()
        self.page.keyboard.type(" more")
        self.press("Enter")
        expect(self.page.locator(".prompt").last).to_contain_text("lines more")
        self.wait_for_end()
        self.press("Alt+n")
        expect(self.page.locator("#title")).to_have_text("New conversation")
        self.press("Alt+s")
        expect(self.page.locator("#search")).to_be_focused()
        self.tab_to(self.page.locator("#list a").first)
        self.press("Enter")
        expect(self.page.locator(".prompt")).to_contain_text("lines more")

    def test_escape_stops_the_answer(self):
        self.model.script = lambda exchange: (exchange.say("Half"), exchange.leaves(), Model.BREAK_OFF)[-1]
        self.open()
        self.page.keyboard.type("Hello")
        self.press("Enter")
        expect(self.answer()).to_have_text("Half")
        self.press("Escape")
        expect(self.page.locator(".answer")).to_contain_text("You stopped this answer.")
        expect(self.page.locator("#prompt")).to_be_focused()

    def test_dialog_returns_the_focus(self):
        self.open()
        options = self.page.locator("#options")
        options.focus()
        self.press("Enter")
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.press("Escape")
        expect(self.page.get_by_role("dialog")).to_have_count(0)
        expect(options).to_be_focused()

    def test_other_answers_keep_the_focus(self):
        self.open()
        self.ask("Hello")
        self.page.get_by_role("button", name="Another answer").focus()
        self.press("Enter")
        expect(self.page.locator(".alternatives")).to_contain_text("2 of 2")
        self.wait_for_end()
        expect(self.page.locator(".answer:focus, .answer :focus")).to_have_count(1)
        earlier, later = (self.page.get_by_role("button", name=name) for name in ("Earlier version", "Later version"))
        earlier.focus()
        self.press("Enter")
        expect(self.page.locator(".alternatives")).to_contain_text("1 of 2")
        expect(later).to_be_focused()
        self.press("Enter")
        expect(self.page.locator(".alternatives")).to_contain_text("2 of 2")
        expect(earlier).to_be_focused()

    def test_edit_ends_with_the_draft_and_the_focus(self):
        self.open()
        self.ask("Hello")
        prompt = self.page.locator("#prompt")
        prompt.fill("A draft")
        cancel = self.page.get_by_role("button", name="Cancel")
        for end in (lambda: self.press("Escape"), lambda: (cancel.focus(), self.press("Enter"))):
            self.page.get_by_role("button", name="Edit").click()
            expect(prompt).to_have_value("Hello")
            end()
            expect(cancel).to_have_count(0)
            expect(prompt).to_have_value("A draft")
            expect(prompt).to_be_focused()

    def test_menu_returns_the_focus(self):
        self.open()
        self.ask("Hello")
        more = self.page.locator("#actions summary")
        more.focus()
        self.press("Enter")
        self.page.locator("#rename").focus()
        self.press("Escape")
        expect(self.page.locator("#rename")).to_be_hidden()
        expect(more).to_be_focused()
        self.press("Enter")
        self.page.locator("#delete").focus()
        self.press("Enter")
        expect(self.page.get_by_role("dialog")).to_be_visible()
        self.press("Escape")
        expect(self.page.get_by_role("dialog")).to_have_count(0)
        expect(more).to_be_focused()

    def test_first_stop_leads_to_the_prompt(self):
        self.open("/#elsewhere")
        self.page.reload()
        expect(self.page.locator("#prompt")).to_be_visible()
        self.press("Tab")
        expect(self.page.get_by_role("link", name="Skip to the prompt")).to_be_focused()
        self.press("Enter")
        expect(self.page.locator("#prompt")).to_be_focused()
        self.assertTrue(self.page.url.endswith("#elsewhere"))


class AppearanceTests(PageCase):
    def box(self, locator):
        return locator.evaluate("(element) => element.getBoundingClientRect().toJSON()")

    def test_blocks_are_apart(self):
        self.model.script = lambda exchange: exchange.say("1. one\n\n> A quotation\n\n```py\nprint(1)\n```\n\n- two\n  ```\n  b\n  ```\n")
        self.open()
        answer = self.ask("Hello")
        self.assertGreater(self.box(answer.locator("blockquote"))["top"], self.box(answer.locator("ol"))["bottom"])
        buttons, codes = (answer.locator(name).all() for name in (".code-bar button", "pre"))
        self.assertEqual(len(codes), 2)
        for button, code in zip(buttons, codes, strict=True):
            self.assertLessEqual(self.box(button)["bottom"], self.box(code)["top"])

    def test_nothing_moves_where_a_person_wants_no_motion(self):
        rest = threading.Event()
        self.addCleanup(rest.set)
        self.model.script = lambda exchange: exchange.until(rest)
        self.page = self.new_page(reduced_motion="reduce")
        self.open()
        self.write("Hello")
        expect(self.page.locator(".progress")).to_have_text("Waiting for the model…")
        animation = self.page.locator(".progress").evaluate("(element) => getComputedStyle(element, '::before').animationName")
        self.assertEqual(animation, "none")

    def test_each_block_has_its_direction(self):
        self.model.script = lambda exchange: exchange.say("English words.\n\nשלום עולם.\n\nMore.\n\n| a |\n|---|\n| שלום |\n")
        self.open()
        answer = self.ask("Hello\nשלום.")
        ends = """(element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            const [text, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
            return [text.left - box.left < 2, box.right - text.right < 2];
        }"""
        found = [answer.locator("p").nth(index).evaluate(ends) for index in range(3)]
        self.assertEqual(found, [[True, False], [False, True], [True, False]])
        expect(answer.locator("td")).to_have_css("unicode-bidi", "plaintext")
        expect(self.page.locator(".prompt .text")).to_have_css("unicode-bidi", "plaintext")

    def test_paper_has_all_loaded_messages(self):
        self.model.script = lambda exchange: exchange.say("line\n\n" * 200)
        self.open()
        self.ask("Hello")
        self.page.emulate_media(media="print")
        for name in ("#composer", "#sidebar", ".tools >> nth=0", "#options"):
            expect(self.page.locator(name)).to_be_hidden()
        expect(self.page.locator("#title")).to_be_visible()
        body, messages = (self.box(self.page.locator(name)) for name in ("body", "#messages"))
        self.assertGreaterEqual(body["bottom"], messages["bottom"])


class PhoneTests(PageCase):
    def setUp(self):
        super().setUp()
        self.page = self.new_page(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)

    def test_page_fits_the_width(self):
        self.model.script = lambda exchange: exchange.say(
            "```\n", "x" * 300, "\n```\n\n", "w" * 300, "\n\n| a |", " b |" * 20, "\n|---|", "---|" * 20, "\n| 1 |", " 2 |" * 20, "\n")
        self.open()
        self.page.locator("#prompt").fill("Hello " + "long" * 100)
        self.page.locator("#send").tap()
        expect(self.page.locator(".answer table")).to_be_visible()
        self.wait_for_end()
        self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), 360)
        self.assertLessEqual(self.page.evaluate("document.querySelector('#scroller').scrollWidth"), 360)

    def test_list_opens_over_the_conversation(self):
        self.open()
        expect(self.page.locator("#sidebar")).to_be_hidden()
        self.page.locator("#prompt").fill("Hello")
        self.page.locator("#send").tap()
        self.wait_for_end()
        self.page.locator("#open-sidebar").tap()
        expect(self.page.locator("#sidebar")).to_be_visible()
        self.page.locator("#list a").first.tap()
        expect(self.page.locator("#sidebar")).to_be_hidden()
        expect(self.page.locator(".prompt")).to_contain_text("Hello")

    def test_enter_is_a_new_line_on_a_touch_screen(self):
        self.open()
        self.page.locator("#prompt").tap()
        self.page.keyboard.type("One")
        self.page.keyboard.press("Enter")
        self.page.keyboard.type("Two")
        expect(self.page.locator("#prompt")).to_have_value("One\nTwo")


class InstallationTests(PageCase):
    def test_manifest_and_icon_exist(self):
        self.open()
        manifest = self.page.evaluate("fetch(document.querySelector('link[rel=manifest]').href).then((answer) => answer.json())")
        self.assertEqual((manifest["start_url"], manifest["display"]), ("../", "standalone"))
        client = self.page.context.new_cdp_session(self.page)
        errors = client.send("Page.getInstallabilityErrors")["installabilityErrors"]
        # The profile of a test is a private one, from which nothing can be installed.
        self.assertEqual([error["errorId"] for error in errors], ["in-incognito"])

    def test_texts_are_in_one_file(self):
        files = TOP / "Sources/Program/Page/Files"
        for file in [*files.glob("*.js"), *files.glob("views/*.js")]:
            if file.name == "strings.js":
                continue
            # A text in an element is a member of `strings`, a variable, or without letters.
            found = re.findall(r"""(?:text|label|placeholder|title|"aria-label"): "([^"]*[A-Za-z][^"]*)\"""", file.read_text())
            self.assertEqual(found, [], file.name)
