"""What the Agent Server opens: the playbook loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime

from contend.agent_server import Compiled, served
from contend.learning.graph import LearnGraph, build_learn_graph
from contend.services import Services


def _build(services: Services) -> LearnGraph:
    return build_learn_graph(services.learn_nodes)


@asynccontextmanager
async def graph(config: RunnableConfig, runtime: ServerRuntime) -> AsyncIterator[Compiled]:
    """The playbook loop."""
    async with served(_build, config, runtime) as compiled:
        yield compiled
