"""The team graph: brief → research → submit → Send × metrics → score_metric → evaluate → judge → brief, or end."""

from langgraph.graph import END, START, StateGraph

from contend.drawing import fails_to
from contend.models.options import RunOptions
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.team.nodes import TeamNodes, route_after_evaluate, route_to_metrics
from contend.team.state import MetricTask, TeamInput, TeamState

TeamGraph = StateGraph[TeamState, RunOptions, TeamInput, TeamState]


def build_team_graph(services: Services) -> TeamGraph:
    """One team, not compiled: its parent or its server brings the checkpointer."""
    nodes = TeamNodes(services)
    graph: TeamGraph = StateGraph(TeamState, context_schema=RunOptions, input_schema=TeamInput)
    graph.add_node("brief", nodes.brief)
    graph.add_node(
        "research",
        build_research_graph(services).compile(),
        error_handler=nodes.research_failed,
        destinations=fails_to("research"),
    )
    graph.add_node("submit", nodes.submit)
    graph.add_node(
        "score_metric",
        nodes.score_metric,  # type: ignore[arg-type]  # handlers take a NodeError
        input_schema=MetricTask,
        error_handler=nodes.unscored,
        destinations=fails_to("score_metric"),
    )
    graph.add_node("evaluate", nodes.evaluate)
    graph.add_node("judge", nodes.judge, error_handler=nodes.judge_failed, destinations=fails_to("judge", "brief", END))
    graph.add_edge(START, "brief")
    graph.add_edge("brief", "research")
    graph.add_edge("research", "submit")
    graph.add_conditional_edges("submit", route_to_metrics, ["score_metric"])
    graph.add_edge("score_metric", "evaluate")
    graph.add_conditional_edges("evaluate", route_after_evaluate, ["brief", "judge", "__end__"])
    return graph
