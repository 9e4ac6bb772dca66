"""The editor, which merges the teams' best reports: judged like any other, theirs is published if it is not worse."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send

from contend.contest.comparing import compare_tasks, route_to_pairs
from contend.contest.edit import FEWEST_REPORTS, Edit, ask_to_merge, merged_draft, merged_submission, open_edit, proven
from contend.contest.state import Comparison, ContestState, ContestUpdate, ContestView, Editing
from contend.errors import BudgetExhausted, ContendError, ReplyError
from contend.evidence import Action, Step, with_results, with_texts
from contend.evidence.actions import tasks_of
from contend.evidence.pool import passages_of
from contend.evidence.screening import screened, unscreened
from contend.langgraph_compat import known_cause
from contend.models.evaluation import MetricResult
from contend.models.events import ReportMerged
from contend.research.asking import ask_about_orders
from contend.research.prompting import shown_ids
from contend.research.state import EMPTY_LIST
from contend.services import Services
from contend.team.metrics import evaluation_of, metric_tasks
from contend.writing import (
    marks_of,
)

EDITOR, BEST = "editor", "winner"
"""How the two reports are named in a comparison's record."""
_PREFERENCES: Mapping[str | None, Literal["editor", "winner"]] = {EDITOR: "editor", BEST: "winner"}


@dataclass(frozen=True)
class MergedRoutes:
    """Where a merged report goes once nothing is left to look up or mend."""

    services: Services

    async def route_to_judges(self, state: ContestState) -> list[Send] | Literal["choose_report"]:
        """To all metrics, and beside the best team's report in both orders, at the same time."""
        view, run = ContestView(state), await self.services.run(state)
        document, best = view.editing.document, view.mergeable[0].document
        if document is None or best is None:
            return "choose_report"
        # In a process that goes on with the run, what judges said of the teams' citations is known from here alone.
        for past in view.rounds:
            run.verdicts.update(past.verdicts)
        theme, criteria = state["theme"], state.get("criteria", [])
        tasks = metric_tasks(
            run, submission=document, theme=theme, team_id=EDITOR, round_number=1, criteria=criteria, with_fixes=False
        )
        pairs = compare_tasks(
            [{EDITOR: document, BEST: best}], theme=theme, criteria=criteria, execution_id=run.execution_id
        )
        return [*(Send("score_merged", task) for task in tasks), *(Send("compare_merged", pair) for pair in pairs)]


@dataclass(frozen=True)
class EditingNodes(MergedRoutes):
    """From the teams' best reports to the one that is published."""

    async def route_after_near_ties(self, state: ContestState) -> list[Send] | Literal["synthesize", "pick_winner"]:
        """To the editor first: where its report is published, nothing that is read hangs on a near tie.

        Where there is something to merge, and a model that can: one that reads whole passages, with budget left.
        """
        run, view = await self.services.run(state), ContestView(state)
        able = run.options.synthesis and len(view.mergeable) >= FEWEST_REPORTS
        affords = not view.ended_budgets and run.ledger.remaining_share() >= run.options.judgment.budget_reserve
        return "synthesize" if able and affords else await route_to_pairs(state)

    async def synthesize(self, state: ContestState) -> ContestUpdate:
        """Merge the best reports using all teams' evidence, or name what the editor wants to look up first."""
        work = await open_edit(self.services, state)
        answer = await ask_to_merge(work)
        await work.run.keep_calls([answer.usage])
        actions = work.desk.actions(answer.value.actions, "editor") if work.looks_left else []
        if actions and answer.value.report is None:
            return {"editor_actions": actions, "editor_looks": work.looks + 1}
        if answer.value.report is None:
            raise ReplyError("the editor gave no report")
        draft = await proven(work, merged_draft(work, answer.value.report))
        submission = merged_submission(work, draft)
        language, reports = work.run.options.language, work.reported
        parts = {
            reports[part.report].team_id: part.what for part in answer.value.report.taken if part.report in reports
        }
        document = await self.services.submissions.put(submission)
        editing = Editing(document=document, reports=len(work.outcomes), taken=parts)
        return {
            "editing": editing.model_dump(mode="json"),
            "editor_actions": [],
            "merged_fixes": "\n".join(f"- {mark['place']}: {mark['text']}" for mark in marks_of(draft, language)),
        }

    async def collect_looks(self, state: ContestState) -> ContestUpdate:
        """Add what the editor looked up to the shared evidence, without passages that speak to AI systems."""
        work = await open_edit(self.services, state)
        visible = [*(each.id for each in work.passages), *shown_ids(work.looked)]
        room = work.run.profile("writer").step_tokens
        pool, results = with_results(
            work.pool, state["editor_actions"], state.get("editor_brought", []), visible=visible, room=room
        )
        looked = Step(number=len(work.looked) + 1, round=0, thought="", held=[], given_up=[], results=results)
        new = unscreened(pool, shown_ids([looked]))
        passages = await with_texts(self.services.documents, passages_of(pool, new))
        ask, most = partial(ask_about_orders, work.run, None), work.run.profile("reviewer").evidence_tokens
        pool, usages = await screened(pool, passages, work.run.screening, ask, room=most)
        await work.run.keep_calls(usages)
        document = await work.run.documents.put(json.dumps(pool, ensure_ascii=False))
        return {
            "editor_pool": document,
            "editor_looked": [*work.looked, looked],
            "editor_actions": [],
            "editor_brought": EMPTY_LIST,
        }

    async def go_on_without_editor(self, _state: ContestState, error: NodeError) -> Command[Literal["choose_report"]]:
        """Without an editor the best team's report is published as it is, and the run says so."""
        why = known_cause(error, ContendError)
        editing = Editing(failure="" if isinstance(why, BudgetExhausted) else str(why), published=False)
        return Command(update={"editing": editing.model_dump(mode="json")}, goto="choose_report")

    async def choose_report(self, state: ContestState) -> ContestUpdate:
        """The merged report, if it is not worse than the best team's; else that one."""
        run, view = await self.services.run(state), ContestView(state)
        editing, best = view.editing, view.best_score
        results = [MetricResult.model_validate(each) for each in state.get("merged_scores", [])]
        score = evaluation_of([each.score for each in results], language=run.options.language).overall
        comparisons = [Comparison.model_validate(each) for each in state.get("merged_comparisons", [])]
        publish = bool(editing.document) and not is_worse(score, best, comparisons)
        await run.keep_calls([each.usage for each in results if each.usage])
        editing = editing.model_copy(update={"score": score, "published": publish})
        self.services.tell(
            ReportMerged(
                execution_id=state["execution_id"],
                **editing.model_dump(include={"score", "published", "reports", "taken", "failure"}),
                best_score=best,
                preferred=[_PREFERENCES.get(each.better, "tie") for each in comparisons],
                metrics=[each.score for each in results],
            )
        )
        return {"editing": editing.model_dump(mode="json")}

    async def route_after_merging(
        self, state: ContestState
    ) -> list[Send] | Literal["choose_report", "collect_looks", "review_merged", "mend_merged"]:
        """Look up what the editor asked for; then review the merged report, or mend it, or have it judged.

        It is reviewed if there are sources to open. Where everything was read whole, the editor and each team's
        reviewer had all of it, so that only what code refutes is mended.
        """
        if actions := state.get("editor_actions"):
            return send_look_ups(await open_edit(self.services, state), actions)
        if not ContestView(state).editing.document:
            return "choose_report"
        work = await open_edit(self.services, state)
        affords = work.run.ledger.remaining_share() >= work.run.options.judgment.budget_reserve
        if affords and not work.is_whole:
            return "review_merged"
        is_refuted = affords and state.get("merged_fixes")
        return "mend_merged" if is_refuted else await self.route_to_judges(state)

    async def route_after_looking(self, state: ContestState) -> Literal["synthesize", "review_merged"]:
        """Return to the node that asked for the look-up."""
        return "review_merged" if ContestView(state).editing.document else "synthesize"

    async def route_after_choice(self, state: ContestState) -> list[Send] | Literal["pick_winner"]:
        """A team's report is published after all: which one is decided now."""
        return "pick_winner" if ContestView(state).editing.published else await route_to_pairs(state)


def send_look_ups(work: Edit, actions: Sequence[Action]) -> list[Send] | Literal["collect_looks"]:
    """A task for each action that the editor or the reviewer asked for."""
    key = {"execution_id": work.run.execution_id, "team_id": EDITOR, "round_number": 0}
    return [Send("look_up", task) for task in tasks_of(actions, work.desk, work.pool, key)] or "collect_looks"


def is_worse(score: float | None, best: float | None, comparisons: Sequence[Comparison]) -> bool:
    """Whether the merged report is worse than the best team's.

    What judges prefer in both orders decides. Where they do not agree, or nobody could compare, the scores do; a report
    that nobody scored is not preferred to one that was.
    """
    better = {each.better for each in comparisons}
    if len(comparisons) > 1 and better in ({EDITOR}, {BEST}):
        return better == {BEST}
    return score is None if best is None else score is None or score < best
