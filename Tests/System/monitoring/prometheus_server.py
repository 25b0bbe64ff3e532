"""Prometheus with deploy/prometheus, on a separate port."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from harness import background
from harness.machine import TIMEOUT
from harness.program import Program, configuration
from monitoring import documents

INTERVAL = "1s"
"""Of scrapes and evaluations, so that the tests wait for few seconds."""


class PrometheusServer(Program):
    """The server. It scrapes one chatterd, or several."""

    def __init__(self, directory: str, program: str, targets: list[str], rules: str = "") -> None:
        """`rules` take the place of those of deploy/prometheus."""
        super().__init__(directory, "prometheus")
        home = f"{directory}/prometheus"
        os.makedirs(home)
        changes = {'"127.0.0.1:9464"': ", ".join(map(json.dumps, targets)), "scrape_interval: 15s": f"scrape_interval: {INTERVAL}",
                   "evaluation_interval: 15s": f"evaluation_interval: {INTERVAL}"}
        files = {"prometheus.yml": configuration("prometheus/prometheus.yml", changes),
                 documents.ALERTS.name: rules or documents.ALERTS.read_text(encoding="utf-8")}
        for name, text in files.items():
            with open(f"{home}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        background.run(self.launch([
            program, f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/data",
            f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=info"]))
        # It accepts connections before that, and answers with 503.
        self.expect("Server is ready to receive web requests")

    def read(self, path: str, **query: str) -> Any:
        """The data of an answer of its API; an answer with an error fails."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode(errors='replace')}") from error
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression now: each has `metric`, its labels, and `value`."""
        data = self.read("query", query=expression)
        return data["result"] if data["resultType"] == "vector" else [{"metric": {}, "value": data["result"]}]

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that are pending or firing: each has `labels` and `state`."""
        return self.read("alerts")["alerts"]
