"""The editor, which merges the teams' best reports: judged like any other, theirs is published if it is not worse."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send

from contend.contest.agreement import (
    ReportedBy,
    Reports,
    disagreements_of,
    faults_of_disagreements,
    with_teams,
)
from contend.contest.comparing import compare_tasks, route_to_pairs
from contend.contest.state import Comparison, ContestState, ContestUpdate, ContestView, Editing, TeamOutcome
from contend.errors import BudgetExhausted, ContendError, ReplyError
from contend.evidence import Desk, EvidencePool, Step, empty_pool, evidence_of_submission, with_results, with_texts
from contend.evidence.actions import desk_of, tasks_of
from contend.evidence.pool import numbers_of, parts_of, passages_of, with_catalogue, with_evidence, with_parts
from contend.evidence.screening import by_address, orders_of, screened, speaking_of, unscreened
from contend.langgraph_compat import known_cause
from contend.llm import Answer
from contend.models.evaluation import MetricResult, Submission
from contend.models.events import ReportMerged
from contend.models.replies import MergedReport, MergeReply
from contend.models.research import Draft, Passage, SearchResult
from contend.prompts.research import MergePrompt, ResearchHead, SourceDocument, StepLog, TeamReport
from contend.report import build_report
from contend.research.asking import ask_about_orders
from contend.research.prompting import Numbering, shown_ids
from contend.research.state import EMPTY_LIST
from contend.run_context import RunContext
from contend.services import Services
from contend.sources.catalogue import catalogue_lines
from contend.team.judge_view import whole_passages
from contend.team.metrics import evaluation_of, metric_tasks
from contend.text import estimate_tokens
from contend.writing import (
    EarlierDraft,
    PlantedOrders,
    draft_of,
    faults_of,
    length_of,
    length_values,
    marks_of,
    over_limit,
    prove,
    shown_draft,
    without_planted_text,
)

MOST_LOOKS = 1
"""How often the editor may look things up before merging."""

EDITOR, BEST = "editor", "winner"
"""How the two reports are named in a comparison's record."""
_PREFERENCES: Mapping[str | None, Literal["editor", "winner"]] = {EDITOR: "editor", BEST: "winner"}

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST = 2
"""Fewer reports are not merged."""


@dataclass(frozen=True)
class MergedRoutes:
    """Where a merged report goes next: to what is looked up for it, or to its judges."""

    services: Services

    async def to_looks(self, state: ContestState) -> list[Send] | Literal["collect_looks"]:
        """A task for each action that the editor or the reviewer asked for."""
        work = await open_edit(self.services, state)
        key = {"execution_id": state["execution_id"], "team_id": EDITOR, "round_number": 0}
        tasks = tasks_of(state["editor_actions"], work.desk, work.pool, key)
        return [Send("look_up", task) for task in tasks] or "collect_looks"

    async def to_judges(self, state: ContestState) -> list[Send] | Literal["choose_report"]:
        """To all metrics, and beside the best team's report in both orders, at the same time."""
        view, run = ContestView(state), await self.services.run(state)
        document, best = view.editing.document, view.mergeable[0].document
        if document is None or best is None:
            return "choose_report"
        # In a process that goes on with the run, what judges said of the teams' citations is known from here alone.
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


@dataclass(frozen=True)
class EditingNodes(MergedRoutes):
    """From the teams' best reports to the one that is published."""

    async def route_after_near_ties(self, state: ContestState) -> list[Send] | Literal["synthesize", "pick_winner"]:
        """To the editor first: where its report is published, nothing that is read hangs on a near tie.

        Where there is something to merge, and a model that can: one that reads whole passages, with budget left.
        """
        run, view = await self.services.run(state), ContestView(state)
        able = run.options.synthesis and len(view.mergeable) >= _FEWEST
        affords = not view.ended_budgets and run.ledger.remaining_share() >= run.options.judgment.budget_reserve
        return "synthesize" if able and affords else await route_to_pairs(state)

    async def synthesize(self, state: ContestState) -> ContestUpdate:
        """Merge the best reports using all teams' evidence, or name what the editor wants to look up first."""
        work = await open_edit(self.services, state)
        answer = await merge(work)
        await work.run.keep_calls([answer.usage])
        actions = work.desk.actions(answer.value.actions, "editor") if work.looks_left else []
        if actions and answer.value.report is None:
            return {"editor_actions": actions, "editor_looks": work.looks + 1}
        if answer.value.report is None:
            raise ReplyError("the editor gave no report")
        draft = await proven(work, merged_draft(work, answer.value.report))
        submission = submission_of(work, draft)
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
        if state.get("editor_actions"):
            return await self.to_looks(state)
        if not ContestView(state).editing.document:
            return "choose_report"
        work = await open_edit(self.services, state)
        affords = work.run.ledger.remaining_share() >= work.run.options.judgment.budget_reserve
        if affords and not work.is_whole:
            return "review_merged"
        is_refuted = affords and state.get("merged_fixes")
        return "mend_merged" if is_refuted else await self.to_judges(state)

    async def route_after_looking(self, state: ContestState) -> Literal["synthesize", "review_merged"]:
        """Return to the node that asked for the look-up."""
        return "review_merged" if ContestView(state).editing.document else "synthesize"

    async def route_after_choice(self, state: ContestState) -> list[Send] | Literal["pick_winner"]:
        """A team's report is published after all: which one is decided now."""
        return "pick_winner" if ContestView(state).editing.published else await route_to_pairs(state)


@dataclass(frozen=True)
class Edit:
    """What editor and last reviewer need: the teams' best reports, best first, and the evidence of all teams, whole."""

    run: RunContext
    question: str
    outcomes: Sequence[TeamOutcome]
    submissions: Sequence[Submission]
    pool: EvidencePool
    passages: Sequence[Passage]
    """What the editor's prompt shows, numbered from 1."""
    looked: Sequence[Step]
    looks: int
    catalogue: str
    is_whole: bool
    """Whether all documents were read whole: there is nothing to look up."""
    texts: Mapping[str, str]
    """Of the passages that were looked up, by id."""

    @property
    def looks_left(self) -> int:
        return max(0, MOST_LOOKS - self.looks)

    @property
    def desk(self) -> Desk:
        sources = [name for name in self.run.options.sources if name not in self.run.sources_off]
        return desk_of(sources, self.pool, self.run.options.read_top)

    @property
    def ids(self) -> list[str]:
        """The passages by number: those of the teams, then what was looked up and does not speak to AI systems."""
        speaking = {each["id"] for each in self.pool["passages"] if each.get("signals")}
        named = [
            each
            for step in self.looked
            for result in step["results"]
            for each in [*result["shown"], *result["listed"], *result["known"]]
            if each not in speaking
        ]
        return list(dict.fromkeys([*(passage.id for passage in self.passages), *named]))

    def offered(self) -> list[Passage]:
        """The passages that a reply may name, by number, with the texts that are at hand."""
        own = {each.id: each for each in self.passages}
        others = {each.id: each for each in passages_of(self.pool, [each for each in self.ids if each not in own])}
        return [
            own.get(each) or others[each].model_copy(update={"text": self.texts.get(each, "")}) for each in self.ids
        ]

    def orders(self) -> dict[str, list[str]]:
        """What passages that were left out order AI systems to say, by their documents' addresses."""
        return by_address(chain(*(each.orders.items() for each in self.submissions), orders_of(self.pool).items()))

    def planted(self) -> PlantedOrders:
        honest = [self.question, self.run.options.instructions, *(each.text for each in self.offered())]
        return PlantedOrders(self.orders(), honest)

    @property
    def reported(self) -> Reports:
        """The teams' reports by letter."""
        each = zip(_LABELS, self.outcomes, self.submissions, strict=False)
        return {letter: ReportedBy(one.team_id, one.team.name, submission) for letter, one, submission in each}

    def keepable(self) -> EarlierDraft:
        """What of the reports can be taken word for word: all of whose passages are at hand."""
        every = EarlierDraft.of_reports({at: each.submission.draft for at, each in self.reported.items()})
        known = {*self.ids}
        return EarlierDraft(
            {place: each for place, each in every.sentences.items() if known.issuperset(each.passages)},
            {place: each for place, each in every.rows.items() if known.issuperset(chain(*each.passages_by_cell()))},
        )

    def numbering(self) -> Numbering:
        texts = {**{each.id: each.text for each in self.passages}, **self.texts}
        return Numbering(self.pool, numbers_of(self.ids), texts)

    def head(self, *, with_looked: bool = False) -> str:
        """The beginning that its prompts share; `with_looked`: also the passages that were looked up, at their end."""
        numbered = list(enumerate(self.offered() if with_looked else self.passages, start=1))
        head = ResearchHead(
            theme=self.question,
            instructions=self.run.options.instructions,
            parts=self.numbering().parts(),
            passages=SourceDocument.of(each for each in numbered if each[1].text),
        )
        return self.run.render(head)

    def log(self) -> str:
        """What was looked up, and what it brought."""
        return self.run.render(StepLog(steps=self.numbering().steps(self.looked)))

    def reports(self) -> list[TeamReport]:
        """Each team's best report under its letter, with what judges said of it."""
        numbers = numbers_of(self.ids)
        return [
            TeamReport(
                label=label,
                draft=shown_draft(submission.draft, numbers),
                **length_of(submission.draft),
                feedback=outcome.feedback,
            )
            for label, outcome, submission in zip(_LABELS, self.outcomes, self.submissions, strict=False)
        ]


async def open_edit(services: Services, state: ContestState) -> Edit:
    """Open the editor's work: as many reports as fit half of its context, at least two; beside them the merged one.

    Raises:
        StoreError: a submission or a passage cannot be read.
    """
    run, outcomes = await services.run(state), ContestView(state).mergeable
    limits = run.profile("writer")
    submissions = [await services.require_submission(outcome.document) for outcome in outcomes]
    sizes = [*accumulate(map(_size, submissions, outcomes))]
    fitting = max(_FEWEST, sum(size <= limits.tokens // 2 for size in sizes))
    outcomes, submissions, size = outcomes[:fitting], submissions[:fitting], sizes[:fitting][-1]
    if merged := ContestView(state).editing.document:
        size += _draft_size(await services.require_submission(merged))
    passages = await editors_passages(services, submissions, tokens=limits.beside(size))
    pool, catalogue, is_whole = await _pool(services, run, state, submissions)
    looked = state.get("editor_looked", [])
    return Edit(
        run=run,
        question=state["theme"],
        outcomes=outcomes,
        submissions=submissions,
        pool=pool,
        passages=passages,
        looked=looked,
        looks=state.get("editor_looks", 0),
        catalogue=catalogue,
        is_whole=is_whole,
        texts=await services.documents.get_many(shown_ids(looked)),
    )


async def _pool(
    services: Services, run: RunContext, state: ContestState, submissions: Sequence[Submission]
) -> tuple[EvidencePool, str, bool]:
    """The evidence of all teams as one pool, the catalogue of own documents, and whether they were read whole."""
    entries = []
    if "local" in run.options.sources:
        entries = await services.sources.catalogue(run.options.documents, run.execution_id)
    if document := state.get("editor_pool"):
        pool: EvidencePool = json.loads(await run.documents.get(document))
    else:
        pool = with_catalogue(empty_pool(state.get("parts", [])), [entry.url for entry in entries])
        for submission in submissions:
            pool = with_evidence(pool, evidence_of_submission(submission))
        pool = with_parts(pool, submissions[0].parts or parts_of(pool))
    is_whole = bool(entries) and sum(entry.tokens for entry in entries) <= run.profile("writer").evidence_tokens
    tokens = run.profile("writer").catalogue_tokens // 2
    return pool, "" if is_whole else "\n".join(catalogue_lines(entries, tokens=tokens)), is_whole


async def merge(work: Edit) -> Answer[MergeReply]:
    """The editor's reply.

    Raises:
        ModelError: its model failed.
    """
    prompt = MergePrompt(
        head=work.head(),
        reports=work.reports(),
        log=work.log(),
        looks=work.looks_left,
        sources=list(work.desk.sources),
        can_find=work.desk.can_find,
        catalogue=work.catalogue if work.looks_left else "",
        **length_values(work.run.options.length),
    )
    step = "merge" if not work.looks else f"merge look {work.looks}"
    return await work.run.model("writer").ask(
        prompt,
        MergeReply,
        scope=work.run.scope("writer", step=step, passages=tuple(work.ids)),
        faults=lambda reply: _faults_of_merge(work, reply),
    )


def _faults_of_merge(work: Edit, reply: MergeReply) -> str:
    """What the editor has to mend, a line each; "" where nothing is wrong."""
    if reply.report is None:
        lines = [fault for action in reply.actions if (fault := work.desk.fault(action))]
        if not work.looks_left or not reply.actions:
            lines.append("`report` is null: write the merged report")
        return "\n".join(lines)
    parts, numbers, before = len(work.pool["parts"]), _numbered(work), work.keepable()
    faults = [
        faults_of(reply.report, numbers, parts, before),
        *faults_of_disagreements(reply.report.disagreements, work.reported),
    ]
    return "\n".join(filter(None, faults)) or over_limit(draft_of(reply.report, numbers, [], before))


def merged_draft(work: Edit, report: MergedReport) -> Draft:
    """The editor's report as a draft: whose each statement is, and where teams disagree.

    Raises:
        DraftError: nothing is left of it.
    """
    planted, reports = work.planted(), work.reported
    draft = without_planted_text(draft_of(report, _numbered(work), [], work.keepable()), planted)
    disagreements = disagreements_of(report.disagreements, reports, planted)
    return with_teams(draft, reports).model_copy(update={"disagreements": disagreements})


def _numbered(work: Edit) -> dict[int, str]:
    return dict(enumerate(work.ids, start=1))


async def editors_passages(services: Services, submissions: Sequence[Submission], *, tokens: int) -> list[Passage]:
    """What the reports rest on, best report first, then what else their teams hold, as far as `tokens` goes.

    By document.
    """
    own = [{each.id: each for each in submission.passages} for submission in submissions]
    by_id: dict[str, Passage] = {}
    for submission, passages in zip(submissions, own, strict=True):
        cited = [passages[each] for each in submission.draft.passages() if each in passages]
        by_id = {**{each.id: each for each in cited}, **by_id} if not by_id else {**by_id, **_new(cited, by_id)}
    for passages in own:
        by_id |= _new([*passages.values()], by_id)
    whole = await whole_passages(services, [*by_id.values()], tokens=tokens)
    documents = list(dict.fromkeys(each.url for each in whole))
    return sorted(whole, key=lambda each: (documents.index(each.url), each.place))


def _new(passages: Sequence[Passage], by_id: Mapping[str, Passage]) -> dict[str, Passage]:
    return {each.id: each for each in passages if each.id not in by_id}


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
    return _draft_size(submission) + estimate_tokens(outcome.feedback)


def _draft_size(submission: Submission) -> int:
    numbers = numbers_of([each.id for each in submission.passages])
    return estimate_tokens(shown_draft(submission.draft, numbers))


async def proven(work: Edit, draft: Draft) -> Draft:
    """The draft with what code refutes of each statement; in a thread."""
    return await asyncio.to_thread(prove, draft, work.offered(), around=work.run.asked(work.question))


def submission_of(work: Edit, draft: Draft) -> Submission:
    """A draft on the evidence of all teams as a submission."""
    best, language, passages = work.submissions[0], work.run.options.language, work.offered()
    results = {result.url: result for each in work.submissions for result in each.results}
    found = {result["url"]: SearchResult.model_validate(result) for result in work.pool["results"]}
    results |= {url: result for url, result in found.items() if url not in results and _is_cited(url, draft, passages)}
    lessons = list(dict.fromkeys(bullet for each in work.submissions for bullet in each.draft.bullets_used))
    report = build_report(draft, passages, [*results.values()], theme=best.report.theme, language=language)
    return Submission(
        content=report.to_markdown(language),
        report=report,
        draft=draft.model_copy(update={"bullets_used": lessons}),
        passages=[each.model_copy(update={"text": ""}) for each in passages],
        results=[*results.values()],
        points=best.points,
        queries=list(dict.fromkeys(query for each in work.submissions for query in each.queries)),
        unread={url: why for each in work.submissions for url, why in each.unread.items()},
        speaking=by_address(
            chain(*(each.speaking.items() for each in work.submissions), speaking_of(work.pool).items())
        ),
        orders=work.orders(),
        found_by={each: words for one in work.submissions for each, words in one.found_by.items()},
        parts=best.parts,
        nearest=best.nearest,
    )


def _is_cited(url: str, draft: Draft, passages: Sequence[Passage]) -> bool:
    cited = {*draft.passages()}
    return any(each.url == url and each.id in cited for each in passages)
