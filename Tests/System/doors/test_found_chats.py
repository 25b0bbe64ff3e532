"""Chats of programs that name no conversation, through the packages of all APIs: each is found by the history that the package sends."""

import anthropic
import httpx
import ollama
import openai

from doors.door_test_case import CALL, TOOL, DoorTestCase
from harness.machine import TIMEOUT

# A PNG with one pixel.
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PROMPTS = ["Weather?", "A picture.", "Thanks ✓ "]


class FoundChatTests(DoorTestCase):
    """Two chats of each package take turns. They begin with the same words, and their system texts have the time in them. In each, the
    model reasons, speaks and calls a tool, gets its result, sees an image, and answers once more."""

    def setUp(self):
        super().setUp()
        self.fields = {"X-App-ID": self.app}
        self.clock = 0

        def script(exchange):
            last = exchange.request["messages"][-1]
            if last["content"] == "Weather?":
                exchange.write({"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False})
                exchange.say("Let me", " look. \n")
                exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": [CALL]}, "done": False})
            else:
                exchange.say("Grüße ", "🐣 \n\n")

        self.model.script = script

    def system(self):
        self.clock += 1
        return f"It is 10:{self.clock}."

    def run_chats(self, chat):
        """Runs two chats by turns. A chat is a generator that yields after each answer."""
        chats = [chat(), chat()]
        steps = 0
        while chats:
            for one in list(chats):
                try:
                    next(one)
                    steps += 1
                except StopIteration:
                    chats.remove(one)
        self.assertEqual(steps, 8)
        self.check_chats()

    def check_chats(self):
        http = self.enterContext(httpx.Client(base_url=self.url, timeout=TIMEOUT, headers=self.fields))
        chats = http.get("/conversations").json()["conversations"]
        self.assertEqual(len(chats), 2, chats)
        for chat in chats:
            page = http.get(f"/conversations/{chat['conversation']}?limit=200").json()["messages"]
            # The first text of the system is stored, unless it was the instructions of a response.
            page = [message for message in page if message["role"] != "system"]
            self.assertEqual(
                [(message["role"], message["content"].strip()) for message in page],
                [("user", "Weather?"), ("assistant", "Let me look."), ("tool", "rain"), ("assistant", "Grüße 🐣"),
                 ("user", "A picture."), ("assistant", "Grüße 🐣"), ("user", "Thanks ✓"), ("assistant", "Grüße 🐣")])
            self.assertTrue(all(message["active"] for message in page))
        for number in range(8):
            sent = self.model.exchange(number).request["messages"]
            # Both chats have sent the messages of their turn, with the system text of the request.
            self.assertEqual([message["role"] for message in sent],
                             ["system"] + [message["role"] for message in page[:(0, 2, 4, 6)[number // 2] + 1]])
            self.assertEqual(sent[0]["content"], f"It is 10:{number + 1}.")

    def test_ollamas_package(self):
        client = ollama.Client(self.url, headers=self.fields, timeout=TIMEOUT)
        tools = [{"type": "function", "function": TOOL}]

        def chat():
            messages = []
            for prompt in PROMPTS:
                messages.append({"role": "user", "content": prompt} | ({"images": [IMAGE]} if "picture" in prompt else {}))
                while True:
                    parts = list(client.chat(
                        "m", [{"role": "system", "content": self.system()}] + messages, tools=tools, stream=True, think=True))
                    text = "".join(part.message.content for part in parts)
                    calls = [call for part in parts for call in part.message.tool_calls or []]
                    messages.append({"role": "assistant", "content": text, "tool_calls": calls} if calls else
                                    {"role": "assistant", "content": text})
                    yield
                    if not calls:
                        break
                    messages.append({"role": "tool", "content": "rain", "tool_name": "weather"})

        self.run_chats(chat)

    def test_openais_package_with_chat_completions(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=TIMEOUT, max_retries=0, default_headers=self.fields)
        self.addCleanup(client.close)
        tools = [{"type": "function", "function": TOOL}]

        def chat():
            messages = []
            for prompt in PROMPTS:
                parts = [{"type": "text", "text": prompt}]
                if "picture" in prompt:
                    parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}})
                messages.append({"role": "user", "content": parts if len(parts) > 1 else prompt})
                while True:
                    instructions = {"role": "developer", "content": self.system()}
                    with client.chat.completions.stream(model="m", messages=[instructions] + messages, tools=tools) as stream:
                        message = stream.get_final_completion().choices[0].message
                    messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
                                    if message.tool_calls else {"role": "assistant", "content": message.content})
                    yield
                    if not message.tool_calls:
                        break
                    messages.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain"})

        self.run_chats(chat)

    def test_openais_package_with_responses(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=TIMEOUT, max_retries=0, default_headers=self.fields)
        self.addCleanup(client.close)
        tools = [{"type": "function", "name": "weather", "description": "d", "parameters": TOOL["parameters"], "strict": False}]

        def chat():
            items = []
            for prompt in PROMPTS:
                parts = [{"type": "input_text", "text": prompt}]
                if "picture" in prompt:
                    parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}"})
                items.append({"role": "user", "content": parts})
                while True:
                    with client.responses.stream(model="m", instructions=self.system(), input=items, tools=tools) as stream:
                        response = stream.get_final_response()
                    items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
                    for item in items:
                        for part in item["content"] if item.get("type") == "message" else []:
                            part.pop("parsed", None)
                    yield
                    calls = [item for item in response.output if item.type == "function_call"]
                    if not calls:
                        break
                    items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": "rain"})

        self.run_chats(chat)

    def test_anthropics_package(self):
        client = anthropic.Anthropic(base_url=self.url, api_key="none", timeout=TIMEOUT, max_retries=0, default_headers=self.fields)
        self.addCleanup(client.close)
        tools = [{"name": "weather", "description": TOOL["description"], "input_schema": TOOL["parameters"]}]

        def chat():
            messages = []
            for prompt in PROMPTS:
                blocks = [{"type": "text", "text": prompt}]
                if "picture" in prompt:
                    blocks.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}})
                messages.append({"role": "user", "content": blocks})
                while True:
                    with client.messages.stream(
                            model="m", max_tokens=99, system=self.system(), messages=messages, tools=tools) as stream:
                        message = stream.get_final_message()
                    messages.append({"role": "assistant", "content": message.content})
                    yield
                    calls = [block for block in message.content if block.type == "tool_use"]
                    if not calls:
                        break
                    result = {"type": "tool_result", "tool_use_id": calls[0].id, "content": "rain"}
                    messages.append({"role": "user", "content": [result]})

        self.run_chats(chat)
