"""Pages and papers to read in full, and what of them joins what was found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from contend.errors import SourceError
from contend.models.evaluation import Submission
from contend.models.research import SearchResult
from contend.research.evidence import RANK_CONSTANT
from contend.research.state import PageTask, ResearchState
from contend.sources.passages import TextPiece
from contend.sources.source_set import FullText
from contend.sources.throttle import canonical_url
from contend.text import estimate_tokens, shared_content

PASSAGES_A_QUERY = 3
REPEATED = 0.8
"""A passage that shares so much with the summary says nothing new."""


def titled(result: Mapping[str, Any]) -> SearchResult:
    """A search's result with its title in place of the summary: the document store holds the text that it begins."""
    return SearchResult.model_validate({**result, "summary": result["title"]})


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
    return [
        (piece.text, _hit_of(task, piece, query, place + nearness))
        for query, place in task["places"].items()
        for nearness, piece in enumerate(page.nearest(query, PASSAGES_A_QUERY), start=1)
        if shared_content(piece.text, summary) < REPEATED
    ]


def _hit_of(task: PageTask, piece: TextPiece, query: str, place: int) -> dict[str, Any]:
    return {
        "query": query,
        "place": place,
        "summarized": False,
        "result": task["result"],
        "heading": piece.heading,
        "tokens": estimate_tokens(piece.text),
    }


def unread_pages(state: ResearchState, results: Sequence[Mapping[str, Any]], best: Submission | None) -> dict[str, str]:
    """The reason by address for each of the results that should have been read in full and was not."""
    problems = {item["url"]: item["problem"] for item in state.get("read", [])}
    all_problems = {**(best.unread if best else {}), **state.get("unread", {}), **problems}
    reasons = {canonical_url(url): reason for url, reason in all_problems.items()}
    return {result["url"]: reason for result in results if (reason := reasons.get(canonical_url(result["url"])))}


def source_weights(state: ResearchState) -> dict[str, float]:
    """The first source weighs 1, each further one a tenth less; those not in the plan come last, by name."""
    priority = (state.get("task_plan") or {}).get("source_priority", {})
    names = {hit["result"]["source"] for hit in state.get("found", [])}
    places = sorted(priority.keys() | names, key=lambda name: (priority.get(name, inf), name))
    return {name: max(0.5, 1.0 - 0.1 * place) for place, name in enumerate(places)}
