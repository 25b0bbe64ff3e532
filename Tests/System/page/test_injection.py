"""Hostile texts in every place of the page: no script runs, no other host is asked, and the page's own code breaks no policy."""

import itertools

from playwright.sync_api import expect

from page.hostile import hostile_texts
from page.page_case import ADMIN_TOKEN, PageCase

WATCH = "window.hits = 0; window.hit = () => { hits += 1; };"


class InjectionTests(PageCase):
    def setUp(self):
        super().setUp()
        self.texts = hostile_texts()
        self.assertGreaterEqual(len(self.texts), 200)
        self.page.context.add_init_script(WATCH)
        self.call("DELETE", "/conversations?appID=web&all=1")

    def check_harmless(self):
        """The faults of PageCase count too: requests to other hosts, errors of scripts, and dialogs."""
        self.assertEqual(self.page.evaluate("[hits, violations]"), [0, []])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#messages script, #messages iframe, #list script').length"), 0)

    def read_to_the_start(self, first):
        self.page.locator("#scroller").focus()
        while self.page.locator("#messages").get_by_text(first, exact=True).count() == 0:
            self.page.keyboard.press("Home")

    def test_stored_prompts_and_answers(self):
        for role in ("user", "assistant", "tool", "system"):
            name = f"hostile-{role}"
            self.import_messages(name, [{"role": "user", "content": "the first one"}] + [{"role": role, "content": text} for text in self.texts])
            self.page.goto(f"/#{name}")
            expect(self.page.locator(".message").first).to_be_attached()
            self.read_to_the_start("the first one")
            self.check_harmless()

    def test_streamed_answer_with_reasoning_and_tool_calls(self):
        def script(exchange):
            for text in self.texts:
                call = {"function": {"name": text, "arguments": {"text": text}}}
                exchange.write({"message": {"role": "assistant", "content": "", "thinking": text, "tool_calls": [call]}, "done": False})
                exchange.say(*(text[start:start + 7] for start in range(0, len(text), 7)), "\n\n", pause=0)

        self.model.script = script
        self.open()
        self.ask("Hello")
        for summary in self.page.locator(".answer summary").all():
            summary.evaluate("(summary) => { summary.parentElement.open = true; }")
        self.check_harmless()
        self.page.reload()
        expect(self.page.locator(".answer")).to_have_count(1)
        self.check_harmless()

    def test_errors_of_model_servers(self):
        # A model server that fails before its first word is asked again.
        texts = itertools.cycle(self.texts)
        self.model.script = lambda exchange: (exchange.write({"error": next(texts)}), self.model.BREAK_OFF)[-1]
        self.open()
        for number in range(1, 21):
            self.write("Hello")
            expect(self.page.locator(".answer .error:visible")).to_have_count(number)
        self.check_harmless()

    def test_titles_and_search_results(self):
        for index, text in enumerate(self.texts):
            title = "".join(character for character in text[:200] if character.isprintable()).strip() or "empty"
            self.call("POST", "/conversations?appID=web", {"conversation": f"c{index}", "title": title})
        self.open()
        while self.page.locator("#more").is_visible():
            count = self.page.locator("#list li").count()
            self.page.locator("#more").click()
            expect(self.page.locator("#list li").nth(count)).to_be_attached()
        self.assertGreaterEqual(self.page.locator("#list li").count(), 200)
        self.check_harmless()
        self.page.locator("#list a").nth(100).click()
        self.page.locator("#search").fill("script")
        expect(self.page.locator("#list-note")).to_have_text("")
        self.check_harmless()

    def test_names_of_conversations(self):
        for text in self.texts[:60]:
            name = "".join(character for character in text[:150] if character.isprintable())
            self.call("POST", "/conversations?appID=web", {"conversation": name, "title": "named"})
        self.open()
        for index in range(0, self.page.locator("#list li").count(), 7):
            self.page.locator("#list a").nth(index).click()
            expect(self.page.locator("#title")).to_have_text("named")
        self.check_harmless()

    def test_names_of_models_and_servers(self):
        printable = ["".join(character for character in text if character.isprintable())[:120] for text in self.texts]
        self.model.names = ["tiny", *dict.fromkeys(filter(str.strip, printable))]
        self.addCleanup(lambda: setattr(self.model, "names", ["tiny", "other"]))
        added = []
        for text in printable[:60]:
            status, answer = self.call("POST", "/upstreams", {"name": text, "kind": "ollama", "url": self.model.url}, ADMIN_TOKEN)
            if status == 201:
                added.append(answer["name"])
        self.addCleanup(lambda: [self.call("DELETE", "/upstreams/" + __import__("urllib.parse").parse.quote(name, ""), token=ADMIN_TOKEN) for name in added])
        # chatterd keeps a list of models for some seconds.
        while len(self.call("GET", "/models")[1]["models"]) < 100:
            pass
        self.page.goto("/")
        expect(self.page.locator("#model option").nth(100)).to_be_attached()
        self.page.locator("#servers").click()
        self.page.get_by_label("Administrator").fill(ADMIN_TOKEN)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".servers li")).not_to_have_count(0)
        self.check_harmless()

    def test_address_of_the_page(self):
        for text in self.texts:
            self.page.evaluate("(text) => { location.hash = text; }", text)
        self.page.goto("/#" + "javascript:hit()")
        expect(self.page.locator("#prompt")).to_be_visible()
        self.check_harmless()
