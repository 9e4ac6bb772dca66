"""The research graph.

(open_run → set_parts, or find_passages → end) → supervise → (approve_plan) → Send × actions → search, find, read →
collect → supervise … → screen → write → (Send × actions) → supervise → review → (Send × actions → collect → review)
→ supervise, which has it written again or ends the round.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal
from uuid import uuid4

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from contend.criteria import ask_parts
from contend.errors import InputError
from contend.evidence import ActionTask
from contend.langgraph_compat import add_node, add_routes
from contend.models.options import DEPTHS, ResearchOptions, ResolvedOptions, RunOptions, TeamConfig
from contend.models.record import Record
from contend.preflight import (
    ChatQuestion,
    answer,
    check_steps,
    is_alone,
    open_question,
    opening_update,
    problem_alone,
    refuse,
    steps_alone,
)
from contend.registry import team_kind
from contend.research.looking import ActionNodes
from contend.research.nodes import ResearchNodes
from contend.research.searching import SearchNode
from contend.research.state import FRESH, ResearchInput, ResearchOutput, ResearchState, ResearchUpdate
from contend.research.work import action_tasks, open_research
from contend.research.writing import WritingNodes
from contend.services import Services

ResearchGraph = StateGraph[ResearchState, Record, ResearchInput, ResearchOutput]


@dataclass(frozen=True)
class ResearchRoutes:
    """Where the research goes next: the supervisor's word, and a node for each action."""

    services: Services

    async def route_at_start(self, state: ResearchState) -> Literal["open_run", "supervise"]:
        """To its opening, where nobody has settled options for it: each new question on its thread, too."""
        return "open_run" if is_alone(state) else "supervise"

    async def route_after_opening(self, state: ResearchState) -> Literal["set_parts", "find_passages"]:
        """Alone, where no language model is set, the research is a search."""
        return "set_parts" if team_kind(state["team"]["kind"]).may_win else "find_passages"

    async def route_after_supervise(
        self, state: ResearchState
    ) -> list[Send] | Literal["approve_plan", "collect", "screen", "review", "__end__"]:
        if state.get("human_input_required"):
            return "approve_plan"
        match state["next_action"]:
            case "research":
                # A router that returns no Send at all ends the graph silently.
                return await self._actions(state) or "collect"
            case "write":
                return "screen"
            case "review":
                return "review"
            case _:
                return "__end__"

    async def route_after_approval(self, state: ResearchState) -> list[Send] | Literal["approve_plan", "supervise"]:
        if state.get("human_input_required"):
            return "approve_plan"
        return await self._actions(state) or "supervise"

    async def route_after_collect(self, state: ResearchState) -> Literal["supervise", "review"]:
        """Return to the step that asked for it."""
        return "review" if state.get("looks") else "supervise"

    async def route_after_writing(self, state: ResearchState) -> list[Send] | Literal["mend", "supervise"]:
        """First what code has refuted is mended, once a draft."""
        if state.get("marks") and state.get("mended", 0) < state["iteration_count"]:
            return "mend"
        return await self.route_to_actions(state)

    async def route_to_actions(self, state: ResearchState) -> list[Send] | Literal["supervise"]:
        """Send the actions that a draft or review asks for; otherwise continue."""
        return await self._actions(state) or "supervise"

    async def _actions(self, state: ResearchState) -> list[Send]:
        actions = state.get("actions", [])
        if not actions:
            return []
        work = await open_research(self.services, state)
        return [Send(task["action"]["kind"], task) for task in action_tasks(work, actions)]


@dataclass(frozen=True)
class ResearchAlone:
    """How a research without a team begins, and how it fails."""

    services: Services

    async def open_run(self, state: ResearchState, runtime: Runtime[Record]) -> ResearchUpdate:
        """Theme, options and a plain team."""
        question = ChatQuestion.of(state)
        opening = await open_question(self.services, question, runtime.context)
        check_steps(steps_alone(opening.options))
        if not opening.options.sources:
            raise InputError("sources: none is on; give documents, or see `contend doctor`")
        loops = _loops(opening.request, opening.options)
        team = TeamConfig(team_id="research", name="Research", sources=opening.options.sources, max_iterations=loops)
        if not team_kind(opening.teams[0].kind).may_win:
            team = opening.teams[0]
        execution_id = str(uuid4())
        await self.services.open_run(execution_id, opening.options).keep_options()
        return {
            **FRESH,
            **opening_update(question, opening, execution_id),
            "team": team.model_dump(mode="json"),
            "round_number": 1,
            "brief": "",
            "bullets": [],
            "history": [],
            "best_submission": None,
            "clock": None,
        }

    async def set_parts(self, state: ResearchState) -> ResearchUpdate:
        """What the question asks for, part by part. In a contest it is asked once for all teams."""
        return {"parts": await ask_parts(await self.services.run(state), question=state["theme"])}

    async def fail(self, state: ResearchState, error: NodeError) -> Command[Literal["__end__"]]:
        """A failure is told in the chat. A team hears the error itself."""
        problem, execution_id = problem_alone(state, error), state["execution_id"]
        self.services.close_run(execution_id)
        return Command(update={"next_action": "end", "messages": [answer(execution_id, problem)]}, goto="__end__")


def _loops(own: RunOptions, options: ResolvedOptions) -> int | None:
    """As many loops as a quick run, where nobody set a number: no judge reads what it writes, so a reviewer does."""
    left_to_depth = own.max_iterations is None and options.max_iterations == DEPTHS[options.depth].max_iterations
    return DEPTHS["quick"].max_iterations if left_to_depth else None


class ResearchTeam:
    """A team of supervisor, researcher, writer and reviewer, played by language models."""

    may_win = True
    max_rounds = None

    def build_graph(self, services: Services) -> ResearchGraph:
        return build_research_graph(services)


def build_research_graph(services: Services) -> ResearchGraph:
    """One round's research, not compiled: its parent or its server brings the checkpointer."""
    nodes, writing, searching = ResearchNodes(services), WritingNodes(services), SearchNode(services)
    alone, routes = ResearchAlone(services), ResearchRoutes(services)
    acting = ActionNodes(services, key="brought", join="collect")
    graph: ResearchGraph = StateGraph(
        ResearchState, context_schema=ResearchOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    add_node(graph, "open_run", alone.open_run, partial(refuse, fresh=FRESH))
    add_node(graph, "set_parts", alone.set_parts, alone.fail)
    add_node(graph, "find_passages", searching.find_passages, alone.fail)
    add_node(graph, "supervise", nodes.supervise, alone.fail)
    add_node(graph, "approve_plan", nodes.approve_plan)
    add_node(graph, "search", acting.search, acting.turn_off, task=ActionTask)
    add_node(graph, "find", acting.find, acting.turn_off, task=ActionTask)
    add_node(graph, "read", acting.read, acting.turn_off, task=ActionTask)
    add_node(graph, "collect", nodes.collect, alone.fail)
    add_node(graph, "screen", nodes.screen, alone.fail)
    add_node(graph, "write", writing.write, alone.fail)
    add_node(graph, "mend", writing.mend, alone.fail)
    add_node(graph, "review", writing.review, alone.fail)
    add_routes(graph, START, routes.route_at_start, {"open_run": "alone", "supervise": "in a team"})
    add_routes(graph, "open_run", routes.route_after_opening, {"set_parts": "models", "find_passages": "no model"})
    graph.add_edge("find_passages", END)
    graph.add_edge("set_parts", "supervise")
    actions = {"search": "each search", "find": "each find", "read": "each read"}
    by_supervisor = {
        "approve_plan": "a person approves",
        "collect": "nothing to do",
        "screen": "ready to write",
        "review": "ready to review",
        END: "done",
    }
    add_routes(graph, "supervise", routes.route_after_supervise, {**actions, **by_supervisor})
    by_person = {"approve_plan": "asked again", "supervise": "a new plan, or nothing to do"}
    add_routes(graph, "approve_plan", routes.route_after_approval, {**actions, **by_person})
    for action in actions:
        graph.add_edge(action, "collect")
    who = {"supervise": "the researcher's, or a draft's", "review": "the reviewer's"}
    add_routes(graph, "collect", routes.route_after_collect, who)
    graph.add_edge("screen", "write")
    no_action = {"supervise": "nothing to look up"}
    add_routes(graph, "write", routes.route_after_writing, {**actions, "mend": "code refutes something", **no_action})
    add_routes(graph, "mend", routes.route_to_actions, {**actions, **no_action})
    add_routes(graph, "review", routes.route_to_actions, {**actions, "supervise": "reviewed"})
    return graph
