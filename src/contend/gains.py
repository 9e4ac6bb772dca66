"""What a further round, further teams and a merge have brought in a workspace's runs, and at how many tokens."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from contend.models.record import Record
from contend.stores.record import RecordStore

GainStep = Literal["round", "teams", "merge"]
FEWEST_RUNS = 20
"""So many runs tell more of a step than what is shipped."""
_SURE = 1.96


class Gain(Record):
    """What a step has brought, in points of 100: the mean over so many times, and its 95 % interval.

    `tokens`: the mean of what it took. `is_shipped`: of hand-played contests on short documents, before this workspace
    has runs enough; their interval is unknown.
    """

    step: GainStep
    times: int
    points: float
    low: float | None = None
    high: float | None = None
    tokens: int | None = None
    is_shipped: bool = False


SHIPPED: Mapping[GainStep, float] = {"round": 3.5, "teams": 1.0, "merge": 1.0}
"""Points by hand-played contests: what a review and a revision, a second team and a merge brought, at most."""


class TeamPlayed(NamedTuple):
    """A team's scores by round, from 0.0 to 1.0, and the tokens of each of its rounds, judges' calls among them."""

    scores: Mapping[int, float]
    tokens: Mapping[int, int]

    @property
    def best(self) -> float:
        return max(self.scores.values())


class RunPlayed(NamedTuple):
    """A finished run: its scored teams, the one that began first, and what the editor's merge got and took.

    `merged`: the score of a merged report that was published, else None; `merge_tokens`: 0 where nothing was merged.
    """

    teams: Sequence[TeamPlayed]
    merged: float | None
    merge_tokens: int


async def gains_of(record: RecordStore) -> list[Gain]:
    """What each step brought in all finished runs of a workspace.

    Raises:
        StoreError: the record cannot be read.
    """
    merges = {row["execution_id"]: row for row in await record.merges()}
    runs = []
    for execution_id, of_run in groupby(await record.scored_rounds(), key=itemgetter("execution_id")):
        teams = [[*rows] for _, rows in groupby(of_run, key=itemgetter("team_id"))]
        merge = merges.get(execution_id, {"published": None, "published_score": None, "tokens": 0})
        merged = merge["published_score"] if merge["published"] == "editor" else None
        runs.append(RunPlayed([_team(rows) for rows in teams], merged, int(merge["tokens"])))
    return gains(runs)


def _team(rows: Sequence[Mapping[str, Any]]) -> TeamPlayed:
    return TeamPlayed(
        {row["round_number"]: row["score"] for row in rows}, {row["round_number"]: int(row["tokens"]) for row in rows}
    )


def gains(runs: Sequence[RunPlayed]) -> list[Gain]:
    """What each step brought; those that no run has taken are left out."""
    samples: dict[GainStep, list[tuple[float, int]]] = {
        "round": [each for run in runs for team in run.teams for each in _by_round(team)],
        "teams": [each for run in runs for each in _by_teams(run)],
        "merge": [each for run in runs for each in _by_merge(run)],
    }
    return [_gain(step, each) for step, each in samples.items() if each]


def expected(runs: Sequence[Gain], step: GainStep) -> Gain:
    """What a step will bring: by this workspace's runs, where they are enough, else as shipped."""
    own = next((each for each in runs if each.step == step and each.times >= FEWEST_RUNS), None)
    return own or Gain(step=step, times=0, points=SHIPPED[step], is_shipped=True)


def _by_round(team: TeamPlayed) -> Iterator[tuple[float, int]]:
    """A round's gain is what it adds to the best score so far."""
    for before, number in pairwise(sorted(team.scores)):
        best = max(score for at, score in team.scores.items() if at <= before)
        yield max(0.0, team.scores[number] - best), team.tokens.get(number, 0)


def _by_teams(run: RunPlayed) -> Iterator[tuple[float, int]]:
    """All further teams together: what the best of all has more than the first."""
    if len(run.teams) > 1:
        first, *others = run.teams
        tokens = sum(sum(team.tokens.values()) for team in others)
        yield max(team.best for team in run.teams) - first.best, tokens


def _by_merge(run: RunPlayed) -> Iterator[tuple[float, int]]:
    """A merge that was not published brought nothing."""
    if run.merge_tokens and run.teams:
        best = max(team.best for team in run.teams)
        yield max(0.0, (run.merged or 0.0) - best), run.merge_tokens


def _gain(step: GainStep, samples: Sequence[tuple[float, int]]) -> Gain:
    points, tokens = (np.array(each, dtype=float) for each in zip(*samples, strict=True))
    points, count = points * 100, len(samples)
    half = _SURE * float(points.std(ddof=1)) / count**0.5 if count > 1 else None
    mean = float(points.mean())
    return Gain(
        step=step,
        times=count,
        points=round(mean, 1),
        low=None if half is None else round(mean - half, 1),
        high=None if half is None else round(mean + half, 1),
        tokens=round(float(tokens.mean())),
    )
