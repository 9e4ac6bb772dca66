"""What code finds of two submissions, for the judge who compares them: judges see no sources."""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from contend.models.submission import Submission
from contend.points import points_spoken_of
from contend.services import Services
from contend.team.metrics import citation_counts

Kind = Literal["points", "citations", "sentences"]
Better = Literal["first", "second", "tie"]

MARGINS: Mapping[Kind, int] = {"points": 1, "citations": 0, "sentences": 1}
"""How many of each code may be wrong about. Whether a cited source is real it knows."""


class Count(NamedTuple):
    """So many of all are as they should be."""

    good: float
    all: int

    @property
    def share(self) -> float:
        return self.good / self.all if self.all else 0.0


class Row(NamedTuple):
    """The counts of the first submission and of the second, and which is better by them."""

    kind: Kind
    counts: tuple[Count, Count]
    better: Better

    def shown(self) -> dict[str, object]:
        """Plain values, as prompts take them."""
        return {"kind": self.kind, "counts": [count._asdict() for count in self.counts], "better": self.better}


async def counts_of(services: Services, submission: Submission, points: Collection[str]) -> dict[Kind, Count]:
    """Of the points those it speaks of, of its citations those of real sources, of its sentences those they say.

    `points` of both plans: neither team gains by asking little.
    """
    cited = await citation_counts(services, submission)
    return {
        "points": Count(points_spoken_of(points, submission.content), len(points)),
        "citations": Count(cited.real, cited.citations),
        "sentences": Count(cited.supported, cited.sentences),
    }


def compare(first: Mapping[Kind, Count], second: Mapping[Kind, Count]) -> list[Row]:
    """A row for each kind of which there is anything."""
    pairs = {kind: (first[kind], second[kind]) for kind in MARGINS}
    return [Row(kind, both, _better(*both, MARGINS[kind])) for kind, both in pairs.items() if any(map(_any, both))]


def _any(count: Count) -> bool:
    return count.all > 0


def _better(one: Count, other: Count, margin: int) -> Better:
    """Which has more than `margin` good ones more, counted in as many as the smaller one has."""
    difference, fewest = one.share - other.share, min(one.all, other.all)
    if not difference or 0 < abs(difference) * fewest <= margin:
        return "tie"
    return "first" if difference > 0 else "second"
