"""Each alert of deploy/prometheus, fired in a real Prometheus by a planted fault: the tables of docs/operating.md. Run by script/test monitoring."""

from __future__ import annotations

import contextlib
import json
import os
import time

from harness.machine import TIMEOUT, make_directory, say
from harness.reply_test_case import ServerTestCase
from monitoring import documents
from monitoring.faulty_systems import APART, TOGETHER
from monitoring.laboratory import Laboratory, shortened_rules
from monitoring.prometheus_server import PrometheusServer

QUIET = 20
"""The seconds without any alert, pending or firing, before faults are planted."""


class AlertTests(ServerTestCase):
    """All faults are planted at the same time, in different processes, so that their alerts are waited for at the same time."""

    @classmethod
    def setUpClass(cls):
        directory = make_directory(cls)
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        laboratory = Laboratory(directory, stack)
        systems, groups = [], []
        for plants in (TOGETHER, APART):
            first = len(laboratory.servers)
            begun = [plant(laboratory) for plant in plants]
            for system in begun:
                next(system)
            systems += begun
            groups.append(laboratory.servers[first:])
        for server in laboratory.servers:
            server.wait_until_ready()
        cls.watchers = []
        for number, servers in enumerate(groups):
            home = laboratory.folder(f"watcher-{number}")
            watcher = PrometheusServer(home, os.environ["PROMETHEUS"], [server.target for server in servers], shortened_rules())
            stack.callback(watcher.stop)
            cls.watchers.append(watcher)
        for system in systems:
            next(system)
        test = cls()
        for watcher, servers in zip(cls.watchers, groups):
            test.wait_until_quiet(watcher, len(servers))
        cls.planted, cls.expected = time.monotonic(), {}
        for system in systems:
            cls.expected |= next(system)

    def wait_until_quiet(self, watcher, count):
        """Waits until no alert was pending for a while, in which all processes have completed replies and were scraped."""
        def is_quiet():
            found = watcher.query(f"group by (alertname, instance, alertstate) (count_over_time(ALERTS[{QUIET}s]))")
            seen.append([sample["metric"] for sample in found])
            complete = f'increase(chatterd_replies_ended_total{{state="complete"}}[{QUIET}s])'
            at_work = watcher.query(f"count(sum by (instance) ({complete}) > 0 and on (instance) sum_over_time(up[{QUIET}s]) >= {QUIET // 2})")
            return not found and [sample["value"][1] for sample in at_work] == [str(count)]

        seen = []
        try:
            self.eventually(is_quiet)
        except AssertionError:
            self.fail(f"there are alerts without a fault, or processes without replies: {json.dumps(seen[-1])}")

    def test_every_planted_fault_fires_its_alerts(self):
        left = [(fault, name, labels) for fault, alerts in self.expected.items() for name, labels in alerts]
        while left and time.monotonic() < self.planted + TIMEOUT:
            firing = [alert["labels"] for watcher in self.watchers for alert in watcher.alerts() if alert["state"] == "firing"]
            for expectation in list(left):
                fault, name, labels = expectation
                if any(labels.items() | {("alertname", name)} <= found.items() for found in firing):
                    left.remove(expectation)
                    say(f"{time.monotonic() - self.planted:4.0f} s  {name}: {fault}")
            time.sleep(0.1)
        self.assertEqual(left, [], [alert for watcher in self.watchers for alert in watcher.alerts()])

    def test_faults_are_those_of_the_tables(self):
        planted = {fault: {name for name, _ in alerts} for fault, alerts in self.expected.items()}
        self.assertEqual(planted, documents.faults())
        self.assertEqual(set().union(*planted.values()), set(documents.alerts()))
