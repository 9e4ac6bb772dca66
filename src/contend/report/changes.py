"""What two reports say differently, statement by statement."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from pydantic import Field

from contend.models.record import Record
from contend.report.ledger import LedgerStatement
from contend.text.characters import CJK


class WordSpan(Record):
    """Words of two statements that correspond, and which of the two has them."""

    text: str
    side: Literal["both", "first", "second"]


class StatementChanges(Record):
    """The distinct statements of two reports, without emphasis and citations.

    `common`: how many stand in both, word for word. `changed`: pairs that correspond, each as its words in order; those
    of `both` and `first` make up the first report's statement, those of `both` and `second` the second's. Two
    correspond if at least half of their words are the same, in the same order; each is paired once, with the one most
    alike. In Japanese, each character counts as a word.
    """

    common: int = Field(ge=0)
    changed: list[list[WordSpan]]
    only_first: list[str]
    only_second: list[str]


def statement_changes(first: Iterable[LedgerStatement], second: Iterable[LedgerStatement]) -> StatementChanges:
    """Compare two ledgers. Pairs come in the order of the second one. Blocking, for long reports up to seconds."""
    all_ours, all_theirs = _texts(first), _texts(second)
    ours, theirs = (
        [each for each in own if each not in other] for own, other in ((all_ours, all_theirs), (all_theirs, all_ours))
    )
    pairs = sorted(_pairs(ours, theirs), key=lambda pair: pair.second)
    return StatementChanges(
        common=len(all_ours) - len(ours),
        changed=[[*_spans(ours[pair.first], theirs[pair.second])] for pair in pairs],
        only_first=_without(ours, (pair.first for pair in pairs)),
        only_second=_without(theirs, (pair.second for pair in pairs)),
    )


def _without(texts: Sequence[str], places: Iterable[int]) -> list[str]:
    left_out = {*places}
    return [text for place, text in enumerate(texts) if place not in left_out]


_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def _texts(statements: Iterable[LedgerStatement]) -> list[str]:
    """The statements as they are read: the text of their Markdown."""
    inlines = (_MARKDOWN.parseInline(each.text)[0].children or [] for each in statements)
    return list(dict.fromkeys("".join(part.content for part in inline) for inline in inlines))


_TOKEN = re.compile(rf"[{CJK}]|−?\d+(?:[.,]\d+)*|[^\W\d_{CJK}]+|[^\w\s]|_|\s+")


def _tokens(text: str) -> list[str]:
    """Words, numbers, signs, and the space between them."""
    return _TOKEN.findall(text)


def _words(text: str) -> list[str]:
    return [token for token in _tokens(text) if not token.isspace()]


class _Pair(NamedTuple):
    """The places of two statements that correspond, and how alike they are, 0.0 to 1.0."""

    first: int
    second: int
    alike: float


_LEAST_ALIKE = 0.5


def _pairs(ours: Sequence[str], theirs: Sequence[str]) -> list[_Pair]:
    """Each statement at most once, the most alike before others."""
    pairs: list[_Pair] = []
    for pair in sorted(_alike(ours, theirs), key=lambda pair: -pair.alike):
        if all(pair.first != other.first and pair.second != other.second for other in pairs):
            pairs.append(pair)
    return pairs


def _alike(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_Pair]:
    """All that could be paired."""
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    our_words = [*map(_words, ours)]
    for second, text in enumerate(theirs):
        matcher.set_seq2(_words(text))
        for first, words in enumerate(our_words):
            matcher.set_seq1(words)
            # Bounds of the ratio, which cost less than it.
            if matcher.real_quick_ratio() < _LEAST_ALIKE or matcher.quick_ratio() < _LEAST_ALIKE:
                continue
            if (alike := matcher.ratio()) >= _LEAST_ALIKE:
                yield _Pair(first, second, alike)


def _spans(one: str, other: str) -> Iterator[WordSpan]:
    ours, theirs = _tokens(one), _tokens(other)
    removed, added = "", ""
    for kind, first, first_end, second, second_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        own, new = "".join(ours[first:first_end]), "".join(theirs[second:second_end])
        # Space alone between changed words is no match of its own.
        if kind == "equal" and own.strip():
            yield from _changed(removed, added)
            yield WordSpan(text=own, side="both")
            removed, added = "", ""
        else:
            removed, added = removed + own, added + new
    yield from _changed(removed, added)


def _changed(removed: str, added: str) -> Iterator[WordSpan]:
    if removed:
        yield WordSpan(text=removed, side="first")
    if added:
        yield WordSpan(text=added, side="second")
