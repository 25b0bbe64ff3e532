"""Requests that programs send to the front doors, and what becomes of them: the rows of `test_field`."""

from dataclasses import dataclass, field

CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
MESSAGES, COUNT, OLLAMA, EMBEDDINGS = "/v1/messages", "/v1/messages/count_tokens", "/api/chat", "/v1/embeddings"


@dataclass(frozen=True)
class Row:
    """A request to a door. The model `m` is an Ollama's, `g` one of a server of kind `openai`."""

    says: str
    path: str
    body: object
    """JSON, or bytes as they are."""
    ignored: str = ""
    """The paths in X-Ignored-Members, in any order. A server with strict doors refuses the request, and names one of them."""
    sent: object = None
    """What of it the model server gets, as in the fixtures."""
    lacks: tuple = ()
    """Texts that the request to the model server does not have."""
    answer: object = None
    """What the answer has, as in the fixtures."""
    refused: str = ""
    """A pattern of the message of a refusal with 400. No model server is asked."""
    fields: dict = field(default_factory=dict)


def said(role, content, **members):
    return {"role": role, "content": content} | members


def chat(*messages, **members):
    return {"model": "m", "messages": list(messages) or [HI]} | members


def claude(*messages, **members):
    return chat(*messages, **{"max_tokens": 100} | members)


def respond(*items, **members):
    return {"model": "m", "input": list(items) or "hi"} | members


def text(words):
    return {"type": "text", "text": words}


def image(url, **members):
    return {"type": "image_url", "image_url": {"url": url} | members}


HI, OK, ON = said("user", "hi"), said("assistant", "ok"), said("user", "go on")
SCHEMA = {"type": "object", "properties": {}}
FUNCTION = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
CLAUDE_TOOL = {"name": "f", "description": "d", "input_schema": SCHEMA}
RESPONSE_TOOL = {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}
USE = {"type": "tool_use", "id": "t", "name": "search", "input": {}}
PATCH = {"type": "custom", "name": "apply_patch", "description": "d",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"}}
MCP = {"type": "namespace", "name": "mcp__github", "description": "Tools in the mcp__github namespace.", "tools": [
    {"type": "function", "name": "search", "description": "d", "strict": False, "parameters": SCHEMA},
    {"type": "function", "name": "star", "description": "d", "strict": False, "parameters": SCHEMA}]}
"""The tools of an MCP server, as Codex sends them."""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
AVIF = "data:image/avif;base64,AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZg=="


def result(*blocks):
    """A call of a tool, and its result."""
    content = [{"type": "tool_result", "tool_use_id": "t", "content": list(blocks)}]
    return HI, said("assistant", [USE]), said("user", content)


CLAUDE_ROWS = [
    Row("Claude Code sends a system message after the prompt", MESSAGES,
        claude(HI, said("system", [text("Be concise.")]), system="You are helpful."),
        sent={"messages": [said("system", "You are helpful."), HI, said("system", "Be concise.")]}),
    Row("Claude Code counts tokens of a system message after the prompt", COUNT, chat(HI, said("system", [text("Be concise.")])),
        answer={"input_tokens": "<integer>"}),
    Row("Claude Code sends context_management", MESSAGES + "?beta=true",
        claude(context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}, thinking={"type": "adaptive"}),
        ignored="context_management", sent={"think": True}, lacks=("context_management",),
        fields={"anthropic-beta": "context-management-2025-06-27", "anthropic-version": "2023-06-01"}),
    Row("Claude Code sends flags of tools", MESSAGES,
        claude(tools=[CLAUDE_TOOL | {"eager_input_streaming": True, "defer_loading": True, "input_examples": [{}],
                                     "allowed_callers": ["direct"], "cache_control": {"type": "ephemeral"}}]),
        ignored="tools[].eager_input_streaming, tools[].defer_loading, tools[].input_examples, tools[].allowed_callers",
        sent={"tools": [FUNCTION]}, lacks=("eager_input_streaming", "defer_loading", "input_examples", "allowed_callers")),
    Row("cache_control has no effect and is not named", MESSAGES,
        claude(said("user", [text("hi") | {"cache_control": {"type": "ephemeral"}}]), cache_control={"type": "ephemeral"}),
        sent={"messages": [HI]}, lacks=("cache_control",)),
    Row("Claude Code sends tools that Anthropic runs beside its own", MESSAGES,
        claude(tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, CLAUDE_TOOL,
                      {"type": "bash_20250124", "name": "bash"}]),
        ignored="tools[]", sent={"tools": [FUNCTION]}, lacks=("web_search", "bash")),
    Row("a program sends only a tool that Anthropic runs", MESSAGES,
        claude(tools=[{"type": "web_search_20250305", "name": "web_search"}]), ignored="tools[]", lacks=("tools",)),
    Row("a program requires a tool that Anthropic runs", MESSAGES,
        claude(tools=[{"type": "web_search_20250305", "name": "web_search"}, CLAUDE_TOOL],
               tool_choice={"type": "tool", "name": "web_search"}), refused="tool_choice"),
    Row("Claude Code's search of tools finds a tool", MESSAGES, claude(*result({"type": "tool_reference", "tool_name": "f"})),
        sent={"messages": [HI, said("assistant", ""), said("tool", "f", tool_name="search")]}),
    Row("a history of Claude has redacted thoughts", MESSAGES,
        claude(HI, said("assistant", [{"type": "redacted_thinking", "data": "EuYBCoYB"}, text("ok")]), ON),
        ignored="messages[].content[]", sent={"messages": [HI, OK, ON]}, lacks=("EuYBCoYB",)),
    Row("a history of Claude has signed thoughts", MESSAGES,
        claude(HI, said("assistant", [{"type": "thinking", "thinking": "hm", "signature": "EuYB"}, text("ok")]), ON),
        sent={"messages": [HI, OK | {"thinking": "hm"}, ON]}),
    Row("a document is a text", MESSAGES,
        claude(said("user", [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The report."}},
                             text("Sum it up.")])),
        sent={"messages": [said("user", "The report.\nSum it up.")]}),
    Row("the result of a tool is a document", MESSAGES,
        claude(*result({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The report."}})),
        sent={"messages": [HI, said("assistant", ""), said("tool", "The report.")]}),
    Row("a document is a PDF", MESSAGES,
        claude(said("user", [text("Sum it up."), {"type": "document", "source": {
            "type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}])), refused=r"messages\[0\]\.content\[1\]"),
    Row("a newer client sends members that nobody knows", MESSAGES,
        claude(said("user", [text("hi") | {"origin": "paste"}], uuid="1"), speed="fast"),
        ignored="speed, messages[].uuid, messages[].content[].origin", sent={"messages": [HI]}, lacks=("speed", "uuid", "paste")),
    Row("a prompt of Claude Code has several blocks of text", MESSAGES, claude(said("user", [text("a"), text("b")])),
        sent={"messages": [said("user", "a\nb")]}),
    Row("a client sends a limit of tokens with a point", MESSAGES, claude(max_tokens=4096.0), sent={"options": {"num_predict": 4096}}),
    Row("a client sends a limit of tokens with an exponent", MESSAGES,
        b'{"model":"m","max_tokens":4.096e3,"messages":[{"role":"user","content":"hi"}]}', sent={"options": {"num_predict": 4096}}),
    Row("a limit of no tokens is refused", MESSAGES, claude(max_tokens=0), refused="max_tokens"),
]

CHAT_ROWS = [
    Row("AutoGen names the authors of messages", CHAT,
        chat(said("system", "s", name="sys"), said("user", "hi", name="user"), said("assistant", "a", name="helper"), ON),
        sent={"messages": [said("system", "s"), HI, said("assistant", "a"), ON]}),
    Row("a server of kind openai gets the names of AutoGen", CHAT,
        chat(said("system", "s", name="sys"), said("user", "hi", name="user"), said("assistant", "a", name="helper"), ON, model="g"),
        sent={"messages": [
            said("system", "s", name="sys"), said("user", "hi", name="user"), said("assistant", "a", name="helper"), ON]}),
    Row("guidellm asks for usage in each chunk", CHAT,
        chat(stream=True, stream_options={"include_usage": True, "include_obfuscation": False, "continuous_usage_stats": True}),
        ignored="stream_options.continuous_usage_stats", sent={"messages": [HI]}),
    Row("OpenRouter's clients send back what they got", CHAT,
        chat(HI, said("assistant", "ok", reasoning_details=[{"type": "reasoning.text", "text": "t"}], refusal=None, audio=None,
                      function_call=None, annotations=[]), ON),
        ignored="messages[].reasoning_details", sent={"messages": [HI, OK, ON]}, lacks=("reasoning_details",)),
    Row("clients of LiteLLM, DeepSeek and Kimi have members of their own", CHAT,
        chat(HI | {"cache_control": {"type": "ephemeral"}, "id": "1", "images": []},
             OK | {"thinking_blocks": [{"thinking": "t"}], "partial": False, "reasoning_text": "hm"}, ON | {"prefix": True}),
        ignored="messages[].thinking_blocks, messages[].partial, messages[].prefix",
        sent={"messages": [HI, OK | {"thinking": "hm"}, ON]}, lacks=("thinking_blocks", "partial", "prefix", "cache_control")),
    Row("a history has annotations, and an image its detail", CHAT,
        chat(said("user", [text("hi"), image(f"data:image/png;base64,{PNG}", detail="high")]),
             OK | {"annotations": [{"type": "url_citation"}]}, ON),
        ignored="messages[].content[].image_url.detail, messages[].annotations", sent={"messages": [HI | {"images": [PNG]}, OK, ON]}),
    Row("parts of a message have unknown members", CHAT,
        chat(said("user", [text("hi") | {"origin": "paste"}, image(f"data:image/png;base64,{PNG}", size=1) | {"mood": 1}])),
        ignored="messages[].content[].origin, messages[].content[].image_url.size, messages[].content[].mood",
        sent={"messages": [HI | {"images": [PNG]}]}, lacks=("paste", "mood")),
    Row("the usual detail of an image is not named", CHAT,
        chat(said("user", [text("hi"), image(f"data:image/png;base64,{PNG}", detail="auto")])),
        sent={"messages": [HI | {"images": [PNG]}]}),
    Row("a prompt has several parts of text", CHAT, chat(said("user", [text("Answer in French."), text("Hello")])),
        sent={"messages": [said("user", "Answer in French.\nHello")]}),
    Row("a client sends options for an Ollama beside OpenAI's members", CHAT,
        chat(temperature=0.1, keep_alive="24h", options={"num_ctx": 16384}),
        sent={"options": {"num_ctx": 16384, "temperature": 0.1}, "keep_alive": "24h"}),
    Row("a system message in the middle stays there", CHAT, chat(HI, OK, said("system", "Be brief."), ON),
        sent={"messages": [HI, OK, said("system", "Be brief."), ON]}),
    Row("LM Studio's clients send -1 for no limit to an Ollama", CHAT, chat(max_tokens=-1), lacks=("num_predict",)),
    Row("LM Studio's clients send -1 for no limit to vLLM", CHAT, chat(max_tokens=-1, model="g"), sent={"messages": [HI]},
        lacks=("max_tokens", "max_completion_tokens")),
    Row("a limit of no tokens is refused", CHAT, chat(max_tokens=0), refused="max_tokens"),
    Row("a server of kind openai gets the address of an image", CHAT,
        chat(said("user", [text("hi"), image("https://example.org/a.png")]), model="g"),
        sent={"messages": [said("user", [text("hi"), image("https://example.org/a.png")])]}),
    Row("a data URL keeps its media type", CHAT, chat(said("user", [text("hi"), image(AVIF)]), model="g"),
        sent={"messages": [said("user", [text("hi"), image(AVIF)])]}),
    Row("of two equal members the last one counts", CHAT, b'{"model":"none","model":"m","messages":[{"role":"user","content":"hi"}]}',
        sent={"model": "m"}),
    Row("a member that a model server may confuse with another is refused", CHAT, chat(Model="n"), refused="model"),
    Row("a mark of the byte order before the JSON is refused", CHAT,
        b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"hi"}]}', refused="JSON"),
    *[Row(f"the arguments of a call are {words}", CHAT,
          chat(HI, said("assistant", None, tool_calls=[{"id": "c1", "type": "function", "function": {"name": "now"} | arguments}]),
               said("tool", "12:00", tool_call_id="c1"), tools=[FUNCTION]),
          sent={"messages": [HI, said("assistant", "", tool_calls=[{"id": "c1", "function": {"name": "now", "arguments": became}}]),
                             said("tool", "12:00", tool_name="now")]})
      for words, arguments, became in [
          ("empty", {"arguments": ""}, "<empty>"), ("null", {"arguments": "null"}, "<empty>"), ("absent", {}, "<empty>"),
          ("an array", {"arguments": "[]"}, {"arguments": "[]"}), ("a number", {"arguments": "5"}, {"arguments": "5"}),
          ("broken off", {"arguments": '{"a":'}, {"arguments": '{"a":'})]],
]

RESPONSE_ROWS = [
    Row("LlamaIndex sends truncation disabled", RESPONSES, respond(truncation="disabled"),
        sent={"messages": [HI]}, answer={"status": "completed", "truncation": "disabled"}),
    Row("Codex probes with no input", RESPONSES, {"model": "m", "input": [], "max_output_tokens": 1}, refused="input"),
    Row("Codex sends tools that only OpenAI runs", RESPONSES,
        respond(tools=[RESPONSE_TOOL, {"type": "namespace", "name": "multi_agent_v1", "description": "d", "tools": []},
                       {"type": "web_search", "external_web_access": False}, {"type": "local_shell"}],
                client_metadata={"a": "b"}, max_tool_calls=9, include=["reasoning.encrypted_content", "web_search_call.action.sources"]),
        ignored="tools[], client_metadata, include[]", sent={"tools": [FUNCTION]},
        answer={"tools": [RESPONSE_TOOL], "max_tool_calls": 9}, lacks=("namespace", "web_search", "local_shell", "client_metadata")),
    Row("Codex has the tools of an MCP server", RESPONSES, respond(tools=[RESPONSE_TOOL, MCP], tool_choice="auto"),
        sent={"tools": [FUNCTION, *[{"type": "function", "function": {
            "name": f"mcp__github__{name}", "description": MCP["description"] + "\n\nd", "parameters": SCHEMA, "strict": False}}
            for name in ("search", "star")]]},
        answer={"tools": [RESPONSE_TOOL, MCP]}, lacks=('"namespace"',)),
    Row("a newer Codex sends its tools as an item", RESPONSES,
        respond({"type": "additional_tools", "role": "developer", "tools": [RESPONSE_TOOL]}, HI, tools=[]),
        sent={"messages": [HI], "tools": [FUNCTION]}, answer={"tools": [RESPONSE_TOOL]}),
    Row("a chat has a PDF that was refused before", RESPONSES,
        respond(said("user", [{"type": "input_file", "filename": "r.pdf", "file_data": "JVBERi0="}]), HI), ignored="input[].content[]",
        sent={"messages": [said("user", "[A file that the model cannot read: r.pdf]"), HI]}, lacks=("JVBERi0=",)),
    *[Row(f"Codex sends a call of an MCP server's tool and the output, {words}", RESPONSES,
          respond(HI, {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q":1}'} | members,
                  {"type": "function_call_output", "call_id": "c1", "output": "Done."}, tools=[MCP]),
          sent={"messages": [
              HI, said("assistant", "", tool_calls=[{"function": {"name": "mcp__github__search", "arguments": {"q": 1}}}]),
              said("tool", "Done.", tool_name="mcp__github__search")]})
      for words, members in [("with the namespace", {"namespace": "mcp__github"}), ("as older servers name it", {"namespace": "mcp__github__"}),
                             ("without the namespace", {})]],
    Row("two MCP servers have tools with the same name", RESPONSES,
        respond(model="g", tools=[MCP, MCP | {"name": "mcp__gitlab"}],
                tool_choice={"type": "function", "namespace": "mcp__gitlab", "name": "star"}),
        sent={"tool_choice": {"type": "function", "function": {"name": "mcp__gitlab__star"}}},
        answer={"tools": [MCP, MCP | {"name": "mcp__gitlab"}]}),
    Row("only an MCP server's tools are allowed", RESPONSES,
        respond(tools=[RESPONSE_TOOL, MCP],
                tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "mcp__github"}]}),
        sent={"tools": ["<object>", "<object>"]}, answer={"tools": [RESPONSE_TOOL, MCP]}),
    Row("a tool has the joined name of an MCP server's tool", RESPONSES,
        respond(tools=[RESPONSE_TOOL | {"name": "mcp__github__star"}, MCP]), refused=r"tools\[\]\.tools\[\]\.name.* mcp__github__star"),
    Row("a namespace has a tool twice", RESPONSES, respond(tools=[MCP | {"tools": MCP["tools"][:1] * 2}]), refused=r"tools\[1\]\.name"),
    Row("namespaces have 1,025 tools", RESPONSES,
        respond(tools=[MCP | {"name": f"n{number}", "tools": [MCP["tools"][0] | {"name": f"f{one}"} for one in range(205)]}
                       for number in range(5)]), refused="more than 1024 tools"),
    Row("a namespace is in a namespace", RESPONSES, respond(tools=[MCP | {"tools": [*MCP["tools"], MCP]}]),
        ignored="tools[].tools[]", sent={"tools": ["<object>", "<object>"]}, answer={"tools": [MCP]}),
    Row("the names of a namespace are combining marks", RESPONSES,
        respond(tools=[{"type": "namespace", "name": "\u0301" * 128, "tools": [RESPONSE_TOOL | {"name": "\u0301" * 100_000}]}]),
        sent={"tools": [{"function": {"name": "<name>"}}]}),
    Row("the name of a namespace is long", RESPONSES, respond(tools=[MCP | {"name": "\u0301" * 129}]), refused="256 bytes"),
    Row("a response must call a tool that only OpenAI runs", RESPONSES,
        respond(tools=[{"type": "web_search"}], tool_choice="required"), refused="tool_choice"),
    Row("Codex has a custom tool", RESPONSES, respond(tools=[PATCH], tool_choice="auto"),
        sent={"tools": [{"type": "function", "function": {
            "name": "apply_patch", "description": "<string>", "parameters": {
                "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}]},
        answer={"tools": [PATCH]}),
    Row("Codex sends a call of its custom tool and the output", RESPONSES,
        respond({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin\n", "status": "completed"},
                {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done."}, tools=[PATCH]),
        sent={"messages": [
            HI, said("assistant", "", tool_calls=[{"function": {"name": "apply_patch", "arguments": {"input": "*** Begin\n"}}}]),
            said("tool", "Done.", tool_name="apply_patch")]}),
    Row("items have members and types of their own", RESPONSES,
        respond(HI | {"type": "message", "internal": 1}, {"type": "web_search_call", "id": "ws_1", "status": "completed"},
                OK | {"type": "message", "phase": "final"}, ON),
        ignored="input[].internal, input[]", sent={"messages": [HI, OK, ON]}, lacks=("internal", "web_search_call")),
    Row("a client sends back the parts of an answer", RESPONSES,
        respond(HI, said("assistant", [{"type": "output_text", "text": "ok", "annotations": [], "logprobs": []}]),
                said("user", [{"type": "input_text", "text": "go on", "origin": "paste"}])),
        ignored="input[].content[].origin", sent={"messages": [HI, OK, ON]}, lacks=("paste",)),
    Row("a limit of tokens has a point", RESPONSES, respond(max_output_tokens=4096.0), sent={"options": {"num_predict": 4096}},
        answer={"max_output_tokens": 4096}),
    Row("-1 is no limit of tokens", RESPONSES, respond(max_output_tokens=-1), sent={"messages": [HI]}, lacks=("num_predict",)),
    Row("-1 is no limit of tokens for vLLM", RESPONSES, respond(max_output_tokens=-1) | {"model": "g"}, sent={"messages": [HI]},
        lacks=("max_tokens", "max_completion_tokens", "max_output_tokens")),
    Row("a limit of no tokens is refused", RESPONSES, respond(max_output_tokens=0), refused="max_output_tokens"),
    Row("parts of one item are lines", RESPONSES,
        respond(said("user", [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}])),
        sent={"messages": [said("user", "a\nb")]}),
    Row("OpenAI's package asks for padded events", RESPONSES, respond(stream=True, stream_options={"include_obfuscation": True}),
        ignored="stream_options", sent={"messages": [HI]}, lacks=("obfuscation",)),
]

FORMS = {
    OLLAMA: (chat(stream=False), lambda schema: {"type": "function", "function": {"name": "f", "parameters": schema}}),
    CHAT: (chat(), lambda schema: {"type": "function", "function": {"name": "f", "parameters": schema}}),
    MESSAGES: (claude(), lambda schema: {"name": "f", "input_schema": schema}),
    RESPONSES: (respond(), lambda schema: {"type": "function", "name": "f", "parameters": schema}),
}
"""A body of each API, and its form of a tool."""


def deep(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


WIDE = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(300)}}
SIZE_ROWS = [
    row for path, (body, tool) in FORMS.items() for row in [
        Row(f"a tool has 300 parameters at {path}", path, body | {"tools": [tool(WIDE)]},
            sent={"tools": [{"type": "function", "function": {"name": "f", "parameters": WIDE}}]}),
        Row(f"a schema has 65 levels at {path}", path, body | {"tools": [tool({"enum": deep(65)})]}, refused="."),
        *([Row(f"a request has 1,025 tools at {path}", path, body | {"tools": [tool(SCHEMA)] * 1025}, refused="tools")]
          if path != OLLAMA else [])]
]
