"""Systems in which faults are planted while they work. Each is a generator with three steps: it starts its processes; it loads them; it
plants its faults and has the alerts that each of them fires, with labels that distinguish them from alerts of other systems.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import threading
import urllib.parse
from typing import Callable, Iterator

from harness.certificates import Certificate, SecureServer
from harness.client import call, prompt
from harness.databases import OWNER, SmallDisk
from harness.model_server import ModelExchange
from monitoring.laboratory import Laboratory, Ollama, Watched, answer, speak, wait

Labels = dict[str, str]
System = Iterator[dict[str, list[tuple[str, Labels]]]]


def of(server: Watched, **labels: str) -> Labels:
    """The labels of an alert of a process."""
    return {"instance": server.target} | labels


# Processes


def pair(laboratory: Laboratory, name: str) -> tuple[Watched, Callable[..., None]]:
    """Two processes on one database, and what loads them; the first one has a reply that does not end."""
    conninfo = laboratory.postgres.conninfo(laboratory.database())
    waiting = Ollama(laboratory.stack, wait)
    models = [laboratory.upstream(laboratory.model.url), laboratory.upstream(waiting.url, "waiting")]
    servers = [laboratory.server(f"{name}-{number}", conninfo, models) for number in (1, 2)]

    def load(**more: str) -> None:
        for server in servers:
            laboratory.load(server)
        laboratory.load(servers[0], "waiting/m", **more)

    return servers[0], load


def dying_process(laboratory: Laboratory) -> System:
    server, load = pair(laboratory, "dying")
    yield {}
    load()
    yield {}
    server.kill()
    yield {"A process dies": [("ChatterdDown", of(server)), ("Takeovers", {"kind": "settled"})]}


def standing_process(laboratory: Laboratory) -> System:
    server, load = pair(laboratory, "standing")
    yield {}
    load(on_interrupt="regenerate")
    yield {}
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    yield {"A process stands still": [("ChatterdDown", of(server)), ("Takeovers", {"kind": "adopted"})]}


# The database


def full_disk(laboratory: Laboratory) -> System:
    disk = SmallDisk(f"{laboratory.directory}/disk", 64)
    laboratory.stack.callback(disk.remove)
    laboratory.postgres.execute(f"CREATE TABLESPACE small LOCATION '{disk.directory}/space'")
    server = laboratory.server("full-disk", laboratory.postgres.conninfo(laboratory.database("TABLESPACE small")))
    yield {}
    laboratory.load(server)
    yield {}
    disk.fill()
    laboratory.load(server, text=lambda: os.urandom(20_000).hex())
    yield {"The disk of the database is full": [("StoreErrors", of(server, sqlstate="53100")), ("ChatterdNotWritable", of(server))]}


def read_only_database(laboratory: Laboratory) -> System:
    name = laboratory.database()
    server = laboratory.server("read-only", laboratory.postgres.conninfo(name))
    yield {}
    laboratory.load(server)
    yield {}
    laboratory.postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    laboratory.terminate_sessions(name)
    yield {"The database is read-only": [("ChatterdNotWritable", of(server))]}


def no_connection(laboratory: Laboratory) -> System:
    name = laboratory.database()
    server = laboratory.server("no-connection", laboratory.postgres.conninfo(name))
    yield {}
    laboratory.load(server)
    yield {}
    laboratory.postgres.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    laboratory.terminate_sessions(name)
    yield {"All connections are in use": [("ChatterdNotWritable", of(server)), ("StoreStarved", of(server))]}


def wrong_password(laboratory: Laboratory) -> System:
    name = laboratory.database()
    laboratory.postgres.execute(f"CREATE ROLE guarded LOGIN PASSWORD 'sesame' IN ROLE {OWNER}")
    laboratory.postgres.require_passwords("guarded")
    server = laboratory.server("wrong-password", laboratory.postgres.conninfo(name, "guarded") + " password=sesame")
    yield {}
    laboratory.load(server)
    yield {}
    laboratory.postgres.execute("ALTER ROLE guarded PASSWORD 'other'")
    laboratory.terminate_sessions(name)
    yield {"The password of the database is wrong": [("ChatterdNotWritable", of(server)), ("StoreStarved", of(server))]}


def foreign_tables(laboratory: Laboratory) -> System:
    name = laboratory.database()
    laboratory.postgres.execute(f"CREATE ROLE stranger LOGIN IN ROLE {OWNER}")
    server = laboratory.server("foreign-tables", laboratory.postgres.conninfo(name, "stranger"))
    yield {}
    laboratory.load(server)
    yield {}
    laboratory.postgres.execute(f"REVOKE {OWNER} FROM stranger")
    yield {"The tables belong to another role": [("StoreErrors", of(server, sqlstate="42501"))]}


def absent_postgres(laboratory: Laboratory) -> System:
    postgres = laboratory.database_server("absent")
    server = laboratory.server("absent-database", postgres.conninfo(postgres.make_database()))
    yield {}
    laboratory.load(server)
    yield {}
    postgres.node.stop()
    yield {"PostgreSQL does not run": [("ChatterdNotWritable", of(server)), ("StoreStarved", of(server))]}


def late_retention(laboratory: Laboratory) -> System:
    name = laboratory.database()
    server = laboratory.server("late-retention", laboratory.postgres.conninfo(name), CHATTERD_RETENTION="1h")
    yield {}
    laboratory.load(server)
    yield {}
    assert call(server.url, "POST", "/llmprep", prompt("An old one", "old"))[0] == 200
    laboratory.postgres.execute("UPDATE chatts SET time = now() - interval '5 hours' WHERE appid = 'old'", name)
    yield {"Conversations are older than the retention permits": [("RetentionLag", of(server))]}


def standing_postgres(laboratory: Laboratory) -> System:
    postgres = laboratory.database_server("standing")
    speaking = Ollama(laboratory.stack, speak)
    models = [laboratory.upstream(laboratory.model.url), laboratory.upstream(speaking.url, "speaking")]
    server = laboratory.server("standing-database", postgres.conninfo(postgres.make_database()), models)
    yield {}
    laboratory.load(server)
    laboratory.load(server, "speaking/m")
    yield {}
    postgres.node.signal(signal.SIGSTOP)
    names = ("ChatterdNotWritable", "LeaseLate", "JournalLag", "HousekeepingStuck")
    yield {"PostgreSQL stands still": [(name, of(server)) for name in names]}


# Model servers


async def refuse(exchange: ModelExchange) -> None:
    await exchange.answer('{"error": "no such key"}', 401)


async def hang(exchange: ModelExchange) -> None:
    await exchange.rest(10_000)


async def fail(exchange: ModelExchange) -> None:
    await exchange.answer('{"error": "out of memory"}', 500)


async def answer_late(exchange: ModelExchange) -> None:
    await exchange.rest(7)
    await answer(exchange)


def model_servers(laboratory: Laboratory) -> System:
    absent, keyless, hanging, slow, busy, shaky, spare = (Ollama(laboratory.stack) for _ in range(7))
    directory = laboratory.folder("certificates")
    valid, expired = Certificate(f"{directory}/valid", -20, 30), Certificate(f"{directory}/expired", -20, -10)
    authorities = f"{directory}/authorities.pem"
    with open(authorities, "w", encoding="utf-8") as file:
        for certificate in (valid, expired):
            with open(certificate.path, encoding="utf-8") as source:
                file.write(source.read())
    secure = SecureServer(valid, {"models": [{"name": "m"}]})
    laboratory.stack.callback(secure.stop)
    upstream = laboratory.upstream
    server = laboratory.server("model-servers", models=[
        upstream(laboratory.model.url), upstream(absent.url, "absent"), upstream(keyless.url, "keyless"),
        upstream(hanging.url, "hanging", first_byte_timeout="1s"), upstream(secure.url, "expired", ca_file=authorities),
        upstream(slow.url, "slow"), upstream(busy.url, "busy", slots=1, queue_limit=5),
        upstream(shaky.url, "shaky", models=["shared"]), upstream(spare.url, "spare", models=["shared"])])
    yield {}
    for name in ("gpu/m", "absent/m", "keyless/m", "hanging/m", "busy/m"):
        laboratory.load(server, name)
    laboratory.load(server, "slow/m", clients=8)
    laboratory.load(server, "shared", clients=4)
    yield {}
    absent.stop()
    keyless.chat, hanging.chat, slow.chat, busy.chat = refuse, hang, answer_late, wait
    secure.replace(expired)
    laboratory.load(server, "expired/m")
    laboratory.load(server, "busy/m", clients=8)
    counts = iter(range(1 << 62))

    async def answer_at_times(exchange: ModelExchange) -> None:
        await (answer if next(counts) % 2 else fail)(exchange)

    shaky.chat = answer_at_times
    yield {
        "No model server runs at the address": [("ModelServerDown", of(server, upstream="absent"))],
        "The key of the model server is wrong": [("ModelServerDown", of(server, upstream="keyless"))],
        "The model server hangs": [("ModelServerDown", of(server, upstream="hanging"))],
        "The certificate of the model server has expired": [("ModelServerDown", of(server, upstream="expired"))],
        "A model needs long for its first word": [("TimeToFirstTokenSlow", {"upstream": "slow"})],
        "The queue of a model server is full": [("QueueFull", {"upstream": "busy"}), ("LimitNear", of(server, limit="queue"))],
        "A model server fails at times, and another one answers": [("FailoversHigh", {"from": "shaky"})],
    }


def failing_model(laboratory: Laboratory) -> System:
    """Its alert is about all processes that one Prometheus scrapes."""
    failing = Ollama(laboratory.stack)
    server = laboratory.server("failing-model", models=[laboratory.upstream(failing.url)])
    yield {}
    laboratory.load(server, clients=4)
    yield {}
    failing.chat = fail
    yield {"A model fails": [("PromptErrorBudget", {})]}


# Limits of a process

FILES, MEMORY, BODY = 256, 64 << 20, 9 << 20


def small_process(laboratory: Laboratory) -> System:
    directory = laboratory.folder("own-certificates")
    present, ending = Certificate(f"{directory}/present", -20, 30), Certificate(f"{directory}/ending", -20, 10)
    server = laboratory.server(
        "small", files=FILES, CHATTERD_MEMORY=str(MEMORY), CHATTERD_HEAD_TIMEOUT="1h", CHATTERD_BODY_MIN_RATE="0",
        CHATTERD_TLS_LISTEN="127.0.0.1:0", CHATTERD_TLS_CERT=present.path, CHATTERD_TLS_KEY=present.key)
    yield {}
    laboratory.load(server)
    yield {}
    for old, new in ((present.path, ending.path), (present.key, ending.key)):
        shutil.copy(new, old)
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    for _ in range(FILES * 3 // 4):
        connect(laboratory, server)
    for _ in range(MEMORY // BODY + 2):
        threading.Thread(target=send_bodies, args=(laboratory, server), daemon=True).start()
    yield {
        "The certificate of HTTPS ends within 14 days": [("CertificateExpires", of(server))],
        "The limit of open files is low": [("LimitNear", of(server, limit="open_files"))],
        "Requests need more memory than the budget has": [("MemoryRefusals", of(server))],
    }


def connect(laboratory: Laboratory, server: Watched) -> socket.socket:
    """A connection without a request."""
    address = urllib.parse.urlsplit(server.url)
    connection = socket.create_connection((address.hostname, address.port))
    laboratory.stack.callback(connection.close)
    return connection


def send_bodies(laboratory: Laboratory, server: Watched) -> None:
    """Sends all of a body but its last byte, and begins again when the request is refused."""
    head = f"POST /llmchat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {BODY}\r\n\r\n"
    while not laboratory.is_over.wait(0.25):
        with contextlib.suppress(OSError), connect(laboratory, server) as connection:
            connection.sendall(head.encode() + bytes(BODY - 1))
            connection.recv(1)


TOGETHER = (
    dying_process, standing_process, full_disk, read_only_database, no_connection, wrong_password, foreign_tables, absent_postgres,
    late_retention, standing_postgres, model_servers, small_process)
APART = (failing_model,)
