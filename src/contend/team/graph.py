"""The team graph.

(open_run → set_criteria) → brief → the graph of the team's kind → submit → Send × metrics → score_metric → evaluate
→ judge → brief, or (finish_run) end.
"""

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from contend.langgraph_compat import add_node, add_routes, fails_to
from contend.models.options import TeamOptions
from contend.models.record import Record
from contend.models.round import best_round
from contend.preflight import answer, is_alone, open_question, opened, refuse
from contend.registry import kind_names, team_kind
from contend.run_context import identity
from contend.services import Services
from contend.team.judging import make_criteria
from contend.team.metrics import MeasuringNodes
from contend.team.nodes import TeamNodes, route_after_evaluate, route_to_kind
from contend.team.rounds import TeamView
from contend.team.state import MetricTask, TeamInput, TeamState, TeamUpdate

FRESH: TeamUpdate = {
    "bullets": [], "criteria": [], "earlier": "", "round_number": 0, "rounds": [], "pool": None,
    "best_submission": None, "submission": None, "decision": {}, "retries": 0, "problem": "", "clock": None,
}  # fmt: skip
"""A further question on a thread is a run of its own: nothing of the one before stays."""


@dataclass(frozen=True)
class TeamAlone:
    """The first and the last node of a team opened on its own: what a contest would have brought and closed."""

    services: Services

    async def open_run(self, state: TeamState, runtime: Runtime[Record]) -> TeamUpdate:
        """Theme, options and the first team that may enter."""
        opening = await open_question(self.services, state, runtime.context)
        team, (execution_id, thread_id) = opening.teams[0], identity(runtime)
        run = self.services.open_run(execution_id, opening.options)
        await run.enter([team], theme=opening.theme, thread_id=thread_id)
        return {**FRESH, **opened(state, opening, execution_id), "team": team.model_dump(mode="json")}

    async def set_criteria(self, state: TeamState) -> TeamUpdate:
        """What a report on this question has to do: judges alone read it."""
        criteria = await make_criteria(self.services, await self.services.run(state), theme=state["theme"])
        return {"criteria": criteria.plain()}

    async def refuse(self, state: TeamState, error: NodeError) -> Command[Literal["__end__"]]:
        return refuse(state, error, FRESH)

    async def finish_run(self, state: TeamState) -> TeamUpdate:
        """The run's one message: the best report, or why there is none. Said again, it takes its own place."""
        view, problem = await TeamView.of(self.services, state), state["problem"]
        best = best_round(view.rounds)
        report = (await self.services.require_submission(best.submission)).content if best else ""
        await view.record_end(best, problem)
        text = "\n\n".join(filter(None, [report, problem]))
        self.services.close_run(state["execution_id"])
        return {"messages": [answer(state, text)]}


async def route_at_start(state: TeamState) -> Literal["open_run", "brief"]:
    """To its opening, where nobody has settled options for it: each new question on its thread, too."""
    return "open_run" if is_alone(state) else "brief"


TeamGraph = StateGraph[TeamState, Record, TeamInput, TeamState]


def build_team_graph(services: Services) -> TeamGraph:
    """One team, not compiled: its parent or its server brings the checkpointer."""
    nodes, alone = TeamNodes(services), TeamAlone(services)
    metrics = MeasuringNodes(services, key="scores", join="evaluate")
    graph: TeamGraph = StateGraph(TeamState, context_schema=TeamOptions, input_schema=TeamInput)
    add_node(graph, "open_run", alone.open_run, alone.refuse)
    add_node(graph, "set_criteria", alone.set_criteria)
    add_node(graph, "brief", nodes.brief, nodes.fail, goes_to=["finish_run"])
    research_failed: Any = nodes.research_failed  # LangGraph's types know no error handlers
    for kind in kind_names():
        graph.add_node(
            kind,
            team_kind(kind).build_graph(services).compile(),
            error_handler=research_failed,
            destinations=fails_to(kind),
        )
        graph.add_edge(kind, "submit")
    add_node(graph, "submit", nodes.submit)
    add_node(graph, "score_metric", metrics.score, metrics.not_scored, task=MetricTask)
    add_node(graph, "evaluate", nodes.evaluate)
    add_node(graph, "judge", nodes.judge, nodes.judge_failed, goes_to=["brief", "finish_run", END])
    add_node(graph, "finish_run", alone.finish_run)
    add_routes(graph, START, route_at_start, ["open_run", "brief"])
    graph.add_edge("open_run", "set_criteria")
    graph.add_edge("set_criteria", "brief")
    add_routes(graph, "brief", route_to_kind, kind_names())
    add_routes(graph, "submit", nodes.route_to_metrics, ["score_metric", "evaluate"])
    graph.add_edge("score_metric", "evaluate")
    add_routes(graph, "evaluate", route_after_evaluate, ["brief", "judge", "finish_run", "__end__"])
    return graph
