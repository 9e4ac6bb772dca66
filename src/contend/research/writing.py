"""The nodes that write and review a draft, and what code looks up of what a draft calls not found."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contend.errors import BudgetExhausted, ModelError
from contend.evidence import Action
from contend.evidence.pool import hold
from contend.models.research import Draft, Passage
from contend.prompts.research import MarkedPlace
from contend.research.asking import mend_statements, planted_in, review_draft, write_draft
from contend.research.nodes import to_write_from
from contend.research.state import ResearchState, ResearchUpdate
from contend.research.submitting import printed, results_with_summaries, with_nearest
from contend.research.work import Research, cost_update, open_research
from contend.services import Services
from contend.text import shorten
from contend.writing import marks_of, not_found_words, prove, without_planted_text


@dataclass(frozen=True)
class WritingNodes:
    """Writer and reviewer of one team in one round."""

    services: Services

    async def write(self, state: ResearchState) -> ResearchUpdate:
        """The draft, or what of it changes; the model names sources, code renders the citations."""
        work = await open_research(self.services, state)
        passages = await work.with_texts(work.passages)
        draft, usage = await write_draft(work, passages, _shown(state.get("marks", [])))
        draft = await _proven(work, without_planted_text(draft, planted_in(work, passages)), passages)
        work = replace(work, draft=draft, drafts=work.drafts + 1)
        text = printed(work, draft, passages, await results_with_summaries(work))
        document = await self.services.documents.put(text)
        statements = work.how_many(len(draft.sentences()), "statements")
        work.tell_step("write", statements, iteration=work.drafts, document=document)
        tried, actions = _lookups(work, state.get("tried", []))
        return {
            "draft_report": draft.model_dump(mode="json"),
            "current_draft": text,
            "written_from": [passage.id for passage in passages],
            "marks": marks_of(draft, work.options.language),
            "iteration_count": work.drafts,
            "feedback": None,
            "accepted": False,
            "looks": 0,
            "looked": [],
            "actions": actions,
            "tried": tried,
            **cost_update(work, usage),
        }

    async def mend(self, state: ResearchState) -> ResearchUpdate:
        """The draft with those of its statements written anew that code has refuted; what stays so is struck out."""
        work = await open_research(self.services, state)
        if work.draft is None:
            raise TypeError("nothing to mend")
        passages = await work.with_texts(work.passages)
        try:
            draft, usage = await mend_statements(work, work.draft, passages)
        except (ModelError, BudgetExhausted):  # the draft stands; what code refutes of it is struck out
            return {"mended": work.drafts}
        draft = await _proven(work, without_planted_text(draft, planted_in(work, passages)), passages)
        text = printed(work, draft, passages, await results_with_summaries(work))
        document = await self.services.documents.put(text)
        work.tell_step(
            "write", work.how_many(len(draft.sentences()), "statements"), iteration=work.drafts, document=document
        )
        return {
            "draft_report": draft.model_dump(mode="json"),
            "current_draft": text,
            "marks": marks_of(draft, work.options.language),
            "mended": work.drafts,
            **cost_update(work, usage),
        }

    async def review(self, state: ResearchState) -> ResearchUpdate:
        """The reviewer looks into the sources, then accepts the draft or says what to mend."""
        work, usages = await with_nearest(await open_research(self.services, state))
        if work.draft is None:
            raise TypeError("a review without a draft")
        nearest = list(dict.fromkeys(each for part in work.pool["parts"] for each in part["nearest"]))
        try:
            review = await review_draft(work, work.draft, _shown(state.get("marks", [])), nearest)
        except BudgetExhausted:  # the draft stands
            return {"accepted": True, "feedback": "", "actions": []}
        cost = cost_update(work, *usages, review.usage)
        if review.actions:
            return {"actions": review.actions, "looks": work.looks + 1, "pool": await work.keep_pool(work.pool), **cost}
        # What a fix rests on is held, also where the team's own evidence takes all the room.
        pool, _ = hold(work.pool, review.passages(), room=work.room * 5 // 4)
        work = work.with_pool(pool)
        passages = to_write_from(work)
        # Where nothing is to be mended, another review would find nothing either.
        accepted = not review.reply.fixes
        feedback = "" if accepted else review.text()
        work.tell_step("review", shorten(feedback, 80) or "accepted", iteration=work.drafts, feedback=feedback)
        return {
            "pool": await work.keep_pool(pool),
            "passages": passages,
            "accepted": accepted,
            "feedback": feedback,
            "actions": [],
            **cost,
        }


async def _proven(work: Research, draft: Draft, passages: Sequence[Passage]) -> Draft:
    """The draft with what code refutes of each statement; in a thread."""
    return await asyncio.to_thread(prove, draft, passages, around=work.run.asked(work.question))


def _shown(marks: Sequence[Mapping[str, str]]) -> list[MarkedPlace]:
    return [MarkedPlace(place=mark["place"], text=mark["text"]) for mark in marks]


def _lookups(work: Research, tried: Sequence[str]) -> tuple[list[str], list[Action]]:
    """Searches in every source for what the draft calls not found and nobody has searched for yet."""
    if work.draft is None or work.mends_only or (work.pool["whole"] and len(work.sources_on) == 1):
        return [*tried], []
    words = [(part, text) for part, text in not_found_words(work.draft) if text not in tried]
    actions = [
        Action(kind="search", source=source, text=text, parts=[part], by="draft")
        for part, text in words
        for source in work.sources_on
    ]
    return [*tried, *(text for _, text in words)], actions
