"""chatterd with hooks of the operator: a server of Python's library that checks each signature with PyPI's `standardwebhooks`."""

import http.server
import json
import threading

from standardwebhooks import Webhook

from harness.chatterd import Server
from harness.client import call, events, stream
from harness.reply_test_case import ReplyTestCase

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class HookServer:
    """Keeps what it gets, and answers as the test says."""

    def __init__(self):
        self.lock = threading.Lock()
        self.messages = []
        self.answer = lambda message: (200, {"action": "allow"})
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                # Raises for a wrong signature, or an old one.
                message = Webhook(SECRET).verify(body, {name.lower(): value for name, value in self.headers.items()})
                message["id"] = self.headers["webhook-id"]
                with hooks.lock:
                    hooks.messages.append(message)
                status, answer = hooks.answer(message)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, kind, app):
        with self.lock:
            return [message for message in self.messages if message["type"] == kind and message["data"]["app"] == app]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class HookTests(ReplyTestCase):
    @classmethod
    def serve(cls):
        cls.hooks = HookServer()
        cls.addClassCleanup(cls.hooks.stop)
        cls.entry = {"name": "all", "url": cls.hooks.url, "on": ["prompt", "answer", "end"], "secret": SECRET, "text": True}
        # The second one never answers, and is asked about one app.
        closed = {"name": "closed", "url": "http://127.0.0.1:1/", "on": ["prompt"], "apps": ["shut*"]}
        opened = {"name": "opened", "url": "http://127.0.0.1:1/", "on": ["prompt"], "apps": ["open"], "on_failure": "allow"}
        cls.setting = json.dumps([cls.entry, closed, opened])
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_HOOKS=cls.setting)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.hooks.answer = lambda message: (200, {"action": "allow"})
        self.says("Hello")

    def ask(self, text="Hi", app=None):
        return call(self.url, "POST", "/llmchat", {"appID": app or self.app, "model": "m", "stream": False, "messages": [{"role": "user", "content": text}]})

    def history(self):
        status, _, answer = call(self.url, "GET", f"/conversations/{self.app}?appID={self.app}")
        return [message["content"] for message in answer["messages"]] if status == 200 else status

    def test_prompt_answer_and_end_come_in_this_order(self):
        status, _, answer = self.ask()
        self.assertEqual((status, answer["message"]["content"]), (200, "Hello"))
        end = self.eventually(lambda: self.hooks.of("end", self.app))[0]
        prompt, review = self.hooks.of("prompt", self.app)[0], self.hooks.of("answer", self.app)[0]
        self.assertEqual(prompt["data"]["messages"], [{"role": "user", "content": "Hi"}])
        self.assertEqual((review["data"]["content"], review["data"]["model"]), ("Hello", "m"))
        self.assertEqual((end["data"]["id"], end["data"]["state"], end["data"]["content"]), (review["data"]["id"], "complete", "Hello"))

    def test_prompt_is_refused(self):
        self.hooks.answer = lambda message: (200, {"action": "refuse", "message": "Not this."})
        status, _, answer = self.ask()
        self.assertEqual((status, answer["code"], answer["error"]), (403, "prompt_refused", "Not this."))
        self.assertEqual(self.history(), 404)

    def test_prompt_is_replaced(self):
        self.hooks.answer = lambda message: (200, {"action": "replace", "messages": [{"role": "user", "content": "Bye"}]} if message["type"] == "prompt" else {"action": "allow"})
        self.assertEqual(self.ask()[0], 200)
        self.assertEqual(self.history(), ["Bye", "Hello"])

    def test_answer_is_replaced_before_anybody_sees_it(self):
        self.says("The secret ", "is 42")
        self.hooks.answer = lambda message: (200, {"action": "replace", "content": "No."} if message["type"] == "answer" else {"action": "allow"})
        with stream(self.url, self.body("Hi")) as response:
            text = response.read()
        self.assertNotIn(b"secret", text)
        self.assertEqual("".join(line["message"]["content"] for kind, _, line in events(text) if kind == "message"), "No.")
        self.assertEqual(self.history(), ["Hi", "No."])

    def test_answer_is_refused(self):
        self.hooks.answer = lambda message: (200, {"action": "refuse", "message": "Not that."} if message["type"] == "answer" else {"action": "allow"})
        status, _, answer = self.ask()
        self.assertEqual((status, answer["code"], answer["error"]), (502, "answer_refused", "Not that."))
        end = self.eventually(lambda: self.hooks.of("end", self.app))[0]
        self.assertEqual((end["data"]["state"], end["data"]["code"], end["data"]["content"]), ("failed", "answer_refused", ""))

    def test_openai_gets_the_refusal_of_a_prompt(self):
        self.hooks.answer = lambda message: (200, {"action": "refuse", "message": "Not this."})
        status, _, answer = call(self.url, "POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
        self.assertEqual((status, answer["error"]["code"]), (403, "prompt_refused"))

    def test_hook_that_fails_refuses_unless_it_is_said(self):
        self.assertEqual(self.ask(app="shut.down")[0], 502)
        self.assertEqual(self.ask(app="open")[0], 200)
        self.eventually(lambda: '"hook":"closed"' in self.server.log() and '"hook":"opened"' in self.server.log())

    def test_end_of_a_reply_of_a_dead_process_is_told(self):
        self.model.script = lambda exchange: exchange.until(self.proceed)
        self.start()
        self.eventually(lambda: self.model.exchanges)
        self.server.kill()
        self.server.restart()
        HookTests.url = self.server.url
        end = self.eventually(lambda: self.hooks.of("end", self.app))[0]
        self.assertEqual((end["data"]["state"], end["data"]["model"]), ("interrupted", "m"))

    def test_end_is_told_again_after_a_failure(self):
        """The process dies meanwhile; the next one makes the delivery that is due again."""
        fails = threading.Event()
        fails.set()
        self.hooks.answer = lambda message: (500, {}) if message["type"] == "end" and fails.is_set() else (200, {"action": "allow"})
        self.assertEqual(self.ask()[0], 200)
        first = self.eventually(lambda: self.hooks.of("end", self.app))[0]
        self.server.kill()
        fails.clear()
        self.server.restart()
        self.server.rows("UPDATE chatterd_deliveries SET due = now()")
        self.eventually(lambda: len(self.hooks.of("end", self.app)) > 1)
        HookTests.url = self.server.url
        self.assertEqual({message["id"] for message in self.hooks.of("end", self.app)}, {first["id"]})
        self.eventually(lambda: self.server.rows("SELECT count(*) FROM chatterd_deliveries") == ["0"])
