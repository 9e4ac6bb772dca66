"""What changes the record. Each function runs inside the transaction of the connection it is given."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contend.stores.record_schema import TABLES, Upsert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SET_STATUS = """
UPDATE execution SET status = ?, message = ?, winner_team_id = coalesce(?, winner_team_id),
    best_score = coalesce(?, best_score), finished_at = ?
WHERE execution_id = ?
"""


@dataclass(frozen=True)
class Rows:
    """Rows for one table, as parameters."""

    table: Upsert
    rows: list[list[Any]]

    def __call__(self, connection: "DuckDBPyConnection") -> None:
        """One statement for all new rows and one for the others: planning it costs more than a row.

        Rows are nearly always new, and an insert that may meet a row takes five times as long.
        """
        for batch in self._batches():
            keys = [value for key in batch for value in key]
            known = set(connection.execute(self.table.known(len(batch)), keys).fetchall())
            if new := [row for key, row in batch.items() if key not in known]:
                connection.execute(self.table.insert(len(new)), _flat(new))
            if again := [row for key, row in batch.items() if key in known]:
                connection.execute(self.table.upsert(len(again)), _flat(again))

    def _batches(self) -> Iterator[dict[tuple[Any, ...], list[Any]]]:
        """The rows in turn by key, none twice in a batch: one statement cannot change a row twice."""
        batch: dict[tuple[Any, ...], list[Any]] = {}
        for row in self.rows:
            key = self.table.key_of(row)
            if key in batch:
                yield batch
                batch = {}
            batch[key] = row
        yield batch


def _flat(rows: Iterable[list[Any]]) -> list[Any]:
    return [value for row in rows for value in row]


def together(writes: Iterable[Rows]) -> list[Rows]:
    """The same rows in the same order, those of a table as one."""
    by_table: dict[Upsert, list[list[Any]]] = {}
    for write in writes:
        by_table.setdefault(write.table, []).extend(write.rows)
    return [Rows(table, rows) for table, rows in by_table.items()]


def set_status(values: list[Any], connection: "DuckDBPyConnection") -> None:
    """`values`: status, message, winner or None, best score or None, finished at or None, execution id."""
    connection.execute(_SET_STATUS, values)


def set_pairwise(execution_id: str, keys: Mapping[str, float], connection: "DuckDBPyConnection") -> None:
    connection.execute("DELETE FROM pairwise WHERE execution_id = ?", [execution_id])
    for team_id, key in keys.items():
        connection.execute("INSERT INTO pairwise VALUES (?, ?, ?)", [execution_id, team_id, key])


def delete_thread(thread_id: str, connection: "DuckDBPyConnection") -> list[str]:
    """The ids of the executions that were removed."""
    rows = connection.execute("SELECT execution_id FROM execution WHERE thread_id = ?", [thread_id]).fetchall()
    for (execution_id,) in rows:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE execution_id = ?", [execution_id])  # noqa: S608 - our tables
    # A part of the contest that ran by itself has events and no execution.
    connection.execute("DELETE FROM event WHERE execution_id NOT IN (SELECT execution_id FROM execution)")
    return [execution_id for (execution_id,) in rows]
