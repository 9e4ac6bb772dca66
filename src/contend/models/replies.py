"""What models are asked to answer, reason before score. Every list and string has a cap: small models stop in time.

Prompts say what the fields mean; what goes out with them is the shape alone. Judges' replies are in
`evaluation`, those of whoever learns in `playbook`.
"""

from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from contend.models.research import MOST_POINTS, ClaimKind, PartState, check_columns

MOST_ACTIONS = 12
"""So many actions a step names at most."""

MOST_UNCITED = 60
"""So many passages that a draft does not cite a reviewer is asked about at most."""

S = TypeVar("S")
A = TypeVar("A")
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


class ActionReply(Reply):
    """One step into the sources: a search, a find of literal words, or reading by place.

    `source`: the name of one; "" for each that can do it. `text`: key words, literal words (`*` and `?` stand for any),
    or a place such as `12`, `12.7` or `12.7-9`. `parts`: the numbers of the parts that it is for.
    """

    kind: Literal["search", "find", "read"]
    source: str = Field(max_length=64)
    text: str = Field(min_length=1, max_length=400)
    parts: list[WholeNumber] = Field(max_length=MOST_POINTS)


class PartReply(Reply):
    """How far one part of the question is: its state, the passages that support it, what is missing.

    `notes`: what its answer must not overlook.
    """

    part: WholeNumber = Field(ge=1, le=MOST_POINTS)
    state: PartState
    passages: list[WholeNumber] = Field(max_length=60)
    missing: str = Field(max_length=400)
    notes: list[Annotated[str, Field(max_length=600)]] = Field(max_length=8)

    @model_validator(mode="before")
    @classmethod
    def _without_notes(cls, reply: object) -> object:
        """A recording from before there were notes says nothing of them."""
        return {"notes": [], **reply} if isinstance(reply, dict) else reply


class StepReply(Reply):
    """The researcher's step: what the last results mean for the parts, what is held, and what to do next."""

    thought: str = Field(min_length=2, max_length=800)
    parts: list[PartReply] = Field(max_length=MOST_POINTS)
    others: list[WholeNumber] = Field(max_length=60)
    give_up: list[WholeNumber] = Field(max_length=100)
    actions: list[ActionReply] = Field(max_length=MOST_ACTIONS)
    done: bool


# A recording from before statements were quoted says nothing of it.
_Quotes = Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=8)]


class _Grounds(Reply):
    """What carries a statement: passages by number, their words, its kind and what it is reckoned from."""

    @model_validator(mode="before")
    @classmethod
    def _not_quoted(cls, reply: object) -> object:
        return {"quotes": [], **reply} if isinstance(reply, dict) else reply


class StatementReply(_Grounds):
    """A sentence or list item. `basis`: arithmetic of a derived figure, or part and key words of what is not found.

    `quotes`: words that carry it, as they stand in its passages.
    """

    text: str = Field(min_length=2, max_length=2_000)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)
    quotes: _Quotes
    kind: ClaimKind
    basis: str = Field(max_length=_LONGEST_BASIS)


class ParagraphOf(Reply, Generic[S]):
    type: Literal["paragraph"]
    sentences: list[S] = Field(min_length=1, max_length=20)


_ItemOf = Annotated[list[S], Field(min_length=1, max_length=6)]


class ListOf(Reply, Generic[S]):
    """`numbered`: its items are steps in their order. An item is a statement, or an array of several."""

    type: Literal["list"]
    numbered: bool
    items: list[S | _ItemOf[S]] = Field(min_length=1, max_length=30)

    # A recording from before lists were numbered says nothing of it.
    @model_validator(mode="before")
    @classmethod
    def _not_numbered(cls, reply: object) -> object:
        return {"numbered": False, **reply} if isinstance(reply, dict) else reply


class CellReply(Reply):
    """A table's cell and the numbers of the passages that it rests on by itself."""

    text: str = Field(max_length=400)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)


# A model, and a recording from before cells named sources, may give a cell as its text alone.
_Cell = Annotated[
    CellReply, BeforeValidator(lambda cell: {"text": cell, "sources": []} if isinstance(cell, str) else cell)
]


class RowReply(_Grounds):
    """A table's row; sources, kind and basis are those of the row as a whole, and quotes carry all its cells."""

    cells: list[_Cell] = Field(min_length=1, max_length=8)
    sources: list[WholeNumber] = Field(max_length=_MOST_SOURCES)
    quotes: _Quotes
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


class KeptReply(Reply):
    """A sentence, item or row of the draft that stays word for word, by its place such as `2.1.3`."""

    keep: str = Field(min_length=1, max_length=20)


SUMMARY_CHARACTERS = 850
"""A report's summary may have 1,000 characters, its citation marks among them."""


def fault_of_summary(characters: int) -> str:
    """What is wrong with a summary of this length in characters; "" if it fits."""
    if characters <= SUMMARY_CHARACTERS:
        return ""
    return f"the summary has {characters} characters, at most {SUMMARY_CHARACTERS} fit: shorten it"


def _fits_summary(statements: list[A]) -> list[A]:
    if fault := fault_of_summary(sum(len(each.text) for each in statements if isinstance(each, StatementReply))):
        raise ValueError(fault)
    return statements


_SummaryOf = Annotated[list[A], Field(min_length=1, max_length=6), AfterValidator(_fits_summary)]
_FindingsOf = Annotated[list[A], Field(min_length=1, max_length=12)]
_LimitsOf = Annotated[list[A], Field(max_length=10)]


class PrintedReply(Reply):
    """What begins with how the report is printed, as `ResearchReport` has it, and how long it may be."""

    sources_by_name: bool
    own_headings: bool
    opening_heading: str = Field(max_length=160)
    reader_limit: Annotated[int, Field(ge=1)] | None


class ScenarioReply(Reply):
    """What may befall the reader, and what comes of it if he follows the report; `holds`: each of his goals is kept."""

    event: str = Field(min_length=2, max_length=400)
    outcome: str = Field(min_length=2, max_length=1_000)
    holds: bool


_Scenarios = Annotated[list[ScenarioReply], Field(max_length=20)]


class ReportReply(PrintedReply):
    """The writer's report as structure; code renders the citations.

    `scenarios`: what its advice was held against before it was written; nothing of them is printed.
    """

    scenarios: _Scenarios
    title: str = Field(min_length=2, max_length=120)
    summary: _SummaryOf[StatementReply]
    findings: _FindingsOf[StatementReply]
    sections: list[SectionReply] = Field(min_length=1, max_length=12)
    limits: _LimitsOf[StatementReply]
    lessons: list[WholeNumber] = Field(max_length=8)

    # A recording from before there were scenarios says nothing of them.
    @model_validator(mode="before")
    @classmethod
    def _without_scenarios(cls, reply: object) -> object:
        return {"scenarios": [], **reply} if isinstance(reply, dict) else reply


Letter = Annotated[str, Field(min_length=1, max_length=1)]
"""The editor's name for a report."""


class _Shared(Reply):
    """`teams`: the letters of the reports that say the same."""

    # A recording from before reports were named says nothing of it.
    @model_validator(mode="before")
    @classmethod
    def _of_no_report(cls, reply: object) -> object:
        return {"teams": [], **reply} if isinstance(reply, dict) else reply


class MergedStatement(StatementReply, _Shared):
    teams: list[Letter] = Field(max_length=12)


class MergedRow(RowReply, _Shared):
    teams: list[Letter] = Field(max_length=12)


class TakenStatement(KeptReply, _Shared):
    """A statement of a report that is taken word for word, by letter and place such as `A 2.1.3`."""

    teams: list[Letter] = Field(max_length=12)


class MergedParagraph(ParagraphOf[MergedStatement | TakenStatement]):
    pass


class MergedList(ListOf[MergedStatement | TakenStatement]):
    pass


class MergedTable(TableOf[MergedRow | TakenStatement]):
    pass


class MergedSection(SectionOf[Annotated[MergedParagraph | MergedList | MergedTable, _BY_TYPE]]):
    pass


class DisagreementReply(Reply):
    """Where reports contradict each other: what about, the statements of each side by letter and place.

    `why`: what decides it, for the report that `decided` names by its letter; "" there: it is undecided.
    """

    point: str = Field(min_length=2, max_length=200)
    sides: list[Annotated[str, Field(min_length=1, max_length=20)]] = Field(min_length=2, max_length=6)
    why: str = Field(max_length=300)
    decided: str = Field(max_length=1)


class TakenReply(Reply):
    """What a merged report took from one of the reports, by its letter."""

    report: str = Field(min_length=1, max_length=1)
    what: str = Field(min_length=2, max_length=300)


class MergedReport(PrintedReply):
    """The editor's report, merged of several."""

    title: str = Field(min_length=2, max_length=120)
    summary: _SummaryOf[MergedStatement | TakenStatement]
    findings: _FindingsOf[MergedStatement | TakenStatement]
    sections: list[MergedSection] = Field(min_length=1, max_length=12)
    limits: _LimitsOf[MergedStatement | TakenStatement]
    disagreements: list[DisagreementReply] = Field(max_length=8)
    taken: list[TakenReply] = Field(max_length=12)
    lessons: list[WholeNumber] = Field(max_length=8)

    # A recording from before they were listed says nothing of them.
    @model_validator(mode="before")
    @classmethod
    def _without_disagreements(cls, reply: object) -> object:
        return {"disagreements": [], **reply} if isinstance(reply, dict) else reply


class MergeReply(Reply):
    """What the editor looks up first, or the merged report."""

    actions: list[ActionReply] = Field(max_length=MOST_ACTIONS)
    report: MergedReport | None


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


class LeftOutReply(Reply):
    """A statement that the report makes no longer, by its place in the draft, and why."""

    place: str = Field(min_length=1, max_length=20)
    why: str = Field(max_length=400)


class RevisionReply(Reply):
    """What of a draft changes; parts that are null and sections that are not named stay as they are."""

    not_done: list[Annotated[str, Field(max_length=400)]] = Field(max_length=12)
    left_out: list[LeftOutReply] = Field(max_length=40)
    title: Annotated[str, Field(min_length=2, max_length=120)] | None
    summary: _SummaryOf[StatementReply | KeptReply] | None
    findings: _FindingsOf[StatementReply | KeptReply] | None
    sections: list[SectionChange] = Field(max_length=14)
    limits: _LimitsOf[StatementReply | KeptReply] | None
    lessons: list[WholeNumber] = Field(max_length=8)

    # A recording from before revisions could change the title, or said what they left out, says nothing of it.
    @model_validator(mode="before")
    @classmethod
    def _same_title(cls, reply: object) -> object:
        return {"title": None, "left_out": [], **reply} if isinstance(reply, dict) else reply


class MendedStatement(Reply):
    """A statement or row anew, by its place; None: it is left out."""

    place: str = Field(min_length=1, max_length=20)
    statement: StatementReply | RowReply | None


class MendedReply(Reply):
    """Statements that code has refuted, anew."""

    statements: list[MendedStatement] = Field(max_length=60)


class FixReply(Reply):
    """What to change, and where: a place of the draft such as `2.1.3`, or `summary 1`."""

    where: str = Field(min_length=1, max_length=80)
    what: str = Field(min_length=2, max_length=600)


class ReviewFix(FixReply):
    """A reviewer's fix, with the numbers of the passages that carry it."""

    passages: list[WholeNumber] = Field(max_length=10)


class CheckedCriterion(Reply):
    """What the reviewer asks of a very good report, and whether the draft has it."""

    text: str = Field(min_length=5, max_length=300)
    met: Literal["yes", "partly", "no"]


class UncitedPassage(Reply):
    """A passage at hand that the draft does not cite; `change`: what of it would change what the reader does, or ""."""

    passage: WholeNumber
    change: str = Field(max_length=600)


class FixesReply(Reply):
    """What the reviewer looks up first; or what it held the draft against, its fixes, and whether it is accepted."""

    actions: list[ActionReply] = Field(max_length=MOST_ACTIONS)
    criteria: list[CheckedCriterion] = Field(max_length=12)
    scenarios: _Scenarios
    uncited: list[UncitedPassage] = Field(max_length=MOST_UNCITED)
    fixes: list[ReviewFix] = Field(max_length=40)
    accept: bool

    # A recording from before there were these says nothing of them.
    @model_validator(mode="before")
    @classmethod
    def _without_scenarios(cls, reply: object) -> object:
        return {"scenarios": [], "uncited": [], **reply} if isinstance(reply, dict) else reply


MOST_ORDERS = 60


class OrderReply(Reply):
    """A sentence that speaks to AI systems, and the numbers of the passages in which it stands."""

    quote: str = Field(max_length=1000)
    passages: list[WholeNumber] = Field(max_length=60)


class InjectionReply(Reply):
    """The sentences of passages that speak to AI systems."""

    orders: list[OrderReply] = Field(max_length=MOST_ORDERS)
