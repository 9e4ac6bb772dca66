"""What judges say of a submission."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from contend.models.record import Record, Score, Text
from contend.models.task import CallUsage

CriterionLevel = Literal["met", "partly", "unmet"]
Weight = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Criterion(Record):
    """What a report on one question has to do, so that a judge can check it. `weight`: its share of all, 0.0 to 1.0."""

    text: Text
    weight: Weight


class Fix(Record):
    """What to change in a submission, and where: a place of its draft such as `2.1.3`, or a few words on the place."""

    where: Text
    what: Text


class MetricScore(Record):
    """One metric's verdict. `score` None means unscored: the metric could not be measured.

    `evidence` stands in the submission; `dropped`: how many quotes of the judge do not.
    `fixes`: what the judge wants changed. `applies` is false where
    there is nothing to measure, such as points without a plan.
    `verdicts`: of coverage by criteria, what the judge said of each, by its number from "1".
    `partly`: sentences whose passages say only a part of them, with what they do not say.
    """

    name: Text
    score: Score | None
    reason: str = ""
    weight: Weight
    evidence: list[str] = Field(default_factory=list)
    dropped: Annotated[int, Field(ge=0)] = 0
    fixes: list[Fix] = Field(default_factory=list)
    applies: bool = True
    verdicts: dict[str, CriterionLevel] = Field(default_factory=dict)
    partly: dict[str, str] = Field(default_factory=dict)


class Measurement(NamedTuple):
    """What a metric by code or by a function gives: a score, 0.0 to 1.0 or None where there is nothing to measure.

    `evidence`: sentences of the submission that it rests on; `usage`: what a model was asked for it; `partly`: as of
    the metric's score.
    """

    score: float | None
    reason: str
    evidence: Sequence[str] = ()
    usage: CallUsage | None = None
    partly: Mapping[str, str] = {}


class EvaluationResult(Record):
    """All metrics of one submission. `overall` None means unscored, never 0; `feedback` says what to improve."""

    overall: Score | None
    metrics: list[MetricScore]
    feedback: str


@dataclass(frozen=True)
class MetricInput:
    """What a metric by Python is given: the question, the submission's Markdown, its sources, the plan's points.

    A source is a dict with `title`, `summary`, `source`, `url` and what else is known of it.
    """

    query: str
    submission: str
    sources: list[dict[str, Any]]
    points: list[str]


CODE_METRIC_NAMES = ("citation_validity", "citation_support", "point_coverage")
"""Metrics that code measures; `contend.team.metrics.measure` holds the measures."""
