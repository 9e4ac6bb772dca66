"""The team graph and its nodes, each of which holds at most one paid call.

(open_run → set_criteria) → brief → the graph of the team's kind → submit → Send × metrics → score_metric → evaluate
→ judge → brief, or (finish_run) end.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from contend.criteria import settle_criteria
from contend.errors import BudgetExhausted, ContendError
from contend.evidence import Evidence, evidence_of_submission
from contend.langgraph_compat import add_node, add_routes, cause
from contend.models.evaluation import JudgmentReply, MetricResult
from contend.models.events import RoundStarted
from contend.models.options import TeamOptions
from contend.models.record import Record
from contend.models.round import Judgment, Round, best_round
from contend.models.task import CallUsage
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
from contend.prompts.judging import JudgePrompt
from contend.registry import TEAM_KINDS, team_kind
from contend.research.state import EMPTY_LIST
from contend.run_context import identity
from contend.services import Services
from contend.team.metrics import MeasuringNodes, evaluation_of, metric_tasks, unanswered
from contend.team.rounds import NextStep, TeamView, after_judgment
from contend.team.shortfall import shortfall_of
from contend.team.state import MetricTask, TeamInput, TeamState, TeamUpdate

_LOG = logging.getLogger(__name__)
_NODES = {"graph": "foreign_graph"}
"""Nodes that are not called as their kind of team is: `graph` is a word of Mermaid's own, in which graphs are drawn."""
_AFTER_ROUND = {"brief": "another round", "finish_run": "done, alone", END: "done"}
JudgeCommand = Command[Literal["brief", "finish_run", "__end__"]]


@dataclass(frozen=True)
class TeamNodes:
    """One team's rounds."""

    services: Services

    async def brief(self, state: TeamState) -> TeamUpdate:
        """Open a round: what the team knows of itself and of the ranking, as one string."""
        view = await TeamView.of(self.services, state)
        number = len(view.rounds) + 1
        await view.record_start(number)
        context = await view.prompt_context(number)
        best = best_round(view.rounds)
        # Told when the ranking is read: who follows the events knows what the team saw.
        view.tell(event := RoundStarted(**{**view.key, "round_number": number}))
        # A round that is played again began when it first did.
        first = view.started_at if number == view.round_number else None
        return {
            "round_number": number,
            "round_started": (first or event.at).isoformat(),
            "leaderboard_seen": [
                entry.model_dump(mode="json") for entry in view.run.board.leaderboard(view.run.execution_id)
            ],
            "brief": view.run.builder().build_team_prompt(
                context,
                bullets=state["bullets"],
                instructions=view.options.instructions,
                earlier=state.get("earlier", ""),
                # Writers get the best report to mend, with what judges said of it.
                texts=False,
            ),
            "history": view.rounds_in_state,
            "best_submission": best.submission if best else None,
            "mends_only": state.get("decision", {}).get("mends_only", False),
            **await _shared(view, number),
            "submission": None,
            "calls": [],
            "scores": EMPTY_LIST,
        }

    async def fail(self, state: TeamState, error: NodeError) -> Command[Literal["brief", "finish_run"]]:
        """A failure ends a run of its own with what its rounds gave until then. In a contest, the team forfeits."""
        return Command(update={"problem": problem_alone(state, error)}, goto="finish_run")

    async def play_again(self, state: TeamState, error: NodeError) -> Command[Literal["brief", "finish_run"]]:
        """The round is played again while retries remain; else the team forfeits. No retry brings back a budget."""
        most = (await self.services.run(state)).options.max_retries_per_team
        retries = state.get("retries", 0)
        why = cause(error)
        if retries >= most or isinstance(why, BudgetExhausted) or not isinstance(why, ContendError):
            return await self.fail(state, error)
        _LOG.warning("team %s plays round %s again: %s", state["team"]["team_id"], state["round_number"], why)
        return Command(update={"retries": retries + 1}, goto="brief")

    async def submit(self, state: TeamState) -> TeamUpdate:
        """Put the submission into the record before anybody scores it."""
        submission, document = await self.services.require_submission(state["submission"]), state["submission"] or ""
        view = await TeamView.of(self.services, state)
        await view.record_submission(submission, document=document, brief=state["brief"])
        view.run.hand_in(view.team.team_id, view.round_number, document)
        # The record has it from here on, and no later node of the round reads it.
        return {"brief": "", "clock": view.clock}

    async def route_to_metrics(self, state: TeamState) -> list[Send] | Literal["evaluate"]:
        """All metrics at the same time. What is sent names neither the team's standing nor its rivals.

        A team that cannot win is scored by nobody.
        """
        if not team_kind(state["team"]["kind"]).may_win:
            return "evaluate"
        view = await TeamView.of(self.services, state)
        # In a process that goes on with the run, what was said in earlier rounds is known from them alone.
        for past in view.rounds:
            view.run.verdicts.update(past.verdicts)
        tasks = metric_tasks(
            view.run,
            submission=state["submission"] or "",
            theme=view.theme,
            team_id=view.team.team_id,
            round_number=view.round_number,
            criteria=state.get("criteria", []),
            # Nobody follows the fixes of a round that only mends.
            with_fixes=not view.options.mends_only or view.round_number < view.options.max_rounds,
        )
        return [Send("score_metric", task) for task in tasks]

    async def evaluate(self, state: TeamState) -> TeamUpdate:
        """All metrics into one evaluation, into the record; then the decision, where it needs no call."""
        view = await TeamView.of(self.services, state)
        clock = view.clock
        before = [past for past in view.rounds if past.round_number != view.round_number]
        submission = await self.services.require_submission(state["submission"])
        results = [MetricResult.model_validate(each) for each in state["scores"]]
        result = evaluation_of(
            [each.score for each in results],
            language=view.options.language,
            places={each.sentence.text: each.place for each in reversed(submission.draft.placed_sentences())},
            doubts_first=view.options.mends_only,
        )
        new_round = Round(
            round_number=view.round_number,
            submission=state["submission"] or "",
            score=result.overall,
            feedback=result.feedback if view.kind.may_win else submission.feedback,
            metrics=result.metrics,
            uncovered=unanswered(submission),
            verdicts=dict(view.run.verdicts),
            queries=submission.queries,
            bullets_used=submission.draft.bullets_used,
            calls=_calls(state["calls"], results),
            seconds=max(0.001, clock["team"] - sum(past.seconds for past in before)),
        )
        view.run.ledger.know(new_round.calls)
        await view.record_evaluation(result, new_round)
        decision = view.decide([*before, new_round], shortfall_of(result.metrics, submission.parts))
        if decision.step != "ask_judge":
            await view.record_decision(decision, asked_judge=False, seconds=new_round.seconds)
        return {
            "rounds": await view.keep(new_round),
            "scores": EMPTY_LIST,  # the round's record has them
            "decision": decision.model_dump(mode="json"),
            "clock": clock,
        }

    async def judge(self, state: TeamState) -> JudgeCommand:
        """Ask whether another round is worth it."""
        view = await TeamView.of(self.services, state)
        context = await view.prompt_context(len(view.rounds) + 1, for_judge=True)
        answer = await view.run.model("judge").ask(
            JudgePrompt(
                prompt=view.run.builder().build_judgment_prompt(context, instructions=view.options.instructions),
                scores=[past.score for past in view.rounds],
            ),
            JudgmentReply,
            scope=view.run.scope("judge", team_id=view.team.team_id, round_number=view.round_number),
        )
        reply = answer.value
        judgment = Judgment(
            should_continue=reply.should_continue, reasoning=reply.reasoning, confidence=reply.confidence_percent / 100
        )
        decision = after_judgment(judgment, confidence_threshold=view.options.judgment.confidence_threshold)
        return await _follow(view, decision, answer.usage)

    async def go_on_without_judge(self, state: TeamState, error: NodeError) -> JudgeCommand:
        """Without a judge the plateau rule decides, and it has not stopped the team: another round."""
        view = await TeamView.of(self.services, state)
        why = cause(error)
        if isinstance(why, BudgetExhausted):
            stop = NextStep(step="stop", exit_reason=why.limit, reasoning=str(why))
            return await _follow(view, stop)
        goes_on = NextStep(step="go_on", reasoning=f"judge failed: {why}")
        return await _follow(view, goes_on, failure=str(why))


async def _shared(view: TeamView, number: int) -> TeamUpdate:
    """The passages behind other teams' finished rounds; no text of theirs."""
    seen = await view.run.rounds_seen(view.team.team_id, number)
    passages: dict[str, Evidence] = {}
    for team_id, round_number in seen.items():
        submission = await view.submissions.get(view.run.submitted[team_id, round_number])
        passages |= {each["id"]: each for each in evidence_of_submission(submission)}
    if not passages:
        return {"seen": seen, "shared": None}
    document = await view.run.documents.put(json.dumps([*passages.values()], ensure_ascii=False))
    return {"seen": seen, "shared": document}


def _calls(of_research: Sequence[dict[str, Any]], results: Sequence[MetricResult]) -> list[CallUsage]:
    """The round's model calls in a fixed order, whichever metric came first."""
    calls = [CallUsage.model_validate(call) for call in of_research]
    calls += [each.usage for each in results if each.usage]
    return sorted(calls, key=lambda call: call.call_key)


async def _follow(view: TeamView, decision: NextStep, *usages: CallUsage, failure: str = "") -> JudgeCommand:
    last = view.rounds[-1]
    last = last.model_copy(update={"judge_failure": failure, "calls": [*last.calls, *usages]})
    await view.run.record.save_usage(**view.key, calls=usages)
    await view.record_decision(decision, asked_judge=True, seconds=last.seconds)
    update: TeamUpdate = {
        "decision": decision.model_dump(mode="json"),
        "rounds": await view.keep(last),
        "clock": view.clock,
    }
    after: Literal["finish_run", "__end__"] = "finish_run" if view.is_alone else "__end__"
    return Command(update=dict(update), goto="brief" if decision.step == "go_on" else after)


async def route_to_kind(state: TeamState) -> str:
    """The graph that plays the round."""
    kind = str(state["team"]["kind"])
    return _NODES.get(kind, kind)


async def route_after_evaluate(state: TeamState) -> Literal["brief", "judge", "finish_run", "__end__"]:
    match state["decision"]["step"]:
        case "go_on":
            return "brief"
        case "ask_judge":
            return "judge"
        case _:
            return "finish_run" if is_alone(state) else "__end__"


FRESH: TeamUpdate = {
    "bullets": [], "criteria": [], "parts": [], "shared": None, "inherited": None, "earlier": "",
    "round_number": 0, "rounds": [], "pool": None,
    "best_submission": None, "submission": None, "decision": {}, "retries": 0, "problem": "", "clock": None,
}  # fmt: skip
"""A further question on a thread is a run of its own: nothing of the one before stays."""


@dataclass(frozen=True)
class TeamAlone:
    """The first and the last node of a team opened on its own: what a contest would have brought and closed."""

    services: Services

    async def open_run(self, state: TeamState, runtime: Runtime[Record]) -> TeamUpdate:
        """Theme, options and the first team that may enter."""
        question = ChatQuestion.of(state)
        opening = await open_question(self.services, question, runtime.context)
        check_steps(steps_alone(opening.options))
        team, (execution_id, thread_id) = opening.teams[0], identity(runtime)
        run = self.services.open_run(execution_id, opening.options)
        await run.enter([team], theme=opening.theme, thread_id=thread_id)
        return {**FRESH, **opening_update(question, opening, execution_id), "team": team.model_dump(mode="json")}

    async def set_criteria(self, state: TeamState) -> TeamUpdate:
        """What a report on this question has to do: judges alone read it."""
        criteria = await settle_criteria(await self.services.run(state), question=state["theme"])
        return {"criteria": criteria.plain(), "parts": criteria.parts}

    async def finish_run(self, state: TeamState) -> TeamUpdate:
        """The run's one message: the best report, or why there is none. Said again, it takes its own place."""
        view, problem = await TeamView.of(self.services, state), state["problem"]
        best = best_round(view.rounds)
        report = (await self.services.require_submission(best.submission)).content if best else ""
        await view.record_end(best, problem)
        text = "\n\n".join(filter(None, [report, problem]))
        self.services.close_run(state["execution_id"])
        return {"messages": [answer(state["execution_id"], text)]}


async def route_at_start(state: TeamState) -> Literal["open_run", "brief"]:
    """To its opening, where nobody has settled options for it: each new question on its thread, too."""
    return "open_run" if is_alone(state) else "brief"


TeamGraph = StateGraph[TeamState, Record, TeamInput, TeamState]


def build_team_graph(services: Services) -> TeamGraph:
    """One team, not compiled: its parent or its server brings the checkpointer."""
    nodes, alone = TeamNodes(services), TeamAlone(services)
    metrics = MeasuringNodes(services, key="scores", join="evaluate")
    graph: TeamGraph = StateGraph(TeamState, context_schema=TeamOptions, input_schema=TeamInput)
    add_node(graph, "open_run", alone.open_run, partial(refuse, fresh=FRESH))
    add_node(graph, "set_criteria", alone.set_criteria)
    add_node(graph, "brief", nodes.brief, nodes.fail, goes_to={"finish_run": "failed, alone"})
    for kind in TEAM_KINDS:
        node = _NODES.get(kind, kind)
        of_round = team_kind(kind).build_graph(services).compile(name=node)
        add_node(graph, node, of_round, nodes.play_again, runs_graph=True)
        graph.add_edge(node, "submit")
    add_node(graph, "submit", nodes.submit)
    add_node(graph, "score_metric", metrics.score, metrics.leave_unscored, task=MetricTask)
    add_node(graph, "evaluate", nodes.evaluate)
    add_node(graph, "judge", nodes.judge, nodes.go_on_without_judge, goes_to=_AFTER_ROUND)
    add_node(graph, "finish_run", alone.finish_run)
    add_routes(graph, START, route_at_start, {"open_run": "alone", "brief": "in a contest"})
    graph.add_edge("open_run", "set_criteria")
    graph.add_edge("set_criteria", "brief")
    add_routes(graph, "brief", route_to_kind, {_NODES.get(kind, kind): f"kind {kind}" for kind in TEAM_KINDS})
    add_routes(graph, "submit", nodes.route_to_metrics, {"score_metric": "each metric", "evaluate": "not judged"})
    graph.add_edge("score_metric", "evaluate")
    add_routes(graph, "evaluate", route_after_evaluate, {**_AFTER_ROUND, "judge": "no rule decides"})
    return graph
