"""A report for other programs: as JSON and BibTeX, and what each mark rests on: passages, and what is doubtful."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field

from contend.checks import citation_numbers
from contend.models.record import Language, Record, ReloadedRecord, UtcDatetime
from contend.models.research import Passage, ResearchReport, SearchResult
from contend.report.build import PublishedLine
from contend.report.plain import with_joined_marks
from contend.text import clean, normalize, shown_address

EVIDENCE_FILE = "evidence.json"
"""Beside the report's files."""


class CitedPassage(Record):
    """A passage behind a citation, with the heading or page where it stands."""

    heading: str
    text: str


class CitationMark(ReloadedRecord):
    """One `[n]` of a report, and its sentence or row as readers see it. `doubt`: why that is marked, if it is."""

    number: int = Field(ge=1)
    sentence: str
    passages: list[CitedPassage] = Field(default_factory=list)
    doubt: str = ""

    former_fields: ClassVar[frozenset[str]] = frozenset({"label"})


class CitedSource(Record):
    """A source of a report; `shown_url` names a local document by its path in its folder."""

    title: str
    source: str
    url: str
    shown_url: str
    published_date: str | None = None
    authors: list[str] = Field(default_factory=list)


class ReportEvidence(Record):
    """The marks of a report's text in their order, and its sources in the order of their numbers."""

    language: Language
    generated_at: UtcDatetime
    sources: list[CitedSource]
    marks: list[CitationMark]

    @classmethod
    def of(
        cls,
        report: ResearchReport,
        language: Language,
        lines: Sequence[PublishedLine],
        *,
        doubts: Mapping[str, str],
        folders: Sequence[Path],
    ) -> Self:
        """`doubts`: why sentences are marked, by what is shown of them."""
        numbers = citation_numbers(report)
        behind = PassagesBehind(lines, numbers=numbers)
        texts = ((with_joined_marks(line.text.strip("| ")), line) for line in lines)
        sentences = [(sentence, doubts.get(line.text, "")) for sentence, line in texts for _ in line.marks]
        in_turn = sentences if len(sentences) == len(numbers) else [("", "")] * len(numbers)
        return cls(
            language=language,
            generated_at=report.generated_at,
            sources=[_source(source, folders) for source in report.sources],
            marks=[
                CitationMark(
                    number=number,
                    sentence=sentence,
                    passages=[
                        CitedPassage(heading=each.heading, text=each.text) for each in behind.of_mark(place, number)
                    ],
                    doubt=doubt,
                )
                for place, (number, (sentence, doubt)) in enumerate(zip(numbers, in_turn, strict=True))
            ],
        )


def _source(source: SearchResult, folders: Sequence[Path]) -> CitedSource:
    facts = source.model_dump(include={"title", "source", "url", "published_date"})
    return CitedSource(**facts, shown_url=shown_address(source.url, folders), authors=source.authors or [])


class PassagesBehind:
    """The passages that the marks of a report rest on, if its marks are those of the lines; else all of a source."""

    def __init__(self, lines: Sequence[PublishedLine], *, numbers: Sequence[int]) -> None:
        marks = [mark for line in lines for mark in line.marks]
        self._in_turn = [mark.passages for mark in marks] if [mark.number for mark in marks] == [*numbers] else []
        self.of_source: dict[int, list[Passage]] = {}
        for number, passages in marks:
            behind = self.of_source.setdefault(number, [])
            behind += [passage for passage in passages if passage not in behind]

    def of_mark(self, place: int, number: int) -> list[Passage]:
        """Those of the report's mark at that place, counted from 0."""
        return self._in_turn[place] if place < len(self._in_turn) else self.of_source.get(number, [])


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "$&#%_"},
}
_ESCAPES = str.maketrans(_SPECIAL)
_URL_ESCAPES = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C", '"': "%22", " ": "%20"})


def to_json(report: ResearchReport) -> str:
    """The report as indented JSON that loads again as a `ResearchReport`."""
    return report.model_dump_json(indent=2) + "\n"


def to_bibtex(report: ResearchReport) -> str:
    """The report's sources as BibTeX, in their order. A source's key depends on nothing but the source."""
    return "\n".join(_entry(source) for source in report.sources)


def _entry(source: SearchResult) -> str:
    fields = {
        "title": f"{{{_escape(source.title)}}}",
        "author": " and ".join(_author(name) for name in source.authors or []),
        "year": (source.published_date or "")[:4],
        "date": source.published_date or "",
        "howpublished": _escape(source.source),
        "url": clean(source.url, single_line=True).translate(_URL_ESCAPES),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{_key(source)},", *lines, "}", ""])


def _key(source: SearchResult) -> str:
    """The first author's (else the source's) name, the year, and six characters that tell the address."""
    name = (source.authors or [source.source])[0].split()[-1]
    ascii_name = re.sub(r"[^a-z]", "", normalize(name, "NFKD").lower()) or source.source
    digest = hashlib.sha256(source.url.encode()).hexdigest()[:6]
    return f"{ascii_name}{(source.published_date or '')[:4]}-{digest}"


def _author(name: str) -> str:
    """A name; braces keep one that holds BibTeX's own separators whole."""
    author = _escape(name)
    return f"{{{author}}}" if re.search(r"\band\b|,", name) else author


def _escape(text: str) -> str:
    return clean(text, single_line=True).translate(_ESCAPES)
