"""Checkpoints in a SQLite file, each saved in one trip to one thread."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from contend.errors import CheckpointError
from contend.stores.files import writing

_T = TypeVar("_T")
# A write-ahead log keeps a kill harmless at any moment; a disk flush for each step would only cost time.
_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=10000"


class ThreadedSqliteSaver(SqliteSaver):
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

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._there(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph passes it by name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listed = partial(self.list, config, filter=filter, before=before, limit=limit)
        for found in await self._there(lambda: list(listed())):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._there(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._there(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._there(self.delete_thread, thread_id)

    async def _there(self, work: Callable[..., _T], *given: object) -> _T:
        with _told(self._file):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *given))


@asynccontextmanager
async def open_sqlite_saver(file: Path, serde: SerializerProtocol) -> AsyncIterator[ThreadedSqliteSaver]:
    """A saver for the file, made if there is none; the saver makes its tables at first use.

    Raises:
        StoreUnwritable: the folder cannot be made.
        CheckpointError: the file cannot be opened; from the saver: read or written.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="contend-checkpoints") as thread:
        there = partial(asyncio.get_running_loop().run_in_executor, thread)
        with _told(file), writing(file):
            connection = await there(_connected, file)
        try:
            yield ThreadedSqliteSaver(connection, file=file, serde=serde, thread=thread)
        finally:
            await there(connection.close)


@contextmanager
def _told(file: Path) -> Iterator[None]:
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
