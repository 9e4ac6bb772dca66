"""The record of executions in DuckDB: a projection of the runs' checkpoints, for ranking and history."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from duckdb import DuckDBPyConnection
from pydantic_core import PydanticSerializationError

from contend.errors import StoreError
from contend.models.events import Event
from contend.models.record import utc_now
from contend.models.rows import EvaluationRow, ExecutionRow, RoundStatusRow, SubmissionRow
from contend.models.task import CallUsage, RunStatus, TeamStatus
from contend.stores import record_schema as writes
from contend.stores.record_file import RecordFile
from contend.stores.record_queries import RecordQueries
from contend.stores.record_schema import (
    EVENT,
    EXECUTION,
    LEADER_BOARD,
    ROUND_HISTORY,
    ROUND_STATUS,
    TEAM_STATUS,
    USAGE,
    Upsert,
)
from contend.stores.record_thread import Job, RecordThread, Work

_T = TypeVar("_T")
_SET_STATUS = """
UPDATE execution SET status = ?, message = ?, winner_team_id = coalesce(?, winner_team_id),
    best_score = coalesce(?, best_score), finished_at = ?
WHERE execution_id = ?
"""
_GOES_ON: frozenset[RunStatus] = frozenset({"running", "interrupted"})


class RecordStore(RecordQueries):
    """One writer per process, which holds the file only while there is work; safe to use from several event loops.

    A durable write returns after its commit. The others return at once and are committed with the next one, or within
    a moment; if the file refuses them, the log says so. Reads see all that was written before them in this process;
    without a database file they are empty and make none. Every method that waits raises `StoreLocked` when another
    process holds the file for longer than `lock_seconds`, and `StoreError` when it cannot be read or written.
    """

    def __init__(self, path: Path, *, lock_seconds: float = 10.0) -> None:
        self._path = path
        self._thread = RecordThread(RecordFile(path, lock_seconds))

    async def start_execution(self, row: ExecutionRow) -> None:
        """Durable. Written again, it keeps its `created_at`."""
        await self._write(EXECUTION, row.model_dump(), what=f"execution {row.execution_id}")

    async def set_execution_status(
        self,
        execution_id: str,
        status: RunStatus,
        message: str = "",
        *,
        winner_team_id: str | None = None,
        best_score: float | None = None,
    ) -> None:
        """Durable. A winner and a best score already written stay where None is given."""
        finished_at = None if status in _GOES_ON else utc_now()
        values = [status, message, winner_team_id, best_score, finished_at, execution_id]

        def work(connection: DuckDBPyConnection) -> None:
            connection.execute(_SET_STATUS, values)

        await self._done(f"the status of execution {execution_id}", work)

    async def save_team_status(self, execution_id: str, status: TeamStatus) -> None:
        row = {"execution_id": execution_id, **status.model_dump()}
        self._queue(TEAM_STATUS, [row], what=f"the status of team {status.team_id}")

    async def save_submission(self, row: SubmissionRow) -> None:
        """Durable."""
        await self._write(ROUND_HISTORY, row.model_dump(), what=f"the submission of {_round(row)}")

    async def save_evaluation(self, row: EvaluationRow) -> None:
        """Durable."""
        await self._write(LEADER_BOARD, row.model_dump(), what=f"the evaluation of {_round(row)}")

    async def save_round_status(self, row: RoundStatusRow) -> None:
        self._queue(ROUND_STATUS, [row.model_dump()], what=f"the decision after {_round(row)}")

    async def save_usage(self, execution_id: str, team_id: str, round_number: int, calls: Sequence[CallUsage]) -> None:
        """Calls count once each, by `call_key`. Use team "" and round 0 for calls of no team."""
        of_round = {"execution_id": execution_id, "team_id": team_id, "round_number": round_number}
        rows = [{**of_round, **call.model_dump()} for call in calls]
        self._queue(USAGE, rows, what=f"the usage of team {team_id!r}, round {round_number}")

    def save_event(self, event: Event) -> None:
        """Told again, it stands where it first stood."""
        row = {"execution_id": event.execution_id, "event_key": event.key, "told": event.model_dump(mode="json")}
        self._queue(EVENT, [row], what=f"an event of execution {event.execution_id}")

    async def set_pairwise(self, execution_id: str, keys: Mapping[str, float]) -> None:
        """The ranking's second key by team id, higher first; teams left out lose theirs."""
        work = partial(writes.set_pairwise, execution_id, dict(keys))
        self._thread.submit(Job(what="pairwise outcomes", work=work, writes=True, creates=True))

    async def delete_thread(self, thread_id: str) -> list[str]:
        """Durable. Removes all rows of the thread's executions and returns their ids."""
        return await self._done(f"thread {thread_id}", partial(writes.delete_thread, thread_id)) or []

    async def flush(self) -> None:
        """Durable: returns after the commit of all that was queued."""
        await self._done("what was queued", lambda _: None)

    async def close(self) -> None:
        """Commits what is queued and lets go of the file; the store opens it again when it is used again.

        Raises:
            StoreError: some queued writes could not be written; they are tried again at the next close.
        """
        done: Future[None] = Future()
        self._thread.submit(Job(what="closing the record", done=done, closes=True))
        await asyncio.wrap_future(done)

    async def _rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        work = partial(writes.fetch, sql=sql, parameters=parameters)
        return await self._done("what was asked", work, reads=True) or []

    async def _write(self, table: Upsert, row: Mapping[str, Any], *, what: str) -> None:
        work = writes.Rows(table, [self._values(table, row, what)])
        await self._done(what, work, creates=True)

    def _queue(self, table: Upsert, rows: Sequence[Mapping[str, Any]], *, what: str) -> None:
        if rows:
            work = writes.Rows(table, [self._values(table, row, what) for row in rows])
            self._thread.submit(Job(what=what, work=work, writes=True, creates=True))

    def _values(self, table: Upsert, row: Mapping[str, Any], what: str) -> list[Any]:
        try:
            return table.values(row)
        except PydanticSerializationError as error:
            raise StoreError(f"record {self._path} did not take {what}, which is not JSON: {error}") from error

    async def _done(self, what: str, work: Work[_T], *, creates: bool = False, reads: bool = False) -> _T | None:
        """What the work gives; None where there is no file and it makes none."""
        done: Future[_T | None] = Future()
        self._thread.submit(Job(what=what, work=work, done=done, writes=not reads, creates=creates))
        return await asyncio.wrap_future(done)


def _round(row: SubmissionRow | EvaluationRow | RoundStatusRow) -> str:
    return f"team {row.team_id}, round {row.round_number}"
