"""How teams stand over many runs: a rating by who came before whom, and how sure it is."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from contend.models.options import NEAR_TIE
from contend.models.record import Identifier, Record, Text
from contend.models.round import LeaderboardEntry
from contend.stores.record import RecordStore

_MEAN = 1500.0
_POINTS = 400.0 / np.log(10.0)
"""A point of Elo's scale in logits: 400 points ahead are ten wins to one."""
_SPREAD = 1.0
"""What is held of teams before their first run: their strengths, in logits, are normal with this deviation."""
_SURE = 1.96
_STEPS = 50


class Standing(Record):
    """A team's rating on Elo's scale, 1500 the mean of the teams, and the ends of its 95 % interval.

    `runs` are those in which it could be compared; `wins`, `ties` and `losses` are pairs, against each other team of
    each run.
    """

    team_id: Identifier
    team_name: Text
    rating: float
    low: float
    high: float
    runs: int
    wins: int
    ties: int
    losses: int


class Standings(Record):
    """The teams of a dataset's finished runs, the best first. `is_clear`: the first is better than the second, by 95 %.

    `runs` are those in which two teams could be compared; `datasets` all that have such runs or others.
    """

    dataset: str
    runs: int
    is_clear: bool
    teams: list[Standing]
    datasets: list[str]


async def standings(record: RecordStore, dataset: str) -> Standings:
    """The teams' standing over the finished runs that learned from, or into, a dataset."""
    boards = await record.rankings(dataset)
    return ratings(dataset, list(boards.values()), datasets=await record.datasets())


def ratings(dataset: str, boards: Sequence[Sequence[LeaderboardEntry]], *, datasets: Sequence[str] = ()) -> Standings:
    """Ratings from the leaderboards of runs, by the model of Bradley and Terry.

    R. A. Bradley, M. E. Terry: Rank Analysis of Incomplete Block Designs: I. The Method of Paired Comparisons,
    Biometrika 39 (1952); a tie is half a win of each. The k(k-1)/2 pairs of a run with k teams come from one ranking
    and weigh k-1 together. Strengths have a normal prior, so that few runs give wide intervals and a team that never
    lost a finite rating; intervals are Laplace's, of the difference to the mean of the teams.
    """
    runs = [pairs for board in boards if (pairs := list(_pairs(board)))]
    names = {entry.team_id: entry.team_name for board in boards for entry in board}
    teams = sorted({team for pairs in runs for one, other, _ in pairs for team in (one, other)})
    strengths, covariance = _fit(runs, {team: place for place, team in enumerate(teams)})
    order = sorted(range(len(teams)), key=lambda place: (-strengths[place], teams[place]))
    return Standings(
        dataset=dataset,
        runs=len(runs),
        is_clear=_is_clear(strengths, covariance, order[:2]),
        teams=[
            _standing(teams[place], names, runs, strength=strengths[place], deviation=covariance[place, place] ** 0.5)
            for place in order
        ],
        datasets=sorted(datasets),
    )


_Pair = tuple[str, str, float]
"""Two teams of a run, and the first one's share of the win: 1, 0.5 or 0."""


def _pairs(board: Sequence[LeaderboardEntry]) -> Iterator[_Pair]:
    for one, other in combinations(board, 2):
        share = _share(one, other)
        if share is not None:
            yield one.team_id, other.team_id, share


def _share(one: LeaderboardEntry, other: LeaderboardEntry) -> float | None:
    """By pairwise comparison where both were compared, else by best score; None where that cannot be said.

    A team without a submission loses against one with a score. What was not scored is not worse than what was.
    """
    if one.best_score is None or other.best_score is None:
        handed_in = one.latest_round > 0, other.latest_round > 0
        has_score = one.best_score is not None, other.best_score is not None
        return {((True, False), (True, False)): 1.0, ((False, True), (False, True)): 0.0}.get((handed_in, has_score))
    if one.pairwise_key is not None and other.pairwise_key is not None:
        ahead = one.pairwise_key - other.pairwise_key
    else:
        ahead = one.best_score - other.best_score
        ahead = 0.0 if abs(ahead) <= NEAR_TIE + 1e-9 else ahead
    return 0.5 + 0.5 * float(np.sign(ahead))


def _fit(runs: Sequence[Sequence[_Pair]], places: Mapping[str, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The likeliest strengths in logits, of mean 0, and their covariance, by Newton's method."""
    count = len(places)
    if not count:
        return np.zeros(0), np.zeros((0, 0))
    pairs = [pair for of_run in runs for pair in of_run]
    # A row for each pair with 1 and -1 at its teams' places; the pairs of a run with k teams weigh k-1 together.
    versus = np.array([np.eye(count)[places[one]] - np.eye(count)[places[other]] for one, other, _ in pairs])
    shares = np.array([share for _, _, share in pairs])
    teams = [len({team for one, other, _ in of_run for team in (one, other)}) for of_run in runs]
    weights = np.array([(of_run - 1) / len(own) for own, of_run in zip(runs, teams, strict=True) for _ in own])
    strengths = np.zeros(count)
    for _ in range(_STEPS):
        likely = 1.0 / (1.0 + np.exp(-versus @ strengths))
        slope = versus.T @ (weights * (shares - likely)) - strengths / _SPREAD**2
        curvature = (versus.T * (weights * likely * (1.0 - likely))) @ versus + np.eye(count) / _SPREAD**2
        step = np.linalg.solve(curvature, slope)
        strengths = strengths + step
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - far below a point of the scale
            break
    centring = np.eye(count) - 1.0 / count
    return strengths, centring @ np.linalg.inv(curvature) @ centring


def _is_clear(strengths: NDArray[np.float64], covariance: NDArray[np.float64], first: Sequence[int]) -> bool:
    """Whether the first of two teams is better than the second."""
    if len(first) < 2:  # noqa: PLR2004 - two teams
        return False
    versus = np.eye(len(strengths))[first[0]] - np.eye(len(strengths))[first[1]]
    return bool(versus @ strengths > _SURE * (versus @ covariance @ versus) ** 0.5)


def _standing(
    team: str, names: Mapping[str, str], runs: Sequence[Sequence[_Pair]], *, strength: float, deviation: float
) -> Standing:
    by_run = [[share if one == team else 1 - share for one, other, share in pairs if team in (one, other)]
              for pairs in runs]  # fmt: skip
    shares = [share for of_run in by_run for share in of_run]
    rating = _MEAN + _POINTS * float(strength)
    half = _SURE * _POINTS * float(deviation)
    return Standing(
        team_id=team,
        team_name=names[team],
        rating=round(rating, 1),
        low=round(rating - half, 1),
        high=round(rating + half, 1),
        runs=sum(map(bool, by_run)),
        wins=shares.count(1.0),
        ties=shares.count(0.5),
        losses=shares.count(0.0),
    )
