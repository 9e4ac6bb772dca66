"""A report read from Markdown that others wrote, by its headings."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from markdown_it import MarkdownIt
from pydantic import ValidationError

from contend.models.record import utc_now
from contend.models.research import ResearchReport, SearchResult
from contend.models.task import title_of
from contend.report.plain import plain_title, without_html
from contend.text import WORDS, Headings

_FIELDS = {
    getattr(words.headings, field).casefold(): field for words in WORDS.values() for field in Headings._fields
}  # fmt: skip
_APPENDICES = {words.about_run.casefold() for words in WORDS.values()}
_TOP_LEVEL = 2
_NUMBER = re.compile(r"\d+[.)]")
_AROUND_HEADING = " \t*_:："
_ITEM = re.compile(r"^(?:\d+[.)]|\[\d+\]:?|[-*+•])\s+")
_URL = re.compile(r"(?:https?|file)://[^\s<>\"')\]、。）]+")
GENERATED = re.compile(r"^\*Generated at: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC\*$", re.MULTILINE)


class _Section(NamedTuple):
    heading: str
    text: str


def parse_report(markdown: str, *, theme: str, sources: Sequence[SearchResult] = ()) -> ResearchReport | None:
    """The report that Markdown under the English or Japanese headings holds, or None if it holds none.

    Entry n of its references is source n: the one of `sources` with that address, else one made of the entry.
    Sections under other headings become part of the analysis; HTML is taken out.
    """
    text = without_html(markdown)
    parts = _by_field(_sections(GENERATED.sub("", text)))
    listed = [_source(entry, sources) for part in ("references", "also_read") for entry in _items(parts.pop(part))]
    if None in listed:
        return None
    cited = [source for source in listed if source is not None]
    known = {source.url for source in cited}
    try:
        return ResearchReport(
            theme=title_of(theme),
            executive_summary=parts["summary"],
            key_findings=[" ".join(item.split()) for item in _items(parts["findings"])],
            detailed_analysis=parts["analysis"],
            constraints_and_challenges=parts["limits"],
            sources=cited + [source for source in sources if source.url not in known],
            generated_at=_generated_at(text),
        )
    except ValidationError:
        return None


def _sections(markdown: str) -> Iterator[_Section]:
    """Headings that open a section, and the text under each: those of two levels, and known ones of any."""
    lines = markdown.split("\n")
    tokens = MarkdownIt("commonmark").parse(markdown)
    heads = [
        (token.map, int(token.tag[1]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    heads = [head for head in heads if head[1] <= _TOP_LEVEL or part_of(head[2])]
    ends = [*(span[0] for span, _, _ in heads[1:]), len(lines)]
    for (span, _, heading), end in zip(heads, ends, strict=False):
        yield _Section(heading, "\n".join(lines[span[1] : end]).strip())


def _by_field(sections: Iterator[_Section]) -> dict[str, str]:
    """The text of each part of a report; foreign sections go to the analysis, under a smaller heading."""
    parts: dict[str, list[str]] = {field: [] for field in Headings._fields}
    for section in sections:
        field = part_of(section.heading)
        if field:
            parts[field].append(section.text)
        elif section.text and _plain_heading(section.heading) not in _APPENDICES:
            parts["analysis"].append(f"### {section.heading}\n\n{section.text}")
    return {field: "\n\n".join(filter(None, texts)) for field, texts in parts.items()}


def part_of(heading: str) -> str | None:
    """Which part of a report stands under a heading, as a field of `Headings`; None for one of its author's own."""
    return _FIELDS.get(_plain_heading(heading))


def _plain_heading(heading: str) -> str:
    number = _NUMBER.match(heading)
    return heading[number.end() if number else 0 :].strip(_AROUND_HEADING).casefold()


def _items(text: str) -> list[str]:
    """List items, with the lines that belong to each; without a list, the paragraphs."""
    items: list[list[str]] = []
    for line in text.split("\n"):
        mark = _ITEM.match(line)
        if mark:
            items.append([line[mark.end() :]])
        elif items:
            items[-1].append(line)
    texts = ["\n".join(lines) for lines in items] or re.split(r"\n\s*\n", text)
    return [item.strip() for item in texts if item.strip()]


def _source(entry: str, sources: Sequence[SearchResult]) -> SearchResult | None:
    """The source of one entry of the references; None where it names no address that a source may have."""
    address = _URL.search(entry)
    if address is None:
        return None
    url = _labelled(entry, "URL") or address[0].rstrip(".,;:")
    for source in sources:
        if source.url == url:
            return source
    title = _title(entry, address.start()) or url[:500]
    authors = _labelled(entry, "Authors")
    try:
        return SearchResult(
            title=title[:500],
            summary=title[:500],
            source=_labelled(entry, "Source") or ("local" if url.startswith("file:") else "web"),
            url=url,
            published_date=_labelled(entry, "Published"),
            authors=authors.split(", ") if authors else None,
        )
    except ValidationError:
        return None


def _title(entry: str, end: int) -> str:
    marked = re.match(r"\*\*(?P<bold>.+?)\*\*(?=\n|$)|\[(?P<link>[^\[\]]+)\]\(", entry)
    before = (marked["bold"] or marked["link"]) if marked else entry[:end].split("\n", maxsplit=1)[0]
    return plain_title(before).strip(" -–—:.,([<*")


def _labelled(entry: str, label: str) -> str | None:
    match = re.search(rf"^[ \t]*- {label}: (.+)$", entry, re.MULTILINE)
    return match[1].strip() if match else None


def _generated_at(text: str) -> datetime:
    match = GENERATED.search(text)
    return datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) if match else utc_now()
