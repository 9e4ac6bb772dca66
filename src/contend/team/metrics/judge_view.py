"""A submission as judges read it: whole, each statement under its place, with the passages that its team had."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from contend.models.research import Passage
from contend.models.submission import Submission
from contend.research.ask import with_texts
from contend.research.drafts import shown_draft
from contend.research.evidence import numbers_of
from contend.research.gathering import cited_ids
from contend.services import Services
from contend.team.metrics.rejection import whole_text
from contend.text import estimate_tokens

INVENTED = "?"
"""Stands in a statement's brackets for a source that its team never had at hand."""


class ShownReport(NamedTuple):
    """The text; `structured`: it names places such as `2.1.3`, and `passages` by the numbers at which they stand."""

    text: str
    structured: bool
    passages: Sequence[Passage] = ()
    invented: bool = False

    @property
    def numbers(self) -> dict[str, int]:
        return numbers_of([passage.id for passage in self.passages])


async def shown_report(services: Services, submission: Submission, *, tokens: int, beside: int) -> ShownReport:
    """The whole report, and the passages that its team had at hand, or only the cited where `tokens` are too few.

    Of what it does not cite as much as `beside` holds with what it cites; in all calls on a team's reports in the same
    order.

    Whatever a draft says stands on one line behind its place, so that nothing in it looks like a turn of the judge's
    own conversation, a heading or a verdict.
    """
    if not submission.passages:
        return ShownReport(whole_text(submission.content), structured=False)
    passages = await _judged_passages(services, submission, tokens=tokens, beside=beside)
    view = ShownReport("", structured=True, passages=passages)
    at_hand = {each.id for each in submission.passages}
    unknown = {each: INVENTED for each in cited_ids(submission.draft) if each not in at_hand}
    text = shown_draft(submission.draft, {**view.numbers, **unknown}, basis=False)
    return view._replace(text=text, invented=bool(unknown))


async def _judged_passages(
    services: Services, submission: Submission, *, tokens: int, beside: int
) -> Sequence[Passage]:
    passages = await with_texts(services, submission.passages)
    sizes = {each.id: estimate_tokens(each.text) for each in passages}
    cited = set(cited_ids(submission.draft)) & sizes.keys()
    needed = sum(sizes[each] for each in cited)
    if needed > tokens:
        return await cited_passages(services, submission, tokens=tokens)
    room, view = min(tokens, beside) - needed, []
    for each in passages:
        if each.id in cited:
            view.append(each)
        elif sizes[each.id] <= room:
            view.append(each)
            room -= sizes[each.id]
    return view


def reference_numbers(submission: Submission) -> dict[str, int]:
    """The number in the report's references of each passage's document, by the passage's id."""
    numbers = {source.url: number for number, source in enumerate(submission.report.sources, start=1)}
    return {each.id: numbers[each.url] for each in submission.passages if each.url in numbers}


async def cited_passages(services: Services, submission: Submission, *, tokens: int) -> list[Passage]:
    """The passages that the draft cites, whole, in its order, as far as `tokens` goes; at least one."""
    by_id = {each.id: each for each in submission.passages}
    passages = [by_id[each] for each in cited_ids(submission.draft) if each in by_id]
    return await whole_passages(services, passages, tokens=tokens)


async def whole_passages(services: Services, passages: Sequence[Passage], *, tokens: int) -> list[Passage]:
    """The passages with their texts, uncut, as many of the first as take at most `tokens`; at least one."""
    whole = await with_texts(services, passages)
    ends = list(accumulate(estimate_tokens(each.text) for each in whole))
    return [each for each, end in zip(whole, ends, strict=True) if end <= tokens] or whole[:1]
