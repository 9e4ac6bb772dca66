"""The editor, which merges the teams' best reports: judged like any other, theirs is published if it is not worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send

from contend.contest.comparing import compare_tasks, route_to_pairs
from contend.contest.state import Comparison, ContestState, ContestUpdate, ContestView, Editing, TeamOutcome
from contend.errors import BudgetExhausted, ContendError
from contend.langgraph_compat import known_cause
from contend.models.evaluation import MetricResult, Submission
from contend.models.events import ReportMerged
from contend.models.options import Length, ResolvedOptions
from contend.models.replies import MergeReply
from contend.models.research import Passage
from contend.prompts.research import MergePrompt, ResearchHead, SourceDocument, TeamReport
from contend.report import build_report
from contend.research.draft_forms import length_of, over_limit
from contend.research.drafts import draft_of, faults_of
from contend.research.full import draft_text, length_values
from contend.research.planted import PlantedFilter, without_planted_text
from contend.services import Services
from contend.team.judge_view import whole_passages
from contend.team.metrics import evaluation_of, metric_tasks
from contend.text import estimate_tokens

EDITOR, BEST = "editor", "winner"
"""How the two reports are named in a comparison's record."""
_PREFERENCES: Mapping[str | None, Literal["editor", "winner"]] = {EDITOR: "editor", BEST: "winner"}

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 2
"""Fewer reports are not merged."""


@dataclass(frozen=True)
class EditingNodes:
    """From the teams' best reports to the one that is published."""

    services: Services

    async def route_after_near_ties(self, state: ContestState) -> list[Send] | Literal["synthesize", "pick_winner"]:
        """To the editor first: where its report is published, nothing that is read hangs on a near tie.

        Where there is something to merge, and a model that can: one that reads whole passages, with budget left.
        """
        run, view = await self.services.run(state), ContestView(state)
        able = run.options.synthesis and not run.profile("writer").compact and len(view.mergeable) >= _FEWEST
        affords = not view.ended_budgets and run.ledger.remaining_share() >= run.options.judgment.budget_reserve
        return "synthesize" if able and affords else await route_to_pairs(state)

    async def synthesize(self, state: ContestState) -> ContestUpdate:
        """One report of the best parts of all, from the passages that they rest on."""
        run = await self.services.run(state)
        options, limits = run.options, run.profile("writer")
        outcomes = ContestView(state).mergeable
        submissions = [await self.services.require_submission(outcome.document) for outcome in outcomes]
        sizes = [*accumulate(map(_size, submissions, outcomes))]
        fitting = max(_FEWEST, sum(size <= limits.tokens // 2 for size in sizes))
        outcomes, submissions, size = outcomes[:fitting], submissions[:fitting], sizes[:fitting][-1]
        passages = await editors_passages(self.services, submissions, tokens=limits.beside(size))
        head = ResearchHead(
            theme=state["theme"], instructions=options.instructions, passages=SourceDocument.of_passages(passages)
        )
        guard = PlantedFilter(passages, f"{state['theme']}\n{options.instructions}")
        answer = await run.model("writer").ask(
            _merge_prompt(run.render(head), outcomes, submissions, passages, length=options.length),
            MergeReply,
            scope=run.scope("writer", step="merge", passages=tuple(passage.id for passage in passages)),
            faults=lambda reply: (
                faults_of(reply, len(passages), guard) or over_limit(draft_of(reply, passages, [], reply.title))
            ),
        )
        submission = _submission(answer.value, submissions, passages, options, state["theme"], guard=guard)
        teams = {label: outcome.team_id for label, outcome in zip(_LABELS, outcomes, strict=False)}
        parts = {teams[part.report]: part.what for part in answer.value.taken if part.report in teams}
        document = await self.services.submissions.put(submission)
        await run.keep_calls([answer.usage])
        editing = Editing(document=document, reports=len(outcomes), taken=parts)
        return {"editing": editing.model_dump(mode="json")}

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
            )
        )
        return {"editing": editing.model_dump(mode="json")}

    async def route_to_judges(self, state: ContestState) -> list[Send] | Literal["choose_report"]:
        """The merged report to all metrics, and beside the best team's in both orders, at the same time."""
        view = ContestView(state)
        document, best = view.editing.document, view.mergeable[0].document
        if document is None or best is None:
            return "choose_report"
        # In a process that goes on with the run, what judges said of the teams' citations is known from here alone.
        run = await self.services.run(state)
        for past in view.rounds:
            run.verdicts.update(past.verdicts)
        tasks = metric_tasks(
            self.services,
            run,
            submission=document,
            theme=state["theme"],
            team_id=EDITOR,
            round_number=1,
            criteria=state.get("criteria", []),
            with_fixes=False,
        )
        pairs = compare_tasks(state, {EDITOR: document, BEST: best})
        return [*(Send("score_merged", task) for task in tasks), *(Send("compare_merged", pair) for pair in pairs)]

    async def route_after_choice(self, state: ContestState) -> list[Send] | Literal["pick_winner"]:
        """A team's report is published after all: which one is decided now."""
        return "pick_winner" if ContestView(state).editing.published else await route_to_pairs(state)


async def editors_passages(services: Services, submissions: Sequence[Submission], *, tokens: int) -> list[Passage]:
    """What the best team had at hand, then what the other reports rest on, as far as `tokens` goes; by document."""
    best, *others = submissions
    by_id = {each.id: each for each in best.passages}
    for submission in others:
        own = {each.id: each for each in submission.passages}
        by_id |= {each: own[each] for each in submission.draft.passages() if each in own and each not in by_id}
    passages = await whole_passages(services, [*by_id.values()], tokens=tokens)
    documents = list(dict.fromkeys(each.url for each in passages))
    return sorted(passages, key=lambda each: documents.index(each.url))


def is_worse(score: float | None, best: float | None, comparisons: Sequence[Comparison]) -> bool:
    """Whether the merged report is worse than the best team's.

    What judges prefer in both orders decides. Where they do not agree, or nobody could compare, the scores do; a report
    that nobody scored is not preferred to one that was.
    """
    better = {each.better for each in comparisons}
    if len(comparisons) > 1 and better in ({EDITOR}, {BEST}):
        return better == {BEST}
    return score is None if best is None else score is None or score < best


def _size(submission: Submission, outcome: TeamOutcome) -> int:
    """About so many tokens a report takes in the editor's prompt, with what judges said of it."""
    return estimate_tokens(draft_text(submission.draft, submission.passages)) + estimate_tokens(outcome.feedback)


def _merge_prompt(
    head: str,
    outcomes: Sequence[TeamOutcome],
    submissions: Sequence[Submission],
    passages: Sequence[Passage],
    *,
    length: Length,
) -> MergePrompt:
    reports = [
        TeamReport(
            label=label,
            draft=draft_text(submission.draft, passages),
            **length_of(submission.draft),
            feedback=outcome.feedback,
        )
        for label, outcome, submission in zip(_LABELS, outcomes, submissions, strict=False)
    ]
    return MergePrompt(head=head, reports=reports, **length_values(length))


def _submission(
    reply: MergeReply,
    submissions: Sequence[Submission],
    passages: Sequence[Passage],
    options: ResolvedOptions,
    theme: str,
    *,
    guard: PlantedFilter,
) -> Submission:
    best = submissions[0]
    draft = without_planted_text(draft_of(reply, passages, [], reply.title or best.draft.title), guard)
    results = list({result.url: result for each in submissions for result in each.results}.values())
    lessons = list(dict.fromkeys(bullet for each in submissions for bullet in each.draft.bullets_used))
    report = build_report(draft, passages, results, theme=best.report.theme or theme, language=options.language)
    return Submission(
        content=report.to_markdown(options.language),
        report=report,
        draft=draft.model_copy(update={"bullets_used": lessons}),
        passages=[each.model_copy(update={"text": ""}) for each in passages],
        results=results,
        points=best.points,
        queries=list(dict.fromkeys(query for each in submissions for query in each.queries)),
        unread={url: why for each in submissions for url, why in each.unread.items()},
        speaking={url: signals for each in submissions for url, signals in each.speaking.items()},
    )
