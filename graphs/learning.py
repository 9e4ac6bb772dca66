"""The graph `learn`: what a run taught goes into the playbook of its dataset.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                                      → reflect
    reflect        draws lessons from the rounds               → curate
    curate         turns them into operations on the playbook  → approve_delta, apply_delta
    approve_delta  a person looks at the operations            → approve_delta, apply_delta
    apply_delta    carries them out, saves a version           → end

`build_learn_graph` adds them; the state is in `contend.learning.state`.
"""

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
