"""What the Agent Server opens: one team and its rounds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime

from contend.agent_server import Compiled, served
from contend.team.graph import build_team_graph


@asynccontextmanager
async def graph(config: RunnableConfig, runtime: ServerRuntime) -> AsyncIterator[Compiled]:
    """One team and its rounds."""
    async with served(build_team_graph, config, runtime) as compiled:
        yield compiled
