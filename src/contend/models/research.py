"""Research: plan, what sources gave, the draft, the report."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from contend.addresses import shown_address
from contend.code_spans import without_code
from contend.models.record import Language, Record, Score, Text, Theme, UtcDatetime, utc_now

SourceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]

MOST_POINTS, MOST_QUERIES = 10, 20


class ResearchPlan(Record):
    """What to find out and where. In `source_priority` a small number comes first; unnamed sources come last."""

    theme: Theme
    investigation_points: list[Text] = Field(min_length=1, max_length=MOST_POINTS)
    search_queries: list[Text] = Field(min_length=1, max_length=MOST_QUERIES)
    source_priority: dict[str, int] = Field(default_factory=lambda: {"tavily": 1, "arxiv": 2})
    plan_text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=10)]
    created_at: UtcDatetime = Field(default_factory=utc_now)


class SearchResult(Record):
    """One document a source gave. `file://` urls only from local documents; `relevance_score` within its query."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
    source: SourceName
    url: Text
    published_date: str | None = None
    authors: Annotated[list[Text], Field(max_length=50)] | None = None
    categories: Annotated[list[Text], Field(max_length=20)] | None = None
    relevance_score: Score | None = None

    @field_validator("url")
    @classmethod
    def _has_host(cls, url: str, info: ValidationInfo) -> str:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname:
            return url
        if parts.scheme == "file" and info.data.get("source") == "local":
            return url
        raise ValueError(f"url needs a host (or file:// from local documents): {url[:100]!r}")

    @field_validator("published_date")
    @classmethod
    def _is_a_day(cls, day: str | None) -> str | None:
        if day is not None and date.fromisoformat(day).isoformat() != day:
            raise ValueError(f"published_date must be YYYY-MM-DD: {day!r}")
        return day


class Found(NamedTuple):
    """What a source's search returns: the result, and the whole passage it was found by, with where it stands."""

    result: SearchResult
    text: str
    heading: str = ""


class Passage(Record):
    """A piece of a retrieved document. `id` is the content hash under which the document store holds `text`.

    `heading`: where it stands in the document, such as `p. 3` or `Limits › Tokens`; "" where nothing tells.
    """

    id: str
    url: str
    title: str
    heading: str = ""
    text: str = ""


class CitedSentence(Record):
    """A sentence and the ids of the passages it rests on."""

    text: Text
    passages: list[str] = Field(default_factory=list)


class Draft(Record):
    """The writer's structured reply, with passage ids instead of the numbers offered to it."""

    summary: list[CitedSentence] = Field(min_length=1)
    findings: list[CitedSentence] = Field(min_length=1)
    analysis: list[CitedSentence] = Field(min_length=1)
    limits: list[CitedSentence] = Field(default_factory=list)
    bullets_used: list[str] = Field(default_factory=list)

    def sentences(self) -> list[CitedSentence]:
        return [*self.summary, *self.findings, *self.analysis, *self.limits]


MARK = re.compile(r"\[([1-9]\d*)\]")
"""A citation in a report: `[3]` is entry 3 of its sources, and `x[0]` is none."""


class Headings(NamedTuple):
    summary: str
    findings: str
    analysis: str
    limits: str
    references: str
    also_read: str


HEADINGS: dict[Language, Headings] = {
    "en": Headings(
        "Executive Summary",
        "Key Findings",
        "Detailed Analysis",
        "Constraints and Challenges",
        "References",
        "Also read",
    ),
    "ja": Headings("概要", "主な発見", "詳細な分析", "制約と課題", "参考文献", "ほかに読んだ資料"),
}


class ResearchReport(Record):
    """The report. `[n]` in its texts is entry n of `sources`. A right answer may be one short sentence."""

    theme: Theme
    executive_summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
    key_findings: list[Text] = Field(min_length=1, max_length=20)
    detailed_analysis: Text
    constraints_and_challenges: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)] = ""
    sources: list[SearchResult] = Field(default_factory=list)
    generated_at: UtcDatetime = Field(default_factory=utc_now)

    def cited_count(self) -> int:
        """How many of the sources are references, as `[n]` in the texts cites them; all where nothing is cited.

        The sources after them were read, and nothing cites them.
        """
        texts = (self.executive_summary, *self.key_findings, self.detailed_analysis, self.constraints_and_challenges)
        numbers = {int(number) for text in texts for number in MARK.findall(without_code(text))}
        return max((number for number in numbers if number <= len(self.sources)), default=len(self.sources))

    def to_markdown(self, language: Language = "en", *, folders: Sequence[Path] = ()) -> str:
        """The report as Markdown, in the layout that readers of the format match on.

        Local documents in one of the `folders` are named by their paths in it.
        """
        named = HEADINGS[language]
        findings = [f"{number}. {finding}" for number, finding in enumerate(self.key_findings, start=1)]
        limits = ["", f"## {named.limits}", "", self.constraints_and_challenges]
        lines = [
            f"# {self.theme}",
            *("", f"## {named.summary}", "", self.executive_summary),
            *("", f"## {named.findings}", "", *findings),
            *("", f"## {named.analysis}", "", self.detailed_analysis),
            *(limits if self.constraints_and_challenges else []),
            *("", f"## {named.references}", ""),
        ]
        cited = self.cited_count()
        for number, source in enumerate(self.sources, start=1):
            heading = [f"### {named.also_read}", ""] if number == cited + 1 else []
            lines += [*heading, *_reference(number, source, shown_address(source.url, folders)), ""]
        lines.append(f"*Generated at: {self.generated_at:%Y-%m-%d %H:%M:%S} UTC*")
        return "\n".join(lines)


def _reference(number: int, source: SearchResult, address: str) -> list[str]:
    lines = [f"{number}. **{source.title}**", f"   - Source: {source.source}", f"   - URL: {address}"]
    if source.published_date:
        lines.append(f"   - Published: {source.published_date}")
    if source.authors:
        lines.append(f"   - Authors: {', '.join(source.authors)}")
    return lines
