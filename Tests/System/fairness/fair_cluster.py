"""Three chatterd processes on one PostgreSQL, in front of a model server with one slot, and the prompts to it."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

from fairness.slot_server import SlotServer
from harness.chatterd import LONG
from harness.cluster import Cluster
from harness.exchange import Address, Exchange, Lost
from harness.pooler import PooledCluster
from harness.processes import Process
from harness.record import Record


class Prompt:
    """A prompt on its way."""

    def __init__(self, app: str, number: int, process: int) -> None:
        self.app, self.number, self.process = app, number, process
        self.token = f"{app}/{number}"
        self.reply = ""
        self.text = ""
        self.outcome = "lost"
        self.is_queued = asyncio.Event()  # or further
        self.reading: asyncio.Task[None] | None = None


class FairCluster:
    """The processes, the database and the model server."""

    def __init__(self, options: argparse.Namespace, scratch: str) -> None:
        self.record = Record()
        self.slots = SlotServer()
        self.database = PooledCluster(scratch, options.pgbouncer) if options.pgbouncer else Cluster(scratch)
        self._program, self._scratch = options.program, scratch
        self.processes: list[Process] = []

    async def start(self) -> None:
        """Starts everything, and waits until it is ready."""
        await asyncio.gather(self.slots.start(), self.database.make())
        # A chatterd knows one model server, with one slot.
        upstream = {"name": "one", "kind": "ollama", "url": self.slots.url, "models": ["fair"], "slots": 1}
        settings = LONG | {"CHATTERD_UPSTREAMS": json.dumps([upstream]), "CHATTERD_MAX_WAITING_TURNS": "500"}
        for number in range(3):
            process = Process(number, self._program, self._scratch, self.database.conninfo, self.record, **settings)
            process.start()
            self.processes.append(process)
        for process in self.processes:
            await process.wait_until_ready()

    async def stop(self) -> None:
        """Stops the processes in order."""
        await asyncio.gather(*(process.stop() for process in self.processes))

    def abandon(self) -> None:
        """Kills all remaining processes."""
        for process in self.processes:
            process.close()
        self.database.stop()

    async def post(self, prompt: Prompt, **more: Any) -> Prompt:
        """Sends a prompt; returns when it is accepted, and continues to read."""
        body = {"appID": prompt.app, "model": "fair", "queue_events": True, "on_disconnect": "finish",
                "messages": [{"role": "user", "content": prompt.token}]} | more
        exchange = await self._ask(prompt.process, "POST", "/llmchat", body=body)
        if exchange.status != 200:
            raise RuntimeError(f"{prompt.token}: {exchange.status} {await exchange.json()}")
        prompt.reply = exchange.fields["location"]
        prompt.reading = asyncio.create_task(self._read(prompt, exchange))
        return prompt

    async def read_again(self, prompt: Prompt, process: int) -> None:
        """Reads the whole reply in another process."""
        prompt.text = ""
        await self._read(prompt, await self._ask(process, "GET", prompt.reply))

    async def _ask(self, process: int, method: str, path: str, body: Any = None) -> Exchange:
        return await Exchange.ask(Address(self.processes[process].port), self.record, method, path, None, body)

    async def _read(self, prompt: Prompt, exchange: Exchange) -> None:
        try:
            async for event in exchange.events():
                data = json.loads(event.data)
                if event.name == "reset":
                    prompt.text = ""
                elif event.name == "error":
                    prompt.outcome = data["code"]
                elif event.name != "queue":
                    prompt.text += data["message"]["content"]
                    prompt.outcome = "complete" if data["done"] else prompt.outcome
                prompt.is_queued.set()
        except Lost as loss:
            prompt.outcome = f"lost: {loss}"
        finally:
            prompt.is_queued.set()
            exchange.close()
