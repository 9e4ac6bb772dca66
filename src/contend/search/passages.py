"""Split a question into parts, and choose what to show of each section found."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from contend.models.research import FoundPassage
from contend.search.editions import Edition
from contend.text import (
    clean,
    detect_language,
    normalize,
    split_blocks,
    split_sentences,
    terms,
    without_item_mark,
)
from contend.text.characters import CJK, HAN

_CHARACTERS = {"en": 700, "ja": 350}
"""About how many characters of a section are shown."""

_NUMBER = re.compile(r"(?:(?<![\w.,(（])(\d{1,2})[.)）．、](?!\d)|(?<![A-Za-z\d])[(（](\d{1,2})[)）]|([①-⑳]))\s*")
_OTHER_STOPS = re.compile(r"(?<=[؟।॥])\s*")
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_{CJK}]+")
_CHARACTER_RUN = re.compile(rf"[{HAN}]+|[\u30a1-\u30fa\u30fc]+")
_RULER = re.compile(r"\|?[\s:|-]+\Z")


class NearPassage(NamedTuple):
    """A passage word for word, in blocks of Markdown. `words`: the terms that it shares with the part.

    `newest`: the newest edition of its document; None if it is the newest itself.
    """

    url: str
    title: str
    heading: str
    blocks: tuple[str, ...]
    words: frozenset[str]
    newest: Edition | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.blocks)


class PartPassages(NamedTuple):
    """A part of the question and the passages nearest to it."""

    part: str
    passages: list[NearPassage]


def parts_in(question: str) -> list[str]:
    """The parts of a question: its sentences, lines and numbered items, or all of it if there is only one.

    A line that only introduces others, such as `Tell me:`, is not a part.
    """
    lines = [line.strip() for item in _items(clean(question)) for line in item.splitlines()]
    stops = [piece for line in lines for piece in _OTHER_STOPS.split(without_item_mark(line))]
    parts = [sentence.strip() for piece in stops for sentence in split_sentences(piece)]
    apart = [part for part in parts if terms(part) and not part.endswith((":", "："))]
    return list(dict.fromkeys(apart)) or [" ".join(clean(question).split())]


def _items(text: str) -> Iterator[str]:
    """Split a text at numbers that count from 1, as in `1. … 2. …` or `(1) … (2) …`."""
    marks: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        if int(normalize(match[match.lastindex or 0])) == len(marks) + 1:
            marks.append(match)
    begin = 0
    for mark in marks if marks[1:] else []:
        yield text[begin : mark.start()]
        begin = mark.end()
    yield text[begin:]


def content_terms(text: str) -> frozenset[str]:
    """The content terms of a part: word stems; for Japanese and Chinese, pairs of kanji or katakana.

    In Japanese, everything between those is grammar.
    """
    plain = normalize(text)
    pairs = (run[place : place + 2] for run in _CHARACTER_RUN.findall(plain) for place in range(max(1, len(run) - 1)))
    return frozenset([*pairs, *(term for word in _WORD.findall(plain) for term in terms(word))])


def shown_passages(part: str, hits: Sequence[FoundPassage], newest: dict[str, Edition]) -> list[NearPassage]:
    """What to show of the hits, in their order. Hits that share no term with the part are left out."""
    wanted = content_terms(part)
    shown = (_shown(wanted, hit, newest.get(hit.result.url)) for hit in hits)
    return [passage for passage in shown if passage.words and passage.blocks]


def _shown(wanted: frozenset[str], hit: FoundPassage, newest: Edition | None) -> NearPassage:
    title, heading = hit.result.title, hit.heading
    excerpt = _excerpt([*split_blocks(hit.text)], wanted, _CHARACTERS[detect_language(hit.text)])
    words = wanted.intersection(terms("\n".join([title, heading, *excerpt])))
    return NearPassage(hit.result.url, title, heading, tuple(excerpt), words, newest)


def _excerpt(blocks: Sequence[str], wanted: frozenset[str], most: int) -> list[str]:
    """The consecutive blocks, or sentences of a long block, with the most terms in about `most` characters."""
    units = [(place, text) for place, block in enumerate(blocks) for text in _sentences(block, most)]
    found = [wanted.intersection(terms(text)) for _, text in units]
    best, words = range(0), -1
    for begin in range(len(units)):
        end, size = begin, 0
        while end < len(units) and (end == begin or size + len(units[end][1]) <= most):
            size += len(units[end][1])
            end += 1
        count = len(frozenset().union(*found[begin:end]))
        best, words = (range(begin, end), count) if count > words else (best, words)
    runs = groupby(units[best.start : best.stop], key=lambda unit: unit[0])
    joined = [_joined([text for _, text in run]) for _, run in runs]
    return [*_table_head(blocks, units[best.start][0]), *joined] if joined else []


def _sentences(block: str, most: int) -> list[str]:
    return [block] if len(block) <= most or is_row(block) or is_code(block) else split_sentences(block)


def _joined(sentences: Sequence[str]) -> str:
    return ("" if detect_language(sentences[0]) == "ja" else " ").join(sentences)


def _table_head(blocks: Sequence[str], place: int) -> list[str]:
    """The column names, and the line below them, of the table in which an excerpt begins."""
    begin = place
    while begin and is_row(blocks[begin]) and is_row(blocks[begin - 1]):
        begin -= 1
    head = list(blocks[begin : min(place, begin + 2)])
    return head if head[1:] and _RULER.match(head[1]) else []


def is_row(block: str) -> bool:
    return block.startswith("|")


def is_code(block: str) -> bool:
    return block.startswith(("```", "~~~"))


def is_ruler(block: str) -> bool:
    """Whether a row is the line below the column names."""
    return is_row(block) and _RULER.match(block) is not None
