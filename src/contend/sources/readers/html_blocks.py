"""Tables and definition lists of HTML pages as Markdown blocks. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

_LONGEST_DEFINITION = 600
"""In characters, Japanese ones counted twice: a longer definition gets its term as heading."""
_LONGEST_TERM = 150
_LONGEST_CELL = 2_000
_MOST_SPAN = 100
_DEEPEST = 6
_STRUCTURE = re.compile(r"#|```|\||- ")
_INLINE_MARK = re.compile(r"\A(?:- |#{1,6} )")
_HEADING_OR_ROW = re.compile(r"#{1,6} |\|")
_CLOSING = re.compile(r"#{1,6}\Z")
_TERM_END = re.compile(r"[:：?？!！]\Z")


class Entry(str):
    """A term without a definition, as in tables of contents."""

    __slots__ = ()


class Cell(NamedTuple):
    """A cell's blocks, and how many columns and rows it spans."""

    blocks: list[str]
    columns: int = 1
    rows: int = 1
    is_name: bool = False


def span_of(value: str) -> int:
    """The value of a `colspan` or `rowspan`, 1 to 100."""
    return min(max(int(value), 1), _MOST_SPAN) if value.isascii() and value.isdecimal() else 1


def table_blocks(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The rows below their column names; for a table that is only layout, its content."""
    filled = [row for row in rows if any(cell.blocks for cell in row)]
    cells = [cell for row in filled for cell in row]
    if len(filled) < 2 or max(map(len, filled)) < 2 or not all(map(_is_data, cells)):  # noqa: PLR2004 - a table has two
        return [block for row in filled for block in _framed(row)]
    names, *others = _grid(filled)
    has_names = any(cell.is_name for cell in filled[0])
    return [_row(names), *([_row(["---"] * len(names))] if has_names else []), *map(_row, others)]


def _is_data(cell: Cell) -> bool:
    return sum(map(len, cell.blocks)) <= _LONGEST_CELL and not any(map(_HEADING_OR_ROW.match, cell.blocks))


def _framed(row: Sequence[Cell]) -> list[str]:
    cells = [cell.blocks for cell in row if cell.blocks]
    if all(len(blocks) == 1 and not _STRUCTURE.match(blocks[0]) for blocks in cells):
        return [" | ".join(blocks[0] for blocks in cells)]
    return [block for blocks in cells for block in blocks]


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """The texts of each row; a cell over several rows is repeated, one over several columns is in the first."""
    above: dict[int, tuple[str, int]] = {}
    grid: list[list[str]] = []
    for row in rows:
        texts: list[str] = []
        cells = iter(row)
        cell = next(cells, None)
        while cell or above.get(len(texts), ("", 0))[1]:
            text, left = above.pop(len(texts), ("", 0))
            if left or cell is None:
                texts.append(text)
                above |= {len(texts) - 1: (text, left - 1)} if left > 1 else {}
                continue
            for place, part in enumerate([_cell_text(cell), *[""] * (cell.columns - 1)], start=len(texts)):
                texts.append(part)
                above |= {place: (part, cell.rows - 1)} if cell.rows > 1 else {}
            cell = next(cells, None)
        grid.append(texts)
    return grid


def _cell_text(cell: Cell) -> str:
    return "; ".join(map(inline, cell.blocks))


def inline(block: str) -> str:
    """A block on one line, without code fences and marks of items and headings."""
    return _INLINE_MARK.sub("", " ".join(block.strip("`").split()))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def definition_blocks(terms: Sequence[str], body: Sequence[str], level: int) -> list[str]:
    """Terms with their definition.

    A short definition is a list item with its term; a long one gets the term as a heading of this `level`.
    """
    if all(isinstance(block, Entry) for block in body):
        return [*(Entry(f"- {term}") for term in terms), *body]
    term, lead = ", ".join(terms), f"- {definition_lead(terms)}" if terms else ""
    size = sum(len(block) + sum(character > "\u2e80" for character in block) for block in body)
    if size > _LONGEST_DEFINITION and 0 < len(term) <= _LONGEST_TERM:
        return [f"{'#' * min(level, _DEEPEST)} {term.rstrip(':：')}", *body]
    if not any(map(_STRUCTURE.match, body)):
        return [lead + " ".join(body)]
    is_plain = not _STRUCTURE.match(body[0])
    return [lead + body[0], *body[1:]] if is_plain else [*filter(None, [lead.rstrip()]), *body]


def definition_lead(terms: Sequence[str]) -> str:
    """The start of a definition: `a, b: `."""
    term = ", ".join(terms)
    return f"{term} " if not term or _TERM_END.search(term) else f"{term}: "


def closing(level: int) -> str:
    """A heading without a name, which ends the sections of this level and deeper ones."""
    return "#" * min(level, _DEEPEST)


def without_idle_closings(blocks: Sequence[str]) -> Iterator[str]:
    """Drop closings that the next heading, closing or the end of the page makes redundant."""
    for block, following in zip_longest(blocks, blocks[1:], fillvalue=""):
        next_level = len(following) - len(following.lstrip("#"))
        is_idle = not following or 0 < next_level <= len(block)
        if not (is_idle and _CLOSING.match(block)):
            yield block
