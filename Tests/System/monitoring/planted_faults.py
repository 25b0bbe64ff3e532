"""The series of a healthy process, and what each fault changes of them, in the notation of promtool's tests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

STEP = 15
"""Seconds between two samples, and between two evaluations."""
STEPS = 280
"""Samples of a series."""
SHORT = 76
"""Samples until which most cases are observed."""
FAULT = 20
"""The sample with which a fault begins."""


def constant(value: float, count: int = STEPS) -> str:
    """A gauge that does not change."""
    return f"{value}+0x{count - 1}"


def growing(step: float, first: float = 0, count: int = STEPS) -> str:
    """A counter that grows with each sample."""
    return f"{first}+{step}x{count - 1}"


def changing(before: float, after: float, samples: int = STEPS - FAULT) -> str:
    """A gauge that has another value for these samples, from the fault on."""
    rest = STEPS - FAULT - samples
    return " ".join([constant(before, FAULT), constant(after, samples)] + ([constant(before, rest)] if rest else []))


def appearing(values: str) -> str:
    """A series that does not exist before the fault."""
    return f"_x{FAULT} {values}"


def requests(rate: float, upstream: str, outcome: str) -> dict[str, str]:
    """Requests to a model server, so many in a step."""
    return {f'chatterd_upstream_requests_total{{upstream="{upstream}",outcome="{outcome}"}}': growing(rate)}


def ends(complete: float, failed: float) -> dict[str, str]:
    """Ends of replies, so many in a step."""
    name = "chatterd_replies_ended_total"
    return {
        f'{name}{{state="complete",code="ok",upstream="gpu",model="m"}}': growing(complete),
        f'{name}{{state="failed",code="upstream_incomplete",upstream="gpu",model="m"}}': growing(failed),
        f'{name}{{state="cancelled",code="ok",upstream="gpu",model="m"}}': growing(0),
    }


FIRST_TOKEN = "chatterd_reply_time_to_first_token_seconds_bucket"


def first_tokens(within_five: float) -> dict[str, str]:
    """A hundred first tokens in a step: 90 within a second, so many within five, all within ten."""
    counts = {"1": 90, "5": within_five, "10": 100, "+Inf": 100}
    return {f'{FIRST_TOKEN}{{upstream="gpu",model="m",le="{bound}"}}': growing(count) for bound, count in counts.items()}


def housekeeper(stops: int) -> dict[str, str]:
    """A housekeeper that succeeds with each sample, but for so many of them after its last success."""
    first, stuck = growing(STEP, count=FAULT), constant(STEP * FAULT, stops)
    rest = growing(STEP, STEP * (FAULT + stops), STEPS - FAULT - stops)
    return {"chatterd_housekeeping_last_success_timestamp_seconds": f"{first} {stuck} {rest}"}


def first_round(samples: int) -> dict[str, str]:
    """A housekeeper whose first success comes so many samples after the start of the process."""
    later = growing(STEP, STEP * samples, STEPS - samples)
    return {"chatterd_housekeeping_last_success_timestamp_seconds": f"_x{samples} {later}"}


def upstream_up(upstream: str, values: str) -> dict[str, str]:
    return {f'chatterd_upstream_up{{upstream="{upstream}"}}': values}


HEALTHY: dict[str, str] = {
    "up": constant(1),
    "process_start_time_seconds": constant(0),
    "chatterd_store_writable": constant(1),
    'chatterd_store_connections{shard="0",purpose="prompts",state="busy"}': constant(1),
    'chatterd_store_connections{shard="0",purpose="prompts",state="idle"}': constant(0),
    'chatterd_store_connections{shard="1",purpose="prompts",state="busy"}': constant(0),
    'chatterd_store_connections{shard="1",purpose="prompts",state="idle"}': constant(1),
    'chatterd_store_connections{shard="1",purpose="pages",state="idle"}': constant(0),
    'chatterd_store_errors_total{code="serializationFailure",sqlstate="40001"}': growing(1),
    'chatterd_store_errors_total{code="insufficientResources",sqlstate="53100"}': constant(0),
    'chatterd_store_errors_total{code="insufficientResources",sqlstate="53300"}': constant(3),
    "chatterd_lease_age_seconds": constant(3.9),
    "chatterd_journal_lag_seconds": constant(1.9),
    'chatterd_takeovers_total{kind="settled"}': constant(4),
    'chatterd_takeovers_total{kind="adopted"}': constant(0),
    'chatterd_takeovers_total{kind="handed_over"}': growing(1),
    'chatterd_limit_usage_ratio{limit="replies"}': constant(0.79),
    'chatterd_memory_refusals_total{use="body"}': constant(7),
    "chatterd_certificate_not_after_timestamp_seconds": constant(STEP * STEPS + 14 * 86400 + 60),
    "chatterd_housekeeping_last_success_timestamp_seconds": growing(STEP),
    "chatterd_retention_lag_seconds": constant(70),
    'chatterd_upstream_failovers_total{from="gpu",to="spare",phase="before"}': growing(1.4),
    'chatterd_upstream_queue{upstream="gpu"}': constant(80),
    'chatterd_upstream_queue_limit{upstream="gpu"}': constant(100),
} | ends(96, 4) | first_tokens(95.5) | requests(100, "gpu", "ok") | requests(4, "gpu", "upstream_incomplete") | requests(
    0, "spare", "ok") | requests(0, "spare", "upstream_unavailable") | upstream_up("gpu", constant(1)) | upstream_up("spare", constant(1))
"""Values that are just good enough."""

COOLING = " ".join(["0+0x3", "1"] * (STEPS // 5))
"""A model server that is down: between two times of cooling down a reply may try it."""


@dataclass(frozen=True)
class Case:
    """A change of the healthy process."""

    name: str
    changes: dict[str, str]
    removed: list[str] = field(default_factory=list)
    """Series that do not exist."""
    alerts: tuple[str, ...] = ()
    """The alerts that fire at any time, all of them."""
    samples: int = SHORT
    """The samples after which the case is over."""

    def group(self) -> dict[str, object]:
        """The test of promtool."""
        series = {name: values for name, values in (HEALTHY | self.changes).items() if name not in self.removed}
        return {
            "interval": f"{STEP}s",
            "input_series": [{"series": located(name), "values": values} for name, values in series.items()],
            "promql_expr_test": [{
                # A failure shows the expression, and so the name in the comment.
                "expr": f'group by (alertname) (last_over_time(ALERTS{{alertstate="firing"}}[{STEP * STEPS}s])) # {self.name}',
                "eval_time": f"{STEP * self.samples}s",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in self.alerts],
            }],
        }


def located(series: str) -> str:
    """A series with the labels of its target."""
    name, _, labels = series.rstrip("}").partition("{")
    return f'{name}{{{labels}{"," if labels else ""}job="chatterd",instance="a:9464"}}'


FAULTS = [
    Case("a process does not answer", {"up": changing(1, 0, 3)}, alerts=("ChatterdDown",)),
    Case("the database takes no prompts", {"chatterd_store_writable": changing(1, 0, 5)}, alerts=("ChatterdNotWritable",)),
    Case("an event loop loses its connection", {
        'chatterd_store_connections{shard="1",purpose="prompts",state="idle"}': changing(1, 0, 3),
    }, alerts=("StoreStarved",)),
    Case("six replies in a hundred fail", ends(94, 6), alerts=("PromptErrorBudget",)),
    Case("one reply in nine is interrupted", {
        'chatterd_replies_ended_total{state="interrupted",code="interrupted",upstream="gpu",model="m"}': growing(10),
    }, alerts=("PromptErrorBudget",)),
    Case("the disk is full for the first time", {
        'chatterd_store_errors_total{code="insufficientResources",sqlstate="53100"}': changing(0, 119),
    }, alerts=("StoreErrors",)),
    Case("PostgreSQL refuses statements with a code that has no series yet", {
        'chatterd_store_errors_total{code="other",sqlstate="42601"}': appearing(constant(2, STEPS - FAULT)),
    }, alerts=("StoreErrors",)),
    Case("PostgreSQL has no connection again", {
        'chatterd_store_errors_total{code="insufficientResources",sqlstate="53300"}': changing(3, 4),
    }, alerts=("StoreErrors",)),
    Case("more than one first token in twenty is slow", first_tokens(94.5), alerts=("TimeToFirstTokenSlow",)),
    Case("a model server is down under load", requests(0, "gpu", "ok") | upstream_up("gpu", changing(1, 0, 9)),
         alerts=("ModelServerDown",)),
    Case("a model server is down, and tried at times", requests(0, "gpu", "ok") | upstream_up("gpu", COOLING),
         alerts=("ModelServerDown",)),
    Case("a model server lacks its key", upstream_up("spare", constant(0)), alerts=("ModelServerDown",)),
    Case("another model server does the work", {
        'chatterd_upstream_failovers_total{from="gpu",to="spare",phase="before"}': growing(1.6),
    }, alerts=("FailoversHigh",), samples=2 * SHORT),
    Case("the queue of a model server is nearly full", {
        'chatterd_upstream_queue{upstream="gpu"}': changing(80, 81),
    }, alerts=("QueueFull",)),
    Case("the lease is not renewed", {"chatterd_lease_age_seconds": changing(3.9, 4.1, 2)}, alerts=("LeaseLate",)),
    Case("the journal is late", {"chatterd_journal_lag_seconds": changing(1.9, 2.1, 3)}, alerts=("JournalLag",)),
    Case("a process has died", {'chatterd_takeovers_total{kind="adopted"}': changing(0, 1)}, alerts=("Takeovers",)),
    Case("a limit is near", {'chatterd_limit_usage_ratio{limit="replies"}': changing(0.2, 0.81)}, alerts=("LimitNear",)),
    Case("the memory budget refuses", {'chatterd_memory_refusals_total{use="body"}': growing(1)}, alerts=("MemoryRefusals",)),
    Case("the certificate ends soon", {
        "chatterd_certificate_not_after_timestamp_seconds": constant(14 * 86400),
    }, alerts=("CertificateExpires",), samples=STEPS - 20),
    # It is late after 60 s, and the alert fires 5 minutes after that.
    Case("the housekeeper stops", housekeeper(26), alerts=("HousekeepingStuck",)),
    Case("the housekeeper does not succeed at first", first_round(26), alerts=("HousekeepingStuck",)),
    Case("retention is late", {"chatterd_retention_lag_seconds": changing(5, 3601, 26)}, alerts=("RetentionLag",)),
    Case("the housekeeper never succeeds", {}, ["chatterd_housekeeping_last_success_timestamp_seconds"], ("HousekeepingStuck",)),
]

SILENT = [
    Case("a healthy process", {}, samples=STEPS - 20),
    Case("a process without HTTPS, prompts and model servers", {},
         [name for name in HEALTHY if "upstream" in name or "certificate" in name]),
    Case("one scrape fails", {"up": changing(1, 0, 1)}),
    Case("the database is away for a moment", {
        "chatterd_store_writable": changing(1, 0, 2), "chatterd_lease_age_seconds": changing(3.9, 5, 1),
    }),
    Case("a connection is replaced", {
        'chatterd_store_connections{shard="1",purpose="prompts",state="idle"}': changing(1, 0, 2),
    }),
    Case("a burst of replies, of text and of slow first tokens", {
        'chatterd_upstream_queue{upstream="gpu"}': changing(80, 100, 10),
        'chatterd_limit_usage_ratio{limit="replies"}': changing(0.2, 0.95, 10),
        "chatterd_journal_lag_seconds": changing(0.3, 3, 1),
        'chatterd_memory_refusals_total{use="body"}': changing(7, 90),
        f'{FIRST_TOKEN}{{upstream="gpu",model="large",le="5"}}': constant(0),
        f'{FIRST_TOKEN}{{upstream="gpu",model="large",le="10"}}': changing(0, 10_000),
        f'{FIRST_TOKEN}{{upstream="gpu",model="large",le="+Inf"}}': changing(0, 10_000),
        'chatterd_upstream_failovers_total{from="gpu",to="spare",phase="continued"}': changing(0, 100),
    }),
    Case("a model server fails at times, and answers", upstream_up("gpu", changing(1, 0, 8))),
    Case("a model server fails, and answers some minutes later", upstream_up("gpu", changing(1, 0, 4)) | {
        'chatterd_upstream_requests_total{upstream="gpu",outcome="ok"}':
            f"{growing(100, count=FAULT)} {constant(1900, 12)} {growing(100, 2000, STEPS - FAULT - 12)}",
    }),
    Case("the certificate is replaced late", {
        "chatterd_certificate_not_after_timestamp_seconds": changing(30 * 86400, 13 * 86400, 200),
    }, samples=STEPS - 20),
    Case("a round of the housekeeper takes six minutes", housekeeper(25)),
    Case("its first round takes six minutes", first_round(25)),
    Case("one prompt fails in an hour without others", ends(0, 0) | {
        'chatterd_replies_ended_total{state="failed",code="upstream_busy",upstream="gpu",model="m"}': changing(0, 1),
    }),
]


def document(cases: list[Case], rules: str) -> str:
    """The file of tests: JSON is YAML."""
    return json.dumps({
        "rule_files": [rules], "evaluation_interval": f"{STEP}s", "tests": [case.group() for case in cases],
    })
