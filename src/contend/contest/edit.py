"""What the editor works on: the teams' best reports, the evidence of all teams, and the report merged of them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from contend.contest.agreement import (
    ReportedBy,
    Reports,
    disagreements_of,
    faults_of_disagreements,
    with_teams,
)
from contend.contest.state import ContestState, ContestView, TeamOutcome
from contend.evidence import Desk, EvidencePool, Step, empty_pool, evidence_of_submission, with_texts
from contend.evidence.actions import desk_of
from contend.evidence.pool import numbers_of, parts_of, passages_of, with_catalogue, with_evidence, with_parts
from contend.evidence.screening import by_address, orders_of, speaking_of
from contend.llm import Answer
from contend.models.evaluation import Submission
from contend.models.replies import MergedReport, MergeReply
from contend.models.research import Draft, Part, Passage, SearchResult
from contend.prompts.research import MergePrompt, ResearchHead, SourceDocument, StepLog, TeamReport
from contend.report import build_report
from contend.research.prompting import Numbering, shown_ids
from contend.run_context import RunContext
from contend.services import Services
from contend.sources.catalogue import catalogue_lines
from contend.stores.documents import DocumentStore
from contend.team.judge_view import fitting_passages
from contend.text import estimate_tokens
from contend.writing import (
    EarlierDraft,
    PlantedOrders,
    draft_of,
    faults_of,
    length_of,
    over_limit,
    prove,
    shown_draft,
    target_length,
    without_planted_text,
)

_MOST_LOOKS = 1
"""How often the editor may look things up before merging."""
FEWEST_REPORTS = 2
"""Fewer reports are not merged."""
_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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
        return max(0, _MOST_LOOKS - self.looks)

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
        """The statements that can be taken word for word: those whose passages are all at hand."""
        every = EarlierDraft.of_reports({at: each.submission.draft for at, each in self.reported.items()})
        at_hand = {*self.ids}
        return EarlierDraft(
            {place: each for place, each in every.sentences.items() if at_hand.issuperset(each.passages)},
            {place: each for place, each in every.rows.items() if at_hand.issuperset(chain(*each.passages_by_cell()))},
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
                **length_of(submission.draft, target_length(self.run.options.length, len(self.pool["parts"]))),
                feedback=outcome.feedback,
            )
            for label, outcome, submission in zip(_LABELS, self.outcomes, self.submissions, strict=False)
        ]


async def open_edit(services: Services, state: ContestState) -> Edit:
    """Open the editor's work: as many reports as fit half of its context, at least two; beside them the merged one.

    Raises:
        StoreError: a submission or a passage cannot be read.
    """
    run, view = await services.run(state), ContestView(state)
    limits, outcomes = run.profile("writer"), view.mergeable
    submissions = [await services.require_submission(outcome.document) for outcome in outcomes]
    sizes = [*accumulate(map(_size, submissions, outcomes))]
    fitting = max(FEWEST_REPORTS, sum(size <= limits.tokens // 2 for size in sizes))
    outcomes, submissions, size = outcomes[:fitting], submissions[:fitting], sizes[:fitting][-1]
    if merged := view.editing.document:
        size += _draft_size(await services.require_submission(merged))
    passages = await with_all_texts(services.documents, submissions)
    own = []
    if "local" in run.options.sources:
        own = await services.sources.catalogue(run.options.documents, run.execution_id)
    is_whole = bool(own) and sum(entry.tokens for entry in own) <= limits.evidence_tokens
    if document := state.get("editor_pool"):
        pool: EvidencePool = json.loads(await run.documents.get(document))
    else:
        pool = _pool(submissions, with_catalogue(empty_pool(state.get("parts", [])), [entry.url for entry in own]))
    looked = state.get("editor_looked", [])
    return Edit(
        run=run,
        question=state["theme"],
        outcomes=outcomes,
        submissions=submissions,
        pool=pool,
        passages=editors_passages(submissions, passages, tokens=limits.beside(size)),
        looked=looked,
        looks=state.get("editor_looks", 0),
        catalogue="" if is_whole else "\n".join(catalogue_lines(own, tokens=limits.catalogue_tokens // 2)),
        is_whole=is_whole,
        texts=await services.documents.get_many(shown_ids(looked)),
    )


def _pool(submissions: Sequence[Submission], pool: EvidencePool) -> EvidencePool:
    """The evidence of all teams as one pool."""
    for submission in submissions:
        pool = with_evidence(pool, evidence_of_submission(submission))
    return with_parts(pool, _noted_parts(submissions) or parts_of(pool))


def _noted_parts(submissions: Sequence[Submission]) -> list[Part]:
    """The parts as the best report's team left them, with what every team's researcher noted of each."""
    return [
        part.model_copy(
            update={"notes": [*dict.fromkeys(note for each in submissions for note in _notes_of(each, number))]}
        )
        for number, part in enumerate(submissions[0].parts)
    ]


def _notes_of(submission: Submission, number: int) -> list[str]:
    return submission.parts[number].notes if number < len(submission.parts) else []


async def ask_to_merge(work: Edit) -> Answer[MergeReply]:
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
        **target_length(work.run.options.length, len(work.pool["parts"])),
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
    """The editor's report as a draft, with the teams behind each statement and their disagreements.

    Raises:
        DraftError: nothing is left of it.
    """
    planted, reports = work.planted(), work.reported
    draft = without_planted_text(draft_of(report, _numbered(work), [], work.keepable()), planted)
    disagreements = disagreements_of(report.disagreements, reports, planted)
    return with_teams(draft, reports).model_copy(update={"disagreements": disagreements})


def _numbered(work: Edit) -> dict[int, str]:
    return dict(enumerate(work.ids, start=1))


async def with_all_texts(documents: DocumentStore, submissions: Sequence[Submission]) -> list[Passage]:
    """The submissions' passages, each once, with their texts."""
    at_hand = {each.id: each for submission in submissions for each in submission.passages}
    return await with_texts(documents, [*at_hand.values()])


def editors_passages(submissions: Sequence[Submission], passages: Sequence[Passage], *, tokens: int) -> list[Passage]:
    """What the reports rest on, best report first, then what else their teams hold, as far as `tokens` goes.

    By document. `passages`: the submissions', with their texts.
    """
    texts = {each.id: each for each in passages}
    own = [{each.id: each for each in submission.passages} for submission in submissions]
    by_id: dict[str, Passage] = {}
    for submission, at_hand in zip(submissions, own, strict=True):
        cited = [at_hand[each] for each in submission.draft.passages() if each in at_hand]
        by_id = {**{each.id: each for each in cited}, **by_id} if not by_id else {**by_id, **_new(cited, by_id)}
    for at_hand in own:
        by_id |= _new([*at_hand.values()], by_id)
    every = [texts[each] for each in by_id]
    whole = fitting_passages(every, tokens=tokens) or every[:1]
    documents = list(dict.fromkeys(each.url for each in whole))
    return sorted(whole, key=lambda each: (documents.index(each.url), each.place))


def _new(passages: Sequence[Passage], by_id: Mapping[str, Passage]) -> dict[str, Passage]:
    return {each.id: each for each in passages if each.id not in by_id}


def _size(submission: Submission, outcome: TeamOutcome) -> int:
    """Roughly how many tokens a report takes in the editor's prompt, with what judges said of it."""
    return _draft_size(submission) + estimate_tokens(outcome.feedback)


def _draft_size(submission: Submission) -> int:
    numbers = numbers_of([each.id for each in submission.passages])
    return estimate_tokens(shown_draft(submission.draft, numbers))


async def proven(work: Edit, draft: Draft) -> Draft:
    """The draft with what code refutes of each statement; in a thread."""
    return await asyncio.to_thread(prove, draft, work.offered(), around=work.run.asked(work.question))


def merged_submission(work: Edit, draft: Draft) -> Submission:
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
