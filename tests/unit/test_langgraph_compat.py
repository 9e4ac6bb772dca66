"""What contend takes for granted of LangGraph beyond its documentation: a version that changes it fails here."""

from pathlib import Path
from typing import Any, cast

import pytest
from langgraph.errors import NodeError
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from contend.contest.graph import build_contest_graph
from contend.errors import CheckpointError
from contend.langgraph_compat import (
    StoreFailed,
    add_node,
    as_subclass,
    fails_to,
    stopping_if_store_fails,
)
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.team.graph import build_team_graph


class State(TypedDict, total=False):
    seen: str


class Named(CompiledStateGraph[Any, Any, Any, Any]):
    def __init__(self, *, owner: str, **parts: Any) -> None:  # noqa: ANN401 - LangGraph's
        super().__init__(**parts)
        self.owner = owner


def graph_that_raises(raised: BaseException) -> StateGraph[State, None, State, State]:
    async def fail(_: State) -> State:
        with stopping_if_store_fails():
            raise raised

    async def handle(_: State, error: NodeError) -> Command[Any]:
        return Command(update={"seen": str(error.error)})

    graph: StateGraph[State, None, State, State] = StateGraph(State)
    graph.add_node("fail", fail, error_handler=handle, destinations=fails_to("fail"))
    graph.add_edge(START, "fail")
    return graph


async def test_an_error_handler_is_not_called_where_a_store_failed() -> None:
    assert await graph_that_raises(ValueError("odd")).compile().ainvoke({}) == {"seen": "odd"}
    with pytest.raises(StoreFailed, match="disk full"):
        await graph_that_raises(CheckpointError("disk full")).compile().ainvoke({})


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
def test_error_handlers_are_nodes_by_the_name_that_the_drawing_links(workspace: Path, build: Any) -> None:  # noqa: ANN401 - three builders
    nodes = build(Services(load_settings(workspace=workspace))).nodes
    linked = {name for node in nodes.values() for name in node.ends or () if name.startswith("__error_handler__")}

    assert linked
    assert linked == {name for name in nodes if name.startswith("__error_handler__")}


async def test_a_compiled_graph_of_a_class_of_ours_runs_and_is_copied_as_one() -> None:
    ours = as_subclass(Named, graph_that_raises(ValueError("odd")).compile(), owner="contend")

    assert await ours.ainvoke({}) == {"seen": "odd"}
    assert ours.copy({"owner": "another"}).owner == "another"


async def test_nodes_are_added_with_their_handlers_and_nobody_looks_for_graphs_in_them() -> None:
    within = graph_that_raises(ValueError("odd")).compile()

    async def fail(state: State) -> State:
        raise ValueError((await within.ainvoke(state))["seen"])

    async def handle(_: State, error: NodeError) -> Command[Any]:
        return Command(update={"seen": f"handled: {error.error}"})

    looked_through, plain = StateGraph(State), StateGraph(State)
    looked_through.add_node("fail", fail, error_handler=handle, destinations=fails_to("fail"))
    add_node(plain, "fail", fail, handle)
    for graph in (looked_through, plain):
        graph.add_edge(START, "fail")

    assert await plain.compile().ainvoke({}) == {"seen": "handled: odd"}
    subgraphs = [[*graph.compile().get_subgraphs()] for graph in (looked_through, plain)]
    assert subgraphs == [[("fail", within)], []]


async def test_a_router_is_given_the_state_of_its_graph_and_nothing_that_a_parent_passed_on_besides() -> None:
    states: list[State] = []

    async def route(state: State) -> str:
        states.append(state)
        return "keep"

    async def keep(_: State) -> State:
        return {}

    graph: StateGraph[State, None, State, State] = StateGraph(State)
    add_node(graph, "keep", keep)
    graph.add_conditional_edges(START, route, ["keep"])

    from_parent: dict[str, Any] = {"seen": "own", "team": "a parent's"}
    await graph.compile().ainvoke(cast("State", from_parent))

    assert states == [{"seen": "own"}]
