"""The learning graph: reflect → curate → (approve_delta) → apply_delta."""

from typing import Literal

from langgraph.graph import END, START, StateGraph

from contend.langgraph_compat import add_node, add_routes
from contend.learning.nodes import LearnNodes
from contend.learning.state import LearningState, LearnInput, LearnOutput

LearnGraph = StateGraph[LearningState, None, LearnInput, LearnOutput]


def build_learn_graph(nodes: LearnNodes) -> LearnGraph:
    """The graph, not compiled: its parent or its server brings the checkpointer."""
    graph: LearnGraph = StateGraph(LearningState, input_schema=LearnInput, output_schema=LearnOutput)
    add_node(graph, "reflect", nodes.reflect)
    add_node(graph, "curate", nodes.curate)
    add_node(graph, "approve_delta", nodes.approve_delta)
    add_node(graph, "apply_delta", nodes.apply_delta)
    graph.add_edge(START, "reflect")
    graph.add_edge("reflect", "curate")
    add_routes(graph, "curate", route_to_approval, ["approve_delta", "apply_delta"])
    add_routes(graph, "approve_delta", route_to_approval, ["approve_delta", "apply_delta"])
    graph.add_edge("apply_delta", END)
    return graph


async def route_to_approval(state: LearningState) -> Literal["approve_delta", "apply_delta"]:
    """To a person, where one wants to see the delta and there is one; an answer takes the wish away."""
    return "approve_delta" if state.get("approve") and state["delta"] else "apply_delta"
