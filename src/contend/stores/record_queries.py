"""What the record answers, by SQL."""

from abc import ABC, abstractmethod
from typing import Any

from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.rows import ExecutionRow, KeptEvent, RoundRow
from contend.models.task import CallUsage, RunUsage, TeamStatus
from contend.stores.leaderboard import LiveLeaderboard

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
_FINISHED = """
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
_DRAFTS = """
SELECT json_extract_string(told, '$.document') AS document FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.type') = 'step_done' AND document <> ''
"""
_TOLD_DOCUMENT = """
SELECT json_extract_string(told, '$.type') AS type FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.document') = ? LIMIT 1
"""
_CALLS = "SELECT * EXCLUDE (execution_id, team_id, round_number) FROM usage WHERE execution_id = ? ORDER BY call_key"


class RecordQueries(ABC):
    """What the record answers; without a file, as if it held nothing."""

    @abstractmethod
    async def _rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """Rows by column name; none where there is no file."""

    async def execution(self, execution_id: str) -> ExecutionRow | None:
        rows = await self._rows(_EXECUTION + " WHERE execution_id = ?", execution_id)
        return ExecutionRow.model_validate(rows[0]) if rows else None

    async def executions(self, limit: int = 50) -> list[ExecutionRow]:
        """The newest first."""
        return [ExecutionRow.model_validate(row) for row in await self._rows(_EXECUTION + _NEWEST, limit)]

    async def history(self, *, search: str, limit: int, offset: int) -> tuple[list[ExecutionRow], int]:
        """Each thread's newest execution whose theme holds the words, the newest first; and how many there are."""
        rows = await self._rows(f"{_HISTORY}{_NEWEST} OFFSET ?", search, limit, offset)
        count = await self._rows(f"SELECT count(*) AS count FROM ({_HISTORY})", search)  # noqa: S608 - our own words
        return [ExecutionRow.model_validate(row) for row in rows], count[0]["count"] if count else 0

    async def latest_execution(self, thread_id: str) -> ExecutionRow | None:
        rows = await self._rows(_EXECUTION + " WHERE thread_id = ?" + _NEWEST, thread_id, 1)
        return ExecutionRow.model_validate(rows[0]) if rows else None

    async def threads(self, beginning: str = "") -> list[str]:
        """The threads with a run whose id begins so, the one with the newest run first."""
        return [row["thread_id"] for row in await self._rows(_THREADS, beginning)]

    async def team_statuses(self, execution_id: str) -> list[TeamStatus]:
        """By team id."""
        return [TeamStatus.model_validate(row) for row in await self._rows(_TEAM_STATUSES, execution_id)]

    async def rounds(self, execution_id: str, team_id: str | None = None) -> list[RoundRow]:
        """All rounds with a submission, or one team's, by team id and round, with what is known of them."""
        return [RoundRow.model_validate(row) for row in await self._rows(_ROUNDS, execution_id, team_id)]

    async def leaderboard(self, execution_id: str, *, limit: int | None = None) -> list[LeaderboardEntry]:
        """In rank order, cut to `limit` teams."""
        return (await self._leaderboards([execution_id]))[execution_id][:limit]

    async def rankings(self, dataset: str) -> dict[str, list[LeaderboardEntry]]:
        """The leaderboards of a dataset's finished executions, the oldest first."""
        return await self._leaderboards([row["execution_id"] for row in await self._rows(_FINISHED, dataset)])

    async def _leaderboards(self, executions: list[str]) -> dict[str, list[LeaderboardEntry]]:
        """By the live leaderboard's way, so that memory and record cannot differ."""
        live = LiveLeaderboard()
        keys: dict[str, dict[str, float]] = {execution_id: {} for execution_id in executions}
        for row in await self._rows(_STANDINGS, executions):
            execution_id, team_id = row["execution_id"], row["team_id"]
            live.enter(execution_id, [(team_id, row["team_name"])])
            if row["round_number"] is not None:
                live.scored(execution_id, team_id, row["round_number"], row["score"])
            if row["pairwise_key"] is not None:
                keys[execution_id][team_id] = row["pairwise_key"]
        for execution_id, of_execution in keys.items():
            live.set_pairwise(execution_id, of_execution)
        return {execution_id: live.leaderboard(execution_id) for execution_id in executions}

    async def datasets(self) -> list[str]:
        """Those of all executions, by name."""
        return [row["dataset"] for row in await self._rows("SELECT DISTINCT dataset FROM execution ORDER BY dataset")]

    async def calls(self, execution_id: str) -> list[CallUsage]:
        """The model calls of finished rounds and of the learning loop."""
        return [CallUsage.model_validate(row) for row in await self._rows(_CALLS, execution_id)]

    async def usage(self, execution_id: str) -> RunUsage:
        return RunUsage.of(await self.calls(execution_id))

    async def events(self, thread_id: str, *, after: int = 0, limit: int = 500) -> list[KeptEvent]:
        """A thread's events with a number above `after`, in the order in which they were told."""
        return [KeptEvent.model_validate(row) for row in await self._rows(_EVENTS, thread_id, after, limit)]

    async def submission_documents(self) -> dict[str, list[str]]:
        """The document ids of all submissions, by thread."""
        return {row["thread_id"]: row["documents"] for row in await self._rows(_SUBMISSION_DOCUMENTS)}

    async def told_document(self, thread_id: str, document_id: str) -> str | None:
        """The type of the event by which a thread's run told of a document; None where none did."""
        rows = await self._rows(_TOLD_DOCUMENT, thread_id, document_id)
        return rows[0]["type"] if rows else None

    async def draft_documents(self, thread_id: str) -> set[str]:
        """The document ids of the drafts that a thread's events name."""
        return {row["document"] for row in await self._rows(_DRAFTS, thread_id)}

    async def exit_reasons(self, execution_id: str) -> dict[str, ExitReason]:
        """Why each team stopped that has, by team id; within a round that it did not hand in, too."""
        return {row["team_id"]: row["exit_reason"] for row in await self._rows(_EXIT_REASONS, execution_id)}

    async def active_seconds(self, execution_id: str) -> float:
        """What the finished rounds took; teams play at the same time, so the longest team's time."""
        rows = await self._rows(_ACTIVE_SECONDS, execution_id)
        return (rows[0]["seconds"] if rows else None) or 0.0
