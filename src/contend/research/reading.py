"""From what the searches found to what the writer reads: one result a document, best first, and its passages."""

import re
from collections import Counter
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from contend.models.research import Passage, SearchResult
from contend.models.submission import Submission
from contend.research.state import ResearchState

MAX_RESULTS = 20
MAX_PASSAGES = 16
PASSAGES_A_DOCUMENT = 4
KEPT_PASSAGES = 8
"""Of the best draft so far, as many passages are offered again."""

RANK_CONSTANT = 60
"""Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, 2009)."""

_TRACKING = re.compile(r"^(utm_|fbclid$|gclid$|ref$|ref_src$)")
_ARXIV_VERSION = re.compile(r"(/(?:abs|pdf)/.+?)(?:v\d+)?(?:\.pdf)?$")


def canonical_url(url: str) -> str:
    """One address for one document: no fragment, no tracking, https, no default port; arXiv versions together."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    if parts.scheme == "file":
        return urlunsplit(("file", "", parts.path, "", ""))
    path = parts.path.rstrip("/")
    if host == "arxiv.org":
        path = _ARXIV_VERSION.sub(r"\1", path).replace("/pdf/", "/abs/")
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if not _TRACKING.match(key)])
    port = f":{parts.port}" if parts.port and parts.port not in {80, 443} else ""
    return urlunsplit(("https", host + port, path, query, ""))


def reading_list(state: ResearchState, kept: Submission | None) -> tuple[list[SearchResult], list[Passage]]:
    """Results and passages, best first by rank fusion over queries; a preferred source's hits weigh more."""
    found = state.get("found", [])
    weights = _source_weights(state)
    worth: Counter[str] = Counter()
    for hit in found:
        worth[hit["text"]] += weights.get(hit["result"]["source"], 1.0) / (RANK_CONSTANT + hit["place"])
    results = {result.url: result for result in (kept.results if kept else [])}
    results = {canonical_url(url): result for url, result in results.items()}
    for hit in found:
        results.setdefault(canonical_url(hit["result"]["url"]), SearchResult.model_validate(hit["result"]))
    passages = _chosen(found, worth, results, kept)
    return _cited_first(results, passages), passages


def _chosen(
    found: list[dict[str, Any]], worth: Counter[str], results: dict[str, SearchResult], kept: Submission | None
) -> list[Passage]:
    ordered = sorted(found, key=lambda hit: (-worth[hit["text"]], hit["text"]))
    candidates = _carrying(kept) + [
        Passage(
            id=hit["text"],
            url=results[canonical_url(hit["result"]["url"])].url,
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


def _cited_first(results: dict[str, SearchResult], passages: list[Passage]) -> list[SearchResult]:
    read = dict.fromkeys(canonical_url(passage.url) for passage in passages)
    return [results[url] for url in [*read, *(url for url in results if url not in read)]][:MAX_RESULTS]


def _source_weights(state: ResearchState) -> dict[str, float]:
    """A team's first source weighs 1, each further one a tenth less."""
    priority = (state.get("task_plan") or {}).get("source_priority", {})
    return {name: max(0.5, 1.1 - 0.1 * place) for name, place in priority.items()}
