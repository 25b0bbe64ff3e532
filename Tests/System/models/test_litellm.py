"""LiteLLM's proxy between chatterd and a real llama.cpp server: another dialect of OpenAI's API, with a key.

Run by script/test litellm-proxy.
"""

import json
import os
import pathlib
import secrets

from models import shared_answer_tests
from models.model_server import MODEL, ModelServer, Provider, ProviderProcess
from models.relay_test_case import RelayTestCase


class LiteLLM(ProviderProcess):
    """The proxy. Its options disable reports to its vendor and requests for prices."""

    def __init__(self, tests, model):
        super().__init__(tests, "litellm")
        key = f"sk-{secrets.token_hex(24)}"
        self.headers = Provider.headers | {"Authorization": f"Bearer {key}"}
        self.key_file = pathlib.Path(self.directory, "key")
        self.key_file.write_text(key)
        configuration = self.key_file.with_name("configuration.yaml")
        options = {"model": f"openai/{MODEL}", "api_base": f"{model.url}/v1", "api_key": "none"}
        described = {"model_list": [{"model_name": MODEL, "litellm_params": options}]}
        # JSON is YAML.
        configuration.write_text(json.dumps(described | {"litellm_settings": {"num_retries": 0}}))
        program = os.path.join(os.environ["LITELLM"], "bin/litellm")
        self.command = [program, "--config", configuration, "--host", "127.0.0.1", "--port", str(self.port), "--telemetry", "False"]
        self.options["env"] = os.environ | {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        self.start()


class LiteLLMAnswerTests(shared_answer_tests.Answers):
    @classmethod
    def setUpClass(cls):
        cls.provider = LiteLLM(cls, ModelServer(cls))
        cls.serve(cls.upstream("litellm", cls.provider.url, key_file=str(cls.provider.key_file)))


class LiteLLMFailureTests(RelayTestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = ModelServer(cls, "--slow", "--context", "1024")
        cls.provider = LiteLLM(cls, cls.model)
        limits = {"CHATTERD_FAILOVER_ATTEMPTS": "0", "CHATTERD_RESCUE_ATTEMPTS": "0"}
        cls.serve(cls.upstream("litellm", cls.provider.url, key_file=str(cls.provider.key_file)), **limits)

    def test_a_prompt_that_never_fits_is_refused_honestly(self):
        answer = self.ask("hello, " * 400)
        self.assertEqual((answer.kinds, answer.error), (["error"], "context_too_long"))

    def test_an_answer_that_is_cut_off_fails_honestly(self):
        answer = self.cut_off(self.body("count"), self.model.kill)
        self.model.start()
        self.assertEqual((answer.kinds[-1], answer.stored["state"]), ("error", "failed"), answer.last)
