"""Checkpoints in a SQLite file, each saved in one trip to one thread."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from contend.errors import CheckpointError
from contend.stores import writing
from contend.stores.checkpoints import RollsBack, run_of

_T = TypeVar("_T")
# A write-ahead log keeps a kill harmless at any moment; a disk flush for each step would only cost time.
_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=10000"

_KEY = "(thread_id, checkpoint_ns, checkpoint_id)"
_TAG = f"UPDATE writes SET run_id = ? WHERE {_KEY} = (?, ?, ?) AND task_id = ? AND idx = ?"  # noqa: S608 - constants
_OF_RUN = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE CAST(metadata AS TEXT) ->> '$.run_id' = :run"
)
# A run that answers a question leaves its answer with a checkpoint of the run that asked.
_ROLL_BACK = (
    "DELETE FROM writes WHERE run_id = :run",
    f"DELETE FROM writes WHERE {_KEY} IN ({_OF_RUN})",  # noqa: S608 - constants
    f"DELETE FROM checkpoints WHERE {_KEY} IN ({_OF_RUN})",  # noqa: S608 - constants
)
_LATEST = "SELECT checkpoint_ns, max(checkpoint_id) FROM checkpoints WHERE thread_id = :thread GROUP BY checkpoint_ns"
# Ids of checkpoints grow with time, and a run begins with its input in the namespace of the whole graph.
_BEGINNING = """
SELECT max(checkpoint_id) FROM checkpoints
WHERE thread_id = :thread AND checkpoint_ns = '' AND CAST(metadata AS TEXT) ->> '$.source' = 'input'
"""
_KEEP_LATEST, _KEEP_LATEST_RUN = (
    [f"DELETE FROM {table} WHERE thread_id = :thread AND {which}" for table in ("writes", "checkpoints")]  # noqa: S608 - constants
    for which in (f"(checkpoint_ns, checkpoint_id) NOT IN ({_LATEST})", f"checkpoint_id < ({_BEGINNING})")
)
_COPY = (
    """
    INSERT INTO checkpoints SELECT :target, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
        CAST(json_remove(json_replace(CAST(metadata AS TEXT), '$.thread_id', :target), '$.run_id') AS BLOB)
    FROM checkpoints WHERE thread_id = :source
    """,
    """
    INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
    SELECT :target, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
    FROM writes WHERE thread_id = :source
    """,
)


class ThreadedSqliteSaver(RollsBack, SqliteSaver):
    """LangGraph's saver for SQLite, called in a thread of its own.

    Its asynchronous twin makes four trips to a thread for each save (cursor, statement, commit, close), and contests
    save thousands of times.
    """

    def __init__(
        self, connection: sqlite3.Connection, *, file: Path, serde: SerializerProtocol, thread: ThreadPoolExecutor
    ) -> None:
        super().__init__(connection, serde=serde)
        self._file = file
        self._thread = thread

    def setup(self) -> None:
        if not self.is_setup:
            super().setup()
            with suppress(sqlite3.OperationalError):  # it has the column
                self.conn.execute("ALTER TABLE writes ADD COLUMN run_id TEXT")

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph passes it by name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        search = partial(self.list, config, filter=filter, before=before, limit=limit)
        for snapshot in await self._in_thread(lambda: list(search())):
            yield snapshot

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        if run_of(config, metadata) in self._deleted_runs:
            return config
        return await self._in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        run = run_of(config)
        if run not in self._deleted_runs:
            await self._in_thread(self._put_writes_of, run, config, writes, task_id, task_path)

    def _put_writes_of(
        self, run: str, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Save writes, and which run of the Agent Server made them."""
        self.put_writes(config, writes, task_id, task_path)
        at = config["configurable"]
        place = (str(at["thread_id"]), str(at["checkpoint_ns"]), str(at["checkpoint_id"]), task_id)
        numbers = [WRITES_IDX_MAP.get(channel, number) for number, (channel, _) in enumerate(writes)] if run else []
        with self.cursor() as cursor:
            cursor.executemany(_TAG, [(run, *place, number) for number in numbers])

    async def adelete_thread(self, thread_id: str) -> None:
        await self._in_thread(self.delete_thread, thread_id)

    async def _delete_runs(self, runs: Sequence[str]) -> set[str]:
        return await self._in_thread(self._roll_back, [{"run": run} for run in runs])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._in_thread(self._change, _COPY, [{"source": source_thread_id, "target": target_thread_id}])

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace, or with any other strategy none."""
        if strategy == "keep_latest":
            await self._in_thread(self._change, _KEEP_LATEST, [{"thread": thread} for thread in thread_ids])
            return
        for thread in thread_ids:
            await self.adelete_thread(thread)

    async def akeep_latest_run(self, thread_id: str) -> None:
        """Delete what runs before a thread's latest one left."""
        await self._in_thread(self._change, _KEEP_LATEST_RUN, [{"thread": thread_id}])

    def _roll_back(self, runs: Sequence[dict[str, str]]) -> set[str]:
        """The threads that they were on."""
        with self.cursor() as cursor:
            threads = {row[0] for run in runs for row in cursor.execute(_OF_RUN, run)}
        self._change(_ROLL_BACK, runs)
        return threads

    def _change(self, statements: Sequence[str], values: Sequence[dict[str, str]]) -> None:
        """All of it, or nothing."""
        with self.cursor() as cursor:
            try:
                for each in values:
                    for statement in statements:
                        cursor.execute(statement, each)
            except sqlite3.Error:
                self.conn.rollback()
                raise

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        with _errors_named(self._file):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *arguments))


@asynccontextmanager
async def open_sqlite_saver(file: Path, serde: SerializerProtocol) -> AsyncIterator[ThreadedSqliteSaver]:
    """A saver for the file, made if there is none; the saver makes its tables at first use.

    Raises:
        StoreUnwritable: the folder cannot be made.
        CheckpointError: the file cannot be opened; from the saver: read or written.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="contend-checkpoints") as thread:
        in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
        with _errors_named(file), writing(file):
            connection = await in_thread(_connected, file)
        try:
            yield ThreadedSqliteSaver(connection, file=file, serde=serde, thread=thread)
        finally:
            await in_thread(connection.close)


@contextmanager
def _errors_named(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise CheckpointError(
            f"checkpoints {file}: SQLite says {error}: free space, mend its rights, or move a damaged file away"
        ) from error


def _connected(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, check_same_thread=False)
    connection.executescript(_PRAGMAS)
    return connection
