"""Base class of the tests of chatter: a server with a scripted model and the built-in one, a proxy, and a home directory."""

import os
import pathlib
import signal
import subprocess
import threading

from harness.chatterd import Server
from harness.client import call
from harness.cutting_proxy import Gate
from harness.machine import TIMEOUT, TOP, end_with_us, make_directory
from harness.reply_test_case import ReplyTestCase
from terminal.terminal import Terminal

CHATTER = os.environ.get("CHATTER", str(TOP / ".build/debug/chatter"))
ADMIN = "an-admin-token-of-the-tests"


def prepare():
    """Makes a command that the kernel stops with the tests, and that notices Ctrl-C also when a script runs the tests in the background."""
    end_with_us()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ChatterTestCase(ReplyTestCase):
    @classmethod
    def serve(cls):
        cls.server = Server(cls.directory, OLLAMA_URL=cls.model.url, CHATTERD_ECHO="1", CHATTERD_ADMIN_TOKEN=ADMIN)
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(make_directory(type(self)))
        self.proxy = Gate(self.url, self.addCleanup)

    def environment(self, **variables):
        """The environment of chatter: no variable of the tests' own, the app of this test, and the scripted model."""
        base = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "xterm", "CHATTER_URL": self.url,
            "CHATTER_APP": self.app, "CHATTER_MODEL": "m",
        }
        return {name: value for name, value in (base | variables).items() if value is not None}

    def open(self, *arguments, columns=100, lines=30, **variables):
        """A conversation in a terminal."""
        environment = self.environment(**variables)
        return Terminal([CHATTER, *arguments], environment, self.addCleanup, columns=columns, lines=lines)

    def start_command(self, *arguments, **variables):
        """A command in pipes that is still running. Its standard input is empty. It is killed when it takes too long."""
        process = subprocess.Popen(
            [CHATTER, *arguments], env=self.environment(**variables), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare,
        )
        limit = threading.Timer(TIMEOUT, process.kill)
        limit.start()

        def end():
            limit.cancel()
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

        self.addCleanup(end)
        return process

    def command(self, *arguments, input="", status=0, **variables):
        """Runs a command in pipes to its end, and checks its status; returns its output and its errors."""
        done = subprocess.run(
            [CHATTER, *arguments], env=self.environment(**variables), input=input, capture_output=True, text=True,
            timeout=TIMEOUT, preexec_fn=prepare,
        )
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout!r} {done.stderr!r}")
        return done.stdout, done.stderr

    def conversations(self):
        """The names of this test's conversations, the newest change first."""
        status, _, answer = call(self.url, "GET", f"/conversations?appID={self.app}")
        self.assertEqual(status, 200, answer)
        return [conversation["conversation"] for conversation in answer["conversations"]]

    def messages(self, name=None):
        """The stored messages of a conversation, by default of the newest one."""
        name = name or self.conversations()[0]
        status, _, page = call(self.url, "GET", f"/conversations/{name}?appID={self.app}&limit=200")
        self.assertEqual(status, 200, page)
        return page["messages"]

    def texts(self, role, name=None):
        return [message["content"] for message in self.messages(name) if message["role"] == role]
