"""The marks that tell readers that a statement is calculated, disputed, a judgement or not found."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from contend.checks.notations import notes_of, unfounded
from contend.checks.proof import Sum, proposes, sums_of
from contend.models.record import Language
from contend.models.research import CitedSentence, Draft, Table, TableRow
from contend.text import WORDS, Headings

SUM_MARK = re.compile(r"\[(?:=[^\[\]\s]+|(?:calc\.|計算)\d+)\]")
"""What stands behind a calculated statement: its sum, `[=71.5−48]`, or its number in the report's list of sums."""
JUDGEMENT, NOT_FOUND, DISPUTED = "†", "‡", "⇄"
LEGEND = re.compile(rf"^\*(?:{JUDGEMENT}|{NOT_FOUND}|{DISPUTED}|\[=…\]): [^\n*]+\*$", re.MULTILINE)
"""The line of a report that explains the marks of its statements."""
_CODE_ALONE = re.compile(r"`[^`]*`")
_LONGEST_IN_LINE = 24
_SIGNS = str.maketrans({" ": None, "*": "×", "/": "÷", "-": "−"})


def kind_mark(statement: CitedSentence, headings: Headings, listed: Mapping[str, int]) -> str:
    """The mark of a statement's kind, for print; "" for what is stated and for a line of code. `listed`: see there."""
    if _CODE_ALONE.fullmatch(statement.text):
        return ""
    match statement.kind:
        case "judgement":
            return JUDGEMENT
        case "not_found":
            return NOT_FOUND
        case "disputed":
            return DISPUTED
        case "derived":
            return _sum_mark(statement, headings, listed) + (JUDGEMENT if proposes(statement.basis) else "")
    return ""


def legend_of(markdown: str, language: Language) -> str:
    """The line that explains the marks of a printed report, as Markdown; "" if it has none."""
    text = SUM_MARK.sub("[=…]", markdown)
    return " · ".join(f"{mark}: {meaning}" for mark, meaning in WORDS[language].legend.items() if mark in text)


def _sum_mark(statement: CitedSentence, headings: Headings, listed: Mapping[str, int]) -> str:
    if in_line := _in_line(statement):
        return f"[={in_line}]"
    number = listed.get(sums_text(statement))
    return f"[{headings.calculation}{number}]" if number else ""


def sums_text(statement: CitedSentence) -> str:
    """The sums of a statement with their values."""
    return "; ".join(map(str, sums_of(statement.basis)))


def listed_sums(draft: Draft) -> dict[str, int]:
    """The sums that stand in a list at the end, each with its number from 1. One short sum stands in its line."""
    texts = (
        sums_text(each)
        for each in draft.sentences()
        if each.kind == "derived" and not each.refuted and not _in_line(each)
    )
    return {text: number for number, text in enumerate(dict.fromkeys(filter(None, texts)), start=1)}


def _in_line(statement: CitedSentence) -> str:
    sums = sums_of(statement.basis)
    text = sums[0].formula.translate(_SIGNS) if len(sums) == 1 and isinstance(sums[0].value, Decimal) else ""
    return text if len(text) <= _LONGEST_IN_LINE and not re.search(r"\d{4}−\d{2}−\d{2}", text) else ""


class TableMarks(NamedTuple):
    """The marks behind a table's column names, and behind the cells of each row."""

    columns: list[str]
    rows: list[list[str]]


def table_marks(table: Table, headings: Headings, listed: Mapping[str, int]) -> TableMarks:
    """A column whose cells are all calculated says so in its head; elsewhere each calculated cell has its mark.

    A row of another kind, or one in which no cell shows the result of a sum, is marked behind its first text.
    """
    calculated = [_calculated_cells(row) for row in table.rows]
    texts = [[bool(text.strip()) for text in row.texts()] for row in table.rows]
    whole = [
        any(column_texts) and all(is_sum or not text for is_sum, text in zip(sums, column_texts, strict=True))
        for sums, column_texts in zip(zip(*calculated, strict=True), zip(*texts, strict=True), strict=True)
    ]
    rows = []
    for row, cells in zip(table.rows, calculated, strict=True):
        mark = kind_mark(table.statement(row), headings, listed)
        marks = [mark if cell and not head else "" for cell, head in zip(cells, whole, strict=True)]
        first = next((at for at, text in enumerate(row.texts()) if text.strip()), None)
        is_listed = mark.startswith(f"[{headings.calculation}")
        if first is not None and (not any(cells) or (is_listed and not any(marks))):
            marks[first] = mark
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
