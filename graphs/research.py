"""What the Agent Server opens: one round's research."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime

from contend.agent_server import Compiled, served
from contend.research.graph import build_research_graph


@asynccontextmanager
async def graph(config: RunnableConfig, runtime: ServerRuntime) -> AsyncIterator[Compiled]:
    """One round's research."""
    async with served(build_research_graph, config, runtime) as compiled:
        yield compiled
