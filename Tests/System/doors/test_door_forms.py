"""Errors and parsed answers of the clients of Ollama, OpenAI and Anthropic, in each of their forms. Run by script/test doors."""

import anthropic
import ollama
import openai
import pydantic

from doors.door_test_case import DoorTestCase
from harness.machine import TIMEOUT
from harness.model import Model

HELLO = [{"role": "user", "content": "Hi"}]


class City(pydantic.BaseModel):
    name: str
    people: int


class FormTests(DoorTestCase):
    def setUp(self):
        super().setUp()
        fields = {"X-App-ID": self.app, "X-History": "append"}
        self.llama = ollama.Client(self.url, headers=fields, timeout=TIMEOUT)
        options = {"api_key": "none", "max_retries": 0, "timeout": TIMEOUT, "default_headers": fields}
        self.gpt = openai.OpenAI(base_url=f"{self.url}/v1", **options)
        self.claude = anthropic.Anthropic(base_url=self.url, **options)
        self.addCleanup(self.gpt.close)
        self.addCleanup(self.claude.close)

    def test_a_model_that_does_not_exist_has_the_error_of_each_api(self):
        for stream in (False, True):
            with self.subTest(stream=stream):
                with self.assertRaises(ollama.ResponseError) as raised:
                    list(self.llama.chat("none", HELLO, stream=stream))
                self.assertEqual((raised.exception.status_code, raised.exception.error), (404, "model 'none' not found"))
                with self.assertRaises(ollama.ResponseError) as raised:
                    list(self.llama.generate("none", "Hi", stream=stream))
                self.assertEqual((raised.exception.status_code, raised.exception.error), (404, "model 'none' not found"))
                with self.assertRaises(openai.NotFoundError) as raised:
                    self.gpt.chat.completions.create(model="none", messages=HELLO, stream=stream)
                self.assertEqual((raised.exception.code, raised.exception.type), ("model_not_found", "not_found_error"))
                with self.assertRaises(anthropic.NotFoundError) as raised:
                    self.claude.messages.create(model="none", max_tokens=9, messages=HELLO, stream=stream)
                self.assertEqual(raised.exception.body["error"]["type"], "not_found_error")
        with self.assertRaises(openai.NotFoundError) as raised:
            self.gpt.responses.create(model="none", input="Hi")
        self.assertEqual(raised.exception.code, "model_not_found")
        # The head of its stream does not wait for the model server.
        last = list(self.gpt.responses.create(model="none", input="Hi", stream=True))[-1]
        self.assertEqual((last.type, last.response.error.code), ("response.failed", "model_not_found"))

    def test_an_error_before_the_first_piece_has_a_status(self):
        def script(exchange):
            exchange.write({"error": "out of memory"})
            return Model.BREAK_OFF

        self.model.script = script
        for stream in (False, True):
            with self.subTest(stream=stream):
                with self.assertRaises(ollama.ResponseError) as raised:
                    list(self.llama.chat("m", HELLO, stream=stream))
                self.assertEqual((raised.exception.status_code, raised.exception.error), (502, "out of memory"))
                with self.assertRaises(openai.InternalServerError) as raised:
                    self.gpt.chat.completions.create(model="m", messages=HELLO, stream=stream)
                self.assertEqual((raised.exception.status_code, raised.exception.body["message"]), (502, "out of memory"))
                with self.assertRaises(anthropic.InternalServerError) as raised:
                    self.claude.messages.create(model="m", max_tokens=9, messages=HELLO, stream=stream)
                self.assertEqual((raised.exception.status_code, raised.exception.body["error"]["message"]), (502, "out of memory"))

    def test_an_error_after_text_leaves_no_answer_in_one_piece(self):
        self.fails_after("Half")
        with self.assertRaisesRegex(ollama.ResponseError, "out of memory"):
            self.llama.chat("m", HELLO)
        with self.assertRaisesRegex(openai.APIStatusError, "out of memory"):
            self.gpt.chat.completions.create(model="m", messages=HELLO)
        with self.assertRaisesRegex(anthropic.APIStatusError, "out of memory"):
            self.claude.messages.create(model="m", max_tokens=9, messages=HELLO)

    def test_a_chat_completion_is_parsed(self):
        self.says('{"name":"Oslo",', '"people":700000}')
        oslo = City(name="Oslo", people=700_000)
        answer = self.gpt.chat.completions.parse(model="m", messages=HELLO, response_format=City)
        self.assertEqual(answer.choices[0].message.parsed, oslo)
        with self.gpt.chat.completions.stream(model="m", messages=HELLO, response_format=City) as stream:
            self.assertEqual(stream.get_final_completion().choices[0].message.parsed, oslo)
        answer = self.llama.chat("m", HELLO, format=City.model_json_schema())
        self.assertEqual(City.model_validate_json(answer.message.content), oslo)
        answer = self.claude.messages.parse(model="m", max_tokens=99, messages=HELLO, output_format=City)
        self.assertEqual(answer.parsed_output, oslo)
        for number in range(4):
            self.assertEqual(set(self.model.exchange(number).request["format"]["properties"]), {"name", "people"})
