"""contend's graphs by name, for an Agent Server or somebody else's graph."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from contend.contest.graph import build_contest_graph
from contend.errors import InputError
from contend.langgraph_compat import as_subclass
from contend.learning.graph import build_learn_graph
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.team.graph import build_team_graph

GraphName = Literal["contend", "team", "research", "learn"]
Build = Callable[[Services], StateGraph[Any, Any, Any, Any]]
BUILDERS: Mapping[GraphName, Build] = {
    "contend": build_contest_graph,
    "team": build_team_graph,
    "research": build_research_graph,
    "learn": lambda services: build_learn_graph(services.learn_nodes),
}


class AsyncGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose nodes are all asynchronous. Its synchronous methods say what to call instead."""

    def invoke(self, *_arguments: object, **_how: object) -> NoReturn:
        """Refuse.

        Raises:
            InputError: always.
        """
        raise InputError(f"{self.name}: invoke is synchronous: await graph.ainvoke(…), or asyncio.run(contend.run(…))")

    def stream(self, *_arguments: object, **_how: object) -> NoReturn:
        """Refuse.

        Raises:
            InputError: always.
        """
        raise InputError(f"{self.name}: stream is synchronous: iterate by `async for part in graph.astream(…)`")


def build_graph(
    name: GraphName = "contend",
    services: Services | None = None,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> AsyncGraph:
    """One of contend's graphs, compiled: to be awaited, or to stand in another graph as a node, a part or a tool.

    Input is `{"theme": QUESTION}`, of 1 to 8,000 characters, or a chat whose last human message asks; of `learn` it is
    a run's rounds. `context` holds the options, as `RunOptions` or a mapping; without one they are the workspace's.
    The last of the output's `messages` is the report in Markdown, or one line that says why there is none.

    `services`: what the graph works with, such as a workspace of its own; else made from environment and `.env`.
    `checkpointer`: for a graph on its own that waits for a person or is to go on after a crash; as a part of another
    graph it has its parent's. No lease is taken on a thread: who runs the graph sees to it that one run goes on each.

    Reads config and prompts: blocking. Opens nothing before it is needed.

    Raises:
        InputError: there is no graph of this name, or a config file, prompt or setting is not usable.
    """
    if name not in BUILDERS:
        raise InputError(f"build_graph: {name!r} is not a graph: give one of {', '.join(BUILDERS)}")
    graph = BUILDERS[name](services or Services(load_settings()))
    return as_subclass(AsyncGraph, graph.compile(checkpointer=checkpointer, name=name))
