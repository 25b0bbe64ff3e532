"""What PostgreSQL does for a work: its statements, trigger calls, rows, index entries and WAL. Part of bench.py."""

from __future__ import annotations

import collections
import contextlib
import os
import re
import subprocess
import time
from typing import Any, Iterator

from counts import statistics

TRIGGERS = """
SELECT funcname, calls FROM pg_stat_user_functions
WHERE funcid IN (SELECT oid FROM pg_proc WHERE prorettype = 'trigger'::regtype)
"""
FILES = """
SELECT pg_relation_filenode(oid), relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND pg_relation_filenode(oid) > 0
"""
STATEMENT = re.compile(r"LOG:  (?:execute ([a-z_]+)\S*|statement): (\w+)")
RECORD = re.compile(
    r"rmgr: (\w+) .* desc: (\w+)\S* ?(level:? 0)?"
    r"(?:.*? blkref #0: rel \d+/\d+/(\d+) )?")
ROWS = {"INSERT": "inserted", "UPDATE": "updated", "HOT_UPDATE": "updated in place", "DELETE": "deleted", "LOCK": "locked"}


class Activity:
    """The meter of a separate run: counts from the log of PostgreSQL, which slows it, and from the WAL. They are exact."""

    def __init__(self, bench: Any, database: str) -> None:
        self._postgres, self._database = bench.postgres, database

    @contextlib.contextmanager
    def logged(self) -> Iterator[None]:
        """PostgreSQL logs the statements of the sessions that begin meanwhile, and counts their calls of triggers."""
        settings = {"log_statement": "'all'", "track_functions": "'pl'"}
        alter = lambda change: self._postgres.query("; ".join(  # noqa: E731
            f"ALTER DATABASE {self._database} {change(*setting)}" for setting in settings.items()), "postgres")
        alter(lambda name, value: f"SET {name} = {value}")
        try:
            yield
        finally:
            alter(lambda name, _: f"RESET {name}")

    def begin(self) -> None:
        self._from = self._place()

    def end(self) -> None:
        self._to = self._place()

    def figures(self, units: int, _: float) -> dict[str, Any]:
        """The counts of a unit, by a name such as `rows inserted: chatts`."""
        (log, wal), (log_end, wal_end) = self._from, self._to
        found: collections.Counter[str] = collections.Counter()
        with open(self._postgres.log, "rb") as file:
            file.seek(log)
            for name, word in STATEMENT.findall(file.read(log_end - log).decode(errors="replace")):
                found[f"statements: {name or word}"] += 1
        files = dict(line.split("|") for line in self._postgres.query(FILES, self._database).splitlines())
        dump = subprocess.run(
            [f"{self._postgres.bin}/pg_waldump", "-p", f"{self._postgres.data}/pg_wal", "-s", wal, "-e", wal_end],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        for kind, what, at_leaf, file in RECORD.findall(dump):
            found["WAL records"] += 1
            if kind == "Heap" and what in ROWS and file in files:
                found[f"rows {ROWS[what]}: {files[file]}"] += 1
            elif kind == "Btree" and (what in ("INSERT_LEAF", "INSERT_POST") or what.startswith("SPLIT_") and at_leaf) and file in files:
                found[f"index entries: {files[file]}"] += 1
            elif kind == "Transaction" and what == "COMMIT":
                found["commits"] += 1
        found["WAL bytes"] = int(self._postgres.query(f"SELECT '{wal_end}'::pg_lsn - '{wal}'::pg_lsn", "postgres"))
        return {"activity": {name: count / max(1, units) for name, count in found.items()}}

    def _place(self) -> tuple[int, str]:
        """The ends of the log and of the WAL, when the ends of the last replies are in both."""
        time.sleep(0.5)
        return os.path.getsize(self._postgres.log), self._postgres.query("SELECT pg_current_wal_flush_lsn()", "postgres")


def triggers(bench: Any, database: str) -> dict[str, int]:
    """The calls of the functions of triggers so far."""
    return {name: calls for name, (calls,) in statistics(bench, database, TRIGGERS).items()}
