"""What contend takes for granted of LangGraph beyond its documentation: a version that changes it fails here."""

from typing import Any, Literal, cast

import pytest
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from contend.errors import CheckpointError
from contend.langgraph_compat import (
    StoreFailed,
    add_node,
    add_routes,
    as_subclass,
    stopping_if_store_fails,
    without_handlers,
)


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
    graph.add_node("fail", fail, error_handler=handle)
    graph.add_edge(START, "fail")
    return graph


async def test_an_error_handler_is_not_called_where_a_store_failed() -> None:
    assert await graph_that_raises(ValueError("odd")).compile().ainvoke({}) == {"seen": "odd"}
    with pytest.raises(StoreFailed, match="disk full"):
        await graph_that_raises(CheckpointError("disk full")).compile().ainvoke({})


def test_a_drawing_shows_no_handler_and_each_edge_to_the_end() -> None:
    async def fail(_: State) -> State:
        return {}

    async def handle(_: State, error: NodeError) -> Command[Any]:
        return Command(update={"seen": str(error.error)})

    graph: StateGraph[State, None, State, State] = StateGraph(State)
    add_node(graph, "fail", fail, handle)
    graph.add_edge(START, "fail")
    graph.add_edge("fail", END)
    drawn = graph.compile().get_graph()
    handlers = [name for name in drawn.nodes if "__error_handler__" in name]

    drawing = without_handlers(drawn)

    assert handlers == ["__error_handler__fail"]
    assert [*drawing.nodes] == [START, "fail", END]
    assert {(edge.source, edge.target) for edge in drawing.edges} == {(START, "fail"), ("fail", END)}


async def test_a_router_names_nodes_and_its_drawing_says_when() -> None:
    async def route(state: State) -> Literal["keep", "__end__"] | list[Send]:
        return [Send("keep", {"seen": "sent"})] if state["seen"] == "send" else "keep" if state["seen"] == "go" else END

    async def keep(state: State) -> State:
        return {"seen": f"kept {state['seen']}"}

    graph: StateGraph[State, None, State, State] = StateGraph(State)
    add_node(graph, "keep", keep)
    add_routes(graph, START, route, {"keep": "worth it", END: "done"})
    compiled = graph.compile()

    seen = [(await compiled.ainvoke({"seen": word}))["seen"] for word in ("go", "send", "stop")]
    assert seen == ["kept go", "kept sent", "stop"]
    edges = {(edge.target, edge.data) for edge in compiled.get_graph().edges if edge.conditional}
    assert edges == {("keep", "worth it"), (END, "done")}


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
    looked_through.add_node("fail", fail, error_handler=handle)
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
