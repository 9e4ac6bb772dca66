"""Keep text that sources order AI systems to write out of drafts, and name the source."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from contend.checks.injection import is_telling, marks, speaks_to_ai
from contend.checks.notations import bare
from contend.errors import DraftError
from contend.models.research import CitedSentence, Draft
from contend.writing.forms import with_passages, without


class PlantedOrders:
    """The sentences of sources that speak to AI systems, to recognize them in drafts."""

    def __init__(self, orders: Mapping[str, Sequence[str]], honest: Iterable[str]) -> None:
        """`orders`: sentences by their source's address; `honest`: the question, and all passages without orders."""
        self._honest = [*honest]
        each_order = [(url, order) for url, of_source in orders.items() for order in of_source]
        self._keys = [(url, key) for url, order in each_order if is_telling(key := bare(order))]
        marks_by_source = [(url, marks(order)) for url, order in each_order]
        honest_marks = (
            {mark for text in self._honest for mark in marks(text)} if any(own for _, own in marks_by_source) else set()
        )
        self._marks = {mark: url for url, own in marks_by_source for mark in own - honest_marks}

    def source_of(self, text: str) -> str | None:
        """The address of the source whose order the text repeats; "" if it is an order of no known source; else None.

        A text repeats an order if it contains it, if it is a part of it that no honest passage has, or if it has a code
        or an unusual name that appears only in orders.
        """
        key = bare(text)
        for url, order in self._keys:
            if order in key or (is_telling(key) and key in order and key not in self._told):
                return url
        if mark := next(iter(marks(text) & self._marks.keys()), None):
            return self._marks[mark]
        return "" if speaks_to_ai(text) else None

    @cached_property
    def _told(self) -> str:
        return bare("\n".join(self._honest))


def without_planted_text(draft: Draft, planted: PlantedOrders) -> Draft:
    """Remove statements, headings and a title that repeat the orders of sources. The draft names these sources.

    Raises:
        DraftError: no statement is left.
    """
    rest = _without(draft, lambda each: planted.source_of(each.text))
    sections = [
        section.model_copy(update={"heading": ""}) if planted.source_of(section.heading) is not None else section
        for section in rest.sections
    ]
    headings = {name: "" for name in ("title", "opening_heading") if planted.source_of(getattr(rest, name)) is not None}
    return rest.model_copy(update={**headings, "sections": sections})


def without_speaking(draft: Draft, speaking: Mapping[str, str]) -> Draft:
    """Remove passages that speak to AI systems from all statements, and the statements that cite nothing else.

    `speaking`: the address of the document, by the id of each such passage.

    Raises:
        DraftError: no statement is left.
    """

    def source_of(statement: CitedSentence) -> str | None:
        ids = statement.passages
        return speaking[ids[0]] if ids and all(each in speaking for each in ids) else None

    rest = _without(draft, source_of)
    return with_passages(rest, lambda each: {one: [one] for one in each.passages if one not in speaking})


def _without(draft: Draft, source_of: Callable[[CitedSentence], str | None]) -> Draft:
    """Remove the statements for which `source_of` gives a source. The draft names these sources."""
    sources = [url for each in draft.sentences() if (url := source_of(each)) is not None]
    if not sources:
        return draft
    rest = without(draft, lambda each: source_of(each) is not None)
    if rest is None:
        raise DraftError("the draft says nothing but what its sources order AI systems to say: leave these sources out")
    return rest.model_copy(update={"withheld": list(dict.fromkeys([*draft.withheld, *sources]))})
