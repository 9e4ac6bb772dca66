"""What rounds' prompts show: a team's past in order of worth, and as much of it as fits."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from contend.models.round import (
    LeaderboardEntry,
    RankingStore,
    RoundPromptConfig,
    RoundPromptContext,
    RoundState,
    best_number,
)
from contend.prompts.values import (
    Feedback,
    Instructions,
    LessonText,
    PromptPart,
    PromptValues,
    Question,
    SubmissionText,
    TeamName,
    UntrustedText,
    outside,
)
from contend.text import clean

GAP = " […] "
"""Stands in a preview for what was left out."""
TOP = 3
"""Places of the ranking that come before older rounds."""
MOST_DETAILED_ROUNDS = 2
"""Rounds shown with text and feedback; others are a line each, so that prompts don't grow with the rounds."""

Kind = Literal["round", "content", "feedback", "metrics", "trend", "row", "bullet"]
_ROUND: tuple[Kind, ...] = ("round", "content", "feedback")


class Piece(NamedTuple):
    """Something a prompt may leave out. `key` is a round's number, or an index of the ranking or the bullets."""

    kind: Kind
    key: int = 0


def finished_rounds(rounds: Sequence[RoundState], *, before: int | None = None) -> list[RoundState]:
    """A team's rounds in order, each once; with `before` only those with a smaller number."""
    by_number = {past.round_number: past for past in rounds if before is None or past.round_number < before}
    return [by_number[number] for number in sorted(by_number)]


def _best_of(rounds: Sequence[RoundState]) -> int | None:
    return best_number({past.round_number: past.evaluation_score for past in rounds})


def recent(rounds: Sequence[RoundState], limit: int) -> list[RoundState]:
    """The latest `limit` rounds; the best one takes the oldest one's place where it is older and two have room."""
    latest = list(rounds[-limit:])
    best = _best_of(rounds)
    if len(latest) > 1 and best is not None and best < latest[0].round_number:
        latest[0] = next(past for past in rounds if past.round_number == best)
    return latest


def preview(text: str, characters: int) -> str:
    """The text; where it is over 1.5 times `characters`, that many from its start and half as many from its end."""
    plain = clean(text).strip()
    if len(plain) <= characters * 1.5:
        return plain
    return plain[:characters] + GAP + plain[len(plain) - characters // 2 :]


def fill(worth: Sequence[Piece], fits: Callable[[frozenset[Piece]], bool]) -> frozenset[Piece]:
    """The longest beginning of `worth` that fits; nothing where not even the first does."""
    if fits(everything := frozenset(worth)):
        return everything
    counts = range(1, len(worth))
    return frozenset(worth[: bisect_left(counts, 1, key=lambda count: not fits(frozenset(worth[:count])))])


Selection = frozenset[Piece]


class ShownRound(PromptPart):
    """A finished round. `score_details` is what the judges gave, `metrics` the scores in it by name."""

    round_number: int
    content: SubmissionText = ""
    score: float | None
    feedback: Feedback = ""
    score_details: dict[str, Any] = {}
    metrics: dict[str, float | None] = {}


class ShownPlace(PromptPart):
    """A team's place in the ranking."""

    rank: int | None
    team_id: str
    team_name: TeamName
    best_score: float | None
    is_own: bool


class ShownTrend(PromptPart):
    """From the first scored round to the last; `change` in -1.0 to 1.0."""

    first: int
    last: int
    change: float

    @classmethod
    def over(cls, rounds: Sequence[RoundState]) -> Self | None:
        """The change over all scored rounds; None with fewer than two."""
        scores = [(past.round_number, past.evaluation_score) for past in rounds if past.evaluation_score is not None]
        if len(scores) <= 1:
            return None
        (first, before), (last, after) = scores[0], scores[-1]
        return cls(first=first, last=last, change=after - before)


class ShownLesson(PromptPart):
    """A lesson by its number in the brief."""

    number: int
    id: str
    content: LessonText
    quarantined: bool = False


class JudgmentPrompt(PromptValues, prompt="judge/judgment"):
    """What the round judge sees of a team.

    `submission_history`, `ranking_table` and `team_position_message` are rendered parts.
    """

    user_prompt: Question
    instructions: Instructions = ""
    round_number: int
    submission_history: str = ""
    ranking_table: str = ""
    team_position_message: str = ""
    team_id: str
    team_name: TeamName
    current_team_rank: int | None = None
    history: list[ShownRound] = []
    leaderboard: list[ShownPlace] = []


class BriefPrompt(JudgmentPrompt, prompt="team/brief"):
    """A team's whole input for a round."""

    earlier_report: Annotated[str, outside("report")] = ""
    playbook_bullets: list[ShownLesson] = []


class HistoryPart(PromptValues, prompt="team/history"):
    """A team's rounds, oldest first."""

    history: list[ShownRound] = []
    best_round: int | None = None
    trend: ShownTrend | None = None


class RankingPart(PromptValues, prompt="team/ranking"):
    """The ranking of a run's teams."""

    leaderboard: list[ShownPlace] = []


class PositionPart(PromptValues, prompt="team/position"):
    """A team's place among all teams; `behind` (0.0 to 1.0) is the distance to the first, None if unscored.

    It is 0.0 as well for a team that lost a near tie to a lower score.
    """

    current_team_rank: int | None = None
    teams: int
    behind: float | None = None


@dataclass(frozen=True)
class TeamHistory:
    """One moment of a team's run. `store` knows the ranking; `bullets` are the team's lessons.

    `texts`: whether reports and judges' feedback are shown; where a team gets its best draft with them, they are not.
    """

    context: RoundPromptContext
    config: RoundPromptConfig
    rounds: Sequence[RoundState]
    store: RankingStore | None
    bullets: Sequence[Mapping[str, object]] = ()
    texts: bool = True

    @cached_property
    def ranking(self) -> list[LeaderboardEntry] | None:
        """All teams; None without a store."""
        return None if self.store is None else self.store.leaderboard(self.context.execution_id)

    @cached_property
    def latest_feedback(self) -> str:
        """What judges said of the latest round: shown whole, whatever the budget."""
        return clean(self._recent[-1].feedback).strip() if self._recent and self.texts else ""

    @cached_property
    def worth(self) -> list[Piece]:
        """What a prompt may hold beyond query, position, latest score and latest feedback, the worthiest first.

        Top of the ranking, trend, latest and best round; then lessons; then older rounds, the other places and the
        metrics. With text and feedback are shown the latest round and the best, else the one before.
        """
        numbers = [past.round_number for past in reversed(self._recent)]
        best = _best_of(self._recent)
        in_detail = list(dict.fromkeys([*numbers[:1], *([best] if best else []), *numbers]))[:MOST_DETAILED_ROUNDS]
        first = [number for number in in_detail if number in {numbers[0], best}]
        older = [number for number in numbers if number not in first]
        rows = [Piece("row", index) for index in range(len(self._rows))]
        return [
            *rows[:TOP],
            *([Piece("trend")] if self.config.enable_trend_analysis else []),
            *(Piece("content", number) for number in in_detail[:1]),
            *(Piece(kind, number) for number in first[1:] for kind in _ROUND),
            *(Piece("bullet", index) for index in range(len(self.bullets))),
            *(Piece("round", number) for number in older),
            *(Piece(kind, number) for number in in_detail if number in older for kind in _ROUND[1:]),
            *rows[TOP:],
            *(Piece("metrics", number) for number in in_detail),
        ]

    def always(self) -> dict[str, object]:
        """What every prompt shows."""
        names = ("user_prompt", "round_number", "team_id", "team_name")
        of_context = {name: getattr(self.context, name) for name in names}
        return {**of_context, "current_team_rank": self._own.rank if self._own else None}

    def position(self) -> PositionPart:
        """The team's place among all teams."""
        ranking, own = self.ranking or [], self._own
        first, score = (entry.best_score if entry else None for entry in (next(iter(ranking), None), own))
        behind = None if first is None or score is None else max(0.0, round(first - score, 3))
        return PositionPart(current_team_rank=own.rank if own else None, teams=len(ranking), behind=behind)

    def history(self, selection: Selection) -> HistoryPart:
        """The chosen rounds, oldest first; the latest is always among them."""
        latest = self._recent[-1:]
        rounds = [past for past in self._recent if past in latest or Piece("round", past.round_number) in selection]
        return HistoryPart(
            history=[self._item(past, selection) for past in rounds],
            best_round=_best_of(self.rounds),
            trend=ShownTrend.over(self.rounds) if Piece("trend") in selection else None,
        )

    def leaderboard(self, selection: Selection) -> list[ShownPlace]:
        """The chosen places of the ranking."""
        fields = {"rank", "team_id", "team_name", "best_score"}
        return [
            ShownPlace(**entry.model_dump(include=fields), is_own=entry.team_id == self.context.team_id)
            for index, entry in enumerate(self._rows)
            if Piece("row", index) in selection
        ]

    def lessons(self, selection: Selection) -> list[ShownLesson]:
        """The chosen bullets, numbered from 1 in the order they were given."""
        return [
            ShownLesson.model_validate({"number": number, **bullet})
            for number, bullet in enumerate(self.bullets, start=1)
            if Piece("bullet", number - 1) in selection
        ]

    @cached_property
    def _recent(self) -> list[RoundState]:
        return recent(self.rounds, self.config.max_submission_history_items)

    @cached_property
    def _rows(self) -> Sequence[LeaderboardEntry]:
        return (self.ranking or [])[: self.config.max_leaderboard_display_teams]

    @cached_property
    def _own(self) -> LeaderboardEntry | None:
        return next((entry for entry in self.ranking or [] if entry.team_id == self.context.team_id), None)

    def _item(self, past: RoundState, selection: Selection) -> ShownRound:
        def shows(kind: Kind) -> bool:
            return Piece(kind, past.round_number) in selection

        text = clean(past.summary).strip() or preview(past.submission_content, self.config.submission_preview_chars)
        shows_feedback = self.texts and (past is self._recent[-1] or shows("feedback"))
        details = past.score_details if shows("metrics") else {}
        return ShownRound(
            round_number=past.round_number,
            content=text if self.texts and shows("content") else "",
            score=past.evaluation_score,
            feedback=clean(past.feedback).strip() if shows_feedback else "",
            score_details=_as_untrusted(details),
            metrics=_metrics(details),
        )


def _as_untrusted(value: Any) -> Any:  # noqa: ANN401 - details are whatever judges gave
    """Plain data with each text in it marked."""
    match value:
        case str():
            return UntrustedText(value, label="detail")
        case Mapping():
            return {key: _as_untrusted(item) for key, item in value.items()}
        case list() | tuple():
            return [_as_untrusted(item) for item in value]
        case _:
            return value


def _metrics(details: Mapping[str, Any]) -> dict[str, float | None]:
    """Scores by metric, kept as {name: score} or as a list of {name, score}; what is neither is left out."""
    metrics = details.get("metrics")
    if isinstance(metrics, list):
        metrics = {str(item["name"]): item["score"] for item in metrics if {"name", "score"} <= item.keys()}
    if not isinstance(metrics, dict):
        return {}
    return {name: score for name, score in metrics.items() if score is None or isinstance(score, int | float)}
