"""Checkpointers: where a run's state is kept between steps. Memory, SQLite or Redis."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from contend.errors import StoreError
from contend.settings import Settings

_PACKED = "+zlib"
_PACKED_FROM = 200


class PlainSerializer(JsonPlusSerializer):
    """Revives nothing from a checkpoint but plain values, messages and LangGraph's own types."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:  # noqa: ARG002 - nothing is added
        # Given another serializer, LangGraph would copy the saver, and the Agent Server's wrapper around it can't be
        # copied (langgraph-api 0.16: endless recursion in its __getattr__ under LANGGRAPH_STRICT_MSGPACK).
        return self


class PackedSerializer(PlainSerializer):
    """Packs all but short values: state is mostly text, and each checkpoint holds the whole of it."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:  # noqa: ANN401 - any state
        kind, plain = super().dumps_typed(obj)
        if len(plain) < _PACKED_FROM:
            return kind, plain
        return kind + _PACKED, zlib.compress(plain)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:  # noqa: ANN401 - any state
        kind, content = data
        if kind.endswith(_PACKED):
            return super().loads_typed((kind.removesuffix(_PACKED), zlib.decompress(content)))
        return super().loads_typed(data)


_MEMORY = InMemorySaver(serde=PlainSerializer())


def checkpoint_file(folder: Path) -> Path:
    """The workspace's SQLite file."""
    return folder / "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpointer(settings: Settings) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver that the settings name. `memory` is shared by the process and gone with it.

    Raises:
        StoreError: the Redis server can't be used; says why.
    """
    if settings.checkpointer == "memory":
        yield _MEMORY
    elif settings.checkpointer == "redis":
        from contend.stores.redis_saver import open_redis_saver  # noqa: PLC0415 - only where it is used

        async with open_redis_saver(settings) as saver:
            yield saver
    else:
        from contend.stores.sqlite_saver import open_sqlite_saver  # noqa: PLC0415 - only where it is used

        async with open_sqlite_saver(checkpoint_file(settings.folder), PackedSerializer()) as saver:
            yield saver


class RollsBack(ABC):
    """A saver whose runs the Agent Server may roll back: it deletes a run before it stops it."""

    on_rollback: Callable[[Iterable[str]], None] | None = None
    """Called with the threads of runs whose checkpoints were deleted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - the saver's own
        super().__init__(*arguments, **options)
        self._deleted_runs: set[str] = set()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what runs of the Agent Server saved, and whatever they may still save."""
        runs = [*map(str, run_ids)]
        self._deleted_runs.update(runs)
        threads = await self._delete_runs(runs)
        if self.on_rollback is not None:
            self.on_rollback(threads)

    @abstractmethod
    async def _delete_runs(self, runs: Sequence[str]) -> set[str]:
        """Delete what they saved; the threads that they were on."""


def run_of(config: RunnableConfig, metadata: Mapping[str, Any] | None = None) -> str:
    """The id of the Agent Server's run that saves something; elsewhere ""."""
    places = (metadata or {}, config.get("metadata", {}), config.get("configurable", {}))
    return str(next((run for place in places if (run := place.get("run_id"))), ""))


async def keep_latest_run(saver: object, thread_id: str) -> None:
    """Delete what runs before a thread's latest one left: a chat would grow by hundreds of checkpoints a question.

    It may fail: the end of the next run on the thread does it then.
    """
    # The Agent Server wraps the saver; LangGraph's own, in memory, can't.
    keep = getattr(saver, "akeep_latest_run", None)
    if keep is not None:
        with suppress(StoreError):
            await keep(thread_id)


def has_checkpoints(settings: Settings) -> bool:
    """Whether there may be anything to read, without creating it."""
    return settings.checkpointer != "sqlite" or checkpoint_file(settings.folder).is_file()


def checkpoints_place(settings: Settings) -> str:
    """Where checkpoints lie, and how they get lost there, in words."""
    if settings.checkpointer == "memory":
        return "memory (they end with the process)"
    if settings.checkpointer == "sqlite":
        return str(checkpoint_file(settings.folder))
    ways = "FLUSHALL, eviction, its time to live, or a restart without persistence"
    return f"Redis at {settings.redis_address} ({ways})"


async def check_checkpointer(settings: Settings) -> list[str]:
    """Whether a run can keep its checkpoints; warnings, a line each, where they may be lost.

    Raises:
        StoreError: the Redis server is unreachable, refuses, or lacks what the checkpoints need.
    """
    if settings.checkpointer != "redis":
        return []
    from contend.stores.redis_server import check_redis  # noqa: PLC0415 - only where it is used

    return await check_redis(settings)
