"""What the Agent Server opens: the whole contest."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime

from contend.agent_server import Compiled, served
from contend.contest.graph import build_contest_graph


@asynccontextmanager
async def graph(config: RunnableConfig, runtime: ServerRuntime) -> AsyncIterator[Compiled]:
    """The whole contest."""
    async with served(build_contest_graph, config, runtime) as compiled:
        yield compiled
