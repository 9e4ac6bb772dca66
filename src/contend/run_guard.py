"""What both doors, the app and the Agent Server, pass before a run goes: one worker a thread, and no changed rules."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime

from contend.errors import CheckpointError, RunChanged, UnknownThread
from contend.models.options import ResolvedOptions
from contend.preflight import config_fingerprint
from contend.services import Services
from contend.settings import load_settings
from contend.stores.checkpoints import checkpoints_place
from contend.stores.leases import Lease, checked_thread, lease

_LOG = logging.getLogger(__name__)
Build = Callable[[Services], StateGraph[Any, Any, Any, Any]]
Compiled = CompiledStateGraph[Any, Any, Any, Any]
TERMINAL = frozenset({"completed", "partial", "failed"})


@asynccontextmanager
async def run_guard(services: Services, thread_id: str) -> AsyncIterator[Lease]:
    """Hold the thread's lease while a run goes.

    Raises:
        InputError: the thread id can't be a file name.
        ThreadBusy: somebody else works on the thread.
        StoreError: the lease's server can't be used.
    """
    async with lease(services.settings, checked_thread(thread_id)) as held:
        yield held


async def check_kept(services: Services, thread_id: str, state: Mapping[str, Any]) -> None:
    """Whether a run that the record calls unfinished has its checkpoints still.

    Raises:
        CheckpointError: they are gone.
    """
    latest = await services.record.latest_execution(thread_id)
    if state.get("execution_id") or latest is None or latest.status not in {"running", "interrupted"}:
        return
    raise CheckpointError(
        f"thread {thread_id!r}: its checkpoints are gone from {checkpoints_place(services.settings)}; what its teams "
        "handed in stands in the record: see `contend leaderboard`, and ask the question anew"
    )


def check_resumable(services: Services, thread_id: str, state: Mapping[str, Any], *, force: bool = False) -> None:
    """Whether a thread's run may go on from its state.

    Raises:
        UnknownThread: no run is known under the thread.
        RunChanged: config or prompts differ from those it began with, and `force` is not given.
    """
    if not state.get("execution_id"):
        raise UnknownThread(f"thread {thread_id!r} has no run to go on with: see `contend runs`")
    began = state["fingerprint"]
    now = config_fingerprint(services, ResolvedOptions.model_validate(state["options"]))
    changed = sorted(name for name in began.keys() | now.keys() if began.get(name) != now.get(name))
    if changed and not force:
        raise RunChanged(
            f"thread {thread_id!r}: changed since the run began: {', '.join(changed)}; put them back, "
            "or go on with what stands now by --force"
        )


def is_finished(state: Mapping[str, Any]) -> bool:
    """Whether the run reached its last node; an empty `next` alone does not tell."""
    return state.get("status") in TERMINAL


class _Process:
    """What an Agent Server's process keeps: one container, and each graph compiled once."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._services: Services | None = None
        self._graphs: dict[Build, Compiled] = {}

    async def services(self) -> Services:
        async with self._opening:
            if self._services is None:
                self._services = await asyncio.to_thread(lambda: Services(load_settings()))
        return self._services

    async def graph(self, build: Build) -> Compiled:
        services = await self.services()
        if build not in self._graphs:
            self._graphs[build] = await asyncio.to_thread(lambda: build(services).compile())
        return self._graphs[build]


_PROCESS = _Process()


@asynccontextmanager
async def served(build: Build, config: RunnableConfig, runtime: ServerRuntime[Any]) -> AsyncIterator[Compiled]:
    """A graph for the Agent Server, which brings the checkpointer: guarded while it runs, bare for schema reads.

    Raises:
        ThreadBusy: somebody else works on the run's thread.
    """
    graph = await _PROCESS.graph(build)
    thread_id = config.get("configurable", {}).get("thread_id")
    if runtime.execution_runtime is None or thread_id is None:
        yield graph
        return
    async with run_guard(await _PROCESS.services(), str(thread_id)) as held:
        yield graph
    for notice in held.notices:
        _LOG.warning(notice)
