"""The scripted model server: it speaks HTTP for a script, which a suite supplies."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import struct
import traceback
from typing import Any, Awaitable, Callable

JSON, LINES, EVENTS = "application/json", "application/x-ndjson", "text/event-stream"


class ModelExchange:
    """A request, and the response that the script sends. Its methods throw `OSError` when the peer has left."""

    def __init__(self, server: ModelServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self._reader, self._writer = server, reader, writer
        self.method = self.path = ""
        self.fields: dict[str, str] = {}  # with small letters
        self.body = b""
        self.stays_open = False  # another request may follow

    @functools.cached_property
    def request(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    async def read(self) -> None:
        """Reads the request; throws `IncompleteReadError` if none comes."""
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:] if line)}
        left, parts = int(self.fields.get("content-length", "0")), [b""]
        while left:
            part = await self._reader.readexactly(min(left, 1 << 16))
            left -= len(part)
            if self.server.keeps_bodies or len(parts) == 1:
                parts.append(part)
        self.body = b"".join(parts)

    async def answer(self, body: bytes | str, status: int = 200, type: str = JSON, fields: str = "") -> None:
        """Sends a response in one piece; `fields` are further lines of the head."""
        data = body if isinstance(body, bytes) else body.encode()
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: {type}\r\nContent-Length: {len(data)}\r\n{fields}\r\n"
        await self.send_raw(head.encode() + data)
        self.stays_open = True

    async def begin(self, type: str = LINES) -> None:
        """Sends the head of a response whose body has any number of pieces."""
        await self.send_raw(f"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    async def send(self, piece: bytes | str) -> None:
        """Sends a piece of a body."""
        data = piece if isinstance(piece, bytes) else piece.encode()
        if data:
            await self.send_raw(b"%x\r\n%s\r\n" % (len(data), data))
        if self.has_left:
            raise ConnectionResetError

    async def finish(self) -> None:
        """Ends the body in order. Without it, the connection is closed in the middle of the response."""
        await self.send_raw(b"0\r\n\r\n")
        self.stays_open = True

    async def send_raw(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """Ends the connection with RST, which may overtake bytes."""
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    @property
    def has_left(self) -> bool:
        """Whether the peer has closed or lost the connection."""
        return self._reader.at_eof() or self._reader.exception() is not None or self._writer.transport.is_closing()

    async def rest(self, seconds: float) -> None:
        """Pauses; throws if the peer leaves meanwhile."""
        until = asyncio.get_running_loop().time() + seconds
        while not self.has_left:
            if (left := until - asyncio.get_running_loop().time()) <= 0:
                return
            await asyncio.sleep(min(0.05, left))
        raise ConnectionResetError


class ModelServer:
    """The server. `script` is called with each exchange; it may close the connection by not finishing its response."""

    def __init__(self, script: Callable[[ModelExchange], Awaitable[None]], port: int = 0, keeps_bodies: bool = True) -> None:
        """Without `keeps_bodies` only the beginning of a body is kept."""
        self.script, self.port, self.keeps_bodies = script, port, keeps_bodies
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listens, on a free port at first, and later on the same one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20, backlog=1024, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Closes the port and all connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            stays_open = True
            while stays_open:
                exchange = ModelExchange(self, reader, writer)
                await exchange.read()
                await self.script(exchange)
                stays_open = exchange.stays_open
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except Exception:  # a fault of the script
            traceback.print_exc()
        finally:
            self._open.discard(writer)
            writer.close()


def line(model: str, message: dict[str, object], **members: object) -> str:
    """A line of Ollama's; it is the last one with `done`."""
    said = {"model": model, "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""} | message}
    return json.dumps(said | {"done": False} | members, ensure_ascii=False, separators=(",", ":")) + "\n"


LAST = {"done": True, "done_reason": "stop"}
"""The members of the last line."""
