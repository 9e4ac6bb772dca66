"""Tables in text files, with columns separated by commas, semicolons, tabs or bars."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, zip_longest
from pathlib import Path

from contend.sources.readers.document import Document, as_prose, decode
from contend.text import clean, one_line, split_sentences, table_row

_MOST_ROWS = 20_000
_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 64_000
_SAMPLE_ROWS = 50
_NAMES_AND_A_ROW = 3
_EXCEL_HINT = re.compile(r"sep=(.)\r?\n")
"""Excel's line that names the delimiter."""
_YEAR = re.compile(r"(?:19|20)\d\d\Z")


def read_csv(content: bytes, path: Path, *, most_rows: int = _MOST_ROWS) -> Document:
    """For each table the text above it, its column names, and each row with them.

    Raises:
        Unreadable: the file is not text.
    """
    text = clean(decode(content))
    hint = _EXCEL_HINT.match(text)
    delimiter, text = (hint[1], text[hint.end() :]) if hint else (_delimiter(text), text)
    rows, note = _first_rows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), most_rows)
    tables = [_table(block) for block in _tables([one_line(cell) for cell in row] for row in rows)]
    lines = [line for above, table in tables for line in (*map(as_prose, above), *table)]
    above = tables[0][0][0].lstrip("# ") if tables and tables[0][0] else ""
    title = next(iter(split_sentences(above)), path.name)
    return Document(title, "\n\n".join(filter(None, lines)), note)


def _delimiter(text: str) -> str:
    """The delimiter that gives most rows the same number of columns, more than one.

    csv.Sniffer looks at characters, not rows, and mistakes commas within Japanese or quoted text for delimiters.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    return max(_DELIMITERS, key=lambda delimiter: _evenness(sample, delimiter))


def _evenness(sample: str, delimiter: str) -> tuple[float, int]:
    rows, _ = _first_rows(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), _SAMPLE_ROWS)
    widths = Counter(len(row) for row in rows if any(row))
    width, count = max(widths.items(), key=lambda each: (each[0] > 1, each[1]), default=(0, 0))
    return (count / widths.total(), width) if width > 1 else (0.0, width)


def _first_rows(reader: Iterator[list[str]], most: int) -> tuple[list[list[str]], str]:
    """At most `most` rows, and a note about those not read."""
    rows: list[list[str]] = []
    try:
        rows.extend(islice(reader, most))
        further = sum(1 for _ in reader)
    except csv.Error as error:
        return rows, f"only read up to row {len(rows):,}: {error}"
    return rows, f"only the first {most:,} of {most + further:,} rows are read" if further else ""


def _tables(rows: Iterable[list[str]]) -> list[list[list[str]]]:
    """Tables below each other. After an empty row, a new table starts if names stand above figures.

    A row without figures that cannot be names, such as `Yard; ; open`, belongs to the table above.
    """
    tables: list[list[list[str]]] = []
    for has_text, group in groupby(rows, key=any):
        block = list(group)
        if has_text and tables and (not _begins_table(block, tables[-1]) or not any(map(_is_wide, tables[-1]))):
            tables[-1] += block
        elif has_text:
            tables.append(block)
    return tables


def _begins_table(block: Sequence[list[str]], above: Sequence[list[str]]) -> bool:
    wide = list(islice(filter(_is_wide, block), _SAMPLE_ROWS))
    figures = [any(map(_is_figure, row)) for row in wide[:_NAMES_AND_A_ROW]]
    return any(figures) and not figures[0] and not _holds_values(wide[0], wide[1:], above[-_SAMPLE_ROWS:])


def _holds_values(row: Sequence[str], below: Sequence[list[str]], above: Sequence[list[str]]) -> bool:
    """Whether a row cannot be names: it has a gap above a figure, or a value that recurs in its column."""
    gap = any(not name and _is_figure(value) for name, value in zip(row[1:], below[0][1:], strict=False))
    values = {each for other in (*above, *below) if any(map(_is_figure, other)) for each in enumerate(other)}
    return gap or any(each in values for each in enumerate(row) if each[0] and each[1])


def _table(rows: list[list[str]]) -> tuple[list[str], list[str]]:
    """The text above a table, and its lines: column names, if any, and each row with them."""
    start = _start(rows)
    names, height = column_names(rows[start:])
    lines = ["; ".join(filter(None, names)), *(table_row(names, row) for row in rows[start + height :])]
    return [", ".join(filter(None, row)) for row in rows[:start]], lines


def _start(rows: Sequence[list[str]]) -> int:
    """The first row of the table: one that names as many columns as most rows fill; the first column may lack a name.

    A remark above the table may have a comma, and so several cells; spreadsheets save it as wide as the table.
    """
    usual_count = Counter(map(_cell_count, rows)).most_common(1)[0][0]
    starts = [place for place, row in enumerate(rows) if _is_wide(row)] or [*range(len(rows))]
    names = (
        place
        for place in starts
        if not rows[place][0].startswith("# ")
        and (_cell_count(rows[place][1:]) >= usual_count - 1 or _on_two_rows(rows[place:]))
    )
    place = next(names, starts[0])
    return starts[0] if any(map(_is_figure, rows[place])) else place


def column_names(table: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """A table's column names, and how many rows they take. A first row of numbers has no names."""
    if _on_two_rows(table):
        return _names_of_both(table[0], table[1]), 2
    first, below = (*table, [])[:2]
    years = not any(map(_is_figure, first)) and any(map(_is_figure, below))
    if years or any(character.isalpha() for cell in first for character in cell):
        return list(first), 1
    return [], 0


def _on_two_rows(table: Sequence[Sequence[str]]) -> bool:
    """Whether the second row continues the names, with parts of those above or units.

    Then the first column is named once, and there are figures below.
    """
    if len(table) < _NAMES_AND_A_ROW:
        return False
    first, second, third = table[:_NAMES_AND_A_ROW]
    gaps = any(below and not above for above, below in zip(first[1:], second[1:], strict=False))
    once = (first[0] == second[0] != "") or (not second[0] and bool(first[0])) or (not first[0] and second[0] and gaps)
    return bool(once) and any(map(_is_figure, third)) and not any(map(_is_figure, second))


def _names_of_both(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Join the names of both rows; a name in the upper row also covers columns to its right without one."""
    names, over = [], ""
    for above, below in zip_longest(upper, lower, fillvalue=""):
        over = above or (over if below else "")
        names.append(" ".join(dict.fromkeys(filter(None, (over, below)))))
    return names


def _is_wide(row: Sequence[str]) -> bool:
    return _cell_count(row) > 1


def _cell_count(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _is_figure(cell: str) -> bool:
    """A number or date; a year alone may be a column name."""
    digits = any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))
    return digits and not _YEAR.match(cell)
