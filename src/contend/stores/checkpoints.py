"""Checkpointers: where a run's state is kept between steps. Memory or SQLite."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

Kind = Literal["memory", "sqlite"]

_MEMORY = InMemorySaver()


def checkpoint_file(folder: Path) -> Path:
    """The workspace's SQLite file."""
    return folder / "checkpoints.sqlite"


@asynccontextmanager
async def open_checkpointer(kind: Kind, folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver of a workspace. `memory` is shared by the process and gone with it."""
    if kind == "memory":
        yield _MEMORY
        return
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - only where it is used

    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(checkpoint_file(folder))) as saver:
        # One write a step: the log keeps a kill harmless, and full synchronisation would cost a disk flush each.
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        await saver.conn.execute("PRAGMA busy_timeout=10000")
        yield saver


def has_checkpoints(kind: Kind, folder: Path) -> bool:
    """Whether there is anything to read, without creating it."""
    return kind == "memory" or checkpoint_file(folder).is_file()
