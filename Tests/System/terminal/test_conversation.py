"""chatter in a real pseudo-terminal. Run by script/test terminal."""

import http.server
import json
import signal
import stat

from harness.local_server import LocalServer
from harness.model import speech
from terminal.chatter_test_case import ChatterTestCase


class ConversationTests(ChatterTestCase):
    def begin(self, *arguments, **options):
        terminal = self.open(*arguments, **options)
        terminal.expect("> ")
        return terminal

    def leave(self, terminal):
        terminal.send("\x04")
        self.assertEqual(terminal.status(), 0)

    def test_prompts_of_one_conversation_are_answered_and_remembered(self):
        terminal = self.begin(CHATTER_MODEL="echo")
        terminal.enter("It rains.")
        terminal.expect("1 message of 1 turn. You said: It rains.\n> ")
        terminal.enter("What did I say?")
        terminal.expect("Before this, you said: It rains.\n> ")
        self.leave(terminal)
        terminal.expect(f"Continue with: chatter -c {self.conversations()[0]}")

    def test_text_streams_while_it_is_generated(self):
        self.says_then_waits(["Eins, ", "zwei"], [", drei."])
        terminal = self.begin()
        terminal.enter("Count.")
        terminal.expect("Eins, zwei")
        self.assertFalse(self.proceed.is_set())
        self.proceed.set()
        terminal.expect(", drei.\n> ")
        self.leave(terminal)

    def test_dropped_connection_is_reported_and_the_answer_resumes(self):
        pieces = speech(40, "p")
        self.says_then_waits(pieces[:20], pieces[20:])
        terminal = self.begin(CHATTER_URL=self.proxy.url, columns=4000, lines=60)
        terminal.enter("Speak.")
        first = terminal.expect(pieces[19].strip())
        self.proxy.cut()
        terminal.expect("connection lost; resuming")
        terminal.expect("connection restored")
        self.proceed.set()
        rest = terminal.expect(pieces[39].strip())
        for piece in pieces:
            # Line ends of the text are those of the terminal, so that pieces are compared without them.
            count = (first + rest).replace("\n", "").count(piece.strip().replace("\n", ""))
            self.assertEqual(count, 1, piece)
        terminal.expect("> ")
        self.leave(terminal)
        self.assertEqual(self.texts("assistant"), ["".join(pieces)])
        self.assertEqual(len(self.model.exchanges), 1)

    def test_prompt_is_stored_once_when_its_connection_is_cut_before_the_answer(self):
        self.says("Here.")
        terminal = self.begin(CHATTER_URL=self.proxy.url)
        # The response is cut within its head: the client does not learn that the prompt is stored.
        self.proxy.cut()
        self.proxy.cut_after(20)
        terminal.enter("Once.")
        terminal.expect("no connection; next try")
        self.proxy.cut_no_more()
        terminal.expect("Here.\n> ")
        self.leave(terminal)
        self.assertEqual(self.texts("user"), ["Once."])
        self.assertEqual(len(self.model.exchanges), 1)

    def test_server_that_is_away_for_a_while_gets_the_prompt_later(self):
        self.says("Before.")
        terminal = self.begin(CHATTER_URL=self.proxy.url)
        terminal.enter("One.")
        terminal.expect("Before.\n> ")
        self.proxy.close()
        self.says("After.")
        terminal.enter("Two.")
        terminal.expect("no connection; next try")
        self.proxy.open()
        terminal.expect("After.\n> ")
        self.leave(terminal)
        self.assertEqual(self.texts("assistant"), ["Before.", "After."])

    def test_ctrl_c_stops_the_answer_and_not_the_program(self):
        self.says_then_waits(["A beginning"])
        terminal = self.begin()
        terminal.enter("Speak.")
        terminal.expect("A beginning")
        terminal.interrupt()
        terminal.expect("[stopped]\n> ")
        self.assertTrue(self.model.exchange().gone.wait(60), "the model server is released")
        self.assertEqual([message.get("state") for message in self.messages()], [None, "cancelled"])
        self.says("Another answer.")
        terminal.enter("Again.")
        terminal.expect("Another answer.\n> ")
        # Each answer can be stopped, not only the first one.
        self.says_then_waits(["A second beginning"])
        terminal.enter("Speak.")
        terminal.expect("A second beginning")
        terminal.interrupt()
        terminal.expect("[stopped]\n> ")
        self.leave(terminal)

    def test_second_ctrl_c_leaves_an_answer_that_cannot_be_stopped(self):
        self.says_then_waits(["A beginning"])
        terminal = self.begin(CHATTER_URL=self.proxy.url)
        terminal.enter("Speak.")
        terminal.expect("A beginning")
        self.proxy.close()
        terminal.expect("connection lost; resuming")
        terminal.interrupt()
        terminal.expect("> ")
        self.proxy.open()
        self.says("Still here.")
        self.proceed.set()
        terminal.enter("/new")
        terminal.expect("A new conversation begins")
        terminal.enter("Hello?")
        terminal.expect("Still here.\n> ")
        self.leave(terminal)

    def test_ctrl_c_at_the_prompt_discards_the_line_and_twice_ends(self):
        self.says("An answer.")
        terminal = self.begin()
        terminal.send("not sent")
        terminal.expect("not sent")
        terminal.interrupt()
        terminal.expect("^C")
        terminal.expect("> ")
        terminal.enter("sent")
        terminal.expect("An answer.\n> ")
        self.assertEqual(self.texts("user"), ["sent"])
        terminal.interrupt()
        terminal.expect("again, or Ctrl-D, to end")
        terminal.expect("> ")
        terminal.interrupt()
        self.assertEqual(terminal.status(), 0)

    def test_changed_window_is_used_for_the_line_that_is_edited(self):
        self.says("Good.")
        terminal = self.begin(columns=60)
        words = "one two three four five six seven eight nine"
        terminal.send(words)
        terminal.expect_screen(lambda lines: f"> {words}" in lines)
        terminal.resize(24, 30)
        terminal.send(" ten")
        # The editor wraps the line at the new width.
        text = f"> {words} ten"
        wrapped = [text[start:start + 24].rstrip() for start in range(0, len(text), 24)]
        terminal.expect_screen(lambda lines: lines[-len(wrapped):] == wrapped)
        terminal.enter("")
        terminal.expect("Good.\n> ")
        self.assertEqual(self.texts("user"), [f"{words} ten"])
        self.leave(terminal)

    def test_non_ascii_input_is_sent_and_edited_by_characters(self):
        self.says("Schön.")
        for locale in ({"LANG": "C.UTF-8"}, {"LC_ALL": "C"}, {}):
            terminal = self.begin(**locale)
            terminal.enter("Grüße, 世界! Ελλάδα e\u0301 🐣👩\u200d👩\u200d👧")
            terminal.expect("Schön.\n> ")
            self.assertEqual(self.texts("user"), ["Grüße, 世界! Ελλάδα e\u0301 🐣👩\u200d👩\u200d👧"])
            # Backspace removes a wide character, and the cursor moves left by one of them.
            terminal.enter("日本語x\x7f\x7f人")
            terminal.expect("Schön.\n> ")
            terminal.enter("世界\x02\x02ä")
            terminal.expect("Schön.\n> ")
            self.assertEqual(self.texts("user")[1:], ["日本人", "ä世界"])
            self.leave(terminal)

    def test_line_that_ends_with_a_backslash_is_continued(self):
        self.says("Two lines.")
        terminal = self.begin()
        terminal.enter("first\\")
        terminal.expect(". ")
        terminal.enter("second")
        terminal.expect("Two lines.\n> ")
        self.assertEqual(self.texts("user"), ["first\nsecond"])
        self.leave(terminal)

    def test_pasted_lines_are_one_prompt(self):
        self.says("Understood.")
        terminal = self.begin()
        self.assertIn(b"\x1b[?2004h", terminal.raw)
        code = "def f(x):\n    if x:\n\treturn \"\x1b[20 \xe4\"\n\n/help"
        typed = code.replace("\n", "\r")
        # A text in the marks is not executed, and can be edited.
        terminal.send(f"Explain:\x1b[200~{typed}\r\x1b[201~")
        terminal.expect("/help")
        terminal.enter("!")
        terminal.expect("Understood.\n> ")
        self.assertEqual(self.texts("user"), [f"Explain:{code}!".replace("\x1b", "")])
        # A text that begins with white space and a slash, and with the line ends of another system.
        terminal.send("\x1b[200~  /usr/bin/env\r\n  -S\r\n\x1b[201~")
        terminal.expect("-S")
        terminal.enter("")
        terminal.expect("Understood.\n> ")
        self.assertEqual(self.texts("user")[1:], ["  /usr/bin/env\n  -S"])
        # The last prompt and the history have all of its lines.
        terminal.enter("/edit")
        terminal.expect("-S")
        terminal.enter(" sh")
        terminal.expect("Understood.\n> ")
        self.assertEqual(self.model.exchange(2).prompts[-1], ("user", "  /usr/bin/env\n  -S sh"))
        terminal.send("\x1b[A")
        terminal.expect("-S sh")
        terminal.enter(" -x")
        terminal.expect("Understood.\n> ")
        self.assertEqual(self.model.exchange(3).prompts[-1], ("user", "  /usr/bin/env\n  -S sh -x"))
        self.leave(terminal)

    def test_long_pasted_text_is_sent_whole(self):
        self.says("Read.")
        terminal = self.begin(columns=40, lines=10)
        text = "\n".join(f"line {number} " + "x" * 60 for number in range(2_000))
        for marks, words in (("\x1b[A\x1b[B", ""), ("\x01\x05", " and so on")):
            terminal.send("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
            terminal.expect("2000 lines]")
            # A look into the history, or a move of the cursor, changes nothing.
            terminal.send(marks)
            terminal.enter(words)
            terminal.expect("Read.\n> ")
        self.assertEqual(self.texts("user"), [text, f"{text} and so on"])
        self.leave(terminal)

    def test_pasted_text_may_have_the_words_of_a_mark(self):
        self.says("Read.")
        terminal = self.begin(columns=120, lines=40)
        texts = ["first " * 100 + "end.", "[text 1: 1 lines] " * 50 + "end."]
        for number, text in enumerate(texts, 1):
            terminal.send(f"\x1b[200~{text}\x1b[201~")
            terminal.expect(f"[text {number}: 1 lines]")
        terminal.enter("")
        terminal.expect("Read.\n> ")
        self.assertEqual(self.texts("user"), ["".join(texts)])
        self.leave(terminal)

    def test_pasted_bytes_that_are_no_text_are_replaced(self):
        self.says("Read.")
        terminal = self.begin()
        terminal.send_bytes(b"\x1b[200~a\xff\xc3\xa4\xe2\x82\rb\x1b[201~")
        terminal.enter("")
        terminal.expect("Read.\n> ")
        self.assertEqual(self.texts("user"), ["a\ufffd\xe4\ufffd\ufffd\nb"])
        # Ctrl-C ends a paste whose mark never comes.
        terminal.send("\x1b[200~unfinished")
        terminal.interrupt()
        terminal.expect("^C")
        terminal.expect("> ")
        self.leave(terminal)

    def test_lines_pasted_during_an_answer_are_one_prompt(self):
        self.says_then_waits(["Eins, ", "zwei"], [", drei."])
        terminal = self.begin()
        terminal.enter("Count.")
        terminal.expect("Eins, zwei")
        terminal.send("\x1b[200~one\r/quit\rthree\x1b[201~")
        self.proceed.set()
        terminal.expect(", drei.\n> ")
        terminal.expect("three")
        self.says("Good.")
        terminal.enter("")
        terminal.expect("Good.\n> ")
        self.assertEqual(self.texts("user"), ["Count.", "one\n/quit\nthree"])
        self.leave(terminal)

    def test_terminal_has_its_state_again_however_the_program_ends(self):
        for end in (signal.SIGTERM, signal.SIGHUP, None):
            self.proceed.clear()
            self.says_then_waits(["A beginning"])
            terminal = self.begin()
            terminal.enter("Speak.")
            terminal.expect("A beginning")
            self.assertNotEqual(terminal.modes(), terminal.first_modes)
            if end is None:
                terminal.interrupt()
                terminal.expect("[stopped]\n> ")
                terminal.send("\x04")
            else:
                terminal.process.send_signal(end)
            terminal.status()
            self.assertEqual(terminal.modes(), terminal.first_modes)
            self.proceed.set()
            terminal.expect_end()
            self.assertGreater(terminal.raw.rindex(b"\x1b[?2004l"), terminal.raw.rindex(b"\x1b[?2004h"), terminal.raw)

    def test_lines_between_three_quotes_are_one_prompt(self):
        self.says("Understood.")
        terminal = self.begin()
        terminal.enter('\"\"\"def f():')
        terminal.expect(". ")
        terminal.enter("    return 1\\")
        terminal.expect(". ")
        terminal.enter('\"\"\"')
        terminal.expect("Understood.\n> ")
        self.assertEqual(self.texts("user"), ["def f():\n    return 1\\"])
        self.leave(terminal)

    def test_text_typed_during_an_answer_is_not_shown_in_it(self):
        self.says_then_waits(["Eins, ", "zwei"], [", drei."])
        terminal = self.begin()
        terminal.enter("Count.")
        terminal.expect("Eins, zwei")
        terminal.send("typed ahead")
        self.proceed.set()
        terminal.expect(", drei.\n> typed ahead")
        terminal.expect_screen(lambda lines: "Eins, zwei, drei." in lines and lines[-1] == "> typed ahead")
        self.says("Good.")
        terminal.enter("!")
        terminal.expect("Good.\n> ")
        self.assertEqual(self.texts("user"), ["Count.", "typed ahead!"])
        self.leave(terminal)

    def test_retry_adds_an_answer_to_the_same_prompt(self):
        self.says("First.")
        terminal = self.begin()
        terminal.enter("Speak.")
        terminal.expect("First.\n> ")
        self.says("Second.")
        terminal.enter("/retry")
        terminal.expect("Second.\n> ")
        terminal.enter("/retry echo")
        terminal.expect("You said: Speak.\n> ")
        self.assertEqual(self.texts("user"), ["Speak."])
        self.assertEqual(len(self.texts("assistant")), 3)
        self.leave(terminal)

    def test_edit_begins_a_branch_at_the_last_prompt(self):
        self.says("An answer.")
        terminal = self.begin()
        for text in ("One", "Two"):
            terminal.enter(text)
            terminal.expect("An answer.\n> ")
        terminal.enter("/edit")
        terminal.expect("> Two")
        terminal.enter(" and a half")
        terminal.expect("An answer.\n> ")
        self.assertEqual(self.model.exchange(2).prompts[0::2], [("user", "One"), ("user", "Two and a half")])
        terminal.enter("/edit")
        terminal.expect("> Two and a half")
        terminal.enter("\x15Three")
        terminal.expect("An answer.\n> ")
        self.assertEqual(self.model.exchange(3).prompts[0::2], [("user", "One"), ("user", "Three")])
        self.leave(terminal)

    def test_first_prompt_can_be_edited_in_an_opened_conversation(self):
        self.says("An answer.")
        self.command("ask", "-c", "trip", "One")
        terminal = self.begin("-c", "trip")
        terminal.enter("/edit")
        terminal.expect("> One")
        terminal.enter(" more")
        terminal.expect("An answer.\n> ")
        self.assertEqual(self.model.exchange(1).prompts, [("user", "One more")])
        self.leave(terminal)

    def test_system_prompt_goes_with_the_next_prompt(self):
        self.says("Yes.")
        terminal = self.begin("--system", "Answer in one word.")
        terminal.enter("Well?")
        terminal.expect("Yes.\n> ")
        terminal.enter("/system Answer in two words.")
        terminal.expect("goes with the next prompt")
        terminal.enter("Well?")
        terminal.expect("Yes.\n> ")
        self.assertEqual(
            [text for role, text in self.model.exchange(1).prompts if role == "system"],
            ["Answer in one word.", "Answer in two words."])
        self.leave(terminal)

    def test_conversations_are_listed_and_opened(self):
        self.says("In Rome.")
        self.command("ask", "-c", "trip", "Where?")
        self.says("In May.")
        self.command("ask", "-c", "date", "When?")
        terminal = self.begin()
        terminal.enter("/list")
        terminal.expect("1  ")
        terminal.expect("date")
        terminal.expect("2  ")
        terminal.expect("trip")
        terminal.enter("/open 2")
        terminal.expect("> Where?\nm: In Rome.\n> ")
        self.says("Again in Rome.")
        terminal.enter("And then?")
        terminal.expect("Again in Rome.\n> ")
        terminal.enter("/history")
        terminal.expect("> Where?\nm: In Rome.\n> And then?\nm: Again in Rome.\n> ")
        terminal.enter("/new")
        terminal.enter("/history")
        terminal.expect("no messages yet")
        terminal.enter("/open nothing")
        terminal.expect("chatter: ")
        terminal.expect("> ")
        self.leave(terminal)
        self.assertEqual(self.texts("user", "trip"), ["Where?", "And then?"])

    def test_answer_that_is_generated_is_followed_when_its_conversation_is_opened(self):
        self.says_then_waits(["Eins, "], ["zwei."])
        command = self.start_command("ask", "-c", "count", "Count.")
        self.model.exchange()
        terminal = self.open("-c", "count")
        terminal.expect("Eins, ")
        self.proceed.set()
        terminal.expect("zwei.\n> ")
        self.assertEqual(command.communicate(), ("Eins, zwei.\n", ""))
        self.leave(terminal)

    def assert_harmless(self, terminal):
        """The terminal got no escape sequence of others, in either form, and no character that changes the direction."""
        for sequence in b"\x1b]", b"\xc2\x9b", "\u202e".encode():
            self.assertNotIn(sequence, terminal.raw)

    def test_names_of_a_hostile_server_do_not_reach_the_terminal(self):
        hostile = "\x1b]52;c;cHduZWQ=\x07\x1b]0;PWNED\x07\x9b31m\u202em"
        server = {"name": "s" + hostile, "kind": "ollama", "reachable": True, "problem": hostile, "models": 1}

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.answer(200, {"models": [{"name": hostile, "upstreams": []}], "upstreams": [server]})

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(422, {"error": "Name the model" + hostile, "code": "invalid_request"})

            def log_message(self, *_):
                pass

        url = LocalServer(Handler, self.addCleanup).url
        terminal = self.begin(CHATTER_URL=url, CHATTER_MODEL=None)
        terminal.enter("/servers")
        terminal.expect("SERVER")
        terminal.enter("/model")
        terminal.expect("the server's default")
        terminal.enter("Hi")
        terminal.expect("this conversation uses")
        terminal.expect("Name the model")
        terminal.enter("/model x/y")
        terminal.expect("model: x/y")
        terminal.expect("> ")
        self.leave(terminal)
        self.assert_harmless(terminal)

    def test_json_on_a_terminal_has_no_control_characters(self):
        self.says("It is \x9b31m.")
        self.command("ask", "-c", "trip", "Where \u202e is \x9b31m?")
        for arguments, last in (["list", "--json"], "updated_at"), (["export", "trip"], '"end":true'):
            terminal = self.open(*arguments)
            terminal.expect("\\u202e")
            terminal.expect("\\u009b")
            terminal.expect(last)
            self.assertEqual(terminal.status(), 0)
            self.assert_harmless(terminal)

    def test_models_and_servers_are_shown_and_selected(self):
        terminal = self.begin(CHATTER_MODEL=None)
        terminal.enter("/model")
        terminal.expect("the server's default")
        terminal.expect("  echo\n")
        terminal.expect("echo:thinking\n")
        terminal.enter("/servers")
        terminal.expect("SERVER")
        terminal.expect("echo ")
        terminal.enter("/model echo:thinking")
        terminal.expect("model: echo:thinking")
        terminal.enter("Hi")
        terminal.expect("The user wrote something.")
        terminal.expect("You said: Hi\n> ")
        terminal.enter("/model absent")
        terminal.expect('there is no model "absent"')
        terminal.enter("/modle")
        terminal.expect("there is no command /modle")
        terminal.enter("/help")
        terminal.expect("/retry [MODEL]")
        terminal.expect("> ")
        self.leave(terminal)

    def test_first_model_is_used_without_a_default(self):
        terminal = self.begin(CHATTER_MODEL=None)
        terminal.enter("Hi")
        terminal.expect("this conversation uses echo")
        terminal.expect("You said: Hi\n> ")
        self.leave(terminal)
        self.assertEqual(self.texts("user"), ["Hi"])

    def test_failures_are_shown_and_the_conversation_goes_on(self):
        terminal = self.begin(CHATTER_MODEL="echo:cut")
        terminal.enter("Hi")
        terminal.expect("I am echo, the built-in model. I was \nchatter: The model echo:cut broke off")
        terminal.expect("/retry asks again\n> ")
        terminal.enter("/retry echo")
        terminal.expect("You said: Hi\n> ")
        terminal.enter("/model echo:tool")
        terminal.enter("Call.")
        terminal.expect('[the model calls echo({"text":"Call."})]')
        terminal.expect("> ")
        self.leave(terminal)

    def test_control_characters_of_a_model_do_not_reach_the_terminal(self):
        self.says("\x1b]52;c;aGk=\x07 \x1b[2Jred \x9b31m\ttab\n", "end.")
        terminal = self.begin()
        terminal.enter("Speak.")
        terminal.expect("end.\n> ")
        self.leave(terminal)
        answer = terminal.raw[terminal.raw.index(b"Speak."):terminal.raw.index(b"end.")]
        # The editor turns the marks of pasted text off when a line is complete.
        self.assertNotIn(b"\x1b", answer.replace(b"\x1b[?2004l", b"", 1))
        self.assertNotIn("\x9b".encode(), answer)
        self.assertIn("\ufffd[2Jred \ufffd31m\ttab".encode(), answer)

    def test_colours_are_for_terminals_that_want_them(self):
        def output(**variables):
            terminal = self.begin(**variables)
            terminal.enter("/nothing")
            terminal.expect("there is no command /nothing")
            terminal.expect("> ")
            self.leave(terminal)
            return terminal.raw

        self.assertIn(b"\x1b[31mchatter: ", output())
        self.assertNotIn(b"\x1b[31m", output(NO_COLOR="1"))
        self.assertNotIn(b"\x1b[31m", output(TERM="dumb"))

    def test_history_is_kept_for_the_next_start_and_private(self):
        self.says("Yes.")
        terminal = self.begin()
        terminal.enter("Äpfel?")
        terminal.expect("Yes.\n> ")
        self.leave(terminal)
        path = self.home / ".local/state/chatter/history"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        terminal = self.begin()
        terminal.send("\x1b[A")
        terminal.expect("Äpfel?")
        terminal.enter("")
        terminal.expect("Yes.\n> ")
        self.leave(terminal)
        self.assertEqual(self.texts("user"), ["Äpfel?"])
        self.assertEqual(len(self.conversations()), 2)
        path.unlink()
        terminal = self.begin(CHATTER_HISTORY="")
        terminal.enter("/help")
        terminal.expect("/retry")
        terminal.expect("> ")
        self.leave(terminal)
        self.assertFalse(path.exists())

    def test_stop_and_continuation_of_the_process_keep_the_line(self):
        self.says("Yes.")
        terminal = self.begin()
        terminal.send("half")
        terminal.expect("half")
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.enter(" and half")
        terminal.expect("Yes.\n> ")
        self.assertEqual(self.texts("user"), ["half and half"])
        self.leave(terminal)

    def test_key_that_is_wrong_is_reported_at_the_start(self):
        terminal = self.open(CHATTER_KEY="chatterd_0000000000000000_" + "A" * 43)
        terminal.expect("chatter: ")
        self.assertEqual(terminal.status(), 4)
