"""The editor: the teams' best reports merged into one, judged like any other, published if it is not worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send
from pydantic import Field

from contend.contest.comparing import CompareTask, Comparison, comparison_of
from contend.contest.outcomes import BUDGETS, TeamOutcome, in_the_running, outcomes_of
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import BudgetExhausted, ContendError
from contend.langgraph_compat import cause
from contend.llm.model import Scope
from contend.models.evaluation import MetricScore
from contend.models.events import ReportMerged
from contend.models.options import ResolvedOptions
from contend.models.record import Record, Score
from contend.models.replies import MergeReply
from contend.models.research import Passage, SearchResult
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts.passages import SourceDocument
from contend.prompts.research import MergePrompt, ResearchHead, TeamReport
from contend.report import build_report
from contend.research.drafts import draft_of, faults_of, length_of
from contend.research.full import draft_text, length_values
from contend.research.gathering import cited_ids
from contend.research.planting import PlantedFilter, without_planted
from contend.run_context import RunContext
from contend.services import Services
from contend.team.evaluation import evaluation_of
from contend.team.metrics import measure, metric_tasks, unscored
from contend.team.state import MetricTask
from contend.text import estimate_tokens

EDITOR, BEST = "editor", "winner"
"""How the two reports are named in a comparison's record."""

_PREFERRED: Mapping[str, Literal["editor", "winner"]] = {"editor": "editor", "winner": "winner"}

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SEPARATE = 2
"""Fewer reports are not merged."""


class Editing(Record):
    """What came of the editor.

    `document`: the id of the submission merged of so many `reports`; `taken`: what it took of each team's report;
    `score` None: nobody could score it; `published` None: not decided yet.
    """

    document: str | None = None
    reports: int = 0
    taken: dict[str, str] = Field(default_factory=dict)
    score: Score | None = None
    published: bool | None = None
    failure: str = ""
    calls: list[CallUsage] = Field(default_factory=list)


@dataclass(frozen=True)
class EditingNodes:
    """From the teams' best reports to the one that is published."""

    services: Services

    async def synthesize(self, state: ContestState) -> ContestUpdate:
        """One report of the best parts of all, from the passages that they rest on."""
        run = await self.services.run(state)
        options = run.options
        outcomes = mergeable(outcomes_of(state))
        drafts = [await self.services.require_submission(_document(outcome)) for outcome in outcomes]
        limits = run.profile("writer")
        passages = await self._passages(drafts, tokens=limits.offered_tokens)
        guard = PlantedFilter(passages, f"{state['theme']}\n{options.instructions}")
        answer = await run.model("writer").structured(
            MergePrompt(
                head=_head(run, state, passages),
                reports=[
                    TeamReport(
                        label=label,
                        draft=draft_text(submission.draft, passages),
                        **length_of(submission.draft),
                        feedback=outcome.best.feedback if outcome.best else "",
                    )
                    for label, outcome, submission in zip(_LABELS, outcomes, drafts, strict=False)
                ],
                **length_values(options.length),
            ),
            MergeReply,
            scope=Scope(
                execution_id=state["execution_id"],
                role="writer",
                language=options.language,
                step="merge",
                passages=tuple(passage.id for passage in passages),
            ),
            faults=lambda reply: faults_of(reply, len(passages), guard),
        )
        merged = _submission(answer.value, drafts, passages, options, state["theme"], guard=guard)
        taken = {
            outcome.team.team_id: said.what
            for said in answer.value.taken
            for label, outcome in zip(_LABELS, outcomes, strict=False)
            if said.report == label
        }
        document = await self.services.submissions.put(merged)
        return {"editing": _kept(Editing(document=document, reports=len(outcomes), taken=taken, calls=[answer.usage]))}

    async def not_merged(self, _state: ContestState, error: NodeError) -> Command[Literal["choose_report"]]:
        """Without an editor the best team's report is published as it is, and the run says so."""
        why = cause(error)
        if not isinstance(why, ContendError):
            raise why
        failure = "" if isinstance(why, BudgetExhausted) else str(why)
        return Command(update={"editing": _kept(Editing(failure=failure, published=False))}, goto="choose_report")

    async def score_merged(self, task: MetricTask) -> ContestUpdate:
        """The metrics of the merged report that one call judges, blind as ever."""
        return {"merged_scores": [_scored(score, usage) for score, usage in await measure(self.services, task)]}

    async def merged_unscored(self, task: MetricTask, error: NodeError) -> Command[Literal["choose_report"]]:
        # A failed node's edges are not followed: without this, metrics that all fail would end the graph silently.
        scores = [_scored(score, None) for score in await unscored(self.services, task, cause(error))]
        return Command(update={"merged_scores": scores}, goto="choose_report")

    async def compare_merged(self, task: CompareTask) -> ContestUpdate:
        """The merged report beside the best team's, in one order."""
        comparison = await comparison_of(self.services, task)
        return {"merged_comparisons": [comparison.model_dump(mode="json")]}

    async def merged_not_compared(self, task: CompareTask, error: NodeError) -> Command[Literal["choose_report"]]:
        failed = Comparison(first=task["first"], second=task["second"], choice="tie", failure=str(cause(error)))
        return Command(update={"merged_comparisons": [failed.model_dump(mode="json")]}, goto="choose_report")

    async def choose_report(self, state: ContestState) -> ContestUpdate:
        """The merged report, if it is not worse than the best team's; else that one."""
        editing, options = editing_of(state), (await self.services.run(state)).options
        scores = [MetricScore.model_validate(item["score"]) for item in state.get("merged_scores", [])]
        result = evaluation_of(scores, language=options.language) if scores else None
        comparisons = [Comparison.model_validate(each) for each in state.get("merged_comparisons", [])]
        best = mergeable(outcomes_of(state))[0].score
        score = result.overall if result else None
        published = bool(editing.document) and not is_worse(score, best, comparisons)
        calls = [
            *editing.calls,
            *(CallUsage.model_validate(item["usage"]) for item in state.get("merged_scores", []) if item["usage"]),
            *(each.usage for each in comparisons if each.usage is not None),
        ]
        await self.services.record.save_usage(state["execution_id"], "", 0, calls)
        await self.services.record.flush()
        done = editing.model_copy(update={"score": score, "published": published, "calls": calls})
        self.services.tell(
            ReportMerged(
                execution_id=state["execution_id"],
                score=score,
                published=published,
                reports=editing.reports,
                taken=editing.taken,
                best_score=best,
                preferred=[_PREFERRED.get(each.better or "", "tie") for each in comparisons],
                failure=editing.failure,
            )
        )
        return {"editing": _kept(done)}

    async def route_to_judges(self, state: ContestState) -> list[Send] | Literal["choose_report"]:
        """The merged report to all metrics, and beside the best team's in both orders, at the same time."""
        document = editing_of(state).document
        best = _document(mergeable(outcomes_of(state))[0])
        if document is None or best is None:
            return "choose_report"
        criteria = state.get("criteria", [])
        # In a process that goes on with the run, what judges said of the teams' citations is known from here alone.
        run = await self.services.run(state)
        for finished in (finished for outcome in outcomes_of(state) for finished in outcome.rounds):
            run.verdicts.update(finished.verdicts)
        tasks = metric_tasks(
            self.services,
            (await self.services.run(state)).options,
            submission=document,
            theme=state["theme"],
            execution_id=state["execution_id"],
            team_id=EDITOR,
            round_number=1,
            criteria=criteria,
        )
        documents = {EDITOR: document, BEST: best}
        pairs = [
            CompareTask(
                first=first,
                second=second,
                submissions=documents,
                theme=state["theme"],
                criteria=criteria,
                execution_id=state["execution_id"],
            )
            for first, second in ((EDITOR, BEST), (BEST, EDITOR))
        ]
        return [*(Send("score_merged", task) for task in tasks), *(Send("compare_merged", pair) for pair in pairs)]

    async def _passages(self, drafts: Sequence[Submission], *, tokens: int) -> list[Passage]:
        """What the best team had at hand, then what the other reports rest on, as far as `tokens` goes."""
        best, *others = drafts
        known = {each.id: each for each in best.passages}
        for submission in others:
            own = {each.id: each for each in submission.passages}
            known |= {each: own[each] for each in cited_ids(submission.draft) if each in own and each not in known}
        texts = await self.services.documents.get_many(known)
        kept = []
        for passage in known.values():
            tokens -= estimate_tokens(texts[passage.id])
            if tokens >= 0:
                kept.append(passage.model_copy(update={"text": texts[passage.id]}))
        return kept


def mergeable(outcomes: Sequence[TeamOutcome]) -> list[TeamOutcome]:
    """The teams whose reports an editor may merge, best first."""
    return [each for each in in_the_running(outcomes) if each.best and each.may_win]


def is_worse(score: float | None, best: float | None, comparisons: Sequence[Comparison]) -> bool:
    """Whether the merged report is worse than the best team's.

    What judges prefer in both orders decides. Where they do not agree, or nobody could compare, the scores do; a report
    that nobody scored is not preferred to one that was.
    """
    preferred = {each.better for each in comparisons}
    if len(comparisons) > 1 and len(preferred) == 1 and preferred <= {EDITOR, BEST}:
        return preferred == {BEST}
    return score is None if best is None else score is None or score < best


def editing_of(state: ContestState) -> Editing:
    return Editing.model_validate(state.get("editing") or {})


def wants_editor(run: RunContext, state: ContestState) -> bool:
    """Whether there is something to merge, and a model that can: one that reads whole passages, with budget left."""
    options, outcomes = run.options, outcomes_of(state)
    if not options.synthesis or run.profile("writer").compact:
        return False
    if any(outcome.exit_reason in BUDGETS for outcome in outcomes):
        return False
    left = run.ledger.share_left()
    return len(mergeable(outcomes)) >= _SEPARATE and left >= options.judgment.budget_reserve


def _submission(
    reply: MergeReply,
    drafts: Sequence[Submission],
    passages: Sequence[Passage],
    options: ResolvedOptions,
    theme: str,
    *,
    guard: PlantedFilter,
) -> Submission:
    best = drafts[0]
    results: dict[str, SearchResult] = {result.url: result for each in drafts for result in each.results}
    draft = without_planted(draft_of(reply, passages, [], best.draft.title), guard)
    used = list(dict.fromkeys(bullet for each in drafts for bullet in each.draft.bullets_used))
    report = build_report(
        draft, passages, list(results.values()), theme=best.report.theme or theme, language=options.language
    )
    return Submission(
        content=report.to_markdown(options.language),
        report=report,
        draft=draft.model_copy(update={"bullets_used": used}),
        passages=[passage.model_copy(update={"text": ""}) for passage in passages],
        results=list(results.values()),
        points=best.points,
        queries=list(dict.fromkeys(query for each in drafts for query in each.queries)),
        unread={url: why for each in drafts for url, why in each.unread.items()},
        speaking={url: signals for each in drafts for url, signals in each.speaking.items()},
    )


def _head(run: RunContext, state: ContestState, passages: Sequence[Passage]) -> str:
    head = ResearchHead(
        theme=state["theme"],
        instructions=run.options.instructions,
        passages=SourceDocument.numbered(passages),
    )
    return run.render(head)


def _document(outcome: TeamOutcome) -> str | None:
    return outcome.best.submission if outcome.best else None


def _scored(score: MetricScore, usage: CallUsage | None) -> dict[str, Any]:
    return {"score": score.model_dump(mode="json"), "usage": usage.model_dump(mode="json") if usage else None}


def _kept(editing: Editing) -> dict[str, Any]:
    return editing.model_dump(mode="json")
