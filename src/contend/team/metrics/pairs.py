"""Two submissions beside each other: both whole, and the passages behind what they say or cite differently."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contend.models.research import CitedSentence, Draft, Passage
from contend.models.submission import Submission
from contend.prompts.judging import ComparePrompt
from contend.prompts.passages import ShownPassage, SourceDocument
from contend.research.drafts import shown_draft
from contend.research.evidence import numbers_of
from contend.research.gathering import cited_ids
from contend.services import Services
from contend.team.metrics.judge_view import INVENTED, whole_passages
from contend.team.metrics.rejection import whole_text
from contend.text import squeezed


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
