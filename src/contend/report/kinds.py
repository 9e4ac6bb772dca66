"""What tells readers that a statement is calculated, a judgement or not found."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from contend.checks.notations import notes_of, unfounded
from contend.checks.proof import Sum, sums_of
from contend.models.research import CitedSentence, Table, TableRow
from contend.text import Headings

CALCULATED = "[=]"
"""Stands behind what was calculated; the report lists the sums at its end."""
_CODE_ALONE = re.compile(r"`[^`]*`")


def kind_mark(statement: CitedSentence, headings: Headings) -> str:
    """The mark of a statement's kind, for print; "" for what is stated and for a line of code."""
    if _CODE_ALONE.fullmatch(statement.text):
        return ""
    match statement.kind:
        case "judgement":
            return headings.judgement
        case "not_found":
            return headings.not_found
        case "derived" if sums_of(statement.basis):
            return CALCULATED
    return ""


class TableMarks(NamedTuple):
    """The marks behind the names of a table's columns, and behind the cells of each of its rows."""

    columns: list[str]
    rows: list[list[str]]


def table_marks(table: Table, headings: Headings) -> TableMarks:
    """A column whose cells are all calculated says so in its head; elsewhere each calculated cell has its mark.

    A row of another kind, and one of whose cells none shows a result of its sums, has its mark behind its first text.
    """
    calculated = [_calculated_cells(row) for row in table.rows]
    texts = [[bool(text.strip()) for text in row.texts()] for row in table.rows]
    whole = [
        any(column_texts) and all(is_sum or not text for is_sum, text in zip(sums, column_texts, strict=True))
        for sums, column_texts in zip(zip(*calculated, strict=True), zip(*texts, strict=True), strict=True)
    ]
    rows = []
    for row, cells in zip(table.rows, calculated, strict=True):
        marks = [CALCULATED if cell and not head else "" for cell, head in zip(cells, whole, strict=True)]
        first = next((at for at, text in enumerate(row.texts()) if text.strip()), None)
        if first is not None and not any(cells):
            marks[first] = kind_mark(table.statement(row), headings)
        rows.append(marks)
    return TableMarks([headings.calculated if each else "" for each in whole], rows)


def _calculated_cells(row: TableRow) -> list[bool]:
    sums = sums_of(row.basis) if row.kind == "derived" else []
    return [bool(sums) and _shows_result(cell.text, sums) for cell in row.cells]


def _shows_result(text: str, sums: Sequence[Sum]) -> bool:
    """Whether a figure or date of the text is the value of one of the sums."""
    values = [abs(each.value) for each in sums if isinstance(each.value, Decimal)]
    days = notes_of("; ".join(each.shown for each in sums if not isinstance(each.value, Decimal)))
    others = unfounded(text, carriers=days, values=values)
    return any(each not in others for each in unfounded(text, carriers=notes_of("")))
