"""What models are asked to answer, reason before score. Every list and string has a cap: small models stop in time.

Prompts say what the fields mean; what goes out with them is the shape alone.

Numbers are whole percents: local models keep integer bounds and not float ones.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import MaxLen
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from contend.models.research import MOST_POINTS, MOST_QUERIES, ClaimKind
from contend.text import shorten

Line = Annotated[str, Field(min_length=2, max_length=200)]


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
    sources: list[int] = Field(max_length=3)


class DraftReply(Reply):
    """The draft of a writer that reads little, sentence by sentence; code renders the citations."""

    summary: list[SentenceReply] = Field(min_length=1, max_length=4)
    findings: list[SentenceReply] = Field(min_length=1, max_length=8)
    analysis: list[SentenceReply] = Field(min_length=1, max_length=14)
    limits: list[SentenceReply] = Field(max_length=4)
    bullets: list[int] = Field(max_length=8)


@lru_cache(maxsize=128)
def draft_reply(passages: int, bullets: int) -> type[DraftReply]:
    """DraftReply with passage and bullet numbers offered as a fixed set: 1 to `passages`, 1 to `bullets`.

    Numbers of other bullets are dropped: models that no grammar binds name some where there are none.
    """
    sentence = create_model("SentenceReply", __base__=SentenceReply, sources=_chosen(passages, most=3))
    shapes = {
        name: _field(list[sentence], DraftReply.model_fields[name].metadata)
        for name in ("summary", "findings", "analysis", "limits")
    }
    return create_model(
        "DraftReply", __base__=DraftReply, **shapes, bullets=_chosen(bullets, most=8, others_dropped=True)
    )


def _chosen(count: int, *, most: int, others_dropped: bool = False) -> Any:  # noqa: ANN401 - a field made at run time
    """A list of numbers from 1 to `count`; empty where there is nothing to choose from."""
    read = [BeforeValidator(lambda given: _known(given, count))] if others_dropped else []
    if not count:
        return _field(list[int], [MaxLen(0), *read])
    return _field(list[Literal[tuple(range(1, count + 1))]], [MaxLen(most), *read])  # type: ignore[misc]  # run time


def _known(numbers: object, count: int) -> object:
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
    points: list[int] = Field(max_length=MOST_POINTS)


class ResearchPlanReply(Reply):
    """The supervisor's plan: the report's title, what to find out, its outline, and what to search for."""

    plan_text: str = Field(min_length=10, max_length=1_000)
    title: str = Field(min_length=2, max_length=120)
    points: list[Annotated[str, Field(min_length=2, max_length=400)]] = Field(min_length=1, max_length=MOST_POINTS)
    outline: list[Line] = Field(min_length=1, max_length=12)
    queries: list[QueryReply] = Field(max_length=MOST_QUERIES)


class PointChoice(Reply):
    """A point of the plan by its number, and the passages that serve it."""

    point: int = Field(ge=1, le=MOST_POINTS)
    passages: list[int] = Field(max_length=40)


class ChoiceReply(Reply):
    """Which passages serve which point, or none of them; `gaps` are searches for what no passage answers."""

    points: list[PointChoice] = Field(max_length=MOST_POINTS)
    others: list[int] = Field(max_length=40)
    gaps: list[Line] = Field(max_length=5)


class StatementReply(Reply):
    """A sentence or list item. `basis`: arithmetic of a derived figure, or the search for what stays open."""

    text: str = Field(min_length=2, max_length=1_200)
    sources: list[int] = Field(max_length=8)
    kind: ClaimKind
    basis: str = Field(max_length=300)


class ParagraphReply(Reply):
    type: Literal["paragraph"]
    sentences: list[StatementReply] = Field(min_length=1, max_length=12)


class ListReply(Reply):
    type: Literal["list"]
    items: list[StatementReply] = Field(min_length=1, max_length=30)


class RowReply(Reply):
    """A table's row; sources, kind and basis are those of the row as a whole."""

    cells: list[Annotated[str, Field(max_length=400)]] = Field(min_length=1, max_length=8)
    sources: list[int] = Field(max_length=8)
    kind: ClaimKind
    basis: str = Field(max_length=300)


class TableReply(Reply):
    """Every row has as many cells as there are columns."""

    type: Literal["table"]
    columns: list[Annotated[str, Field(max_length=120)]] = Field(min_length=1, max_length=8)
    rows: list[RowReply] = Field(min_length=1, max_length=40)

    @model_validator(mode="after")
    def _rows_fit(self) -> "TableReply":
        for number, row in enumerate(self.rows, start=1):
            if len(row.cells) != len(self.columns):
                raise ValueError(f"row {number} has {len(row.cells)} cells for {len(self.columns)} columns")
        return self


class SectionReply(Reply):
    heading: str = Field(min_length=1, max_length=160)
    blocks: list[Annotated[ParagraphReply | ListReply | TableReply, Field(discriminator="type")]] = Field(
        min_length=1, max_length=20
    )


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


class ReportReply(Reply):
    """The writer's report as structure; code renders the citations."""

    summary: Summary
    findings: Findings
    sections: list[SectionReply] = Field(min_length=1, max_length=12)
    limits: Limits
    lessons: list[int] = Field(max_length=8)


class SectionDraftReply(Reply):
    """One section of a long report."""

    section: SectionReply
    lessons: list[int] = Field(max_length=8)


class SummaryReply(Reply):
    """What stands around the sections of a long report, by who has read them."""

    summary: Summary
    findings: Findings
    limits: Limits


class TakenReply(Reply):
    """What a merged report took from one of the reports, by its letter."""

    report: str = Field(min_length=1, max_length=1)
    what: str = Field(min_length=2, max_length=300)


class MergeReply(ReportReply):
    """The editor's report, merged of several."""

    taken: list[TakenReply] = Field(max_length=12)


class SectionChange(Reply):
    """A section in its new form. `number` 0: a new one, at the end; `section` None: it goes."""

    number: int = Field(ge=0, le=20)
    section: SectionReply | None


class RevisionReply(Reply):
    """What of a draft changes; parts that are null and sections that are not named stay as they are."""

    not_done: list[Annotated[str, Field(max_length=400)]] = Field(max_length=12)
    summary: Summary | None
    findings: Findings | None
    sections: list[SectionChange] = Field(max_length=14)
    limits: Limits | None
    lessons: list[int] = Field(max_length=8)


class FixReply(Reply):
    """What to change, and where: a place of the draft such as `2.1.3`, or `summary 1`."""

    where: str = Field(min_length=1, max_length=80)
    what: str = Field(min_length=2, max_length=600)


class FixesReply(Reply):
    """The reviewer's fixes, the searches for what is missing, and whether the draft can be handed in as it is."""

    fixes: list[FixReply] = Field(max_length=15)
    gaps: list[Line] = Field(max_length=5)
    accept: bool


MOST_CRITERIA = 15


class CriterionReply(Reply):
    """What a report has to do, so that it can be checked, and how much it matters."""

    text: str = Field(min_length=5, max_length=400)
    weight: int = Field(ge=1, le=5)


class CriteriaReply(Reply):
    """The criteria of one question and its reader's instructions."""

    criteria: list[CriterionReply] = Field(min_length=8, max_length=MOST_CRITERIA)


class CriterionVerdict(Reply):
    """Whether a submission meets a criterion, by its number."""

    number: int = Field(ge=1, le=MOST_CRITERIA)
    evidence: str = Field(max_length=400)
    verdict: Literal["met", "partly", "unmet"]
    fix: FixReply | None


class MetricVerdict(Reply):
    """A judge's verdict on one of several metrics, by its name."""

    metric: str = Field(min_length=1, max_length=64)
    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=300)]] = Field(max_length=3)
    fixes: list[FixReply] = Field(max_length=6)
    percent: int = Field(ge=0, le=100)


MOST_CITATIONS = 100
"""As many doubtful citations are asked about at once."""

Verdict = Literal["stated", "derived", "partly", "contradicted", "absent"]


class CitationWord(NamedTuple):
    """A judge's word on a citation; of one that is said in part, what is lacking."""

    verdict: Verdict
    lacking: str = ""


class CitationVerdict(Reply):
    """Whether its passages say a sentence, by its number."""

    number: int = Field(ge=1, le=MOST_CITATIONS)
    reason: str = Field(min_length=2, max_length=200)
    verdict: Verdict

    def word(self) -> CitationWord:
        return CitationWord(self.verdict, self.reason if self.verdict == "partly" else "")


class VerdictsReply(Reply):
    """A judge's verdicts on a submission: on doubtful citations, on each criterion, on each metric; what it lacks."""

    citations: list[CitationVerdict] = Field(max_length=MOST_CITATIONS)
    criteria: list[CriterionVerdict] = Field(max_length=MOST_CRITERIA)
    metrics: list[MetricVerdict] = Field(max_length=20)
    missing: list[FixReply] = Field(max_length=6)

    @model_validator(mode="before")
    @classmethod
    def _as_recorded_before(cls, given: object) -> object:
        """Judges whose replies were recorded by an earlier release were not asked what is missing."""
        return {"missing": [], **given} if isinstance(given, dict) else given


class MetricReply(Reply):
    """A judge's verdict on one metric."""

    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=200)]] = Field(max_length=3)
    percent: int = Field(ge=0, le=100)

    def score(self) -> float:
        return self.percent / 100

    def expected(self, spread: Mapping[int, float]) -> float:
        """The mean of the percentages from 0 to 100 by their probabilities, as a score; the plain one without any."""
        likely = {percent: share for percent, share in spread.items() if 0 <= percent <= 100 and share > 0}  # noqa: PLR2004 - percent
        total = sum(likely.values())
        mean = sum(percent * share for percent, share in likely.items()) / total if total else float(self.percent)
        return min(1.0, mean / 100)


class PairwiseReply(Reply):
    """A judge's choice between two submissions."""

    reason: str = Field(min_length=2, max_length=600)
    choice: Literal["first", "second", "tie"]


class InjectionReply(Reply):
    """The numbers of the excerpts that speak to AI systems."""

    reason: str = Field(max_length=300)
    speaking: list[int] = Field(max_length=60)


class CitationReply(Reply):
    """A judge's word on doubtful citations."""

    citations: list[CitationVerdict] = Field(min_length=1, max_length=MOST_CITATIONS)


class JudgmentReply(Reply):
    """The round judge's verdict."""

    reasoning: str = Field(min_length=2, max_length=600)
    should_continue: bool
    confidence_percent: int = Field(ge=0, le=100)


class TolerantReply(Reply):
    """A part of a reply that is read as it is meant.

    Null is nothing, letters of choices are in any case, long text is cut.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_as_meant(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        empty = {str: "", bool: False}
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        left_out = {name: empty[kind] for name, kind in kinds.items() if kind in empty}
        return left_out | {name: _meant(value, cls.model_fields.get(name)) for name, value in reply.items()}


def _meant(value: object, field: FieldInfo | None) -> object:
    if field is None or not (value is None or isinstance(value, str)):
        return value
    text = value or ""
    if field.annotation is str:
        limit = next((each.max_length for each in field.metadata if isinstance(each, MaxLen)), len(text))
        return shorten(text, limit)
    choices = get_args(field.annotation)
    return next((choice for choice in choices if str(choice).casefold() == text.strip().casefold()), text)


def _usable(part: type[TolerantReply], parts: object, most: int) -> tuple[object, list[str]]:
    """The parts of a list that can be read, and why the others cannot; all of it where none can."""
    if parts is None:
        return [], []
    if not isinstance(parts, list):
        return parts, []
    read: list[TolerantReply] = []
    faults: list[str] = []
    for number, each in enumerate(parts, start=1):
        try:
            usable = part.model_validate(each)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            faults.append(f"number {number} cannot be read: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
            continue
        if len(read) == most:
            faults.append(f"number {number} is one more than {most}")
        else:
            read.append(usable)
    return (read if read or not parts else parts), faults


class InsightReply(TolerantReply):
    reasoning: str = Field(max_length=600)
    error_identification: str = Field(max_length=400)
    root_cause_analysis: str = Field(max_length=400)
    correct_approach: str = Field(max_length=400)
    key_insight: str = Field(min_length=8, max_length=400, description="when it applies, and what to do then")


class BulletTagReply(TolerantReply):
    bullet_id: str = Field(max_length=64)
    tag: Literal["helpful", "harmful", "neutral"]


MOST_INSIGHTS, MOST_TAGS, MOST_OPERATIONS = 5, 16, 6


class ReflectionReply(Reply):
    """The reflector's lessons and its verdict on the bullets that were used."""

    insights: list[InsightReply] = Field(max_length=MOST_INSIGHTS)
    bullet_evaluations: list[BulletTagReply] = Field(max_length=MOST_TAGS)

    @model_validator(mode="before")
    @classmethod
    def _parts_that_can_be_read(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        insights, _ = _usable(InsightReply, reply.get("insights"), MOST_INSIGHTS)
        tags, _ = _usable(BulletTagReply, reply.get("bullet_evaluations"), MOST_TAGS)
        return {**reply, "insights": insights, "bullet_evaluations": tags}


class DeltaReply(TolerantReply):
    reasoning: str = Field(max_length=400)
    operation: Literal["ADD", "UPDATE", "DELETE"]
    bullet_id: str = Field(max_length=64)
    section: str = Field(max_length=64)
    content: str = Field(max_length=600, description="when it applies, and what to do then")
    example: str = Field(max_length=400, description="one short example, or empty")
    always: bool = Field(description="whether it applies to every question")
    searchable_text: str = Field(max_length=400)


class CurationReply(Reply):
    """The curator's operations, at most one for each insight. `unreadable`: why others are left out."""

    operations: list[DeltaReply] = Field(max_length=MOST_OPERATIONS)
    unreadable: SkipJsonSchema[list[str]] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _parts_that_can_be_read(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        operations, faults = _usable(DeltaReply, reply.get("operations"), MOST_OPERATIONS)
        return {**reply, "operations": operations, "unreadable": faults}


class AnswerReply(TolerantReply):
    """An answer to a labelled question, worked out first."""

    reasoning: str = Field(max_length=1500)
    answer: str = Field(max_length=1000)


class ExpressionReply(TolerantReply):
    """An answer that code computes: the arithmetic is the working.

    Where the key says `answer`, small models compute it themselves.
    """

    expression: str = Field(max_length=300)


MOST_LESSON_PAIRS = 24


class LessonPairReply(TolerantReply):
    """How two lessons stand to one another, polarity first."""

    number: int = Field(ge=1, le=MOST_LESSON_PAIRS)
    polarity: Literal["same", "opposite", "neither"]
    difference: str = Field(max_length=200, description="the number, object or condition that differs; empty if none")
    first_says_second: bool
    second_says_first: bool


class LessonPairsReply(Reply):
    """Which of several pairs of lessons are one lesson."""

    pairs: list[LessonPairReply] = Field(max_length=MOST_LESSON_PAIRS)
