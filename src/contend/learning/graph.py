"""The learning graph: reflect, curate, apply."""

from langgraph.graph import END, START, StateGraph

from contend.learning.nodes import LearnNodes
from contend.learning.state import LearningState, LearnInput, LearnOutput

LearnGraph = StateGraph[LearningState, None, LearnInput, LearnOutput]


def build_learn_graph(nodes: LearnNodes) -> LearnGraph:
    """The graph, not compiled. What a person has to approve goes between `curate` and `apply_delta`."""
    graph: LearnGraph = StateGraph(LearningState, input_schema=LearnInput, output_schema=LearnOutput)
    graph.add_node("reflect", nodes.reflect)
    graph.add_node("curate", nodes.curate)
    graph.add_node("apply_delta", nodes.apply_delta)
    graph.add_edge(START, "reflect")
    graph.add_edge("reflect", "curate")
    graph.add_edge("curate", "apply_delta")
    graph.add_edge("apply_delta", END)
    return graph
