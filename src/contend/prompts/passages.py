"""How passages stand in prompts: their documents' titles, their numbers, and the rows of their tables."""

from collections.abc import Iterable
from itertools import groupby
from typing import Self

from contend.models.research import Passage
from contend.prompts.values import Heading, PassageText, PromptPart, Title
from contend.prompts.wrapping import NumberedPart, Untrusted
from contend.text import clean, compact_tables, file_name


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
    return NumberedPassage(number=number, heading=passage.heading, text=compact_tables(passage.text))


def _document_of(passage: Passage) -> tuple[str, str, bool]:
    """Its address, its title with file and day, and whether it speaks to AI systems."""
    file_and_day = ", ".join(filter(None, [file_name(passage.url), passage.published]))
    title = clean(passage.title, single_line=True) + (f" ({file_and_day})" if file_and_day else "")
    return passage.url, title, passage.speaks_to_ai
