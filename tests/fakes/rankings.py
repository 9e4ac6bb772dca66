"""The ranking rule in a test's own words, to hold against what contend shows."""

from collections.abc import Mapping
from typing import NamedTuple

Rounds = Mapping[int, float | None]
"""A team's rounds with a submission, by number; None is unscored."""


class Place(NamedTuple):
    rank: int | None
    team_id: str
    best: float | None


def by_the_rule(teams: Mapping[str, Rounds], keys: Mapping[str, float] | None = None) -> list[Place]:
    """Every team in its place. `keys`: teams that were compared in pairs, so that their scores count as equal."""
    order = sorted(teams)  # each sort below keeps the order of what it finds equal
    order.sort(key=lambda team: max(teams[team], default=0), reverse=True)
    best = {team: max(_by_round(rounds).values()) for team, rounds in teams.items() if _by_round(rounds)}
    teams_by_score = sorted(best)
    teams_by_score.sort(key=lambda team: max(_by_round(teams[team])), reverse=True)
    teams_by_score.sort(key=lambda team: best[team], reverse=True)
    if pairwise_keys := {team: key for team, key in (keys or {}).items() if team in best}:
        teams_by_score.sort(key=lambda team: pairwise_keys.get(team, 0.0), reverse=True)
        level = max(best[team] for team in pairwise_keys)
        teams_by_score.sort(key=lambda team: level if team in pairwise_keys else best[team], reverse=True)
    order_of_places = teams_by_score + [team for team in order if teams[team] and team not in best]
    ranks = {team: rank for rank, team in enumerate(order_of_places, start=1)}
    return [
        Place(ranks.get(team), team, best.get(team))
        for team in order_of_places + sorted(set(teams) - set(order_of_places))
    ]


def _by_round(rounds: Rounds) -> dict[int, float]:
    return {number: score for number, score in rounds.items() if score is not None}
