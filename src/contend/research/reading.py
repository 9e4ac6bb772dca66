"""From what the searches found to what the writer reads: one result a document, best first, and its passages."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from contend.errors import SourceError
from contend.models.research import Passage, SearchResult
from contend.models.submission import Submission
from contend.research.state import PageTask, ResearchState
from contend.sources.address import canonical_url
from contend.sources.full_text import FullText
from contend.sources.passages import Piece
from contend.text import clean, shared_content, shorten

MAX_RESULTS = 20
SUMMARY_CHARACTERS = 300
"""Summaries in state are short; the document store holds the texts."""

MAX_PASSAGES = 16
PASSAGES_A_DOCUMENT = 6
KEPT_PASSAGES = 8
"""Of the best draft so far, as many passages are offered again."""

PASSAGES_A_QUERY = 3
REPEATED = 0.8
"""A passage that shares so much with the summary says nothing new."""

RANK_CONSTANT = 60
"""Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, 2009)."""


def reading_list(state: ResearchState, kept: Submission | None) -> tuple[list[SearchResult], list[Passage]]:
    """Results and passages, best first by rank fusion over queries; a preferred source's hits weigh more.

    In place of the summaries stand titles: the document store holds the texts that they begin (see `summarized_by`).
    """
    found = state.get("found", [])
    weights = _source_weights(state)
    worth: defaultdict[str, float] = defaultdict(float)
    for hit in found:
        worth[hit["text"]] += _worth(hit, weights)
    results = {canonical_url(result.url): _titled(result) for result in (kept.results if kept else [])}
    for hit in found:
        title = hit["result"]["title"]
        results.setdefault(
            canonical_url(hit["result"]["url"]), SearchResult.model_validate({**hit["result"], "summary": title})
        )
    passages = _chosen(found, worth, results, kept)
    return _cited_first(results, passages), passages


def summarized_by(state: ResearchState, results: Sequence[SearchResult]) -> dict[str, str]:
    """The id of the text by address that each of the results was found by first."""
    texts: dict[str, str] = {}
    for hit in state.get("found", []):
        texts.setdefault(canonical_url(hit["result"]["url"]), hit["text"])
    return {result.url: texts[url] for result in results if (url := canonical_url(result.url)) in texts}


def with_summaries(
    results: Sequence[SearchResult], kept: Submission | None, texts: Mapping[str, str]
) -> list[SearchResult]:
    """The results whole; `texts`: those that they were found by, by address."""
    summaries = {url: shorten(clean(text, single_line=True), SUMMARY_CHARACTERS) for url, text in texts.items()}
    summaries |= {result.url: result.summary for result in (kept.results if kept else [])}
    return [result.model_copy(update={"summary": summaries.get(result.url, result.summary)}) for result in results]


def _titled(result: SearchResult) -> SearchResult:
    return result.model_copy(update={"summary": result.title})


def pages_to_read(state: ResearchState) -> list[PageTask]:
    """The best `read_top` documents of which a search gave no more than a summary; none once they were tried."""
    if state.get("read"):
        return []
    weights = _source_weights(state)
    worth: defaultdict[str, float] = defaultdict(float)
    tasks: dict[str, PageTask] = {}
    for hit in state.get("found", []):
        if hit["summarized"]:
            url = canonical_url(hit["result"]["url"])
            worth[url] += _worth(hit, weights)
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
    return [
        (piece.text, _hit_of(task, piece, query, place + nearness))
        for query, place in task["places"].items()
        for nearness, piece in enumerate(page.nearest(query, PASSAGES_A_QUERY), start=1)
        if shared_content(piece.text, summary) < REPEATED
    ]


def _hit_of(task: PageTask, piece: Piece, query: str, place: int) -> dict[str, Any]:
    hit = {"query": query, "place": place, "summarized": False, "result": task["result"]}
    return {**hit, "heading": piece.heading} if piece.heading else hit


def unread_pages(state: ResearchState, results: Sequence[SearchResult], kept: Submission | None) -> dict[str, str]:
    """The reason by address for each of the results that should have been read in full and was not."""
    tried = {item["url"]: item["problem"] for item in state.get("read", [])}
    known = {**(kept.unread if kept else {}), **state.get("unread", {}), **tried}
    reasons = {canonical_url(url): reason for url, reason in known.items()}
    return {result.url: reason for result in results if (reason := reasons.get(canonical_url(result.url)))}


def _worth(hit: dict[str, Any], weights: dict[str, float]) -> float:
    return weights[hit["result"]["source"]] / (RANK_CONSTANT + int(hit["place"]))


def _chosen(
    found: list[dict[str, Any]], worth: Mapping[str, float], results: dict[str, SearchResult], kept: Submission | None
) -> list[Passage]:
    ordered = sorted(found, key=lambda hit: (-worth[hit["text"]], hit["text"]))
    candidates = _carrying(kept) + [
        Passage(
            id=hit["text"],
            url=results[canonical_url(hit["result"]["url"])].url,
            title=hit["result"]["title"],
            heading=hit.get("heading", ""),
        )
        for hit in ordered
    ]
    chosen: dict[str, Passage] = {}
    of_document: Counter[str] = Counter()
    for passage in candidates:
        if passage.id not in chosen and of_document[passage.url] < PASSAGES_A_DOCUMENT:
            chosen[passage.id] = passage
            of_document[passage.url] += 1
    return list(chosen.values())[:MAX_PASSAGES]


def _carrying(kept: Submission | None) -> list[Passage]:
    """The passages that the best draft cited, in its order."""
    if kept is None:
        return []
    cited = dict.fromkeys(passage for sentence in kept.draft.sentences() for passage in sentence.passages)
    known = {passage.id: passage for passage in kept.passages}
    return [known[passage] for passage in cited if passage in known][:KEPT_PASSAGES]


def _cited_first(results: dict[str, SearchResult], passages: list[Passage]) -> list[SearchResult]:
    read = dict.fromkeys(canonical_url(passage.url) for passage in passages)
    return [results[url] for url in [*read, *(url for url in results if url not in read)]][:MAX_RESULTS]


def _source_weights(state: ResearchState) -> dict[str, float]:
    """The first source weighs 1, each further one a tenth less; those not in the plan come last, by name."""
    priority = (state.get("task_plan") or {}).get("source_priority", {})
    searched = {hit["result"]["source"] for hit in state.get("found", [])}
    places = sorted(priority.keys() | searched, key=lambda name: (priority.get(name, inf), name))
    return {name: max(0.5, 1.0 - 0.1 * place) for place, name in enumerate(places)}
