"""Tables in text files, their columns parted by commas, semicolons, tabs or bars."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from contend.sources.readers.document import Document, as_prose
from contend.sources.readers.encodings import decode
from contend.text import SENTENCE_STOPS, clean, detect_language

MOST_ROWS = 20_000
_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 64_000
_SAMPLE_ROWS = 50


def read_csv(content: bytes, path: Path, *, most_rows: int = MOST_ROWS) -> Document:
    """The names of the columns, then each row with them. Single cells above the table are its title and remarks.

    Raises:
        Unreadable: it is not text.
    """
    text = clean(decode(content))
    rows, note = _bounded(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)), most_rows)
    above, names, table = _parted(rows)
    lines = [*map(as_prose, above), "; ".join(filter(None, names)), *(said_row(names, row) for row in table)]
    return Document(above[0] if above else path.stem, "\n\n".join(filter(None, lines)), note)


def _delimiter(text: str) -> str:
    """The one that gives most rows the same number of columns, and more than one.

    csv.Sniffer goes by letters, not by rows, and takes a comma within Japanese or quoted text for a delimiter.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    return max(_DELIMITERS, key=lambda delimiter: _evenness(sample, delimiter))


def _evenness(sample: str, delimiter: str) -> tuple[float, int]:
    rows, _ = _bounded(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), _SAMPLE_ROWS)
    widths = Counter(len(row) for row in rows if any(row))
    width, count = max(widths.items(), key=lambda each: (each[0] > 1, each[1]), default=(0, 0))
    return (count / widths.total(), width) if width > 1 else (0.0, width)


def _bounded(reader: Iterator[list[str]], most: int) -> tuple[list[list[str]], str]:
    """At most so many rows, and what is said of those left unread."""
    rows: list[list[str]] = []
    try:
        rows.extend(islice(reader, most))
        further = sum(1 for _ in reader)
    except csv.Error as error:
        return rows, f"only the first {len(rows):,} rows are read: {error}"
    return rows, f"only the first {most:,} of {most + further:,} rows are read" if further else ""


def _parted(rows: list[list[str]]) -> tuple[list[str], list[str], list[list[str]]]:
    """What stands above the table, the names of its columns, its rows. A first row of numbers holds no names.

    A remark may hold a comma, and so have several cells: the table begins where a row is as wide as most are.
    """
    lines = [[one_line(cell) for cell in row] for row in rows if any(cell.strip() for cell in row)]
    width = Counter(map(len, lines)).most_common(1)[0][0] if lines else 0
    start = next((place for place, row in enumerate(lines) if len(row) >= width and _is_row(row)), 0)
    above = [", ".join(filter(None, row)) for row in lines[:start]]
    table = lines[start:]
    if table and any(character.isalpha() for cell in table[0] for character in cell):
        return above, table[0], table[1:]
    return above, [], table


def _is_row(cells: Sequence[str]) -> bool:
    """Not a remark alone in a wide row, as spreadsheets save one."""
    return len(cells) == 1 or sum(map(bool, cells)) > 1


def said_row(names: Sequence[str], values: Iterable[str]) -> str:
    """`- Year: 1940; Bridge: Tacoma Narrows.`, or "" for a row without a value.

    A column without a name gives its value alone.
    """
    cells = dict.fromkeys(
        f"{name}: {value}" if name else value
        for name, value in zip_longest(map(one_line, names), map(one_line, values), fillvalue="")
        if value
    )
    row = "; ".join(cells)
    if row and not row.endswith(tuple(SENTENCE_STOPS)):
        row += "。" if detect_language(row) == "ja" else "."
    return f"- {row}" if row else ""


def one_line(text: str) -> str:
    return " ".join(text.split())
