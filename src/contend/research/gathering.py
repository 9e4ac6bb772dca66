"""From what searches found to the pool of evidence, and from the pool to the passages that a team works with."""

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from contend.models.evaluation import Submission
from contend.models.replies import ChoiceReply
from contend.models.research import Draft, Passage, SearchResult
from contend.research.evidence import EMPTY, Evidence, EvidencePool, as_passage, fitting, grown, offered, seated
from contend.research.reading import source_weights, titled
from contend.research.state import ResearchState, ResearchUpdate
from contend.services import Services
from contend.sources.throttle import canonical_url
from contend.stores.documents import passage_id, text_id
from contend.text import clean, shorten

SUMMARY_CHARACTERS = 300
MOST_RESULTS = 20
"""So many documents are listed beside those whose passages are at work."""


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
        result = titled(hit["result"]).model_dump(mode="json", exclude_none=True)
        summarized_by.setdefault(results.setdefault(canonical_url(result["url"]), result)["url"], hit["text"])
        if hit["query"]:
            searches[hit["query"]] = searches.get(hit["query"], 0) + 1
    weights = source_weights(state)
    ids = {(text_id(each["id"]), each["url"]): each["id"] for each in pool["passages"]}
    return {
        "passages": grown(pool["passages"], (_evidence(hit, results, weights, ids) for hit in hits)),
        "results": list(results.values()),
        "summarized_by": summarized_by,
        "searches": searches,
        "shown": pool["shown"],
        "whole": pool.get("whole", False) or bool(whole),
    }


def whole_ids(pool: EvidencePool, whole: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of sections of documents that are read whole, in order."""
    texts = {hit["text"] for hit in whole}
    return [each["id"] for each in pool["passages"] if text_id(each["id"]) in texts]


def cited_ids(draft: Draft | None) -> list[str]:
    """The passages that a draft rests on, in its order."""
    return list(dict.fromkeys(each for sentence in draft.sentences() for each in sentence.passages)) if draft else []


def earlier_ids(state: ResearchState, best: Submission | None) -> list[str]:
    """The passages that the team works with, or those of its best report."""
    return [each["id"] for each in state.get("passages", [])] or [each.id for each in (best.passages if best else [])]


def working_ids(pool: EvidencePool, pinned: Sequence[str], *, tokens: int) -> list[str]:
    """The pinned passages and the best of the others, as far as `tokens` goes."""
    return [each["id"] for each in offered(pool["passages"], pinned=pinned, tokens=tokens)]


def seated_ids(pool: EvidencePool, queries: Collection[str]) -> list[str]:
    """What each of these queries found first."""
    return [each["id"] for each in seated(pool["passages"], queries)[: len(queries)]]


def room_for(pool: EvidencePool, pinned: Sequence[str], tokens: int) -> int:
    """What passages may take: what the profile says, and half of it again where a draft holds on to the most."""
    return max(tokens, tokens_of(pool, pinned) + tokens // 2)


def tokens_of(pool: EvidencePool, ids: Collection[str]) -> int:
    """What passages take together."""
    sizes = {each["id"]: each["tokens"] for each in pool["passages"]}
    return sum(sizes.get(each, 0) for each in set(ids))


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
    by_id = {each["id"]: each for each in pool["passages"]}
    return [
        each["id"] for each in fitting((by_id[each] for each in dict.fromkeys(ids) if each in by_id), tokens=tokens)
    ]


def passages_of(pool: EvidencePool, ids: Sequence[str]) -> list[Passage]:
    """The passages without their texts."""
    by_id = {each["id"]: each for each in pool["passages"]}
    return [as_passage(by_id[each]) for each in ids if each in by_id]


def at_work(pool: EvidencePool, ids: Sequence[str]) -> ResearchUpdate:
    """The passages that the team works with from now on: their documents, then the first of the others."""
    passages, results = passages_of(pool, ids), {result["url"]: result for result in pool["results"]}
    own = {passage.url: results[passage.url] for passage in passages if passage.url in results}
    others = [result for url, result in results.items() if url not in own]
    return {
        "passages": [passage.model_dump(mode="json", exclude={"text"}) for passage in passages],
        "research_data": [*own.values(), *others[: max(0, MOST_RESULTS - len(own))]],
    }


def with_summaries(
    results: Sequence[Mapping[str, Any]], pool: EvidencePool, texts: Mapping[str, str]
) -> list[SearchResult]:
    """The documents whole; `texts`: those that summaries are made of, by id."""
    whole = []
    for result in results:
        text = texts.get(pool["summarized_by"].get(result["url"], ""), "")
        summary = shorten(clean(text, single_line=True), SUMMARY_CHARACTERS) or result["title"]
        whole.append(SearchResult.model_validate({**result, "summary": summary}))
    return whole


def _evidence(
    hit: Mapping[str, Any],
    results: Mapping[str, Any],
    weights: Mapping[str, float],
    ids: Mapping[tuple[str, str], str],
) -> Evidence:
    """`ids`: those of the pool's passages by text and address; those of an earlier release are ids of texts alone."""
    result = hit["result"]
    address = canonical_url(result["url"])
    url = results[address]["url"]
    return {
        "id": ids.get((hit["text"], url)) or passage_id(hit["text"], address),
        "url": url,
        "title": result["title"],
        "heading": hit["heading"],
        "published": result.get("published_date"),
        "tokens": hit["tokens"],
        "weight": weights.get(result["source"], 0.0),
        "queries": {hit["query"]: hit["place"]} if hit["query"] else {},
    }
