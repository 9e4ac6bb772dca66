"""The research graph.

(open_run → (quote → end)) → supervise → (approve_plan) → Send × queries → search → collect
→ (Send × pages → read_page → collect) → (choose → (search)) → write, or Send × sections → write_section → summarize
→ (review) → supervise, or end.
"""

import json
from dataclasses import dataclass
from functools import partial
from typing import Literal
from uuid import uuid4

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from contend.errors import InputError
from contend.langgraph_compat import add_node, add_routes
from contend.models.options import DEPTHS, ResearchOptions, ResolvedOptions, RunOptions, TeamConfig
from contend.models.record import Record
from contend.preflight import (
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
from contend.research.ask import max_iterations, profile, queries_of, search_task, team_of, working_sources
from contend.research.evidence import pages_to_read, pool_of
from contend.research.full import outline_of, writes_by_section
from contend.research.nodes import ResearchNodes
from contend.research.searching import SearchNode
from contend.research.state import (
    FRESH,
    PageTask,
    ResearchInput,
    ResearchOutput,
    ResearchState,
    ResearchUpdate,
    SearchTask,
    SectionTask,
)
from contend.research.writing import WritingNodes
from contend.services import Services

ResearchGraph = StateGraph[ResearchState, Record, ResearchInput, ResearchOutput]


HITS, HITS_COMPACT = 20, 8
"""So many hits of each query are gathered: a model that chooses among them reads widely first."""

_OF_A_SECTION = (
    "theme", "options", "team", "execution_id", "round_number", "brief", "bullets", "task_plan", "passages",
    "iteration_count", "calls", "clock",
)  # fmt: skip
"""What a section's writer needs of the state."""


@dataclass(frozen=True)
class ResearchRoutes:
    """Where the research goes next: the supervisor's word, and a search for each query and source."""

    services: Services

    async def route_at_start(self, state: ResearchState) -> Literal["open_run", "supervise"]:
        """To its opening, where nobody has settled options for it: each new question on its thread, too."""
        return "open_run" if is_alone(state) else "supervise"

    async def route_after_opening(self, state: ResearchState) -> Literal["supervise", "find_passages"]:
        """Alone, where no language model is set, the research is a search."""
        return "supervise" if team_kind(team_of(state).kind).may_win else "find_passages"

    async def route_after_supervise(
        self, state: ResearchState
    ) -> list[Send] | Literal["approve_plan", "collect", "write", "review", "__end__"]:
        if state.get("human_input_required"):
            return "approve_plan"
        match state["next_action"]:
            case "research":
                # A router that returns no Send at all ends the graph silently.
                return await self._searches(state) or "collect"
            case "write" | "review" as step:
                return step
            case _:
                return "__end__"

    async def route_after_approval(
        self, state: ResearchState
    ) -> list[Send] | Literal["approve_plan", "supervise", "collect"]:
        if state.get("human_input_required"):
            return "approve_plan"
        return await self._searches(state) or "collect" if state.get("task_plan") else "supervise"

    async def route_after_collect(self, state: ResearchState) -> list[Send] | Literal["choose", "write", "supervise"]:
        """Pages first, then the choice among what is too much; a finished draft for which nothing new came is done."""
        if pages := pages_to_read(state):
            return [Send("read_page", task) for task in pages]
        if state.get("to_choose"):
            return "choose"
        is_done = state.get("accepted") or state.get("feedback") is None
        return "supervise" if state.get("nothing_new") and is_done else await self._writers(state)

    async def route_after_choose(self, state: ResearchState) -> list[Send] | Literal["write"]:
        """What no passage answers is searched for at once, and what comes of it chosen among."""
        searches = await self._searches(state) if state.get("more_queries") else []
        return searches or await self._writers(state)

    async def route_after_write(self, state: ResearchState) -> Literal["review", "supervise"]:
        """The last draft is handed in whatever a reviewer says of it: nobody is asked."""
        last = state.get("open_searched") or state["iteration_count"] >= max_iterations(state)
        return "supervise" if last else "review"

    async def _writers(self, state: ResearchState) -> list[Send] | Literal["write"]:
        """One writer, or one for each section of a long report that is begun."""
        if profile(state).compact or not writes_by_section(state):
            return "write"
        sections = range(1, len(outline_of(state)) + 1)
        part = {key: value for key, value in state.items() if key in _OF_A_SECTION}
        document = await (await self.services.run(state)).documents.put(json.dumps(part, ensure_ascii=False))
        task = SectionTask(number=0, execution_id=state["execution_id"], research=document)
        return [Send("write_section", {**task, "number": number}) for number in sections]

    async def _searches(self, state: ResearchState) -> list[Send]:
        sources = await working_sources(self.services, state)
        # The question as it stands is a query for own documents only: other services take key words.
        limit = HITS_COMPACT if profile(state).compact else HITS
        # What a query gave stays in the pool: it is not searched for again.
        past = (await pool_of(self.services, state))["searches"]
        keywords = [*(state.get("more_queries") or []), *(state["task_plan"] or {})["search_queries"]]
        pairs = [
            (query, source)
            for query in queries_of(state)
            for source in sources
            if (query in keywords or source == "local") and query not in past
        ]
        return [Send("search", search_task(state, query, source, limit=limit)) for query, source in pairs]


@dataclass(frozen=True)
class ResearchAlone:
    """How a research without a team begins, and how it fails."""

    services: Services

    async def open_run(self, state: ResearchState, runtime: Runtime[Record]) -> ResearchUpdate:
        """Theme, options and a plain team."""
        opening = await open_question(self.services, state, runtime.context)
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
            **opening_update(state, opening, execution_id),
            "team": team.model_dump(mode="json"),
            "round_number": 1,
            "brief": "",
            "bullets": [],
            "history": [],
            "best_submission": None,
            "clock": None,
        }

    async def fail(self, state: ResearchState, error: NodeError) -> Command[Literal["__end__"]]:
        """A failure is told in the chat. A team hears the error itself."""
        problem = problem_alone(state, error)
        self.services.close_run(state["execution_id"])
        return Command(update={"next_action": "end", "messages": [answer(state, problem)]}, goto="__end__")


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
    graph: ResearchGraph = StateGraph(
        ResearchState, context_schema=ResearchOptions, input_schema=ResearchInput, output_schema=ResearchOutput
    )
    add_node(graph, "open_run", alone.open_run, partial(refuse, fresh=FRESH))
    add_node(graph, "find_passages", searching.find_passages, alone.fail)
    add_node(graph, "supervise", nodes.supervise, alone.fail)
    add_node(graph, "approve_plan", nodes.approve_plan)
    add_node(graph, "search", nodes.search, nodes.turn_off, task=SearchTask)
    add_node(graph, "collect", nodes.collect, alone.fail)
    add_node(graph, "read_page", nodes.read_page, nodes.leave_unread, task=PageTask)
    add_node(graph, "choose", nodes.choose, alone.fail)
    add_node(graph, "write", writing.write, alone.fail)
    add_node(graph, "write_section", writing.write_section, writing.leave_unwritten, task=SectionTask)
    add_node(graph, "summarize", writing.summarize, alone.fail)
    add_node(graph, "review", writing.review, alone.fail)
    add_routes(graph, START, routes.route_at_start, {"open_run": "alone", "supervise": "in a team"})
    add_routes(graph, "open_run", routes.route_after_opening, {"supervise": "models", "quote": "no model"})
    graph.add_edge("quote", END)
    by_plan = {"search": "each query", "collect": "nothing to search"}
    by_supervisor = {
        "approve_plan": "a person approves",
        "write": "ready to write",
        "review": "ready to review",
        END: "done",
    }
    add_routes(graph, "supervise", routes.route_after_supervise, {**by_plan, **by_supervisor})
    by_person = {"approve_plan": "asked again", "supervise": "a new plan"}
    add_routes(graph, "approve_plan", routes.route_after_approval, {**by_plan, **by_person})
    graph.add_edge("search", "collect")
    writers = {"write": "one writer", "write_section": "each section"}
    on_evidence = {"read_page": "each page", "choose": "too much to read", "supervise": "nothing new"}
    add_routes(graph, "collect", routes.route_after_collect, {**on_evidence, **writers})
    add_routes(graph, "choose", routes.route_after_choose, {"search": "each new query", **writers})
    graph.add_edge("write_section", "summarize")
    after_draft = {"review": "a draft", "supervise": "the last draft"}
    add_routes(graph, "summarize", routes.route_after_write, after_draft)
    graph.add_edge("read_page", "collect")
    add_routes(graph, "write", routes.route_after_write, after_draft)
    graph.add_edge("review", "supervise")
    return graph
