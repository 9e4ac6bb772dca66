"""The Agent Server's checkpointer: the same one, in the same workspace, as the command line's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from contend.settings import load_settings
from contend.stores.checkpoints import open_checkpointer


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Redis where `CONTEND_REDIS_URL` is set, else SQLite, unless the settings name another."""
    async with open_checkpointer(load_settings()) as saver:
        yield saver
