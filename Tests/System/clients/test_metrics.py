"""The page of metrics as the parsers of Prometheus' own client read it. Run by script/test clients."""

import http.client
import importlib.util
import re
import unittest

from harness.chatterd import Server
from harness.client import ask
from harness.machine import TIMEOUT, make_directory

ADDRESS = r"^metrics at http://127\.0\.0\.1:(\d+)/metrics"
ODD = 'an "app" with \\ and {le="1"} 1 # EOF'


@unittest.skipUnless(importlib.util.find_spec("prometheus_client"), "prometheus-client could not be installed")
class MetricsTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(make_directory(cls), CHATTERD_METRICS_LISTEN="127.0.0.1:0")
        cls.addClassCleanup(cls.server.stop)
        cls.port = int(cls.server.expect(ADDRESS).group(1))
        for number in range(3):
            ask(cls.server.url, f"prompt {number}", ODD)

    def page(self, accept):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics", headers={"Accept": accept})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        return response.headers["content-type"], response.read().decode()

    def families(self, accept):
        """The families of the page, by their names, as the strict parser of its format reads them."""
        from prometheus_client import parser
        from prometheus_client.openmetrics import parser as openmetrics

        kind, text = self.page(accept)
        self.assertIn(accept, kind)
        read = openmetrics if "openmetrics" in kind else parser
        families = list(read.text_string_to_metric_families(text))
        self.assertEqual(len(families), len({family.name for family in families}))
        return {family.name: family for family in families}

    def test_both_formats_have_the_same_families(self):
        plain, opened = self.families("text/plain"), self.families("application/openmetrics-text")
        self.assertEqual(set(plain), set(opened))
        for name, family in opened.items():
            self.assertEqual((family.type, family.documentation), (plain[name].type, plain[name].documentation), name)
            self.assertLessEqual({sample.name for sample in family.samples}, {name + end for end in ("", "_total", "_bucket", "_sum", "_count")})

    def test_counters_and_histograms_are_those_of_three_prompts(self):
        families = self.families("application/openmetrics-text")
        started = [sample for sample in families["chatterd_replies_started"].samples if sample.labels["kind"] == "prompt"]
        self.assertEqual([sample.value for sample in started], [3])
        times = families["chatterd_reply_time_to_first_token_seconds"]
        self.assertEqual((times.type, times.unit), ("histogram", "seconds"))
        counts = [sample.value for sample in times.samples if sample.name.endswith("_bucket")]
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], 3)
        self.assertEqual(times.samples[-1].value, 3)
        parts = families["chatterd_reply_time_to_first_token_part_seconds"]
        sums = sum(sample.value for sample in parts.samples if sample.name.endswith("_sum"))
        whole = sum(sample.value for sample in times.samples if sample.name.endswith("_sum"))
        # Each part and the whole are cut to microseconds.
        self.assertLess(abs(sums - whole), 3 * 6e-6)

    def test_no_label_has_a_text_of_a_client(self):
        for family in self.families("text/plain").values():
            for sample in family.samples:
                for label, value in sample.labels.items():
                    self.assertTrue(re.fullmatch(r"[A-Za-z0-9_./:*+-]*", value), (sample.name, label, value))
