"""What judges see: a submission whole, each statement under its place, with the passages that its team had; or two."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from contend.models.research import CitedSentence, Draft, Passage
from contend.models.submission import Submission
from contend.prompts.judging import ComparePrompt
from contend.prompts.research import ShownPassage, SourceDocument
from contend.research.ask import with_texts
from contend.research.draft_view import shown_draft
from contend.research.evidence import numbers_of
from contend.research.gathering import cited_ids
from contend.services import Services
from contend.team.metrics.rejection import whole_text
from contend.text import compact_tables, estimate_tokens, squeezed

INVENTED = "?"
"""Stands in a statement's brackets for a source that its team never had at hand."""


class ReportView(NamedTuple):
    """The text; `structured`: it names places such as `2.1.3`, and `passages` by the numbers at which they stand."""

    text: str
    structured: bool
    passages: Sequence[Passage] = ()
    invented: bool = False

    @property
    def numbers(self) -> dict[str, int]:
        return numbers_of([passage.id for passage in self.passages])


async def report_view(services: Services, submission: Submission, *, tokens: int, beside: int) -> ReportView:
    """The whole report, and the passages that its team had at hand, or only the cited where `tokens` are too few.

    Of what it does not cite as much as `beside` holds with what it cites; in all calls on a team's reports in the same
    order.

    Whatever a draft says stands on one line behind its place, so that nothing in it looks like a turn of the judge's
    own conversation, a heading or a verdict.
    """
    if not submission.passages:
        return ReportView(whole_text(submission.content), structured=False)
    passages = await _judged_passages(services, submission, tokens=tokens, beside=beside)
    view = ReportView("", structured=True, passages=passages)
    at_hand = {each.id for each in submission.passages}
    unknown = {each: INVENTED for each in cited_ids(submission.draft) if each not in at_hand}
    text = shown_draft(submission.draft, {**view.numbers, **unknown}, basis=False)
    return view._replace(text=text, invented=bool(unknown))


async def _judged_passages(
    services: Services, submission: Submission, *, tokens: int, beside: int
) -> Sequence[Passage]:
    passages = await with_texts(services, submission.passages)
    sizes = {each.id: estimate_tokens(compact_tables(each.text)) for each in passages}
    ids = set(cited_ids(submission.draft)) & sizes.keys()
    least = sum(sizes[each] for each in ids)
    if least > tokens:
        return await cited_passages(services, submission, tokens=tokens)
    room, view = min(tokens, beside) - least, []
    for each in passages:
        if each.id in ids:
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
    ends = list(accumulate(estimate_tokens(compact_tables(each.text)) for each in whole))
    return [each for each, end in zip(whole, ends, strict=True) if end <= tokens] or whole[:1]


class PairView(NamedTuple):
    """The texts of both, and the disputed passages; both texts name passages by the numbers in `numbers`.

    `others`: the cited passages that are not shown, by title.
    """

    texts: tuple[str, str]
    passages: Sequence[Passage] = ()
    numbers: Mapping[str, int | str] = {}
    others: Sequence[Passage] = ()
    structured: bool = True

    def prompt(self, *, user_query: str, instructions: str, criteria: str) -> ComparePrompt:
        """What the judge is asked; `criteria` are listed by number."""
        return ComparePrompt(
            user_query=user_query,
            instructions=instructions,
            criteria=criteria,
            submissions=self.texts,
            structured=self.structured,
            invented=INVENTED in self.numbers.values(),
            passages=SourceDocument.of((int(self.numbers[each.id]), each) for each in self.passages),
            others=[ShownPassage.of(each, self.numbers[each.id]) for each in self.others],
        )


async def pair_view(services: Services, first: Submission, second: Submission, *, tokens: int) -> PairView:
    """What a judge of the pair sees; the passages, from both in turn, as far as `tokens` goes.

    Submissions that no research of contend wrote are shown as they were given.
    """
    if not (first.passages and second.passages):
        texts = (whole_text(first.content), whole_text(second.content))
        return PairView(texts, structured=False)
    # In both orders of a pair the prompts begin alike.
    one, other = sorted((first, second), key=lambda each: each.content)
    by_id = {each.id: each for each in (*one.passages, *other.passages)}
    ids = dict.fromkeys([*cited_ids(one.draft), *cited_ids(other.draft)])
    # Of teams that had the same passages at hand, each has the number that writers and judges know it by.
    numbers = dict.fromkeys(ids, INVENTED) | numbers_of(list(by_id))
    at_issue = [by_id[each] for each in disputed(one.draft, other.draft) if each in by_id]
    whole = {each.id: each for each in await whole_passages(services, at_issue, tokens=tokens)}
    return PairView(
        (shown_draft(first.draft, numbers, basis=False), shown_draft(second.draft, numbers, basis=False)),
        [whole[each] for each in by_id if each in whole],
        numbers,
        [each for each in by_id.values() if each.id in ids and each.id not in whole],
    )


def disputed(first: Draft, second: Draft) -> list[str]:
    """The ids of the passages behind statements that two drafts make or found differently, those of both in turn."""
    lists = (_of_own_statements(first, second), _of_own_statements(second, first))
    longest = max(map(len, lists))
    return list(dict.fromkeys(ids[place] for place in range(longest) for ids in lists if place < len(ids)))


def _of_own_statements(draft: Draft, other: Draft) -> Sequence[str]:
    others = {_statement(each) for each in other.sentences()}
    return [each for one in draft.sentences() if _statement(one) not in others for each in one.passages]


def _statement(sentence: CitedSentence) -> tuple[str, frozenset[str]]:
    return squeezed(sentence.text), frozenset(sentence.passages)
