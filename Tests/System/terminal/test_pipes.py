"""chatter in pipes: output, errors and every exit code. Run by script/test terminal."""

import http.server
import json
import os
import random
import re
import signal
import subprocess

from harness.chatterd import Server
from harness.local_server import LocalServer
from harness.machine import TOP
from harness.model import speech
from terminal.chatter_test_case import ADMIN, CHATTER, ChatterTestCase


class PipeTests(ChatterTestCase):
    def lines(self, output):
        return [json.loads(line) for line in output.splitlines()]

    # Answers.

    def test_answer_goes_to_standard_output_and_nothing_else(self):
        pieces = speech(60)
        self.says(*pieces)
        output, errors = self.command("ask", "Speak.")
        self.assertEqual((output, errors), ("".join(pieces) + "\n", ""))

    def test_standard_input_follows_the_text_as_context(self):
        self.says("Yes.\n")
        self.assertEqual(self.command("ask", "What", "is", "this?", input="a text\nof two lines\n"), ("Yes.\n", ""))
        self.command("ask", input="Only a prompt.\n")
        self.assertEqual(self.texts("user"), ["Only a prompt."])
        self.assertEqual(self.texts("user", self.conversations()[1]), ["What is this?\n\na text\nof two lines"])

    def test_system_prompt_and_conversation_are_used(self):
        self.says("Yes.")
        self.command("ask", "-c", "trip", "--system", "Be brief.", "One")
        self.command("ask", "--conversation=trip", "--", "--two")
        self.assertEqual(
            self.model.exchange(1).prompts,
            [("system", "Be brief."), ("user", "One"), ("assistant", "Yes."), ("user", "--two")])

    def test_thinking_is_shown_on_request_and_never_in_the_answer(self):
        answer = "I am echo, the built-in model. I was given 1 message of 1 turn. You said: Hi\n"
        self.assertEqual(self.command("ask", "-m", "echo:thinking", "Hi"), (answer, ""))
        output, errors = self.command("ask", "-m", "echo:thinking", "--thinking", "Hi")
        self.assertEqual(output, answer)
        self.assertEqual(errors.replace("\n", ""), "The user wrote something. I am echo, so I repeat it. ")

    def test_json_has_one_event_a_line(self):
        self.says("Eins, ", "zwei.")
        events = self.lines(self.command("ask", "--json", "-c", "count", "Count.")[0])
        self.assertEqual([event["event"] for event in events][:1] + [events[-1]["event"]], ["started", "finished"])
        self.assertEqual(events[0]["conversation"], "count")
        self.assertEqual(events[0]["reply"], self.messages("count")[1]["id"])
        self.assertEqual("".join(event["text"] for event in events[1:-1]), "Eins, zwei.")
        self.assertEqual(
            events[-1],
            {"event": "finished", "model": "m", "reason": "stop", "prompt_tokens": 1, "answer_tokens": 7, "stopped": False})

    def test_json_has_tool_calls_and_errors(self):
        call = self.lines(self.command("ask", "--json", "-m", "echo:tool", "Hi")[0])[1]
        self.assertEqual(call, {"event": "tool_calls", "calls": [{"name": "echo", "arguments": {"text": "Hi"}}]})
        output, errors = self.command("ask", "--json", "-m", "echo:error", "Hi", status=6)
        self.assertEqual(
            self.lines(output)[-1],
            {"event": "error", "code": "upstream_error", "error": "The model echo:error fails, as it always does.",
             "retryable": True})
        self.assertIn("The model echo:error fails", errors)

    def test_new_conversation_can_be_deleted_afterwards(self):
        self.says("Yes.")
        self.command("ask", "--delete", "One")
        self.assertEqual(self.conversations(), [])

    def test_answer_that_is_cut_resumes_and_the_output_is_whole(self):
        pieces = speech(300)
        self.says(*pieces)
        self.proxy.cut_after(6000)
        output, errors = self.command("ask", "Speak.", CHATTER_URL=self.proxy.url)
        self.assertEqual(output, "".join(pieces) + "\n")
        self.assertIn("connection lost; resuming in 0.3 s", errors)
        self.assertIn("connection restored", errors)
        self.assertGreater(self.proxy.count, 2)
        self.assertEqual(len(self.model.exchanges), 1)

    def test_cuts_at_random_bytes_lose_and_double_no_text(self):
        pieces = speech(1000)
        self.says(*pieces)
        for seed in range(3):
            dice = random.Random(seed)
            # Some connections bring nothing but a part of the head. Some bring the longest event, which has 16 KiB of text.
            self.proxy.cut_after(lambda: int(10 ** dice.uniform(2, 4.7)))
            self.model.reset()
            output, errors = self.command("ask", "Speak.", CHATTER_URL=self.proxy.url)
            self.assertEqual(output, "".join(pieces) + "\n", seed)
            self.assertGreater(errors.count("connection restored"), 1, seed)
            self.assertEqual(len(self.model.exchanges), 1, seed)

    def test_server_that_stops_and_starts_is_awaited(self):
        self.says_then_waits(["Eins, "], ["zwei."])
        command = self.start_command("ask", "Count.", CHATTER_URL=self.proxy.url)
        self.assertEqual(command.stdout.read(6), "Eins, ")
        self.proxy.close()
        self.assertIn("connection lost", command.stderr.readline())
        self.proxy.open()
        self.proceed.set()
        output, errors = command.communicate()
        self.assertEqual((command.returncode, output), (0, "zwei.\n"))
        self.assertIn("connection restored", errors)

    # Exit codes. 0 is everywhere.

    def test_file_that_cannot_be_read_is_1(self):
        _, errors = self.command("import", str(self.home / "absent"), status=1)
        self.assertIn("No such file", errors)

    def test_wrong_usage_is_2(self):
        for arguments in (
            ["no-such"], ["ask"], ["ask", "--no-such", "Hi"], ["ask", "--model"], ["list", "more"], ["list", "-n", "0"],
            ["export"], ["watch", "a", "b"], ["keys", "create"], ["keys", "no-such"], ["servers", "add", "x"],
            ["completions", "tcsh"], ["help", "no-such"], ["ask", "--delete", "-c", "trip", "Hi"], ["search"], [],
            ["-c", "trip"], ["--json", "list", "--thinking"],
        ):
            output, errors = self.command(*arguments, status=2)
            self.assertEqual(output, "", arguments)
            self.assertIn("chatter: ", errors, arguments)
        self.command("list", status=2, CHATTER_URL="not a URL")
        self.command("list", status=2, CHATTER_RESUME_TIMEOUT="soon")

    def test_server_that_cannot_be_reached_is_3(self):
        for arguments in (["ask", "Hi"], ["list"], ["servers"]):
            _, errors = self.command(*arguments, status=3, CHATTER_URL="http://127.0.0.1:9", CHATTER_RESUME_TIMEOUT="1s")
            self.assertIn("Connection refused", errors)
            self.assertIn("CHATTER_URL or --url names the server", errors)
        self.command("--url", "http://absent.invalid", "list", status=3)
        # The server speaks no TLS.
        self.command("list", status=3, CHATTER_URL=self.url.replace("http:", "https:"))

    def test_certificate_must_be_trusted(self):
        directory = str(self.home)
        subprocess.run([TOP / "script/certificate", "127.0.0.1"], cwd=directory, check=True, capture_output=True)
        certificate, key = (f"{directory}/chatterd.{end}" for end in ("crt", "key"))
        os.chmod(directory, 0o755)
        server = Server(
            directory, CHATTERD_TLS_LISTEN="127.0.0.1:0", CHATTERD_TLS_CERT=certificate, CHATTERD_TLS_KEY=key)
        self.addCleanup(server.stop)
        url = server.expect(r"^listening on (https://\S+)").group(1)
        answer, errors = self.command("ask", "-m", "echo", "Hi", CHATTER_URL=url, SSL_CERT_FILE=certificate)
        self.assertTrue(answer.endswith("You said: Hi\n") and errors == "", (answer, errors))
        _, errors = self.command("ask", "-m", "echo", "Hi", CHATTER_URL=url, status=3)
        self.assertIn("certificate", errors)

    def test_key_that_is_missing_or_wrong_is_4(self):
        self.command("list", status=4, CHATTER_KEY="chatterd_0000000000000000_" + "A" * 43)
        _, errors = self.command("keys", status=4)
        self.assertIn("CHATTER_KEY", errors)

    def test_model_that_is_busy_is_5(self):
        self.command("ask", "-m", "echo:busy", "Hi", status=5)

    def test_limit_of_a_key_is_5(self):
        key = self.command(
            "keys", "create", "--for", self.app, "--expires", "1d", "--requests-per-minute", "1", CHATTER_KEY=ADMIN)[0]
        self.says("Yes.")
        self.command("ask", "One", CHATTER_KEY=key.strip())
        _, errors = self.command("ask", "Two", CHATTER_KEY=key.strip(), status=5)
        self.assertIn("The limit of 1 requests per minute", errors)
        self.assertRegex(errors, r"chatter: try again in \d+ s\n$")
        self.assertEqual(self.texts("user"), ["One"])

    def test_model_that_fails_is_6(self):
        _, errors = self.command("ask", "-m", "echo:error", "Hi", status=6)
        self.assertEqual(errors, "chatter: The model echo:error fails, as it always does.\n")
        output, _ = self.command("ask", "-m", "echo:cut", "Hi", status=6)
        self.assertEqual(output, "I am echo, the built-in model. I was \n")

    def test_request_that_is_refused_is_7(self):
        for arguments in (
            ["ask", "-m", "echo:refuse", "Hi"], ["ask", "-m", "echo:context", "Hi"], ["export", "absent"],
            ["watch", "absent"], ["ask", "-m", "echo/\x7f", "Hi"],
        ):
            _, errors = self.command(*arguments, status=7)
            self.assertRegex(errors, "^chatter: .")
        (self.home / "no-export").write_text("no export\n")
        self.command("import", str(self.home / "no-export"), status=7)
        self.command("import", str(self.home / "no-export"), "name", status=7)

    def test_server_that_fails_or_is_another_one_is_8(self):
        answers = {"/models": (500, b'{"error":"A fault.","code":"internal"}'), "/": (200, b"<html>")}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, body = answers.get(self.path, (200, b"[]"))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = LocalServer(Handler, self.addCleanup)
        self.assertEqual(self.command("servers", status=8, CHATTER_URL=server.url)[1], "chatter: A fault.\n")
        self.command("version", status=8, CHATTER_URL=server.url)
        self.command("list", status=8, CHATTER_URL=server.url)

    def test_connection_that_is_not_restored_is_9(self):
        self.says_then_waits(["Eins, "])

        def ask(**variables):
            command = self.start_command("ask", "Count.", CHATTER_URL=self.proxy.url, **variables)
            self.assertEqual(command.stdout.read(6), "Eins, ")
            self.proxy.close()
            _, errors = command.communicate()
            return command.returncode, errors

        status, errors = ask(CHATTER_RESUME_TIMEOUT="1s")
        self.assertEqual(status, 9, errors)
        self.assertIn("connection lost; resuming", errors)

    def test_ctrl_c_is_130_and_stops_the_answer(self):
        self.says_then_waits(["Eins, "])
        command = self.start_command("ask", "Count.")
        self.assertEqual(command.stdout.read(6), "Eins, ")
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate()
        self.assertEqual((command.returncode, output, errors), (130, "\n", "[stopped]\n"))
        self.assertEqual(self.messages()[-1]["state"], "cancelled")

    def test_reader_that_leaves_ends_the_program(self):
        self.says(*speech(2000))
        command = self.start_command("ask", "Speak.")
        self.assertNotEqual(command.stdout.read(10), "")
        command.stdout.close()
        self.assertEqual((command.wait(), command.stderr.read()), (128 + signal.SIGPIPE, ""))

    # Other commands.

    def test_conversations_are_listed_and_searched(self):
        self.says("In the shade of a fig tree.")
        for name in ("one", "two", "three"):
            self.command("ask", "-c", name, f"Where is {name}?")
        self.assertEqual(self.command("list", "--names")[0], "three\ntwo\none\n")
        self.assertEqual(self.command("list", "--names", "-n", "2")[0], "three\ntwo\n")
        self.assertRegex(self.command("list")[0].splitlines()[2], r"^one    \d{4}-\d\d-\d\d \d\d:\d\d +Where is one\?$")
        entry = self.lines(self.command("list", "--json")[0])[0]
        self.assertEqual((entry["conversation"], entry["title"], entry["running"]), ("three", "Where is three?", False))
        self.assertEqual(self.command("list", "--archived")[0], "")
        found = self.command("search", "is", "two")[0]
        self.assertRegex(found, r"(?s)^two .*\n    user: Where is two\?\n$")
        found = self.lines(self.command("search", "--json", "fig tree")[0])
        self.assertEqual([entry["conversation"] for entry in found], ["three", "two", "one"])
        self.assertEqual(found[0]["matches"][0]["role"], "assistant")

    def test_export_and_import_keep_a_conversation(self):
        self.says(*speech(50))
        self.command("ask", "-c", "trip", "Where?")
        self.command("ask", "-c", "trip", "When?")
        exported = self.command("export", "trip")[0]
        path = self.home / "trip.ndjson"
        path.write_text(exported)
        self.assertEqual(self.command("import", str(path), "again")[0], "again\n")
        self.assertEqual(self.command("import", "-", "third", input=exported)[0], "third\n")
        for name in ("again", "third"):
            self.assertEqual(self.texts("user", name), ["Where?", "When?"])
            self.assertEqual(self.texts("assistant", name), self.texts("assistant", "trip"))
        _, errors = self.command("import", str(path), status=7)
        self.assertIn("There is a conversation of this name already", errors)
        path.write_text("".join(exported.splitlines(True)[:-1]))
        _, errors = self.command("import", str(path), "cut", status=7)
        self.assertIn("The file is cut", errors)

    def test_large_file_is_imported_in_parts(self):
        count = 6_000
        rows = [
            {"seq": seq, "kind": "message", "role": "user", "content": f"{seq} " + "ä" * 500, "time": "2026-11-20T17:07:20.859441Z"}
            for seq in range(1, count + 1)
        ]
        times = {"created_at": "2026-11-20T17:07:20.859441Z", "updated_at": "2026-11-20T17:07:20.859441Z"}
        ends = [{"chatterd": "conversation", "version": 1, "conversation": "large"} | times, {"end": True, "rows": count}]
        path = self.home / "large.ndjson"
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [ends[0], *rows, ends[1]]))
        self.assertEqual(self.command("import", str(path))[0], "large\n")
        exported = self.lines(self.command("export", "large")[0])
        self.assertEqual(exported[-1], ends[1])
        self.assertEqual([row["content"] for row in exported[1:-1]], [row["content"] for row in rows])
        # Of a cut file the parts before the cut are stored, and that is said.
        lines = path.read_text().splitlines(True)
        path.write_text("".join(lines[:-1]))
        _, errors = self.command("import", str(path), "cut", status=7)
        self.assertIn("its last line is missing", errors)

    def test_watch_is_a_second_screen(self):
        self.says("Before.")
        self.command("ask", "-c", "trip", "Old?")
        screen = self.start_command("watch", "trip", CHATTER_URL=self.proxy.url)
        self.assertEqual([screen.stdout.readline() for _ in range(2)], ["> Old?\n", "m: Before.\n"])
        self.says_then_waits(["Eins, "], ["zwei."])
        other = self.start_command("ask", "-c", "trip", "Count.")
        self.assertEqual(screen.stdout.readline(), "> Count.\n")
        self.assertEqual(screen.stdout.read(6), "Eins, ")
        self.proceed.set()
        self.assertEqual(screen.stdout.readline(), "zwei.\n")
        self.assertEqual(other.communicate(), ("Eins, zwei.\n", ""))
        self.proxy.cut()
        self.assertIn("connection lost; resuming", screen.stderr.readline())
        self.says("After.")
        self.command("ask", "-c", "trip", "And now?")
        self.assertEqual([screen.stdout.readline() for _ in range(2)], ["> And now?\n", "After.\n"])
        screen.send_signal(signal.SIGINT)
        self.assertIn(screen.wait(), (-signal.SIGINT, 130))

    def test_model_servers_are_listed_tested_added_and_removed(self):
        table = self.command("servers")[0]
        self.assertRegex(table, r"(?m)^SERVER +KIND +STATE +MODELS$")
        self.assertRegex(table, r"(?m)^echo +echo +ok +echo echo:slow ")
        self.assertIn("echo:error", self.lines(self.command("servers", "--json")[0])[-1]["models"])
        name = "added"
        self.command("servers", "add", name, "ollama", "http://127.0.0.1:9", CHATTER_KEY=ADMIN)
        _, errors = self.command("servers", "test", name, CHATTER_KEY=ADMIN, status=6)
        self.assertIn("cannot be reached", errors)
        self.command("servers", "remove", name, CHATTER_KEY=ADMIN)
        self.command("servers", "test", name, CHATTER_KEY=ADMIN, status=7)
        _, errors = self.command("servers", "add", "bad", "ollama", "nowhere", CHATTER_KEY=ADMIN, status=7)
        self.assertIn("url", errors)

    def test_keys_are_made_listed_rotated_and_revoked(self):
        output, errors = self.command(
            "keys", "create", "--for", self.app, "--label", "a note", "--scopes", "chat,read", CHATTER_KEY=ADMIN)
        self.assertRegex(output, r"^chatterd_\S+\n$")
        identity = re.search(r"key (\w+) of the app", errors).group(1)
        self.says("Yes.")
        self.assertEqual(self.command("ask", "Hi", CHATTER_KEY=output.strip())[0], "Yes.\n")
        table = self.command("keys", "list", "--for", self.app, CHATTER_KEY=ADMIN)[0]
        self.assertRegex(table, rf"(?m)^{identity}  {self.app}  chat,read  .* valid  a note$")
        rotated = self.lines(
            self.command("keys", "rotate", identity, "--overlap", "1h", "--json", CHATTER_KEY=ADMIN)[0])[0]
        self.assertEqual(rotated["scopes"], ["chat", "read"])
        self.command("keys", "revoke", identity, CHATTER_KEY=ADMIN)
        self.assertEqual(len(self.lines(self.command("keys", "--json", "--for", self.app, CHATTER_KEY=ADMIN)[0])), 2)

    def test_help_and_version_need_nothing_else(self):
        output, errors = self.command("--help", CHATTER_URL="http://127.0.0.1:9")
        self.assertEqual(errors, "")
        for word in ("chatter ask", "CHATTER_KEY", "Exit codes", "130"):
            self.assertIn(word, output)
        for name in re.findall(r"(?m)^       chatter ([a-z]+)", output):
            text = self.command("help", name)[0]
            self.assertEqual(text, self.command(name, "--help")[0])
            self.assertIn(f"usage: chatter {name} ", text)
        version = self.command("version")[0]
        self.assertRegex(version, r"^chatter (\S+)\nchatterd \1 at http://127")

    def completed(self, *words, afterwards=""):
        """Completes the last of shell words in bash, with a command after it. Returns the folder in which bash ran, and the output."""
        binaries, folder = self.home / "bin", self.home / "folder"
        if not binaries.exists():
            binaries.mkdir()
            folder.mkdir()
            (binaries / "chatter").symlink_to(CHATTER)
        script = (
            'PATH=$1:$PATH; eval "$(chatter completions bash)"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); '
            f'_chatter; for reply in "${{COMPREPLY[@]}}"; do printf "%s\\n" "$reply"; done; {afterwards}')
        done = subprocess.run(
            ["bash", "-c", script, "bash", str(binaries), *words], env=self.environment(), cwd=folder,
            capture_output=True, text=True, check=True)
        return folder, done.stdout

    def test_completions_of_bash_complete_commands_options_and_conversations(self):
        self.says("Yes.")
        self.command("ask", "-c", "trip", "Hi")

        def completed(*words):
            return self.completed(*words)[1].split()

        self.assertEqual(completed("chatter", "se"), ["search", "servers"])
        self.assertEqual(completed("chatter", "ask", "--mo"), ["--model"])
        self.assertEqual(completed("chatter", "servers", "t"), ["test"])
        self.assertEqual(completed("chatter", "watch", "t"), ["trip"])
        for shell in ("zsh", "fish"):
            self.assertIn("search", self.command("completions", shell)[0])

    def test_completions_do_not_execute_names_of_conversations(self):
        self.says("Yes.")
        names = [
            "x$(touch file1)", "y`touch file2`", "z; touch file3", "two words", "it's $(touch file4)", 'q"$(touch file5)',
            "$HOME", "~root", "{a,b}", "*", "&", "a!b", "é`touch file6`",
        ]
        for name in names:
            self.command("ask", "-c", name, "Hi")
        # A name that would be an option is offered behind -- only.
        self.command("ask", "-c", "--url=http://127.0.0.1:9", "Hi")
        # What bash inserts is read by it as the name, and executes nothing.
        folder, output = self.completed(
            "chatter", "export", "", afterwards='for reply in "${COMPREPLY[@]}"; do eval "printf \'%s\\n\' $reply"; done')
        lines = output.splitlines()
        self.assertEqual(sorted(lines[len(lines) // 2:]), sorted(names + ["--url", "--app", "--help"]))
        self.assertEqual(list(folder.iterdir()), [])
        self.assertEqual(self.completed("chatter", "export", "x")[1], "x\\$\\(touch\\ file1\\)\n")
        self.assertEqual(self.completed("chatter", "watch", "two\\ w")[1], "two\\ words\n")
        self.assertEqual(self.completed("chatter", "watch", '"tw')[1], "two words\n")
        self.assertEqual(self.completed("chatter", "watch", '"x')[1], "")
        self.assertEqual(self.completed("chatter", "watch", "--u")[1], "--url\n")
        self.assertEqual(self.completed("chatter", "watch", "--", "--u")[1], "--url=http://127.0.0.1:9\n")
        self.assertEqual(list(folder.iterdir()), [])
