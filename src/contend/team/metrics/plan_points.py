"""Whether a text answers the points of a plan: one measure for reviewer, metrics and the record."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from contend.models.research import GENERATED_AT
from contend.text import (
    WORDS,
    detect_language,
    ja,
    split_blocks,
    split_sentences,
    squeezed,
    terms,
    without_item_mark,
    without_marks,
)

COVERED = 0.5
"""A point is answered where this share of its content stands in the text; chosen on `benchmarks/judging.toml`."""

_LEAST_TERMS = 2

_REFERENCES = tuple(f"## {words.headings.references}" for words in WORDS.values())
_NO_TEXT = re.compile(rf"#{{1,6}}\s|{re.escape(GENERATED_AT)}|```|~~~|\||[-*_=]{{3,}}\Z")
_ASKING = re.compile(f"(?:{ja.ASKS})")
_QUESTION = re.compile(r"[?？][\"'”’»)\]」』）*_`]*\Z")
_NAMING = re.compile(ja.CONTENT_WORD)


def uncovered_points(points: Sequence[str], markdown: str) -> list[str]:
    """The points of whose content too little stands in a report's statements; those that name nothing are left out."""
    return list(_uncovered(tuple(points), markdown))


@lru_cache(maxsize=64)
def _uncovered(points: tuple[str, ...], markdown: str) -> tuple[str, ...]:
    """Kept, because a metric and the round's record both ask for a submission's."""
    present = {term for sentence in statements(markdown, besides=points) for term in terms(sentence)}
    return tuple(point for point in points if not _is_answered(point, present))


def _is_answered(point: str, present: AbstractSet[str]) -> bool:
    """Whether enough of it is said; what names nothing needs no answer."""
    content = set(terms(content_of(point)))
    count = len(content & present)
    return count >= min(len(content), _LEAST_TERMS) and count >= COVERED * len(content)


def statements(markdown: str, *, besides: Collection[str] = ()) -> list[str]:
    """The sentences of a report without its questions and `besides`: to repeat a point is not to answer it."""
    others = {squeezed(text) for text in besides}
    sentences = (sentence for block in body_blocks(markdown) for sentence in split_sentences(without_item_mark(block)))
    return [each for each in sentences if squeezed(each) not in others and not _QUESTION.search(each)]


def names_something(point: str) -> bool:
    """Whether there is anything to look for."""
    return bool(terms(content_of(point)))


def content_of(point: str) -> str:
    """What an answer must name. Japanese points without asking words, particles and endings: answers word those anew.

    English ones lose theirs as stop words.
    """
    if detect_language(point) != "ja":
        return point
    return " ".join(_NAMING.findall(_ASKING.sub(" ", point))) or point


def body_blocks(markdown: str) -> list[str]:
    """What a report says: no headings, no code, no tables, no references, no citation marks."""
    blocks = []
    for block in split_blocks(markdown):
        if block.startswith(_REFERENCES):
            break
        if not _NO_TEXT.match(block):
            blocks.append(without_marks(block))
    return blocks
