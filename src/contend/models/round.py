"""Rounds: what prompts are made from, the ranking rule, the rows of the record.

Scores are 0.0 to 1.0 or None (unscored), times are UTC, seconds are active seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import ConfigDict, Field, SkipValidation, ValidationInfo, field_validator

from contend.errors import Limit
from contend.models.evaluation import CitationWord, MetricScore
from contend.models.record import Identifier, Record, Score, Text, UtcDatetime, utc_now
from contend.models.task import CallUsage, RunUsage

ExitReason = Literal[
    Limit, "deadline", "criteria_met", "max_rounds", "target_score", "plateau", "budget_reserve", "judge", "one_round",
    "failed",
]  # fmt: skip
"""Why a team stopped. `criteria_met`: nothing is left to mend; `one_round`: it only searches; `failed`: it forfeited.

A run that is stopped from outside has none: it is interrupted, and its teams go on when it is resumed.
"""

RoundNumber = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0.0)]
RoundDecision = Literal["continue", "stop"]


class RoundState(Record):
    """A finished round as its team's prompts show it. `summary`: shown whole in place of a cut submission."""

    round_number: RoundNumber
    submission_content: Text
    summary: str = ""
    evaluation_score: Score | None = None
    score_details: dict[str, Any] = Field(default_factory=dict)

    @property
    def feedback(self) -> str:
        """The judges' feedback, kept in `score_details`."""
        return str(self.score_details.get("feedback", ""))


class Round(Record):
    """A finished round: the one stored record of it, which others are views of. `seconds` are active ones.

    `submission` is a document's id; `verdicts`: what judges said of statements, by their keys, up to its end;
    `judge_failure` says why the round judge that was asked after it gave no word.
    """

    round_number: RoundNumber
    submission: str
    score: Score | None
    feedback: str
    metrics: list[MetricScore]
    uncovered: list[str] = Field(default_factory=list)
    verdicts: dict[str, CitationWord] = Field(default_factory=dict)
    queries: list[str] = Field(default_factory=list)
    bullets_used: list[str] = Field(default_factory=list)
    calls: list[CallUsage] = Field(default_factory=list)
    judge_failure: str = ""
    seconds: Seconds
    completed_at: UtcDatetime = Field(default_factory=utc_now)

    @property
    def usage(self) -> RunUsage:
        return RunUsage.of(self.calls)


def best_number(scores: Mapping[int, Score | None]) -> int | None:
    """The number of the round with the best score, of equals the later; None where none is scored."""
    by_score = [(score, number) for number, score in scores.items() if score is not None]
    return max(by_score)[1] if by_score else None


def best_round(rounds: Sequence[Round]) -> Round | None:
    """The round with the best score, of equals the later; the latest where none is scored."""
    best = best_number({each.round_number: each.score for each in rounds})
    return next((each for each in rounds if each.round_number == best), rounds[-1] if rounds else None)


class LeaderboardEntry(Record):
    """One team's line. `rank` None: no submission, no rank. `pairwise_key`: higher won a near tie."""

    rank: int | None = None
    team_id: Identifier
    team_name: Text
    best_score: Score | None = None
    best_round: int | None = None
    latest_round: int = Field(default=0, ge=0)
    scored_round: int = Field(default=0, ge=0)
    pairwise_key: float | None = None

    @classmethod
    def of(cls, team_id: str, team_name: str, scores: Mapping[int, Score | None], key: float | None) -> Self:
        """A team's line from the scores of its rounds. Of equally good rounds the later is the best."""
        best = best_number(scores)
        return cls(
            team_id=team_id,
            team_name=team_name,
            best_score=None if best is None else scores[best],
            best_round=best,
            latest_round=max(scores, default=0),
            scored_round=max((number for number, score in scores.items() if score is not None), default=0),
            pairwise_key=key,
        )


def rank_entries(entries: Iterable[LeaderboardEntry]) -> list[LeaderboardEntry]:
    """The one ranking rule: scored teams, then unscored ones with a submission, then the rest without rank.

    Scored teams go by best score (unrounded), pairwise key, highest scored round, team id; unscored ones by latest
    round, team id. Teams with a pairwise key were compared because their scores are as good as equal: there, the best
    score among them counts for each, and their own only where the keys are equal, too.
    """
    teams = list(entries)
    scores = [entry.best_score or 0.0 for entry in teams if entry.pairwise_key is not None]
    top = max(scores, default=0.0)
    ranking = sorted(teams, key=lambda entry: _rank_key(entry, top))
    return [
        entry.model_copy(update={"rank": rank if entry.latest_round else None})
        for rank, entry in enumerate(ranking, start=1)
    ]


def _rank_key(entry: LeaderboardEntry, top: float) -> tuple[int, float, float, float, int, str]:
    if not entry.latest_round:
        return (2, 0.0, 0.0, 0.0, 0, entry.team_id)
    if entry.best_score is None:
        return (1, 0.0, 0.0, 0.0, -entry.latest_round, entry.team_id)
    key, score = entry.pairwise_key, entry.best_score
    return (0, -(score if key is None else top), -(key or 0.0), -score, -entry.scored_round, entry.team_id)


class RankingStore(Protocol):
    """What the prompt builder asks of a store, without waiting: the live leaderboard answers from memory."""

    def leaderboard(self, execution_id: str) -> list[LeaderboardEntry]:
        """All teams of an execution, in rank order."""


@dataclass
class _TeamRounds:
    name: str
    rounds: dict[int, Score | None] = field(default_factory=dict)
    pairwise_key: float | None = None

    def entry(self, team_id: str) -> LeaderboardEntry:
        return LeaderboardEntry.of(team_id, self.name, self.rounds, self.pairwise_key)


class LiveLeaderboard:
    """Teams, their rounds and scores, by execution, in memory: what prompts and events show. A `RankingStore`.

    Of equally good rounds the later is a team's best. Saying something twice changes nothing. A team that was not
    entered is named by its id.
    """

    def __init__(self) -> None:
        self._executions: dict[str, dict[str, _TeamRounds]] = {}

    def enter(self, execution_id: str, teams: Iterable[tuple[str, str]]) -> None:
        """Teams as (team id, name). Rounds already known of a team are kept."""
        for team_id, name in teams:
            self._team(execution_id, team_id).name = name

    def add_submission(self, execution_id: str, team_id: str, round_number: int) -> None:
        self._team(execution_id, team_id).rounds.setdefault(round_number, None)

    def add_score(self, execution_id: str, team_id: str, round_number: int, score: Score | None) -> None:
        """`score` 0.0 to 1.0, None for unscored; a round scored again keeps the last score."""
        self._team(execution_id, team_id).rounds[round_number] = score

    def set_pairwise(self, execution_id: str, keys: Mapping[str, float]) -> None:
        """Second keys of the ranking by team id, higher first; teams left out lose theirs."""
        for team_id in keys:
            self._team(execution_id, team_id)
        for team_id, standing in self._executions.get(execution_id, {}).items():
            standing.pairwise_key = keys.get(team_id)

    def leaderboard(self, execution_id: str) -> list[LeaderboardEntry]:
        """All teams of an execution, in rank order; empty if it is not known."""
        teams = self._executions.get(execution_id, {})
        return rank_entries(standing.entry(team_id) for team_id, standing in teams.items())

    def _team(self, execution_id: str, team_id: str) -> _TeamRounds:
        return self._executions.setdefault(execution_id, {}).setdefault(team_id, _TeamRounds(team_id))


class EvaluatorPromptContext(Record):
    """What an evaluator's prompt is made from."""

    user_query: str
    submission: str

    @field_validator("user_query", "submission")
    @classmethod
    def _not_blank(cls, value: str, info: ValidationInfo) -> str:
        if not value.strip():
            raise ValueError(f"{info.field_name} cannot be empty")
        return value


class RoundPromptContext(Record):
    """What a team's or judge's prompt of one round is made from. `store` is live and never dumped."""

    user_prompt: Text
    round_number: RoundNumber
    round_history: list[RoundState]
    team_id: Identifier
    team_name: Text
    execution_id: Text
    store: SkipValidation[RankingStore | None] = Field(default=None, exclude=True, repr=False)

    model_config = ConfigDict(arbitrary_types_allowed=True)


class RoundPromptConfig(Record):
    """Limits of the rounds' prompts. Tokens are estimates."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    max_submission_history_items: int = Field(default=5, ge=1)
    """Past rounds that a prompt shows at most."""
    max_leaderboard_display_teams: int = Field(default=10, ge=1)
    """Teams of the ranking that a prompt shows at most."""
    submission_preview_chars: int = Field(default=200, ge=1)
    """Characters of a past submission that a prompt shows."""
    enable_trend_analysis: bool = True
    """Whether a prompt says how the team's scores went."""
    estimated_prompt_tokens: int = Field(default=3000, ge=1)
    """Tokens of a round's brief, about."""
    submission_history_tokens: int = Field(default=2000, ge=1)
    """Tokens of past rounds in it, about."""


class Judgment(Record):
    """The round judge's word on whether another round is worth it. `confidence` 0.0 to 1.0."""

    should_continue: bool
    reasoning: str
    confidence: Score


class _RoundKey(Record):
    """Which round a row is of."""

    execution_id: Text
    team_id: Identifier
    round_number: RoundNumber


class SubmissionRow(_RoundKey):
    """What a team handed in."""

    team_name: Text
    submission: Text
    messages: list[Any] = Field(default_factory=list)
    """Those of the round, as JSON."""
    role_records: dict[str, Any] = Field(default_factory=dict)
    """What each role left, by role."""
    submitted_at: UtcDatetime = Field(default_factory=utc_now)


class EvaluationRow(_RoundKey):
    """What judges said of a submission."""

    team_name: Text
    score: Score | None
    feedback: str = ""
    details: dict[str, Any] = Field(default_factory=dict)
    """`metrics`: those of the result."""
    evaluated_at: UtcDatetime = Field(default_factory=utc_now)


class RoundStatusRow(_RoundKey):
    """The decision after a round."""

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
