"""The teams' rating over many runs: what it follows from, and how sure it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.models.round import LeaderboardEntry, rank_entries
from contend.standings import Standing, Standings, ratings

Board = list[LeaderboardEntry]


def board(*, keys: dict[str, float] | None = None, **scores: float | None) -> Board:
    """A run's leaderboard by the best score of each team; -1: it handed nothing in."""
    return rank_entries(
        LeaderboardEntry.of(team, team.title(), {} if score == -1 else {1: score}, (keys or {}).get(team))
        for team, score in scores.items()
    )


def of(standings: Standings, team: str) -> Standing:
    return next(each for each in standings.teams if each.team_id == team)


def test_who_wins_more_pairs_is_rated_higher_and_1500_is_the_mean() -> None:
    runs = [board(a=0.9, b=0.7, c=0.5)] * 3 + [board(a=0.6, b=0.8, c=0.5)]

    table = ratings("default", runs)

    assert [each.team_id for each in table.teams] == ["a", "b", "c"]
    assert sum(each.rating for each in table.teams) / 3 == pytest.approx(1500, abs=0.1)
    assert (of(table, "a").runs, of(table, "a").wins, of(table, "a").ties, of(table, "a").losses) == (4, 7, 0, 1)
    assert table.runs == 4


def test_one_run_gives_wide_intervals_and_is_not_enough_to_tell_teams_apart() -> None:
    one, many = ratings("default", [board(a=0.9, b=0.5)]), ratings("default", [board(a=0.9, b=0.5)] * 40)

    assert not one.is_clear
    assert of(one, "b").high > of(one, "a").low
    assert of(one, "a").high - of(one, "a").low > 300
    assert many.is_clear
    assert of(many, "a").low > of(many, "b").high


def test_as_many_wins_as_losses_are_no_difference_however_many_runs_there_are() -> None:
    table = ratings("default", [board(a=0.9, b=0.5), board(a=0.5, b=0.9)] * 100)

    assert [each.rating for each in table.teams] == [1500, 1500]
    assert not table.is_clear


def test_scores_that_are_nearly_equal_are_a_tie() -> None:
    table = ratings("default", [board(a=0.82, b=0.8)])

    assert [(each.wins, each.ties, each.losses) for each in table.teams] == [(0, 1, 0)] * 2


def test_where_near_ties_were_compared_in_pairs_that_comparison_counts() -> None:
    table = ratings("default", [board(a=0.82, b=0.81, c=0.80, keys={"a": 0.0, "b": 1.0, "c": 0.0})])

    assert (of(table, "b").wins, of(table, "a").losses) == (2, 1)
    assert (of(table, "a").ties, of(table, "c").ties) == (1, 1)


def test_a_team_that_handed_nothing_in_loses_and_an_unscored_one_does_not() -> None:
    table = ratings("default", [board(a=0.5, b=-1, c=None)])

    assert [each.team_id for each in table.teams] == ["a", "b"]
    assert (of(table, "a").wins, of(table, "b").losses) == (1, 1)


def test_a_run_of_many_teams_weighs_no_more_than_the_ranking_that_it_is() -> None:
    pairs = ratings("default", [board(a=0.9, b=0.5), board(b=0.9, c=0.5), board(a=0.9, c=0.5)])
    together = ratings("default", [board(a=0.9, b=0.7, c=0.5)])

    assert of(together, "a").high - of(together, "a").low > of(pairs, "a").high - of(pairs, "a").low


def test_without_a_run_of_two_teams_there_is_nothing_to_rate() -> None:
    table = ratings("default", [board(a=0.5), []])

    assert (table.teams, table.runs, table.is_clear) == ([], 0, False)


def test_strengths_that_made_the_wins_lie_in_their_intervals() -> None:
    strengths = {"a": 0.8, "b": 0.2, "c": -0.2, "d": -0.8}
    inside = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        runs = []
        for _ in range(60):
            first, second = random.choice(list(strengths), size=2, replace=False)
            wins = random.random() < 1 / (1 + np.exp(strengths[second] - strengths[first]))
            runs.append(board(**{first: 0.9 if wins else 0.5, second: 0.5 if wins else 0.9}))
        table = ratings("default", runs)
        inside += sum(
            of(table, team).low <= 1500 + strength * 400 / np.log(10) <= of(table, team).high
            for team, strength in strengths.items()
        )

    assert 0.9 < inside / 160 < 0.99


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcde"), st.one_of(st.none(), st.just(-1.0), st.floats(0, 1)), max_size=5),
        max_size=12,
    )
)
def test_any_runs_give_finite_ratings_with_their_intervals_around_them(runs: list[dict[str, float | None]]) -> None:
    table = ratings("default", [board(**each) for each in runs])

    assert all(np.isfinite(each.rating) and each.low <= each.rating <= each.high for each in table.teams)
    assert table == Standings.model_validate(table.model_dump(mode="json"))
    assert [each.rating for each in table.teams] == sorted((each.rating for each in table.teams), reverse=True)
