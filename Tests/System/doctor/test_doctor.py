"""Every fault of the table in docs/operating.md, planted: `chatterd doctor` finds it with these words. Run by script/test doctor."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import resource
import subprocess
import urllib.request
from typing import Any, Callable

from doctor.buffering_proxy import BufferingProxy
from harness import background
from harness.certificates import Certificate, SecureServer
from harness.chatterd import PROGRAM, Server
from harness.client import call, prompt
from harness.databases import OWNER, DatabaseServer, SmallDisk
from harness.machine import TIMEOUT, TOP, keep_port, make_directory
from harness.model_server import LAST, LINES, ModelServer, line
from harness.reply_test_case import ServerTestCase

ROW = re.compile(r"^\| ([^|]+) \| `([a-z_]+)` (failure|warning) \| ([^|]+) \| [^|]+ \| [^|]* \|$", re.MULTILINE)
"""Of the table: the fault, the id of the check and its severity, and the words, with … for what differs."""
EXIT = {"ok": 0, "warning": 1, "failure": 2}
PLANTS: dict[str, Callable[..., Any]] = {}
"""The method that plants each fault."""


def plants(fault: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(method: Callable[..., Any]) -> Callable[..., Any]:
        PLANTS[fault] = method
        return method

    return note


def table() -> dict[str, tuple[str, str, str]]:
    page = (TOP / "docs" / "operating.md").read_text(encoding="utf-8")
    return {fault: (check, severity, words) for fault, check, severity, words in ROW.findall(page)}


class DoctorTestCase(ServerTestCase):
    template = None
    """A migrated database that nothing uses."""

    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)
        cls.database = DatabaseServer(cls.directory)
        cls.addClassCleanup(cls.database.stop)

    def folder(self, name):
        path = f"{self.directory}/{self._testMethodName}-{name}"
        os.mkdir(path)
        os.chmod(path, 0o755)
        return path

    def environment(self, **settings):
        """Settings without a fault, apart from these. Names with None are left out."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CHATTERD_", "DATABASE_", "OLLAMA_", "OTEL_"))}
        ours = {"CHATTERD_LISTEN": "127.0.0.1:0", "CHATTERD_SHARDS": "2", "CHATTERD_UPSTREAMS": '[{"name": "parrot", "kind": "echo"}]'}
        return {name: value for name, value in (kept | ours | settings).items() if value is not None}

    def migrated(self, options=None):
        """A database with the schema of this version: a copy of the first one, or one with options."""
        cls = type(self)
        if options is None and cls.template is not None:
            return self.database.make_database(f"TEMPLATE {cls.template}")
        name = self.database.make_database(options or "")
        run = self.run_program(self.environment(DATABASE_URL=self.database.conninfo(name)), "migrate")
        self.assertEqual(run.returncode, 0, run.stderr)
        if options is None:
            cls.template = name
            return self.migrated()
        return name

    def on_small_disk(self, stack, space):
        """A small disk, and a migrated database on it."""
        disk = SmallDisk(f"{self.directory}/{space}", 64)
        stack.callback(disk.remove)
        self.database.execute(f"CREATE TABLESPACE {space} LOCATION '{disk.directory}/space'")
        name = self.migrated(f"TABLESPACE {space}")
        # A checkpoint needs the files of all databases.
        stack.callback(lambda: (disk.free(), self.database.execute(f"DROP DATABASE {name} WITH (FORCE);\nDROP TABLESPACE {space}")))
        return disk, name

    def fill(self, disk, name):
        """Leaves space in a table, where removed rows were, and none on the disk."""
        add = "INSERT INTO chatterd_attachments (app, digest, content) VALUES ('x', sha256('{0}'), repeat('x', 500000))"
        self.database.execute(f"{add.format(1)};\n{add.format(2)};\nDELETE FROM chatterd_attachments WHERE digest = sha256('1')", name)
        self.database.execute("VACUUM chatterd_attachments", name)
        disk.fill()

    def run_program(self, environment, *words, **options):
        return subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False, **options)

    def report(self, environment, *words, **options):
        """The report of doctor for programs, and its exit code."""
        run = self.run_program(environment, "doctor", "--json", *words, **options)
        self.assertEqual(run.stderr, "")
        return json.loads(run.stdout), run.returncode


class PlantedFaultTests(DoctorTestCase):
    def test_every_fault_of_the_table_is_planted(self):
        self.assertEqual(list(table()), list(PLANTS))

    def test_nothing_is_found_without_a_fault(self):
        environment = self.environment(DATABASE_URL=self.database.conninfo(self.migrated()))
        report, status = self.report(environment)
        self.assertEqual((report["severity"], status), ("ok", 0), report)
        run = self.run_program(environment, "doctor")
        self.assertEqual(run.returncode, 0)
        for printed in run.stdout.splitlines():
            self.assertTrue(printed.startswith("ok    "), printed)

    def check(self, fault):
        """Plants a fault, and compares what doctor says with the table."""
        check, severity, words = table()[fault]
        with contextlib.ExitStack() as stack:
            environment, arguments, options = PLANTS[fault](self, stack), [], {}
            if isinstance(environment, tuple):
                environment, arguments, options = environment
            if "DATABASE_URL" not in environment:
                environment["DATABASE_URL"] = self.database.conninfo(self.migrated())
            report, status = self.report(environment, *arguments, **options)
            pattern = ".*".join(re.escape(part) for part in words.split("…"))
            found = [one for one in report["checks"] if one["id"] == check and re.search(pattern, one["finding"])]
            self.assertEqual([one["severity"] for one in found], [severity], report["checks"])
            self.assertTrue(found[0]["advice"])
            self.assertEqual(status, EXIT[report["severity"]])
            self.assertNotEqual(status, 0)
            printed = self.run_program(environment, "doctor", *arguments, **options)
            self.assertEqual(printed.returncode, status)
            label = {"failure": "FAIL ", "warning": "warn "}[severity]
            self.assertRegex(printed.stdout, f"(?m)^{label} .*{pattern}")
            self.assertNotIn("sesame", printed.stdout + json.dumps(report))

    # The database

    @plants("The password of the database is wrong")
    def wrong_password(self, stack):
        name = self.database.make_database()
        self.database.execute("CREATE ROLE guarded LOGIN PASSWORD 'other'")
        self.database.require_passwords("guarded")
        return self.environment(DATABASE_URL=self.database.conninfo(name, "guarded") + " password=sesame", CHATTERD_STORE_TIMEOUT="1s")

    @plants("PostgreSQL does not run")
    def no_server(self, stack):
        return self.environment(DATABASE_URL=f"host={self.directory} user=chat dbname=chat", CHATTERD_STORE_TIMEOUT="1s")

    @plants("The database does not exist")
    def no_database(self, stack):
        return self.environment(DATABASE_URL=self.database.conninfo("absent"), CHATTERD_STORE_TIMEOUT="1s")

    @plants("All connections are in use")
    def no_connection(self, stack):
        name = self.database.make_database()
        self.database.execute("CREATE ROLE lonely LOGIN CONNECTION LIMIT 0")
        return self.environment(DATABASE_URL=self.database.conninfo(name, "lonely"), CHATTERD_STORE_TIMEOUT="1s")

    @plants("Fewer connections are permitted than the processes want")
    def few_connections(self, stack):
        name = self.database.make_database()
        self.database.execute("CREATE ROLE modest LOGIN CONNECTION LIMIT 3; GRANT CREATE ON SCHEMA public TO modest")
        return self.environment(DATABASE_URL=self.database.conninfo(name, "modest"))

    @plants("The database is read-only")
    def read_only(self, stack):
        name = self.migrated()
        self.database.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    @plants("The disk of the database is full")
    def full_disk(self, stack):
        disk, name = self.on_small_disk(stack, "little")
        self.fill(disk, name)
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    @plants("The role may not create tables, and migrations are outstanding")
    def no_create(self, stack):
        name = self.database.make_database()
        self.database.execute("CREATE ROLE plain LOGIN")
        self.database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", name)
        return self.environment(DATABASE_URL=self.database.conninfo(name, "plain"))

    @plants("The tables belong to another role")
    def foreign_tables(self, stack):
        name = self.migrated()
        self.database.execute("CREATE ROLE stranger LOGIN")
        return self.environment(DATABASE_URL=self.database.conninfo(name, "stranger"))

    @plants("The role may not use `chatterd_member`")
    def no_member(self, stack):
        self.migrated()
        name = self.database.make_database()
        role = f"unprivileged_{name}"
        self.database.execute(f"CREATE ROLE {role} LOGIN; ALTER DATABASE {name} OWNER TO {role}")
        environment = self.environment(DATABASE_URL=self.database.conninfo(name, role))
        self.assertEqual(self.run_program(environment, "migrate").returncode, 0)
        return environment

    @plants("Any role may execute a function of chatterd")
    def open_function(self, stack):
        name = self.migrated()
        self.database.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC", name)
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    @plants("Any role may create functions in the schema")
    def open_schema(self, stack):
        name = self.migrated()
        self.database.execute("GRANT CREATE ON SCHEMA public TO PUBLIC", name)
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    def changed(self, statement):
        name = self.migrated()
        self.database.execute(statement, name)
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    @plants("A newer version has migrated the database")
    def too_new(self, stack):
        return self.changed("INSERT INTO chatterd_migrations VALUES ('9999_future', 'x')")

    @plants("A migration was changed")
    def changed_migration(self, stack):
        return self.changed("UPDATE chatterd_migrations SET checksum = 'x' WHERE name = '0007_conversations'")

    @plants("The row of a migration was removed")
    def missing_row(self, stack):
        return self.changed("DELETE FROM chatterd_migrations WHERE name = '0007_conversations'")

    @plants("The clocks of the machine and of the database differ")
    def clock(self, stack):
        name = self.migrated()
        self.database.execute(f"""
            CREATE SCHEMA late AUTHORIZATION {OWNER};
            CREATE FUNCTION late.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS 'SELECT pg_catalog.clock_timestamp() - interval ''1 hour''';
            ALTER ROLE {OWNER} IN DATABASE {name} SET search_path = public, late, pg_catalog""", name)
        return self.environment(DATABASE_URL=self.database.conninfo(name))

    @plants("Processes have different lists of model servers")
    def different_lists(self, stack):
        name = self.migrated()
        settings = {"CHATTERD_UPSTREAMS": '[{"name": "cat", "kind": "echo"}]', "DATABASE_URL": self.database.conninfo(name)}
        server = Server(self.folder("running"), OLLAMA_URL="", **settings)
        stack.callback(server.close)
        return self.environment(DATABASE_URL=settings["DATABASE_URL"])

    # Model servers

    def models(self, stack, answer, kind="openai", **members):
        """A model server whose answer is that of an asynchronous function."""
        server = ModelServer(answer)
        background.run(server.start())
        stack.callback(lambda: background.run(server.stop()))
        return self.listed(server.url, kind, **members)

    def listed(self, url, kind="openai", **members):
        return self.environment(CHATTERD_UPSTREAMS=json.dumps([{"name": "gpu", "kind": kind, "url": url} | members]))

    LIST = json.dumps({"object": "list", "data": [{"id": "tiny"}]})

    @plants("No model server runs at the address")
    def no_model_server(self, stack):
        return self.listed(self.unused_url(stack), "ollama")

    @plants("The model server is of another kind")
    def wrong_kind(self, stack):
        async def answer(exchange):
            found = {"/v1/models": self.LIST, "/v1/chat/completions": "{}"}.get(exchange.path)
            await exchange.answer(found or "{}", 200 if found else 404)

        return self.models(stack, answer, "ollama")

    @plants("The key of the model server is wrong")
    def wrong_key(self, stack):
        async def answer(exchange):
            await exchange.answer('{"error": {"message": "no"}}', 401)

        return self.models(stack, answer, key="sesame")

    @plants("The model server hangs")
    def hanging(self, stack):
        async def answer(exchange):
            await exchange.rest(TIMEOUT)

        return self.models(stack, answer, "ollama")

    @plants("The model server lists its models, but answers no chat")
    def hanging_chats(self, stack):
        async def answer(exchange):
            if exchange.path == "/v1/models":
                return await exchange.answer(self.LIST)
            await exchange.rest(TIMEOUT)

        return self.models(stack, answer)

    @plants("The model server lacks a model")
    def missing_model(self, stack):
        async def answer(exchange):
            await exchange.answer(self.LIST if exchange.path == "/v1/models" else "{}", 200 if exchange.path == "/v1/models" else 400)

        return self.models(stack, answer, models=["tiny", "absent"])

    @plants("The certificate of the model server has expired")
    def expired_model_server(self, stack):
        certificate = Certificate(self.folder("pair") + "/expired", -20, -10)
        server = SecureServer(certificate, {"data": []})
        stack.callback(server.stop)
        return self.listed(server.url, ca_file=certificate.path)

    async def ollama(self, exchange, chat):
        """An Ollama; `chat` answers chats with messages."""
        documents = {"/api/version": {"version": "0.9.1"}, "/api/tags": {"models": [{"name": "tiny"}]}, "/api/show": {}}
        if (document := documents.get(exchange.path)) is not None:
            return await exchange.answer(json.dumps(document))
        if exchange.method == "GET" or not exchange.request.get("messages"):
            return await exchange.answer('{"error": "no messages"}', 400)
        await chat(exchange)

    @plants("A model needs long for its first word")
    def slow_first_word(self, stack):
        async def chat(exchange):
            await exchange.begin(LINES)
            await exchange.rest(6)
            await exchange.send(line("tiny", {"content": "Hello"}))
            await exchange.send(line("tiny", {}, **LAST))
            await exchange.finish()

        return self.models(stack, functools.partial(self.ollama, chat=chat), "ollama"), ["--chat"], {}

    @plants("A model fails")
    def failing_model(self, stack):
        async def chat(exchange):
            await exchange.answer('{"error": "out of memory"}', 500)

        return self.models(stack, functools.partial(self.ollama, chat=chat), "ollama"), ["--chat"], {}

    # The process

    def tls(self, *dates):
        pair = Certificate(self.folder("pair") + "/own", *dates)
        return self.environment(CHATTERD_TLS_LISTEN="127.0.0.1:0", CHATTERD_TLS_CERT=pair.path, CHATTERD_TLS_KEY=pair.key)

    @plants("The certificate of HTTPS has expired")
    def expired(self, stack):
        return self.tls(-20, -10)

    @plants("The certificate of HTTPS is not valid yet")
    def not_yet_valid(self, stack):
        return self.tls(10, 20)

    @plants("The certificate of HTTPS ends within 14 days")
    def ends_soon(self, stack):
        return self.tls(-10, 10)

    @plants("The limit of open files is low")
    def few_files(self, stack):
        return self.environment(), [], {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}

    @plants("The port is in use")
    def port_in_use(self, stack):
        server = ModelServer(lambda exchange: exchange.rest(TIMEOUT))
        background.run(server.start())
        stack.callback(lambda: background.run(server.stop()))
        return self.environment(CHATTERD_LISTEN=server.url.removeprefix("http://"))

    @plants("A variable is wrong")
    def wrong_variable(self, stack):
        return self.environment(CHATTERD_SHARD="2")

    # Issuers and proxies

    def issuer(self, stack, document, ahead=0.0):
        certificate = Certificate(self.folder("pair") + "/issuer", -10, 100)
        server = SecureServer(certificate, document(certificate), ahead)
        stack.callback(server.stop)
        entry = {"app": "shop", "issuer": "https://accounts.example", "audience": "shop", "jwks_url": f"{server.url}/keys", "ca_file": certificate.path}
        return self.environment(CHATTERD_ISSUERS=json.dumps({"issuers": [entry]}))

    @plants("The clock of an issuer is wrong")
    def late_issuer(self, stack):
        return self.issuer(stack, lambda certificate: {"keys": [certificate.public_key()]}, ahead=-3600)

    @plants("The keys of an issuer cannot be read")
    def broken_issuer(self, stack):
        return self.issuer(stack, lambda certificate: ["no keys"])

    # Tools and traces

    def unused_url(self, stack):
        holder = keep_port()
        stack.callback(holder.close)
        return f"http://127.0.0.1:{holder.getsockname()[1]}"

    @plants("A server of tools does not run")
    def no_tool_server(self, stack):
        entry = {"name": "docs", "mcp": f"{self.unused_url(stack)}/mcp", "allow_private": True}
        return self.environment(CHATTERD_TOOLS=json.dumps([entry]))

    @plants("The collector of traces does not run")
    def no_collector(self, stack):
        return self.environment(OTEL_EXPORTER_OTLP_ENDPOINT=self.unused_url(stack))

    def collector(self, stack):
        """A collector with TLS, and the certificate that signs itself."""
        certificate = Certificate(self.folder("pair") + "/collector", -10, 100)
        server = SecureServer(certificate, {})
        stack.callback(server.stop)
        return server.url, certificate.path

    @plants("The path of the collector is wrong")
    def wrong_collector(self, stack):
        server = self.running(stack)
        return self.environment(OTEL_EXPORTER_OTLP_ENDPOINT=f"{server.url}/nothing")

    @plants("The certificate of the collector has an unknown authority")
    def strange_collector(self, stack):
        return self.environment(OTEL_EXPORTER_OTLP_ENDPOINT=self.collector(stack)[0])

    def test_report_has_no_secret_and_no_line_of_others(self):
        """A collector and a server of tools repeat the credential that they get, and try to write lines of their own."""
        async def answer(exchange):
            said = "x\nok    PostgreSQL: forged\u001b[31m\u202e" + exchange.fields["authorization"]
            if exchange.path == "/mcp":
                await exchange.answer(json.dumps({"jsonrpc": "2.0", "id": json.loads(exchange.body)["id"], "error": {"code": -32000, "message": said}}))
            else:
                await exchange.answer(json.dumps({"partialSuccess": {"rejectedSpans": "1", "errorMessage": said * 100}}))

        with contextlib.ExitStack() as stack:
            server = ModelServer(answer)
            background.run(server.start())
            stack.callback(lambda: background.run(server.stop()))
            entry = {"name": "docs", "mcp": f"{server.url}/mcp", "allow_private": True, "headers": {"Authorization": "Bearer sekret-of-tools"}}
            environment = self.environment(
                DATABASE_URL=self.database.conninfo(self.migrated()), OTEL_EXPORTER_OTLP_ENDPOINT=server.url,
                OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20sekret-of-spans", CHATTERD_TOOLS=json.dumps([entry]))
            run = self.run_program(environment, "doctor")
            self.assertEqual(run.returncode, 1, run.stdout)
            for printed in run.stdout.splitlines():
                self.assertRegex(printed, r"^(ok   |warn ) \S")
                self.assertNotRegex(printed, r"^ok    PostgreSQL: forged|sekret|[\x00-\x1f\u202e]")
                self.assertLess(len(printed), 2_000)
            self.assertIn("rejected spans: x ok", run.stdout)
            self.assertIn("server of tools docs: ", run.stdout)
            report, _ = self.report(environment)
            self.assertNotIn("sekret", json.dumps(report))

    def test_collector_with_a_known_authority_is_fine(self):
        with contextlib.ExitStack() as stack:
            url, path = self.collector(stack)
            environment = self.environment(
                DATABASE_URL=self.database.conninfo(self.migrated()), OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_CERTIFICATE=path)
            report, status = self.report(environment)
            self.assertEqual(status, 0, report)
            self.assertEqual([one["severity"] for one in report["checks"] if one["id"] == "collector"], ["ok"])

    def running(self, stack, **settings):
        """A chatterd with the built-in model."""
        environment = {"DATABASE_URL": self.database.conninfo(self.migrated()), "CHATTERD_ECHO": "1"}
        server = Server(self.folder("running"), **environment | settings)
        stack.callback(server.close)
        return server

    @plants("A proxy buffers streams")
    def buffering(self, stack):
        proxy = BufferingProxy(self.running(stack).url)
        stack.callback(proxy.stop)
        return self.environment(), ["--through", proxy.url], {}

    @plants("A proxy compresses streams")
    def compressing(self, stack):
        proxy = BufferingProxy(self.running(stack).url, compresses=True)
        stack.callback(proxy.stop)
        return self.environment(), ["--through", proxy.url], {}

    @plants("The address of clients refuses prompts")
    def refused(self, stack):
        return self.environment(), ["--through", self.running(stack, CHATTERD_ACCESS="keys").url], {}

    def test_stream_that_nothing_buffers_is_fine(self):
        with contextlib.ExitStack() as stack:
            server = self.running(stack)
            environment = self.environment(DATABASE_URL=self.database.conninfo(self.migrated()))
            report, status = self.report(environment, "--through", server.url)
            self.assertEqual(status, 0, report)
            self.assertIn("events arrive as they are made", report["checks"][-1]["finding"])
            # It leaves no conversation.
            self.assertEqual(call(server.url, "GET", "/conversations?appID=chatterd-doctor")[2]["conversations"], [])

    def test_stream_with_the_key_of_an_app_is_fine(self):
        with contextlib.ExitStack() as stack:
            server = self.running(stack, CHATTERD_ACCESS="keys")
            key = self.run_program(server.options["env"], "keys", "create", "--app", "shop").stdout.split()[-1]
            path = self.folder("key") + "/key"
            with open(path, "w", encoding="utf-8") as file:
                file.write(key + "\n")
            environment = self.environment(DATABASE_URL=self.database.conninfo(self.migrated()))
            report, status = self.report(environment, "--through", server.url, "--key-file", path)
            self.assertEqual(status, 0, report)
            self.assertNotIn(key, json.dumps(report))

    def test_models_that_answer_are_fine(self):
        async def chat(exchange):
            await exchange.begin(LINES)
            await exchange.send(line("tiny", {"content": "Hello"}))
            await exchange.send(line("tiny", {}, **LAST))
            await exchange.finish()

        with contextlib.ExitStack() as stack:
            environment = self.models(stack, functools.partial(self.ollama, chat=chat), "ollama")
            environment["DATABASE_URL"] = self.database.conninfo(self.migrated())
            report, _ = self.report(environment, "--chat")
            found = [(one["subject"], one["severity"] != "failure") for one in report["checks"] if one["id"] == "chat"]
            self.assertEqual(found, [("model server gpu, model tiny", True)], report)

    def test_server_logs_the_faults_that_it_runs_with(self):
        with contextlib.ExitStack() as stack:
            environment = self.no_member(stack)
            own = {name: value for name, value in self.tls(-20, -10).items() if name.startswith("CHATTERD_TLS")}
            server = Server(self.folder("running"), DATABASE_URL=environment["DATABASE_URL"], **own)
            stack.callback(server.close)
            lines = [json.loads(server.expect(rf'^.*"msg":"doctor".*"subject":"{subject}".*$').group()) for subject in ("certificate", "isolation")]
            self.assertEqual([one["level"] for one in lines], ["warning"] * 2)
            self.assertRegex(lines[0]["detail"], "it expired .* days ago: no client accepts it; replace it")
            self.assertIn("only the server itself keeps owners apart", lines[1]["detail"])


def _test(fault: str) -> Callable[[PlantedFaultTests], None]:
    return lambda self: self.check(fault)


for _fault, _method in PLANTS.items():
    setattr(PlantedFaultTests, f"test_{_method.__name__}", _test(_fault))


class FullDiskTests(DoctorTestCase):
    """A server whose database has a disk that is full for a while."""

    def test_server_is_not_ready_until_there_is_room(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        disk, name = self.on_small_disk(stack, "small")
        server = Server(self.folder("running"), DATABASE_URL=self.database.conninfo(name), CHATTERD_ECHO="1",
                        CHATTERD_METRICS_LISTEN="127.0.0.1:0", CHATTERD_DEFAULT_MODEL="echo:empty")
        stack.callback(server.close)
        self.assertEqual(self.ready(server), (200, None))
        self.fill(disk, name)
        refused = self.eventually(lambda: self.refusal(server))
        self.assertEqual(refused["code"], "store_unavailable")
        self.assertEqual(refused["error"], "The database has no disk space left. Try again in a moment.")
        self.assertTrue(refused["retryable"])
        status, words = self.ready(server)
        self.assertEqual((status, words), (503, refused["error"]))
        # It stays so while it probes the disk.
        metrics = server.expect(r"metrics at (http://\S+)/metrics").group(1)
        before = self.refusals(metrics)
        seen = set()
        while self.refusals(metrics) < before + 3:
            seen.add(self.ready(server)[0])
        self.assertEqual(seen, {503})
        health = self.run_program(server.options["env"], "health", "--ready")
        self.assertEqual(health.returncode, 1)
        self.assertIn(f"status 503: {refused['error']}", health.stderr)
        disk.free()
        # No prompt of a client is needed.
        self.eventually(lambda: self.ready(server)[0] == 200)
        self.assertEqual(call(server.url, "POST", "/llmchat", prompt("back", "late", stream=False, model="echo:empty"))[0], 200)

    def ready(self, server):
        status, _, answer = call(server.url, "GET", "/readyz")
        return status, answer.get("error")

    def refusal(self, server):
        """The answer to a prompt that needs space; None if it was stored."""
        status, _, answer = call(server.url, "POST", "/llmchat", prompt(os.urandom(20_000).hex(), os.urandom(4).hex(), stream=False, model="echo:empty"))
        return answer if status == 503 else None

    def refusals(self, metrics):
        """How often the database has refused something for lack of disk space."""
        with urllib.request.urlopen(f"{metrics}/metrics", timeout=TIMEOUT) as page:
            counts = re.findall(r'^chatterd_store_errors_total\{.*sqlstate="53100"\} (\d+)', page.read().decode(), re.MULTILINE)
        return int(counts[0])
