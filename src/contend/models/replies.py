"""What models are asked to answer, reason before score. Every list and string has a cap: small models stop in time.

Prompts say what the fields mean; what goes out with them is the shape alone. Judges' replies are in
`evaluation`, those of whoever learns in `playbook`.
"""

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from contend.models.research import MOST_POINTS, MOST_QUERIES, ClaimKind, check_columns

Line = Annotated[str, Field(min_length=2, max_length=200)]
S = TypeVar("S")
_MOST_SOURCES = 20
"""What speaks for and against an alternative, in price, tests, notices and dates, rests on fourteen sections."""
_LONGEST_BASIS = 800
"""Characters: of a sum over twelve months for three sites, set apart by semicolons."""
_BY_TYPE = Field(discriminator="type")


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")  # noqa: TRY004 - a ValueError is what pydantic reports
    return value


WholeNumber = Annotated[int, BeforeValidator(_no_truth_value)]
"""Not `true`, which would be 1: of a score, 1 of 100."""


class Reply(BaseModel):
    """The root of reply shapes: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class PlanReply(Reply):
    """The supervisor's plan, of a model that reads little: what to find out, and what to search for."""

    investigation_points: list[Line] = Field(min_length=1, max_length=6)
    search_queries: list[Line] = Field(min_length=1, max_length=6)
    plan_text: str = Field(min_length=10, max_length=600)


LONGEST_SENTENCE = 400
"""Characters. A reply's grammar stops a model there, in the middle of a word."""


class SentenceReply(Reply):
    """One sentence and the numbers of the passages it rests on."""

    text: str = Field(min_length=2, max_length=LONGEST_SENTENCE)
    sources: list[WholeNumber] = Field(max_length=3)


class DraftReply(Reply):
    """The draft of a writer that reads little, sentence by sentence; code renders the citations."""

    summary: list[SentenceReply] = Field(min_length=1, max_length=4)
    findings: list[SentenceReply] = Field(min_length=1, max_length=8)
    analysis: list[SentenceReply] = Field(min_length=1, max_length=14)
    limits: list[SentenceReply] = Field(max_length=4)
    bullets: list[WholeNumber] = Field(max_length=8)


@lru_cache(maxsize=128)
def draft_reply(passages: int, bullets: int) -> type[DraftReply]:
    """DraftReply with passage and bullet numbers offered as a fixed set: 1 to `passages`, 1 to `bullets`.

    Numbers of other bullets are dropped: models that no grammar binds name some where there are none.
    """
    sentence = create_model("SentenceReply", __base__=SentenceReply, sources=_choice_field(passages, most=3))
    shapes = {
        name: _field(list[sentence], DraftReply.model_fields[name].metadata)
        for name in ("summary", "findings", "analysis", "limits")
    }
    return create_model(
        "DraftReply", __base__=DraftReply, **shapes, bullets=_choice_field(bullets, most=8, others_dropped=True)
    )


def _choice_field(count: int, *, most: int, others_dropped: bool = False) -> Any:  # noqa: ANN401 - a field made at run time
    """A list of numbers from 1 to `count`; empty where there is nothing to choose from."""
    validators = [BeforeValidator(lambda numbers: _in_range(numbers, count))] if others_dropped else []
    if not count:
        return _field(list[WholeNumber], [MaxLen(0), *validators])
    return _field(list[Literal[tuple(range(1, count + 1))]], [MaxLen(most), *validators])  # type: ignore[misc]  # run time


def _in_range(numbers: object, count: int) -> object:
    return [one for one in numbers if one in range(1, count + 1)] if isinstance(numbers, list) else numbers


def _field(kind: object, limits: list[Any]) -> Any:  # noqa: ANN401 - a field made at run time
    return (Annotated[kind, *limits], ...)


class ReviewReply(Reply):
    """What a reviewer that reads little answers: it accepts, or says what is missing; `more_queries` are searched."""

    feedback: str = Field(max_length=800)
    more_queries: list[Line] = Field(max_length=3)
    accept: bool


class QueryReply(Reply):
    """A search, and the numbers of the points it is for."""

    query: Line
    points: list[WholeNumber] = Field(max_length=MOST_POINTS)


class ResearchPlanReply(Reply):
    """The supervisor's plan: the report's title, what to find out, its outline, and what to search for."""

    plan_text: str = Field(min_length=10, max_length=1_000)
    title: str = Field(min_length=2, max_length=120)
    points: list[Annotated[str, Field(min_length=2, max_length=400)]] = Field(min_length=1, max_length=MOST_POINTS)
    outline: list[Line] = Field(min_length=1, max_length=12)
    queries: list[QueryReply] = Field(max_length=MOST_QUERIES)


class PointChoice(Reply):
    """A point of the plan by its number, and the passages that serve it."""

    point: WholeNumber = Field(ge=1, le=MOST_POINTS)
    passages: list[WholeNumber] = Field(max_length=40)


class ChoiceReply(Reply):
    """Which passages serve which point, or none of them; `gaps` are searches for what no passage answers."""

    points: list[PointChoice] = Field(max_length=MOST_POINTS)
    others: list[WholeNumber] = Field(max_length=40)
    gaps: list[Line] = Field(max_length=5)


class StatementReply(Reply):
    """A sentence or list item. `basis`: arithmetic of a derived figure, or the search for what stays open."""

    text: str = Field(min_length=2, max_length=1_200)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)
    kind: ClaimKind
    basis: str = Field(max_length=_LONGEST_BASIS)


class ParagraphOf(Reply, Generic[S]):
    type: Literal["paragraph"]
    sentences: list[S] = Field(min_length=1, max_length=12)


class ListOf(Reply, Generic[S]):
    type: Literal["list"]
    items: list[S] = Field(min_length=1, max_length=30)


class CellReply(Reply):
    """A table's cell and the numbers of the passages that it rests on by itself."""

    text: str = Field(max_length=400)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)


# In recordings from before cells named sources a cell is its text alone.
_Cell = Annotated[
    CellReply, BeforeValidator(lambda cell: {"text": cell, "sources": []} if isinstance(cell, str) else cell)
]


class RowReply(Reply):
    """A table's row; sources, kind and basis are those of the row as a whole."""

    cells: list[_Cell] = Field(min_length=1, max_length=8)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)
    kind: ClaimKind
    basis: str = Field(max_length=_LONGEST_BASIS)


class TableOf(Reply, Generic[S]):
    type: Literal["table"]
    columns: list[Annotated[str, Field(max_length=120)]] = Field(min_length=1, max_length=8)
    rows: list[S] = Field(min_length=1, max_length=40)

    @model_validator(mode="after")
    def _rows_fit(self) -> Self:
        check_columns(self.columns, [row.cells if isinstance(row, RowReply) else self.columns for row in self.rows])
        return self


class SectionOf(Reply, Generic[S]):
    heading: str = Field(min_length=1, max_length=160)
    blocks: list[S] = Field(min_length=1, max_length=20)


class ParagraphReply(ParagraphOf[StatementReply]):
    pass


class ListReply(ListOf[StatementReply]):
    pass


class TableReply(TableOf[RowReply]):
    """Every row has as many cells as there are columns."""


class SectionReply(SectionOf[Annotated[ParagraphReply | ListReply | TableReply, _BY_TYPE]]):
    pass


Statements = list[StatementReply]
SUMMARY_CHARACTERS = 850
"""A report's summary may have 1,000 characters, its citation marks among them."""


def _fits_summary(statements: Statements) -> Statements:
    if (characters := sum(len(each.text) for each in statements)) > SUMMARY_CHARACTERS:
        raise ValueError(f"the summary has {characters} characters, at most {SUMMARY_CHARACTERS} fit: shorten it")
    return statements


Summary = Annotated[Statements, Field(min_length=1, max_length=6), AfterValidator(_fits_summary)]
Findings = Annotated[Statements, Field(min_length=1, max_length=12)]
Limits = Annotated[Statements, Field(max_length=10)]


class PrintedReply(Reply):
    """What begins with how the report is printed, as `ResearchReport` has it, and how long it may be."""

    sources_by_name: bool
    own_headings: bool
    opening_heading: str = Field(max_length=160)
    reader_limit: Annotated[int, Field(ge=1)] | None

    unsaid: ClassVar[dict[str, object]] = {
        "sources_by_name": False,
        "own_headings": False,
        "opening_heading": "",
        "reader_limit": None,
    }
    """What recordings of earlier releases mean that leave it out."""

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_recording(cls, reply: object) -> object:
        return {**cls.unsaid, **reply} if isinstance(reply, dict) else reply


class ReportReply(PrintedReply):
    """The writer's report as structure; code renders the citations."""

    summary: Summary
    findings: Findings
    sections: list[SectionReply] = Field(min_length=1, max_length=12)
    limits: Limits
    lessons: list[WholeNumber] = Field(max_length=8)


class SectionDraftReply(Reply):
    """One section of a long report."""

    section: SectionReply
    lessons: list[WholeNumber] = Field(max_length=8)


class SummaryReply(PrintedReply):
    """What stands around the sections of a long report, by who has read them."""

    summary: Summary
    findings: Findings
    limits: Limits


class TakenReply(Reply):
    """What a merged report took from one of the reports, by its letter."""

    report: str = Field(min_length=1, max_length=1)
    what: str = Field(min_length=2, max_length=300)


class MergeReply(ReportReply):
    """The editor's report, merged of several. Without a title it has that of the best of them."""

    title: str = Field(max_length=120)
    taken: list[TakenReply] = Field(max_length=12)

    unsaid: ClassVar[dict[str, object]] = {**PrintedReply.unsaid, "title": ""}


class KeptReply(Reply):
    """A sentence, item or row of the draft that stays word for word, by its place such as `2.1.3`."""

    keep: str = Field(min_length=1, max_length=20)


class RevisedParagraph(ParagraphOf[StatementReply | KeptReply]):
    pass


class RevisedList(ListOf[StatementReply | KeptReply]):
    pass


class RevisedTable(TableOf[RowReply | KeptReply]):
    pass


class RevisedSection(SectionOf[Annotated[RevisedParagraph | RevisedList | RevisedTable, _BY_TYPE]]):
    pass


class SectionChange(Reply):
    """A section in its new form. `number` 0: a new one, at the end; `section` None: it goes."""

    number: WholeNumber = Field(ge=0, le=20)
    section: RevisedSection | None


class RevisionReply(Reply):
    """What of a draft changes; parts that are null and sections that are not named stay as they are."""

    not_done: list[Annotated[str, Field(max_length=400)]] = Field(max_length=12)
    summary: Summary | None
    findings: Findings | None
    sections: list[SectionChange] = Field(max_length=14)
    limits: Limits | None
    lessons: list[WholeNumber] = Field(max_length=8)


class FixReply(Reply):
    """What to change, and where: a place of the draft such as `2.1.3`, or `summary 1`."""

    where: str = Field(min_length=1, max_length=80)
    what: str = Field(min_length=2, max_length=600)


class FixesReply(Reply):
    """The reviewer's fixes, the searches for what is missing, and whether the draft can be handed in as it is."""

    fixes: list[FixReply] = Field(max_length=15)
    gaps: list[Line] = Field(max_length=5)
    accept: bool


class InjectionReply(Reply):
    """The numbers of the excerpts that speak to AI systems."""

    reason: str = Field(max_length=300)
    speaking: list[WholeNumber] = Field(max_length=60)
