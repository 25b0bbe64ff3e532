"""The server of llama-cpp-python: one request at a time, which the next one interrupts; it treats thoughts and calls as text.

Run by script/test llama-cpp-python.
"""

import concurrent.futures
import os

from harness.client import stream
from models import shared_answer_tests
from models.make_model import make
from models.model_server import MODEL, ProviderProcess, known
from models.relay_test_case import RelayTestCase
from models.scripts import TOOL
from models.shared_answer_tests import says


class LlamaCppPython(ProviderProcess):
    def __init__(self, tests, *options):
        super().__init__(tests, "llama-cpp-python")
        model = os.path.join(self.directory, "model.gguf")
        make(model)
        self.command = [os.path.join(os.environ["LLAMA_CPP_PYTHON"], "bin/python"), "-m", "llama_cpp.server", "--model", model]
        self.command += ["--model_alias", MODEL, "--host", "127.0.0.1", "--port", str(self.port), "--n_threads", "1", *options]
        self.start()


class LlamaCppPythonAnswerTests(shared_answer_tests.Texts):
    @classmethod
    def setUpClass(cls):
        cls.provider = LlamaCppPython(cls, "--n_ctx", "4096")
        # chatterd does not repeat an interrupted request.
        limits = {"CHATTERD_FAILOVER_ATTEMPTS": "0", "CHATTERD_RESCUE_ATTEMPTS": "0"}
        cls.serve(cls.upstream("python", cls.provider.url, slots=1), **limits)

    def test_thoughts_and_calls_are_text(self):
        for name, more in (("think", {}), ("both", {"tools": [TOOL]})):
            with self.subTest(name):
                answer = self.ask(name, app=f"{self.app}-{name}", **more)
                self.assert_same(answer, self.provider.ask([says("user", name)], **more))
                self.assertEqual((answer.text, answer.thinking, answer.calls), (known(name), "", []))

    def test_with_one_slot_no_request_interrupts_another(self):
        def ask(number):
            return self.ask("count", app=f"{self.app}-{number}")

        with concurrent.futures.ThreadPoolExecutor(6) as crowd:
            for answer in crowd.map(ask, range(6)):
                self.assertEqual((answer.error, answer.text), (None, known("count")))


class LlamaCppPythonFailureTests(RelayTestCase):
    @classmethod
    def setUpClass(cls):
        cls.provider = LlamaCppPython(cls, "--n_ctx", "4096")
        # chatterd does not restart an answer that has begun. It retries an empty one, because the server closes connections after it.
        configured = cls.upstream("configured", cls.provider.url, "configured", context=4096)
        cls.serve(cls.upstream("python", cls.provider.url), configured, CHATTERD_RESCUE_ATTEMPTS="0")

    def test_an_answer_that_another_request_interrupts_fails_honestly(self):
        with stream(self.url, self.body("forever")) as lines:
            read = b""
            while b"again" not in read:
                self.assertTrue(line := lines.readline(), "it has an end")
                read += line
            self.assertEqual(self.ask("hello", app="another").text, known("hello"))
            # The server sends [DONE] now, without a reason.
            interrupted = self.parse(read + lines.read())
        self.assertEqual((interrupted.kinds[-1], interrupted.last["retryable"]), ("error", True))

    def test_a_prompt_that_never_fits_fails_honestly(self):
        # The server sends the status 200 without a body.
        answer = self.ask("hello, " * 1000)
        self.assertEqual((answer.kinds, answer.text, answer.state), (["error"], "", "failed"))
        self.assertEqual(self.ask("hello", app="another").text, known("hello"))

    def test_a_prompt_that_never_fits_is_refused_if_its_context_is_known(self):
        answer = self.ask("hello, " * 3000, model="configured")
        self.assertEqual((answer.kinds, answer.error), (["error"], "context_too_long"))
