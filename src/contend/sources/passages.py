"""Split documents into passages, the unit of search and citation, and sections, which a hit shows whole. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise, takewhile
from typing import NamedTuple

from contend.sources.readers.document import without_page
from contend.text import (
    SENTENCE_STOPS,
    compact_tables,
    detect_language,
    estimate_tokens,
    split_blocks,
    split_sentences,
    without_anchor,
)

_CHARACTERS = {"en": 700, "ja": 350}
_MOST = 4
"""A sentence or code block longer than this many passages is cut."""

_HEADING = re.compile(r"(#{1,6})(?:\s+|\Z)")
_RULE = re.compile(r"([-*_=]\s?){3,}\Z")
_CODE = re.compile(r"```|~~~")
_BOLD_LINE = re.compile(r"(?:\*\*(?P<name>[^*\n]{1,150})\*\*|__(?P<other>[^_\n]{1,150})__):?\Z")
_QUESTION = re.compile(r"(?![|>]|[-*+•‣] |```)[^\n]{8,200}[?？]\Z")
_CLAUSE = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3}){1,5}\.?|§ ?\d+\S{0,9}|第[\d〇一二三四五六七八九十百千]{1,6}[条章節項](?:の\d)?)[\s（(]"
)
_LONGEST_LABEL = 150
_LEAST_LABELS = 2
"""At least this many lines of a kind must head something: a single one may be a note or a question to the reader."""
_STOPS = (*SENTENCE_STOPS, ",", "、", ";")
_ITEM_MARK = re.compile(r"[-*+•‣]\s|\d{1,3}[.)]\s|[|>・]")


class TextPiece(NamedTuple):
    """A passage, and its headings as `Outer › Inner`."""

    heading: str
    text: str
    section: int = 0
    """The number of its heading in the document."""
    gap: str = ""
    """The white space before it."""


def split_passages(markdown: str) -> list[TextPiece]:
    """Passages of about 700 characters (Japanese: 350), cut only between sentences, never within a code block.

    A longer sentence or block stays whole up to four times that length. Only rules, white space and headings are
    dropped; headings go to `heading`.
    """
    limit = _CHARACTERS[detect_language(markdown[:20_000])]
    sections = list(_sections(markdown, limit)) or [("", [markdown.strip()])]
    return [
        TextPiece(heading, text, number, gap)
        for number, (heading, blocks) in enumerate(sections)
        for text, gap in _pack(_units(blocks, limit), limit)
    ]


def _sections(markdown: str, limit: int) -> Iterator[tuple[str, list[str]]]:
    """The path of each heading, with the blocks below it."""
    all_blocks = [block for block in split_blocks(markdown) if not _RULE.match(block)]
    labels = _labels(all_blocks, limit)
    path: list[tuple[int, str]] = []
    label = ""
    blocks: list[str] = []
    for number, block in enumerate(all_blocks):
        heading = _HEADING.match(block)
        own_label = labels.get(number)
        ends = heading is not None or (own_label is not None and (own_label or label) != "")
        if ends and blocks:
            yield _path(path, label), blocks
            blocks = []
        if heading:
            level = len(heading[1])
            name = without_anchor(block[heading.end() :].rstrip("#").rstrip())
            path = [*(above for above in path if above[0] < level), *([(level, name)] if name else [])]
            label = label if _is_page(block) else ""
        elif not own_label:
            blocks.append(block)
        label = label if own_label is None else own_label
    if blocks:
        yield _path(path, label), blocks


def _path(headings: Sequence[tuple[int, str]], label: str) -> str:
    """The path with the label, before a page number if there is one: a label may cover several pages."""
    names = [name for _, name in headings]
    place = len(names) - 1 if names and not without_page(names[-1]) else len(names)
    return " › ".join([*names[:place], *([label] if label else []), *names[place:]])


def _is_page(block: str) -> bool:
    heading = _HEADING.match(block)
    return heading is not None and len(block) > heading.end() and not without_page(block[heading.end() :])


def _labels(blocks: Sequence[str], limit: int) -> dict[int, str]:
    """Lines that act as headings: bold ones, questions, numbered clauses.

    Names by block number; "" if the text below is so short that the line stays with it.
    """
    kinds = {number: kind for number, block in enumerate(blocks) if (kind := _label_kind(block))}
    heading = [number for number in kinds if _heads(blocks, number, kinds)]
    counts = Counter(kinds[number] for number in heading)
    numbers = [number for number in heading if counts[kinds[number]] >= _LEAST_LABELS]
    return {
        number: _label_name(blocks[number]) if _size_beneath(blocks[number + 1 : end]) > limit else ""
        for number, end in pairwise([*numbers, len(blocks)])
    }


def _label_kind(block: str) -> str:
    if _BOLD_LINE.match(block):
        return "bold"
    if _QUESTION.match(block) and len(split_sentences(block)) == 1:
        return "question"
    if len(block) <= _LONGEST_LABEL and not block.endswith(_STOPS) and _CLAUSE.match(block):
        return "number"
    return ""


def _heads(blocks: Sequence[str], number: int, kinds: Mapping[int, str]) -> bool:
    """Whether the line can head what follows; a bold line above a table is its caption."""
    if number + 1 >= len(blocks) or number + 1 in kinds or _HEADING.match(blocks[number + 1]):
        return False
    return not blocks[number + 1].startswith(_ROW)


def _label_name(block: str) -> str:
    bold = _BOLD_LINE.match(block)
    return (bold["name"] or bold["other"]).rstrip(":： ") if bold else block


def _size_beneath(blocks: Sequence[str]) -> int:
    return sum(map(len, takewhile(lambda block: not _HEADING.match(block) or _is_page(block), blocks)))


def _units(blocks: Sequence[str], limit: int) -> Iterator[str]:
    """The parts to pack: blocks or their sentences, each with the lines that lead to it."""
    leads = ""
    for number, block in enumerate(blocks):
        parts = list(_parts(block, limit))
        if len(parts) == 1 and len(leads) + len(block) <= limit and _leads_on(block, blocks[number + 1 : number + 2]):
            leads += parts[0]
            continue
        yield leads + parts[0]
        yield from parts[1:]
        leads = ""
    if leads:
        yield leads


def _leads_on(block: str, following: Sequence[str]) -> bool:
    """Whether a block is a line that needs what follows, such as a term, a caption or `These are:`."""
    if not following or len(block) > _LONGEST_LEAD or block.startswith((_ROW, "```", "~~~")):
        return False
    if block.endswith((":", "：")) or _BOLD_LINE.match(block):
        return True
    return _is_bare(block) and not _is_bare(following[0])


def _is_bare(block: str) -> bool:
    """Whether it is a short line and no sentence."""
    return len(block) <= _LONGEST_BARE and not _ITEM_MARK.match(block) and not block.endswith((*_STOPS, ":", "：", "`"))


def _parts(block: str, limit: int) -> Iterator[str]:
    """The whole block if it fits, else its sentences, else cut by length; with the gap before it."""
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
    """Sentences, each with the white space after it."""
    begin = 0
    for sentence in split_sentences(block):
        end = block.index(sentence, begin) + len(sentence)
        while end < len(block) and block[end].isspace():
            end += 1
        yield block[begin:end]
        begin = end


def _pack(parts: Iterable[str], limit: int) -> Iterator[tuple[str, str]]:
    """Pack parts up to the limit, or a fifth above it if a short part would be left alone.

    A numbered clause starts a new passage, unless the one before is short. Each with the white space before it.
    """
    text = gap = ""
    for part in parts:
        room = limit if len(part) > limit // 5 else limit + limit // 5
        if _CLAUSE.match(part.lstrip()):
            room = limit // 3
        if text.strip() and len(text) + len(part) > room:
            yield text.strip(), gap + _leading(text)
            text, gap = "", text[len(text.rstrip()) :]
        text += part
    if text.strip():
        yield text.strip(), gap + _leading(text)


def _leading(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


_SECTION_TOKENS = 700
"""The usual maximum of a section; a longer one is split between paragraphs, items or rows."""

LONGEST_TOKENS = 1_400
"""A section with a table stays whole up to this length, and so does a paragraph."""

_LONGEST_LEAD = 300
_LONGEST_BARE = 100
_ROW = "|"
_SEPARATOR = re.compile(r"\|[-:| ]+\Z")
_ITEM = re.compile(r"[-*+•‣]\s|\d{1,3}[.)]\s|[>・]")


class DocumentSection(NamedTuple):
    """A section, or a part of a long one, with its headings as `Outer › Inner`."""

    heading: str
    text: str
    tokens: int
    place: int
    """Its number in the document, from 1."""
    passages: range
    """The numbers of its passages in the document, from 0."""


class SectionSize(NamedTuple):
    """How many passages a section has, and its estimated tokens."""

    passages: int
    tokens: int


def sections_of(pieces: Sequence[TextPiece], sizes: Sequence[SectionSize] | None = None) -> list[DocumentSection]:
    """The sections of a document from its passages, in order; each passage is in exactly one.

    `sizes`: the section sizes, if known; computing them takes most of the time.
    """
    sizes = section_sizes(pieces) if sizes is None else sizes
    starts = accumulate((count for count, _ in sizes), initial=0)
    parts = [(range(start, start + count), tokens) for start, (count, tokens) in zip(starts, sizes, strict=False)]
    return [
        DocumentSection(pieces[part.start].heading, _text(pieces, part), tokens, place, part)
        for place, (part, tokens) in enumerate(parts, start=1)
    ]


def section_sizes(pieces: Sequence[TextPiece]) -> list[SectionSize]:
    """The size of each section of a document, from its passages."""
    tokens = [estimate_tokens(piece.text) for piece in pieces]
    return [
        SectionSize(len(part), estimate_tokens(compact_tables(_text(pieces, part))))
        for _, numbers in groupby(range(len(pieces)), key=lambda number: pieces[number].section)
        for part in _ranges(pieces, tokens, list(numbers))
    ]


def sections_between(sections: Sequence[DocumentSection], first: int, last: int) -> Sequence[DocumentSection]:
    """The sections from one place to another, counted from 1; at least the nearest one, if there are any."""
    begin = min(max(first, 1), len(sections))
    return sections[begin - 1 : max(begin, last)]


def _ranges(pieces: Sequence[TextPiece], sizes: Sequence[int], numbers: Sequence[int]) -> Iterator[range]:
    """Split a section's passages into parts of about equal size, where a paragraph, item or row starts."""
    total = sum(sizes[number] for number in numbers)
    has_rows = any(f"\n{_ROW}" in f"\n{pieces[number].text}" for number in numbers)
    most = LONGEST_TOKENS if has_rows else _SECTION_TOKENS
    share = total if total <= most else total / -(-total // _SECTION_TOKENS)
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


def _text(pieces: Sequence[TextPiece], part: range) -> str:
    first, *others = pieces[part.start : part.stop]
    return _lead(pieces, part.start) + first.text + "".join(piece.gap + piece.text for piece in others)


def _lead(pieces: Sequence[TextPiece], begin: int) -> str:
    """The context of a table or list that was cut: the table's column names, or the line before the list."""
    if not begin or pieces[begin].gap != "\n" or pieces[begin].section != pieces[begin - 1].section:
        return ""
    before = [piece for piece in pieces[:begin] if piece.section == pieces[begin].section]
    lines = [line for piece in before for line in piece.text.split("\n")]
    if pieces[begin].text.startswith(_ROW):
        rows = _last_run(lines, lambda line: line.startswith(_ROW))
        caption = [line for line in lines[: len(lines) - len(rows)][-1:] if line and _leads_on(line, rows)]
        names = rows[:2] if _SEPARATOR.match("".join(rows[1:2])) else []
        return "".join(f"{line}\n" for line in [*caption, *names])
    if _ITEM.match(pieces[begin].text):
        items = _last_run(lines, lambda line: not line or bool(_ITEM.match(line)))
        above = lines[: len(lines) - len(items)][-1:]
        return "".join(f"{line}\n" for line in above if len(line) <= _LONGEST_LEAD)
    return ""


def _last_run(lines: Sequence[str], belongs: Callable[[str], bool]) -> Sequence[str]:
    return list(takewhile(belongs, reversed(lines)))[::-1]
