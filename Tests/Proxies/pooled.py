#!/usr/bin/env python3
"""Runs script/chaos or script/fairness with PgBouncer between chatterd and PostgreSQL.

    pooled.py PGBOUNCER chaos|fairness OPTION…"""

from __future__ import annotations

import importlib
import os
import sys

from programs import HERE, PooledCluster

HOMES = {"chaos": ["Chaos"], "fairness": ["Fairness", "Chaos"]}


def main() -> int:
    """Puts the pooler before the cluster, and runs."""
    PooledCluster.program, name = sys.argv[1:3]
    del sys.argv[1:3]
    sys.path[:0] = [os.path.join(HERE, "..", home) for home in HOMES[name]]
    module = importlib.import_module(name)
    importlib.import_module("chaos" if name == "chaos" else "fair_cluster").Cluster = PooledCluster  # type: ignore[attr-defined]
    return int(module.main())


if __name__ == "__main__":
    os.environ.pop("PGOPTIONS", None)
    sys.exit(main())
