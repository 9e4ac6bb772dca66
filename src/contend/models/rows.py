"""Rows of the record. Scores are 0.0 to 1.0 or None (unscored), times are UTC, seconds are active seconds."""

from typing import Annotated, Any, Literal

from pydantic import Field

from contend.models.evaluation import MetricScore
from contend.models.events import AnyEvent
from contend.models.record import Identifier, Record, Score, Text, UtcDatetime, utc_now
from contend.models.round import ExitReason
from contend.models.task import RunStatus

RoundNumber = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
RoundDecision = Literal["continue", "stop"]


class ExecutionRow(Record):
    """One execution of a thread."""

    execution_id: Text
    thread_id: Text
    theme: Text
    options_fingerprint: str = ""
    dataset: Identifier = "default"
    models: dict[str, str] = Field(default_factory=dict)
    """Model names by role."""
    status: RunStatus = "running"
    message: str = ""
    winner_team_id: Identifier | None = None
    best_score: Score | None = None
    created_at: UtcDatetime = Field(default_factory=utc_now)
    finished_at: UtcDatetime | None = None
    """None while it may go on."""


class SubmissionRow(Record):
    """What a team handed in."""

    execution_id: Text
    team_id: Identifier
    team_name: Text
    round_number: RoundNumber
    submission: Text
    messages: list[Any] = Field(default_factory=list)
    """Those of the round, as JSON."""
    role_records: dict[str, Any] = Field(default_factory=dict)
    """What each role left, by role."""
    submitted_at: UtcDatetime = Field(default_factory=utc_now)


class EvaluationRow(Record):
    """What judges said of a submission."""

    execution_id: Text
    team_id: Identifier
    team_name: Text
    round_number: RoundNumber
    score: Score | None
    feedback: str = ""
    details: dict[str, Any] = Field(default_factory=dict)
    """`metrics`: those of the result."""
    evaluated_at: UtcDatetime = Field(default_factory=utc_now)


class RoundStatusRow(Record):
    """The decision after a round."""

    execution_id: Text
    team_id: Identifier
    round_number: RoundNumber
    decision: RoundDecision
    reasoning: str = ""
    confidence: Score | None = None
    """Only where the judge was asked."""
    exit_reason: ExitReason | None = None
    """None: another round follows."""
    started_at: UtcDatetime | None = None
    """When the round began; None where a team ended before its first decision."""
    decided_at: UtcDatetime = Field(default_factory=utc_now)
    active_seconds: Seconds = 0.0


class KeptEvent(Record):
    """An event of a run."""

    number: int = Field(ge=1)
    """By which a client goes on where it was."""
    event: AnyEvent


class RoundRow(Record):
    """A round with what is known of it."""

    team_id: Identifier
    team_name: Text
    round_number: RoundNumber
    submission: Text
    role_records: dict[str, Any] = Field(default_factory=dict)
    submitted_at: UtcDatetime
    score: Score | None = None
    feedback: str = ""
    details: dict[str, Any] = Field(default_factory=dict)
    evaluated_at: UtcDatetime | None = None
    """None: not judged yet."""
    decision: RoundDecision | None = None
    """None: not decided yet."""
    reasoning: str = ""
    confidence: Score | None = None
    exit_reason: ExitReason | None = None
    started_at: UtcDatetime | None = None
    active_seconds: Seconds | None = None

    @property
    def metrics(self) -> list[MetricScore]:
        """None of a round that is not judged yet."""
        return [MetricScore.model_validate(each) for each in self.details.get("metrics", [])]
