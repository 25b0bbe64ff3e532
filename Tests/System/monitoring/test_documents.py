"""The files against each other, and as promtool reads them. Run by script/test monitoring."""

import itertools
import os
import re
import subprocess
import unittest

from harness.machine import TIMEOUT, make_directory
from monitoring import documents
from monitoring.planted_faults import FAULTS, HEALTHY, SILENT, document

PROMTOOL = os.path.join(os.path.dirname(os.environ["PROMETHEUS"]), "promtool")


def promtool(*arguments):
    """The output of promtool, which must succeed."""
    run = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


class RuleTests(unittest.TestCase):
    def test_promtool_accepts_rules_and_configuration(self):
        self.assertIn(f"{len(documents.alerts())} rules found", promtool("check", "rules", "--lint-fatal", str(documents.ALERTS)))
        self.assertIn("1 rule files found", promtool("check", "config", "--lint-fatal", str(documents.CONFIGURATION)))

    def test_every_alert_fires_and_only_for_its_fault(self):
        planted = {alert for case in FAULTS for alert in case.alerts}
        self.assertEqual(planted, set(documents.alerts()))
        path = os.path.join(make_directory(type(self)), "alerts_test.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(document(FAULTS + SILENT, str(documents.ALERTS)))
        promtool("test", "rules", path)

    def test_planted_series_are_those_of_the_table(self):
        known = documents.table()
        for series in {name for case in FAULTS + SILENT for name in HEALTHY | case.changes}:
            name, _, labels = series.partition("{")
            self.assertIn(name, known)
            self.assertLessEqual(set(re.findall(r"(\w+)=", labels)), known[name], series)

    def test_every_alert_has_a_line_that_says_what_to_do(self):
        rows = re.findall(r'^\| <a id="(\w+)"></a>`(\w+)` \| (\w+) \| (.+) \|$', documents.section("Alerts"), re.MULTILINE)
        self.assertEqual([name for _, name, _, _ in rows], documents.alerts())
        text = documents.ALERTS.read_text(encoding="utf-8")
        self.assertEqual([severity for _, _, severity, _ in rows], re.findall(r"severity: (\w+)", text))
        self.assertEqual([f"docs/operating.md#{anchor}" for anchor, _, _, _ in rows], re.findall(r"runbook: (\S+)$", text, re.MULTILINE))
        self.assertEqual(len(re.findall(r'summary: "', text)), len(rows))
        for _, name, _, action in rows:
            self.assertGreater(len(action.split()), 10, name)

    def test_named_alerts_exist(self):
        for fault, names in documents.faults().items():
            self.assertLessEqual(names, set(documents.alerts()), fault)


class DashboardTests(unittest.TestCase):
    def test_metrics_and_labels_of_queries_are_those_of_the_table(self):
        known = documents.table()
        self.assertGreater(len(known), 60)
        texts = {query.panel: query.expression for query in documents.queries()} | {"alerts": documents.ALERTS.read_text(encoding="utf-8")}
        for place, text in texts.items():
            for selector in documents.selectors(text):
                self.assertIn(selector.name, known, place)
                self.assertLessEqual(selector.labels, known[selector.name], place)

    def test_queries_group_by_labels_of_their_metrics(self):
        known = documents.table()
        for query in documents.queries():
            labels = set().union(*(known[selector.name] for selector in documents.selectors(query.expression)))
            self.assertLessEqual(query.groups, labels, query)

    def test_legends_name_labels_that_the_query_keeps(self):
        for panel in documents.dashboard()["panels"]:
            for target in panel.get("targets", ()):
                kept = documents.Query(panel["title"], target["expr"]).groups or documents.OF_TARGETS
                self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), kept, target["expr"])

    def test_every_query_has_the_chosen_data_source(self):
        model = documents.dashboard()
        variable, = model["templating"]["list"]
        self.assertEqual((variable["name"], variable["type"], variable["query"]), ("datasource", "datasource", "prometheus"))
        panels = [panel for panel in model["panels"] if panel["type"] != "row"]
        sources = [place["datasource"] for panel in panels for place in (panel, *panel["targets"])]
        sources += [entry["datasource"] for entry in model["annotations"]["list"]]
        for source in sources:
            self.assertEqual(source, {"type": "prometheus", "uid": "${datasource}"})

    def test_every_panel_has_a_title_a_description_and_a_unit(self):
        panels = [panel for panel in documents.dashboard()["panels"] if panel["type"] != "row"]
        for panel in panels:
            self.assertTrue(panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"], panel["title"])

    def test_panels_do_not_overlap(self):
        panels = documents.dashboard()["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = set(itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])))
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
