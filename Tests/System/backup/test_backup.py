"""A dump and a base backup of a chatterd under load, restored into clusters of their own. Run by script/test backup."""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import urllib.request
from dataclasses import dataclass

from backup.conversations import APP, HOLD, OPENING, Conversations, HoldingModel, ends_of, exported, key, messages, place
from backup.databases import DATABASE, OWNER, DatabaseServer
from harness.chatterd import PROGRAM, Server
from harness.client import call, prompt, stream
from harness.machine import TIMEOUT, make_directory
from harness.model import Model
from harness.reply_test_case import ServerTestCase

ENDED, CLIENTS, HELD = 12, 3, 4
"""Conversations that have ended, clients under load, and replies that run during both backups."""
READER, BACKUP = "reader", "backup"
"""Roles that may read all tables: row-level security stops the first one, and not the second one."""
CONTINUED = "continued"
"""A conversation that gets further prompts in the restored servers."""


@dataclass
class Restored:
    """A chatterd on a restored database, and what the program said about the database before."""

    name: str
    server: Server
    migrate: subprocess.CompletedProcess[str]
    doctor: subprocess.CompletedProcess[str]


class BackupTests(ServerTestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = make_directory(cls)
        cls.model, cls.holding = Model(cls, ["m"]), HoldingModel()
        cls.model.script = cls.holding.answer
        cls.original = cls.cluster("original")
        cls.original.begin()
        cls.original.execute(f"""
            CREATE ROLE {OWNER} LOGIN CREATEROLE;
            CREATE DATABASE {DATABASE} OWNER {OWNER};
            CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data;
            CREATE ROLE {BACKUP} LOGIN BYPASSRLS IN ROLE pg_read_all_data;""")
        cls.server = cls.serve("original", cls.original)
        cls.key = command(cls.server, "keys", "create", "--app", APP).stdout.split()[-1]
        cls.talk = Conversations(cls.server.url)
        test = cls()
        test.talk_and_back_up()
        cls.server.kill()
        cls.base.start()
        dumped, owned = cls.cluster("dumped"), cls.cluster("owned")
        for cluster in (dumped, owned):
            cluster.begin()
        dumped.restore(f"{cls.directory}/chat.dump", cls.roles)
        owned.restore_as_owner(f"{cls.directory}/chat.dump")
        databases = {"from the dump": dumped, "from the dump by the owner": owned, "from the base backup": cls.base}
        cls.restored = [cls.restore(name, database) for name, database in databases.items()]

    @classmethod
    def folder(cls, name):
        path = f"{cls.directory}/{name}"
        os.mkdir(path)
        os.chmod(path, 0o755)
        return path

    @classmethod
    def cluster(cls, name):
        server = DatabaseServer(cls.folder(f"cluster {name}".replace(" ", "-")))
        cls.addClassCleanup(server.stop)
        return server

    @classmethod
    def serve(cls, name, database):
        server = Server(cls.folder(f"chatterd {name}".replace(" ", "-")), DATABASE_URL=database.conninfo(), OLLAMA_URL=cls.model.url,
                        CHATTERD_METRICS_LISTEN="127.0.0.1:0")
        cls.addClassCleanup(server.close)
        return server

    @classmethod
    def restore(cls, name, database):
        """Starts chatterd on a restored database, after its operator has asked about it."""
        # doctor asks model servers too, and the scripted one does not answer it.
        upstreams = '[{"name": "parrot", "kind": "echo"}]'
        env = {name: value for name, value in cls.server.options["env"].items() if name != "OLLAMA_URL"}
        env |= {"DATABASE_URL": database.conninfo(), "CHATTERD_UPSTREAMS": upstreams}
        # Until their leases have expired, the processes of the original count, which have other model servers.
        live = "SELECT id FROM chatterd_processes WHERE expires_at > now()"
        cls().eventually(lambda: not database.execute(live, DATABASE))
        migrate, doctor = (run_program(env, word) for word in ("migrate", "doctor"))
        return Restored(name, cls.serve(name, database), migrate, doctor)

    def talk_and_back_up(self):
        """Fills the database, and makes both backups while clients ask and replies run."""
        cls = type(self)
        for number in range(ENDED):
            self.talk.ask(f"ended {number}")
        self.talk.ask(CONTINUED)
        cls.held = [self.talk.hold(number) for number in range(HELD)]
        # The first pieces of the held replies are in the journal, and so in the backups.
        self.eventually(lambda: unwritten_bytes(self.server) == 0)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as crowd:
            load = [crowd.submit(self.talk.ask_until_over, client) for client in range(CLIENTS)]
            try:
                self.eventually(lambda: len(self.talk.ended) > ENDED + CLIENTS or any(client.done() for client in load))
                cls.exports = {name: exported(self.server.url, name) for name in list(self.talk.ended) if name != CONTINUED}
                cls.refused_dump = self.original.dump(f"{self.directory}/refused.dump", READER)
                dump = self.original.dump(f"{self.directory}/chat.dump", BACKUP)
                self.assertEqual((dump.returncode, dump.stderr), (0, ""))
                cls.roles = self.original.roles()
                cls.base = self.cluster("base")
                cls.base.begin_from(self.original)
            finally:
                self.talk.is_over.set()
                self.holding.proceed.set()
        self.assertEqual([client.exception() for client in load], [None] * CLIENTS)

    def test_acknowledged_conversations_have_equal_bytes(self):
        self.assertGreater(len(self.exports), ENDED)
        for restored in self.restored:
            with self.subTest(restored.name):
                url = restored.server.url
                for name, text in self.exports.items():
                    self.assertEqual(exported(url, name), text, name)

    def test_running_replies_are_interrupted_with_their_text_or_generated_again(self):
        for restored in self.restored:
            with self.subTest(restored.name):
                url = restored.server.url
                for held in self.held:
                    last = ends_of(url, held.path)
                    question, reply = messages(url, held.conversation)
                    self.assertEqual(question["content"], HOLD)
                    if held.is_regenerated:
                        self.assertEqual((reply["state"], reply["content"]), ("complete", HoldingModel.expected(HOLD)))
                    else:
                        self.assertEqual((reply["state"], last["code"]), ("interrupted", "interrupted"))
                        self.assertEqual(reply["content"], "".join(OPENING))

    def test_replies_of_the_load_end_truthfully(self):
        for restored in self.restored:
            with self.subTest(restored.name):
                url = restored.server.url
                for name in self.talk.begun:
                    found = self.eventually(lambda: self.closed(url, name))
                    self.assertLessEqual(len(found), 2)
                    for message in found:
                        if message["role"] == "user":
                            self.assertEqual(message["content"], name)
                        elif message["state"] == "complete":
                            self.assertEqual(message["content"], HoldingModel.expected(name))
                        else:
                            self.assertEqual(message["state"], "interrupted", name)
                            self.assertTrue(HoldingModel.expected(name).startswith(message["content"]), name)

    @staticmethod
    def closed(url, name):
        """The messages of a conversation whose replies have ended; None before that, and a note if it is not in the backup."""
        found = messages(url, name)
        return None if any(message.get("state") == "streaming" for message in found) else found or [{"role": "user", "content": name}]

    def test_migrations_and_isolation_are_those_of_the_original(self):
        for restored in self.restored:
            with self.subTest(restored.name):
                self.assertEqual(restored.migrate.returncode, 0, restored.migrate.stderr)
                said = restored.migrate.stdout.splitlines()
                if restored.name == "from the dump by the owner":
                    # The role and its rights are not in the database.
                    self.assertEqual(said[:2], ["created the role chatterd_member", f"granted the role chatterd_member to {OWNER}"])
                    self.assertRegex(said[-2], "^set the rights of chatterd_member on .*chatterd_conversations")
                    self.assertRegex(said[-1], r"^set the rights of \d+ functions$")
                else:
                    self.assertEqual(said, ["nothing to migrate"])
                self.assertEqual(restored.doctor.returncode, 0, restored.doctor.stdout)
                self.assertRegex(restored.doctor.stdout, r"(?m)^ok +migrations: all \d+ are applied$")
                self.assertRegex(restored.doctor.stdout, r"(?m)^ok +isolation: row-level security keeps owners apart$")

    def test_keys_are_valid_and_repeated_prompts_find_their_reply(self):
        for restored in self.restored:
            with self.subTest(restored.name):
                url = restored.server.url
                for credential, status in ((self.key, 200), (f"{self.key[:-4]}AAAA", 401)):
                    self.assertEqual(call(url, "GET", place("ended 0"), headers={"Authorization": f"Bearer {credential}"})[0], status)
                original = messages(url, "ended 0")[1]["id"]
                body = prompt("ended 0", APP, model="m", conversation="ended 0")
                with stream(url, body, {"Idempotency-Key": key("ended 0")}) as lines:
                    self.assertEqual(lines.headers["Location"], f"/replies/{original}")

    def test_restored_conversation_continues(self):
        for restored in self.restored:
            with self.subTest(restored.name):
                url = restored.server.url
                text = f"And {restored.name}?"
                with stream(url, prompt(text, APP, model="m", conversation=CONTINUED)) as lines:
                    lines.read()
                found = [(message["role"], message["content"]) for message in messages(url, CONTINUED)]
                self.assertEqual(found, turn(CONTINUED) + turn(text))

    def test_role_under_row_level_security_cannot_dump(self):
        self.assertNotEqual(self.refused_dump.returncode, 0)
        self.assertIn("row-level security", self.refused_dump.stderr)


def turn(text):
    """The roles and texts of a prompt and its answer."""
    return [("user", text), ("assistant", HoldingModel.expected(text))]


def run_program(env, *words):
    """chatterd with a command."""
    return subprocess.run([PROGRAM, *words], env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False)


def command(server, *words):
    """chatterd with a command that must succeed, and the settings of a server."""
    run = run_program(server.options["env"], *words)
    assert run.returncode == 0, run.stdout + run.stderr
    return run


def unwritten_bytes(server):
    """The text of running replies that is not in the journal yet."""
    address = re.search(r"^metrics at (\S+)", server.log(), re.MULTILINE).group(1)
    with urllib.request.urlopen(address, timeout=TIMEOUT) as response:
        return float(re.search(r"^chatterd_journal_unwritten_bytes (\S+)$", response.read().decode(), re.MULTILINE).group(1))
