"""The nodes that write and review, what a check by code finds in a draft, and the submission made of it."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command

from contend.checks import Claim, PassageText, check_claim
from contend.errors import BudgetExhausted, ContendError, DraftError
from contend.langgraph_compat import known_cause
from contend.models.evaluation import Submission
from contend.models.research import Draft, Passage, PlacedSentence, ResearchPlan
from contend.report import state_to_report
from contend.research import compact, full
from contend.research.ask import (
    cost_update,
    draft_to_mend,
    folders,
    how_many,
    passages_at_work,
    profile,
    tell_step,
    whole_results,
)
from contend.research.evidence import EvidencePool, at_work, pool_of, room_for, tokens_of, working_ids
from contend.research.planted import guard_of, speaking_of, without_planted_text
from contend.research.state import EMPTY_LIST, ResearchState, ResearchUpdate, SectionTask, WrittenSection
from contend.services import Services
from contend.text import shorten


@dataclass(frozen=True)
class WritingNodes:
    """Writer and reviewer of one team in one round."""

    services: Services

    async def write(self, state: ResearchState) -> ResearchUpdate:
        """The draft, or what of it changes; the model names sources, code renders the citations."""
        passages = await passages_at_work(self.services, state)
        best = await self.services.submission(state.get("best_submission"))
        if profile(state).compact:
            draft, usage = await compact.write(self.services, state, passages, best.content if best else "")
            update = await self._with_draft(state, draft, passages, marks=[])
        else:
            draft, usage = await full.write(self.services, state, passages, draft_to_mend(state, best))
            marks, later = await marks_of(draft, passages), await self._later_passages(state, draft)
            update = {**await self._with_draft(state, draft, passages, marks=marks), **later}
        return {**update, **await cost_update(self.services, state, usage)}

    async def _later_passages(self, state: ResearchState, draft: Draft) -> ResearchUpdate:
        """Of more than later calls hold: what the draft cites and what searches found best, in the documents' order."""
        pool, limits, ids = await pool_of(self.services, state), profile(state), draft.passages()
        if tokens_of(pool, {each["id"] for each in state["passages"]}) <= room_for(pool, ids, limits):
            return {}
        working = set(working_ids(pool, ids, tokens=limits.chosen_tokens // 2))
        return at_work(pool, [each["id"] for each in pool["passages"] if each["id"] in working])

    async def write_section(self, task: SectionTask) -> ResearchUpdate:
        """One section of a long report."""
        part = await (await self.services.run(task)).documents.get(task["research"])
        state: ResearchState = json.loads(part)
        passages = await passages_at_work(self.services, state)
        return {"written_sections": [await full.write_section(self.services, state, task["number"], passages)]}

    async def leave_unwritten(self, task: SectionTask, error: NodeError) -> Command[Literal["summarize"]]:
        """A section that could not be written is named to the reviewer; the others go on."""
        why = known_cause(error, ContendError)
        if isinstance(why, BudgetExhausted):
            raise why
        section: WrittenSection = {
            "number": task["number"], "section": None, "bullets": [], "usage": None, "failure": str(why)
        }  # fmt: skip
        # A failed node's edges are not followed: without this, sections that all fail would end the graph silently.
        return Command(update={"written_sections": [section]}, goto="summarize")

    async def summarize(self, state: ResearchState) -> ResearchUpdate:
        """A long report's sections together, with summary, findings and limits."""
        sections = sorted(state["written_sections"], key=lambda each: each["number"])
        usable = [each for each in sections if each["section"]]
        if not usable:
            raise DraftError(f"no section of the report could be written: {sections[0]['failure']}")
        passages = await passages_at_work(self.services, state)
        draft, usage = await full.summarize(self.services, state, passages, usable)
        failures = [(each["number"], each["failure"]) for each in sections if not each["section"]]
        missing = [{"place": f"section {number}", "text": f"not written: {why}"} for number, why in failures]
        calls = [each["usage"] for each in usable if each["usage"]]
        after_sections: ResearchState = {**state, "calls": [*state.get("calls", []), *calls]}
        return {
            **await self._with_draft(state, draft, passages, marks=[*missing, *await marks_of(draft, passages)]),
            **await self._later_passages(state, draft),
            "written_sections": EMPTY_LIST,
            **await cost_update(self.services, after_sections, usage),
        }

    async def _with_draft(
        self, state: ResearchState, draft: Draft, passages: Sequence[Passage], *, marks: list[dict[str, str]]
    ) -> ResearchUpdate:
        """What a new draft makes of the state."""
        draft = without_planted_text(draft, guard_of(state, passages))
        with_draft: ResearchState = {**state, "draft_report": draft.model_dump(mode="json")}
        report = state_to_report(with_draft, results=await whole_results(self.services, state), passages=passages)
        text = report.to_markdown(state["options"]["language"], folders=await folders(self.services, state))
        document = await self.services.documents.put(text)
        tell_step(
            self.services, state, "write", how_many(state, len(draft.sentences()), "statements"), document=document
        )
        return {
            "draft_report": draft.model_dump(mode="json"),
            "current_draft": text,
            "written_from": [passage.id for passage in passages],
            "marks": marks,
            "feedback": None,
            "gaps_searched": False,
        }

    async def review(self, state: ResearchState) -> ResearchUpdate:
        """The reviewer accepts, says what to mend, or asks for another search."""
        passages = await passages_at_work(self.services, state)
        if profile(state).compact:
            reply, usage = await compact.review(self.services, state, passages)
            review = ResearchUpdate(accepted=reply.accept, feedback=reply.feedback, more_queries=reply.more_queries)
        else:
            draft = Draft.model_validate(state["draft_report"])
            fixes, usage = await full.review(self.services, state, passages, draft)
            accept = fixes.accept and not fixes.fixes
            review = ResearchUpdate(accepted=accept, feedback=full.fixes_text(fixes), more_queries=fixes.gaps)
        feedback = "" if review["accepted"] else review["feedback"] or _wish(review["more_queries"])
        tell_step(self.services, state, "review", shorten(feedback, 80) or "accepted", feedback=feedback)
        return {**review, **await cost_update(self.services, state, usage)}


def _wish(queries: Sequence[str]) -> str:
    """What a reviewer wants that takes no draft and names nothing to mend."""
    return f"search for {'; '.join(queries)}" if queries else "write again"


_SURE = frozenset({"year", "figure"})
"""Rules whose marks are shown: of those that compare words, most alarms on a strong model's sentences are false."""

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


async def marks_of(draft: Draft, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """Stated sentences with a year or a figure that stands in no passage at all, by place. In a thread."""
    return await asyncio.to_thread(lambda: list(_marks(draft, passages)))


def _marks(draft: Draft, passages: Sequence[Passage]) -> Iterator[dict[str, str]]:
    texts = {each.id: PassageText(each.id, each.title, each.text) for each in passages}
    figures = {number for each in passages for number in _DIGITS.findall(f"{each.title}\n{each.heading}\n{each.text}")}
    for each in draft.placed_sentences():
        if each.sentence.kind == "stated" and (lines := "; ".join(_mark_lines(each, texts, figures))):
            yield {"place": each.place, "text": lines}


def _mark_lines(statement: PlacedSentence, texts: dict[str, PassageText], figures: set[str]) -> Iterator[str]:
    passages = [texts[each] for each in statement.sentence.passages if each in texts]
    for mark in check_claim(Claim(text=statement.sentence.text), passages).marks:
        digits = _DIGITS.findall(mark.detail)
        if mark.rule in _SURE and digits and figures.isdisjoint(digits):
            yield mark.line


async def submission_of(services: Services, state: ResearchState) -> Submission:
    """What the team hands in.

    Raises:
        DraftError: there is no draft, or too little text in it.
    """
    results, pool = await whole_results(services, state), await pool_of(services, state)
    report = state_to_report(state, results=results, passages=await passages_at_work(services, state))
    plan = ResearchPlan.model_validate(state["task_plan"])
    return Submission(
        content=report.to_markdown(state["options"]["language"], folders=await folders(services, state)),
        report=report,
        draft=Draft.model_validate(state["draft_report"]),
        passages=[Passage.model_validate(passage) for passage in state["passages"]],
        results=results,
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback=state.get("feedback") or "",
        unread=pool.get("unread", {}),
        speaking=speaking_of(pool),
        found_by=_found_by(state, pool),
    )


def _found_by(state: ResearchState, pool: EvidencePool) -> dict[str, str]:
    """The search that found each cited passage best; none where all documents were read whole."""
    if pool.get("whole"):
        return {}
    ids = Draft.model_validate(state["draft_report"]).passages()
    passages = [each for each in pool["passages"] if each["id"] in ids and each["queries"]]
    return {each["id"]: min(each["queries"], key=lambda query: each["queries"][query]) for each in passages}
