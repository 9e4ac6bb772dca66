"""Tables in text: rows that name their columns, and the same with the names once."""

from collections.abc import Sequence
from itertools import takewhile

_NAME_GAP, _CELL_GAP, _ROW = "; ", " | ", "- "
_LEAST_COLUMNS = 2


def names_once(text: str) -> str:
    """A passage whose table names its columns in each row, with the names above the rows alone.

    A table file is kept as its columns' names and rows such as `- Year: 1940; Bridge: Tacoma Narrows.`, which can be
    searched and checked one by one. A model that sees all of them reads `1940 | Tacoma Narrows.` below `Year | Bridge`.
    """
    lines, shown = text.split("\n"), []
    while lines:
        names = lines[0].split(_NAME_GAP)
        rows = list(takewhile(lambda line: line.startswith(_ROW), lines[1:]))
        cells = [_cells(row.removeprefix(_ROW), names) for row in rows]
        if rows and all(cells) and _CELL_GAP not in "".join(lines[: len(rows) + 1]):
            shown += [_CELL_GAP.join(row) for row in (names, *cells)]
        else:
            shown += lines[: len(rows) + 1]
        lines = lines[len(rows) + 1 :]
    return "\n".join(shown)


def _cells(row: str, names: Sequence[str]) -> list[str]:
    """The row's values, "" for a column that it does not name; none at all where it is no row of these columns."""
    named, cells = f"{_NAME_GAP}{row}", [""] * len(names)
    for column in range(len(names) - 1, -1, -1):
        before, found, value = named.rpartition(f"{_NAME_GAP}{names[column]}: ")
        if found:
            named, cells[column] = before, value
    return cells if not named and len(names) >= _LEAST_COLUMNS else []
