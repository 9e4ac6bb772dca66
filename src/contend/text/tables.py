"""Rows of tables in text, which name their columns: written, and read again with the names once."""

from collections.abc import Iterable, Sequence
from itertools import takewhile, zip_longest

from contend.text.sentences import SENTENCE_STOPS
from contend.text.terms import detect_language

_NAME_GAP, _CELL_GAP, _ROW = "; ", " | ", "- "
_LEAST_COLUMNS = 2


def table_row(names: Sequence[str], values: Iterable[str]) -> str:
    """`- Year: 1940; Bridge: Tacoma Narrows.`, or "" for a row without a value.

    A column without a name gives its value alone.
    """
    row = _NAME_GAP.join(
        f"{name}: {value}" if name else value
        for name, value in zip_longest(map(one_line, names), map(one_line, values), fillvalue="")
        if value
    )
    if row and not row.endswith(tuple(SENTENCE_STOPS)):
        row += "。" if detect_language(row) == "ja" else "."
    return f"{_ROW}{row}" if row else ""


def one_line(text: str) -> str:
    return " ".join(text.split())


def compact_tables(text: str) -> str:
    """A passage whose table names its columns in each row, with the names above the rows alone.

    A table file is kept as its columns' names and what `table_row` gives of its rows, which can be searched and checked
    one by one. A model that sees all of them reads `1940 | Tacoma Narrows.` below `Year | Bridge`.
    """
    lines, compact = text.split("\n"), []
    while lines:
        names = lines[0].split(_NAME_GAP)
        rows = list(takewhile(lambda line: line.startswith(_ROW), lines[1:]))
        cells = [_cells(row.removeprefix(_ROW), names) for row in rows]
        if rows and all(cells) and _CELL_GAP not in "".join(lines[: len(rows) + 1]):
            compact += [_CELL_GAP.join(row) for row in (names, *cells)]
        else:
            compact += lines[: len(rows) + 1]
        lines = lines[len(rows) + 1 :]
    return "\n".join(compact)


def _cells(row: str, names: Sequence[str]) -> list[str]:
    """The row's values, "" for a column that it does not name; none at all where it is no row of these columns."""
    rest, cells = f"{_NAME_GAP}{row}", [""] * len(names)
    for column in range(len(names) - 1, -1, -1):
        before, found, value = rest.rpartition(f"{_NAME_GAP}{names[column]}: ")
        if found:
            rest, cells[column] = before, value
    return cells if not rest and len(names) >= _LEAST_COLUMNS else []
