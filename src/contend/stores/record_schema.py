"""The record's tables: their schema, and how rows are written and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json, to_json

from contend.models.round import EvaluationRow, RoundStatusRow, SubmissionRow
from contend.models.task import CallUsage, ExecutionRow, TeamStatus

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# DuckDB sorts NaN above every number: in a ranking it would win.
_SHARE = "DOUBLE CHECK ({0} BETWEEN 0 AND 1 AND NOT isnan({0}))"

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS execution (
    execution_id VARCHAR PRIMARY KEY, thread_id VARCHAR NOT NULL, theme VARCHAR NOT NULL,
    options_fingerprint VARCHAR NOT NULL, dataset VARCHAR NOT NULL, models JSON NOT NULL, status VARCHAR NOT NULL,
    message VARCHAR NOT NULL, winner_team_id VARCHAR, best_score {_SHARE.format("best_score")},
    created_at TIMESTAMPTZ NOT NULL, finished_at TIMESTAMPTZ);
ALTER TABLE execution ADD COLUMN IF NOT EXISTS published VARCHAR;
ALTER TABLE execution ADD COLUMN IF NOT EXISTS published_score DOUBLE;
CREATE TABLE IF NOT EXISTS team_status (
    execution_id VARCHAR, team_id VARCHAR, team_name VARCHAR NOT NULL, status VARCHAR NOT NULL,
    current_round INTEGER NOT NULL, started_at TIMESTAMPTZ, completed_at TIMESTAMPTZ, error_message VARCHAR,
    PRIMARY KEY (execution_id, team_id));
CREATE TABLE IF NOT EXISTS pairwise (
    execution_id VARCHAR, team_id VARCHAR, pairwise_key DOUBLE NOT NULL CHECK (isfinite(pairwise_key)),
    PRIMARY KEY (execution_id, team_id));
CREATE TABLE IF NOT EXISTS round_history (
    execution_id VARCHAR, team_id VARCHAR, round_number INTEGER, team_name VARCHAR NOT NULL,
    submission VARCHAR NOT NULL, messages JSON NOT NULL, role_records JSON NOT NULL,
    submitted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (execution_id, team_id, round_number));
CREATE TABLE IF NOT EXISTS leader_board (
    execution_id VARCHAR, team_id VARCHAR, round_number INTEGER, team_name VARCHAR NOT NULL,
    score {_SHARE.format("score")}, feedback VARCHAR NOT NULL, details JSON NOT NULL,
    evaluated_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (execution_id, team_id, round_number));
CREATE TABLE IF NOT EXISTS round_status (
    execution_id VARCHAR, team_id VARCHAR, round_number INTEGER, decision VARCHAR NOT NULL, reasoning VARCHAR NOT NULL,
    confidence {_SHARE.format("confidence")}, exit_reason VARCHAR, started_at TIMESTAMPTZ,
    decided_at TIMESTAMPTZ NOT NULL, active_seconds DOUBLE NOT NULL,
    PRIMARY KEY (execution_id, team_id, round_number));
CREATE TABLE IF NOT EXISTS usage (
    execution_id VARCHAR, call_key VARCHAR, team_id VARCHAR NOT NULL, round_number INTEGER NOT NULL,
    role VARCHAR NOT NULL, model VARCHAR NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
    cost_usd DOUBLE, milliseconds BIGINT NOT NULL, requests BIGINT NOT NULL,
    PRIMARY KEY (execution_id, call_key));
ALTER TABLE usage ADD COLUMN IF NOT EXISTS cached_tokens BIGINT DEFAULT 0;
CREATE SEQUENCE IF NOT EXISTS event_number;
CREATE TABLE IF NOT EXISTS event (
    execution_id VARCHAR, event_key VARCHAR, number BIGINT NOT NULL DEFAULT nextval('event_number'),
    told JSON NOT NULL, PRIMARY KEY (execution_id, event_key));
"""
"""Creates missing tables and adds columns of later releases, so that all records have the same shape."""

_TABLES = ("execution", "team_status", "pairwise", "round_history", "leader_board", "round_status", "usage", "event")


class Upsert(NamedTuple):
    """How rows of a table are written: one row per natural key, with the latest values."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    first: tuple[str, ...] = ()
    """Columns that keep the first value that is not null."""
    changes: bool = False
    """Rows change during a run; those of other tables are written again only by a resumed run."""

    def values(self, row: Mapping[str, Any]) -> list[Any]:
        """A row as parameters; lists and dicts as JSON, with NaN and infinities as null."""
        values = [row[column] for column in self.columns]
        return [
            to_json(each, inf_nan_mode="null").decode() if isinstance(each, dict | list) else each for each in values
        ]

    def insert(self, rows: int) -> str:
        """SQL that inserts this number of new rows."""
        marks = ", ".join([f"({', '.join('?' for _ in self.columns)})"] * rows)
        return f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES {marks}"  # noqa: S608 - names from this file

    def insert_new(self, rows: int) -> str:
        """SQL that inserts those of this number of rows whose keys are new."""
        return f"{self.insert(rows)} ON CONFLICT DO NOTHING"

    @property
    def stays(self) -> bool:
        """Whether a row that is written again changes nothing."""
        return {*self.columns} <= {*self.key, *self.first}

    def upsert(self) -> str:
        """SQL that inserts a row or updates the one with the same key."""
        values = [
            f"{name} = coalesce({self.table}.{name}, excluded.{name})"
            if name in self.first
            else f"{name} = excluded.{name}"
            for name in self.columns
            if name not in self.key
        ]
        return f"{self.insert(1)} ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {', '.join(values)}"


_ROUND = ("execution_id", "team_id", "round_number")
EXECUTION = Upsert("execution", ("execution_id",), tuple(ExecutionRow.model_fields), first=("created_at",))
TEAM_STATUS = Upsert(
    "team_status",
    ("execution_id", "team_id"),
    ("execution_id", *TeamStatus.model_fields),
    first=("started_at",),
    changes=True,
)
ROUND_HISTORY = Upsert("round_history", _ROUND, tuple(SubmissionRow.model_fields))
LEADER_BOARD = Upsert("leader_board", _ROUND, tuple(EvaluationRow.model_fields))
ROUND_STATUS = Upsert("round_status", _ROUND, tuple(RoundStatusRow.model_fields), first=("started_at",))
USAGE = Upsert("usage", ("execution_id", "call_key"), (*_ROUND, *CallUsage.model_fields))

EVENT = Upsert("event", ("execution_id", "event_key"), ("execution_id", "event_key", "told"), first=("told",))
"""Events keep the order of their first save, and their first content."""


def fetch(connection: "DuckDBPyConnection", *, sql: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
    """Rows by column name; JSON columns parsed, `…_at` columns as datetimes."""
    # As JSON: DuckDB needs another package to return times with a zone.
    rows = connection.execute(f"SELECT to_json(each) FROM ({sql}) AS each", parameters).fetchall()  # noqa: S608 - our own words
    return [
        {
            name: datetime.fromisoformat(value) if value and name.endswith("_at") else value
            for name, value in from_json(row).items()
        }
        for (row,) in rows
    ]


def read_all(connection: "DuckDBPyConnection") -> None:
    """Read every value of every table: DuckDB verifies a block's checksum only when it reads the block.

    Raises:
        duckdb.Error: a block is missing or was changed.
    """
    for table in _TABLES:
        connection.execute(f"SELECT bit_xor(hash(each)) FROM {table} AS each").fetchall()  # noqa: S608 - our tables


@dataclass(frozen=True)
class Rows:
    """Rows for one table, as parameters."""

    table: Upsert
    rows: list[list[Any]]

    def __call__(self, connection: "DuckDBPyConnection", *, as_new: bool = False) -> None:
        """Insert new rows by one statement: planning costs more than a row, and an upsert three times as much.

        Raises:
            duckdb.ConstraintException: a value is refused; or `as_new`, and a row is there already.
        """
        if (as_new and not self.table.changes) or self.table.stays:
            insert = self.table.insert if as_new else self.table.insert_new
            connection.execute(insert(len(self.rows)), [value for row in self.rows for value in row])
            return
        connection.executemany(self.table.upsert(), self.rows)


def do_all(works: Iterable[Any], connection: "DuckDBPyConnection", *, as_new: bool) -> list[Any]:
    """The result of each work in order; consecutive rows for the same table are written together."""
    values: list[Any] = []
    for are_rows, run in groupby(works, key=lambda work: isinstance(work, Rows)):
        in_turn = list(run)
        by_table: dict[Upsert, list[list[Any]]] = {}
        for each in in_turn if are_rows else ():
            by_table.setdefault(each.table, []).extend(each.rows)
        for table, rows in by_table.items():
            Rows(table, rows)(connection, as_new=as_new)
        values += [None if are_rows or work is None else work(connection) for work in in_turn]
    return values


def set_pairwise(execution_id: str, keys: Mapping[str, float], connection: "DuckDBPyConnection") -> None:
    connection.execute("DELETE FROM pairwise WHERE execution_id = ?", [execution_id])
    for team_id, key in keys.items():
        connection.execute("INSERT INTO pairwise VALUES (?, ?, ?)", [execution_id, team_id, key])


def delete_thread(thread_id: str, connection: "DuckDBPyConnection") -> list[str]:
    """Delete a thread's executions and return their ids."""
    rows = connection.execute("SELECT execution_id FROM execution WHERE thread_id = ?", [thread_id]).fetchall()
    for (execution_id,) in rows:
        for table in _TABLES:
            connection.execute(f"DELETE FROM {table} WHERE execution_id = ?", [execution_id])  # noqa: S608 - our tables
    # A subgraph that ran alone has events and no execution.
    connection.execute("DELETE FROM event WHERE execution_id NOT IN (SELECT execution_id FROM execution)")
    return [execution_id for (execution_id,) in rows]
