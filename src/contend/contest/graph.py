"""The contest graph, and its first nodes, where all that can be refused is refused.

open_run → set_criteria → Send × teams → team → find_near_ties, or choose_step (→ Send × teams → team → choose_step) →
(synthesize → (Send × actions → look_up → collect_looks → synthesize) →
Send × metrics → score_merged, Send × orders → compare_merged → choose_report) →
(Send × pairs → compare_pair) → pick_winner → (approve_report → (revise_report → approve_report)) →
publish → learn → finish_run.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from contend.contest.closing import (
    ClosingNodes,
    route_after_approval,
    route_after_pick,
    route_after_publish,
)
from contend.contest.comparing import CompareTask, ComparingNodes
from contend.contest.editing import EditingNodes
from contend.contest.reviewing import ReviewingNodes
from contend.contest.revising import RevisingNodes
from contend.contest.state import ContestInput, ContestOutput, ContestState, ContestUpdate
from contend.contest.stepping import SteppingNodes, route_after_team, route_to_teams
from contend.contest.subgraphs import SubgraphNodes
from contend.criteria import settle_criteria
from contend.errors import InputError
from contend.estimate import estimate_run
from contend.evidence import ActionTask, evidence_of_submission
from contend.langgraph_compat import add_node, add_routes, cause, stopping_if_store_fails
from contend.learning.graph import build_learn_graph
from contend.learning.selection import choose_holdout, select_bullets
from contend.models.evaluation import Submission
from contend.models.events import CriteriaSet, RunStarted
from contend.models.options import RunOptions
from contend.models.research import ResearchReport
from contend.models.task import OrchestratorTask
from contend.preflight import CONTEST_STEPS, ChatQuestion, Opening, check_steps, open_question, opening_update, refuse
from contend.research.looking import ActionNodes
from contend.research.state import EMPTY_LIST
from contend.run_context import RunContext, identity, thread_of
from contend.services import Services
from contend.team.graph import build_team_graph
from contend.team.metrics import MeasuringNodes
from contend.team.state import MetricTask, TeamInput
from contend.text import shorten, without_marks

EARLIER_CHARACTERS = 1200
"""What teams see of the thread's last report."""

_EVENT_OPTIONS = {
    "depth", "length", "language", "min_rounds", "max_rounds", "max_iterations", "synthesis", "learn", "approve",
    "dataset", "documents", "instructions", "criteria", "max_tokens", "max_usd", "max_minutes", "max_calls",
}  # fmt: skip
"""The options that those who follow a run are told."""

EMPTY: ContestUpdate = {
    "run_options": None, "parts": [], "inherited": None, "criteria": [], "criteria_failure": "", "outcomes": EMPTY_LIST,
    "steps": [], "near_ties": [], "comparisons": EMPTY_LIST, "pairwise": {}, "winner": None, "submission": None,
    "editing": None, "editor_actions": [], "editor_brought": EMPTY_LIST, "editor_looked": [], "editor_looks": 0,
    "editor_pool": None, "review_looks": 0, "merged_fixes": "",
    "merged_scores": EMPTY_LIST, "merged_comparisons": EMPTY_LIST, "problem": "", "notes": [], "lessons": None,
    "comment": "", "revision": "",
    "status": "running", "message": "", "report": None, "summary": None, "files": [],
}  # fmt: skip
"""A second message on a thread is a new run: nothing of the run before stays."""


@dataclass(frozen=True)
class OpeningNode:
    """Opens a run. All that can be refused is refused here, before anything is spent."""

    services: Services

    async def open_run(self, state: ContestState, runtime: Runtime[RunOptions]) -> ContestUpdate:
        # What an entry point was asked with, also in a process that goes on; a graph called by itself has its context.
        options = state.get("run_options")
        check_steps(CONTEST_STEPS)
        request = runtime.context if options is None else RunOptions.model_validate(options)
        question = ChatQuestion.of(state)
        opening = await open_question(self.services, question, request)
        if opening.options.approve and thread_of(runtime) is None:
            raise InputError(
                "approve: without a thread nothing is kept that an answer could go on with: give a thread id"
            )
        execution_id, thread_id = identity(runtime)
        await self._enter(opening, execution_id, thread_id)
        return {
            **EMPTY,
            **opening_update(question, opening, execution_id),
            "earlier": _earlier(state.get("report"), state.get("earlier", "")),
            "last_submission": state.get("submission") or state.get("last_submission"),
            "task": self._task(opening, execution_id),
            "fingerprint": opening.fingerprint,
            "teams": [team.model_dump(mode="json") for team in opening.teams],
            "warnings": opening.warnings,
            **await self._lessons(opening, execution_id),
        }

    async def set_criteria(self, state: ContestState) -> ContestUpdate:
        """What a report on this question has to do, settled before there is one: judges alone read it."""
        run = await self.services.run(state)
        outcome = await settle_criteria(run, question=state["theme"])
        self.services.tell(CriteriaSet(execution_id=run.execution_id, **outcome._asdict()))
        last = await self.services.submission(state.get("last_submission"))
        return {
            "parts": outcome.parts,
            **(await _inherited(run, last, state.get("earlier", "")) if last else {"inherited": None}),
            "criteria": outcome.plain(),
            "criteria_failure": outcome.failure,
        }

    async def refuse(self, state: ContestState, error: NodeError) -> Command[Literal["__end__"]]:
        """Bad input ends the run with its one line, where a server would only say that something went wrong."""
        message = str(cause(error))
        earlier = _earlier(state.get("report"), state.get("earlier", ""))
        end = {"execution_id": "", "status": "failed", "message": message, "earlier": earlier}
        return refuse(state, error, {**EMPTY, **end})

    def _task(self, opening: Opening, execution_id: str) -> dict[str, Any]:
        config = self.services.config
        # Teams that code brings stand behind those of files.
        files = dict(zip(config.teams, (reference.config for reference in config.orchestrator.teams), strict=False))
        task = OrchestratorTask(
            task_id=UUID(execution_id),
            user_prompt=opening.theme,
            team_configs=[files.get(team.team_id, Path(f"config/teams/{team.team_id}.toml")) for team in opening.teams],
            timeout_seconds=opening.options.timeout_per_team_seconds,
        )
        return task.model_dump(mode="json")

    async def _enter(self, opening: Opening, execution_id: str, thread_id: str) -> None:
        teams = opening.teams[:1] if opening.options.begins_with_one else opening.teams
        run = self.services.open_run(execution_id, opening.options)
        await run.enter(teams, theme=opening.theme, thread_id=thread_id)
        self.services.tell(
            RunStarted(
                execution_id=execution_id,
                thread_id=thread_id,
                theme=opening.theme,
                teams=[team.team_id for team in teams],
                sources=opening.options.sources,
                sources_off=opening.sources_off,
                models=opening.options.model_names,
                warnings=opening.warnings,
                options=opening.options.model_dump(mode="json", include=_EVENT_OPTIONS),
                calls=estimate_run(opening, self.services.config.models).calls,
            )
        )

    async def _lessons(self, opening: Opening, execution_id: str) -> ContestUpdate:
        """The lessons of the run, and which of them one team goes without."""
        options, playbooks = opening.options, self.services.playbooks
        playbook = await playbooks.load(options.dataset)
        if not (options.playbook and playbook.bullets):
            return {"bullets": [], "withheld": None}
        bullets = await asyncio.to_thread(select_bullets, playbook, opening.theme, tokens=options.lesson_tokens)
        holdout = (
            choose_holdout(
                bullets,
                [team.team_id for team in opening.teams],
                seed=execution_id,
                first=opening.teams[0].team_id if options.begins_with_one else "",
            )
            if options.learn
            else None
        )
        lessons = [
            {"id": bullet.id, "content": bullet.lesson, "quarantined": bullet.status == "quarantined"}
            for bullet in bullets
        ]
        return {"bullets": lessons, "withheld": holdout.model_dump() if holdout else None}


async def _inherited(run: RunContext, last: Submission, earlier: str) -> ContestUpdate:
    """What a follow-up question begins with: the last report's parts, and the passages behind it."""
    document = await run.documents.put(json.dumps(evidence_of_submission(last), ensure_ascii=False))
    parts = [f"- {part.text} ({part.state}) {part.missing}".rstrip() for part in last.parts]
    return {"inherited": document, "earlier": "\n".join([earlier, "", *parts]).strip()}


def _earlier(last_report: Mapping[str, Any] | None, before: str) -> str:
    """What the thread's last report said, without its marks: they number sources of that report."""
    if last_report is None:
        return before
    report = ResearchReport.model_validate(last_report)
    findings = [f"- {finding}" for finding in report.key_findings]
    text = "\n\n".join([report.theme, report.executive_summary, *findings])
    return shorten(without_marks(text), EARLIER_CHARACTERS)


_AFTER_TEAMS = {"synthesize": "reports to merge", "compare_pair": "each near tie", "pick_winner": "one is ahead"}
ContestGraph = StateGraph[ContestState, RunOptions, ContestInput, ContestOutput]


def build_contest_graph(services: Services) -> ContestGraph:
    """The whole contest, not compiled: the entry point that opens it brings the checkpointer."""
    team_graph = build_team_graph(services).compile(name="team")
    learn_graph = build_learn_graph(services.learn_nodes).compile(name="learn")

    opening, subgraphs = OpeningNode(services), SubgraphNodes(services)
    closing, comparing = ClosingNodes(services), ComparingNodes(services)
    editing, revising = EditingNodes(services), RevisingNodes(services)
    stepping = SteppingNodes(services, editing.route_after_near_ties)

    # Closures over the compiled graphs: so Studio finds the parts and draws them.
    async def team(state: TeamInput) -> ContestUpdate:
        with stopping_if_store_fails():
            return await subgraphs.team(state, team_graph)

    async def learn(state: ContestState) -> ContestUpdate:
        with stopping_if_store_fails():
            return await subgraphs.learn(state, learn_graph)

    graph: ContestGraph = StateGraph(
        ContestState, context_schema=RunOptions, input_schema=ContestInput, output_schema=ContestOutput
    )
    add_node(graph, "team", team, subgraphs.forfeit, task=TeamInput, runs_graph=True)
    add_node(graph, "learn", learn, subgraphs.go_on_without_learning, runs_graph=True)
    add_node(graph, "open_run", opening.open_run, opening.refuse)
    add_node(graph, "set_criteria", opening.set_criteria)
    add_node(graph, "find_near_ties", comparing.find_near_ties)
    add_node(graph, "choose_step", stepping.choose_step, goes_to={"team": "each further team", **_AFTER_TEAMS})
    add_node(graph, "compare_pair", comparing.compare, comparing.count_as_tie, task=CompareTask)
    add_node(graph, "pick_winner", closing.pick_winner)
    _add_editor(graph, services, editing)
    add_node(graph, "approve_report", closing.approve_report)
    add_node(graph, "revise_report", revising.revise_report, revising.keep_report)
    add_node(graph, "publish", closing.publish)
    add_node(graph, "finish_run", closing.finish_run)
    graph.add_edge(START, "open_run")
    graph.add_edge("open_run", "set_criteria")
    add_routes(graph, "set_criteria", route_to_teams, {"team": "each team"})
    add_routes(graph, "team", route_after_team, {"choose_step": "depth auto", "find_near_ties": "else"})
    add_routes(graph, "find_near_ties", editing.route_after_near_ties, _AFTER_TEAMS)
    graph.add_edge("compare_pair", "pick_winner")
    add_routes(
        graph,
        "pick_winner",
        route_after_pick,
        {"approve_report": "a person approves", "publish": "a report", "finish_run": "no report"},
    )
    add_routes(
        graph,
        "approve_report",
        route_after_approval,
        {
            "approve_report": "asked again",
            "revise_report": "a comment",
            "publish": "approved",
            "finish_run": "rejected",
        },
    )
    graph.add_edge("revise_report", "approve_report")
    add_routes(graph, "publish", route_after_publish, {"learn": "lessons wanted", "finish_run": "no lessons"})
    graph.add_edge("learn", "finish_run")
    graph.add_edge("finish_run", END)
    return graph


def _add_editor(graph: ContestGraph, services: Services, editing: EditingNodes) -> None:
    """From the editor's first look to the choice between its report and the best team's."""
    looking = ActionNodes(services, key="editor_brought", join="collect_looks")
    reviewing = ReviewingNodes(services)
    metrics = MeasuringNodes(services, key="merged_scores", join="choose_report")
    with_best = ComparingNodes(services, key="merged_comparisons", join="choose_report")
    add_node(graph, "synthesize", editing.synthesize, editing.go_on_without_editor)
    add_node(graph, "look_up", looking.act, looking.turn_off, task=ActionTask)
    add_node(graph, "collect_looks", editing.collect_looks, editing.go_on_without_editor)
    add_node(graph, "review_merged", reviewing.review_merged, reviewing.go_on_without_review)
    add_node(graph, "mend_merged", reviewing.mend_merged, reviewing.keep_merged)
    add_node(graph, "score_merged", metrics.score, metrics.leave_unscored, task=MetricTask)
    add_node(graph, "compare_merged", with_best.compare, with_best.count_as_tie, task=CompareTask)
    add_node(graph, "choose_report", editing.choose_report)
    add_routes(
        graph,
        "synthesize",
        editing.route_after_merging,
        {
            "look_up": "each action",
            "collect_looks": "nothing to look up",
            "review_merged": "sources to open",
            "mend_merged": "code refutes something",
            "score_merged": "each metric",
            "compare_merged": "each order",
            "choose_report": "nothing merged",
        },
    )
    graph.add_edge("look_up", "collect_looks")
    add_routes(
        graph,
        "collect_looks",
        editing.route_after_looking,
        {"synthesize": "the editor looked", "review_merged": "the reviewer looked"},
    )
    add_routes(
        graph,
        "review_merged",
        reviewing.route_after_review,
        {
            "look_up": "each action",
            "collect_looks": "nothing to look up",
            "mend_merged": "fixes",
            "score_merged": "each metric",
            "compare_merged": "each order",
            "choose_report": "nothing merged",
        },
    )
    add_routes(
        graph,
        "mend_merged",
        reviewing.route_to_judges,
        {"score_merged": "each metric", "compare_merged": "each order", "choose_report": "nothing merged"},
    )
    graph.add_edge("score_merged", "choose_report")
    graph.add_edge("compare_merged", "choose_report")
    add_routes(
        graph,
        "choose_report",
        editing.route_after_choice,
        {"compare_pair": "each near tie", "pick_winner": "merged, or one is ahead"},
    )
