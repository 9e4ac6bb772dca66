"""What a check by code finds in a draft, for its reviewer and its writer."""

import asyncio
import re
from collections.abc import Iterator, Sequence

from contend.checks import Claim, PassageText, check_claim
from contend.models.research import Draft, Passage, PlacedSentence

_SURE = frozenset({"year", "figure"})
"""Rules whose marks are shown: of those that compare words, most alarms on a strong model's sentences are false."""

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


async def marks_of(draft: Draft, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """Stated sentences with a year or a figure that stands in no passage at all, by place. In a thread."""
    return await asyncio.to_thread(lambda: list(_marks(draft, passages)))


def _marks(draft: Draft, passages: Sequence[Passage]) -> Iterator[dict[str, str]]:
    texts = {each.id: PassageText(each.id, each.title, each.text) for each in passages}
    figures = {number for each in passages for number in _DIGITS.findall(f"{each.title}\n{each.heading}\n{each.text}")}
    for placed in draft.placed():
        if placed.sentence.kind == "stated" and (told := "; ".join(_told(placed, texts, figures))):
            yield {"place": placed.place, "text": told}


def _told(placed: PlacedSentence, texts: dict[str, PassageText], figures: set[str]) -> Iterator[str]:
    named = [texts[each] for each in placed.sentence.passages if each in texts]
    for mark in check_claim(Claim(text=placed.sentence.text), named).marks:
        digits = _DIGITS.findall(mark.detail)
        if mark.rule in _SURE and digits and figures.isdisjoint(digits):
            yield mark.line
