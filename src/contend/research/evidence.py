"""The evidence of a team: passages that searches found. It only grows, over the loops of a round and over rounds."""

from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NotRequired

from typing_extensions import TypedDict

from contend.models.research import Passage

SEATS_A_QUERY = 3
"""So many of a query's best hits are offered whatever other queries found."""

LEAST_TOKENS = 60
"""A passage of fewer tokens takes no seat: a heading or a crumb says nothing alone."""

RANK_CONSTANT = 60
"""Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, 2009)."""


class Evidence(TypedDict):
    """A passage by its text's id in the document store. `queries`: its best place in each query's answer, from 1.

    `weight`: what its source's hits weigh, 0.0 to 1.0; `tokens`: about as many as its text has. `speaks_to_ai`: whether
    its document holds text addressed to AI systems; not there before anybody has looked; `signals`: the names of
    those that this passage gives.
    """

    id: str
    url: str
    title: str
    heading: str
    published: str | None
    tokens: int
    weight: float
    queries: dict[str, int]
    speaks_to_ai: NotRequired[bool]
    signals: NotRequired[list[str]]


class EvidencePool(TypedDict):
    """All that a team has found so far."""

    passages: list[Evidence]
    results: list[dict[str, Any]]
    """The documents, with their titles in place of summaries."""
    summarized_by: dict[str, str]
    """By address the id of the text by which a document was found first."""
    searches: dict[str, int]
    """How many passages each query gave."""
    shown: list[str]
    """The ids of the passages among which a model has chosen already."""
    whole: NotRequired[bool]
    """Whether all own documents are in it, word for word."""


EMPTY: EvidencePool = {"passages": [], "results": [], "summarized_by": {}, "searches": {}, "shown": []}


def grown(pool: Sequence[Evidence], new: Iterable[Evidence]) -> list[Evidence]:
    """The pool and what is new, by id. A passage that is found again keeps its place and all its queries."""
    by_id: dict[str, Evidence] = {each["id"]: each for each in pool}
    for each in new:
        before = by_id.get(each["id"])
        by_id[each["id"]] = each if before is None else _merge(before, each)
    return list(by_id.values())


def offered(pool: Sequence[Evidence], *, pinned: Sequence[str], tokens: int) -> list[Evidence]:
    """What a call may read of the pool: pinned passages, then each query's best three, then the rest by rank.

    `pinned`: ids that stand first, in their order, whatever they take. The others come best first as far as `tokens`
    goes; one that does not fit any more is passed over for smaller ones.
    """
    by_id = {each["id"]: each for each in pool}
    first = {each: by_id[each] for each in pinned if each in by_id}
    others = {each["id"]: each for each in (*seated(pool), *_ranked(pool)) if each["id"] not in first}
    room = tokens - sum(each["tokens"] for each in first.values())
    return [*first.values(), *fitting(others.values(), tokens=room)]


def fitting(passages: Iterable[Evidence], *, tokens: int) -> list[Evidence]:
    """As many as fit; one that does not is passed over for smaller ones."""
    fit = []
    for each in passages:
        if each["tokens"] <= tokens:
            fit.append(each)
            tokens -= each["tokens"]
    return fit


def as_passage(each: Evidence) -> Passage:
    """The passage without its text."""
    return Passage(
        id=each["id"],
        url=each["url"],
        title=each["title"],
        heading=each["heading"],
        published=each["published"],
        speaks_to_ai=each.get("speaks_to_ai", False),
    )


def _merge(before: Evidence, again: Evidence) -> Evidence:
    places = dict(before["queries"])
    for query, place in again["queries"].items():
        places[query] = min(place, places.get(query, place))
    return {**before, "weight": max(before["weight"], again["weight"]), "queries": places}


def seated(pool: Sequence[Evidence], queries: Collection[str] | None = None) -> list[Evidence]:
    """Each query's first passage, then each one's second, then third; of all queries, or of these."""
    by_query: dict[str, list[Evidence]] = {}
    for each in pool:
        for query in each["queries"]:
            if queries is None or query in queries:
                by_query.setdefault(query, []).append(each)
    rows = []
    for query, hits in by_query.items():
        best_first = sorted(hits, key=lambda each: (each["queries"][query], each["id"]))
        rows.append([each for each in best_first if each["tokens"] >= LEAST_TOKENS][:SEATS_A_QUERY] or best_first[:1])
    return [each for row in zip_longest(*rows) for each in row if each is not None]


def _ranked(pool: Sequence[Evidence]) -> list[Evidence]:
    """By the best place in any query, then by all places.

    A sum over all queries alone puts what many name in passing before what one query is about.
    """
    return sorted(pool, key=lambda each: (-max(_shares(each), default=0.0), -sum(_shares(each)), each["id"]))


def _shares(each: Evidence) -> list[float]:
    return [each["weight"] / (RANK_CONSTANT + place) for place in each["queries"].values()]


def numbers_of(ids: Sequence[str]) -> dict[str, int]:
    """The number of each passage, from 1, by its id."""
    return {each: number for number, each in enumerate(ids, start=1)}
