"""What a run leaves behind and what it asked, without what differs between any two runs: times, ids, marks."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import duckdb

from fakes.vendors import Call

_DATE = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: UTC|Z|[+-]\d\d:\d\d)?"
_SECONDS = r"(?<=Active time: )[\d.]+"
_MARK = r"(?<=-)[0-9a-f]{8}(?=>)"
_DOCUMENT = r"\b[0-9a-f]{64}\b"  # the id of a submission, which names its time
_UNEQUAL = re.compile(f"{_DATE}|{_SECONDS}|{_MARK}|{_DOCUMENT}")
_UNEQUAL_COLUMN = re.compile(r"_at$|seconds$|^milliseconds$|^execution_id$")
_TOLD_ANEW = {"event"}
"""A run that goes on says so, and tells what its teams saw then."""

Rows = list[tuple[str, ...]]
CallCounts = Counter[tuple[str, str]]


class Trace(NamedTuple):
    """A thread's report and the workspace's record and lessons."""

    report: str
    record: dict[str, Rows]
    lessons: list[str]


def trace(workspace: Path, thread: str) -> Trace:
    report = workspace / "results" / thread / "report.md"
    playbook = json.loads((workspace / "playbooks" / "default.json").read_text("utf-8"))
    return Trace(
        report=without_differences(report.read_text("utf-8")),
        record=record_of(workspace),
        lessons=[f"version {playbook['version']}", *(bullet["content"] for bullet in playbook["bullets"])],
    )


def record_of(workspace: Path) -> dict[str, Rows]:
    """The rows of each table."""
    with duckdb.connect(workspace / "contend.duckdb") as connection:
        tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
        return {table: _rows(connection, table) for table in tables if table not in _TOLD_ANEW}


def call_counts(calls: Iterable[Call]) -> CallCounts:
    """How often each thing was asked: (prompt, its whole text)."""
    return Counter((call.prompt, without_differences(f"{call.model}\n{call.system}\n{call.user}")) for call in calls)


def without_differences(text: str) -> str:
    return _UNEQUAL.sub("", text)


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> Rows:
    # As text: DuckDB gives times with a zone as objects of a package that contend does without.
    cursor = connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {table}")  # noqa: S608 - the record's own tables
    names = [column[0] for column in cursor.description or []]
    places = [place for place, name in enumerate(names) if not _UNEQUAL_COLUMN.search(name)]
    return sorted(
        tuple(f"{names[place]}: {without_differences(str(row[place]))}" for place in places)
        for row in cursor.fetchall()
    )
