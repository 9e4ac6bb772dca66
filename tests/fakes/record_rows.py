"""Rows for tests of the record, and a look into its file."""

import math
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from contend.models.round import EvaluationRow, RoundStatusRow, SubmissionRow
from contend.models.task import CallUsage, ExecutionRow

RUN = "run"
NAN = math.nan


def execution(
    execution_id: str = RUN, *, thread_id: str = "thread", created_at: datetime | None = None
) -> ExecutionRow:
    return ExecutionRow(
        execution_id=execution_id,
        thread_id=thread_id,
        theme="橋はなぜ鳴る？",
        options_fingerprint="5eed",
        models={"writer": "small"},
        created_at=created_at or datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    )


def submission(round_number: int = 1, *, team_id: str = "a", text: str = "Bridges hum.") -> SubmissionRow:
    return SubmissionRow(
        execution_id=RUN, team_id=team_id, team_name=team_id.upper(), round_number=round_number, submission=text
    )


def evaluation(score: float | None, round_number: int = 1, *, team_id: str = "a") -> EvaluationRow:
    return EvaluationRow(
        execution_id=RUN,
        team_id=team_id,
        team_name=team_id.upper(),
        round_number=round_number,
        score=score,
        feedback="Say why.",
        details={"metrics": []},
    )


def decision(reasoning: str = "No gain.") -> RoundStatusRow:
    return RoundStatusRow(
        execution_id=RUN,
        team_id="a",
        round_number=1,
        decision="stop",
        reasoning=reasoning,
        confidence=0.75,
        exit_reason="plateau",
        active_seconds=1.5,
    )


def call(key: str, *, tokens: int = 10, cost_usd: float | None = 0.5) -> CallUsage:
    return CallUsage(
        call_key=key,
        role="writer",
        model="small",
        input_tokens=tokens,
        output_tokens=1,
        cost_usd=cost_usd,
        milliseconds=7,
    )


def rows_in(path: Path, table: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path)) as connection:
        # As text: DuckDB gives times with a zone as objects of a package that contend does without.
        return connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {table}").fetchall()  # noqa: S608 - names of this test


_OF_AN_EARLIER_RELEASE = """
CREATE TABLE execution (
    execution_id VARCHAR PRIMARY KEY, thread_id VARCHAR NOT NULL, theme VARCHAR NOT NULL,
    options_fingerprint VARCHAR NOT NULL, dataset VARCHAR NOT NULL, models JSON NOT NULL, status VARCHAR NOT NULL,
    message VARCHAR NOT NULL, winner_team_id VARCHAR, best_score DOUBLE CHECK (best_score BETWEEN 0 AND 1),
    created_at TIMESTAMPTZ NOT NULL, finished_at TIMESTAMPTZ);
INSERT INTO execution VALUES ('old', 'thread', 'hum', '', 'default', '{}', 'running', '', 'a', 0.5, now(), NULL);
"""


def make_earlier_record(path: Path) -> None:
    """A record of a release that did not say whose report is published; its only execution is `old`."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(_OF_AN_EARLIER_RELEASE)
