"""The revision of a report that a person sent back with a comment: by its writer, or by the editor."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command

from contend.contest.edit import editors_passages, with_all_texts
from contend.contest.state import ContestState, ContestUpdate, ContestView
from contend.errors import ContendError
from contend.evidence.pool import numbers_of
from contend.langgraph_compat import known_cause
from contend.models.evaluation import Submission
from contend.models.options import TeamConfig
from contend.models.replies import RevisionReply
from contend.models.research import Draft, Passage
from contend.prompts.research import ResearchHead, RevisePrompt, SourceDocument
from contend.report import build_report
from contend.run_context import RunContext
from contend.services import Services
from contend.text import WORDS, estimate_tokens
from contend.writing import (
    PlantedOrders,
    faults_of_revision,
    length_of,
    over_limit,
    prove,
    revise,
    shown_draft,
    target_length,
    without_planted_text,
)


@dataclass(frozen=True)
class Revision:
    """What a writer needs to mend a report."""

    run: RunContext
    question: str
    parts: int
    comment: str
    draft: Draft
    passages: list[Passage]
    orders: Mapping[str, Sequence[str]]
    """What passages that were left out order AI systems to say, by their documents' addresses."""
    team: TeamConfig | None
    """The team whose model writes; None for the editor, which uses the run's model."""


@dataclass(frozen=True)
class RevisingNodes:
    """From a person's comment to the report that they are asked about again."""

    services: Services

    async def revise_report(self, state: ContestState) -> ContestUpdate:
        """Revise what the comment asks for and keep everything else word for word."""
        submission = await self.services.require_submission(state["submission"])
        work = await open_revision(self.services, state, submission)
        draft, not_done = await revised_draft(work)
        words = WORDS[work.run.options.language].notes
        document = await self.services.submissions.put(_with_draft(submission, draft, work))
        problem = words.left_undone.format(what="; ".join(not_done)) if not_done else ""
        return {"submission": document, "revision": "done", "problem": problem}

    async def keep_report(self, state: ContestState, error: NodeError) -> Command[Literal["approve_report"]]:
        """Keep the report unchanged and tell the person why."""
        words = WORDS[state["options"]["language"]].notes
        problem = words.not_revised.format(why=known_cause(error, ContendError))
        return Command(update={"revision": "failed", "problem": problem}, goto="approve_report")


async def open_revision(services: Services, state: ContestState, submission: Submission) -> Revision:
    """The report's draft with the passages that it rests on, as many as the writer reads beside it."""
    run, view = await services.run(state), ContestView(state)
    team = None if view.editing.published or view.winner is None else view.winner.team
    size = estimate_tokens(_draft_text(submission.draft, submission.passages)) + estimate_tokens(state["comment"])
    room = run.profile("writer", team=team).beside(size)
    passages = await with_all_texts(services.documents, [submission])
    passages = editors_passages([submission], passages, tokens=room)
    parts = len(state.get("parts", []))
    return Revision(run, state["theme"], parts, state["comment"], submission.draft, passages, submission.orders, team)


def _draft_text(draft: Draft, passages: Sequence[Passage]) -> str:
    """A draft for the prompt, with the numbers of the passages shown there."""
    return shown_draft(draft, numbers_of([passage.id for passage in passages]))


async def revised_draft(work: Revision) -> tuple[Draft, list[str]]:
    """The draft with what changes, and what the writer left undone."""
    run, draft, passages = work.run, work.draft, work.passages
    options = run.options
    head = ResearchHead(
        theme=work.question, instructions=options.instructions, passages=SourceDocument.of_passages(passages)
    )
    prompt = RevisePrompt(
        head=run.render(head),
        **length_of(draft, target_length(options.length, work.parts)),
        draft=_draft_text(draft, passages),
        fixes=work.comment,
    )
    ids = dict(enumerate((passage.id for passage in passages), start=1))
    revised = partial(revise, draft, ids=ids, bullets=[])
    answer = await run.model("writer", team=work.team).ask(
        prompt,
        RevisionReply,
        scope=run.scope("writer", step="comment", passages=tuple(passage.id for passage in passages)),
        faults=lambda reply: faults_of_revision(reply, draft, ids, work.parts) or over_limit(revised(reply=reply)),
    )
    await run.keep_calls([answer.usage])
    honest = [work.question, options.instructions, work.comment, *(each.text for each in passages)]
    new = without_planted_text(revised(reply=answer.value), PlantedOrders(work.orders, honest))
    around = f"{run.asked(work.question)}\n{work.comment}"
    return await asyncio.to_thread(prove, new, passages, around=around), answer.value.not_done


def _with_draft(submission: Submission, draft: Draft, work: Revision) -> Submission:
    language = work.run.options.language
    report = build_report(draft, work.passages, submission.results, theme=submission.report.theme, language=language)
    return submission.model_copy(update={"content": report.to_markdown(language), "report": report, "draft": draft})
