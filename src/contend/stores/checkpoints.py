"""Checkpointers: where a run's state is kept between steps. Memory or SQLite."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

Kind = Literal["memory", "sqlite"]


class PlainSerializer(JsonPlusSerializer):
    """Revives nothing from a checkpoint but plain values, messages and LangGraph's own types: state holds no others."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:  # noqa: ARG002 - nothing is added
        # Given another serializer, LangGraph would copy the saver, and the Agent Server's wrapper around it can't be
        # copied (langgraph-api 0.16: endless recursion in its __getattr__ under LANGGRAPH_STRICT_MSGPACK).
        return self


_MEMORY = InMemorySaver(serde=PlainSerializer())


def checkpoint_file(folder: Path) -> Path:
    """The workspace's SQLite file."""
    return folder / "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpointer(kind: Kind, folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver of a workspace. `memory` is shared by the process and gone with it."""
    if kind == "memory":
        yield _MEMORY
        return
    import aiosqlite  # noqa: PLC0415 - only where it is used
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - the same

    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with aiosqlite.connect(checkpoint_file(folder)) as connection:
        # A write-ahead log keeps a kill harmless at any moment; a disk flush for each step would only cost time.
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute("PRAGMA synchronous=NORMAL")
        await connection.execute("PRAGMA busy_timeout=10000")
        yield AsyncSqliteSaver(connection, serde=PlainSerializer())


def has_checkpoints(kind: Kind, folder: Path) -> bool:
    """Whether there is anything to read, without creating it."""
    return kind == "memory" or checkpoint_file(folder).is_file()
