"""The catalogue of own documents for prompts: titles, sizes, and headings with their places. Pure."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import NamedTuple

from contend.sources.passages import DocumentSection
from contend.sources.readers.document import without_page
from contend.text import estimate_tokens, file_name, shorten, terms

_LONGEST_NAME = 60


class CatalogueHeading(NamedTuple):
    """A heading of a document, as `Outer › Inner` without the document's title."""

    path: str
    section: int
    """The place of its first section, from 1."""
    tokens: int
    """Estimated tokens of its sections, including those of inner headings."""


class CatalogueEntry(NamedTuple):
    """A document as a planner sees it."""

    number: int
    """Its place in the catalogue, from 1."""
    title: str
    url: str
    headings: tuple[CatalogueHeading, ...]
    tokens: int
    """Estimated tokens of its sections."""
    sections: int
    """How many sections it has."""
    published: str | None = None
    """YYYY-MM-DD, if known."""


def below_title(heading: str, title: str) -> str:
    """A heading's path without its first level, if that is the document's title."""
    top, _, inner = heading.partition(" › ")
    return inner if top == title else heading


def headings_of(sections: Sequence[DocumentSection], title: str) -> tuple[CatalogueHeading, ...]:
    """All headings in order, one for each level of a path, without page numbers."""
    paths = [_levels(section, title) for section in sections]
    starts = [
        (at, path[:depth])
        for at, (before, path) in enumerate(zip([[], *paths], paths, strict=False))
        for depth in range(_common_depth(before, path) + 1, len(path) + 1)
    ]
    return tuple(
        CatalogueHeading(" › ".join(levels), at + 1, _tokens(sections, paths, at, levels)) for at, levels in starts
    )


def _levels(section: DocumentSection, title: str) -> list[str]:
    return [name for name in below_title(without_page(section.heading), title).split(" › ") if name]


def _common_depth(before: Sequence[str], path: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, path, strict=False)))


def _tokens(sections: Sequence[DocumentSection], paths: Sequence[list[str]], first: int, levels: list[str]) -> int:
    beneath = takewhile(lambda at: paths[at][: len(levels)] == levels, range(first, len(sections)))
    return sum(sections[at].tokens for at in beneath)


def catalogue_lines(entries: Sequence[CatalogueEntry], *, tokens: int) -> list[str]:
    """A line per document, and below it the headings with the longest texts, as many as fit into `tokens` in total.

    So outer headings come before inner ones, and those of long documents before those of short ones. If even the
    documents' lines do not fit, only the first of them are returned. A heading's line starts with the place of its
    text: `12.4` is section 4 of document 12.
    """
    return [*_lines(tuple(entries), tokens)]


@lru_cache(maxsize=8)
def _lines(entries: tuple[CatalogueEntry, ...], tokens: int) -> tuple[str, ...]:
    """Kept, because every step of every team shows the same."""
    leading = _leading(entries, tokens)
    if len(leading) < len(entries):
        return tuple(map(_title_line, leading))
    sizes = sorted({heading.tokens for entry in leading for heading in entry.headings})
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        texts = [_text(entry, sizes[middle]) for entry in leading]
        low, high = (low, middle) if _fits(texts, tokens) else (middle + 1, high)
    return tuple(_text(entry, sizes[low] if low < len(sizes) else None) for entry in leading)


def _leading(entries: Sequence[CatalogueEntry], tokens: int) -> list[CatalogueEntry]:
    left, leading = tokens, []
    for entry in entries:
        left -= estimate_tokens(f"{_title_line(entry)}\n")
        if left < 0:
            break
        leading.append(entry)
    return leading


def _fits(texts: Sequence[str], tokens: int) -> bool:
    return sum(estimate_tokens(f"{text}\n") for text in texts) <= tokens


def _text(entry: CatalogueEntry, least_tokens: int | None) -> str:
    """The document with its headings of at least `least_tokens`; None: without headings."""
    shown = [each for each in entry.headings if least_tokens is not None and each.tokens >= least_tokens]
    lines = [
        f"{entry.number}.{heading.section} {_short(heading.path)}"
        for heading, following in zip_longest(shown, shown[1:])
        if following is None or not _names(following, heading)
    ]
    return "\n".join([_title_line(entry), *lines])


def _names(inner: CatalogueHeading, outer: CatalogueHeading) -> bool:
    """Whether the inner heading starts at the same section as the outer one, and its path contains it."""
    return inner.section == outer.section and inner.path.startswith(f"{outer.path} › ")


def _title_line(entry: CatalogueEntry) -> str:
    name = file_name(entry.url)
    is_told = name in entry.title or {*terms(Path(name).stem)} <= {*terms(entry.title)}
    facts = ["" if is_told else shorten(name, _LONGEST_NAME), entry.published or "", f"{entry.tokens:,} tokens"]
    return f"{entry.number}. {shorten(entry.title, 2 * _LONGEST_NAME)} ({', '.join(filter(None, facts))})"


def _short(path: str) -> str:
    return " › ".join(shorten(name, _LONGEST_NAME) for name in path.split(" › "))
