"""Processes under load in which tests plant faults, with their PostgreSQL and their model servers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import threading
from typing import Any, Awaitable, Callable

from harness import background
from harness.chatterd import LISTENING, PROGRAM, Chatterd
from harness.client import call, prompt
from harness.databases import DatabaseServer
from harness.machine import TIMEOUT
from harness.model_server import LAST, LINES, ModelExchange, ModelServer, line
from monitoring import documents

Chat = Callable[[ModelExchange], Awaitable[None]]


def shortened_rules() -> str:
    """The rules for alerts with three seconds in place of a minute, and a minute in place of an hour. Only `for`, ranges and offsets change.

    A range of ten minutes is then longer than any pause of a process, so an alert about one event is not missed.
    """
    milliseconds = {"s": 50, "m": 3000, "h": 60_000}

    def shorten(match: re.Match[str]) -> str:
        return f"{match[1]}{int(match[2]) * milliseconds[match[3]]}ms"

    return re.sub(r"(for: |\[|offset )(\d+)([smh])\b", shorten, documents.ALERTS.read_text(encoding="utf-8"))


async def answer(exchange: ModelExchange) -> None:
    """A whole answer."""
    await exchange.begin(LINES)
    await exchange.send(line("m", {"content": "Well."}))
    await exchange.send(line("m", {}, **LAST))
    await exchange.finish()


async def wait(exchange: ModelExchange) -> None:
    """The beginning of an answer, and silence."""
    await exchange.begin(LINES)
    await exchange.send(line("m", {"content": "Well"}))
    await exchange.rest(10 * TIMEOUT)


async def speak(exchange: ModelExchange) -> None:
    """An answer without an end."""
    await exchange.begin(LINES)
    while True:
        await exchange.send(line("m", {"content": "well, "}))
        await exchange.rest(0.1)


class Ollama:
    """A model server of Ollama's kind, whose answers to chats change when a fault is planted."""

    def __init__(self, stack: contextlib.ExitStack, chat: Chat = answer) -> None:
        self.chat = chat
        self._server = ModelServer(self._serve)
        background.run(self._server.start())
        self.url = self._server.url
        stack.callback(self.stop)

    def stop(self) -> None:
        """Closes the port and all connections."""
        background.run(self._server.stop())

    async def _serve(self, exchange: ModelExchange) -> None:
        documents_of = {"/api/version": {"version": "0.9.1"}, "/api/tags": {"models": [{"name": "m"}]}, "/api/show": {}}
        if (document := documents_of.get(exchange.path)) is not None:
            return await exchange.answer(json.dumps(document))
        await self.chat(exchange)


class Watched(Chatterd):
    """A chatterd with one event loop, whose metrics are scraped."""

    def __init__(self, directory: str, models: list[dict[str, Any]], files: int = 0, **settings: str) -> None:
        """`files` limits its open files."""
        os.mkdir(directory)
        os.chmod(directory, 0o755)
        ours = {"CHATTERD_METRICS_LISTEN": "127.0.0.1:0", "CHATTERD_SHARDS": "1", "CHATTERD_UPSTREAMS": json.dumps(models),
                "CHATTERD_UPSTREAM_RESTART_WAIT": "0"}
        super().__init__(directory, **ours | settings)
        if files:
            self.command = ["sh", "-c", f'ulimit -n {files}; exec "{PROGRAM}" serve']
        self.url = self.target = ""
        self.start()

    def wait_until_ready(self) -> None:
        """Waits until it listens."""
        self.url = self.expect(LISTENING).group(1)
        self.target = self.expect(r"^metrics at http://(\S+)/metrics").group(1)


class Laboratory:
    """The parts of a running system. The stack ends all of them."""

    def __init__(self, directory: str, stack: contextlib.ExitStack) -> None:
        self.directory, self.stack = directory, stack
        self.servers: list[Watched] = []
        self.is_over = threading.Event()
        stack.callback(self.is_over.set)
        self.postgres = self.database_server("shared")
        self.template = self.postgres.make_database()
        self.migrate(self.postgres.conninfo(self.template))
        self.model = Ollama(stack)

    def folder(self, name: str) -> str:
        """A directory that PostgreSQL's user may enter."""
        path = f"{self.directory}/{name}"
        os.mkdir(path)
        os.chmod(path, 0o755)
        return path

    def database_server(self, name: str) -> DatabaseServer:
        """A PostgreSQL."""
        server = DatabaseServer(self.folder(f"{name}-postgres"))
        self.stack.callback(server.stop)
        return server

    def migrate(self, conninfo: str) -> None:
        """Makes the tables in an empty database."""
        migration = Chatterd(self.folder("migration"), DATABASE_URL=conninfo)
        migration.command = [PROGRAM, "migrate"]
        migration.start()
        assert migration.process is not None
        assert migration.process.wait(TIMEOUT) == 0, migration.log()
        migration.close()

    def database(self, options: str = "") -> str:
        """A migrated database of the shared PostgreSQL."""
        return self.postgres.make_database(f"TEMPLATE {self.template} {options}")

    def upstream(self, url: str, name: str = "gpu", **members: Any) -> dict[str, Any]:
        """A description of a model server whose model has its name."""
        return {"name": name, "kind": "ollama", "url": url, "models": ["m"]} | members

    def server(self, name: str, conninfo: str = "", models: list[dict[str, Any]] | None = None, **settings: Any) -> Watched:
        """Starts a chatterd; by default with a model that answers, and a database of the shared PostgreSQL."""
        made = Watched(f"{self.directory}/{name}", models or [self.upstream(self.model.url)],
                       DATABASE_URL=conninfo or self.postgres.conninfo(self.database()), **settings)
        self.stack.callback(made.close)
        self.servers.append(made)
        return made

    def load(self, server: Watched, model: str = "gpu/m", clients: int = 1, text: Callable[[], str] = lambda: "Hello", **more: Any) -> None:
        """Clients that send one prompt after the other, to the end of the laboratory. What they get does not matter."""
        for client in range(clients):
            threading.Thread(target=self._send_prompts, args=(server, model, f"{model} {client}", text, more), daemon=True).start()

    def _send_prompts(self, server: Watched, model: str, app: str, text: Callable[[], str], more: dict[str, Any]) -> None:
        number = 0
        while not self.is_over.wait(0.25):
            number += 1
            with contextlib.suppress(OSError, http.client.HTTPException):
                call(server.url, "POST", "/llmchat", prompt(text(), f"{app} {number}", model=model, stream=False, **more))

    def terminate_sessions(self, database: str) -> None:
        """Ends the connections of a database."""
        self.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
