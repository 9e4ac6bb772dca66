"""What a run tells while it goes: one definition for terminal, API, page, stream and callbacks."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from contend.models.evaluation import MetricScore
from contend.models.options import Approval
from contend.models.record import Record, Score, UtcDatetime, utc_now
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.task import RunStatus, RunUsage, TeamState


class Event(Record):
    """The root: when it happened, and in which execution."""

    execution_id: str
    at: UtcDatetime = Field(default_factory=utc_now)


class RunStarted(Event):
    type: Literal["run_started"] = "run_started"
    thread_id: str
    theme: str
    teams: list[str]
    sources: list[str]
    sources_off: dict[str, str]
    models: dict[str, str]
    warnings: list[str] = Field(default_factory=list)


class TeamStarted(Event):
    type: Literal["team_started"] = "team_started"
    team_id: str
    team_name: str


class RoundStarted(Event):
    type: Literal["round_started"] = "round_started"
    team_id: str
    round_number: int


class StepDone(Event):
    """A step of the research in a round: planned, searched, chose passages, wrote, reviewed."""

    type: Literal["step_done"] = "step_done"
    team_id: str
    round_number: int
    step: Literal["plan", "search", "choose", "write", "review"]
    detail: str = ""


class SourceOff(Event):
    type: Literal["source_off"] = "source_off"
    team_id: str
    source: str
    reason: str


class DocumentsRead(Event):
    """How far the reading of many own documents is: `read` of `files` that are new or changed."""

    type: Literal["documents_read"] = "documents_read"
    read: int
    files: int


class RoundSubmitted(Event):
    type: Literal["round_submitted"] = "round_submitted"
    team_id: str
    round_number: int
    characters: int


class RoundScored(Event):
    type: Literal["round_scored"] = "round_scored"
    team_id: str
    round_number: int
    score: Score | None
    metrics: list[MetricScore]
    usage: RunUsage
    leaderboard: list[LeaderboardEntry]


class RoundJudged(Event):
    """The decision after a round; `exit_reason` None: another round follows."""

    type: Literal["round_judged"] = "round_judged"
    team_id: str
    round_number: int
    exit_reason: ExitReason | None
    reasoning: str
    asked_judge: bool


class TeamDone(Event):
    type: Literal["team_done"] = "team_done"
    team_id: str
    status: TeamState
    error_message: str | None = None


class WinnerPicked(Event):
    type: Literal["winner_picked"] = "winner_picked"
    team_id: str | None
    score: Score | None
    leaderboard: list[LeaderboardEntry]


class ReportMerged(Event):
    """The editor merged the teams' reports; `published`: whether that report is not worse than the best team's."""

    type: Literal["report_merged"] = "report_merged"
    score: Score | None
    published: bool


class ReportPublished(Event):
    type: Literal["report_published"] = "report_published"
    team_id: str
    sources: int
    files: list[str]


class Learned(Event):
    type: Literal["learned"] = "learned"
    dataset: str
    playbook_version: int
    summary: str


class QuestionAsked(Event):
    """A question waits for a person: the run pauses until it is answered."""

    type: Literal["question_asked"] = "question_asked"
    question_id: str
    asked: Approval
    team_id: str
    description: str
    problem: str = ""


class RunDone(Event):
    type: Literal["run_done"] = "run_done"
    status: RunStatus
    message: str
    usage: RunUsage


AnyEvent = Annotated[
    RunStarted
    | TeamStarted
    | RoundStarted
    | StepDone
    | SourceOff
    | DocumentsRead
    | RoundSubmitted
    | RoundScored
    | RoundJudged
    | TeamDone
    | WinnerPicked
    | ReportMerged
    | ReportPublished
    | Learned
    | QuestionAsked
    | RunDone,
    Field(discriminator="type"),
]
ANY_EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
"""Reads an event from its JSON."""
