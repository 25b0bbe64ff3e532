"""The answers of the scripted model. A keyword in the last prompt chooses the script; `hello` answers everything else."""

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city"],
        },
    },
}

STORY = (
    "A small server stood at the edge of a quiet network. Every morning it opened its port and waited. "
    "Some requests were short and polite; others came half a character at a time.\n\n"
    "One day somebody asked for the history of the world. The server had room for a few thousand tokens, and "
    "most of those were taken. So it told about the river behind the house, about stones, and how a heron "
    "stands until water forgets that it is there.\n\n"
    "Nobody asked again.\n"
)

CODE = """Here:

```python
def f(x):
\treturn {"a": x, 'b': "\\\\n\\u00e9"}
```

| a | b |
|---|---|
| 1 | <b>&amp;</b> |
"""

HOSTILE = (
    b"one\r\ntwo\n\ndata: [DONE]\n\nevent: error\ndata: {\"error\": \"not one\"}\n\n{\"done\":true}\n"
    b"\x00NUL\x1b[31mESC\x7f \"quote\" \\back\xe2\x80\xa8LS\xe2\x80\xa9PS </script> <|im_start|> end"
)


def call(arguments, name="get_weather"):
    return '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>' % (name, arguments)


SCRIPTS = {
    "hello": "Hello! My answers are known beforehand. What can I do for you?",
    "count": ", ".join(map(str, range(1, 101))) + ".",
    "story": STORY,
    "code": CODE,
    "unicode": "Crème brûlée: 5 € 🍮🎉 — 日本語のテキスト、Здравствуй, мир! 👩‍👩‍👧‍👦 e\u0301 שלום مرحبا 🇳🇴 fin",
    "garbage": b"bad bytes: \xff\xfe then \xc3\x28 then \xe2\x82 then \xf0\x9f\x92 end",
    "adversarial": HOSTILE,
    "think": "<think>\nTwo and two are to be added. That is four.\n</think>\n\nThe answer is 4.",
    "json": '{"city": "Oslo", "temp_c": -3.5, "tags": ["cold", "\\u00e6"]}',
    # Typed answers of the Swift libraries; `requested` is a word of the question that they ask after calls of tools.
    "haiku": "Grey river at dusk,\nthe tower blinks over roofs;\na late train hums home.",
    "paper": '{"title": "Attention", "authors": "V. et al.", "abstract": "Heads attend.", "keywords": ["heads", "attention"]}',
    "user": '{"name": "Ada_1", "age": 36, "favoriteColors": ["red", "blue"]}',
    "requested": '{"temperature": -3, "conditions": "cold", "location": "Oslo"}',
    "empty": "",
    "forever": "la la la, di dum, and round again;\n",
    # `weather` and `both` choose these if the request has tools, and so does the answer of a tool.
    "weather": call('{"city": "Oslo", "unit": "celsius"}'),
    "both": call('{"city": "Bergen"}') + "\n" + call('{"city": "Bodø"}'),
    "san_francisco": call('{"location": "San Francisco"}', "WeatherTool"),
    # For the name of the person who said it before.
    "alice": "Your name is Alice.",
    "result": "The tool says that it is cold in Oslo.",
}

# A word alone does not choose these.
BY_CONDITION = ("hello", "weather", "both", "san_francisco", "alice", "result")
# Cut inside of characters, so that the server has to put them together.
CUT_ANYWHERE = ("unicode", "garbage")
# Its words are tokens of a prompt, too: the model continues a beginning in the request, as other models do.
CONTINUES = ("count", "story")
ENDLESS = ("forever",)
