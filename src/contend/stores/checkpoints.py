"""Checkpointers keep a run's state between steps: in memory, SQLite or Redis."""

import asyncio
import sqlite3
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint import base
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from contend.errors import CheckpointError, StoreError
from contend.settings import Settings
from contend.stores.files import writing
from contend.stores.threaded_saver import SyncCalls

_ZLIB_SUFFIX = "+zlib"
_LEAST_ZLIB_BYTES = 200
_MOST_UNPACKED_BYTES = 64 * 1024 * 1024
"""Far more than the state of a large contest. A compressed kilobyte may expand to a megabyte."""

_REMEDY = "put a copy of the checkpoints back, or ask the question anew"


class PlainSerializer(JsonPlusSerializer):
    """Loads only plain values, messages and LangGraph's own types from a checkpoint."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:  # noqa: ARG002 - nothing is added
        # Given another serializer, LangGraph would copy the saver, and the Agent Server's wrapper around it can't be
        # copied (langgraph-api 0.16: endless recursion in its __getattr__ under LANGGRAPH_STRICT_MSGPACK).
        return self


class PackedSerializer(PlainSerializer):
    """Compresses all but short values: state is mostly text, and each checkpoint holds all of it."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:  # noqa: ANN401 - any state
        kind, plain = super().dumps_typed(obj)
        if len(plain) < _LEAST_ZLIB_BYTES:
            return kind, plain
        return kind + _ZLIB_SUFFIX, zlib.compress(plain)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:  # noqa: ANN401 - any state
        kind, content = data
        if kind.endswith(_ZLIB_SUFFIX):
            return super().loads_typed((kind.removesuffix(_ZLIB_SUFFIX), _unpack(content)))
        return super().loads_typed(data)


def _unpack(content: bytes) -> bytes:
    """Raises: CheckpointError where it is damaged, or larger than any state."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(content, _MOST_UNPACKED_BYTES)
    except zlib.error as error:
        raise CheckpointError(f"a checkpoint is damaged ({error}); {_REMEDY}") from error
    if not unpacking.eof:
        raise CheckpointError(
            f"a checkpoint is cut off, or expands to more than {_MOST_UNPACKED_BYTES:,} bytes; {_REMEDY}"
        )
    return plain


_MEMORY = InMemorySaver(serde=PlainSerializer())


def checkpoint_file(folder: Path) -> Path:
    """The workspace's SQLite file."""
    return folder / "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpointer(settings: Settings) -> AsyncIterator[base.BaseCheckpointSaver[Any]]:
    """The saver that the settings name. `memory` is shared by the process and gone with it.

    Raises:
        StoreError: the Redis server can't be used; says why.
    """
    async with CHECKPOINTERS[settings.checkpointer].open(settings) as saver:
        yield saver


class CheckpointPlace(NamedTuple):
    """The key of a checkpoint, the Agent Server run that saved it, and its `source` from the metadata."""

    thread: str
    namespace: str
    checkpoint: str
    run: str
    source: str


class ManagedSaver(base.BaseCheckpointSaver[Any], ABC):
    """What the Agent Server needs beyond LangGraph's interface: roll back runs, copy threads, prune history."""

    on_deletion: Callable[[Iterable[str], Iterable[str]], Awaitable[None]] | None = None
    """Called with the deleted runs and their threads, because the server may delete a run before it stops it."""
    root_namespace = ""
    """The namespace of the whole graph's checkpoints."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - the saver's own
        super().__init__(*arguments, **options)
        self._deleted_runs: set[str] = set()
        self._saves: dict[asyncio.Future[None], str] = {}
        """Saves in progress, with the Agent Server run of each."""

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete everything that these Agent Server runs saved, and ignore what they still try to save."""
        runs = [*map(str, run_ids)]
        self._deleted_runs.update(runs)
        # A save in flight would land after the deletion.
        await asyncio.gather(*(save for save, run in self._saves.items() if run in runs))
        places = [place for run in runs for place in await self._places("run_id", run)]
        # A run that answers a question writes to a checkpoint of the run that asked.
        await self._remove(places, runs)
        if self.on_deletion is not None:
            await self.on_deletion(runs, {place.thread for place in places})

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: base.Checkpoint,
        metadata: base.CheckpointMetadata,
        new_versions: base.ChannelVersions,
        **options: Any,  # noqa: ANN401 - the saver's own
    ) -> RunnableConfig:
        run = run_of(config, metadata)
        if run in self._deleted_runs:
            return config
        with self._saving(run):
            return await super().aput(config, checkpoint, metadata, new_versions, **options)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        run, at = run_of(config), config["configurable"]
        if run in self._deleted_runs:
            return
        with self._saving(run):
            await super().aput_writes(config, writes, task_id, task_path)
            if run and writes:
                place = (str(at["thread_id"]), str(at.get("checkpoint_ns", "")), str(at["checkpoint_id"]))
                numbers = [base.WRITES_IDX_MAP.get(channel, number) for number, (channel, _) in enumerate(writes)]
                await self._note_writes(CheckpointPlace(*place, run, ""), task_id, numbers)

    @contextmanager
    def _saving(self, run: str) -> Iterator[None]:
        save = asyncio.get_running_loop().create_future()
        self._saves[save] = run
        try:
            yield
        finally:
            del self._saves[save]
            save.set_result(None)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace; any strategy but `keep_latest` deletes all."""
        for thread in thread_ids:
            if strategy == "keep_latest":
                places = await self._places("thread_id", thread)
                await self._remove(set(places) - set(latest(places)))
            else:
                await self.adelete_thread(thread)

    async def akeep_latest_run(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread's earlier runs.

        Checkpoint ids grow with time, and a run starts with its input in the root namespace.
        """
        places = await self._places("thread_id", thread_id)
        inputs = [each for each in places if each.source == "input" and each.namespace == self.root_namespace]
        began = max((each.checkpoint for each in inputs), default="")
        await self._remove([each for each in places if each.checkpoint < began])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread's checkpoints and writes to another thread, without their run ids: all or nothing.

        A kill may leave the older ones, under a thread id that nobody was given.
        """
        try:
            await self._copy(source_thread_id, target_thread_id)
        except BaseException:  # whoever asked may be gone, too
            with suppress(StoreError):
                await self.adelete_thread(target_thread_id)
            raise

    async def _copy(self, source_thread_id: str, target_thread_id: str) -> None:
        snapshots = [each async for each in self.alist({"configurable": {"thread_id": source_thread_id}})]
        for snapshot in reversed(snapshots):
            metadata: Any = {key: value for key, value in snapshot.metadata.items() if key != "run_id"}
            if "thread_id" in metadata:
                metadata["thread_id"] = target_thread_id
            parent = (snapshot.parent_config or {}).get("configurable", {}).get("checkpoint_id")
            at = {**snapshot.config["configurable"], "thread_id": target_thread_id}
            versions = snapshot.checkpoint["channel_versions"]
            await self.aput({"configurable": {**at, "checkpoint_id": parent}}, snapshot.checkpoint, metadata, versions)
            by_task: dict[str, list[tuple[str, Any]]] = {}
            for task, channel, value in snapshot.pending_writes or ():
                by_task.setdefault(task, []).append((channel, value))
            for task, writes in by_task.items():
                await self.aput_writes({"configurable": at}, writes, task)

    @abstractmethod
    async def _note_writes(self, place: CheckpointPlace, task_id: str, numbers: Sequence[int]) -> None:
        """Record which Agent Server run made these writes; LangGraph's tables do not."""

    @abstractmethod
    async def _places(self, field: Literal["thread_id", "run_id"], value: str) -> list[CheckpointPlace]:
        """The checkpoints of a thread or of an Agent Server run."""

    @abstractmethod
    async def _remove(self, places: Collection[CheckpointPlace], runs: Sequence[str] = ()) -> None:
        """Delete checkpoints with their writes, and the writes of Agent Server runs."""


def latest(places: Iterable[CheckpointPlace]) -> list[CheckpointPlace]:
    """The latest checkpoint of each thread and namespace."""
    return list({place[:2]: place for place in sorted(places)}.values())


def run_of(config: RunnableConfig, metadata: Mapping[str, Any] | None = None) -> str:
    """The id of the Agent Server run that is saving; "" outside the server."""
    places = (metadata or {}, config.get("metadata", {}), config.get("configurable", {}))
    return str(next((run for place in places if (run := place.get("run_id"))), ""))


async def keep_latest_run(saver: object, thread_id: str) -> None:
    """Delete the checkpoints of a thread's earlier runs; a chat would grow by hundreds of checkpoints per question.

    Failures are ignored: the end of the thread's next run tries again.
    """
    # The Agent Server wraps the saver; LangGraph's own, in memory, can't.
    keep = getattr(saver, "akeep_latest_run", None)
    if keep is not None:
        with suppress(StoreError):
            await keep(thread_id)


def has_checkpoints(settings: Settings) -> bool:
    """Whether there may be checkpoints to read. Creates nothing."""
    return CHECKPOINTERS[settings.checkpointer].may_hold(settings)


def checkpoints_place(settings: Settings) -> str:
    """Where checkpoints are stored and how they can be lost there, for messages."""
    return CHECKPOINTERS[settings.checkpointer].place(settings)


async def check_checkpointer(settings: Settings) -> list[str]:
    """Check that a run can save checkpoints; returns warnings, one line each, where they may be lost.

    Raises:
        StoreError: the Redis server is unreachable, refuses, or lacks what the checkpoints need.
    """
    return await CHECKPOINTERS[settings.checkpointer].check(settings)


_T = TypeVar("_T")
# A write-ahead log keeps a kill harmless at any moment; a disk flush for each step would only cost time.
_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=10000"

_KEY = "(thread_id, checkpoint_ns, checkpoint_id)"
_TAG = f"UPDATE writes SET run_id = ? WHERE {_KEY} = (?, ?, ?) AND task_id = ? AND idx = ?"  # noqa: S608 - constants
_PLACES = """
SELECT thread_id, checkpoint_ns, checkpoint_id, metadata ->> '$.run_id', metadata ->> '$.source'
FROM (SELECT thread_id, checkpoint_ns, checkpoint_id, CAST(metadata AS TEXT) AS metadata FROM checkpoints)
"""
_PLACES_OF = {"thread_id": f"{_PLACES} WHERE thread_id = ?", "run_id": f"{_PLACES} WHERE metadata ->> '$.run_id' = ?"}
_REMOVE = [f"DELETE FROM {table} WHERE {_KEY} = (?, ?, ?)" for table in ("writes", "checkpoints")]  # noqa: S608 - constants
_REMOVE_WRITES = "DELETE FROM writes WHERE run_id = ?"


class ThreadedSqliteSaver(ManagedSaver, SyncCalls, SqliteSaver):
    """LangGraph's saver for SQLite, called in a thread of its own.

    The asynchronous one switches to a thread four times per save (cursor, statement, commit, close), and contests save
    thousands of times.
    """

    def __init__(
        self, connection: sqlite3.Connection, *, file: Path, serde: SerializerProtocol, thread: ThreadPoolExecutor
    ) -> None:
        super().__init__(connection, serde=serde)
        self._saver = self
        self._file = file
        self._thread = thread

    def setup(self) -> None:
        if not self.is_setup:
            super().setup()
            with suppress(sqlite3.OperationalError):  # it has the column
                self.conn.execute("ALTER TABLE writes ADD COLUMN run_id TEXT")

    async def _note_writes(self, place: CheckpointPlace, task_id: str, numbers: Sequence[int]) -> None:
        tags = [(place.run, *place[:3], task_id, number) for number in numbers]
        await self._in_thread(self._change, [(_TAG, tags)])

    async def _places(self, field: Literal["thread_id", "run_id"], value: str) -> list[CheckpointPlace]:
        def rows() -> list[CheckpointPlace]:
            with self.cursor(transaction=False) as cursor:
                return [CheckpointPlace(*row) for row in cursor.execute(_PLACES_OF[field], (value,))]

        return await self._in_thread(rows)

    async def _remove(self, places: Collection[CheckpointPlace], runs: Sequence[str] = ()) -> None:
        changes = [(statement, [place[:3] for place in places]) for statement in _REMOVE]
        await self._in_thread(self._change, [*changes, (_REMOVE_WRITES, [(run,) for run in runs])])

    def _change(self, changes: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """All of it, or nothing."""
        with self.cursor() as cursor:
            try:
                for statement, values in changes:
                    cursor.executemany(statement, values)
            except sqlite3.Error:
                self.conn.rollback()
                raise

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        with _sqlite_errors(self._file):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *arguments))


@asynccontextmanager
async def open_sqlite_saver(file: Path, serde: SerializerProtocol) -> AsyncIterator[ThreadedSqliteSaver]:
    """A saver for the file, which is created if missing; tables are created at first use.

    Raises:
        StoreUnwritable: the folder cannot be made.
        CheckpointError: the file cannot be opened; from the saver: read or written.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="contend-checkpoints") as thread:
        in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
        with _sqlite_errors(file), writing(file):
            connection = await in_thread(_connect, file)
        try:
            yield ThreadedSqliteSaver(connection, file=file, serde=serde, thread=thread)
        finally:
            await in_thread(connection.close)


@contextmanager
def _sqlite_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise CheckpointError(
            f"checkpoints {file}: SQLite says {error}: free space, mend its rights, or move a damaged file away"
        ) from error


def _connect(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, check_same_thread=False)
    connection.executescript(_PRAGMAS)
    return connection


async def _no_warnings(_: Settings) -> list[str]:
    return []


@dataclass(frozen=True)
class Checkpointer:
    """A kind of checkpointer. `title`: its name for people."""

    title: str
    open: Callable[[Settings], AbstractAsyncContextManager[base.BaseCheckpointSaver[Any]]]
    place: Callable[[Settings], str]
    may_hold: Callable[[Settings], bool] = lambda _: True
    check: Callable[[Settings], Awaitable[list[str]]] = _no_warnings


def _open_redis(settings: Settings) -> AbstractAsyncContextManager[base.BaseCheckpointSaver[Any]]:
    from contend.stores.redis_saver import open_redis_saver  # noqa: PLC0415 - only where it is used

    return open_redis_saver(settings)


async def _check_redis(settings: Settings) -> list[str]:
    from contend.stores.redis_server import check_redis  # noqa: PLC0415 - only where it is used

    return await check_redis(settings)


_LOSSES_IN_REDIS = "FLUSHALL, eviction, its time to live, or a restart without persistence"

CHECKPOINTERS: Mapping[str, Checkpointer] = {
    "memory": Checkpointer(
        "memory",
        open=lambda _: nullcontext(_MEMORY),
        place=lambda _: "memory (they end with the process)",
    ),
    "sqlite": Checkpointer(
        "SQLite",
        open=lambda settings: open_sqlite_saver(checkpoint_file(settings.folder), PackedSerializer()),
        place=lambda settings: str(checkpoint_file(settings.folder)),
        may_hold=lambda settings: checkpoint_file(settings.folder).is_file(),
    ),
    "redis": Checkpointer(
        "Redis",
        open=_open_redis,
        place=lambda settings: f"Redis at {settings.redis_address} ({_LOSSES_IN_REDIS})",
        check=_check_redis,
    ),
}
"""By the names of `CheckpointerType`."""
