"""A real Prometheus that scrapes a chatterd under prompts: the queries of the dashboard have values. Run by script/test monitoring."""

import concurrent.futures
import json
import math
import os
import re
import threading

from harness import background
from harness.chatterd import Server
from harness.client import events, post, prompt, stream
from harness.machine import make_directory
from harness.model import Model
from harness.model_server import ModelServer
from harness.reply_test_case import ServerTestCase
from monitoring import documents
from monitoring.prometheus_server import PrometheusServer

WINDOW = "1h"
"""In place of Grafana's `$__rate_interval`: longer than the tests."""
WITHOUT_SERIES = {"Certificate", "Errors"}
"""Panels without a value here: the chatterd has no HTTPS, and its database works."""
PARTS = {"chatterd", "turn", "queue", "retry", "upstream"}
LIMITS = {"connections", "feeds", "memory", "open_files", "queue", "replies", "store_connections", "store_waiting"}


class ScrapeTests(ServerTestCase):
    @classmethod
    def setUpClass(cls):
        directory = make_directory(cls)
        cls.proceed = threading.Event()
        broken, well, caller = Model(cls, ["m"]), Model(cls, ["m"]), Model(cls, ["m"])
        broken.script, well.script, caller.script = cls.break_off, cls.answer, cls.call
        upstreams = [
            {"name": "broken", "kind": "ollama", "url": broken.url, "models": ["m"]},
            {"name": "well", "kind": "ollama", "url": well.url, "models": ["m"], "slots": 1},
            {"name": "caller", "kind": "ollama", "url": caller.url, "models": ["m"]},
        ]
        tools = [{"name": "repeat", "description": "Repeats its arguments.", "command": ["/bin/cat"]}]
        hook = ModelServer(cls.allow)
        background.run(hook.start())
        cls.addClassCleanup(lambda: background.run(hook.stop()))
        hooks = [{"name": "rules", "url": hook.url, "on": ["prompt"]}]
        cls.server = Server(directory, CHATTERD_METRICS_LISTEN="127.0.0.1:0", CHATTERD_RETENTION="1h", CHATTERD_UPSTREAMS=json.dumps(upstreams),
                            CHATTERD_TOOLS=json.dumps(tools), CHATTERD_HOOKS=json.dumps(hooks))
        cls.addClassCleanup(cls.server.stop)
        cls.url = cls.server.url
        target = cls.server.expect(r"^metrics at http://(\S+)/metrics").group(1)
        cls.prometheus = PrometheusServer(directory, os.environ["PROMETHEUS"], [target])
        cls.addClassCleanup(cls.prometheus.stop)
        test = cls()
        for number in (1, 2):  # a rate needs two scrapes with different counts
            test.round(number)

    @staticmethod
    def break_off(exchange):
        exchange.say("Half an ")
        return Model.BREAK_OFF

    @classmethod
    def answer(cls, exchange):
        exchange.say("A ")
        exchange.until(cls.proceed)
        exchange.say("whole ", "answer.")

    @staticmethod
    def call(exchange):
        """Calls the tool, and says what it has returned."""
        last = exchange.request["messages"][-1]
        if last["role"] == "tool":
            return exchange.say(last["content"])
        calls = [{"function": {"name": "repeat", "arguments": {"x": 1}}}]
        exchange.write({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False})

    @staticmethod
    async def allow(exchange):
        await exchange.answer('{"action": "allow"}')

    def round(self, number):
        """Two replies that fail, two good ones one after the other, one that calls a tool, and a refused request; all of them are scraped."""
        self.proceed.clear()
        with concurrent.futures.ThreadPoolExecutor(4) as crowd:
            models = ["broken/m", "broken/m", "well/m", "well/m"]
            work = [crowd.submit(self.end_of, model, f"app {index}") for index, model in enumerate(models)]
            try:
                self.assertEqual(post(self.url, "/llmchat", {"appID": 1})[0], 422)
                self.assertEqual(post(self.url, "/llmtools", prompt("Call.", "tools", model="caller/m", stream=False))[0], 200)
                self.eventually(lambda: self.value('chatterd_upstream_queue{upstream="well"}') == 1)
            finally:
                self.proceed.set()
            self.assertEqual([run.result() for run in work], ["upstream_incomplete"] * 2 + [None] * 2)
        for selector, count in (('state="failed"', 2), ('state="complete"', 3)):
            self.eventually(lambda: self.value(f"sum(chatterd_replies_ended_total{{{selector}}})") == number * count)
        self.eventually(lambda: self.value('sum(chatterd_http_requests_total{status="422"})') == number)

    def end_of(self, model, app):
        """The code of the error with which a stream ends; None for a complete answer."""
        with stream(self.url, prompt("Speak.", app, model=model)) as lines:
            return list(events(lines.read()))[-1][2].get("code")

    def value(self, expression):
        """The value of an expression; None before it has one."""
        samples = self.prometheus.query(expression)
        return float(samples[0]["value"][1]) if samples else None

    def panel(self, title):
        """The samples of the first query of a panel: their labels, and their values."""
        query = next(query for query in documents.queries() if query.panel == title)
        return [(sample["metric"], float(sample["value"][1])) for sample in self.prometheus.query(evaluable(query))]

    def test_target_and_rules_are_those_of_the_configuration(self):
        target, = self.prometheus.read("targets")["activeTargets"]
        self.assertEqual(target["labels"]["job"], "chatterd")
        self.eventually(lambda: {rule["health"] for rule in self.rules()} == {"ok"})
        self.assertEqual([rule["name"] for rule in self.rules()], documents.alerts())

    def rules(self):
        return [rule for group in self.prometheus.read("rules")["groups"] for rule in group["rules"]]

    def test_every_metric_of_the_table_is_scraped(self):
        # OpenMetrics names a counter without the end of its series. One without a count has a type and no series.
        names = {name.removesuffix("_total") for name in re.findall(r"^\| `(\w+)` \|", documents.section("Metrics"), re.MULTILINE)}
        self.assertGreater(len(names), 45)
        scraped = self.prometheus.read("metadata")
        self.assertEqual({name.removesuffix("_total") for name in scraped}, names)

    def test_every_query_has_a_value(self):
        for query in documents.queries():
            with self.subTest(query=query):
                if query.panel in WITHOUT_SERIES:
                    self.assertEqual(self.prometheus.query(evaluable(query)), [])
                else:
                    self.eventually(lambda query=query: self.prometheus.query(evaluable(query)))

    def test_parts_of_the_time_to_the_first_token_have_values(self):
        def parts():
            found = {labels["part"]: value for labels, value in self.panel("Parts of the time to the first token")}
            return found if set(found) == PARTS and all(map(math.isfinite, found.values())) else None

        found = self.eventually(parts)
        for part in ("chatterd", "queue", "upstream"):
            self.assertGreater(found[part], 0, part)

    def test_calls_of_tools_have_their_tool_and_state(self):
        found = self.eventually(lambda: [labels for labels, value in self.panel("Calls of tools") if value > 0])
        self.assertEqual(found, [{"tool": "repeat", "state": "done"}])

    def test_failing_model_server_is_named_with_its_error(self):
        found = self.eventually(lambda: [(labels, value) for labels, value in self.panel("Failed requests") if value > 0])
        self.assertEqual([labels for labels, _ in found], [{"upstream": "broken", "outcome": "upstream_incomplete"}])

    def test_every_limit_has_a_value(self):
        found = self.eventually(lambda: self.panel("Limits now"))
        self.assertEqual({labels["limit"] for labels, _ in found}, LIMITS)
        for labels, value in found:
            self.assertTrue(0 <= value <= 1, (labels, value))


def evaluable(query):
    """The query without what Grafana replaces."""
    return query.expression.replace("$__rate_interval", WINDOW)
