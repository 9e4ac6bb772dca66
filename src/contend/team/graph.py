"""The team graph.

(open_run → set_criteria) → brief → the graph of the team's kind → submit → Send × metrics → score_metric → evaluate
→ judge → brief, or (finish_run) end.
"""

from langgraph.graph import END, START, StateGraph

from contend.langgraph_compat import fails_to, without_graphs
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
    nodes, alone = without_graphs(TeamNodes(services)), without_graphs(TeamAlone(services))
    graph: TeamGraph = StateGraph(TeamState, context_schema=TeamOptions, input_schema=TeamInput)
    graph.add_node("open_run", alone.open_run, error_handler=alone.refuse, destinations=fails_to("open_run"))
    graph.add_node("set_criteria", alone.set_criteria)
    graph.add_node("brief", nodes.brief, error_handler=alone.fail, destinations=fails_to("brief", "finish_run"))
    for kind in kind_names():
        graph.add_node(
            kind,
            team_kind(kind).build_graph(services).compile(),
            error_handler=nodes.research_failed,
            destinations=fails_to(kind),
        )
        graph.add_edge(kind, "submit")
    graph.add_node("submit", nodes.submit)
    graph.add_node(
        "score_metric",
        nodes.score_metric,  # type: ignore[arg-type]  # handlers take a NodeError
        input_schema=MetricTask,
        error_handler=nodes.unscored,
        destinations=fails_to("score_metric"),
    )
    graph.add_node("evaluate", nodes.evaluate)
    graph.add_node(
        "judge",
        nodes.judge,
        error_handler=nodes.judge_failed,
        destinations=fails_to("judge", "brief", "finish_run", END),
    )
    graph.add_node("finish_run", alone.finish_run)
    graph.add_conditional_edges(START, route_at_start, ["open_run", "brief"])
    graph.add_edge("open_run", "set_criteria")
    graph.add_edge("set_criteria", "brief")
    graph.add_conditional_edges("brief", route_to_kind, kind_names())
    graph.add_conditional_edges("submit", TeamNodes(services).route_to_metrics, ["score_metric", "evaluate"])
    graph.add_edge("score_metric", "evaluate")
    graph.add_conditional_edges("evaluate", route_after_evaluate, ["brief", "judge", "finish_run", "__end__"])
    return graph
