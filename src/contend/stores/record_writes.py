"""What changes the record. Each function runs inside the transaction of the connection it is given."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contend.stores.record_schema import TABLES, Upsert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SET_STATUS = """
UPDATE execution SET status = ?, message = ?, winner_team_id = coalesce(?, winner_team_id),
    best_score = coalesce(?, best_score), finished_at = ?
WHERE execution_id = ?
"""


def upsert(table: Upsert, rows: list[list[Any]], connection: "DuckDBPyConnection") -> None:
    for values in rows:
        connection.execute(table.statement(), values)


def set_status(values: list[Any], connection: "DuckDBPyConnection") -> None:
    """`values`: status, message, winner or None, best score or None, finished at or None, execution id."""
    connection.execute(_SET_STATUS, values)


def set_pairwise(execution_id: str, keys: Mapping[str, float], connection: "DuckDBPyConnection") -> None:
    connection.execute("DELETE FROM pairwise WHERE execution_id = ?", [execution_id])
    for team_id, key in keys.items():
        connection.execute("INSERT INTO pairwise VALUES (?, ?, ?)", [execution_id, team_id, key])


def delete_thread(thread_id: str, connection: "DuckDBPyConnection") -> int:
    """How many executions were removed."""
    rows = connection.execute("SELECT execution_id FROM execution WHERE thread_id = ?", [thread_id]).fetchall()
    for (execution_id,) in rows:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE execution_id = ?", [execution_id])  # noqa: S608 - our tables
    return len(rows)
