"""One execution: its question, its task, where each team stands, what each round cost and gave."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self
from uuid import UUID, uuid4

from pydantic import UUID4, ConfigDict, Field, computed_field

from contend.errors import InputError
from contend.models.record import (
    QUESTION_CHARACTERS,
    TITLE_CHARACTERS,
    Identifier,
    QuestionText,
    Record,
    ReloadedRecord,
    Score,
    Text,
    UtcDatetime,
    utc_now,
)
from contend.text import clean, shorten

TeamStage = Literal["pending", "running", "completed", "failed", "timeout"]
RunStatus = Literal["running", "completed", "partial", "failed", "interrupted"]
"""`interrupted` is resumable: stopped, crashed or waiting for a person."""

ReportOrigin = Literal["team", "editor"]
"""Whose report is published: the best team's, or the editor's merge of several."""

_NEXT: dict[TeamStage, set[TeamStage]] = {"pending": {"running"}, "running": {"completed", "failed", "timeout"}}


class OrchestratorTask(Record):
    """What one execution is asked to do. `timeout_seconds` holds per team."""

    task_id: UUID4 = Field(default_factory=uuid4)
    user_prompt: QuestionText
    team_configs: list[Path] = Field(min_length=1)
    created_at: UtcDatetime = Field(default_factory=utc_now)
    timeout_seconds: int = Field(gt=0)


class TeamStatus(Record):
    """Where one team stands. Only pending → running → completed | failed | timeout."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    team_id: Identifier
    """The team's id."""
    team_name: Text
    """Its name, as people see it."""
    status: TeamStage = "pending"
    """How far it is."""
    current_round: int = Field(default=0, ge=0)
    """The round that it plays, from 1; 0 before the first."""
    started_at: UtcDatetime | None = None
    """None before it starts."""
    completed_at: UtcDatetime | None = None
    """None before it ends."""
    error_message: str | None = None
    """Why it failed or ran out of time."""

    def to(self, status: TeamStage, *, error_message: str | None = None) -> Self:
        """The status after a transition; the same status again changes nothing.

        Raises:
            ValueError: the transition is not allowed.
        """
        if status == self.status:
            return self
        if status not in _NEXT.get(self.status, set()):
            raise ValueError(f"team {self.team_id}: {self.status} cannot become {status}")
        moment = "started_at" if status == "running" else "completed_at"
        return self.model_copy(update={"status": status, moment: utc_now(), "error_message": error_message})


class RunUsage(Record):
    """What some calls cost together."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    requests: int = Field(default=0, ge=0)
    """Model calls."""
    input_tokens: int = Field(default=0, ge=0)
    """Tokens that models read."""
    output_tokens: int = Field(default=0, ge=0)
    """Tokens that models wrote."""
    cached_tokens: int = Field(default=0, ge=0)
    """Those of the input that a provider had in a cache, as far as it tells."""
    cost_usd: float | None = Field(default=0.0, ge=0)
    """US dollars; None as soon as one price is unknown."""

    @property
    def cached_share(self) -> float:
        """Of the input, from 0.0 to 1.0."""
        return self.cached_tokens / max(self.input_tokens, 1)

    @classmethod
    def of(cls, calls: Iterable["CallUsage"]) -> "RunUsage":
        return sum(calls, start=RunUsage())

    def __add__(self, other: "RunUsage") -> Self:
        costs = (self.cost_usd, other.cost_usd)
        return self.model_copy(
            update={
                "requests": self.requests + other.requests,
                "input_tokens": self.input_tokens + other.input_tokens,
                "output_tokens": self.output_tokens + other.output_tokens,
                "cached_tokens": self.cached_tokens + other.cached_tokens,
                "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
            }
        )


class CallUsage(RunUsage):
    """One model call. `call_key` is the same when the call is repeated after a crash, so that it counts once."""

    call_key: str
    role: str
    model: str
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    milliseconds: int = Field(ge=0)
    requests: int = Field(default=1, ge=0)

    def __add__(self, other: RunUsage) -> Self:
        """A call and its repair as one."""
        milliseconds = other.milliseconds if isinstance(other, CallUsage) else 0
        return super().__add__(other).model_copy(update={"milliseconds": self.milliseconds + milliseconds})


class RoundResult(Record):
    """One finished round of one team."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    team_id: Identifier
    """The team's id."""
    team_name: Text
    """Its name."""
    round_number: int = Field(ge=1)
    """The round, from 1."""
    submission_content: Text
    """The report in Markdown."""
    evaluation_score: Score | None
    """The round's score; None if it is unscored."""
    evaluation_feedback: str
    """What judges want changed."""
    usage: RunUsage
    """What the round cost."""
    execution_time_seconds: float = Field(ge=0.001)
    """Active seconds."""
    completed_at: UtcDatetime = Field(default_factory=utc_now)
    """When it ended."""


class Publication(Record):
    """Whose report is published, and its score."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    published: ReportOrigin | None = None
    """Whose report is published: the best team's, or the editor's merge; None before it is."""
    published_score: Score | None = None
    """The published report's score; None if exactly this text was not scored."""

    def published_fields(self) -> dict[str, Any]:
        """These two of what may have more."""
        return self.model_dump(include={*Publication.model_fields})


class ExecutionSummary(Publication, ReloadedRecord):
    """An execution when its teams are done."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    task_id: UUID
    """The execution's id."""
    user_prompt: QuestionText
    """The question."""
    team_results: list[RoundResult] = Field(default_factory=list)
    """The best round of each team that has one."""
    team_statuses: list[TeamStatus] = Field(default_factory=list)
    """Every team's status."""
    best_team_id: Identifier | None = None
    """The first of the ranking; None if no team delivered."""
    best_score: Score | None = None
    """The best team's score."""
    total_execution_time_seconds: float = Field(gt=0)
    """Seconds from start to end."""
    created_at: UtcDatetime = Field(default_factory=utc_now)
    """When this summary was made."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def total_teams(self) -> int:
        return len(self.team_statuses)

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def completed_teams(self) -> int:
        return sum(status.status == "completed" for status in self.team_statuses)

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def failed_teams(self) -> int:
        return self.total_teams - self.completed_teams


class ExecutionRow(Publication):
    """One execution of a thread. `best_score` is the best team's."""

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


_EXCERPT_CHARACTERS = 60


def checked_theme(theme: object) -> str:
    """The question, cleaned and stripped.

    Raises:
        InputError: no text, empty, or over 8,000 characters.
    """
    if not isinstance(theme, str):
        raise InputError(f"theme = {shorten(repr(theme), _EXCERPT_CHARACTERS)} is no text: give the question in quotes")
    # Its length is looked at before it is cleaned, which takes long for long texts, and after: some characters unfold.
    question = clean(_check_length(theme.strip())).strip()
    if not question:
        raise InputError(f"theme is empty: give the question to research, 1 to {QUESTION_CHARACTERS:,} characters")
    return _check_length(question)


def title_of(question: str) -> str:
    """What heads a plan and a report where no other title is given: the question on one line, cut to 500 characters."""
    return shorten(clean(question, single_line=True), TITLE_CHARACTERS)


def _check_length(theme: str) -> str:
    if len(theme) > QUESTION_CHARACTERS:
        raise InputError(
            f"theme has {len(theme):,} characters, at most {QUESTION_CHARACTERS:,} are allowed: ask the question "
            "shortly and put the rest into instructions (--instructions FILE)"
        )
    return theme
