"""The team graph.

(open_run → set_criteria) → brief → the graph of the team's kind → submit → Send × metrics → score_metric → evaluate
→ judge → brief, or (finish_run) end.
"""

from langgraph.graph import END, START, StateGraph

from contend.langgraph_compat import add_node, fails_to
from contend.models.options import TeamOptions
from contend.models.record import Record
from contend.services import Services
from contend.team.alone import TeamAlone, route_at_start
from contend.team.nodes import TeamNodes, route_after_evaluate, route_to_kind
from contend.team.state import MetricTask, TeamInput, TeamState
from contend.team_kinds import kind_names, team_kind

TeamGraph = StateGraph[TeamState, Record, TeamInput, TeamState]


def build_team_graph(services: Services) -> TeamGraph:
    """One team, not compiled: its parent or its server brings the checkpointer."""
    nodes, alone = TeamNodes(services), TeamAlone(services)
    graph: TeamGraph = StateGraph(TeamState, context_schema=TeamOptions, input_schema=TeamInput)
    add_node(graph, "open_run", alone.open_run, alone.refuse)
    add_node(graph, "set_criteria", alone.set_criteria)
    add_node(graph, "brief", nodes.brief, alone.fail, goes_to=["finish_run"])
    for kind in kind_names():
        graph.add_node(
            kind,
            team_kind(kind).build_graph(services).compile(),
            error_handler=nodes.research_failed,
            destinations=fails_to(kind),
        )
        graph.add_edge(kind, "submit")
    add_node(graph, "submit", nodes.submit)
    add_node(graph, "score_metric", nodes.score_metric, nodes.unscored, task=MetricTask)
    add_node(graph, "evaluate", nodes.evaluate)
    add_node(graph, "judge", nodes.judge, nodes.judge_failed, goes_to=["brief", "finish_run", END])
    add_node(graph, "finish_run", alone.finish_run)
    graph.add_conditional_edges(START, route_at_start, ["open_run", "brief"])
    graph.add_edge("open_run", "set_criteria")
    graph.add_edge("set_criteria", "brief")
    graph.add_conditional_edges("brief", route_to_kind, kind_names())
    graph.add_conditional_edges("submit", nodes.route_to_metrics, ["score_metric", "evaluate"])
    graph.add_edge("score_metric", "evaluate")
    graph.add_conditional_edges("evaluate", route_after_evaluate, ["brief", "judge", "finish_run", "__end__"])
    return graph
