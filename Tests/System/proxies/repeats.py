"""A proxy never repeats a POST without an Idempotency-Key when a server closes the connection instead of an answer."""

from __future__ import annotations

from harness.exchange import Address, Exchange
from harness.model_server import ModelExchange, ModelServer
from harness.record import Record
from proxies.programs import HAProxy, Nginx


async def repeats(proxy: Nginx | HAProxy) -> list[str]:
    """Sends requests that no server answers, and counts how often each was sent; returns the faults."""
    seen: list[str] = []

    async def answer(request: ModelExchange) -> None:
        """Is ready, and closes the connection of every other request."""
        if request.path == "/readyz":
            return await request.answer("")
        seen.append(request.path)

    deaf, record, faults = [ModelServer(answer) for _ in range(3)], Record(), []
    for server in deaf:
        await server.start()
    await proxy.begin([server.port for server in deaf])
    try:
        for method, fields, is_repeated in (
                ("POST", {}, False), ("DELETE", {}, True), ("GET", {}, True),
                ("POST", {"Idempotency-Key": "one"}, proxy.name == "haproxy")):
            seen.clear()
            body = {"appID": "repeats"} if method == "POST" else None
            exchange = await Exchange.ask(Address(proxy.port), record, method, "/x", fields, body)
            said = await exchange.json()
            exchange.close()
            what = f"{method} {fields or ''}, closed without an answer:"
            if (len(seen) > 1) != is_repeated:
                faults.append(f"{what} it was sent {len(seen)} times")
            if exchange.status not in (502, 503) or said.get("retryable") is not True or "retry-after" not in exchange.fields:
                faults.append(f"{what} {exchange.status} {said}")
    finally:
        proxy.stop()
    return faults
