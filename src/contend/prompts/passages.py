"""How passages stand in prompts: their documents' titles, their numbers, and the rows of their tables."""

from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from typing import Self

from contend.models.research import Passage
from contend.prompts.values import Heading, PassageText, PromptPart, Title
from contend.prompts.wrapping import NumberedPart, Untrusted
from contend.text import clean, file_name

_NAME_GAP, _CELL_GAP, _ROW = "; ", " | ", "- "
_LEAST_COLUMNS = 2


class ShownPassage(PromptPart):
    """A passage under its number."""

    number: int | str
    title: Title
    heading: Heading = ""
    published: str | None = None
    speaks_to_ai: bool = False
    text: PassageText

    @classmethod
    def of(cls, passage: Passage, number: int | str) -> Self:
        return cls(
            number=number,
            title=passage.title,
            heading=passage.heading,
            published=passage.published,
            speaks_to_ai=passage.speaks_to_ai,
            text=passage.text,
        )

    @classmethod
    def numbered(cls, passages: Iterable[Passage]) -> list[Self]:
        """The passages by number from 1."""
        return [cls.of(passage, number) for number, passage in enumerate(passages, start=1)]


class NumberedPassage(PromptPart):
    """A passage of a document, with where it stands there."""

    number: int
    heading: Heading = ""
    text: PassageText


class SourceDocument(PromptPart):
    """Passages of one document that follow each other, below its title, file and day, between one pair of delimiters.

    To templates `text` is all of it: each passage begins with its number as a tag that only the prompt can write.
    """

    title: Title
    speaks_to_ai: bool = False
    passages: list[NumberedPassage]

    def variables(self) -> dict[str, object]:
        parts = [NumberedPart(each.number, each.heading, each.text) for each in self.passages]
        return {"speaks_to_ai": self.speaks_to_ai, "text": Untrusted(self.title, label="passages", parts=parts)}

    @classmethod
    def of(cls, passages: Iterable[tuple[int, Passage]]) -> list[Self]:
        """Passages with their numbers; those next to each other of one document together."""
        grouped = groupby(passages, key=lambda each: _document_of(each[1]))
        return [
            cls(title=title, speaks_to_ai=speaks_to_ai, passages=[_numbered(*each) for each in together])
            for (_, title, speaks_to_ai), together in grouped
        ]

    @classmethod
    def numbered(cls, passages: Iterable[Passage]) -> list[Self]:
        """The passages by number from 1."""
        return cls.of(enumerate(passages, start=1))


def _numbered(number: int, passage: Passage) -> NumberedPassage:
    return NumberedPassage(number=number, heading=passage.heading, text=names_once(passage.text))


def _document_of(passage: Passage) -> tuple[str, str, bool]:
    """Its address, its title with file and day, and whether it speaks to AI systems."""
    known = ", ".join(filter(None, [file_name(passage.url), passage.published]))
    title = clean(passage.title, single_line=True) + (f" ({known})" if known else "")
    return passage.url, title, passage.speaks_to_ai


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
