"""schemathesis sends generated requests to a real chatterd: each response must be one that /openapi.json describes.

The short form sends the examples and some random requests to each endpoint. With API_LONG it sends more of them, and requests that
cover each value of each schema.
"""

import os
import pathlib
import subprocess
import sys
import unittest

from harness.chatterd import Server
from harness.client import call
from harness.machine import TIMEOUT, make_directory
from harness.model import Model

ADMIN_TOKEN = "the-token-of-the-administrator"
APP = "client"
CHECKS = """not_a_server_error status_code_conformance content_type_conformance response_headers_conformance
    response_schema_conformance""".split()
PHASES, EXAMPLES = ("examples,coverage,fuzzing", 30) if "API_LONG" in os.environ else ("examples,fuzzing", 3)
# The seed makes all runs equal. No state is kept between them, and no check looks at a clock. The feed of a conversation has no end.
OPTIONS = f"""--phases {PHASES} --max-examples {EXAMPLES} --seed 10 --generation-database none --workers 1 --warnings off
    --generation-with-security-parameters false --suppress-health-check all --continue-on-failure --no-color --request-timeout {TIMEOUT}
    --exclude-path /conversations/{{c}}/events""".split()


def answer(exchange):
    """Answers at once. A test of a model server of another kind gets no answer."""
    if "model" not in exchange.request:
        return Model.BREAK_OFF
    return exchange.say("You ", "said ", "so.", pause=0)


class OpenAPITests(unittest.TestCase):
    """One server for each test. Its model answers at once."""

    def serve(self, **variables):
        self.model = Model(type(self))
        self.model.script = answer
        self.directory = make_directory(type(self))
        server = Server(self.directory, OLLAMA_URL=self.model.url, CHATTERD_WEATHER_URL=self.model.url, **variables)
        self.addCleanup(server.stop)
        self.url = server.url

    def check(self, *options, app=APP, credential=None):
        """Runs schemathesis, and fails with its report."""
        program = pathlib.Path(sys.executable).with_name("st")
        command = [program, "run", f"{self.url}/openapi.json", "--checks", ",".join(CHECKS), *OPTIONS, *options]
        environment = {
            "SCHEMATHESIS_HOOKS": "openapi.hooks", "API_URL": self.url, "API_MODEL_URL": self.model.url, "API_APP": app,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if credential:
            command += ["--header", f"Authorization: Bearer {credential}"]
            environment["API_CREDENTIAL"] = credential
        run = subprocess.run(
            command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_requests_in_open_mode(self):
        self.serve()
        self.check()

    def test_requests_of_an_app_and_of_an_administrator(self):
        self.serve(CHATTERD_ACCESS="keys", CHATTERD_ADMIN_TOKEN=ADMIN_TOKEN)
        status, _, key = call(self.url, "POST", "/keys", {"app": APP}, {"Authorization": f"Bearer {ADMIN_TOKEN}"})
        self.assertEqual(status, 201, key)
        self.check(credential=key["key"])
        # The administrator changes the list of model servers, so these requests come last.
        tags = ["--include-tag", "Model servers", "--include-tag", "Credentials"]
        self.check(*tags, app="", credential=ADMIN_TOKEN)
