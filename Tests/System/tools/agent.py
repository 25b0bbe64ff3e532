"""Runs of an agent of openai-agents with the tools of a server, streamed or not: what it gets, as JSON.

`python agent.py URL LABEL SESSION APPROVAL PROMPT…`: SESSION is `list` for runs that send all items back, `previous` for those that name the
response before, or `conversation` for a conversation of chatterd. APPROVAL is `never` or `always`; the agent approves each call then.
"""

import asyncio
import json
import sys

import agents
import openai

url, label, kind, approval, *prompts = sys.argv[1:]
agents.set_tracing_disabled(True)
CLIENT = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, default_headers={"X-App-ID": f"agent-{kind}-{approval}"})
TOOL = agents.HostedMCPTool(
    tool_config={"type": "mcp", "server_label": label, "require_approval": approval, "allowed_tools": ["add"]},
    on_approval_request=(lambda request: {"approve": True}) if approval == "always" else None)
AGENT = agents.Agent(name="Adder", model=agents.OpenAIResponsesModel(model="m", openai_client=CLIENT), tools=[TOOL])


async def run(streamed, **options):
    """The final text, the types of the items, and those of the events."""
    events = []
    if streamed:
        result = agents.Runner.run_streamed(AGENT, **options)
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                events.append(event.data.type)
    else:
        result = await agents.Runner.run(AGENT, **options)
    items = [item.raw_item for item in result.new_items]
    types = [item["type"] if isinstance(item, dict) else item.type for item in items]
    told = {"text": result.final_output, "items": types, "events": events}
    return result, told


async def main():
    told, options = [], {}
    if kind == "conversation":
        options["session"] = agents.OpenAIConversationsSession(openai_client=CLIENT)
    history = []
    for number, prompt in enumerate(prompts):
        result, said = await run(number % 2 == 1, input=history + [{"role": "user", "content": prompt}] if kind == "list" else prompt, **options)
        told.append(said)
        if kind == "list":
            history = result.to_input_list()
        elif kind == "previous":
            options["previous_response_id"] = result.last_response_id
            options["auto_previous_response_id"] = True
    print(json.dumps(told))


asyncio.run(main())
