"""The page in a real browser: conversations, answers, and everything that can go wrong with them."""

import base64
import json
import re
import threading
import urllib.parse

from playwright.sync_api import expect

from harness.client import call
from page.page_case import ADMIN_TOKEN, LAN_HOST, Model, PageCase
from page.prefix import PREFIX, PrefixProxy

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class AnswerTests(PageCase):
    def test_answer_streams_into_the_page(self):
        rest = self.answer_in_parts(["First ", "words"], [" and the **rest**."])
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("First words")
        expect(self.page.locator("#stop")).to_be_visible()
        rest.set()
        expect(self.answer()).to_have_text("First words and the rest.")
        expect(self.answer().locator("strong")).to_have_text("rest")
        self.wait_for_end()
        expect(self.page.locator("#stop")).to_be_hidden()
        expect(self.page.locator(".answer .tools")).to_contain_text("7 tokens")
        self.assertEqual([message["content"] for message in self.stored()], ["Hello", "First words and the **rest**."])

    def test_model_gets_the_earlier_turns(self):
        self.open()
        self.ask("My name is Ada.")
        self.ask("Who am I?")
        self.assertEqual(
            self.model.exchange(1).prompts, [("user", "My name is Ada."), ("assistant", "Nothing to say."), ("user", "Who am I?")])

    def test_answer_is_stopped(self):
        self.model.script = lambda exchange: (exchange.say("Half an answer"), exchange.leaves(), Model.BREAK_OFF)[-1]
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("Half an answer")
        self.page.locator("#stop").click()
        self.wait_for_end()
        expect(self.page.locator(".answer")).to_contain_text("You stopped this answer.")
        expect(self.answer()).to_have_text("Half an answer")
        self.assertEqual(self.stored()[1]["state"], "cancelled")

    def test_stopped_answer_is_continued(self):
        self.model.script = lambda exchange: (exchange.say("Half an answer"), exchange.leaves(), Model.BREAK_OFF)[-1]
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("Half an answer")
        self.page.locator("#stop").click()
        self.wait_for_end()
        self.model.script = lambda exchange: exchange.say("and its end")
        self.page.get_by_role("button", name="Continue").click()
        expect(self.answer()).to_have_text("and its end")
        self.wait_for_end()
        self.assertEqual(self.model.exchange(1).prompts[:2], [("user", "Hello"), ("assistant", "Half an answer")])
        self.ask("Shorter please")
        self.assertEqual(
            [text for _, text in self.model.exchange(2).prompts],
            ["Hello", "Half an answer", "Continue exactly where you stopped.", "and its end", "Shorter please"])

    def test_other_answer_keeps_the_earlier_one(self):
        self.model.script = lambda exchange: exchange.say(f"Answer {len(self.model.exchanges)}")
        self.open()
        self.ask("Hello")
        self.page.get_by_role("button", name="Another answer").click()
        expect(self.answer()).to_have_text("Answer 2")
        self.wait_for_end()
        expect(self.page.locator(".answer")).to_have_count(1)
        expect(self.page.locator(".answer .alternatives")).to_contain_text("2 of 2")
        self.page.locator(".answer").get_by_role("button", name="Earlier version").click()
        expect(self.answer()).to_have_text("Answer 1")
        self.ask("Go on")
        self.assertEqual(self.model.exchange(2).prompts[1], ("assistant", "Answer 1"))

    def test_browser_without_groups_shows_other_answers(self):
        self.page.add_init_script("delete Map.groupBy;")
        self.open()
        self.ask("Hello")
        self.page.get_by_role("button", name="Another answer").click()
        expect(self.page.locator(".answer .alternatives")).to_contain_text("2 of 2")
        self.wait_for_end()

    def test_enter_that_ends_a_composed_word_sends_nothing(self):
        self.open()
        prompt = self.page.locator("#prompt")
        prompt.fill("nihao")
        is_left_alone = prompt.evaluate(
            "(field) => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true, cancelable: true}))")
        self.assertTrue(is_left_alone)
        expect(prompt).to_have_value("nihao")

    def test_edited_prompt_begins_a_branch(self):
        self.model.script = lambda exchange: exchange.say("To: " + exchange.prompts[-1][1])
        self.open()
        self.ask("One")
        self.ask("Two")
        self.page.locator(".prompt").last.get_by_role("button", name="Edit").click()
        expect(self.page.locator("#prompt")).to_have_value("Two")
        self.write("Zwei")
        expect(self.answer()).to_have_text("To: Zwei")
        self.wait_for_end()
        expect(self.page.locator(".prompt")).to_have_count(2)
        self.assertEqual([text for _, text in self.model.exchange(2).prompts], ["One", "To: One", "Zwei"])
        self.page.locator(".prompt").last.get_by_role("button", name="Earlier version").click()
        expect(self.answer()).to_have_text("To: Two")
        self.ask("Three")
        self.assertEqual([text for _, text in self.model.exchange(3).prompts], ["One", "To: One", "Two", "To: Two", "Three"])

    def test_first_prompt_is_edited(self):
        self.model.script = lambda exchange: exchange.say("To: " + exchange.prompts[-1][1])
        self.open()
        self.ask("One")
        self.page.locator(".prompt").get_by_role("button", name="Edit").click()
        self.write("Uno")
        expect(self.answer()).to_have_text("To: Uno")
        self.wait_for_end()
        self.assertEqual(self.model.exchange(1).prompts, [("user", "Uno")])

    def test_branch_is_copied_to_a_new_conversation(self):
        self.open()
        self.ask("Hello")
        before = self.page.url
        self.page.get_by_role("button", name="New from here").click()
        self.page.wait_for_url(lambda url: url != before)
        expect(self.answer()).to_have_text("Nothing to say.")
        expect(self.page.locator("#list a[aria-current]")).to_be_visible()

    def test_double_click_counts_once(self):
        self.open()
        self.ask("Hello")
        requests = []
        self.page.on("request", lambda request: requests.append(request))
        rest = self.answer_in_parts(["Another", " one"], [" more"])
        self.page.get_by_role("button", name="Another answer").dblclick()
        expect(self.answer()).to_have_text("Another one")
        rest.set()
        self.wait_for_end()
        before = self.page.url
        self.page.get_by_role("button", name="New from here").dblclick()
        self.page.wait_for_url(lambda url: url != before)
        expect(self.answer()).to_have_text("Another one more")
        posts = [urllib.parse.urlsplit(request.url).path.rsplit("/")[-1] for request in requests if request.method == "POST"]
        self.assertEqual(posts, ["regenerate", "fork"])

    def test_error_is_shown_in_place_and_announced(self):
        def script(exchange):
            exchange.say("Before the fault. ")
            exchange.write({"error": "the model burst"})
            return Model.BREAK_OFF

        self.model.script = script
        self.open()
        self.write("Hello")
        expect(self.page.locator(".answer .error")).to_contain_text("the model burst")
        expect(self.answer()).to_have_text("Before the fault.")
        expect(self.page.locator("#alerts")).to_contain_text("the model burst")
        self.model.script = lambda exchange: exchange.say("Now it works")
        self.page.get_by_role("button", name="Another answer").click()
        expect(self.answer()).to_have_text("Now it works")

    def test_refused_prompt_returns_to_the_composer(self):
        self.open()
        self.page.evaluate("document.querySelector('#model').append(new Option('long', 'm'.repeat(300), true, true))")
        self.write("Hello")
        expect(self.page.locator(".pending .error")).to_contain_text("model")
        expect(self.page.locator("#alerts")).to_contain_text("model")
        self.page.get_by_role("button", name="Back to the prompt").click()
        expect(self.page.locator("#prompt")).to_have_value("Hello")
        expect(self.page.locator(".pending")).to_have_count(0)

    def test_reasoning_is_collapsed(self):
        def script(exchange):
            exchange.write({"message": {"role": "assistant", "content": "", "thinking": "Let me see."}, "done": False})
            exchange.say("The answer.")

        self.model.script = script
        self.open()
        self.ask("Hello")
        reasoning = self.page.locator(".answer details").first
        expect(reasoning.locator("summary")).to_have_text("Reasoning")
        expect(reasoning.get_by_text("Let me see.")).to_be_hidden()
        reasoning.locator("summary").click()
        expect(reasoning.get_by_text("Let me see.")).to_be_visible()

    def test_reasoning_of_many_pieces_is_shown_whole_and_its_nodes_are_short(self):
        pieces = [f"Thought {number}: {'🐣 ' * 700}" for number in range(20)]

        def script(exchange):
            for piece in pieces:
                exchange.write({"message": {"role": "assistant", "content": "", "thinking": piece}, "done": False})
            exchange.say("The answer.")

        self.model.script = script
        self.open()
        self.ask("Hello")
        self.wait_for_end()
        reasoning = self.page.locator(".answer details .text")
        self.assertEqual(reasoning.evaluate("(element) => element.textContent"), "".join(pieces))
        # Appending to a node copies it: one node would take a quadratic time.
        lengths = reasoning.evaluate("(element) => [...element.childNodes].map((node) => node.length)")
        self.assertLessEqual(max(lengths), 4096)
        self.page.reload()
        self.wait_for_end()
        self.assertEqual(reasoning.evaluate("(element) => element.textContent"), "".join(pieces))

    def test_tool_call_stays_open_while_further_ones_arrive(self):
        is_opened = threading.Event()

        def script(exchange):
            for city in ("Rome", "Oslo", "Bern"):
                call = {"function": {"name": f"weather of {city}", "arguments": {"city": city}}}
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})
                # The server holds a call until the next line.
                if city == "Oslo":
                    exchange.until(is_opened)

        self.model.script = script
        self.open()
        self.write("Hello")
        self.page.get_by_text("Calls weather of Rome").click()
        is_opened.set()
        expect(self.page.get_by_text("Calls weather of Bern")).to_be_visible()
        calls = self.page.locator(".answer details pre")
        expect(calls).to_contain_text(['"city": "Rome"', '"city": "Oslo"', '"city": "Bern"'])
        expect(calls.first).to_be_visible()

    def test_tool_call_is_shown(self):
        def script(exchange):
            call = {"function": {"name": "weather", "arguments": {"city": "Rome"}}}
            exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})

        self.model.script = script
        self.open()
        self.ask("Hello")
        self.page.get_by_text("Calls weather").click()
        expect(self.page.locator(".answer details pre")).to_contain_text('"city": "Rome"')

    def test_code_is_copied(self):
        self.model.script = lambda exchange: exchange.say("```py\nprint(1)\n", "```\n")
        self.open()
        self.ask("Hello")
        self.page.get_by_role("button", name="Copy code").click()
        expect(self.page.get_by_role("button", name="Copied")).to_be_visible()
        self.assertEqual(self.page.evaluate("navigator.clipboard.readText()").rstrip("\n"), "print(1)")

    def test_details_name_the_server_and_the_history(self):
        self.open()
        self.ask("Hello")
        self.ask("Again")
        self.page.locator(".answer").last.get_by_role("button", name="Details").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_contain_text("scripted (tiny), bytes 0 to 15")
        expect(dialog).to_contain_text("Messages 1 to 3: sent")

    def test_images_are_sent(self):
        self.open()
        self.page.locator("#attach-file").set_input_files(
            {"name": "pixel.png", "mimeType": "image/png", "buffer": base64.b64decode(PIXEL)})
        expect(self.page.locator("#attachments li")).to_have_count(1)
        self.ask("What is this?")
        self.assertEqual(self.model.exchange().request["messages"][-1]["images"], [PIXEL])
        expect(self.page.locator(".prompt img")).to_have_count(1)

    def test_files_keep_their_order(self):
        photo = b"\xff\xd8\xff\xe0" + bytes(4_400_000)
        self.open()
        self.page.locator("#attach-file").set_input_files([
            {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": photo},
            {"name": "pixel.png", "mimeType": "image/png", "buffer": base64.b64decode(PIXEL)}])
        expect(self.page.locator("#attachments li")).to_have_count(2)
        self.ask("What is this?")
        images = self.model.exchange().request["messages"][-1]["images"]
        self.assertEqual([len(image) for image in images], [len(base64.b64encode(photo)), len(PIXEL)])

    def test_image_is_pasted_and_dropped(self):
        self.open()
        for kind in ("paste", "drop"):
            self.page.evaluate("""([kind, pixel]) => {
                const data = new DataTransfer();
                data.items.add(new File([Uint8Array.from(atob(pixel), (one) => one.charCodeAt(0))], "pixel.png", {type: "image/png"}));
                const options = {bubbles: true, cancelable: true};
                document.querySelector("#prompt").dispatchEvent(kind === "paste"
                    ? new ClipboardEvent("paste", {...options, clipboardData: data}) : new DragEvent("drop", {...options, dataTransfer: data}));
            }""", [kind, PIXEL])
        expect(self.page.locator("#attachments li")).to_have_count(2)
        self.page.reload()
        expect(self.page.locator("#attachments li")).to_have_count(2)
        self.page.get_by_role("button", name="Remove Image 2").click()
        self.page.locator("#model").select_option("tiny")
        self.ask("What is this?")
        self.assertEqual(self.model.exchange().request["messages"][-1]["images"], [PIXEL])
        expect(self.page.locator("#attachments li")).to_have_count(0)

    def test_text_files_are_sent_with_their_names(self):
        self.open()
        self.page.locator("#attach-file").set_input_files([
            {"name": "notes.md", "mimeType": "text/markdown", "buffer": "Über\n```\ncode\n```".encode()},
            {"name": "dot.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>\n"}])
        chips = self.page.locator("#attachments li")
        expect(chips).to_contain_text(["notes.md, 17 characters", "dot.svg, 7 characters"])
        self.page.reload()
        expect(chips).to_contain_text(["notes.md, 17 characters", "dot.svg, 7 characters"])
        self.page.locator("#model").select_option("tiny")
        self.ask("Read this.")
        self.assertEqual(
            self.model.exchange().prompts[-1][1],
            "Read this.\n\nnotes.md:\n````\nÜber\n```\ncode\n```\n````\n\ndot.svg:\n```\n<svg/>\n```")

    def test_files_of_other_kinds_are_refused(self):
        self.open()
        self.page.locator("#attach-file").set_input_files([
            {"name": "paper.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n\xe2\xe3\xcf\xd3"},
            {"name": "zeros.txt", "mimeType": "text/plain", "buffer": b"a\0b"},
            {"name": "photo.heic", "mimeType": "image/heic", "buffer": b"\0\0\0\x18ftypheic"},
            {"name": "good.txt", "mimeType": "text/plain", "buffer": b"good"}])
        problems = self.page.locator("#attachments .error")
        expect(problems).to_contain_text(["paper.pdf is neither", "zeros.txt is neither", "photo.heic is neither"])
        expect(self.page.locator("#alerts")).to_contain_text("photo.heic")
        expect(self.page.locator("#attachments li:not(.error)")).to_contain_text(["good.txt, 4 characters"])
        problems.first.get_by_role("button", name="Dismiss").click()
        expect(problems).to_have_count(2)
        self.ask("Hello")
        self.assertEqual(self.model.exchange().prompts, [("user", "Hello\n\ngood.txt:\n```\ngood\n```")])
        expect(problems).to_have_count(0)

    def test_long_paste_becomes_an_attachment(self):
        self.open()
        self.page.evaluate("""() => {
            const data = new DataTransfer();
            data.setData("text/plain", "word ".repeat(200_000));
            document.querySelector("#prompt").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""")
        expect(self.page.locator("#attachments li")).to_contain_text("1,000,000 characters")
        self.ask("Summarise this.")
        self.assertEqual(len(self.model.exchange().prompts[-1][1]), len("Summarise this.\n\n") + 1_000_000)
        expect(self.page.locator(".prompt").get_by_role("button", name=re.compile("Show all"))).to_be_visible()

    def test_reader_who_scrolled_up_stays_there(self):
        rest = self.answer_in_parts(["line\n\n" * 200], ["more\n\n" * 200, "the end"])
        self.open()
        self.write("Hello")
        expect(self.page.locator(".markdown p")).to_have_count(200)
        at_end = "(() => { const s = document.querySelector('#scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight < 4; })()"
        self.wait_until(at_end)
        self.page.locator("#scroller").hover()
        self.page.mouse.wheel(0, -900)
        expect(self.page.locator("#to-end")).to_be_visible()
        position = self.page.evaluate("document.querySelector('#scroller').scrollTop")
        rest.set()
        expect(self.answer()).to_contain_text("the end")
        self.assertEqual(self.page.evaluate("document.querySelector('#scroller').scrollTop"), position)
        self.page.locator("#to-end").click()
        self.wait_until(at_end)
        expect(self.page.locator("#to-end")).to_be_hidden()

    def test_screen_reader_gets_sentences_and_focus_stays(self):
        rest = self.answer_in_parts(["One sen", "tence. And half"], [" of another."])
        self.open()
        self.write("Hello")
        log = self.page.locator("#announcements p")
        expect(log.first).to_have_text("One sentence.")
        self.page.locator("#search").focus()
        rest.set()
        expect(log).to_have_text(["One sentence.", "And half of another.", "The answer is finished."])
        expect(self.page.locator("#search")).to_be_focused()

    def test_new_messages_leave_the_focus_on_a_button(self):
        self.open()
        self.ask("Hello")
        name = self.page.evaluate("location.hash.slice(1)")
        for place in (self.page.locator(".answer").first.get_by_role("button", name="Details"), self.page.locator("#list a[aria-current]")):
            place.focus()
            count = self.page.locator(".answer").count()
            self.call("POST", "/llmchat", {"appID": "web", "conversation": name, "model": "tiny", "stream": False,
                                           "messages": [{"role": "user", "content": "From elsewhere"}]})
            expect(self.page.locator(".answer")).to_have_count(count + 1)
            self.wait_for_end()
            expect(place).to_be_focused()

    def test_finished_answer_notifies_a_hidden_page(self):
        rest = threading.Event()
        self.addCleanup(rest.set)
        self.model.script = lambda exchange: (exchange.say("Working. "), exchange.until(rest), exchange.say("Done."))[-1]
        self.page.context.grant_permissions(["notifications"])
        self.page.add_init_script("""
            window.notes = [];
            window.Notification = class { constructor(title, options) { notes.push([title, options.body]); } };
            Notification.permission = "granted";
            Notification.requestPermission = async () => "granted";""")
        self.open()
        self.page.locator("#manage summary").click()
        self.page.locator("#notify").click()
        expect(self.page.locator("#notify")).to_have_attribute("aria-pressed", "true")
        self.write("Hello")
        expect(self.answer()).to_have_text("Working.")
        self.page.evaluate("Object.defineProperty(document, 'hidden', {value: true}); document.dispatchEvent(new Event('visibilitychange'))")
        rest.set()
        self.wait_until("notes.length === 1")
        self.assertEqual(self.page.evaluate("notes[0][1]"), "The answer is finished.")


class ToolTests(PageCase):
    """Tools that run on the server."""

    variables = {"CHATTERD_TOOLS": json.dumps([
        {"name": "echo_input", "description": "Echo", "command": ["/bin/cat"]},
        {"name": "delete_all", "description": "Delete", "command": ["/bin/cat"], "approve": "always"},
    ])}

    def script(self, *names):
        """The model calls the tools, and then says what it has read."""
        def script(exchange):
            last = exchange.request["messages"][-1]
            if last["role"] == "tool":
                exchange.say("Read: ", last["content"])
            else:
                exchange.say("Let me see. ")
                calls = [{"function": {"name": name, "arguments": {"what": "<b>all</b>"}}} for name in names]
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False})

        self.model.script = script

    def steps(self):
        return self.page.locator(".answer .step summary")

    def test_calls_are_shown_with_their_state(self):
        self.script("echo_input", "nothing")
        self.open()
        self.ask("Hello")
        expect(self.steps()).to_have_text(["echo_input: done", "nothing: failed"])
        self.steps().first.click()
        expect(self.page.locator(".answer .step pre").first).to_have_text('{\n  "what": "<b>all</b>"\n}')
        self.page.reload()
        self.wait_for_end()
        expect(self.steps()).to_have_text(["echo_input: done", "nothing: failed"])
        expect(self.answer()).to_contain_text("Let me see. Read: Error: there is no tool")
        self.steps().first.click()
        expect(self.page.locator(".answer .step pre").nth(1)).to_have_text('{"what":"<b>all</b>"}')

    def test_call_is_approved_on_another_device(self):
        self.script("delete_all", "delete_all")
        self.open()
        self.write("Hello")
        expect(self.steps()).to_have_text(["delete_all: waits for your approval"] * 2)
        expect(self.page.locator(".answer .step pre").first).to_be_visible()
        expect(self.page.get_by_text("Waiting for your approval…")).to_be_visible()
        other = self.new_page()
        self.open(self.page.url.removeprefix(self.gate.url), other)
        buttons = other.get_by_role("button", name="Approve: delete_all")
        expect(buttons).to_have_count(2)
        buttons.first.click()
        expect(self.steps()).to_have_text(["delete_all: done", "delete_all: waits for your approval"])
        self.page.get_by_role("button", name="Deny: delete_all").click()
        self.wait_for_end()
        for page in (self.page, other):
            steps = page.locator(".answer .step summary")
            expect(steps).to_have_text(["delete_all: done", "delete_all: not made"])
            expect(page.locator(".answer")).to_contain_text("Read: The person has refused this call.")
            expect(page.get_by_role("button", name="Approve: delete_all")).to_have_count(0)

    def test_stopped_answer_asks_no_more(self):
        self.script("delete_all")
        self.open()
        self.write("Hello")
        expect(self.page.get_by_role("button", name="Approve: delete_all")).to_be_visible()
        self.page.locator("#stop").click()
        self.wait_for_end()
        expect(self.page.get_by_role("button", name="Approve: delete_all")).to_have_count(0)
        expect(self.steps()).to_have_text(["delete_all: not made"])


class QueueTests(PageCase):
    @classmethod
    def upstreams(cls):
        return [super().upstreams()[0] | {"slots": 1, "context": 4096}]

    def test_position_in_the_queue_is_shown(self):
        free = threading.Event()
        self.addCleanup(free.set)
        self.model.script = lambda exchange: (exchange.until(free), exchange.say("At last"))[-1]
        self.open()
        self.write("First")
        self.model.exchange(0)
        other = self.open(page=self.new_page())
        self.write("Second", other)
        expect(other.locator(".answer .tools")).to_contain_text("Number 1 of 1 in the queue of scripted")
        free.set()
        expect(self.answer(other)).to_have_text("At last")
        expect(self.answer()).to_have_text("At last")

    def test_gauge_shows_the_context(self):
        self.open()
        self.ask("Hello")
        expect(self.page.locator("#gauge")).to_contain_text("% of the context")
        self.page.get_by_role("button", name="Details").click()
        expect(self.page.get_by_role("dialog")).to_contain_text("of 4,096 tokens")


class NothingIsLostTests(PageCase):
    def held(self):
        """An answer whose second half waits for an event."""
        rest = self.answer_in_parts(["The first half, "], ["the second half."])
        return rest

    def test_draft_survives_a_reload(self):
        self.open()
        self.page.locator("#prompt").fill("Half a thought")
        self.page.reload()
        expect(self.page.locator("#prompt")).to_have_value("Half a thought")

    def finish_after_a_reload(self):
        """Reloads the page in the middle of an answer, and has the model server send the rest."""
        rest = self.held()
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("The first half,")
        self.page.reload()
        expect(self.answer()).to_have_text("The first half,")
        rest.set()

    def test_answer_continues_after_a_reload(self):
        self.finish_after_a_reload()
        expect(self.answer()).to_have_text("The first half, the second half.")
        self.wait_for_end()
        self.assertEqual(self.stored()[1]["content"], "The first half, the second half.")
        expect(self.page.locator(".prompt")).to_have_count(1)

    def test_speed_is_unknown_after_a_reload(self):
        # No answer is too short to be measured.
        self.page.add_init_script("let time = 0; performance.now = () => { time += 1000; return time; };")
        self.finish_after_a_reload()
        self.wait_for_end()
        expect(self.page.locator(".answer .tools")).to_contain_text("7 tokens")
        expect(self.page.locator(".answer .tools")).not_to_contain_text("tokens/s")
        expect(self.ask("Again").locator(".tools")).to_contain_text("tokens/s")

    def test_stop_works_after_a_reload(self):
        self.held()
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("The first half,")
        self.page.reload()
        self.page.locator("#stop").click()
        expect(self.page.locator(".answer")).to_contain_text("You stopped this answer.")

    def test_answer_continues_after_the_network_was_lost(self):
        rest = self.held()
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("The first half,")
        self.gate.close()
        expect(self.page.locator("#status")).to_contain_text("The connection is lost")
        rest.set()
        self.gate.open()
        expect(self.answer()).to_have_text("The first half, the second half.")
        expect(self.page.locator("#status")).to_be_hidden()
        self.assertEqual(self.stored()[1]["content"], "The first half, the second half.")

    def test_prompt_without_a_network_is_sent_once_when_it_is_back(self):
        self.open()
        self.ask("Hello")
        self.gate.close()
        self.write("Anyone?")
        expect(self.page.locator(".pending")).to_contain_text("Anyone?")
        self.gate.open()
        expect(self.page.locator(".answer")).to_have_count(2)
        self.wait_for_end()
        expect(self.page.locator(".pending")).to_have_count(0)
        self.assertEqual([message["role"] for message in self.stored()], ["user", "assistant"] * 2)

    def test_first_prompt_without_a_network_is_sent_when_it_is_back(self):
        self.open()
        self.gate.close()
        self.write("Anyone?")
        expect(self.page.locator(".pending")).to_contain_text("Anyone?")
        self.gate.open()
        expect(self.answer()).to_have_text("Nothing to say.")
        self.wait_for_end()
        self.assertEqual([message["role"] for message in self.stored()], ["user", "assistant"])

    def test_prompts_without_a_network_keep_their_order(self):
        self.open()
        self.ask("Hello")
        self.gate.close()
        texts = [f"Prompt {number}" for number in range(5)]
        for text in texts:
            self.write(text)
        expect(self.page.locator(".pending")).to_have_count(5)
        self.gate.open()
        self.page.reload()
        expect(self.page.locator(".answer")).to_have_count(6)
        self.wait_for_end()
        expect(self.page.locator(".pending")).to_have_count(0)
        self.assertEqual([message["content"] for message in self.stored() if message["role"] == "user"], ["Hello", *texts])

    def test_prompts_behind_a_refused_one_wait(self):
        self.open()
        self.ask("Hello")
        self.gate.close()
        self.page.evaluate("document.querySelector('#model').append(new Option('long', 'm'.repeat(300), true, true))")
        self.write("One")
        self.page.locator("#model").select_option("tiny")
        self.write("Two")
        expect(self.page.locator(".pending")).to_have_count(2)
        self.gate.open()
        expect(self.page.locator(".pending .error")).to_have_count(2)
        self.assertEqual(len(self.stored()), 2)
        self.page.locator(".pending").last.get_by_role("button", name="Try again").click()
        expect(self.page.locator(".answer")).to_have_count(2)
        self.wait_for_end()
        self.assertEqual(self.stored()[2]["content"], "Two")

    def test_new_conversation_is_new_after_its_prompt_was_sent_elsewhere(self):
        self.open()
        self.ask("Hello")
        name = self.page.evaluate("location.hash.slice(1)")
        self.page.locator("#new").click()
        self.gate.close()
        self.write("First of the new one")
        expect(self.page.locator(".pending")).to_have_count(1)
        self.page.evaluate("(name) => { location.hash = name; }", name)
        self.gate.open()
        expect(self.page.locator(".answer")).to_have_count(1)
        self.model.exchange(1)
        expect(self.page.locator("#list li")).to_contain_text(["First of the new one"])
        self.page.locator("#new").click()
        expect(self.page.locator("#messages")).to_contain_text("What is on your mind?")
        self.ask("Another one")
        self.assertEqual([message["content"] for message in self.stored()], ["Another one", "Nothing to say."])

    def test_prompt_that_another_tab_settled_is_gone(self):
        self.open()
        self.page.evaluate("document.querySelector('#model').append(new Option('long', 'm'.repeat(300), true, true))")
        self.write("Hello")
        expect(self.page.locator(".pending .error")).to_contain_text("model")
        tab = self.new_page(self.page.context)
        tab.goto(self.page.url)
        expect(tab.locator(".pending .error")).to_contain_text("model")
        tab.get_by_role("button", name="Back to the prompt").click()
        expect(self.page.locator(".pending")).to_have_count(0)

    def test_prompt_of_another_conversation_is_sent_too(self):
        self.open()
        self.ask("Hello")
        name = self.page.evaluate("location.hash.slice(1)")
        self.gate.close()
        self.write("Anyone?")
        expect(self.page.locator(".pending")).to_contain_text("Anyone?")
        self.page.locator("#new").click()
        expect(self.page.locator(".pending")).to_have_count(0)
        self.gate.open()
        self.page.reload()
        self.model.exchange(1)
        self.page.goto(f"/#{name}")
        expect(self.page.locator(".answer")).to_have_count(2)
        self.wait_for_end()
        self.assertEqual(len(self.stored()), 4)

    def test_refused_prompt_waits_for_its_author(self):
        self.open()
        self.page.evaluate("document.querySelector('#model').append(new Option('long', 'm'.repeat(300), true, true))")
        self.write("Hello")
        expect(self.page.locator(".pending .error")).to_contain_text("model")
        posts = []
        self.page.on("request", lambda request: posts.append(request.url) if "/llmtools" in request.url else None)
        self.page.reload()
        expect(self.page.locator(".pending .error")).to_contain_text("model")
        self.assertEqual(posts, [])
        self.page.get_by_role("button", name="Back to the prompt").click()
        expect(self.page.locator("#prompt")).to_have_value("Hello")

    def test_prompt_whose_response_is_lost_counts_once(self):
        self.open()
        self.ask("Hello")
        self.gate.mute()
        self.write("Anyone?")
        self.model.exchange(1)
        expect(self.page.locator(".pending")).to_contain_text("Anyone?")
        # Chromium repeats a request by itself when a connection ends that was used before; only then the page learns of it.
        with self.page.expect_event("requestfailed", lambda request: request.method == "POST"):
            self.gate.close()
        self.gate.open()
        expect(self.page.locator(".answer")).to_have_count(2)
        self.wait_for_end()
        expect(self.page.locator(".pending")).to_have_count(0)
        expect(self.page.locator(".prompt")).to_have_count(2)
        self.assertEqual([message["role"] for message in self.stored()], ["user", "assistant"] * 2)
        self.assertEqual(len(self.model.exchanges), 2)

    def test_prompt_of_a_lost_page_is_sent_after_the_reload(self):
        self.open()
        self.ask("Hello")
        self.gate.close()
        self.write("Anyone?")
        expect(self.page.locator(".pending")).to_contain_text("Anyone?")
        self.gate.open()
        self.page.reload()
        expect(self.page.locator(".answer")).to_have_count(2)
        self.wait_for_end()
        expect(self.page.locator(".pending")).to_have_count(0)
        self.assertEqual([message["content"] for message in self.stored()][2], "Anyone?")
        self.assertEqual(len(self.stored()), 4)

    def test_answer_continues_after_the_server_was_killed(self):
        rest = self.held()
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("The first half,")
        self.server.kill()
        self.server.restart()
        rest.set()
        expect(self.answer()).to_have_text("The first half, the second half.")
        self.wait_for_end()
        self.assertEqual(self.stored()[1]["content"], "The first half, the second half.")
        self.assertEqual(self.stored()[1]["state"], "complete")

    def test_second_tab_and_second_device_show_the_same(self):
        rest = self.held()
        self.open()
        self.write("Hello")
        expect(self.answer()).to_have_text("The first half,")
        tab = self.open(self.page.url, self.new_page(self.page.context))
        device = self.open(self.page.url, self.new_page())
        for page in (tab, device):
            expect(self.answer(page)).to_have_text("The first half,")
        rest.set()
        for page in (self.page, tab, device):
            expect(self.answer(page)).to_have_text("The first half, the second half.")
            self.wait_for_end(page)
        self.model.script = lambda exchange: exchange.say("To the device.")
        self.ask("From the device", device)
        for page in (self.page, tab):
            expect(page.locator(".prompt").last).to_contain_text("From the device")
            expect(self.answer(page)).to_have_text("To the device.")
            expect(page.locator(".prompt")).to_have_count(2)

    def test_second_tab_begins_a_conversation_of_its_own(self):
        self.open()
        tab = self.open(page=self.new_page(self.page.context))
        tab.locator("#prompt").fill("From the second tab")
        self.ask("From the first tab")
        self.wait_until("(name) => location.hash !== name", self.page.evaluate("location.hash"), tab)
        expect(tab.locator("#prompt")).to_have_value("From the second tab")
        tab.locator("#send").click()
        expect(tab.locator(".answer")).to_have_count(1)
        self.wait_for_end(tab)
        self.assertEqual([message["content"] for message in self.stored()][0], "From the first tab")
        self.assertEqual([message["content"] for message in self.stored(tab)][0], "From the second tab")

    def test_page_that_is_opened_without_a_network_waits_for_it(self):
        self.open()
        self.ask("Hello")
        address = self.page.url
        self.page.locator("#new").click()
        expect(self.page.locator("#messages")).to_contain_text("What is on your mind?")
        expect(self.page.locator("#prompt")).to_be_focused()
        self.gate.close()
        self.page.evaluate("(hash) => { location.hash = hash; }", urllib.parse.urlsplit(address).fragment)
        expect(self.page.locator("#status")).to_contain_text("The connection is lost")
        self.gate.open()
        expect(self.answer()).to_have_text("Nothing to say.")
        expect(self.page.locator("#status")).to_be_hidden()

    def test_deletion_elsewhere_is_shown(self):
        self.open()
        self.ask("Hello")
        device = self.open(self.page.url, self.new_page())
        expect(device.locator(".answer")).to_have_count(1)
        self.page.locator("#actions summary").click()
        self.page.locator("#delete").click()
        self.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(device.locator("#messages")).to_contain_text("This conversation was deleted.")
        before = device.evaluate("location.hash")
        device.locator("#model").select_option("tiny")
        self.ask("Still there?", device)
        self.assertNotEqual(device.evaluate("location.hash"), before)
        self.assertEqual([message["content"] for message in self.stored(device)], ["Still there?", "Nothing to say."])


class PlainHTTPTests(PageCase):
    variables = {"CHATTERD_HOSTS": LAN_HOST}

    def test_page_works_on_plain_http_of_a_lan(self):
        origin = self.gate.url.replace("127.0.0.1", LAN_HOST)
        self.origins.add(origin)
        self.model.script = lambda exchange: exchange.say("```py\nprint(1)\n", "```\n")
        self.open(origin + "/")
        self.assertFalse(self.page.evaluate("isSecureContext"))
        self.ask("Hello")
        self.assertEqual(self.stored()[0]["content"], "Hello")
        self.page.get_by_role("button", name="Copy code").click()
        expect(self.page.get_by_role("button", name="Copied")).to_be_visible()
        self.page.locator("#prompt").press("Control+V")
        expect(self.page.locator("#prompt")).to_have_value(re.compile(r"print\(1\)\s*"))
        self.page.reload()
        expect(self.page.locator(".answer")).to_have_count(1)


class ConversationListTests(PageCase):
    def setUp(self):
        super().setUp()
        self.call("DELETE", "/conversations?appID=web&all=1")

    def menu(self, name):
        self.page.locator("#actions summary").click()
        self.page.locator(f"#{name}").click()

    def test_conversation_is_renamed_archived_and_brought_back(self):
        self.open()
        self.ask("Where shall we stay?")
        row = self.page.locator("#list a")
        expect(row).to_contain_text("Where shall we stay?")
        self.menu("rename")
        self.page.get_by_label("Title").fill("A week in Rome")
        self.page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(row).to_contain_text("A week in Rome")
        expect(self.page.locator("#title")).to_have_text("A week in Rome")
        self.menu("archive")
        expect(row).to_have_count(0)
        self.page.locator("#manage summary").click()
        self.page.locator("#archived").click()
        expect(row).to_contain_text("A week in Rome")
        row.click()
        expect(self.page.locator(".answer")).to_have_count(1)
        self.menu("archive")
        expect(row).to_have_count(0)
        self.page.locator("#archived").click()
        expect(row).to_have_count(1)

    def test_single_requests_are_a_list_of_their_own_until_something_follows_them(self):
        def ask_once(text):
            body = {"model": "tiny", "messages": [{"role": "user", "content": text}]}
            headers = {"Content-Type": "application/json", "X-App-ID": "web"}
            status, headers, answer = call(self.server.url, "POST", "/v1/chat/completions", body, headers)
            self.assertEqual(status, 200, answer)
            return headers["X-Conversation-ID"]

        titles, tags = ask_once("### Task: write a title"), ask_once("### Task: write tags")
        self.open()
        row, note = self.page.locator("#list a"), self.page.locator("#list-note")
        expect(note).to_have_text("No conversations yet.")
        self.page.locator("#manage summary").click()
        requests, archived = self.page.locator("#requests"), self.page.locator("#archived")
        archived.click()
        expect(archived).to_have_attribute("aria-pressed", "true")
        # By the keyboard; the focus stays.
        requests.focus()
        self.page.keyboard.press("Space")
        expect(requests).to_have_attribute("aria-pressed", "true")
        expect(archived).to_have_attribute("aria-pressed", "false")
        expect(requests).to_be_focused()
        expect(row).to_have_count(2)
        # A search finds them here only.
        self.page.locator("#search").fill("write tags")
        expect(row).to_have_count(1)
        requests.click()
        expect(note).to_have_text("No conversation has this text.")
        self.page.locator("#search").fill("")
        expect(note).to_have_text("No conversations yet.")
        requests.click()
        expect(row).to_have_count(2)
        # A title or a further prompt makes a conversation of it.
        self.page.locator(f"#list a[href='#{titles}']").click()
        expect(self.page.locator(".answer")).to_have_count(1)
        self.menu("rename")
        self.page.get_by_label("Title").fill("Kept")
        self.page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(row).to_have_count(1)
        row.click()
        expect(self.page.locator("#messages")).to_contain_text("write tags")
        self.ask("And shorter?")
        expect(note).to_have_text("No single requests: what programs have asked once, such as titles.")
        requests.click()
        expect(row).to_have_count(2)
        self.assertEqual({link.get_attribute("href") for link in row.all()}, {f"#{titles}", f"#{tags}"})

    def test_conversation_beyond_the_list_has_its_title(self):
        roles = ("user", "assistant")
        self.import_messages("long", [{"role": roles[number % 2], "content": f"message {number}"} for number in range(150)])
        for number in range(60):
            self.call("POST", "/conversations?appID=web", {"conversation": f"other-{number}", "title": "another one"})
        self.open("/#long")
        expect(self.page.locator("#list li")).to_have_count(50)
        expect(self.page.locator("#list")).not_to_contain_text("message 0")
        expect(self.page.locator("#title")).to_have_text("message 0")
        expect(self.page.locator("#export")).to_have_attribute("download", "message 0.ndjson")
        self.call("PATCH", "/conversations/long?appID=web", {"title": "A long one", "archived": True})
        expect(self.page.locator("#title")).to_have_text("A long one")
        expect(self.page.locator("#archive")).to_have_text("Bring back")
        self.page.reload()
        expect(self.page.locator("#title")).to_have_text("A long one")
        expect(self.page.locator("#export")).to_have_attribute("download", "A long one.ndjson")
        self.menu("rename")
        expect(self.page.get_by_label("Title")).to_have_value("A long one")
        self.page.keyboard.press("Escape")
        self.menu("archive")
        expect(self.page.locator("#list")).to_contain_text("A long one")
        self.assertFalse(self.call("GET", "/conversations?appID=web&limit=1")[1]["conversations"][0]["archived"])

    def test_title_that_the_model_cannot_make_stays_missing(self):
        self.open()
        self.ask("Where shall we stay?")
        name = self.page.evaluate("location.hash.slice(1)")
        for title, shown in (("A week in Rome", "A week in Rome"), (None, "Where shall we stay?")):
            self.call("PATCH", f"/conversations/{name}?appID=web", {"title": title})
            expect(self.page.locator("#title")).to_have_text(shown)
        self.model.script = lambda exchange: (exchange.write({"error": "the model burst"}), Model.BREAK_OFF)[-1]
        self.menu("rename")
        self.page.get_by_role("button", name="Let the model choose").click()
        expect(self.page.locator("#status.error")).to_be_visible()
        expect(self.page.locator("#title")).to_have_text("Where shall we stay?")
        # A model is asked only for a title that is missing.
        self.model.script = lambda exchange: exchange.say("Rome in spring")
        self.assertEqual(self.call("POST", f"/conversations/{name}/title?appID=web", {"model": "tiny"})[1]["title"], "Rome in spring")

    def test_title_is_made_by_the_model(self):
        self.open()
        self.ask("Where shall we stay?")
        self.model.script = lambda exchange: exchange.say("Rome in spring")
        self.menu("rename")
        self.page.get_by_role("button", name="Let the model choose").click()
        expect(self.page.locator("#title")).to_have_text("Rome in spring")

    def test_search_finds_messages_and_opens_them(self):
        self.open()
        self.ask("The needle is here")
        self.page.locator("#new").click()
        self.ask("Only hay")
        expect(self.page.locator("#list li")).to_have_count(2)
        self.page.locator("#search").fill("needle")
        expect(self.page.locator("#list li")).to_have_count(1)
        self.page.locator("#list a").click()
        expect(self.page.locator(".prompt")).to_contain_text("The needle is here")
        self.page.locator("#search").fill("nowhere to be found")
        expect(self.page.locator("#list-note")).to_have_text("No conversation has this text.")

    def test_export_is_imported_again(self):
        self.open()
        self.ask("Keep this")
        self.page.locator("#actions summary").click()
        with self.page.expect_download() as download:
            self.page.locator("#export").click()
        file = f"{self.directory}/export.ndjson"
        download.value.save_as(file)
        before = self.page.url
        self.page.locator("#manage summary").click()
        self.page.locator("#import-file").set_input_files(file)
        self.page.wait_for_url(lambda url: url != before)
        expect(self.page.locator(".prompt")).to_contain_text("Keep this")
        expect(self.page.locator("#list li")).to_have_count(2)

    def test_file_of_another_kind_is_refused(self):
        self.open()
        self.page.locator("#manage summary").click()
        self.page.locator("#import-file").set_input_files({"name": "a.ndjson", "mimeType": "text/plain", "buffer": b"{}"})
        expect(self.page.locator("#status")).to_contain_text("not an exported conversation")

    def test_address_without_a_conversation_says_so(self):
        for address in ("/#nowhere", "/#%E0%A4%A"):
            self.open(address)
            expect(self.page.locator("#messages")).to_contain_text("There is no such conversation.")
            expect(self.page.locator("#status")).to_be_hidden()
            self.page.locator("#messages").get_by_role("button", name="New conversation").click()
            expect(self.page.locator("#messages")).to_contain_text("What is on your mind?")
        self.open("/#nowhere")
        self.ask("Begin here")
        self.assertEqual(self.page.evaluate("location.hash"), "#nowhere")
        self.assertEqual(self.stored()[0]["content"], "Begin here")

    def test_all_conversations_are_deleted(self):
        self.open()
        self.ask("One")
        self.page.locator("#new").click()
        self.ask("Two")
        expect(self.page.locator("#list li")).to_have_count(2)
        self.page.locator("#manage summary").click()
        self.page.locator("#delete-all").click()
        self.page.get_by_role("dialog").get_by_role("button", name="Delete all").click()
        expect(self.page.locator("#list li")).to_have_count(0)
        expect(self.page.locator("#messages")).to_contain_text("What is on your mind?")
        self.assertEqual(self.call("GET", "/conversations?appID=web")[1]["conversations"], [])

    def test_new_conversation_has_a_system_prompt_and_options(self):
        self.open()
        self.page.locator("#options").click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_label("System prompt").fill("Answer in one word.")
        dialog.get_by_label("Temperature").fill("0.2")
        dialog.get_by_label("Longest answer").fill("50")
        dialog.get_by_role("button", name="Save").click()
        self.page.locator("#model").select_option("other")
        self.ask("Hello")
        request = self.model.exchange().request
        self.assertEqual(request["messages"], [{"role": "system", "content": "Answer in one word."}, {"role": "user", "content": "Hello"}])
        self.assertEqual((request["model"], request["options"]), ("other", {"temperature": 0.2, "num_predict": 50}))
        self.page.get_by_text("System prompt").click()
        expect(self.page.get_by_text("Answer in one word.")).to_be_visible()

    def test_long_conversation_is_read_in_windows(self):
        lines = [{"chatterd": "conversation", "version": 1, "conversation": "long", "created_at": "2026-11-20T17:07:20.859441Z",
                  "updated_at": "2026-11-20T17:07:23.751974Z"}]
        lines += [{"seq": seq, "kind": "message", "role": "user" if seq % 2 else "assistant", "content": f"message {seq}",
                   "time": "2026-11-20T17:07:20.859441Z"} for seq in range(1, 1001)]
        lines.append({"end": True, "rows": 1000})
        status, answer = self.call("POST", "/conversations/long/import?appID=web", "\n".join(map(json.dumps, lines)) + "\n")
        self.assertEqual(status, 201, answer)
        self.open("/#long")
        expect(self.page.get_by_text("message 1000", exact=True)).to_be_in_viewport()
        self.assertLess(self.page.locator(".message").count(), 151)
        self.page.locator("#scroller").focus()
        first = self.page.locator("#messages").get_by_text("message 1", exact=True)
        while first.count() == 0:
            top = self.page.locator(".message").first.inner_text()
            self.page.keyboard.press("Home")
            self.wait_until("(text) => document.querySelector('.message').innerText !== text", top)
            self.assertLess(self.page.locator(".message").count(), 151)
        expect(self.page.locator("#to-end")).to_be_visible()
        self.page.locator("#to-end").click()
        expect(self.page.get_by_text("message 1000", exact=True)).to_be_in_viewport()
        self.page.goto(f"{self.gate.url}/#long/300")
        expect(self.page.get_by_text("message 300", exact=True)).to_be_in_viewport()


class ModelServerTests(PageCase):
    def unlock(self):
        self.page.locator("#servers").click()
        self.page.get_by_label("Administrator").fill(ADMIN_TOKEN)
        self.page.get_by_role("dialog").get_by_role("button", name="Continue").click()
        expect(self.page.locator(".servers li").first).to_be_visible()

    def row(self, name):
        return self.page.locator(".servers li").filter(has=self.page.get_by_text(name, exact=True))

    def test_server_is_added_tested_changed_and_removed(self):
        self.open()
        self.unlock()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name="Add").click()
        dialog.get_by_label("Name", exact=True).fill("spare")
        dialog.get_by_label("Address").fill(self.model.url)
        dialog.get_by_role("button", name="Save").click()
        expect(self.row("spare")).to_contain_text("added here")
        self.row("spare").get_by_role("button", name="Test").click()
        expect(self.row("spare").locator(".result")).to_contain_text("It works. 2 models")
        self.row("spare").get_by_role("button", name="Edit").click()
        dialog.get_by_label("Answers at once").fill("3")
        dialog.get_by_label("Address").fill("http://127.0.0.1:9")
        dialog.get_by_role("button", name="Save").click()
        expect(self.page.locator(".editor")).to_have_count(0)
        status, stored = self.call("GET", "/upstreams/spare", token=ADMIN_TOKEN)
        self.assertEqual((status, stored["slots"]), (200, 3))
        self.row("spare").get_by_role("button", name="Test").click()
        expect(self.row("spare").locator(".result")).to_contain_text("It does not work.")
        self.row("spare").get_by_role("button", name="Remove").click()
        self.page.get_by_role("dialog").last.get_by_role("button", name="Remove").click()
        expect(self.row("spare")).to_have_count(0)
        self.assertEqual(self.call("GET", "/upstreams/spare", token=ADMIN_TOKEN)[0], 404)

    def test_test_shows_models_and_the_first_token(self):
        self.open()
        self.unlock()
        self.row("scripted").get_by_role("button", name="Test").click()
        expect(self.row("scripted").locator(".result")).to_contain_text("tiny began with “Nothing”")
        expect(self.row("scripted").locator(".result")).to_contain_text("Models: tiny, other")

    def test_link_of_an_administrator_opens_the_model_servers(self):
        self.page.goto(f"{self.gate.url}/#/administer/{ADMIN_TOKEN}")
        expect(self.row("scripted")).to_be_visible()
        self.assertNotIn("administer", self.page.url)
        self.page.reload()
        expect(self.page.locator("#prompt")).to_be_visible()
        self.assertNotIn(ADMIN_TOKEN, self.page.evaluate("JSON.stringify([localStorage, sessionStorage, location.href])"))

    def test_wrong_token_is_refused(self):
        self.open()
        self.page.locator("#servers").click()
        self.page.get_by_label("Administrator").fill("a-wrong-token-of-nobody")
        self.page.get_by_role("dialog").get_by_role("button", name="Continue").click()
        status = self.page.locator("#status.error")
        expect(status).to_contain_text("This is not the administrator’s token.")
        status.get_by_role("button", name="Dismiss").click()
        expect(status).to_be_hidden()
        expect(self.page.locator("#prompt")).to_be_focused()
        self.page.locator("#servers").click()
        self.page.get_by_label("Administrator").fill("another-wrong-token")
        self.page.keyboard.press("Enter")
        expect(status).to_be_visible()
        self.unlock()
        expect(status).to_be_hidden()

    def test_mistakes_of_a_description_are_shown(self):
        self.open()
        self.unlock()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name="Add").click()
        dialog.get_by_label("Name", exact=True).fill("spare")
        dialog.get_by_label("Address").fill("ftp://model.example")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.locator("p.error")).to_contain_text("url")

    def test_unreachable_server_is_in_the_picker(self):
        description = {"name": "away", "kind": "ollama", "url": "http://127.0.0.1:9"}
        self.call("POST", "/upstreams", description, ADMIN_TOKEN)
        self.addCleanup(lambda: self.call("DELETE", "/upstreams/away", token=ADMIN_TOKEN))
        self.open()
        expect(self.page.locator("#model option:disabled").filter(has_text="away")).to_contain_text("away: The model server cannot be reached.")


class NoModelServerTests(PageCase):
    variables = {"CHATTERD_ECHO": "0"}

    @classmethod
    def upstreams(cls):
        return []

    def test_empty_page_leads_to_the_first_model_server(self):
        self.page.goto("/")
        self.page.get_by_role("button", name="Add a model server").click()
        expect(self.page.get_by_label("Administrator")).to_be_visible()


class PrefixTests(PageCase):
    def test_page_works_below_a_path_of_a_proxy(self):
        proxy = PrefixProxy(self.server.url, self.addCleanup)
        self.origins.add(proxy.url)
        self.page.goto(f"{proxy.url}{PREFIX}/")
        expect(self.page.locator("#model option[value=tiny]")).to_be_attached()
        self.page.locator("#model").select_option("tiny")
        self.ask("Hello")
        self.page.reload()
        expect(self.answer()).to_have_text("Nothing to say.")
        self.page.get_by_role("button", name="Another answer").click()
        expect(self.page.locator(".alternatives")).to_contain_text("2 of 2")
        self.wait_for_end()
        self.page.locator("#new").click()
        expect(self.page.locator("#list li")).to_have_count(1)
        self.assertEqual(proxy.strays, [])


class SignInTests(PageCase):
    mode = "keys"

    def test_key_is_exchanged_for_a_session(self):
        key = self.call("POST", "/keys", {"app": "shop"}, ADMIN_TOKEN)[1]["key"]
        self.page.goto("/")
        self.page.get_by_label("Key or token").fill("chatterd_wrong")
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator("#sign-in .error")).not_to_be_empty()
        self.page.get_by_label("Key or token").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator("#model option").first).to_be_attached()
        self.ask("Hello")
        self.page.reload()
        expect(self.answer()).to_have_text("Nothing to say.")
        kept = self.page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie")
        self.assertNotIn(key, kept)
        self.page.locator("#manage summary").click()
        self.page.locator("#sign-out").click()
        expect(self.page.get_by_label("Key or token")).to_be_visible()

    def test_session_of_an_administrator_manages_model_servers(self):
        key = self.call("POST", "/keys", {"app": "shop", "scopes": ["chat", "read", "admin"]}, ADMIN_TOKEN)[1]["key"]
        self.page.goto("/")
        self.page.get_by_label("Key or token").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("#servers").click()
        row = self.page.locator(".servers li").filter(has_text="scripted")
        row.get_by_role("button", name="Test").click()
        expect(row.locator(".result")).to_contain_text("It works.")

    def test_person_sees_only_their_own_conversations(self):
        key = self.call("POST", "/keys", {"app": "shop"}, ADMIN_TOKEN)[1]["key"]
        pages = []
        for person in ("ada", "bob"):
            token = self.call("POST", "/tokens", {"person": person}, key)[1]["access_token"]
            page = self.new_page()
            page.goto("/")
            page.get_by_label("Key or token").fill(token)
            page.get_by_role("button", name="Sign in").click()
            expect(page.locator("#model option[value=tiny]")).to_be_attached()
            page.locator("#model").select_option("tiny")
            self.ask(f"I am {person}", page)
            pages.append(page)
        for page, person in zip(pages, ("ada", "bob")):
            page.reload()
            expect(page.locator("#list li")).to_have_count(1)
            expect(page.locator("#list li")).to_contain_text(f"I am {person}")
        pages[1].goto(pages[0].url)
        pages[1].reload()
        expect(pages[1].locator("#prompt")).to_be_visible()
        expect(pages[1].locator(".answer")).to_have_count(0)

    def sign_in(self, credential, page=None):
        page = page or self.page
        page.goto("/")
        page.get_by_label("Key or token").fill(credential)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#model option[value=tiny]")).to_be_attached()
        page.locator("#model").select_option("tiny")

    def tokens(self, *persons):
        key = self.call("POST", "/keys", {"app": "team"}, ADMIN_TOKEN)[1]["key"]
        return [self.call("POST", "/tokens", {"person": person}, key)[1]["access_token"] for person in persons]

    def test_next_person_gets_nothing_of_the_one_before(self):
        ada, bob = self.tokens("ada", "bob")
        self.sign_in(ada)
        self.page.evaluate("document.querySelector('#model').append(new Option('long', 'm'.repeat(300), true, true))")
        self.write("A prompt of ada")
        expect(self.page.locator(".pending .error")).to_contain_text("model")
        self.page.locator("#prompt").fill("A draft of ada")
        self.page.locator("#manage summary").click()
        self.page.locator("#sign-out").click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_contain_text("One prompt has not reached the server.")
        dialog.get_by_role("button", name="Sign out").click()
        expect(self.page.get_by_label("Key or token")).to_be_visible()
        self.sign_in(bob)
        self.assertNotIn("of ada", self.page.evaluate("JSON.stringify(localStorage)"))
        expect(self.page.locator("#prompt")).to_have_value("")
        self.ask("I am bob")
        self.assertEqual(self.model.exchange().prompts, [("user", "I am bob")])
        expect(self.page.locator(".prompt")).to_have_count(1)

    def test_session_that_ends_keeps_the_texts_of_its_person(self):
        ada, bob = self.tokens("ada", "bob")
        self.sign_in(ada)
        self.page.locator("#prompt").fill("A draft of ada")
        # The session ends on the server; the draft is in the browser.
        self.wait_until("JSON.stringify(localStorage).includes('A draft of ada')")
        self.page.context.clear_cookies()
        self.sign_in(bob)
        expect(self.page.locator("#prompt")).to_have_value("")
        self.page.context.clear_cookies()
        self.sign_in(ada)
        expect(self.page.locator("#prompt")).to_have_value("A draft of ada")

    def test_other_tabs_follow_a_sign_out(self):
        (ada,) = self.tokens("ada")
        self.sign_in(ada)
        tab = self.new_page(self.page.context)
        tab.goto("/")
        tab.locator("#prompt").fill("A draft of ada")
        self.page.locator("#manage summary").click()
        self.page.locator("#sign-out").click()
        for page in (self.page, tab):
            expect(page.get_by_label("Key or token")).to_be_visible()
        self.assertNotIn("of ada", self.page.evaluate("JSON.stringify(localStorage)"))

    def test_administrator_token_is_no_session(self):
        self.page.goto("/")
        self.page.get_by_label("Key or token").fill(ADMIN_TOKEN)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator("#sign-in .error")).to_contain_text("Use a key of an app")
