"""What programs in the field send to the front doors, and what has gone wrong elsewhere. Run by script/test doors.

`field_cases` has the requests of one step, as tables. Here are those that need several steps, or more than a body.
"""

import base64
import http.client
import itertools
import json
import re
import socket
import struct
import threading
import urllib.parse

import anthropic

from doors.door_test_case import ADMIN_TOKEN, DoorTestCase
from doors.field_cases import (
    CHAT, CHAT_ROWS, CLAUDE_ROWS, COMPLETIONS, COUNT, EMBEDDINGS, FORMS, FUNCTION, HI, MCP, MESSAGES, OLLAMA, ON, PATCH, PNG,
    RESPONSE_ROWS, RESPONSE_TOOL, RESPONSES, SIZE_ROWS, chat, claude, respond, said, text)
from doors.openai_model import OpenAIModel
from doors.test_door_programs import difference
from harness.chatterd import Server
from harness.client import call, connect, events
from harness.machine import TIMEOUT, make_directory

SLASHED = "hf.co/unsloth/Qwen3:Q4_K_M"
ORIGINS = ["http://localhost:5174", "app://obsidian.md", "tauri://localhost", "vscode-webview://x"]
CONTEXT = 32_768


def repeats(pairs):
    """An object whose members have different names."""
    assert len({name for name, _ in pairs}) == len(pairs), f"a member is there twice: {pairs}"
    return dict(pairs)


class FieldTestCase(DoorTestCase):
    """A server with a scripted Ollama for the model `m`, and a server of kind `openai` for `g`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model.names = ["m:latest", SLASHED]

    @classmethod
    def serve(cls, **variables):
        cls.gpt = OpenAIModel(cls, "g")
        described = {"name": "gpt", "kind": "openai", "url": f"{cls.gpt.url}/v1", "models": ["g"], "context": CONTEXT}
        cls.upstreams = json.dumps([described])
        # A further request to a model server would be noticed.
        again = {"CHATTERD_RESCUE_ATTEMPTS": "2", "CHATTERD_FAILOVER_ATTEMPTS": "4"}
        super().serve(CHATTERD_UPSTREAMS=cls.upstreams, CHATTERD_ORIGINS=",".join(ORIGINS), **again | variables)

    def setUp(self):
        super().setUp()
        self.reset()

    def reset(self):
        self.model.reset()
        self.model.refuses = lambda request: None
        self.gpt.answers({"content": "Hello."})
        self.says("Hello.")

    def send(self, path, body=None, fields=None, method="POST", url=None):
        """The status, the headers and the text of an answer."""
        data = json.dumps(body) if isinstance(body, dict) else body
        with connect(url or self.url) as connection:
            connection.request(method, path, data, {"Content-Type": "application/json"} | (fields or {}))
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def ask(self, path, body, fields=None, method="POST"):
        """The answer as JSON, or the data of its events; it must not be an error."""
        status, headers, said = self.send(path, body, fields, method)
        self.assertEqual(status, 200, said)
        if headers["Content-Type"].startswith("text/event-stream"):
            return [data for _, _, data in events(said.replace("data: [DONE]\n\n", "").encode())]
        return json.loads(said)

    def message(self, path, said):
        """The text of an error, which has the form of its API."""
        answer = json.loads(said)
        if path.lstrip("/").startswith("api"):
            return answer["error"]
        if path.startswith(MESSAGES):
            self.assertEqual(answer["type"], "error")
        self.assertIsInstance(answer["error"], dict, answer)
        return answer["error"]["message"]

    def asked(self):
        """The requests that the model servers got."""
        return [exchange.request for exchange in self.model.exchanges] + self.gpt.requests

    def assert_refused(self, path, body, pattern, status=400, fields=None, url=None):
        """The request gets an error with such a message in the form of its API, and no model is asked."""
        got, _, said = self.send(path, body, fields, url=url)
        self.assertEqual(got, status, said)
        self.assertRegex(re.sub(r"\[\d+\]", "[]", self.message(path, said)) + self.message(path, said), pattern)
        self.assertEqual(self.asked(), [])

    def page(self, name, fields=None):
        """All messages of a conversation."""
        path = f"/conversations/{name}?limit=200" + ("" if fields else f"&appID={self.app}")
        status, _, answer = call(self.url, "GET", path, headers=fields or {})
        self.assertEqual(status, 200, answer)
        return answer["messages"]

    def key(self):
        """The fields of a client with a new key."""
        status, _, made = call(self.url, "POST", "/keys", {"app": self.app}, {"Authorization": f"Bearer {ADMIN_TOKEN}"})
        self.assertEqual(status, 201, made)
        return {"Authorization": f"Bearer {made['key']}"}


class RowTests(FieldTestCase):
    """The tables."""

    @classmethod
    def serve(cls, **variables):
        super().serve(**variables)
        cls.strict = Server(
            make_directory(cls), OLLAMA_URL=cls.model.url, CHATTERD_UPSTREAMS=cls.upstreams, CHATTERD_DOORS="strict")
        cls.addClassCleanup(cls.strict.stop)

    def run_rows(self, rows):
        for row in rows:
            with self.subTest(row.says):
                self.reset()
                self.refuse(row) if row.refused else self.answer(row)
                if row.ignored:
                    self.reset()
                    paths = "|".join(re.escape(path) for path in row.ignored.split(", "))
                    self.assert_refused(row.path, row.body, paths, fields=row.fields, url=self.strict.url)

    def refuse(self, row):
        self.assert_refused(row.path, row.body, row.refused, fields=row.fields)

    def answer(self, row):
        status, headers, said = self.send(row.path, row.body, row.fields)
        self.assertEqual(status, 200, said)
        named = headers["X-Ignored-Members"]
        self.assertEqual(sorted(named.split(", ")) if named else [], sorted(row.ignored.split(", ")) if row.ignored else [])
        if row.answer is not None:
            self.assertEqual(difference(json.loads(said), row.answer), "")
        if row.sent is None and not row.lacks:
            return
        [asked] = self.asked()
        self.assertEqual(difference(asked, row.sent or {}), "")
        for name in row.lacks:
            self.assertNotIn(name, json.dumps(asked))
        for exchange in self.model.exchanges:
            json.loads(exchange.body, object_pairs_hook=repeats)

    def test_messages_of_claude(self):
        self.run_rows(CLAUDE_ROWS)

    def test_chat_completions(self):
        self.run_rows(CHAT_ROWS)

    def test_responses(self):
        self.run_rows(RESPONSE_ROWS)

    def test_sizes_of_tools(self):
        self.run_rows(SIZE_ROWS)

    def test_a_strict_server_reports_that_a_model_cannot_think(self):
        self.model.refuses = lambda request: '"m" does not support thinking' if "think" in request else None
        self.assertEqual(self.send(CHAT, chat(reasoning_effort="high"))[0], 200)
        self.model.reset()
        status, _, answer = self.send(CHAT, chat(reasoning_effort="high"), url=self.strict.url)
        self.assertEqual((status, self.message(CHAT, answer)), (400, '"m" does not support thinking'))
        self.assertEqual(len(self.asked()), 1)


class ConversationTests(FieldTestCase):
    """Histories that programs send whole."""

    def test_a_system_text_that_changes_copies_no_history(self):
        def block(turn):
            line = f"x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36e{turn:02x};"
            return [text(line), text("You are helpful.")]

        forms = {
            "Claude Code sends a nonce": (MESSAGES, lambda turn, past: claude(*past, system=block(turn))),
            "a program sends the time to Claude": (MESSAGES, lambda turn, past: claude(*past, system=f"Now: 10:00:0{turn}")),
            "a program sends the time to OpenAI": (CHAT, lambda turn, past: chat(said("system", f"Now: 10:00:0{turn}"), *past)),
        }
        for number, (name, (path, body)) in enumerate(forms.items()):
            with self.subTest(name):
                self.reset()
                past, names, fields = [], set(), {"X-App-ID": f"{self.app}-{number}"}
                for turn in range(10):
                    past.append(said("user", f"turn {turn}"))
                    status, headers, answer = self.send(path, body(turn, past), fields)
                    self.assertEqual(status, 200, answer)
                    names.add(headers["X-Conversation-ID"])
                    past.append(said("assistant", "Hello."))
                self.assertEqual(len(names), 1)
                _, _, page = call(self.url, "GET", f"/conversations/{names.pop()}?limit=200", headers=fields)
                # The first system text is stored, too.
                self.assertEqual([message["role"] for message in page["messages"]], ["system"] + ["user", "assistant"] * 10)
                self.assertTrue(all(message["active"] for message in page["messages"]))
                systems = [request["messages"][0]["content"] for request in self.asked()]
                if path == MESSAGES and isinstance(body(0, past)["system"], list):
                    # The model server recognises the beginning of the prompt.
                    self.assertEqual(len(set(systems)), 1, systems)
                    self.assertTrue(systems[0].endswith(" cch=00000;\nYou are helpful."), systems[0])
                else:
                    self.assertEqual(systems, [f"Now: 10:00:0{turn}" for turn in range(10)])

    def test_system_messages_before_the_others_are_one(self):
        fields = {"X-App-ID": self.app}
        developer = said("developer", "One.", type="message"), said("developer", "Two.", type="message")
        self.ask(RESPONSES, respond(*developer, HI), fields)
        self.assertEqual(self.model.exchange().prompts, [("system", "One.\n\nTwo."), ("user", "hi")])
        self.ask(CHAT, chat(said("system", "Be brief."), HI), fields | {"X-Conversation-ID": "begun"})
        self.ask(RESPONSES, respond(instructions="Be polite.", conversation="begun") | {"input": "go on"}, fields)
        prompts = self.model.exchange(2).prompts
        self.assertEqual(prompts[0], ("system", "Be polite.\n\nBe brief."))
        self.assertEqual([role for role, _ in prompts], ["system", "user", "assistant", "user"])

    def test_arguments_are_the_same_in_another_form(self):
        fields = {"X-App-ID": self.app}

        def history(arguments):
            call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": arguments}}
            return HI, said("assistant", None, tool_calls=[call]), said("tool", "12:00", tool_call_id="c1")

        _, first, _ = self.send(CHAT, chat(*history(""), tools=[FUNCTION]), fields)
        _, second, _ = self.send(CHAT, chat(*history("{}"), said("assistant", "Hello."), ON, tools=[FUNCTION]), fields)
        self.assertEqual(first["X-Conversation-ID"], second["X-Conversation-ID"])
        page = self.page(first["X-Conversation-ID"])
        self.assertEqual([message["role"] for message in page], ["user", "assistant", "tool", "assistant", "user", "assistant"])
        self.assertTrue(all(message["active"] for message in page))

    def test_ten_chats_of_one_key_do_not_wait_for_each_other(self):
        together, fields, answers = threading.Barrier(10), self.key(), {}

        def script(exchange):
            # None is answered before all have arrived.
            together.wait(TIMEOUT)
            exchange.say(f"You said: {exchange.request['messages'][-1]['content']}")

        def run(number):
            status, headers, said = self.send(CHAT, chat({"role": "user", "content": f"chat {number} go"}), fields)
            answers[number] = status, headers["X-Conversation-ID"], json.loads(said)

        self.model.script = script
        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
        self.assertEqual(sorted(answers), list(range(10)))
        self.assertEqual(len({name for _, name, _ in answers.values()}), 10)
        for number, (status, _, answer) in answers.items():
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["choices"][0]["message"]["content"], f"You said: chat {number} go")

    def test_a_request_for_tags_is_not_in_the_chat(self):
        def script(exchange):
            if exchange.request["messages"][-1]["content"].startswith("### Task"):
                exchange.until(self.proceed)
                exchange.say('{ "tags": ["Names"] }')
            else:
                exchange.say("Hello, Ada.")

        self.model.script = script
        fields = self.key()
        ada, what = said("user", "My name is Ada."), said("user", "What did I say?")
        task = "### Task:\nGenerate 1-3 broad tags\n<chat_history>\nUSER: My name is Ada.\n</chat_history>"
        _, first, _ = self.send(CHAT, chat(ada, stream=True), fields)
        tags = threading.Thread(target=self.send, args=(CHAT, chat(said("user", task), stream=False), fields), daemon=True)
        tags.start()
        self.model.exchange(1)
        # It comes while the request for tags is not answered.
        _, third, _ = self.send(CHAT, chat(ada, said("assistant", "Hello, Ada."), what, stream=True), fields)
        self.assertFalse(self.proceed.is_set())
        self.assertEqual(first["X-Conversation-ID"], third["X-Conversation-ID"])
        page = [(m["role"], m["content"]) for m in self.page(first["X-Conversation-ID"], fields) if m["active"]]
        self.assertEqual(page, [("user", ada["content"]), ("assistant", "Hello, Ada."), ("user", what["content"]),
                                ("assistant", "Hello, Ada.")])
        self.proceed.set()
        tags.join(TIMEOUT)

    def test_a_history_that_does_not_fit_is_refused_if_truncation_is_disabled(self):
        long = said("user", "word " * 1000)
        for truncation, status in (("auto", 200), ("disabled", 400)):
            with self.subTest(truncation):
                self.reset()
                fields = {"X-App-ID": f"{self.app}-{truncation}"}
                members = {"options": {"num_ctx": 2000}, "truncation": truncation}
                self.ask(RESPONSES, respond(long, **members), fields)
                got, _, answer = self.send(RESPONSES, respond(long, said("assistant", "Hello."), long, **members), fields)
                self.assertEqual(got, status, answer)
                self.assertEqual(len(self.asked()), 2 if status == 200 else 1)
                if status == 400:
                    self.assertEqual(json.loads(answer)["error"]["code"], "context_length_exceeded")

    def test_halves_of_a_surrogate_are_replaced(self):
        fields = {"X-App-ID": self.app}
        sent = br'"a\ud83d b \ude00 c \ud83d\ude00 d \u0000 e"'
        became = "a\ufffd b \ufffd c 😀 d \ufffd e"
        _, first, _ = self.send(CHAT, b'{"model":"m","messages":[{"role":"user","content":' + sent + b"}]}", fields)
        self.assertEqual(self.model.exchange().prompts, [("user", became)])
        more = b',{"role":"assistant","content":"Hello."},{"role":"user","content":"go on"}]}'
        _, second, _ = self.send(CHAT, b'{"model":"m","messages":[{"role":"user","content":' + sent + b"}" + more, fields)
        self.assertEqual(first["X-Conversation-ID"], second["X-Conversation-ID"])
        page = self.page(first["X-Conversation-ID"])
        self.assertEqual([message["content"] for message in page], [became, "Hello.", "go on", "Hello."])
        self.reset()
        tool = br'"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"\ud800":{}}}}}]'
        calls = (br'{"role":"assistant","content":null,"tool_calls":[{"id":"\ud800","type":"function","function":{"name":"f"}}]},'
                 br'{"role":"tool","tool_call_id":"\ud800","content":"1"}')
        body = b'{"model":"m",' + tool + b',"messages":[{"role":"user","content":"hi"},' + calls + b"]}"
        status, _, answer = self.send(CHAT, body)
        self.assertEqual(status, 200, answer)
        self.assertEqual([role for role, _ in self.model.exchange().prompts], ["user", "assistant", "tool"])

    def test_halves_of_a_surrogate_in_two_lines_of_an_answer_are_stored_as_they_are_streamed(self):
        def script(exchange):
            for half in ("\ud83d", "\ude00"):
                exchange.write({"message": {"role": "assistant", "content": half}, "done": False}, ascii=True)

        self.model.script = script
        fields = {"X-App-ID": self.app}
        status, headers, answer = self.send(CHAT, chat(stream=True), fields)
        self.assertEqual(status, 200, answer)
        data = [data for _, _, data in events(answer.replace("data: [DONE]\n\n", "").encode())]
        streamed = "".join(choice["delta"].get("content") or "" for chunk in data for choice in chunk["choices"])
        self.assertIn(streamed, ("😀", "\ufffd\ufffd"))
        self.assertEqual(self.page(headers["X-Conversation-ID"])[-1]["content"], streamed)


class AnswerTests(FieldTestCase):
    """Answers in the forms that programs read."""

    def test_thoughts_before_a_call_reach_the_model_with_the_result(self):
        # Some models refuse the result without them. Most clients drop them, others send them back.
        call_of_f = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for number, sent in enumerate(({}, {"reasoning_content": 'secret "42"\n'})):
            with self.subTest(sent=bool(sent)):
                fields = {"X-App-ID": f"{self.app}-{number}"}
                self.gpt.answers(
                    {"reasoning_content": 'secret "42"\n'}, {"tool_calls": [{"index": 0} | call_of_f]}, finish_reason="tool_calls")
                body = chat(said("user", "x"), model="g", tools=[FUNCTION])
                self.ask(CHAT, body, fields)
                self.gpt.answers({"reasoning_content": "Not this one."}, {"content": "Hello."})
                history = [said("user", "x"), said("assistant", None, tool_calls=[call_of_f], **sent),
                           {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
                self.ask(CHAT, body | {"messages": history}, fields)
                [request] = self.gpt.requests
                self.assertEqual(request["messages"][1]["reasoning_content"], 'secret "42"\n')
                self.assertEqual(len(request["messages"]), 3)
                # The thoughts of an answer without calls stay with chatterd, as templates leave them out.
                self.ask(CHAT, body | {"messages": [*history, said("assistant", "Hello."), said("user", "y")]}, fields)
                self.assertEqual(
                    ["reasoning_content" in message for message in self.gpt.requests[-1]["messages"]],
                    [False, True, False, False, False])

    def test_thoughts_before_a_call_follow_a_response(self):
        for store in (True, False):
            with self.subTest(store=store):
                self.gpt.answers(
                    {"reasoning_content": "secret 42"},
                    {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                    finish_reason="tool_calls")
                first = self.ask(RESPONSES, respond(said("user", "x"), model="g", tools=[RESPONSE_TOOL], store=store))
                self.gpt.answers({"content": "Hello."})
                result = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
                self.ask(RESPONSES, respond(result, model="g", store=store, previous_response_id=first["id"]))
                [request] = self.gpt.requests
                self.assertEqual(request["messages"][1]["reasoning_content"], "secret 42")

    def test_an_address_of_an_image_is_refused_before_an_ollama_gets_it(self):
        address = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        self.assert_refused(CHAT, chat(said("user", [address])), "takes no addresses of images: send the image itself, in Base64")
        fields = {"X-App-ID": self.app}
        self.ask(CHAT, chat(said("user", [address]), model="g"), fields)
        self.assertEqual(self.gpt.requests[0]["messages"][0]["content"], [address])

    def test_a_call_of_a_custom_tool_comes_back_as_its_text(self):
        patch = '*** Begin Patch\n*** Add File: "ä"\n'
        call = {"id": "c1", "function": {"name": "apply_patch", "arguments": {"input": patch}}}
        self.model.script = lambda exchange: exchange.write(
            {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})
        item = {"type": "custom_tool_call", "call_id": "<string>", "name": "apply_patch", "input": patch, "status": "completed"}
        answer = self.ask(RESPONSES, respond(tools=[PATCH]))
        self.assertEqual(difference(answer["output"], [item]), "")
        found = {event["type"]: event for event in self.ask(RESPONSES, respond(tools=[PATCH], stream=True))}
        self.assertEqual(found["response.custom_tool_call_input.delta"]["delta"], patch)
        self.assertEqual(found["response.custom_tool_call_input.done"]["input"], patch)
        self.assertEqual(difference(found["response.output_item.done"]["item"], item), "")
        self.assertFalse([name for name in found if "function_call" in name])

    def test_a_call_of_a_tool_in_a_namespace_has_it_in_all_forms(self):
        calls = [{"id": "c1", "function": {"name": "mcp__github__search", "arguments": {"q": 1}}},
                 {"id": "c2", "function": {"name": "apply_patch", "arguments": {"input": "*** Begin"}}}]
        self.model.script = lambda exchange: exchange.write(
            {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False})
        item = {"type": "function_call", "call_id": "c1", "namespace": "mcp__github", "name": "search", "arguments": "<string>",
                "status": "completed"}
        patch = {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin", "status": "completed"}
        tools, fields = {"tools": [MCP, PATCH]}, {"X-App-ID": self.app}

        def read(items):
            return [one | ({"arguments": json.loads(one["arguments"])} if "arguments" in one else {}) for one in items]

        found = self.ask(RESPONSES, respond(HI, stream=True, **tools), fields)
        items = [event["item"] for event in found if event["type"] == "response.output_item.done"]
        self.assertEqual(difference(items, [item, patch]), "")
        [added, _] = [event["item"] for event in found if event["type"] == "response.output_item.added"]
        self.assertEqual((added["namespace"], added["name"]), ("mcp__github", "search"))
        response = found[-1]["response"]
        self.assertEqual(read(response["output"]), read(items))
        stored = self.ask(f"{RESPONSES}/{response['id']}", None, fields, "GET")
        self.assertEqual((read(stored["output"]), stored["tools"]), (read(items), [MCP, PATCH]))
        # The client sends its history, and the conversation continues.
        names = []
        results = [{"type": "function_call_output", "call_id": "c1", "output": "2"},
                   {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"}]
        for sent in (items, [{name: value for name, value in one.items() if name != "namespace"} for one in items]):
            self.model.reset()
            self.says("Done.")
            status, headers, said = self.send(RESPONSES, respond(HI, *sent, *results, **tools), fields)
            self.assertEqual(status, 200, said)
            names.append(headers["X-Conversation-ID"])
            [prompt, asked, first, second] = self.model.exchange().request["messages"]
            self.assertEqual([call["function"]["name"] for call in asked["tool_calls"]], ["mcp__github__search", "apply_patch"])
            self.assertEqual((first["tool_name"], second["tool_name"]), ("mcp__github__search", "apply_patch"))
        # Both are answers in the conversation of the first one.
        self.assertEqual(len(set(names)), 1)
        listed = self.ask(f"/v1/conversations/{names[0]}/items?order=asc", None, fields, "GET")["data"]
        self.assertEqual([one["type"] for one in listed], [
            "message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "message"])
        self.assertEqual(read(listed[1:3]), read(items))
        again = self.ask(f"{RESPONSES}/{json.loads(said)['id']}/input_items?order=asc", None, fields, "GET")["data"]
        self.assertEqual([one["type"] for one in again], ["function_call_output", "custom_tool_call_output"])

    def test_an_answer_of_thoughts_alone_is_an_answer(self):
        for reason in ("length", "stop"):
            with self.subTest(reason):
                self.gpt.answers({"reasoning_content": "hm "}, {"reasoning_content": "well"}, finish_reason=reason)
                choice = self.ask(CHAT, chat(model="g"))["choices"][0]
                self.assertEqual(choice["finish_reason"], reason)
                self.assertEqual(difference(choice["message"], {"content": "", "reasoning_content": "hm well"}), "")
                answer = self.ask(MESSAGES, claude(model="g"))
                self.assertEqual(answer["stop_reason"], {"length": "max_tokens", "stop": "end_turn"}[reason])
                self.assertEqual(difference(answer["content"][0], {"type": "thinking", "thinking": "hm well"}), "")
                # Each is asked once.
                self.assertEqual(len(self.gpt.requests), 2)

    def test_a_model_that_cannot_think_answers_without(self):
        # Claude Code and Codex ask each model for thoughts. Ollama refuses that for a model that has none.
        forms = {
            "thinking": (MESSAGES, claude(thinking={"type": "adaptive"})),
            "output_config.effort": (MESSAGES, claude(output_config={"effort": "high"}, x_other=1)),
            "reasoning_effort": (CHAT, chat(reasoning_effort="high")),
            "reasoning.effort": (RESPONSES, respond(reasoning={"effort": "medium", "summary": "auto"})),
        }
        for (path_in_body, (path, body)), stream in itertools.product(forms.items(), (False, True)):
            with self.subTest(path_in_body, stream=stream):
                self.reset()
                self.model.refuses = lambda request: '"m" does not support thinking' if "think" in request else None
                status, headers, answer = self.send(path, body | {"stream": stream}, {"X-App-ID": self.app})
                self.assertEqual(status, 200, answer)
                self.assertIn("Hello.", answer)
                self.assertEqual(["think" in request for request in self.asked()], [True, False])
                self.assertFalse([name for name in self.asked()[-1] if name.startswith("chatterd")])
                # Its receipt tells; the head of an answer may be sent before the model server refuses.
                status, _, reply = call(self.url, "GET", f"{headers['Location']}?appID={self.app}", headers={"Accept": "application/json"})
                self.assertEqual(status, 200, reply)
                ignored = (["x_other"] if "x_other" in body else []) + [path_in_body]
                self.assertEqual(reply["receipt"]["ignored"], ignored)

    def test_a_model_that_must_not_think_is_not_asked_without_that(self):
        self.model.refuses = lambda request: "think value is unknown" if "think" in request else None
        for body in (chat(reasoning_effort="none"), claude(thinking={"type": "disabled"})):
            path = MESSAGES if "thinking" in body else CHAT
            with self.subTest(path):
                self.model.reset()
                status, _, answer = self.send(path, body)
                self.assertEqual((status, self.message(path, answer)), (400, "think value is unknown"))
                self.assertEqual(len(self.asked()), 1)

    def test_a_client_of_ollama_is_told_that_a_model_cannot_think(self):
        self.model.refuses = lambda request: '"m" does not support thinking' if "think" in request else None
        status, _, answer = self.send(OLLAMA, chat(think=True, stream=False))
        self.assertEqual((status, json.loads(answer)), (400, {"error": '"m" does not support thinking'}))
        self.assertEqual(len(self.asked()), 1)

    def test_a_model_that_does_not_exist_has_a_status_in_streams_too(self):
        for path, body in ((RESPONSES, respond()), (CHAT, chat()), (MESSAGES, claude()), (OLLAMA, chat())):
            for fields in ({}, {"X-App-ID": self.app}):
                with self.subTest(path, fields=fields):
                    status, _, answer = self.send(path, body | {"model": "nowhere", "stream": True}, fields)
                    self.assertEqual(status, 404, answer)
                    self.assertIn("nowhere", self.message(path, answer))

    def test_threads_of_anthropic_become_whole_histories(self):
        status, _, answer = self.send(MESSAGES, claude(thread={"type": "create"}))
        details = {"error_code": "thread_unsupported_request", "unsupported": []}
        self.assertEqual((status, json.loads(answer)["error"]["details"]), (400, details))

        @anthropic.beta_tool
        def weather(city: str, days: int) -> str:
            """The weather of a city."""
            return f"Rain in {city} for {days} days."

        self.calls_then_says("It rains.")
        client = anthropic.Anthropic(base_url=self.url, api_key="any", max_retries=0)
        runner = client.beta.messages.tool_runner(model="m", max_tokens=99, tools=[weather], messages=[said("user", "Ålesund?")])
        [*_, last] = runner
        self.assertEqual(last.content[-1].text, "It rains.")
        roles = [message["role"] for message in self.asked()[-1]["messages"]]
        self.assertEqual(roles, ["user", "assistant", "tool"])

    def test_the_start_of_a_message_has_the_estimate(self):
        body = chat(said("user", "word " * 100))
        counted = self.ask(COUNT, body)["input_tokens"]
        found = {event["type"]: event for event in self.ask(MESSAGES, body | {"max_tokens": 9, "stream": True})}
        self.assertGreater(counted, 50)
        self.assertEqual(found["message_start"]["message"]["usage"]["input_tokens"], counted)
        # What the model server has counted.
        self.assertEqual(found["message_delta"]["usage"]["input_tokens"], 1)

    def test_the_sequence_that_stopped_the_model_is_named(self):
        self.gpt.answers({"content": "Hello."}, stop_reason="END")
        body = claude(model="g", stop_sequences=["END"])
        answer = self.ask(MESSAGES, body)
        self.assertEqual((answer["stop_reason"], answer["stop_sequence"]), ("stop_sequence", "END"))
        found = {event["type"]: event for event in self.ask(MESSAGES, body | {"stream": True})}
        self.assertEqual(found["message_delta"]["delta"], {"stop_reason": "stop_sequence", "stop_sequence": "END"})
        self.assertEqual([request["stop"] for request in self.gpt.requests], [["END"], ["END"]])

    def test_a_text_is_completed_for_guidellm(self):
        self.answers({"response": "One", "done": True, "done_reason": "stop", "prompt_eval_count": 2, "eval_count": 7})
        options = {"include_usage": True, "include_obfuscation": False, "continuous_usage_stats": True}
        chunks = self.ask(COMPLETIONS, {"model": "m", "prompt": "Zero", "stream": True, "stream_options": options})
        self.assertEqual("".join(choice["text"] for chunk in chunks for choice in chunk["choices"]), "One")

    def test_texts_become_vectors_and_tokens_do_not(self):
        self.answers({"embeddings": [[0.1, -0.5]], "prompt_eval_count": 4})
        body = {"model": "m", "input": "hi"}
        floats = self.ask(EMBEDDINGS, body | {"encoding_format": "float"})["data"][0]["embedding"]
        packed = self.ask(EMBEDDINGS, body | {"encoding_format": "base64"})["data"][0]["embedding"]
        self.assertEqual(base64.b64decode(packed), struct.pack("<2f", *floats))
        self.reset()
        for input, pattern in (([[9906, 1917]], "check_embedding_ctx_length=False"), ("", "input"), ([], "input")):
            with self.subTest(input=input):
                self.assert_refused(EMBEDDINGS, body | {"input": input}, pattern)

    def test_copilot_is_told_the_version_and_what_a_model_can_do(self):
        _, _, answer = call(self.url, "GET", "/api/version")
        self.assertRegex(answer["version"], r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(tuple(map(int, answer["version"].split("."))), (0, 6, 4))
        shown = self.ask("/api/show", {"model": "g"})
        architecture = shown["model_info"]["general.architecture"]
        self.assertEqual(difference(shown["model_info"], {f"{architecture}.context_length": CONTEXT}), "")
        self.assertLessEqual({"completion", "tools"}, set(shown["capabilities"]))
        self.assertNotIn(None, shown["model_info"].values())

    def test_the_lists_of_models_have_their_contexts(self):
        for member, fields in (("context_length", {}), ("max_input_tokens", {"anthropic-version": "2023-06-01"})):
            with self.subTest(member):
                _, _, answer = call(self.url, "GET", "/v1/models", headers=fields)
                found = {model["id"]: model for model in answer["data"]}
                self.assertEqual(found["g"][member], CONTEXT)
                # What is not known is left out.
                self.assertNotIn(None, found["m:latest"].values())

    def test_a_model_with_slashes_has_a_path(self):
        for name in (SLASHED, urllib.parse.quote(SLASHED, safe="")):
            with self.subTest(name):
                status, _, answer = call(self.url, "GET", f"/v1/models/{name}")
                self.assertEqual((status, answer["id"]), (200, SLASHED))


class TransportTests(FieldTestCase):
    """Paths, fields and bodies of HTTP."""

    def test_a_page_may_send_the_fields_of_its_library(self):
        asked = ("authorization,content-type,x-stainless-os,x-stainless-lang,x-stainless-timeout,x-stainless-retry-count,"
                 "x-stainless-helper-method,openai-beta,anthropic-beta,anthropic-dangerous-direct-browser-access,traceparent,baggage")
        for origin in ORIGINS:
            with self.subTest(origin):
                fields = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
                status, headers, _ = self.send(CHAT, None, fields, "OPTIONS")
                self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, origin))
                allowed = {name.strip().lower() for name in headers["Access-Control-Allow-Headers"].split(",")}
                self.assertLessEqual(set(asked.split(",")), allowed)
                status, headers, _ = self.send(CHAT, chat(), {"Origin": origin})
                self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, origin))
        self.assertEqual(self.send(CHAT, chat(), {"Origin": "http://localhost:5175"})[0], 403)

    def test_a_wrong_base_url_is_explained(self):
        paths = {"/v1" + CHAT: "base URL ends with /v1 twice", "/v1" + RESPONSES: "base URL ends with /v1 twice",
                 "/v1/chat//completions": "two slashes"}
        for path, pattern in paths.items():
            with self.subTest(path):
                self.assert_refused(path, chat(), pattern, status=404)

    def test_a_base_url_may_end_with_a_slash(self):
        for path in ("/" + CHAT, "/v1//chat/completions", "/" + OLLAMA):
            with self.subTest(path):
                self.assertEqual(self.send(path, chat())[0], 200)

    def test_lists_have_a_head(self):
        for path in ("/v1/models", "/api/tags"):
            with self.subTest(path):
                self.assertEqual(self.send(path, method="HEAD")[::2], (200, ""))

    def test_programs_need_no_type_of_the_body(self):
        for kind in ("absent", "text/plain", "application/x-www-form-urlencoded"):
            for path, (body, _) in FORMS.items():
                with self.subTest(kind, path=path), connect(self.url) as connection:
                    data = json.dumps(body).encode()
                    connection.putrequest("POST", path)
                    connection.putheader("Content-Length", str(len(data)))
                    if kind != "absent":
                        connection.putheader("Content-Type", kind)
                    connection.endheaders(data)
                    response = connection.getresponse()
                    self.assertEqual(response.status, 200, response.read())

    def test_a_compressed_body_is_refused_in_the_form_of_the_api(self):
        for path, (body, _) in FORMS.items():
            with self.subTest(path):
                self.assert_refused(path, body, "Content-Encoding", status=415, fields={"Content-Encoding": "gzip"})

    def test_a_client_that_waits_to_send_two_megabytes_is_told_to(self):
        body = json.dumps(chat()).encode() + b" " * 2_000_000
        address = urllib.parse.urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), TIMEOUT) as connection:
            head = (f"POST {CHAT} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
            connection.sendall(head.encode())
            told = b""
            while not told.endswith(b"\r\n\r\n"):
                told += (piece := connection.recv(1))
                self.assertTrue(piece, told)
            self.assertTrue(told.startswith(b"HTTP/1.1 100 "), told)
            connection.sendall(body)
            response = http.client.HTTPResponse(connection, method="POST")
            response.begin()
            self.assertEqual(response.status, 200, response.read())

    def test_three_screenshots_are_accepted(self):
        data = PNG[:-4] + "A" * (4 << 20)
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        self.ask(MESSAGES, claude(said("user", [text("hi"), picture, picture, picture])))
        # Their difference would take minutes to print.
        self.assertTrue(self.model.exchange().request["messages"] == [said("user", "hi", images=[data] * 3)])
