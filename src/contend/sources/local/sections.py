"""What a hit brings: the whole section that the passage stands in, as far as a reader needs it. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from contend.sources.passages import TextPiece
from contend.text import compact_tables, estimate_tokens

SECTION_TOKENS = 700
"""About so long is a section that is offered whole; a longer one is parted between paragraphs, items or rows."""

LONGEST_TOKENS = 1_400
"""A section with a table stays whole up to here, and no paragraph is cut below."""

_LONGEST_LEAD = 300
_ROW = "|"
_ITEM = re.compile(r"[-*+•‣]\s|\d{1,3}[.)]\s|[>・]")


class DocumentSection(NamedTuple):
    """A section, or a part of a long one, under its headings as `Outer › Inner`."""

    heading: str
    text: str
    tokens: int


class Sections(NamedTuple):
    """The sections of a document in order, and for each of its passages the place of the section that it stands in."""

    sections: list[DocumentSection]
    places: list[int]


def sections_of(pieces: Sequence[TextPiece]) -> Sections:
    """The sections that a document's passages make; each passage stands in exactly one."""
    sizes = [estimate_tokens(piece.text) for piece in pieces]
    parts = [
        part
        for _, numbers in groupby(range(len(pieces)), key=lambda number: pieces[number].section)
        for part in _parts(pieces, sizes, list(numbers))
    ]
    places = [place for place, part in enumerate(parts) for _ in part]
    return Sections([_section(pieces, part) for part in parts], places)


def _parts(pieces: Sequence[TextPiece], sizes: Sequence[int], numbers: Sequence[int]) -> Iterator[range]:
    """The passages of a section in parts of about equal size, cut where a paragraph, an item or a row begins."""
    total = sum(sizes[number] for number in numbers)
    most = LONGEST_TOKENS if any(_has_rows(pieces[number]) for number in numbers) else SECTION_TOKENS
    share = total if total <= most else total / -(-total // SECTION_TOKENS)
    begin, tokens = numbers[0], 0
    for number in numbers:
        size = sizes[number]
        full = tokens + size / 2 > share and _may_begin(pieces[number])
        if tokens and (full or tokens + size > LONGEST_TOKENS):
            yield range(begin, number)
            begin, tokens = number, 0
        tokens += size
    yield range(begin, numbers[-1] + 1)


def _has_rows(piece: TextPiece) -> bool:
    return piece.text.startswith(_ROW) or f"\n{_ROW}" in piece.text


def _may_begin(piece: TextPiece) -> bool:
    is_item = piece.text.startswith(_ROW) or _ITEM.match(piece.text)
    return piece.gap == "\n\n" or (piece.gap == "\n" and bool(is_item))


def _section(pieces: Sequence[TextPiece], part: range) -> DocumentSection:
    first, *others = pieces[part.start : part.stop]
    text = _lead(pieces, part.start) + first.text + "".join(piece.gap + piece.text for piece in others)
    return DocumentSection(first.heading, text, estimate_tokens(compact_tables(text)))


def _lead(pieces: Sequence[TextPiece], begin: int) -> str:
    """What a table or list that was cut is read with: the table's names of columns, the line before the list."""
    if not begin or pieces[begin].gap != "\n" or pieces[begin].section != pieces[begin - 1].section:
        return ""
    before = [piece for piece in pieces[:begin] if piece.section == pieces[begin].section]
    lines = [line for piece in before for line in piece.text.split("\n")]
    if pieces[begin].text.startswith(_ROW):
        rows = _last_run(lines, lambda line: line.startswith(_ROW))
        return "".join(f"{row}\n" for row in rows[:2])
    if _ITEM.match(pieces[begin].text):
        items = _last_run(lines, lambda line: not line or bool(_ITEM.match(line)))
        above = lines[: len(lines) - len(items)][-1:]
        return "".join(f"{line}\n" for line in above if len(line) <= _LONGEST_LEAD)
    return ""


def _last_run(lines: Sequence[str], belongs: Callable[[str], bool]) -> Sequence[str]:
    return list(takewhile(belongs, reversed(lines)))[::-1]
