"""The evidence of a team: what searches and pages in full gave it, and which of it the team works with.

It only grows, over the loops of a round and over rounds.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from math import inf
from typing import Any, NotRequired

from typing_extensions import TypedDict

from contend.errors import SourceError
from contend.llm import ContextProfile
from contend.models.evaluation import Submission
from contend.models.replies import ChoiceReply
from contend.models.research import Passage
from contend.research.state import PageTask, ResearchState, ResearchUpdate
from contend.services import Services
from contend.sources.source_set import FullText
from contend.stores.documents import passage_id, text_id
from contend.text import canonical_url, estimate_tokens, shared_content

SEATS_A_QUERY = 3
"""So many of a query's best hits are offered whatever other queries found."""

LEAST_TOKENS = 60
"""A passage of fewer tokens takes no seat: a heading or a crumb says nothing alone."""

RANK_CONSTANT = 60
"""Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, 2009)."""

MOST_RESULTS = 20
"""So many documents are listed beside those whose passages are at work."""

PASSAGES_A_QUERY = 3
REPEAT_SHARE = 0.8
"""A passage that shares so much with the summary says nothing new."""


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
    unread: NotRequired[dict[str, str]]
    """The reason by address of each page that was to be read in full and was not."""


EMPTY: EvidencePool = {"passages": [], "results": [], "summarized_by": {}, "searches": {}, "shown": []}


async def pool_of(services: Services, state: ResearchState) -> EvidencePool:
    """All that the team has found. It lies with the run's documents: each checkpoint holds the whole of a state.

    Raises:
        StoreError: it cannot be read.
    """
    if not (document := state.get("pool")):
        return EMPTY
    pool: EvidencePool = json.loads(await (await services.run(state)).documents.get(document))
    return pool


async def keep_pool(services: Services, state: ResearchState, pool: EvidencePool) -> str:
    """Its id among the run's documents.

    Raises:
        StoreError: it cannot be written.
    """
    return await (await services.run(state)).documents.put(json.dumps(pool, ensure_ascii=False))


def grown_pool(
    pool: EvidencePool, state: ResearchState, queries: Collection[str], whole: Sequence[Mapping[str, Any]] = ()
) -> EvidencePool:
    """The pool with what was found since it last grew; `queries`: what was searched for, with or without an answer.

    `whole`: the sections of documents that are read whole, in order; they come first.
    """
    hits = [*whole, *state.get("found", [])]
    results = {canonical_url(result["url"]): result for result in pool["results"]}
    summarized_by, searches = dict(pool["summarized_by"]), {**dict.fromkeys(queries, 0), **pool["searches"]}
    for hit in hits:
        # The title stands in place of the summary: the document store holds the text that it begins.
        result = {**hit["result"], "summary": hit["result"]["title"]}
        summarized_by.setdefault(results.setdefault(canonical_url(result["url"]), result)["url"], hit["text"])
        if hit["query"]:
            searches[hit["query"]] = searches.get(hit["query"], 0) + 1
    pages = {results[canonical_url(page["url"])]["url"]: page["problem"] for page in state.get("read", [])}
    weights = source_weights(state)
    return {
        "passages": merge_evidence(pool["passages"], (_evidence(hit, results, weights) for hit in hits)),
        "results": list(results.values()),
        "summarized_by": summarized_by,
        "searches": searches,
        "shown": pool["shown"],
        "whole": pool.get("whole", False) or bool(whole),
        "unread": {url: problem for url, problem in {**pool.get("unread", {}), **pages}.items() if problem},
    }


def merge_evidence(pool: Sequence[Evidence], new: Iterable[Evidence]) -> list[Evidence]:
    """The pool and what is new, by id. A passage that is found again keeps its place and all its queries."""
    by_id: dict[str, Evidence] = {each["id"]: each for each in pool}
    for each in new:
        before = by_id.setdefault(each["id"], each)
        queries = {query: min(place, before["queries"].get(query, place)) for query, place in each["queries"].items()}
        weight = max(before["weight"], each["weight"])
        by_id[each["id"]] = {**before, "weight": weight, "queries": {**before["queries"], **queries}}
    return list(by_id.values())


def _evidence(hit: Mapping[str, Any], results: Mapping[str, Any], weights: Mapping[str, float]) -> Evidence:
    result = hit["result"]
    address = canonical_url(result["url"])
    return {
        "id": passage_id(hit["text"], address),
        "url": results[address]["url"],
        "title": result["title"],
        "heading": hit["heading"],
        "published": result.get("published_date"),
        "tokens": hit["tokens"],
        "weight": weights.get(result["source"], 0.0),
        "queries": {hit["query"]: hit["place"]} if hit["query"] else {},
    }


def select_evidence(pool: Sequence[Evidence], *, pinned_ids: Sequence[str], tokens: int) -> list[Evidence]:
    """What a call may read of the pool: pinned passages, then each query's best three, then the rest by rank.

    `pinned_ids`: those that stand first, in their order, whatever they take. The others come best first as far as
    `tokens` goes; one that does not fit any more is passed over for smaller ones.
    """
    first, ids = _with_ids(pool, pinned_ids), {*pinned_ids}
    others = {each["id"]: each for each in (*in_turns(pool), *_by_rank(pool)) if each["id"] not in ids}
    return [*first, *fitting(others.values(), tokens=tokens - sum(each["tokens"] for each in first))]


def fitting(passages: Iterable[Evidence], *, tokens: int) -> list[Evidence]:
    """As many as fit; one that does not is passed over for smaller ones."""
    fit = []
    for each in passages:
        if each["tokens"] <= tokens:
            fit.append(each)
            tokens -= each["tokens"]
    return fit


def in_turns(pool: Sequence[Evidence], queries: Collection[str] | None = None) -> list[Evidence]:
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


def _by_rank(pool: Sequence[Evidence]) -> list[Evidence]:
    """By the best place in any query, then by all places.

    A sum over all queries alone puts what many name in passing before what one query is about.
    """
    return sorted(pool, key=lambda each: (-max(_shares(each), default=0.0), -sum(_shares(each)), each["id"]))


def _shares(each: Evidence) -> list[float]:
    return [each["weight"] / (RANK_CONSTANT + place) for place in each["queries"].values()]


def _with_ids(passages: Sequence[Evidence], ids: Iterable[str]) -> list[Evidence]:
    """Those of these ids, each once and in their order."""
    by_id = {each["id"]: each for each in passages}
    return [by_id[each] for each in dict.fromkeys(ids) if each in by_id]


def numbers_of(ids: Sequence[str]) -> dict[str, int]:
    """The number of each, from 1: of passages by their ids, of sources in a team's order of preference."""
    return {each: number for number, each in enumerate(ids, start=1)}


def whole_ids(pool: EvidencePool, whole: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of sections of documents that are read whole, in order."""
    texts = {hit["text"] for hit in whole}
    return [each["id"] for each in pool["passages"] if text_id(each["id"]) in texts]


def earlier_ids(state: ResearchState, best: Submission | None) -> list[str]:
    """The passages that the team works with, or those of its best report."""
    return [each["id"] for each in state.get("passages", [])] or [each.id for each in (best.passages if best else [])]


def working_ids(pool: EvidencePool, pinned_ids: Sequence[str], *, tokens: int) -> list[str]:
    """The pinned passages and the best of the others, as far as `tokens` goes."""
    return [each["id"] for each in select_evidence(pool["passages"], pinned_ids=pinned_ids, tokens=tokens)]


def room_for(pool: EvidencePool, pinned_ids: Sequence[str], limits: ContextProfile) -> int:
    """What passages may take: what the profile says, and half of it again where a draft holds on to the most."""
    return max(limits.chosen_tokens, tokens_of(pool, pinned_ids) + limits.chosen_tokens // 2)


def tokens_of(pool: EvidencePool, ids: Iterable[str]) -> int:
    """What passages take together."""
    return sum(each["tokens"] for each in _with_ids(pool["passages"], ids))


def chosen_ids(reply: ChoiceReply, candidates: Sequence[Evidence], *, tokens: int) -> list[str]:
    """What a model chose of them: each point's first, then each one's second, as far as `tokens` goes.

    Where it names none, the first of them all.
    """
    lists = [*(point.passages for point in reply.points), reply.others]
    in_turn = dict.fromkeys(number for turn in zip_longest(*lists) for number in turn if number)
    numbers = in_turn or range(1, len(candidates) + 1)
    in_order = (candidates[number - 1] for number in numbers if 1 <= number <= len(candidates))
    return [each["id"] for each in fitting(in_order, tokens=tokens)]


def within(pool: EvidencePool, ids: Sequence[str], *, tokens: int) -> list[str]:
    """The leading ids whose passages fit."""
    return [each["id"] for each in fitting(_with_ids(pool["passages"], ids), tokens=tokens)]


def as_passage(each: Evidence) -> Passage:
    """The passage without its text."""
    return Passage.model_validate({name: value for name, value in each.items() if name in Passage.model_fields})


def passages_of(pool: EvidencePool, ids: Sequence[str]) -> list[Passage]:
    """The passages without their texts."""
    return [as_passage(each) for each in _with_ids(pool["passages"], ids)]


def at_work(pool: EvidencePool, ids: Sequence[str]) -> ResearchUpdate:
    """The passages that the team works with from now on: their documents, then the first of the others."""
    passages, results = passages_of(pool, ids), {result["url"]: result for result in pool["results"]}
    own = {passage.url: results[passage.url] for passage in passages}
    others = [result for url, result in results.items() if url not in own]
    return {
        "passages": [passage.model_dump(mode="json", exclude={"text"}) for passage in passages],
        "research_data": [*own.values(), *others[: max(0, MOST_RESULTS - len(own))]],
    }


def pages_to_read(state: ResearchState) -> list[PageTask]:
    """The best `read_top` documents of which a search gave no more than a summary; none once they were tried."""
    if state.get("read"):
        return []
    weights = source_weights(state)
    worth: defaultdict[str, float] = defaultdict(float)
    tasks: dict[str, PageTask] = {}
    for hit in state.get("found", []):
        if hit["summarized"]:
            url = canonical_url(hit["result"]["url"])
            worth[url] += weights[hit["result"]["source"]] / (RANK_CONSTANT + hit["place"])
            task = tasks.setdefault(url, PageTask(result=hit["result"], summary=hit["text"], places={}))
            task["places"][hit["query"]] = hit["place"]
    best = sorted(worth, key=lambda url: (-worth[url], url))
    return [tasks[url] for url in best[: state["options"]["read_top"]]]


def nearest_passages(task: PageTask, page: FullText, summary: str) -> list[tuple[str, dict[str, Any]]]:
    """The page's passages that say more than its summary, each with its hit: after the page, for each query.

    Raises:
        SourceError: the page says less than its summary, as one does that wants a script or consent first.
    """
    if page.characters < len(summary):
        raise SourceError("it holds less text than its summary")
    hits = []
    for query, place in task["places"].items():
        for nearness, piece in enumerate(page.nearest(query, PASSAGES_A_QUERY), start=1):
            if shared_content(piece.text, summary) < REPEAT_SHARE:
                at = {"query": query, "place": place + nearness, "heading": piece.heading}
                size = estimate_tokens(piece.text)
                hits.append((piece.text, {**at, "summarized": False, "result": task["result"], "tokens": size}))
    return hits


def source_weights(state: ResearchState) -> dict[str, float]:
    """The first source weighs 1, each further one a tenth less; those not in the plan come last, by name."""
    priority = (state.get("task_plan") or {}).get("source_priority", {})
    names = {hit["result"]["source"] for hit in state.get("found", [])}
    places = sorted(priority.keys() | names, key=lambda name: (priority.get(name, inf), name))
    return {name: max(0.5, 1.0 - 0.1 * place) for place, name in enumerate(places)}
