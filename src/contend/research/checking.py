"""What a check by code finds in a draft: for its reviewer and its writer, and to tell which of two drafts is better."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from contend.checks import Claim, ClaimCheck, check_claim, passage_text
from contend.models.research import Draft, Passage, PlacedSentence
from contend.text import squeezed

MOST_MARKS = 20
"""So many are shown; more would drown the gravest."""


class CheckedDraft(NamedTuple):
    """A draft, and its statements with what the check found of each."""

    draft: Draft
    statements: list[tuple[PlacedSentence, ClaimCheck]]

    @property
    def marks(self) -> list[dict[str, str]]:
        """What to look at, by place, the least supported first."""
        doubtful = [each for each in self.statements if each[1].marks or each[1].level == "unsupported"]
        doubtful.sort(key=lambda each: each[1].support)
        return [{"place": placed.place, "text": _told(check)} for placed, check in doubtful[:MOST_MARKS]]

    @property
    def worth(self) -> float:
        """How many different statements hold, half of one that is only near, less those that nothing supports."""
        points = {"supported": 1.0, "near": 0.5, "not_needed": 0.5, "unsupported": -1.0}
        levels = {squeezed(placed.sentence.text): check.level for placed, check in self.statements}
        return sum(points[level] for level in levels.values())


async def better_draft(draft: Draft, before: Draft | None, passages: Sequence[Passage]) -> CheckedDraft:
    """The draft checked; the one before it, if less of the new one holds."""
    checked = await checked_draft(draft, passages)
    if before is None:
        return checked
    earlier = await checked_draft(before, passages)
    return earlier if earlier.worth > checked.worth else checked


async def checked_draft(draft: Draft, passages: Sequence[Passage]) -> CheckedDraft:
    """The draft against the whole passages that it names. Takes tenths of a second, in a thread."""
    return await asyncio.to_thread(_checked, draft, {passage.id: passage for passage in passages})


def _checked(draft: Draft, passages: dict[str, Passage]) -> CheckedDraft:
    texts = {each.id: passage_text(each) for each in passages.values()}
    statements = []
    for placed in draft.placed():
        sentence = placed.sentence
        expression = sentence.basis if sentence.kind == "derived" else ""
        named = [texts[each] for each in sentence.passages if each in texts]
        claim = Claim(text=sentence.text, kind=sentence.kind, expression=expression)
        check = check_claim(claim, named, list(texts.values()))
        statements.append((placed, check))
    return CheckedDraft(draft, statements)


def _told(check: ClaimCheck) -> str:
    lines = [mark.line for mark in check.marks]
    return "; ".join(lines) if lines else "the passages named do not seem to say this"
