"""The record of executions in DuckDB, for ranking and history; derived from the runs' checkpoints."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from duckdb import DuckDBPyConnection
from duckdb import Error as DuckDBError
from pydantic_core import PydanticSerializationError

from contend.errors import StoreError
from contend.models.events import AnyEvent, Event, KeptEvent
from contend.models.record import utc_now
from contend.models.round import (
    EvaluationRow,
    ExitReason,
    LeaderboardEntry,
    LiveLeaderboard,
    RoundRow,
    RoundStatusRow,
    SubmissionRow,
)
from contend.models.task import CallUsage, ExecutionRow, Publication, RunStatus, RunUsage, TeamStatus
from contend.stores import record_schema as tables
from contend.stores.record_file import Job, RecordFile, RecordThread, Work

_T = TypeVar("_T")
_SET_STATUS = """
UPDATE execution SET status = ?, message = ?, winner_team_id = coalesce(?, winner_team_id),
    best_score = coalesce(?, best_score), published = coalesce(?, published),
    published_score = coalesce(?, published_score), finished_at = ?
WHERE execution_id = ? AND list_contains(coalesce(?, [status]), status)
"""
_GOES_ON: frozenset[RunStatus] = frozenset({"running", "interrupted"})
_EXECUTION = "SELECT * FROM execution"
_NEWEST = " ORDER BY created_at DESC, execution_id DESC LIMIT ?"
_THREADS = "SELECT thread_id FROM execution WHERE starts_with(thread_id, ?) GROUP BY ALL ORDER BY max(created_at) DESC"
_HISTORY = """
SELECT * FROM execution WHERE contains(lower(theme), lower(?))
QUALIFY row_number() OVER (PARTITION BY thread_id ORDER BY created_at DESC, execution_id DESC) = 1
"""
_TEAM_STATUSES = "SELECT * EXCLUDE (execution_id) FROM team_status WHERE execution_id = ? ORDER BY team_id"
_ROUNDS = """
SELECT team_id, history.team_name, round_number, submission, role_records, submitted_at,
    score, coalesce(feedback, '') AS feedback, coalesce(details, '{}') AS details, evaluated_at,
    decision, coalesce(reasoning, '') AS reasoning, confidence, exit_reason, started_at, active_seconds
FROM round_history AS history
LEFT JOIN leader_board USING (execution_id, team_id, round_number)
LEFT JOIN round_status USING (execution_id, team_id, round_number)
WHERE execution_id = ? AND team_id = coalesce(?, team_id) ORDER BY team_id, round_number
"""
_STANDINGS = """
SELECT execution_id, team_id, coalesce(team_status.team_name, history.team_name, team_id) AS team_name, round_number,
    score, pairwise_key
FROM round_history AS history
FULL JOIN team_status USING (execution_id, team_id)
FULL JOIN pairwise USING (execution_id, team_id)
LEFT JOIN leader_board USING (execution_id, team_id, round_number)
WHERE list_contains(?, execution_id)
"""
_FINISHED_EXECUTIONS = """
SELECT execution_id FROM execution WHERE dataset = ? AND status IN ('completed', 'partial')
ORDER BY created_at, execution_id
"""
_SUBMISSION_DOCUMENTS = """
SELECT thread_id, list(json_extract_string(role_records, '$.submission')) AS documents
FROM round_history JOIN execution USING (execution_id)
WHERE json_extract_string(role_records, '$.submission') IS NOT NULL GROUP BY thread_id
"""
_EXIT_REASONS = """
SELECT team_id, exit_reason FROM round_status WHERE execution_id = ? AND exit_reason IS NOT NULL
ORDER BY team_id, round_number
"""
_ACTIVE_SECONDS = """
SELECT max(seconds) AS seconds
FROM (SELECT sum(active_seconds) AS seconds FROM round_status WHERE execution_id = ? GROUP BY team_id)
"""
_EVENTS = """
SELECT number, told AS event FROM event JOIN execution USING (execution_id) WHERE thread_id = ? AND number > ?
ORDER BY number LIMIT ?
"""
_EVENTS_OF_TYPES = """
SELECT number, told AS event FROM event
WHERE execution_id = ? AND list_contains(?, json_extract_string(told, '$.type')) ORDER BY number
"""
_DRAFTS = """
SELECT json_extract_string(told, '$.document') AS document FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.type') = 'step_done' AND document <> ''
"""
_EVENT_TYPE_OF_DOCUMENT = """
SELECT json_extract_string(told, '$.type') AS type FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.document') = ? LIMIT 1
"""
_NEWEST_USAGE = """
SELECT json_extract(told, '$.spent') AS spent FROM event
WHERE execution_id = ? AND json_extract_string(told, '$.spent.requests') IS NOT NULL
ORDER BY CAST(json_extract_string(told, '$.spent.requests') AS INTEGER) DESC LIMIT 1
"""
_SCORED_ROUNDS = """
SELECT board.execution_id, board.team_id, board.round_number, score,
    coalesce((SELECT sum(input_tokens + output_tokens) FROM usage WHERE usage.execution_id = board.execution_id
        AND usage.team_id = board.team_id AND usage.round_number = board.round_number), 0) AS tokens
FROM leader_board AS board JOIN execution USING (execution_id) LEFT JOIN team_status USING (execution_id, team_id)
WHERE execution.status IN ('completed', 'partial') AND score IS NOT NULL
ORDER BY created_at, board.execution_id, team_status.started_at, board.team_id, board.round_number
"""
_MERGES = """
SELECT execution_id, published, published_score, sum(input_tokens + output_tokens) AS tokens
FROM execution JOIN usage USING (execution_id)
WHERE status IN ('completed', 'partial')
    AND (call_key LIKE 'editor/%' OR call_key LIKE '%/merge' OR call_key LIKE '%editor>%')
GROUP BY ALL
"""
_CALLS = "SELECT * EXCLUDE (execution_id, team_id, round_number) FROM usage WHERE execution_id = ? ORDER BY call_key"


class RecordStore:
    """One writer per process, which opens the file only while there is work. Usable from several event loops.

    A durable write returns after its commit. Other writes return at once and are committed with the next durable one,
    or shortly after; failures are logged. Reads see all earlier writes of this process; without a database file they
    are empty and create none. Methods that wait raise `StoreLocked` if another process holds the file longer than
    `lock_seconds`, and `StoreError` if it cannot be read or written.
    """

    def __init__(self, path: Path, *, lock_seconds: float = 10.0) -> None:
        self._path = path
        self._file = RecordFile(path, lock_seconds)
        self._thread = RecordThread(self._file)

    async def start_execution(self, row: ExecutionRow) -> None:
        """Durable. Saving it again keeps its `created_at`."""
        await self._write(tables.EXECUTION, row.model_dump(), what=f"execution {row.execution_id}")

    async def set_execution_status(
        self,
        execution_id: str,
        status: RunStatus,
        message: str = "",
        *,
        winner_team_id: str | None = None,
        best_score: float | None = None,
        publication: Publication | None = None,
        only_from: Sequence[RunStatus] | None = None,
    ) -> None:
        """Save the execution. Passing None keeps the stored winner, best score and publication.

        `only_from`: change nothing if the current status is not one of these.
        """
        finished_at = None if status in _GOES_ON else utc_now()
        published = publication or Publication()
        end = [winner_team_id, best_score, published.published, published.published_score, finished_at]
        values = [status, message, *end, execution_id, only_from]

        def work(connection: DuckDBPyConnection) -> None:
            connection.execute(_SET_STATUS, values)

        await self._wait_for(f"the status of execution {execution_id}", work)

    async def save_team_status(self, execution_id: str, status: TeamStatus) -> None:
        row = {"execution_id": execution_id, **status.model_dump()}
        self._queue(tables.TEAM_STATUS, [row], what=f"the status of team {status.team_id}")

    async def save_submission(self, row: SubmissionRow) -> None:
        """Durable."""
        await self._write(tables.ROUND_HISTORY, row.model_dump(), what=f"the submission of {_round(row)}")

    async def save_evaluation(self, row: EvaluationRow) -> None:
        """Durable."""
        await self._write(tables.LEADER_BOARD, row.model_dump(), what=f"the evaluation of {_round(row)}")

    async def save_round_status(self, row: RoundStatusRow) -> None:
        self._queue(tables.ROUND_STATUS, [row.model_dump()], what=f"the decision after {_round(row)}")

    async def save_usage(self, execution_id: str, team_id: str, round_number: int, calls: Sequence[CallUsage]) -> None:
        """Each call counts once, by `call_key`. Use team "" and round 0 for calls outside teams."""
        of_round = {"execution_id": execution_id, "team_id": team_id, "round_number": round_number}
        rows = [{**of_round, **call.model_dump()} for call in calls]
        self._queue(tables.USAGE, rows, what=f"the usage of team {team_id!r}, round {round_number}")

    def save_event(self, event: Event) -> None:
        """Saving an event twice keeps its first position."""
        row = {"execution_id": event.execution_id, "event_key": event.key, "told": event.model_dump(mode="json")}
        self._queue(tables.EVENT, [row], what=f"an event of execution {event.execution_id}")

    async def set_pairwise(self, execution_id: str, keys: Mapping[str, float]) -> None:
        """Set the ranking's second key by team id, higher first; teams left out lose theirs."""
        work = partial(tables.set_pairwise, execution_id, dict(keys))
        self._thread.submit(Job(what="pairwise outcomes", work=work, writes=True, creates=True))

    async def delete_thread(self, thread_id: str) -> list[str]:
        """Durable. Remove all rows of the thread's executions; returns the execution ids."""
        return await self._wait_for(f"thread {thread_id}", partial(tables.delete_thread, thread_id)) or []

    async def flush(self) -> None:
        """Durable: return after all queued writes are committed."""
        await self._wait_for("what was queued", lambda _: None)

    async def close(self) -> None:
        """Commit queued writes and close the file; using the store again reopens it.

        Raises:
            StoreError: some queued writes failed; the next close tries them again.
        """
        closing: Future[None] = Future()
        self._thread.submit(Job(what="closing the record", future=closing))
        await asyncio.wrap_future(closing)

    async def check(self) -> None:
        """Read every table, so that a damaged record is noticed before a run spends anything.

        Raises:
            StoreError: the file cannot be read, or not all of it.
        """

        def read_all(connection: DuckDBPyConnection) -> None:
            try:
                tables.read_all(connection)
            except DuckDBError as error:
                raise self._file.damaged(str(error).partition("\n")[0]) from error

        await self._wait_for("all of its tables", read_all, reads=True)

    async def execution(self, execution_id: str) -> ExecutionRow | None:
        rows = await self._rows(_EXECUTION + " WHERE execution_id = ?", execution_id)
        return ExecutionRow.model_validate(rows[0]) if rows else None

    async def executions(self, limit: int = 50) -> list[ExecutionRow]:
        """The newest first."""
        return [ExecutionRow.model_validate(row) for row in await self._rows(_EXECUTION + _NEWEST, limit)]

    async def history(self, *, search: str, limit: int, offset: int) -> tuple[list[ExecutionRow], int]:
        """Each thread's newest execution whose theme contains the words, newest first, and their number."""
        rows = await self._rows(f"{_HISTORY}{_NEWEST} OFFSET ?", search, limit, offset)
        count = await self._rows(f"SELECT count(*) AS count FROM ({_HISTORY})", search)  # noqa: S608 - our own words
        return [ExecutionRow.model_validate(row) for row in rows], count[0]["count"] if count else 0

    async def latest_execution(self, thread_id: str) -> ExecutionRow | None:
        rows = await self._rows(_EXECUTION + " WHERE thread_id = ?" + _NEWEST, thread_id, 1)
        return ExecutionRow.model_validate(rows[0]) if rows else None

    async def threads(self, beginning: str = "") -> list[str]:
        """Ids of threads with a run that start with `beginning`, newest run first."""
        return [row["thread_id"] for row in await self._rows(_THREADS, beginning)]

    async def team_statuses(self, execution_id: str) -> list[TeamStatus]:
        """By team id."""
        return [TeamStatus.model_validate(row) for row in await self._rows(_TEAM_STATUSES, execution_id)]

    async def rounds(self, execution_id: str, team_id: str | None = None) -> list[RoundRow]:
        """Rounds with a submission, of all teams or one, by team id and round number."""
        return [RoundRow.model_validate(row) for row in await self._rows(_ROUNDS, execution_id, team_id)]

    async def leaderboard(self, execution_id: str, *, limit: int | None = None) -> list[LeaderboardEntry]:
        """The first `limit` teams in rank order; all without a limit."""
        return (await self.board([execution_id])).leaderboard(execution_id)[:limit]

    async def rankings(self, dataset: str) -> dict[str, list[LeaderboardEntry]]:
        """Leaderboards of a dataset's finished executions by execution id, oldest first."""
        executions = [row["execution_id"] for row in await self._rows(_FINISHED_EXECUTIONS, dataset)]
        board = await self.board(executions)
        return {execution_id: board.leaderboard(execution_id) for execution_id in executions}

    async def board(self, executions: Sequence[str]) -> LiveLeaderboard:
        """The leaderboard of executions, ranked as in memory."""
        live = LiveLeaderboard()
        keys: dict[str, dict[str, float]] = {execution_id: {} for execution_id in executions}
        for row in await self._rows(_STANDINGS, executions):
            execution_id, team_id = row["execution_id"], row["team_id"]
            live.enter(execution_id, [(team_id, row["team_name"])])
            if row["round_number"] is not None:
                live.add_score(execution_id, team_id, row["round_number"], row["score"])
            if row["pairwise_key"] is not None:
                keys[execution_id][team_id] = row["pairwise_key"]
        for execution_id, of_execution in keys.items():
            live.set_pairwise(execution_id, of_execution)
        return live

    async def scored_rounds(self) -> list[dict[str, Any]]:
        """`execution_id`, `team_id`, `round_number`, `score` and `tokens` of the scored rounds of all finished runs.

        The oldest run first, its teams in the order in which they began, their rounds by number.
        """
        return await self._rows(_SCORED_ROUNDS)

    async def merges(self) -> list[dict[str, Any]]:
        """Of finished runs with an editor: `execution_id`, `published`, `published_score`, `tokens` of the merge."""
        return await self._rows(_MERGES)

    async def datasets(self) -> list[str]:
        """The datasets of all executions, by name."""
        return [row["dataset"] for row in await self._rows("SELECT DISTINCT dataset FROM execution ORDER BY dataset")]

    async def calls(self, execution_id: str) -> list[CallUsage]:
        """The model calls of finished rounds and of the learning loop."""
        return [CallUsage.model_validate(row) for row in await self._rows(_CALLS, execution_id)]

    async def usage(self, execution_id: str) -> RunUsage:
        """What an execution's model calls cost; during a round, from its newest event."""
        of_events = [RunUsage.model_validate(row["spent"]) for row in await self._rows(_NEWEST_USAGE, execution_id)]
        return max([RunUsage.of(await self.calls(execution_id)), *of_events], key=lambda usage: usage.requests)

    async def events(self, thread_id: str, *, after: int = 0, limit: int = 500) -> list[KeptEvent]:
        """A thread's events with a number above `after`, in the order in which they were saved."""
        return [KeptEvent.model_validate(row) for row in await self._rows(_EVENTS, thread_id, after, limit)]

    async def events_of(self, execution_id: str, *types: str) -> list[AnyEvent]:
        """An execution's events of these types, in the order in which they were saved."""
        rows = await self._rows(_EVENTS_OF_TYPES, execution_id, [*types])
        return [KeptEvent.model_validate(row).event for row in rows]

    async def submission_documents(self) -> dict[str, list[str]]:
        """Document ids of all submissions, by thread."""
        return {row["thread_id"]: row["documents"] for row in await self._rows(_SUBMISSION_DOCUMENTS)}

    async def event_type_of_document(self, thread_id: str, document_id: str) -> str | None:
        """The type of the thread's event that names a document; None if none does."""
        rows = await self._rows(_EVENT_TYPE_OF_DOCUMENT, thread_id, document_id)
        return rows[0]["type"] if rows else None

    async def draft_documents(self, thread_id: str) -> set[str]:
        """Document ids of the drafts that a thread's events name."""
        return {row["document"] for row in await self._rows(_DRAFTS, thread_id)}

    async def exit_reasons(self, execution_id: str) -> dict[str, ExitReason]:
        """Why teams stopped, by team id, also in a round without a submission."""
        return {row["team_id"]: row["exit_reason"] for row in await self._rows(_EXIT_REASONS, execution_id)}

    async def active_seconds(self, execution_id: str) -> float:
        """Seconds that the finished rounds took: the longest team's time, as teams play in parallel."""
        rows = await self._rows(_ACTIVE_SECONDS, execution_id)
        return (rows[0]["seconds"] if rows else None) or 0.0

    async def _rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """Rows by column name; none without a file."""
        work = partial(tables.fetch, sql=sql, parameters=parameters)
        return await self._wait_for("what was asked", work, reads=True) or []

    async def _write(self, table: tables.Upsert, row: Mapping[str, Any], *, what: str) -> None:
        await self._wait_for(what, self._of_table(table, [row], what), creates=True)

    def _queue(self, table: tables.Upsert, rows: Sequence[Mapping[str, Any]], *, what: str) -> None:
        if rows:
            self._thread.submit(Job(what=what, work=self._of_table(table, rows, what), writes=True, creates=True))

    def _of_table(self, table: tables.Upsert, rows: Sequence[Mapping[str, Any]], what: str) -> tables.Rows:
        try:
            return tables.Rows(table, [table.values(row) for row in rows])
        except PydanticSerializationError as error:
            raise StoreError(f"record {self._path} did not take {what}, which is not JSON: {error}") from error

    async def _wait_for(self, what: str, work: Work[_T], *, creates: bool = False, reads: bool = False) -> _T | None:
        """The result of the work; None if there is no file and the work does not create it."""
        future: Future[_T | None] = Future()
        self._thread.submit(Job(what=what, work=work, future=future, writes=not reads, creates=creates))
        return await asyncio.wrap_future(future)


def _round(row: SubmissionRow | EvaluationRow | RoundStatusRow) -> str:
    return f"team {row.team_id}, round {row.round_number}"
