"""The editor: the teams' best reports merged into one, judged like any other, published if it is not worse."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal
from urllib.parse import urlsplit

from langgraph.errors import NodeError
from langgraph.types import Command, Send
from pydantic import Field

from contend.contest.comparing import CompareTask, Comparison, compare_tasks, comparison_of, failed_comparison
from contend.contest.outcomes import BUDGETS, TeamOutcome, in_the_running, outcomes_of
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import BudgetExhausted, ContendError
from contend.langgraph_compat import cause
from contend.llm import Scope
from contend.models.events import ReportMerged
from contend.models.options import ResolvedOptions
from contend.models.record import Record, Score
from contend.models.replies import MergeReply
from contend.models.research import Passage
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts.research import MergePrompt, ResearchHead, SourceDocument, TeamReport
from contend.report import build_report
from contend.research.ask import with_texts
from contend.research.draft_view import length_of
from contend.research.drafts import draft_of, faults_of
from contend.research.full import draft_text, length_values
from contend.research.gathering import cited_ids
from contend.research.planting import PlantedFilter, without_planted
from contend.run_context import RunContext
from contend.services import Services
from contend.sources.throttle import canonical_url
from contend.stores.documents import passage_id
from contend.team.evaluation import evaluation_of
from contend.team.metrics import MetricResult, measure, metric_tasks, unscored
from contend.team.metrics.judge_view import whole_passages
from contend.team.state import MetricTask
from contend.text import estimate_tokens

EDITOR: Literal["editor"] = "editor"
BEST: Literal["winner"] = "winner"
"""How the two reports are named in a comparison's record."""

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 2
"""Fewer reports are not merged."""


class Editing(Record):
    """What came of the editor."""

    document: str | None = None
    """The merged submission's id."""
    reports: int = 0
    """How many were merged."""
    taken: dict[str, str] = Field(default_factory=dict)
    """What it took of each team's report."""
    score: Score | None = None
    """None: nobody could score it."""
    published: bool | None = None
    """None: not decided yet."""
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
        limits = run.profile("writer")
        outcomes = mergeable(outcomes_of(state))
        submissions = [await self.services.require_submission(outcome.document) for outcome in outcomes]
        sizes = [*accumulate(map(_size, submissions, outcomes))]
        fitting = max(_FEWEST, sum(size <= limits.tokens // 2 for size in sizes))
        outcomes, submissions, size = outcomes[:fitting], submissions[:fitting], sizes[:fitting][-1]
        passages = await self._passages(state, options, submissions, tokens=limits.beside(size))
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
                    for label, outcome, submission in zip(_LABELS, outcomes, submissions, strict=False)
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
        submission = _submission(answer.value, submissions, passages, options, state["theme"], guard=guard)
        teams = {label: outcome.team.team_id for label, outcome in zip(_LABELS, outcomes, strict=False)}
        parts = {teams[part.report]: part.what for part in answer.value.taken if part.report in teams}
        document = await self.services.submissions.put(submission)
        editing = Editing(document=document, reports=len(outcomes), taken=parts, calls=[answer.usage])
        return {"editing": editing.model_dump(mode="json")}

    async def not_merged(self, _state: ContestState, error: NodeError) -> Command[Literal["choose_report"]]:
        """Without an editor the best team's report is published as it is, and the run says so."""
        why = cause(error)
        if not isinstance(why, ContendError):
            raise why
        editing = Editing(failure="" if isinstance(why, BudgetExhausted) else str(why), published=False)
        return Command(update={"editing": editing.model_dump(mode="json")}, goto="choose_report")

    async def score_merged(self, task: MetricTask) -> ContestUpdate:
        """The metrics of the merged report that one call judges, blind as ever."""
        return {"merged_scores": [each.model_dump(mode="json") for each in await measure(self.services, task)]}

    async def merged_unscored(self, task: MetricTask, error: NodeError) -> Command[Literal["choose_report"]]:
        # A failed node's edges are not followed: without this, metrics that all fail would end the graph silently.
        results = await unscored(self.services, task, cause(error))
        update = {"merged_scores": [each.model_dump(mode="json") for each in results]}
        return Command(update=update, goto="choose_report")

    async def compare_merged(self, task: CompareTask) -> ContestUpdate:
        """The merged report beside the best team's, in one order."""
        return {"merged_comparisons": [await comparison_of(self.services, task)]}

    async def merged_not_compared(self, task: CompareTask, error: NodeError) -> Command[Literal["choose_report"]]:
        return Command(update={"merged_comparisons": [failed_comparison(task, error)]}, goto="choose_report")

    async def choose_report(self, state: ContestState) -> ContestUpdate:
        """The merged report, if it is not worse than the best team's; else that one."""
        editing, options = editing_of(state), (await self.services.run(state)).options
        results = [MetricResult.model_validate(each) for each in state.get("merged_scores", [])]
        score = evaluation_of([each.score for each in results], language=options.language).overall
        comparisons = [Comparison.model_validate(each) for each in state.get("merged_comparisons", [])]
        best = mergeable(outcomes_of(state))[0].score
        publish = bool(editing.document) and not is_worse(score, best, comparisons)
        usages = [*(each.usage for each in results), *(each.usage for each in comparisons)]
        calls = [*editing.calls, *filter(None, usages)]
        await self.services.record.save_usage(state["execution_id"], "", 0, calls)
        await self.services.record.flush()
        editing = editing.model_copy(update={"score": score, "published": publish, "calls": calls})
        self.services.tell(
            ReportMerged(
                execution_id=state["execution_id"],
                score=score,
                published=publish,
                reports=editing.reports,
                taken=editing.taken,
                best_score=best,
                preferred=[_preferred(each) for each in comparisons],
                failure=editing.failure,
            )
        )
        return {"editing": editing.model_dump(mode="json")}

    async def route_to_judges(self, state: ContestState) -> list[Send] | Literal["choose_report"]:
        """The merged report to all metrics, and beside the best team's in both orders, at the same time."""
        outcomes, document = outcomes_of(state), editing_of(state).document
        best = mergeable(outcomes)[0].document
        if document is None or best is None:
            return "choose_report"
        # In a process that goes on with the run, what judges said of the teams' citations is known from here alone.
        run = await self.services.run(state)
        for past in (each for outcome in outcomes for each in outcome.rounds):
            run.verdicts.update(past.verdicts)
        tasks = metric_tasks(
            self.services,
            run,
            submission=document,
            theme=state["theme"],
            team_id=EDITOR,
            round_number=1,
            criteria=state.get("criteria", []),
        )
        pairs = compare_tasks(state, {EDITOR: document, BEST: best})
        return [*(Send("score_merged", task) for task in tasks), *(Send("compare_merged", pair) for pair in pairs)]

    async def _passages(
        self, state: ContestState, options: ResolvedOptions, submissions: Sequence[Submission], *, tokens: int
    ) -> list[Passage]:
        """What the best team had at hand, then what the other reports rest on, as far as `tokens` goes.

        Where own documents fit, all of their sections stand before that: no team may have cited what its judges miss.
        """
        best, *others = submissions
        by_id = {each.id: each for each in best.passages}
        for submission in others:
            own = {each.id: each for each in submission.passages}
            by_id |= {each: own[each] for each in cited_ids(submission.draft) if each in own and each not in by_id}
        rest = sum(estimate_tokens(each.text) for each in await with_texts(self.services, _of_others(by_id.values())))
        whole = await self._own_documents(state, options, submissions, tokens=tokens - rest)
        return await whole_passages(
            self.services, [*({each.id: each for each in whole} | by_id).values()], tokens=tokens
        )

    async def _own_documents(
        self, state: ContestState, options: ResolvedOptions, submissions: Sequence[Submission], *, tokens: int
    ) -> list[Passage]:
        """All sections of the own documents in order; none where they take more than so many tokens."""
        results = {result.url: result for each in submissions for result in each.results if result.source == "local"}
        if not results:
            return []
        sections = await self.services.sources.whole(options.documents, state["execution_id"], tokens)
        ids = await self.services.documents.put_many([each.text for each in sections])
        speaking = {url for each in submissions for url in each.speaking}
        return [
            Passage(
                id=passage_id(text, canonical_url(each.result.url)),
                url=each.result.url,
                title=each.result.title,
                heading=each.heading,
                published=each.result.published_date,
                speaks_to_ai=each.result.url in speaking,
            )
            for text, each in zip(ids, sections, strict=True)
        ]


def _of_others(passages: Iterable[Passage]) -> list[Passage]:
    """Those that are of no local document."""
    return [each for each in passages if urlsplit(each.url).scheme != "file"]


def mergeable(outcomes: Sequence[TeamOutcome]) -> list[TeamOutcome]:
    """The teams whose reports an editor may merge, best first."""
    return [each for each in in_the_running(outcomes) if each.best and each.may_win]


def is_worse(score: float | None, best: float | None, comparisons: Sequence[Comparison]) -> bool:
    """Whether the merged report is worse than the best team's.

    What judges prefer in both orders decides. Where they do not agree, or nobody could compare, the scores do; a report
    that nobody scored is not preferred to one that was.
    """
    better = {each.better for each in comparisons}
    if len(comparisons) > 1 and better in ({EDITOR}, {BEST}):
        return better == {BEST}
    return score is None if best is None else score is None or score < best


def editing_of(state: ContestState) -> Editing:
    return Editing.model_validate(state.get("editing") or {})


def _size(submission: Submission, outcome: TeamOutcome) -> int:
    """About so many tokens a report takes in the editor's prompt, with what judges said of it."""
    return estimate_tokens(draft_text(submission.draft, submission.passages)) + estimate_tokens(
        outcome.best.feedback if outcome.best else ""
    )


def wants_editor(run: RunContext, state: ContestState) -> bool:
    """Whether there is something to merge, and a model that can: one that reads whole passages, with budget left."""
    options, outcomes = run.options, outcomes_of(state)
    if not options.synthesis or run.profile("writer").compact:
        return False
    if any(outcome.exit_reason in BUDGETS for outcome in outcomes):
        return False
    return len(mergeable(outcomes)) >= _FEWEST and run.ledger.share_left() >= options.judgment.budget_reserve


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
    results = [*{result.url: result for each in submissions for result in each.results}.values()]
    draft = without_planted(draft_of(reply, passages, [], reply.title or best.draft.title), guard)
    lessons = list(dict.fromkeys(bullet for each in submissions for bullet in each.draft.bullets_used))
    report = build_report(draft, passages, results, theme=best.report.theme or theme, language=options.language)
    at_hand = {*cited_ids(draft), *(passage.id for each in submissions for passage in each.passages)}
    return Submission(
        content=report.to_markdown(options.language),
        report=report,
        draft=draft.model_copy(update={"bullets_used": lessons}),
        passages=[each.model_copy(update={"text": ""}) for each in passages if each.id in at_hand],
        results=results,
        points=best.points,
        queries=list(dict.fromkeys(query for each in submissions for query in each.queries)),
        unread={url: why for each in submissions for url, why in each.unread.items()},
        speaking={url: signals for each in submissions for url, signals in each.speaking.items()},
    )


def _head(run: RunContext, state: ContestState, passages: Sequence[Passage]) -> str:
    head = ResearchHead(
        theme=state["theme"],
        instructions=run.options.instructions,
        passages=SourceDocument.numbered(passages),
    )
    return run.render(head)


def _preferred(comparison: Comparison) -> Literal["editor", "winner", "tie"]:
    return "tie" if comparison.better is None else EDITOR if comparison.better == EDITOR else BEST
