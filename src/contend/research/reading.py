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


Listed = dict[str, Any]
"""A result without its summary. `text`: the id of the text that it was found by, the beginning of which is the summary;
those that only the best submission has are without."""


def reading_list(state: ResearchState, kept: Submission | None) -> tuple[list[Listed], list[Passage]]:
    """Results and passages, best first by rank fusion over queries; a preferred source's hits weigh more."""
    found = state.get("found", [])
    weights = _source_weights(state)
    worth: defaultdict[str, float] = defaultdict(float)
    for hit in found:
        worth[hit["text"]] += _worth(hit, weights)
    results = {canonical_url(result.url): _listed(result) for result in (kept.results if kept else [])}
    for hit in found:
        results.setdefault(canonical_url(hit["result"]["url"]), {**hit["result"], "text": hit["text"]})
    passages = _chosen(found, worth, results, kept)
    return _cited_first(results, passages), passages


def with_summaries(listed: Sequence[Listed], kept: Submission | None, texts: Mapping[str, str]) -> list[SearchResult]:
    """The listed results whole; `texts`: those that they were found by, by their ids."""
    known = {result.url: result.summary for result in (kept.results if kept else [])}

    def whole(result: Listed) -> SearchResult:
        text = texts.get(result.get("text", ""), "")
        summary = known.get(result["url"]) or shorten(clean(text, single_line=True), SUMMARY_CHARACTERS)
        values = {name: value for name, value in result.items() if name != "text"}
        return SearchResult.model_validate({**values, "summary": summary})

    return [whole(result) for result in listed]


def _listed(result: SearchResult) -> Listed:
    return result.model_dump(mode="json", exclude_none=True, exclude={"summary"})


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
        (text, {"query": query, "place": place + nearness, "summarized": False, "result": task["result"]})
        for query, place in task["places"].items()
        for nearness, text in enumerate(page.nearest(query, PASSAGES_A_QUERY), start=1)
        if shared_content(text, summary) < REPEATED
    ]


def unread_pages(state: ResearchState, results: Sequence[Listed], kept: Submission | None) -> dict[str, str]:
    """The reason by address for each of the results that should have been read in full and was not."""
    tried = {item["url"]: item["problem"] for item in state.get("read", [])}
    known = {**(kept.unread if kept else {}), **state.get("unread", {}), **tried}
    reasons = {canonical_url(url): reason for url, reason in known.items()}
    return {result["url"]: reason for result in results if (reason := reasons.get(canonical_url(result["url"])))}


def _worth(hit: dict[str, Any], weights: dict[str, float]) -> float:
    return weights[hit["result"]["source"]] / (RANK_CONSTANT + int(hit["place"]))


def _chosen(
    found: list[dict[str, Any]], worth: Mapping[str, float], results: dict[str, Listed], kept: Submission | None
) -> list[Passage]:
    ordered = sorted(found, key=lambda hit: (-worth[hit["text"]], hit["text"]))
    candidates = _carrying(kept) + [
        Passage(
            id=hit["text"],
            url=results[canonical_url(hit["result"]["url"])]["url"],
            title=hit["result"]["title"],
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


def _cited_first(results: dict[str, Listed], passages: list[Passage]) -> list[Listed]:
    read = dict.fromkeys(canonical_url(passage.url) for passage in passages)
    return [results[url] for url in [*read, *(url for url in results if url not in read)]][:MAX_RESULTS]


def _source_weights(state: ResearchState) -> dict[str, float]:
    """The first source weighs 1, each further one a tenth less; those not in the plan come last, by name."""
    priority = (state.get("task_plan") or {}).get("source_priority", {})
    searched = {hit["result"]["source"] for hit in state.get("found", [])}
    places = sorted(priority.keys() | searched, key=lambda name: (priority.get(name, inf), name))
    return {name: max(0.5, 1.0 - 0.1 * place) for place, name in enumerate(places)}
