"""The Swift libraries with a real llama.cpp server, directly and through chatterd: the suite LlamaTests.

Run by script/test models, which has built the tests.
"""

import os
import subprocess
import unittest

from harness.machine import TOP
from models.model_server import MODEL, ModelServer


class LibraryTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = ModelServer(cls)

    def test_swift_suite_passes(self):
        program = os.path.join(TOP, ".build", "debug", "chatterdPackageTests.xctest")
        command = [program, "--testing-library", "swift-testing", "--filter", "LlamaTests"]
        environment = os.environ | {"CHATTERD_TEST_LLAMA": self.model.url, "CHATTERD_TEST_LLAMA_MODEL": MODEL}
        run = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, timeout=1200)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout + run.stderr, r"Test run with [1-9][0-9]* tests .*passed")
        self.assertNotIn("skipped", run.stdout + run.stderr)
