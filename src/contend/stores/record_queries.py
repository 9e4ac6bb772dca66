"""What the record answers. Each function reads with the connection it is given, on the record's thread."""

from typing import TYPE_CHECKING

from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.rows import ExecutionRow, KeptEvent, RoundRow
from contend.models.task import CallUsage, TeamStatus
from contend.stores.leaderboard import LiveLeaderboard
from contend.stores.record_schema import fetch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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
_SCORES = """
SELECT execution_id, team_id, history.team_name, round_number, score FROM round_history AS history
LEFT JOIN leader_board USING (execution_id, team_id, round_number) WHERE list_contains(?, execution_id)
"""
_NAMES = "SELECT execution_id, team_id, team_name FROM team_status WHERE list_contains(?, execution_id)"
_PAIRWISE = "SELECT execution_id, team_id, pairwise_key FROM pairwise WHERE list_contains(?, execution_id)"
_FINISHED = """
SELECT execution_id FROM execution WHERE dataset = ? AND status IN ('completed', 'partial')
ORDER BY created_at, execution_id
"""
_DATASETS = "SELECT DISTINCT dataset FROM execution ORDER BY dataset"
_SUBMISSION_DOCUMENTS = """
SELECT thread_id, json_extract_string(role_records, '$.submission') AS document
FROM round_history JOIN execution USING (execution_id)
WHERE document IS NOT NULL
"""
_EXIT_REASONS = """
SELECT team_id, exit_reason FROM round_status WHERE execution_id = ? AND exit_reason IS NOT NULL
ORDER BY team_id, round_number
"""
_ACTIVE_SECONDS = """
SELECT coalesce(max(seconds), 0.0) AS seconds
FROM (SELECT sum(active_seconds) AS seconds FROM round_status WHERE execution_id = ? GROUP BY team_id)
"""
_EVENTS = """
SELECT number, told FROM event JOIN execution USING (execution_id) WHERE thread_id = ? AND number > ?
ORDER BY number LIMIT ?
"""
_DRAFTS = """
SELECT json_extract_string(told, '$.document') AS document FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.type') = 'step_done' AND document <> ''
"""
_TOLD_DOCUMENT = """
SELECT json_extract_string(told, '$.type') FROM event JOIN execution USING (execution_id)
WHERE thread_id = ? AND json_extract_string(told, '$.document') = ? LIMIT 1
"""
_USAGE = "SELECT * EXCLUDE (execution_id, team_id, round_number) FROM usage WHERE execution_id = ? ORDER BY call_key"


def execution(connection: "DuckDBPyConnection", execution_id: str) -> ExecutionRow | None:
    rows = fetch(connection, _EXECUTION + " WHERE execution_id = ?", execution_id)
    return ExecutionRow.model_validate(rows[0]) if rows else None


def executions(connection: "DuckDBPyConnection", limit: int = 50) -> list[ExecutionRow]:
    """The newest first."""
    return [ExecutionRow.model_validate(row) for row in fetch(connection, _EXECUTION + _NEWEST, limit)]


def history(
    connection: "DuckDBPyConnection", *, search: str, limit: int, offset: int
) -> tuple[list[ExecutionRow], int]:
    """Each thread's newest execution whose theme holds the words, the newest first; and how many there are."""
    rows = fetch(connection, f"{_HISTORY}{_NEWEST} OFFSET ?", search, limit, offset)
    (count,) = fetch(connection, f"SELECT count(*) AS count FROM ({_HISTORY})", search)  # noqa: S608 - our own words
    return [ExecutionRow.model_validate(row) for row in rows], int(count["count"])


def latest_execution(connection: "DuckDBPyConnection", thread_id: str) -> ExecutionRow | None:
    rows = fetch(connection, _EXECUTION + " WHERE thread_id = ?" + _NEWEST, thread_id, 1)
    return ExecutionRow.model_validate(rows[0]) if rows else None


def threads(connection: "DuckDBPyConnection", beginning: str = "") -> list[str]:
    """The threads with a run whose id begins so, the one with the newest run first."""
    return [row["thread_id"] for row in fetch(connection, _THREADS, beginning)]


def team_statuses(connection: "DuckDBPyConnection", execution_id: str) -> list[TeamStatus]:
    """By team id."""
    return [TeamStatus.model_validate(row) for row in fetch(connection, _TEAM_STATUSES, execution_id)]


def rounds(connection: "DuckDBPyConnection", execution_id: str, team_id: str | None = None) -> list[RoundRow]:
    """All rounds with a submission, or one team's, by team id and round, with what is known of them."""
    return [RoundRow.model_validate(row) for row in fetch(connection, _ROUNDS, execution_id, team_id)]


def leaderboard(
    connection: "DuckDBPyConnection", execution_id: str, *, limit: int | None = None
) -> list[LeaderboardEntry]:
    """In rank order, cut to `limit` teams."""
    return _leaderboards(connection, [execution_id])[execution_id][:limit]


def rankings(connection: "DuckDBPyConnection", dataset: str) -> dict[str, list[LeaderboardEntry]]:
    """The leaderboards of a dataset's finished executions, the oldest first."""
    return _leaderboards(connection, [row["execution_id"] for row in fetch(connection, _FINISHED, dataset)])


def datasets(connection: "DuckDBPyConnection") -> list[str]:
    """Those of all executions, by name."""
    return [row["dataset"] for row in fetch(connection, _DATASETS)]


def _leaderboards(connection: "DuckDBPyConnection", executions: list[str]) -> dict[str, list[LeaderboardEntry]]:
    """By the live leaderboard's way, so that memory and record cannot differ."""
    live = LiveLeaderboard()
    for row in fetch(connection, _SCORES, executions):
        live.enter(row["execution_id"], [(row["team_id"], row["team_name"])])
        live.scored(row["execution_id"], row["team_id"], row["round_number"], row["score"])
    for row in fetch(connection, _NAMES, executions):
        live.enter(row["execution_id"], [(row["team_id"], row["team_name"])])
    keys: dict[str, dict[str, float]] = {}
    for row in fetch(connection, _PAIRWISE, executions):
        keys.setdefault(row["execution_id"], {})[row["team_id"]] = row["pairwise_key"]
    for execution_id, of_execution in keys.items():
        live.set_pairwise(execution_id, of_execution)
    return {execution_id: live.leaderboard(execution_id) for execution_id in executions}


def calls(connection: "DuckDBPyConnection", execution_id: str) -> list[CallUsage]:
    """The model calls of finished rounds and of the learning loop."""
    return [CallUsage.model_validate(row) for row in fetch(connection, _USAGE, execution_id)]


def events(connection: "DuckDBPyConnection", thread_id: str, *, after: int = 0, limit: int = 500) -> list[KeptEvent]:
    """A thread's events with a number above `after`, in the order in which they were told."""
    rows = fetch(connection, _EVENTS, thread_id, after, limit)
    return [KeptEvent.model_validate({"number": row["number"], "event": row["told"]}) for row in rows]


def submission_documents(connection: "DuckDBPyConnection") -> dict[str, list[str]]:
    """The document ids of all submissions, by thread."""
    by_thread: dict[str, list[str]] = {}
    for thread_id, document in connection.execute(_SUBMISSION_DOCUMENTS).fetchall():
        by_thread.setdefault(thread_id, []).append(document)
    return by_thread


def told_document(connection: "DuckDBPyConnection", thread_id: str, document_id: str) -> str | None:
    """The type of the event by which a thread's run told of a document; None where none did."""
    row = connection.execute(_TOLD_DOCUMENT, [thread_id, document_id]).fetchone()
    return str(row[0]) if row else None


def draft_documents(connection: "DuckDBPyConnection", thread_id: str) -> set[str]:
    """The document ids of the drafts that a thread's events name."""
    return {document for (document,) in connection.execute(_DRAFTS, [thread_id]).fetchall()}


def exit_reasons(connection: "DuckDBPyConnection", execution_id: str) -> dict[str, ExitReason]:
    """Why each team stopped that has, by team id; within a round that it did not hand in, too."""
    return {row["team_id"]: row["exit_reason"] for row in fetch(connection, _EXIT_REASONS, execution_id)}


def active_seconds(connection: "DuckDBPyConnection", execution_id: str) -> float:
    """What the finished rounds took; teams play at the same time, so the longest team's time."""
    (row,) = fetch(connection, _ACTIVE_SECONDS, execution_id)
    return float(row["seconds"])
