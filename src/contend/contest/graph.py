"""The contest graph.

open_run → set_criteria → Send × teams → team → find_near_ties →
(synthesize → Send × metrics → score_merged, Send × orders → compare_merged → choose_report) →
(Send × pairs → compare_pair) → pick_winner → (approve_report) → publish → learn → finish_run.
"""

from langgraph.graph import END, START, StateGraph

from contend.contest.closing import (
    ClosingNodes,
    route_after_approval,
    route_after_choice,
    route_after_pick,
    route_after_publish,
)
from contend.contest.comparing import CompareTask, ComparingNodes
from contend.contest.editing import EditingNodes
from contend.contest.learning import LearnNode
from contend.contest.opening import OpeningNode, route_to_teams
from contend.contest.state import ContestInput, ContestOutput, ContestState, ContestUpdate
from contend.contest.teams import Teams
from contend.langgraph_compat import add_node, fails_to, stopping_if_checkpoint_lost
from contend.learning.graph import build_learn_graph
from contend.models.options import RunOptions
from contend.services import Services
from contend.team.graph import build_team_graph
from contend.team.state import MetricTask, TeamInput

ContestGraph = StateGraph[ContestState, RunOptions, ContestInput, ContestOutput]


def build_contest_graph(services: Services) -> ContestGraph:
    """The whole contest, not compiled: the entry point that opens it brings the checkpointer.

    Teams and learning run inside node functions: a slot, a deadline and the mapping of states stand around them there.
    """
    team_graph = build_team_graph(services).compile()
    learn_graph = build_learn_graph(services.learn_nodes).compile()

    teams, learning = Teams(services), LearnNode(services)
    opening, editing = OpeningNode(services), EditingNodes(services)
    comparing, closing = ComparingNodes(services), ClosingNodes(services)

    # Closures over the compiled graphs: so Studio finds the parts and draws them.
    async def team(state: TeamInput) -> ContestUpdate:
        with stopping_if_checkpoint_lost():
            return await teams.team(state, team_graph)

    async def learn(state: ContestState) -> ContestUpdate:
        with stopping_if_checkpoint_lost():
            return await learning.learn(state, learn_graph)

    graph: ContestGraph = StateGraph(
        ContestState, context_schema=RunOptions, input_schema=ContestInput, output_schema=ContestOutput
    )
    graph.add_node("team", team, input_schema=TeamInput, error_handler=teams.forfeit, destinations=fails_to("team"))
    graph.add_node("learn", learn, error_handler=closing.learning_failed, destinations=fails_to("learn"))
    add_node(graph, "open_run", opening.open_run, opening.refuse)
    add_node(graph, "set_criteria", opening.set_criteria)
    add_node(graph, "find_near_ties", comparing.find_near_ties)
    add_node(graph, "compare_pair", comparing.compare_pair, comparing.not_compared, task=CompareTask)
    add_node(graph, "pick_winner", closing.pick_winner)
    add_node(graph, "synthesize", editing.synthesize, editing.not_merged)
    add_node(graph, "score_merged", editing.score_merged, editing.merged_unscored, task=MetricTask)
    add_node(graph, "compare_merged", editing.compare_merged, editing.merged_not_compared, task=CompareTask)
    add_node(graph, "choose_report", editing.choose_report)
    add_node(graph, "approve_report", closing.approve_report)
    add_node(graph, "publish", closing.publish)
    add_node(graph, "finish_run", closing.finish_run)
    graph.add_edge(START, "open_run")
    graph.add_edge("open_run", "set_criteria")
    graph.add_conditional_edges("set_criteria", route_to_teams, ["team"])
    graph.add_edge("team", "find_near_ties")
    graph.add_conditional_edges(
        "find_near_ties", closing.route_after_near_ties, ["synthesize", "compare_pair", "pick_winner"]
    )
    graph.add_conditional_edges(
        "synthesize", editing.route_to_judges, ["score_merged", "compare_merged", "choose_report"]
    )
    graph.add_edge("score_merged", "choose_report")
    graph.add_edge("compare_merged", "choose_report")
    graph.add_conditional_edges("choose_report", route_after_choice, ["compare_pair", "pick_winner"])
    graph.add_edge("compare_pair", "pick_winner")
    graph.add_conditional_edges("pick_winner", route_after_pick, ["approve_report", "publish", "finish_run"])
    graph.add_conditional_edges("approve_report", route_after_approval, ["approve_report", "publish", "finish_run"])
    graph.add_conditional_edges("publish", route_after_publish, ["learn", "finish_run"])
    graph.add_edge("learn", "finish_run")
    graph.add_edge("finish_run", END)
    return graph
