"""What the repository says about metrics: the table, the rules for alerts and the dashboard."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from harness.machine import TOP

ALERTS = TOP / "deploy" / "prometheus" / "alerts.yml"
CONFIGURATION = TOP / "deploy" / "prometheus" / "prometheus.yml"
DASHBOARD = TOP / "deploy" / "grafana" / "chatterd.json"
OPERATING = TOP / "docs" / "operating.md"
OF_TARGETS = {"job", "instance"}
"""The labels that Prometheus adds."""


def section(title: str) -> str:
    """A section of docs/operating.md."""
    return OPERATING.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table() -> dict[str, set[str]]:
    """The labels of each name that a query may use. A test in Swift compares the table in docs/operating.md with the code."""
    names: dict[str, set[str]] = {"up": OF_TARGETS}
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", section("Metrics"), re.MULTILINE):
        known = set(re.findall(r"`(\w+)`", labels)) | OF_TARGETS
        if kind == "histogram":
            names |= {f"{name}_bucket": known | {"le"}, f"{name}_sum": known, f"{name}_count": known}
        else:
            names[name] = known
    return names


def alerts() -> list[str]:
    """The names of the alerts."""
    return re.findall(r"^ *- alert: (\w+)$", ALERTS.read_text(encoding="utf-8"), re.MULTILINE)


def faults() -> dict[str, set[str]]:
    """The alerts of each fault that has some: those that doctor finds, and those that only alerts find."""
    rows = re.findall(r"^\| ([^|]+) \| `\w+` (?:failure|warning) \| [^|]+ \| [^|]+ \| (`.*`) \|$", section("Faults that doctor finds"), re.MULTILINE)
    rows += re.findall(r"^\| ([^|<`]+) \| (`[^|]+`) \|$", section("Alerts"), re.MULTILINE)
    assert len({fault for fault, _ in rows}) == len(rows), rows
    return {fault: set(re.findall(r"`(\w+)`", names)) for fault, names in rows}


@dataclass(frozen=True)
class Selector:
    """A metric in a query, with the labels that it is selected by."""

    name: str
    labels: frozenset[str]


def selectors(text: str) -> list[Selector]:
    """The metrics in queries, also in comments beside them."""
    found = re.findall(r"\b((?:chatterd|process)_\w+|up)\b(?!\()(?:\{([^}]*)\})?", re.sub(r'"[^"{]*"', '""', text))
    return [Selector(name, frozenset(re.findall(r"(\w+) *(?:=~|!~|!=|=)", labels))) for name, labels in found]


@dataclass(frozen=True)
class Query:
    """A query of the dashboard."""

    panel: str
    expression: str

    @property
    def groups(self) -> set[str]:
        """The labels of its aggregations."""
        return {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", self.expression) for label in labels.split(",")} - {""}


def dashboard() -> dict[str, Any]:
    """The model of the dashboard."""
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def queries() -> list[Query]:
    """The queries of all panels, and those of annotations."""
    model = dashboard()
    found = [Query(panel["title"], target["expr"]) for panel in model["panels"] for target in panel.get("targets", ())]
    return found + [Query(entry["name"], entry["expr"]) for entry in model["annotations"]["list"]]
