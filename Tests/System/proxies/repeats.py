"""A proxy never repeats a POST without an Idempotency-Key when a server closes the connection instead of an answer."""

from __future__ import annotations

import asyncio

from harness.exchange import Exchange
from harness.record import Record
from proxies.programs import HAProxy, Nginx
from proxies.proxied_cluster import ProxyAddress


class ClosingServer:
    """Three servers that are ready, and close the connection of every other request without an answer."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.seen: list[str] = []

    async def start(self) -> None:
        """Listens on three free ports."""
        self._servers = [await asyncio.start_server(self._serve, "127.0.0.1", 0) for _ in range(3)]
        self.ports = [server.sockets[0].getsockname()[1] for server in self._servers]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0]
            if "/readyz" in line:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
            else:
                self.seen.append(line)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def repeats(proxy: Nginx | HAProxy) -> list[str]:
    """Sends requests that no server answers, and counts how often each was sent; returns the faults."""
    deaf, record, faults = ClosingServer(), Record(), []
    await deaf.start()
    await proxy.start(deaf.ports)
    try:
        for method, fields, is_repeated in (
                ("POST", {}, False), ("DELETE", {}, True), ("GET", {}, True),
                ("POST", {"Idempotency-Key": "one"}, proxy.name == "haproxy")):
            deaf.seen.clear()
            body = {"appID": "repeats"} if method == "POST" else None
            exchange = await Exchange.ask(
                ProxyAddress(proxy.port), record, method, "/x", fields, body)  # type: ignore[arg-type]
            answer = await exchange.json()
            exchange.close()
            what = f"{method} {fields or ''}, closed without an answer:"
            if (len(deaf.seen) > 1) != is_repeated:
                faults.append(f"{what} it was sent {len(deaf.seen)} times")
            if exchange.status not in (502, 503) or answer.get("retryable") is not True or "retry-after" not in exchange.fields:
                faults.append(f"{what} {exchange.status} {answer}")
    finally:
        proxy.stop()
    return faults
