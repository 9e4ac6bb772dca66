"""Research: plan, what sources gave, the draft, the report."""

import re
from collections.abc import Sequence
from datetime import date
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from contend.models.record import Language, Record, ReloadedRecord, Score, Text, Theme, UtcDatetime, utc_now
from contend.text import OPENS_BLOCK, WORDS, inert, shown_address, split_code, without_code

SourceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]

MOST_POINTS, MOST_QUERIES = 10, 20


class ResearchPlan(Record):
    """What to find out and where. In `source_priority` a small number comes first; unnamed sources come last."""

    theme: Theme
    investigation_points: list[Text] = Field(min_length=1, max_length=MOST_POINTS)
    outline: list[Text] = Field(default_factory=list, max_length=20)
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
        # Reading a port out of range raises ValueError.
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
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


class FoundPassage(NamedTuple):
    """What a source gives: the document, as a result, and a whole passage of it, with where it stands."""

    result: SearchResult
    text: str
    heading: str = ""
    place: int = 0
    """The number of the section in its document, from 1; 0 if unknown, as for the summary of a web search."""


PartState = Literal["open", "partly", "answered", "not_found"]


class Part(Record):
    """One thing that a question asks for, and how far a team is with it.

    `passages`: the ids of those that count for it; `missing`: what they do not tell; `notes`: what its answer must not
    overlook, as the researcher saw it; `nearest`: the ids of the nearest passages of all own documents, where it is not
    answered.
    """

    text: Text
    state: PartState = "open"
    passages: list[str] = Field(default_factory=list)
    missing: str = ""
    notes: list[str] = Field(default_factory=list)
    nearest: list[str] = Field(default_factory=list)


class Passage(ReloadedRecord):
    """A piece of a retrieved document.

    `id`: the hash under which the document store holds `text`, and one of the document's address, which earlier
    releases left out.

    `heading`: where it stands in the document, such as `p. 3` or `Limits › Tokens`; "" where nothing tells;
    `published`: the document's day as YYYY-MM-DD, if known; `place`: the number of its section in the document, from 1,
    and 0 where none is known; `tokens`: about as many as it has. `read_at`: when the run retrieved it, as `utc_stamp`;
    "" of releases that did not keep it.
    """

    former_fields: ClassVar[frozenset[str]] = frozenset({"speaks_to_ai"})

    id: str
    url: str
    title: str
    heading: str = ""
    published: str | None = None
    read_at: str = ""
    place: int = 0
    tokens: int = 0
    text: str = ""


ClaimKind = Annotated[
    Literal["stated", "disputed", "derived", "judgement", "not_found", "lead_in"],
    # Drafts of earlier releases call it open.
    BeforeValidator(lambda kind: "not_found" if kind == "open" else kind),
]
"""A passage says it; passages contradict each other on it; it follows from passages; the writer's own word; nothing was
found on it; it introduces others."""
SHOWN_BY_PASSAGES = frozenset[ClaimKind]({"stated", "disputed", "derived"})
"""The kinds of statement that passages have to show."""


class Refutation(Record):
    """What code has refuted of a statement: no reply of a model clears it.

    `quote`: words that stand in none of its passages; `figure`: figures, dates and identifiers that nothing carries;
    `sum`: figures that its sums do not give; `input`: numbers of a sum that nothing has. `detail` names them.
    """

    rule: Literal["quote", "figure", "sum", "input"]
    detail: str


class CitedSentence(Record):
    """A statement and the ids of the passages it rests on.

    `quotes`: the words that carry it, as they stand in these passages. `basis`: of a derived figure the arithmetic,
    such as `21.4 * 4`; of a judgement the values that it proposes, `proposed: 2000`; of what is not found the number of
    its part and the key words that would find it, such as `3: recovery time`. `teams`: in a merged report the ids of
    the teams whose reports say the same. `text`: one line, and lines of code below it (see `words_and_code`).
    `goes_on`: in a list, it belongs to the item of the statement before it.
    """

    text: Text
    passages: list[str] = Field(default_factory=list)
    quotes: list[str] = Field(default_factory=list)
    kind: ClaimKind = "stated"
    basis: str = ""
    refuted: list[Refutation] = Field(default_factory=list)
    teams: list[str] = Field(default_factory=list)
    goes_on: bool = False


class Paragraph(Record):
    type: Literal["paragraph"] = "paragraph"
    sentences: list[CitedSentence] = Field(min_length=1)

    def statements(self) -> list[CitedSentence]:
        return self.sentences


class ItemList(Record):
    """A list. An item is one statement or several; all but its first have `goes_on`."""

    type: Literal["list"] = "list"
    items: list[CitedSentence] = Field(min_length=1)
    numbered: bool = False

    def statements(self) -> list[CitedSentence]:
        return self.items

    def by_item(self) -> list[list[CitedSentence]]:
        """The statements of each item."""
        items: list[list[CitedSentence]] = []
        for each in self.items:
            if each.goes_on and items:
                items[-1].append(each)
            else:
                items.append([each])
        return items


class TableCell(Record):
    """What a cell says, and the passages that it rests on by itself."""

    text: str
    passages: list[str] = Field(default_factory=list)


# Drafts of runs before cells named passages are stored with plain texts.
_Cell = Annotated[TableCell, BeforeValidator(lambda cell: {"text": cell} if isinstance(cell, str) else cell)]


class TableRow(Record):
    """A row's cells, as many as the table has columns. `passages`: what the row rests on as a whole."""

    cells: list[_Cell] = Field(min_length=1)
    passages: list[str] = Field(default_factory=list)
    quotes: list[str] = Field(default_factory=list)
    kind: ClaimKind = "stated"
    basis: str = ""
    refuted: list[Refutation] = Field(default_factory=list)
    teams: list[str] = Field(default_factory=list)

    def texts(self) -> list[str]:
        return [cell.text for cell in self.cells]

    def passages_by_cell(self) -> list[list[str]]:
        """The passages of each cell; behind them those of the row that no cell names."""
        by_cell = [cell.passages for cell in self.cells]
        return [
            *by_cell,
            [each for each in self.passages if not any(each in cell_passages for cell_passages in by_cell)],
        ]


def check_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Raises ValueError where a row, given as its cells, has more or fewer of them than there are columns."""
    for number, cells in enumerate(rows, start=1):
        if len(cells) != len(columns):
            raise ValueError(f"row {number} has {len(cells)} cells for {len(columns)} columns")


class Table(Record):
    type: Literal["table"] = "table"
    columns: list[str] = Field(min_length=1)
    rows: list[TableRow] = Field(min_length=1)

    @model_validator(mode="after")
    def _rows_fit(self) -> "Table":
        check_columns(self.columns, [row.cells for row in self.rows])
        return self

    def common_passages(self) -> list[str]:
        """What every row rests on as a whole, but for totals: printed once, behind the name of the first column."""
        resting = [row.passages_by_cell() for row in self.rows]
        of_rows = [each[-1] for row, each in zip(self.rows, resting, strict=True) if row.kind != "derived" or any(each)]
        first, *others = of_rows or [[]]
        return first if others and all(set(each) == set(first) for each in others) else []

    def printed_passages(self, row: TableRow) -> list[list[str]]:
        """The passages behind each cell; those of the row as a whole stand behind its first cell with a text."""
        *by_cell, of_row = row.passages_by_cell()
        place = next((at for at, text in enumerate(row.texts()) if text.strip()), 0)
        by_cell[place] = [*by_cell[place], *([] if self.common_passages() else of_row)]
        return by_cell

    def statements(self) -> list[CitedSentence]:
        return [self.statement(row) for row in self.rows]

    def statement(self, row: TableRow) -> CitedSentence:
        """The row as a sentence would say it, with all that it rests on: `Column: cell; Column: cell`.

        One that is derived and names no passage, such as a total, rests on the other rows.
        """
        cells = [
            f"{column}: {text}" if column.strip() else text
            for column, text in zip(self.columns, row.texts(), strict=True)
        ]
        own = [*chain(*row.passages_by_cell())]
        others = chain(*(chain(*each.passages_by_cell()) for each in self.rows)) if row.kind == "derived" else ()
        return CitedSentence(
            text="; ".join(cells),
            passages=list(dict.fromkeys(own or others)),
            **row.model_dump(include={"quotes", "kind", "basis", "refuted", "teams"}),
        )


Block = Annotated[Paragraph | ItemList | Table, Field(discriminator="type")]


def changed_block(block: Block, new: Sequence[CitedSentence | TableRow | None]) -> Block | None:
    """The block with new statements or rows in place of its own, in order.

    None among them removes one; the result is None if nothing is left.
    """
    if not any(new):
        return None
    match block:
        case Paragraph():
            return block.model_copy(update={"sentences": [each for each in new if each]})
        case Table():
            return block.model_copy(update={"rows": [each for each in new if each]})
    left, begins = list[CitedSentence](), True
    for before, each in zip(block.items, new, strict=True):
        # If an item's first statement is removed, the next one begins the item.
        begins = begins or not before.goes_on
        if isinstance(each, CitedSentence):
            left.append(each.model_copy(update={"goes_on": not begins}))
            begins = False
    return block.model_copy(update={"items": left})


class Section(Record):
    """A part of the report's body. Without a heading it follows the one before it."""

    heading: str = ""
    blocks: list[Block] = Field(min_length=1)

    def statements(self) -> list[CitedSentence]:
        return [each for block in self.blocks for each in block.statements()]


class PlacedSentence(NamedTuple):
    """A statement and its place: `summary 2`, `finding 1`, `limit 1`, or section, block and item as `2.1.3`.

    `section`: its number, 0 outside of them; `block` and, in a table, `row`: what it stands in.
    """

    place: str
    sentence: CitedSentence
    section: int = 0
    block: Block | None = None
    row: TableRow | None = None


class TeamStatement(Record):
    """A statement of a team's report on one side of a disagreement. `team`: its name; `team_id`: its id."""

    team_id: str
    team: str
    place: str
    text: Text
    quotes: list[str] = Field(default_factory=list)


class Disagreement(Record):
    """What teams' reports contradict each other on, and the statements of each side, word for word.

    `decided`: the id of the team that the merged report follows, "" where it stays undecided; `why`: for this reason.
    """

    point: Text
    sides: list[TeamStatement] = Field(min_length=2)
    why: str = ""
    decided: str = ""

    def line(self, language: Language) -> str:
        """Between which teams, and what decided it, as Markdown. What each says stands in the JSON."""
        words, between = WORDS[language].agreement, WORDS[language].between
        names = {each.team_id: inert(each.team) for each in self.sides}
        team = names.get(self.decided, "")
        end = (words.decided if team else words.undecided).format(team=team, why=self.why).strip()
        return words.point.format(point=self.point, teams=between.join(names.values()), end=end)


SENTENCES_A_PARAGRAPH = 4


class Draft(Record):
    """The writer's report as structure: what each statement rests on stands beside it, by passage id.

    `withheld`: the addresses of sources that speak to AI systems, and whose orders a sentence repeated that was left
    out; "" for one that no source orders. `declined`: the fixes that this round's revisions did not follow, and why;
    `left_out`: the statements that they took out, and why. `sources_by_name`, `own_headings`, `opening_heading`: as in
    `ResearchReport`. `reader_limit`: the words, in Japanese the characters, that its reader allows for all of it, as
    its writer reads the question; None where none is named.
    `disagreements`: of the reports that it was merged from.
    `elsewhere`: others wrote it, so that its statements may quote nothing.
    """

    title: str = ""
    summary: list[CitedSentence] = Field(min_length=1)
    findings: list[CitedSentence] = Field(min_length=1)
    sections: list[Section] = Field(min_length=1)
    limits: list[CitedSentence] = Field(default_factory=list)
    bullets_used: list[str] = Field(default_factory=list)
    withheld: list[str] = Field(default_factory=list)
    declined: list[str] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)
    sources_by_name: bool = False
    own_headings: bool = False
    opening_heading: str = ""
    reader_limit: int | None = None
    disagreements: list[Disagreement] = Field(default_factory=list)
    elsewhere: bool = False

    def placed_sentences(self) -> list[PlacedSentence]:
        """Every sentence, item and row in reading order, with its place."""

        def of_part(name: str, sentences: Sequence[CitedSentence]) -> list[PlacedSentence]:
            return [PlacedSentence(f"{name} {number}", each) for number, each in enumerate(sentences, start=1)]

        body = [
            PlacedSentence(f"{number}.{at}.{item}", each, number, block, row)
            for number, section in enumerate(self.sections, start=1)
            for at, block in enumerate(section.blocks, start=1)
            for item, (each, row) in enumerate(zip_longest(block.statements(), _rows(block)), start=1)
        ]
        return [
            *of_part("summary", self.summary),
            *of_part("finding", self.findings),
            *body,
            *of_part("limit", self.limits),
        ]

    def tables(self) -> dict[str, Table]:
        """Every table, by its place: section and block as `2.1`."""
        return {at.place.rpartition(".")[0]: at.block for at in self.placed_sentences() if isinstance(at.block, Table)}

    def rows(self) -> dict[str, TableRow]:
        """Every row of a table, by its place."""
        return {each.place: each.row for each in self.placed_sentences() if each.row}

    def sentences(self) -> list[CitedSentence]:
        """Every sentence, item and row in reading order."""
        return [each.sentence for each in self.placed_sentences()]

    def passages(self) -> list[str]:
        """The ids that it rests on, in its order."""
        return list(dict.fromkeys(each for sentence in self.sentences() for each in sentence.passages))


def _rows(block: Block) -> list[TableRow]:
    return block.rows if isinstance(block, Table) else []


def flat_section(sentences: Sequence[CitedSentence]) -> Section:
    """A section without a heading, in paragraphs of up to four sentences, evenly filled."""
    count = max(1, -(-len(sentences) // SENTENCES_A_PARAGRAPH))
    bounds = [len(sentences) * part // count for part in range(count + 1)]
    return Section(blocks=[Paragraph(sentences=[*sentences[begin:end]]) for begin, end in pairwise(bounds)])


GENERATED_AT = "*Generated at"
"""Begins the last line of a report."""

MARK = re.compile(r"\[([1-9]\d*)\]")
"""A citation in a report: `[3]` is entry 3 of its sources, and `x[0]` is none."""


class ResearchReport(ReloadedRecord):
    """The report. `[n]` in its texts is entry n of `sources`. A right answer may be one short sentence.

    `own_headings`: whether it has no headings but those of its sections, because its reader says how it is to be laid
    out, and `opening_heading` above summary and findings, where it has one. `sources_by_name`: whether such a report
    ends with the files' names of what it cites, by number, because its reader asks for them. `disagreements`: of the
    teams' reports, in one that was merged of them.
    """

    former_fields: ClassVar[frozenset[str]] = frozenset({"question", "teams", "elsewhere", "statements", "passages"})
    """The ledger of a published report, which stands in its file alone."""
    theme: Theme
    executive_summary: Text
    key_findings: list[Text] = Field(min_length=1, max_length=20)
    detailed_analysis: Text
    constraints_and_challenges: str = ""
    sources: list[SearchResult] = Field(default_factory=list)
    sources_by_name: bool = False
    own_headings: bool = False
    opening_heading: str = ""
    disagreements: list[Disagreement] = Field(default_factory=list)
    generated_at: UtcDatetime = Field(default_factory=utc_now)

    def cited_count(self) -> int:
        """How many of the sources are references, as `[n]` in the texts cites them; all where nothing is cited.

        The sources after them were read, and nothing cites them.
        """
        return self._last_cited() or len(self.sources)

    def _last_cited(self) -> int:
        texts = (self.executive_summary, *self.key_findings, self.detailed_analysis, self.constraints_and_challenges)
        numbers = {int(number) for text in texts for number in MARK.findall(without_code(text))}
        return max((number for number in numbers if number <= len(self.sources)), default=0)

    def cited_sources(self) -> list[SearchResult]:
        """Those that the texts cite; the sources after them were read only."""
        return self.sources[: self.cited_count()]

    def named_sources(self) -> list[SearchResult]:
        """Those with whose names the report ends, by number."""
        return self.sources[: self._last_cited()] if self.own_headings and self.sources_by_name else []

    def to_markdown(self, language: Language = "en", *, folders: Sequence[Path] = ()) -> str:
        """The report as Markdown, in the layout that readers of the format match on, or with headings of its own.

        Local documents in one of the `folders` are named by their paths in it.
        """
        headings = WORDS[language].headings
        findings = "\n".join(f"{number}. {finding}" for number, finding in enumerate(self.key_findings, start=1))
        parts = [f"# {inert(self.theme)}"]
        if self.own_headings:
            parts += [f"## {inert(self.opening_heading)}"] if self.opening_heading else []
            findings = findings if self.key_findings[1:] else self.key_findings[0]
            pieces = split_code(self.detailed_analysis)
            pieces[::2] = [_SECTION_HEADING.sub("## ", each) for each in pieces[::2]]
            parts += [self.executive_summary, findings, "".join(pieces)]
        else:
            parts += [f"## {headings.summary}", self.executive_summary, f"## {headings.findings}", findings]
            parts += [f"## {headings.analysis}", self.detailed_analysis]
        if self.constraints_and_challenges:
            parts += [f"## {headings.limits}", self.constraints_and_challenges]
        if named := self.named_sources():
            # A name that begins with a number or a dash would open a list of its own.
            names = (OPENS_BLOCK.sub(r"\1\\", _address(source, folders), count=1) for source in named)
            parts += [f"## {headings.sources}", "\n".join(f"{at}. {name}" for at, name in enumerate(names, start=1))]
        parts.append(f"## {headings.references}")
        first_read = self.cited_count() + 1
        for number, source in enumerate(self.sources, start=1):
            parts += [f"### {headings.also_read}"] if number == first_read else []
            parts.append(_reference(number, source, _address(source, folders)))
        parts.append(f"{GENERATED_AT}: {self.generated_at:%Y-%m-%d %H:%M:%S} UTC*")
        return "\n\n".join(parts)


_SECTION_HEADING = re.compile(r"^### ", re.MULTILINE)


def _address(source: SearchResult, folders: Sequence[Path]) -> str:
    """Where the source stands, in Markdown; what people and programs copy as an address holds no escapes."""
    shown = shown_address(source.url, folders)
    return shown if "://" in shown else inert(shown)


def _reference(number: int, source: SearchResult, address: str) -> str:
    title, authors = inert(source.title), ", ".join(source.authors or [])
    lines = [f"{number}. **{title}**", f"   - Source: {source.source}", f"   - URL: {address}"]
    lines += [f"   - Published: {source.published_date}"] if source.published_date else []
    lines += [f"   - Authors: {authors}"] if authors else []
    return "\n".join(lines)
