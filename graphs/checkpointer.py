"""The Agent Server's checkpointer: the same one, in the same workspace, as the command line's."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from contend.agent_server import note_rollbacks
from contend.settings import load_settings
from contend.stores.checkpoints import open_checkpointer

RUNS_AT_ONCE = 4


def _settle_runs_at_once() -> None:
    """Let the development server work on several threads' runs at once, unless its flag says how many.

    It knows no other setting: it takes one run at a time, and refuses N_JOBS_PER_WORKER from environment and config.
    This file is what it loads before it starts its workers.
    """
    by_flag = any(argument.startswith("--n-jobs-per-worker") for argument in sys.argv)
    if os.environ.get("LANGSMITH_LANGGRAPH_API_VARIANT") == "local_dev" and not by_flag:
        from langgraph_api import config  # noqa: PLC0415 - other Agent Servers have no such module

        config.N_JOBS_PER_WORKER = RUNS_AT_ONCE


_settle_runs_at_once()


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Redis where `CONTEND_REDIS_URL` is set, else SQLite, unless the settings name another."""
    async with open_checkpointer(await asyncio.to_thread(load_settings)) as saver:
        note_rollbacks(saver)
        yield saver
