"""The ranking of executions in memory: what prompts and events show without waiting for a store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contend.models.record import Score
from contend.models.round import LeaderboardEntry, ranked


@dataclass
class _TeamRounds:
    name: str
    rounds: dict[int, Score | None] = field(default_factory=dict)
    pairwise_key: float | None = None

    def entry(self, team_id: str) -> LeaderboardEntry:
        return LeaderboardEntry.of(team_id, self.name, self.rounds, self.pairwise_key)


class LiveLeaderboard:
    """Teams, their rounds and scores, by execution; a `RankingStore`.

    Of equally good rounds the later is a team's best. Saying something twice changes nothing. A team that was not
    entered is named by its id.
    """

    def __init__(self) -> None:
        self._executions: dict[str, dict[str, _TeamRounds]] = {}

    def enter(self, execution_id: str, teams: Iterable[tuple[str, str]]) -> None:
        """Teams as (team id, name). Rounds already known of a team are kept."""
        for team_id, name in teams:
            self._team(execution_id, team_id).name = name

    def submitted(self, execution_id: str, team_id: str, round_number: int) -> None:
        self._team(execution_id, team_id).rounds.setdefault(round_number, None)

    def scored(self, execution_id: str, team_id: str, round_number: int, score: Score | None) -> None:
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
        return ranked(standing.entry(team_id) for team_id, standing in teams.items())

    def load(self, execution_id: str, entries: Iterable[LeaderboardEntry]) -> None:
        """Replaces what is known of an execution, in a process that goes on with it."""
        self._executions[execution_id] = {entry.team_id: _loaded(entry) for entry in entries}

    def _team(self, execution_id: str, team_id: str) -> _TeamRounds:
        return self._executions.setdefault(execution_id, {}).setdefault(team_id, _TeamRounds(team_id))


def _loaded(entry: LeaderboardEntry) -> _TeamRounds:
    # An entry tells one round's score. The other scored rounds are not better, so the worst score stands in for them.
    standing = _TeamRounds(entry.team_name, pairwise_key=entry.pairwise_key)
    if entry.latest_round:
        standing.rounds[entry.latest_round] = None
    if entry.best_score is not None and entry.best_round is not None:
        standing.rounds[entry.scored_round] = 0.0
        standing.rounds[entry.best_round] = entry.best_score
    return standing
