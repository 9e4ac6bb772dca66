"""Documents to passages, the unit of search and citation, and to sections, which a hit brings whole. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from contend.text import compact_tables, detect_language, estimate_tokens, split_blocks, split_sentences, without_anchor

_CHARACTERS = {"en": 700, "ja": 350}
_MOST = 4
"""A sentence or code block of more than this many passages' length is not one, and is cut."""

_HEADING = re.compile(r"(#{1,6})\s+")
_RULE = re.compile(r"([-*_=]\s?){3,}\Z")
_CODE = re.compile(r"```|~~~")
_ITEM_MARK = re.compile(r"[-*+•‣]\s|\d{1,3}[.)]\s|[|>・]")


class TextPiece(NamedTuple):
    """A passage, and the headings it stands under as `Outer › Inner`."""

    heading: str
    text: str
    section: int = 0
    """The number in its document of the text that stands under one heading."""
    gap: str = ""
    """The white space between the passage before it and this one."""


def split_passages(markdown: str) -> list[TextPiece]:
    """Passages of about 700 characters (Japanese: 350), cut only between sentences, never within a code block.

    A sentence or block longer than that stays whole, up to four times the length. Nothing is lost but headings, which
    go to `heading`, rules and white space.
    """
    limit = _CHARACTERS[detect_language(markdown[:20_000])]
    sections = list(_sections(markdown)) or [("", [markdown.strip()])]
    return [
        TextPiece(heading, text, number, gap)
        for number, (heading, blocks) in enumerate(sections)
        for text, gap in _pack((part for block in blocks for part in _parts(block, limit)), limit)
    ]


def _sections(markdown: str) -> Iterator[tuple[str, list[str]]]:
    """Each heading's path with the blocks beneath it."""
    path: list[tuple[int, str]] = []
    blocks: list[str] = []
    for block in split_blocks(markdown):
        heading = _HEADING.match(block)
        if heading is None:
            if not _RULE.match(block):
                blocks.append(block)
            continue
        if blocks:
            yield " › ".join(name for _, name in path), blocks
        level = len(heading[1])
        name = without_anchor(block[heading.end() :].rstrip("#").rstrip())
        path = [*(above for above in path if above[0] < level), (level, name)]
        blocks = []
    if blocks:
        yield " › ".join(name for _, name in path), blocks


def _parts(block: str, limit: int) -> Iterator[str]:
    """The block whole where it fits, else its sentences, else cut by length; with the gap that goes before it."""
    gap = "\n" if _ITEM_MARK.match(block) else "\n\n"
    most = _MOST * limit
    if len(block) <= limit or (_CODE.match(block) and len(block) <= most):
        yield gap + block
        return
    cut = block.splitlines(keepends=True) if _CODE.match(block) else _spaced_sentences(block)
    for sentence in cut:
        for start in range(0, len(sentence), most):
            yield gap + sentence[start : start + most]
            gap = ""


def _spaced_sentences(block: str) -> Iterator[str]:
    """Sentences, each with the white space that follows it."""
    begin = 0
    for sentence in split_sentences(block):
        end = block.index(sentence, begin) + len(sentence)
        while end < len(block) and block[end].isspace():
            end += 1
        yield block[begin:end]
        begin = end


def _pack(parts: Iterable[str], limit: int) -> Iterator[tuple[str, str]]:
    """Parts together up to the limit, or a fifth above it where a short part would else stand alone.

    Each with the white space that goes before it.
    """
    text = gap = ""
    for part in parts:
        room = limit if len(part) > limit // 5 else limit + limit // 5
        if text.strip() and len(text) + len(part) > room:
            yield text.strip(), gap + _leading(text)
            text, gap = "", text[len(text.rstrip()) :]
        text += part
    if text.strip():
        yield text.strip(), gap + _leading(text)


def _leading(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


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
    place: int
    """Which of the document's sections it is, from 1."""


class Sections(NamedTuple):
    """The sections of a document in order, and for each of its passages the index of the section that it stands in."""

    sections: list[DocumentSection]
    indexes: list[int]


def sections_of(pieces: Sequence[TextPiece]) -> Sections:
    """The sections that a document's passages make; each passage stands in exactly one."""
    sizes = [estimate_tokens(piece.text) for piece in pieces]
    parts = [
        part
        for _, numbers in groupby(range(len(pieces)), key=lambda number: pieces[number].section)
        for part in _ranges(pieces, sizes, list(numbers))
    ]
    indexes = [index for index, part in enumerate(parts) for _ in part]
    return Sections([_section(pieces, part, place) for place, part in enumerate(parts, start=1)], indexes)


def sections_between(sections: Sequence[DocumentSection], first: int, last: int) -> Sequence[DocumentSection]:
    """Those from one place to another, counted from 1; at least one where there are any, the nearest."""
    begin = min(max(first, 1), len(sections))
    return sections[begin - 1 : max(begin, last)]


def _ranges(pieces: Sequence[TextPiece], sizes: Sequence[int], numbers: Sequence[int]) -> Iterator[range]:
    """The passages of a section in parts of about equal size, cut where a paragraph, an item or a row begins."""
    total = sum(sizes[number] for number in numbers)
    has_rows = any(f"\n{_ROW}" in f"\n{pieces[number].text}" for number in numbers)
    most = LONGEST_TOKENS if has_rows else SECTION_TOKENS
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


def _may_begin(piece: TextPiece) -> bool:
    is_item = piece.text.startswith(_ROW) or _ITEM.match(piece.text)
    return piece.gap == "\n\n" or (piece.gap == "\n" and bool(is_item))


def _section(pieces: Sequence[TextPiece], part: range, place: int) -> DocumentSection:
    first, *others = pieces[part.start : part.stop]
    text = _lead(pieces, part.start) + first.text + "".join(piece.gap + piece.text for piece in others)
    return DocumentSection(first.heading, text, estimate_tokens(compact_tables(text)), place)


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
