"""A submission, what judges answer on it, and what is kept of their answers.

Replies give numbers as whole percents: local models keep integer bounds and not float ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from contend.models.record import Record, Score, Text
from contend.models.replies import FixReply, Reply, WholeNumber
from contend.models.research import MOST_POINTS, CitedSentence, Draft, Part, Passage, ResearchReport, SearchResult
from contend.models.task import CallUsage
from contend.text import clean


class Submission(Record):
    """`content` is the Markdown that is scored and shown; `results` is all that was retrieved for it.

    `unread`: the reason by address for each page of which only the summary was read. `speaking`: the address of each
    document found with passages that speak to AI systems and are left out, with the signals by which they are known;
    `orders`: their sentences that do, by the same addresses.
    `missing`: the reason by reference for each that a graph of somebody else's cites and that was not retrieved.
    `found_by`: the action that found a cited passage first, by the passage's id. `own`: the ids of the cited passages
    that an action of the team's own brought before other teams' evidence offered them.
    `parts`: what the question asks for, and how far the team came; `nearest`: the passages that its parts name so.
    `passages`: all that the team holds; `numbers`: under which it knows them, by their ids, so that a judge's word on
    one means the same to both.
    """

    content: Text
    report: ResearchReport
    draft: Draft
    passages: list[Passage] = Field(default_factory=list)
    results: list[SearchResult] = Field(default_factory=list)
    points: list[str] = Field(default_factory=list)
    queries: list[str] = Field(default_factory=list)
    feedback: str = ""
    unread: dict[str, str] = Field(default_factory=dict)
    speaking: dict[str, list[str]] = Field(default_factory=dict)
    orders: dict[str, list[str]] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    found_by: dict[str, str] = Field(default_factory=dict)
    own: list[str] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    nearest: list[Passage] = Field(default_factory=list)
    numbers: dict[str, int] = Field(default_factory=dict)

    def number_of(self, passages: Sequence[Passage]) -> dict[str, int]:
        """The numbers of these passages: the team's own, and others behind the highest of them."""
        highest = max(self.numbers.values(), default=0)
        others = [each.id for each in passages if each.id not in self.numbers]
        own = {each.id: self.numbers[each.id] for each in passages if each.id in self.numbers}
        return own | {each: number for number, each in enumerate(dict.fromkeys(others), start=highest + 1)}


CriterionLevel = Literal["met", "partly", "unmet"]


class Criterion(Record):
    """What a report on one question has to do, so that a judge can check it. `weight`: its share of all, 0.0 to 1.0.

    `example`: what would meet it in a report; no fact. Criteria of earlier releases have none.
    """

    text: Text
    example: str = ""
    weight: Score


MOST_CRITERIA = 15
_CRITERION_CHARACTERS = 400
_EXAMPLE_CHARACTERS = 400


def _one_line(value: object) -> object:
    return clean(value, single_line=True).strip() if isinstance(value, str) else value


_PART = Annotated[str, Field(min_length=2, max_length=400)]
_Line = BeforeValidator(_one_line)


class WrittenCriterion(Record):
    """A criterion that a person wrote."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    text: Annotated[str, Field(min_length=5, max_length=_CRITERION_CHARACTERS), _Line]
    """One thing that is either in the report or not."""
    example: Annotated[str, Field(max_length=_EXAMPLE_CHARACTERS), _Line] = ""
    """What would meet it. Left out: none."""
    weight: int = Field(default=3, ge=1, le=5)
    """From 1, a detail, to 5, without which the question is not answered."""


class CriteriaFile(Record):
    """`criteria/NAME.toml`: criteria that people wrote."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    parts: list[Annotated[_PART, _Line]] = Field(default_factory=list, max_length=MOST_POINTS)
    """The parts of the question, which teams see. Left out: the judges' model names them."""
    criteria: list[WrittenCriterion]
    """What judges go by: 1 to 15, none of them twice."""

    @model_validator(mode="after")
    def _some_and_each_once(self) -> "CriteriaFile":
        if not 1 <= len(self.criteria) <= MOST_CRITERIA:
            raise ValueError(f"criteria: {len(self.criteria)} entries: give 1 to {MOST_CRITERIA}")
        for name, texts in (("criteria", [each.text for each in self.criteria]), ("parts", self.parts)):
            for number, text in enumerate(texts):
                if text in texts[:number]:
                    raise ValueError(f"{name}.{number} = {text!r}: it stands there twice; remove one of them")
        return self

    def shares(self) -> list[Criterion]:
        """The criteria, each with its share of all weights."""
        every = sum(each.weight for each in self.criteria)
        return [Criterion(text=each.text, example=each.example, weight=each.weight / every) for each in self.criteria]


class Fix(Record):
    """What to change in a submission, and where: a place of its draft such as `2.1.3`, or a few words on the place."""

    where: Text
    what: Text


class MetricScore(Record):
    """One metric's verdict. `score` None means unscored: the metric could not be measured.

    `evidence` stands in the submission; `dropped`: how many quotes of the judge do not. `fixes`: what the judge wants
    changed. `applies` is false where there is nothing to measure, such as points without a plan. `verdicts`: of
    coverage by criteria, what the judge said of each, by its number from "1". `partly`: sentences whose passages do not
    say them, or say a part of them, with what is lacking, and statements of other kinds, such as judgements, that the
    judge accepts in part. `doubted`: those of other kinds that it does not accept, with its reason. `unjudged`:
    sentences that quote nothing, and of which no judge said whether their passages say them.
    """

    name: Text
    score: Score | None
    reason: str = ""
    weight: Score
    evidence: list[str] = Field(default_factory=list)
    dropped: Annotated[int, Field(ge=0)] = 0
    fixes: list[Fix] = Field(default_factory=list)
    applies: bool = True
    verdicts: dict[str, CriterionLevel] = Field(default_factory=dict)
    partly: dict[str, str] = Field(default_factory=dict)
    doubted: dict[str, str] = Field(default_factory=dict)
    unjudged: list[str] = Field(default_factory=list)


class MetricResult(Record):
    """A metric's score, and what a model was asked for it; of metrics judged together beside the first."""

    score: MetricScore
    usage: CallUsage | None = None


class EvaluationResult(Record):
    """All metrics of one submission. `overall` None means unscored, never 0; `feedback` says what to improve."""

    overall: Score | None
    metrics: list[MetricScore]
    feedback: str


@dataclass(frozen=True)
class MetricContext:
    """What a metric of one's own is given: a question, and the report that is to be scored.

    `report`: as Markdown. `statements`: its sentences, list items and table rows in reading order, each with the ids of
    the passages that it cites, and with the quotes that carry it. `passages`: all that its team holds, with their
    texts. `sources`: the documents that the report lists. `parts`: what the question asks for, and how far each is
    answered; empty for a graph's report. Of a text that no run wrote there are no passages and no parts.
    """

    question: str
    report: str
    statements: Sequence[CitedSentence]
    passages: Sequence[Passage]
    sources: Sequence[SearchResult]
    parts: Sequence[Part]

    def cited_by(self, statement: CitedSentence) -> list[Passage]:
        """The passages that a statement cites."""
        return [passage for passage in self.passages if passage.id in statement.passages]


CODE_METRIC_NAMES = ("citation_validity", "citation_support", "point_coverage")
"""Metrics that code measures; `contend.team.metrics` holds the measures."""

_Parts = Annotated[list[_PART], Field(min_length=1, max_length=MOST_POINTS)]


class CriterionReply(Reply):
    """What a report has to do, so that it can be checked, what would meet it, and how much it matters."""

    text: str = Field(min_length=5, max_length=_CRITERION_CHARACTERS)
    example: str = Field(max_length=_EXAMPLE_CHARACTERS)
    weight: WholeNumber = Field(ge=1, le=5)

    # A recording from before criteria had examples has none.
    @model_validator(mode="before")
    @classmethod
    def _no_example(cls, reply: object) -> object:
        return {"example": "", **reply} if isinstance(reply, dict) else reply


class PartsReply(Reply):
    """The parts of one question, where no model is asked for criteria."""

    parts: _Parts

    # A recording, or a template of the user's own, may hold criteria too.
    @model_validator(mode="before")
    @classmethod
    def _parts_alone(cls, reply: object) -> object:
        return {key: reply[key] for key in reply if key != "criteria"} if isinstance(reply, dict) else reply


class CriteriaReply(Reply):
    """The parts of one question, and the criteria of it and its reader's instructions."""

    parts: _Parts
    criteria: list[CriterionReply] = Field(min_length=8, max_length=MOST_CRITERIA)


class CriterionVerdict(Reply):
    """Whether a submission meets a criterion, by its number."""

    number: WholeNumber = Field(ge=1, le=MOST_CRITERIA)
    evidence: str = Field(max_length=400)
    verdict: CriterionLevel
    fix: FixReply | None


class MetricVerdict(Reply):
    """A judge's verdict on one of several metrics, by its name."""

    metric: str = Field(min_length=1, max_length=64)
    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=300)]] = Field(max_length=3)
    fixes: list[FixReply] = Field(max_length=6)
    percent: WholeNumber = Field(ge=0, le=100)


MOST_CITATIONS = 100
"""The most statements without quotes in one call."""

Verdict = Literal["stated", "derived", "partly", "contradicted", "absent"]


class CitationWord(NamedTuple):
    """A judge's verdict on a statement, its quote verified; `lacking`: what its passages do not show of it."""

    verdict: Verdict
    lacking: str = ""


class CitationVerdict(Reply):
    """Whether its passages say a statement, by its number. `quote`: of its passages, the words that decide it."""

    number: WholeNumber = Field(ge=1, le=MOST_CITATIONS)
    reason: str = Field(min_length=2, max_length=200)
    quote: str = Field(max_length=400)
    verdict: Verdict

    # A recording from before judges quoted says nothing of it.
    @model_validator(mode="before")
    @classmethod
    def _not_quoted(cls, reply: object) -> object:
        return {"quote": "", **reply} if isinstance(reply, dict) else reply


class Doubt(Reply):
    """A statement that a judge does not accept, by its place. `quote`: of its passages, the words that it rests on."""

    place: str = Field(min_length=1, max_length=20)
    reason: str = Field(min_length=2, max_length=200)
    quote: str = Field(max_length=400)
    verdict: Literal["partly", "contradicted", "absent"]


class VerdictsReply(Reply):
    """A judge's verdicts on a submission: on its statements, on each criterion, on each metric; what it lacks.

    `citations`: on statements that quote nothing; `doubts`: on those of all others that it does not accept.
    """

    citations: list[CitationVerdict] = Field(max_length=MOST_CITATIONS)
    doubts: list[Doubt] = Field(max_length=40)
    criteria: list[CriterionVerdict] = Field(max_length=MOST_CRITERIA)
    metrics: list[MetricVerdict] = Field(max_length=20)
    missing: list[FixReply] = Field(max_length=6)

    # A recording from before judges saw quotes says nothing of it.
    @model_validator(mode="before")
    @classmethod
    def _no_doubts(cls, reply: object) -> object:
        return {"doubts": [], **reply} if isinstance(reply, dict) else reply


class MetricReply(Reply):
    """A judge's verdict on one metric."""

    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=200)]] = Field(max_length=3)
    percent: WholeNumber = Field(ge=0, le=100)

    def score(self) -> float:
        return self.percent / 100

    def expected_score(self, distribution: Mapping[int, float]) -> float:
        """The mean of the percentages from 0 to 100 by their probabilities, as a score; the plain one without any."""
        likely = {percent: share for percent, share in distribution.items() if 0 <= percent <= 100 and share > 0}  # noqa: PLR2004 - percent
        total = sum(likely.values())
        mean = sum(percent * share for percent, share in likely.items()) / total if total else float(self.percent)
        return min(1.0, mean / 100)


class PairwiseReply(Reply):
    """A judge's choice between two submissions."""

    reason: str = Field(min_length=2, max_length=1_200)
    choice: Literal["first", "second", "tie"]


class CitationReply(Reply):
    """A judge's word on statements that quote nothing."""

    citations: list[CitationVerdict] = Field(min_length=1, max_length=MOST_CITATIONS)


class JudgmentReply(Reply):
    """The round judge's verdict."""

    reasoning: str = Field(min_length=2, max_length=600)
    should_continue: bool
    confidence_percent: WholeNumber = Field(ge=0, le=100)
