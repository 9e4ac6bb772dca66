"""A draft's sections as Markdown: headings, paragraphs, lists and tables, every statement with its marks."""

import re
from collections.abc import Sequence
from typing import Protocol

from contend.models.record import Language
from contend.models.research import Block, CitedSentence, ItemList, Paragraph, Section, Table, TableRow
from contend.report.plain import plain_title


class Shown(Protocol):
    """How a report shows what a writer wrote."""

    def sentence(self, sentence: CitedSentence) -> str:
        """With its marks; "" for one that says nothing."""
        ...

    def text(self, text: str) -> str:
        """As it is written, inert in Markdown."""
        ...

    def marks(self, passages: Sequence[str]) -> str:
        """The marks of passages by their ids, such as `[1][3]`."""
        ...


def body_markdown(sections: Sequence[Section], shown: Shown, language: Language) -> str:
    """The sections under headings of the third level; one without a heading follows the section before it."""
    parts = []
    for section in sections:
        if heading := plain_title(section.heading):
            parts.append(f"### {heading}")
        parts += [_block(block, shown, language) for block in section.blocks]
    return "\n\n".join(part for part in parts if part)


def joined(sentences: Sequence[str], language: Language) -> str:
    """Sentences as running text: a space between them, none after a Japanese full stop in a Japanese report."""
    text = ""
    for sentence in sentences:
        closed = not text or (language == "ja" and text[-1] in "。！？」』）")
        text += sentence if closed else f" {sentence}"
    return text


def _block(block: Block, shown: Shown, language: Language) -> str:
    match block:
        case Paragraph():
            return joined([text for each in block.sentences if (text := shown.sentence(each))], language)
        case ItemList():
            return "\n".join(f"- {text}" for each in block.items if (text := shown.sentence(each)))
        case Table():
            return _table(block, shown)


def _table(table: Table, shown: Shown) -> str:
    lines = [_row([_cell(column, shown) for column in table.columns]), _row(["---"] * len(table.columns))]
    return "\n".join([*lines, *(row_markdown(row, shown) for row in table.rows)])


def row_markdown(row: TableRow, shown: Shown) -> str:
    """A table's row as its line in the report."""
    return _row(_cells(row, shown))


def _cells(row: TableRow, shown: Shown) -> list[str]:
    """The marks of a row stand in its last cell."""
    *cells, last = (_cell(cell, shown) for cell in row.cells)
    return [*cells, f"{last} {shown.marks(row.passages)}".strip()]


def _cell(text: str, shown: Shown) -> str:
    """A pipe in a cell would end it."""
    return re.sub(r"(?<!\\)\|", r"\\|", shown.text(text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
