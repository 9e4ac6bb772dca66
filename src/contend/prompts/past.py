"""A team's past as templates meet it: plain lists, outside text marked, cut to the pieces that were chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.models.round import LeaderboardEntry, RoundPromptConfig, RoundPromptContext, RoundState
from contend.prompts.history import Piece, best_round, pieces, preview, recent, trend_of
from contend.prompts.wrapping import Untrusted
from contend.text import clean

Chosen = frozenset[Piece]


@dataclass(frozen=True)
class Past:
    """One moment of a team's run. `ranking` holds all teams, None without a store; `bullets` are the team's lessons.

    `texts`: whether reports and judges' feedback are shown; where a team gets its best draft with them, they are not.
    """

    context: RoundPromptContext
    config: RoundPromptConfig
    rounds: Sequence[RoundState]
    ranking: Sequence[LeaderboardEntry] | None
    bullets: Sequence[Mapping[str, object]] = ()
    texts: bool = True

    @property
    def latest_feedback(self) -> str:
        """What judges said of the latest round: shown whole, whatever the budget."""
        return clean(self._shown[-1].feedback).strip() if self._shown and self.texts else ""

    @property
    def worth(self) -> list[Piece]:
        """What a prompt may show of it, the worthiest first."""
        return pieces(self._shown, self._rows, bullets=len(self.bullets), trend=self.config.enable_trend_analysis)

    def always(self) -> dict[str, object]:
        """What every prompt shows."""
        return {
            "user_prompt": Untrusted(self.context.user_prompt, label="question"),
            "round_number": self.context.round_number,
            "team_id": self.context.team_id,
            "team_name": _name(self.context.team_name),
            "current_team_rank": self._own.rank if self._own else None,
        }

    def position(self) -> dict[str, object]:
        """The team's place among all teams; `behind` (0.0 to 1.0) is the distance to the first, None if unscored.

        It is 0.0 as well for a team that lost a near tie to a lower score.
        """
        ranking, own = self.ranking or [], self._own
        first = ranking[0].best_score if ranking else None
        score = own.best_score if own else None
        behind = None if first is None or score is None else max(0.0, round(first - score, 3))
        return {"current_team_rank": own.rank if own else None, "teams": len(ranking), "behind": behind}

    def history(self, chosen: Chosen) -> list[dict[str, object]]:
        """The chosen rounds, oldest first; the latest is always among them."""
        latest = self._shown[-1:]
        listed = [past for past in self._shown if past in latest or Piece("round", past.round_number) in chosen]
        return [self._item(past, chosen) for past in listed]

    def told(self, history: Sequence[Mapping[str, Any]], chosen: Chosen) -> dict[str, object]:
        """The history with what its rendering shows beside it."""
        trend = trend_of(self.rounds) if Piece("trend") in chosen else None
        return {
            "history": [{**item, "metrics": _metrics(item["score_details"])} for item in history],
            "best_round": best_round(self.rounds),
            "trend": trend._asdict() if trend else None,
        }

    def leaderboard(self, chosen: Chosen) -> list[dict[str, object]]:
        """The chosen places of the ranking."""
        return [
            {
                "rank": entry.rank,
                "team_id": entry.team_id,
                "team_name": _name(entry.team_name),
                "best_score": entry.best_score,
                "is_own": entry.team_id == self.context.team_id,
            }
            for index, entry in enumerate(self._rows)
            if Piece("row", index) in chosen
        ]

    def lessons(self, chosen: Chosen) -> list[dict[str, object]]:
        """The chosen bullets, numbered from 1 in the order they were given."""
        return [
            {
                "number": number,
                "id": bullet["id"],
                "content": Untrusted(str(bullet["content"]), label="bullet"),
                "quarantined": bool(bullet.get("quarantined")),
            }
            for number, bullet in enumerate(self.bullets, start=1)
            if Piece("bullet", number - 1) in chosen
        ]

    @property
    def _shown(self) -> list[RoundState]:
        return recent(self.rounds, self.config.max_submission_history_items)

    @property
    def _rows(self) -> Sequence[LeaderboardEntry]:
        return (self.ranking or [])[: self.config.max_leaderboard_display_teams]

    @property
    def _own(self) -> LeaderboardEntry | None:
        return next((entry for entry in self.ranking or [] if entry.team_id == self.context.team_id), None)

    def _item(self, past: RoundState, chosen: Chosen) -> dict[str, object]:
        number, characters = past.round_number, self.config.submission_preview_chars
        handed_in = self.texts and Piece("content", number) in chosen
        content = preview(past.submission_content, characters) if handed_in else ""
        told = self.texts and (past is self._shown[-1] or Piece("feedback", number) in chosen)
        feedback = clean(past.feedback).strip() if told else ""
        return {
            "round_number": number,
            "content": Untrusted(content, label="submission"),
            "score": past.evaluation_score,
            "feedback": Untrusted(feedback, label="feedback"),
            "score_details": _marked(past.score_details) if Piece("metrics", number) in chosen else {},
        }


def _name(name: str) -> Untrusted:
    return Untrusted(clean(name, single_line=True), label="team")


def _marked(value: Any) -> Any:  # noqa: ANN401 - details are whatever judges gave
    """Plain data with each text in it marked."""
    match value:
        case str():
            return Untrusted(value, label="detail")
        case Mapping():
            return {key: _marked(item) for key, item in value.items()}
        case list() | tuple():
            return [_marked(item) for item in value]
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
