"""The clients of Ollama, OpenAI and Anthropic at chatterd's front doors. Run by script/test doors."""

import json
from concurrent.futures import ThreadPoolExecutor

import anthropic
import httpx
import ollama
import openai
import pydantic

from doors.door_test_case import ADMIN_TOKEN, CALL, TOOL, DoorTestCase
from harness.client import ask, stream
from harness.machine import TIMEOUT
from harness.model import speech


class OllamaTests(DoorTestCase):
    def setUp(self):
        super().setUp()
        # The client that leaves must not keep the model busy.
        self.client = ollama.Client(self.url, headers={"On-Disconnect": "cancel"}, timeout=TIMEOUT)

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = speech(40)
        self.says(*pieces)
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße 🐣"}]
        parts = list(self.client.chat("m", messages, stream=True, options={"seed": 7}))
        self.assertEqual("".join(part.message.content for part in parts), "".join(pieces))
        self.assertEqual((parts[-1].done, parts[-1].done_reason, parts[-1].eval_count), (True, "stop", 7))
        messages += [{"role": "assistant", "content": "".join(pieces)}, {"role": "user", "content": "And?"}]
        whole = self.client.chat("m", messages)
        self.assertEqual(whole.message.content, "".join(pieces))
        self.assertEqual(self.model.exchange(1).prompts, [(m["role"], m["content"]) for m in messages])
        self.assertEqual(self.model.exchange().request["options"]["seed"], 7)

    def test_text_is_generated(self):
        self.says("One", " two")
        self.assertEqual(self.client.generate("m", "Count.", system="Be brief.").response, "One two")
        parts = list(self.client.generate("m", "Count.", stream=True))
        self.assertEqual([part.response for part in parts], ["One", " two", ""])
        self.assertEqual(self.model.exchange().prompts, [("system", "Be brief."), ("user", "Count.")])

    def test_a_tool_is_called_and_answered(self):
        self.calls()
        tools = [{"type": "function", "function": TOOL}]
        messages = [{"role": "user", "content": "Weather?"}]
        answer = self.client.chat("m", messages, tools=tools)
        call = answer.message.tool_calls[0].function
        self.assertEqual((call.name, call.arguments), ("weather", CALL["function"]["arguments"]))
        self.says("Rain.")
        messages += [answer.message, {"role": "tool", "content": "rain", "tool_name": "weather"}]
        self.assertEqual(self.client.chat("m", messages, tools=tools).message.content, "Rain.")
        sent = self.model.exchange(1).request["messages"]
        self.assertEqual(sent[1]["tool_calls"][0]["function"]["arguments"], CALL["function"]["arguments"])
        self.assertEqual((sent[2]["role"], sent[2]["tool_name"]), ("tool", "weather"))

    def test_errors_are_raised(self):
        self.fails_after("Half")
        received = []
        with self.assertRaisesRegex(ollama.ResponseError, "out of memory"):
            for part in self.client.chat("m", [{"role": "user", "content": "Hi"}], stream=True):
                received.append(part.message.content)
        self.assertEqual(received, ["Half"])

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        stream = self.client.chat("m", [{"role": "user", "content": "Hi"}], stream=True)
        self.assertEqual(next(stream).message.content, "One")
        stream.close()
        self.assert_model_is_left()

    def test_models_are_listed_and_shown(self):
        # The models of the built-in server follow.
        self.assertEqual(self.client.list().models[0].model, "m:latest")
        self.model.shown = {"capabilities": ["completion", "vision"], "license": "MIT", "model_info": {}}
        shown = self.client.show("m")
        self.assertEqual((shown.capabilities, shown.license), (["completion", "vision"], "MIT"))
        self.assertEqual(list(self.client.ps().models), [])
        with self.assertRaises(ollama.ResponseError) as raised:
            self.client.show("none")
        self.assertEqual((raised.exception.status_code, raised.exception.error), (404, "model 'none' not found"))

    def test_a_model_is_pulled_by_an_administrator(self):
        self.answers({"status": "pulling manifest"}, {"status": "pulling 6a07", "total": 2, "completed": 1}, {"status": "success"})
        with self.assertRaises(ollama.ResponseError) as raised:
            self.client.pull("new")
        self.assertEqual(raised.exception.status_code, 401)
        administrator = ollama.Client(self.url, headers={"Authorization": f"Bearer {ADMIN_TOKEN}"}, timeout=TIMEOUT)
        progress = list(administrator.pull("new", stream=True))
        self.assertEqual([step.status for step in progress], ["pulling manifest", "pulling 6a07", "success"])
        self.assertEqual((progress[1].total, progress[1].completed), (2, 1))
        self.assertEqual(self.model.exchange().request["model"], "new")


class OpenAITests(DoorTestCase):
    def setUp(self):
        super().setUp()
        self.client = openai.OpenAI(
            base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT,
            default_headers={"On-Disconnect": "cancel"},
        )
        self.completions = self.client.chat.completions

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = speech(40)
        self.says(*pieces)
        messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Grüße 🐣"}]
        chunks = list(self.completions.create(
            model="m", messages=messages, stream=True, stream_options={"include_usage": True}, max_completion_tokens=9,
        ))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.assertEqual(text, "".join(pieces))
        self.assertEqual((chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens), (2, 7))
        self.assertEqual(chunks[-2].choices[0].finish_reason, "stop")
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": [{"type": "text", "text": "And?"}]}]
        whole = self.completions.create(model="m", messages=messages)
        self.assertEqual(whole.choices[0].message.content, text)
        self.assertEqual(
            self.model.exchange(1).prompts,
            [("system", "Be brief."), ("user", "Grüße 🐣"), ("assistant", text), ("user", "And?")])
        self.assertEqual(self.model.exchange().request["options"]["num_predict"], 9)

    def test_a_tool_is_called_and_answered(self):
        self.calls()
        tools = [{"type": "function", "function": TOOL}]
        messages = [{"role": "user", "content": "Weather?"}]
        with self.completions.stream(model="m", messages=messages, tools=tools) as stream:
            message = stream.get_final_completion().choices[0]
        self.assertEqual(message.finish_reason, "tool_calls")
        call = message.message.tool_calls[0]
        self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("weather", CALL["function"]["arguments"]))
        self.says("Rain.")
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call.model_dump(exclude={"index"})]},
            {"role": "tool", "tool_call_id": call.id, "content": "rain"},
        ]
        answer = self.completions.create(model="m", messages=messages, tools=tools)
        self.assertEqual(answer.choices[0].message.content, "Rain.")
        sent = self.model.exchange(1).request["messages"]
        self.assertEqual(sent[1]["tool_calls"][0]["function"]["arguments"], CALL["function"]["arguments"])
        self.assertEqual((sent[2]["role"], sent[2]["tool_name"]), ("tool", "weather"))

    def test_errors_are_raised(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], n=2)
        self.assertEqual((raised.exception.param, raised.exception.code), ("n", "invalid_request"))
        with self.assertRaisesRegex(openai.BadRequestError, "no tokens") as raised:
            self.client.embeddings.create(model="m", input=[1, 2])
        self.assertEqual(raised.exception.param, "input")
        self.fails_after("Half")
        received = []
        with self.assertRaisesRegex(openai.APIError, "out of memory"):
            for chunk in self.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True):
                received.append(chunk.choices[0].delta.content)
        self.assertEqual("".join(received), "Half")

    def test_texts_become_vectors(self):
        self.answers({"embeddings": [[1, -0.5], [0.25, 0]], "prompt_eval_count": 4})
        # The package asks for Base64 and decodes it, unless the caller names a format.
        for options in ({}, {"encoding_format": "float"}):
            answer = self.client.embeddings.create(model="m", input=["a", "b"], **options)
            self.assertEqual([item.embedding for item in answer.data], [[1, -0.5], [0.25, 0]])
            self.assertEqual(answer.usage.prompt_tokens, 4)

    def test_a_text_is_completed(self):
        lines = [{"response": "One", "done": False}, {"response": " two", "done": False}]
        end = {"response": "", "done": True, "done_reason": "length", "prompt_eval_count": 2, "eval_count": 7}
        self.answers(*lines, end)
        chunks = list(self.client.completions.create(
            model="m", prompt="Zero", stream=True, stream_options={"include_usage": True}, max_tokens=7))
        self.assertEqual([chunk.choices[0].text for chunk in chunks if chunk.choices], ["One", " two", ""])
        self.assertEqual((chunks[-2].choices[0].finish_reason, chunks[-1].usage.completion_tokens), ("length", 7))
        self.answers(end | {"response": "One two"})
        self.assertEqual(self.client.completions.create(model="m", prompt="Zero").choices[0].text, "One two")
        self.answers(*lines)
        with self.assertRaisesRegex(openai.APIError, "before it was complete"):
            list(self.client.completions.create(model="m", prompt="Zero", stream=True))

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        stream = self.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True)
        self.assertEqual([next(stream).choices[0].delta.content for _ in range(2)], ["", "One"])
        stream.close()
        self.assert_model_is_left()

    def test_models_are_listed(self):
        self.assertEqual(list(self.client.models.list())[0].id, "m:latest")
        self.assertEqual(self.client.models.retrieve("m").id, "m:latest")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("none")


class City(pydantic.BaseModel):
    name: str
    people: int


class ResponseTests(DoorTestCase):
    """Responses of the package openai."""

    def setUp(self):
        super().setUp()
        self.client = openai.OpenAI(
            base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT,
            default_headers={"On-Disconnect": "cancel", "X-App-ID": self.app},
        )
        self.addCleanup(self.client.close)
        self.responses = self.client.responses

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = speech(40)
        self.says(*pieces)
        with self.responses.stream(model="m", instructions="Be brief.", input="Grüße 🐣") as stream:
            response = stream.get_final_response()
        self.assertEqual(response.output_text, "".join(pieces))
        self.assertEqual((response.status, response.usage.input_tokens, response.usage.output_tokens), ("completed", 2, 7))
        self.assertEqual(self.responses.retrieve(response.id).output_text, response.output_text)
        whole = self.responses.create(model="m", input="And?", previous_response_id=response.id, max_output_tokens=90)
        self.assertEqual(whole.output_text, "".join(pieces))
        self.assertEqual(
            self.model.exchange(1).prompts, [("user", "Grüße 🐣"), ("assistant", "".join(pieces)), ("user", "And?")])
        self.assertEqual(self.model.exchange().prompts[0], ("system", "Be brief."))
        self.assertEqual([item.role for item in self.responses.input_items.list(whole.id)], ["user"])

    def test_a_tool_is_called_and_answered(self):
        self.calls()
        tools = [{"type": "function", "name": "weather", "description": "d", "parameters": TOOL["parameters"], "strict": False}]
        with self.responses.stream(model="m", input="Weather?", tools=tools) as stream:
            response = stream.get_final_response()
        call = response.output[0]
        self.assertEqual((call.type, call.name, json.loads(call.arguments)), ("function_call", "weather", CALL["function"]["arguments"]))
        self.says("Rain.")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        answer = self.responses.create(model="m", input=[result], previous_response_id=response.id, tools=tools)
        self.assertEqual(answer.output_text, "Rain.")
        again = self.responses.create(
            model="m", input=[{"role": "user", "content": "Weather?"}, call.model_dump(), result], tools=tools, store=False)
        self.assertEqual(again.output_text, "Rain.")
        for number in (1, 2):
            sent = self.model.exchange(number).request["messages"]
            self.assertEqual(sent[1]["tool_calls"][0]["function"]["arguments"], CALL["function"]["arguments"])
            self.assertEqual((sent[2]["role"], sent[2]["tool_name"], sent[2]["content"]), ("tool", "weather", "rain"))

    def test_an_answer_is_parsed(self):
        self.says('{"name":"Oslo",', '"people":700000}')
        answer = self.responses.parse(model="m", input="A city.", text_format=City)
        self.assertEqual(answer.output_parsed, City(name="Oslo", people=700_000))
        self.assertEqual(set(self.model.exchange().request["format"]["properties"]), {"name", "people"})

    def test_reasoning_is_an_item(self):
        def script(exchange):
            exchange.write({"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False})
            exchange.say("Yes.")

        self.model.script = script
        answer = self.responses.create(model="m", input="Hi", reasoning={"effort": "low"})
        self.assertEqual(answer.output[0].content[0].text, "hm")
        self.assertEqual(answer.output_text, "Yes.")
        self.assertEqual(self.model.exchange().request["think"], "low")

    def test_a_response_in_the_background_is_continued(self):
        self.says_then_waits(["One ", "two "], ["three ", "four"])
        stream = self.responses.create(model="m", input="Count.", background=True, stream=True)
        received, events = "", []
        for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                received += event.delta
            if received == "One two ":
                break
        stream.close()
        identity = events[0].response.id
        self.assertEqual(events[0].response.status, "queued")
        self.assertEqual(self.responses.retrieve(identity).status, "in_progress")
        self.proceed.set()
        for event in self.responses.retrieve(identity, stream=True, starting_after=events[-1].sequence_number):
            self.assertGreater(event.sequence_number, events[-1].sequence_number)
            events.append(event)
            if event.type == "response.output_text.delta":
                received += event.delta
        self.assertEqual((received, events[-1].type), ("One two three four", "response.completed"))
        self.assertEqual(events[-1].response.output_text, received)
        self.responses.delete(identity)
        with self.assertRaises(openai.NotFoundError):
            self.responses.retrieve(identity)

    def test_a_response_without_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        response = self.responses.create(model="m", input="Hi", background=True)
        self.model.exchange()
        self.assertEqual(self.responses.cancel(response.id).status, "cancelled")
        self.assert_model_is_left()

    def test_errors_are_raised(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.responses.create(model="m", input="Hi", tools=[{"type": "web_search"}], tool_choice="required")
        self.assertEqual((raised.exception.param, raised.exception.code), ("tool_choice", "invalid_request"))
        with self.assertRaises(openai.NotFoundError):
            self.responses.create(model="m", input="Hi", previous_response_id="resp_none")
        self.fails_after("Half")
        with self.assertRaisesRegex(openai.APIStatusError, "out of memory"):
            self.responses.create(model="m", input="Hi")
        events = list(self.responses.create(model="m", input="Hi", stream=True))
        self.assertEqual(events[-1].type, "response.failed")
        self.assertEqual((events[-1].response.error.message, events[-1].response.output_text), ("out of memory", "Half"))

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        stream = self.responses.create(model="m", input="Hi", stream=True)
        for event in stream:
            if event.type == "response.output_text.delta":
                break
        stream.close()
        self.assert_model_is_left()

    def test_a_response_survives_a_killed_server(self):
        self.says_then_waits(["One ", "two "])
        response = self.responses.create(model="m", input="Count.", background=True)
        self.model.exchange()
        stream = self.responses.retrieve(response.id, stream=True)
        for event in stream:
            if event.type == "response.output_text.delta" and event.delta.endswith("two "):
                break
        last = event.sequence_number
        self.server.kill()
        self.proceed.set()
        self.server.restart()
        rest = list(self.responses.retrieve(response.id, stream=True, starting_after=last))
        self.assertEqual(rest[-1].type, "response.failed")
        self.assertEqual(rest[-1].response.error.code, "interrupted")
        self.assertTrue("One two ".startswith(rest[-1].response.output_text))
        self.assertEqual(self.responses.retrieve(response.id).status, "failed")


class ConversationTests(DoorTestCase):
    """Conversations of the package openai, and the session of openai-agents that keeps its items in one."""

    def setUp(self):
        super().setUp()
        self.client = openai.OpenAI(
            base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT, default_headers={"X-App-ID": self.app})
        self.addCleanup(self.client.close)
        self.conversations, self.items = self.client.conversations, self.client.conversations.items

    def listed(self, conversation):
        return list(self.items.list(conversation, order="asc"))

    def texts(self, conversation):
        return ["".join(part.text for part in item.content) for item in self.listed(conversation)]

    def run_agent(self, conversation, *prompts):
        """A run of an agent: it reads all items, sends them as input, and adds the new ones."""
        new = [{"role": "user", "content": text} for text in prompts]
        sent = [item.model_dump(exclude_unset=True) for item in self.listed(conversation)]
        while True:
            response = self.client.responses.create(model="m", input=sent + new, tools=[{"type": "function"} | TOOL | {"strict": False}])
            new += [item.model_dump(exclude_unset=True) for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                break
            new += [{"type": "function_call_output", "call_id": call.call_id, "output": "rain"} for call in calls]
        added = self.items.create(conversation, items=new)
        self.assertEqual([item.id for item in self.listed(conversation)][-len(new):], [item.id for item in added.data])
        return response.output_text

    def test_metadata_is_kept(self):
        made = self.conversations.create(metadata={"topic": "demo"})
        self.assertEqual(made.metadata, {"topic": "demo"})
        changed = self.conversations.update(made.id, metadata={"title": "A week", "mood": "fine"})
        self.assertEqual(changed.metadata, {"title": "A week", "mood": "fine"})
        self.assertEqual(self.conversations.retrieve(made.id).metadata, changed.metadata)
        with self.assertRaises(openai.BadRequestError):
            self.conversations.create(metadata={str(number): "a" for number in range(17)})

    def test_a_session_keeps_its_items_here(self):
        conversation = self.conversations.create(items=[]).id
        self.calls_then_says("Rain ", "in Ålesund.")
        self.assertEqual(self.run_agent(conversation, "Weather?"), "Rain in Ålesund.")
        self.assertEqual([item.type for item in self.listed(conversation)],
                         ["message", "function_call", "function_call_output", "message"])
        self.says("The same.")
        self.assertEqual(self.run_agent(conversation, "And now?"), "The same.")
        sent = self.model.exchange(2).request["messages"]
        self.assertEqual([message["role"] for message in sent], ["user", "assistant", "tool", "assistant", "user"])
        self.assertEqual((sent[1]["tool_calls"][0]["function"]["name"], sent[3]["content"]), ("weather", "Rain in Ålesund."))
        # A response that names the conversation gets the same messages.
        self.client.responses.create(model="m", input="More.", conversation=conversation)
        self.assertEqual([message["role"] for message in self.model.exchange(3).request["messages"]],
                         [message["role"] for message in sent] + ["assistant", "user"])

    def test_the_last_items_are_popped(self):
        conversation = self.conversations.create(items=[{"role": "user", "content": "0"}]).id
        self.items.create(conversation, items=[{"role": "user", "content": str(number)} for number in range(1, 25)])
        self.assertEqual(self.texts(conversation), [str(number) for number in range(25)])
        first = self.listed(conversation)[0]
        with self.assertRaises(openai.ConflictError) as raised:
            self.items.delete(first.id, conversation_id=conversation)
        self.assertEqual(raised.exception.code, "reply_not_complete")
        for number in reversed(range(25)):
            last = next(iter(self.items.list(conversation, limit=1, order="desc")))
            self.assertEqual(last.content[0].text, str(number))
            self.assertEqual(self.items.delete(last.id, conversation_id=conversation).id, conversation)
            with self.assertRaises(openai.NotFoundError):
                self.items.delete(last.id, conversation_id=conversation)
        self.assertEqual(self.listed(conversation), [])
        self.conversations.delete(conversation)
        with self.assertRaises(openai.NotFoundError):
            self.items.create(conversation, items=[{"role": "user", "content": "a"}])

    def test_additions_at_once_do_not_mix(self):
        conversation = self.conversations.create().id

        def add(number):
            items = [{"role": "user", "content": f"{number}.{index}"} for index in range(3)]
            return [item.id for item in self.items.create(conversation, items=items).data]

        with ThreadPoolExecutor(8) as pool:
            added = list(pool.map(add, range(16)))
        listed = [item.id for item in self.listed(conversation)]
        groups = [listed[start:start + 3] for start in range(0, len(listed), 3)]
        self.assertEqual(sorted(groups), sorted(added))
        texts = self.texts(conversation)
        self.assertEqual([text.split(".")[1] for text in texts], ["0", "1", "2"] * 16)

    def test_of_two_deletions_at_once_each_removes_its_item_once(self):
        conversation = self.conversations.create(
            items=[{"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"} for number in range(9)]).id

        def pop(_):
            try:
                last = next(iter(self.items.list(conversation, limit=1, order="desc")))
                self.items.delete(last.id, conversation_id=conversation)
                return last.id
            except (openai.ConflictError, openai.NotFoundError):
                return None

        with ThreadPoolExecutor(4) as pool:
            popped = [item for item in pool.map(pop, range(8)) if item]
        self.assertEqual(len(set(popped)), len(popped))
        self.assertEqual([item.call_id for item in self.listed(conversation)], [f"c{number}" for number in range(9 - len(popped))])

    def test_faulty_items_are_refused(self):
        conversation = self.conversations.create().id
        for items in ([], [{"type": "item_reference", "id": "msg_1"}], [{"type": "computer_call", "id": "x"}],
                      [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]):
            with self.subTest(items=items), self.assertRaises(openai.BadRequestError):
                self.items.create(conversation, items=items)
        self.assertEqual(self.listed(conversation), [])


class OneMemoryTests(DoorTestCase):
    """One conversation through the packages of all APIs."""

    def test_every_package_continues_the_same_conversation(self):
        fields = {"X-App-ID": self.app, "X-Conversation-ID": "trip"}
        gpt = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=TIMEOUT, default_headers=fields)
        claude = anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0, timeout=TIMEOUT, default_headers=fields)
        llama = ollama.Client(self.url, headers=fields, timeout=TIMEOUT)
        http = httpx.Client(base_url=self.url, headers=fields, timeout=TIMEOUT)
        for client in (gpt, claude, http):
            self.addCleanup(client.close)
        history = []

        def native(text):
            # With the parser of the tutorial: each line of data is an object.
            return ask(self.url, text, self.app, model="m", conversation="trip")

        def messages(text):
            return history + [{"role": "user", "content": text}]

        def raw(text):
            answer = http.post("/v1/responses", json={"model": "m", "input": text, "conversation": "trip"}).json()
            return answer["output"][0]["content"][0]["text"]

        def parsed(text):
            page = http.get(f"/conversations/trip?appID={self.app}").json()["messages"]
            last = next(message["id"] for message in reversed(page) if "id" in message)
            return gpt.responses.create(model="m", input=text, previous_response_id=f"resp_{last}").output_text

        turns = [
            native, lambda text: llama.chat("m", messages(text)).message.content,
            lambda text: gpt.chat.completions.create(model="m", messages=messages(text)).choices[0].message.content,
            lambda text: gpt.responses.create(model="m", input=messages(text)).output_text, parsed,
            lambda text: claude.messages.create(model="m", max_tokens=9, messages=messages(text)).content[0].text, raw, native,
        ]
        feed = None
        for number, take_turn in enumerate(turns):
            answer = f"Answer {number} Grüße 🐣 \n"
            self.says(answer)
            prompt = f"Prompt {number} ✓\n"
            self.assertEqual(take_turn(prompt), answer, number)
            history += [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
            sent = [{"role": role, "content": text} for role, text in self.model.exchange(number).prompts]
            self.assertEqual(sent, history[:-1], number)
            page = http.get(f"/conversations/trip?appID={self.app}").json()["messages"]
            self.assertEqual([{"role": m["role"], "content": m["content"]} for m in page], history)
            self.assertTrue(all(message["active"] for message in page))
            # The items of the responses API are the same, byte for byte; the other APIs show a history only to the model.
            items = gpt.conversations.items.list("trip", order="asc", limit=100)
            self.assertEqual([(item.role, "".join(part.text for part in item.content)) for item in items],
                             [(message["role"], message["content"]) for message in history])
            shown = gpt.responses.retrieve(f"resp_{page[-1]['id']}")
            self.assertEqual((shown.output_text, shown.status), (answer, "completed"))
            self.assertEqual([item.content[0].text for item in gpt.responses.input_items.list(shown.id)], [prompt])
            if feed is None:
                feed = self.feed()
            else:
                self.assert_feed_shows(feed, prompt, page[-1]["id"])

    def feed(self):
        """The feed of the conversation from now on, as an iterator of events."""
        lines = self.enterContext(stream(self.url, path=f"/conversations/trip/events?appID={self.app}"))

        def read():
            kind = None
            while True:
                line = lines.readline().decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield kind, json.loads(line.removeprefix("data: "))

        found = read()
        # What is there already is in the first event.
        self.assertEqual(next(found)[0], "conversation")
        return found

    def assert_feed_shows(self, feed, prompt, reply):
        """The next events of the feed are those of one turn."""
        kind, data = next(feed)
        self.assertEqual((kind, data["role"], data["content"]), ("prompt", "user", prompt))
        kind, data = next(feed)
        self.assertEqual((kind, data["id"], data["state"]), ("reply", reply, "streaming"))
        kind, data = next(feed)
        self.assertEqual((kind, data["id"], data["state"]), ("end", reply, "complete"))


class AnthropicTests(DoorTestCase):
    def setUp(self):
        super().setUp()
        self.client = anthropic.Anthropic(
            base_url=self.url, api_key="none", max_retries=0, timeout=TIMEOUT, default_headers={"On-Disconnect": "cancel"})

    def test_a_conversation_is_streamed_and_sent_in_one_piece(self):
        pieces = speech(40)
        self.says(*pieces)
        messages = [{"role": "user", "content": "Grüße 🐣"}]
        with self.client.messages.stream(model="m", max_tokens=9, system="Be brief.", messages=messages) as stream:
            message = stream.get_final_message()
        text = message.content[0].text
        self.assertEqual(text, "".join(pieces))
        self.assertEqual((message.stop_reason, message.usage.input_tokens, message.usage.output_tokens), ("end_turn", 2, 7))
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": "And?"}]
        whole = self.client.messages.create(model="m", max_tokens=9, messages=messages)
        self.assertEqual(whole.content[0].text, text)
        self.assertEqual(self.model.exchange().prompts, [("system", "Be brief."), ("user", "Grüße 🐣")])
        self.assertEqual(
            self.model.exchange(1).prompts, [("user", "Grüße 🐣"), ("assistant", text), ("user", "And?")])

    def test_a_tool_is_called_and_answered(self):
        self.calls()
        tools = [{"name": "weather", "description": TOOL["description"], "input_schema": TOOL["parameters"]}]
        messages = [{"role": "user", "content": "Weather?"}]
        with self.client.messages.stream(model="m", max_tokens=9, messages=messages, tools=tools) as stream:
            message = stream.get_final_message()
        call = message.content[-1]
        self.assertEqual((message.stop_reason, call.name, call.input), ("tool_use", "weather", CALL["function"]["arguments"]))
        self.says("Rain.")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        answer = self.client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
        self.assertEqual(answer.content[0].text, "Rain.")
        sent = self.model.exchange(1).request["messages"]
        self.assertEqual((sent[2]["role"], sent[2]["tool_name"], sent[2]["content"]), ("tool", "weather", "rain"))

    def test_errors_are_raised(self):
        hello = [{"role": "user", "content": "Hi"}]
        with self.assertRaises(anthropic.BadRequestError) as raised:
            self.client.messages.create(model="m", max_tokens=0, messages=hello)
        self.assertEqual(raised.exception.body["error"]["type"], "invalid_request_error")
        self.fails_after("Half")
        with self.assertRaisesRegex(anthropic.APIError, "out of memory"):
            with self.client.messages.stream(model="m", max_tokens=9, messages=hello) as stream:
                self.assertEqual(list(stream.text_stream), ["Half"])

    def test_a_stream_is_cancelled(self):
        self.says_then_waits(["One"])
        hello = [{"role": "user", "content": "Hi"}]
        with self.client.messages.stream(model="m", max_tokens=9, messages=hello) as stream:
            self.assertEqual(next(iter(stream.text_stream)), "One")
        self.assert_model_is_left()

    def test_models_are_listed_and_tokens_are_estimated(self):
        self.assertEqual(list(self.client.models.list())[0].id, "m:latest")
        count = self.client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "word " * 100}])
        self.assertGreater(count.input_tokens, 50)


class FirstRequestTests(DoorTestCase):
    """The first requests of `ollama run`, of oterm and of Open WebUI."""

    def test_ollamas_own_program_finds_an_ollama(self):
        with httpx.Client(base_url=self.url, timeout=TIMEOUT) as client:
            self.assertEqual(client.head("/").status_code, 200)
            self.assertIn("version", client.get("/api/version").json())
            nothing = client.post("/api/chat", json={"messages": [{"role": "user", "content": "Hi"}]})
            self.assertEqual((nothing.status_code, nothing.json()), (400, {"error": "model is required"}))
            shown = client.post("/api/show", json={"model": "m"}).json()
            self.assertLessEqual({"capabilities", "details", "model_info"}, set(shown))
            listed = client.get("/api/tags").json()["models"][0]
            self.assertLessEqual({"name", "model", "modified_at", "size", "digest", "details"}, set(listed))
            self.says("Hello.")
            body = {"model": "m", "prompt": "Hi", "suffix": "", "system": "", "template": "", "options": {}, "think": True}
            answer = client.post("/api/generate", json=body)
            self.assertEqual(answer.headers["Content-Type"], "application/x-ndjson")
            self.assertIn('"response":"Hello."', answer.text)
            self.assertEqual(self.model.exchange().request["think"], True)
