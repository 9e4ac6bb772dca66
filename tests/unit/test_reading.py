"""Which documents are read in full, what of them joins a reading list, and what is remembered of the others."""

from typing import Any

import pytest

from contend.errors import SourceError
from contend.models.research import SearchResult
from contend.research.evidence import EMPTY, EvidencePool, grown_pool, nearest_passages, pages_to_read
from contend.research.state import PageTask, ResearchState
from contend.sources.source_set import FullText

SUMMARY = "The bridge hummed in the wind until it fell. People came from far away to see it."
MORE = "Its frequency was 0.2 hertz, as a professor measured it with a film of the bridge."


def result(url: str, source: str = "tavily") -> dict[str, Any]:
    return SearchResult(title="Hum", summary="Hum.", source=source, url=url).model_dump(mode="json")


def hit(url: str, place: int, *, query: str = "hum", source: str = "tavily", summarized: bool = True) -> dict[str, Any]:
    return {
        "query": query,
        "place": place,
        "text": f"summary of {url}",
        "heading": "",
        "tokens": 9,
        "summarized": summarized,
        "result": result(url, source),
    }


def state_with(*hits: dict[str, Any], read_top: int = 5, **state: Any) -> ResearchState:  # noqa: ANN401 - any part of a state
    return {"found": list(hits), "options": {"read_top": read_top}, **state}  # type: ignore[typeddict-item]  # a part


def urls(state: ResearchState) -> list[str]:
    return [task["result"]["url"] for task in pages_to_read(state)]


def test_the_documents_that_rank_best_over_all_queries_are_read_first() -> None:
    state = state_with(
        hit("https://a.org/once", 1),
        hit("https://a.org/twice", 2),
        hit("https://a.org/twice", 2, query="wind"),
        hit("https://a.org/last", 3),
        read_top=2,
    )

    assert urls(state) == ["https://a.org/twice", "https://a.org/once"]


@pytest.mark.parametrize(
    ("priority", "order"),
    [
        ({"tavily": 1, "arxiv": 2}, ["tavily", "arxiv"]),
        ({"tavily": 7, "arxiv": 3}, ["arxiv", "tavily"]),
        ({"tavily": 1}, ["tavily", "arxiv"]),
        ({"tavily": 40, "local": 2}, ["tavily", "arxiv"]),
        ({"tavily": 1, "arxiv": 1}, ["arxiv", "tavily"]),
        ({}, ["arxiv", "tavily"]),
    ],
    ids=["named", "any numbers", "unnamed last", "unnamed behind large numbers", "alike by name", "none named"],
)
def test_of_equal_hits_the_source_with_the_smaller_number_comes_first_and_those_not_named_last(
    priority: dict[str, int], order: list[str]
) -> None:
    hits = [hit(f"https://a.org/{number}", 1, source=name) for number, name in enumerate(reversed(order))]
    state = state_with(*hits, task_plan={"source_priority": priority})

    assert [task["result"]["source"] for task in pages_to_read(state)] == order


def test_addresses_of_one_document_are_read_once_with_the_places_of_all_queries() -> None:
    state = state_with(
        hit("https://arxiv.org/abs/2001.00001v1", 1), hit("http://arxiv.org/pdf/2001.00001v2", 3, query="wind")
    )

    (task,) = pages_to_read(state)

    assert task["places"] == {"hum": 1, "wind": 3}


def test_sources_that_bring_whole_passages_are_not_read_again() -> None:
    state = state_with(
        hit("file:///papers/a.md", 1, source="local", summarized=False),
        hit("https://wiki.org/b", 1, source="wiki", summarized=False),
    )

    assert pages_to_read(state) == []


def test_nothing_is_read_twice_in_a_search() -> None:
    assert (
        pages_to_read(state_with(hit("https://a.org/", 1), read=[{"url": "https://a.org/", "problem": "HTTP 404"}]))
        == []
    )


def task(**places: int) -> PageTask:
    return PageTask(result=result("https://a.org/"), summary="its id", places=places)


def test_a_page_adds_what_its_summary_does_not_say_behind_the_pages_own_place() -> None:
    page = FullText.of(f"# Hum\n\n{SUMMARY}\n\n# Frequency\n\n{MORE}")

    ((text, hit),) = nearest_passages(task(frequency=4), page, SUMMARY)

    assert text == MORE
    assert (hit["query"], hit["place"], hit["summarized"]) == ("frequency", 5, False)
    assert hit["result"] == result("https://a.org/")


def test_a_page_that_says_less_than_its_summary_is_none() -> None:
    with pytest.raises(SourceError, match="less text than its summary"):
        nearest_passages(task(hum=1), FullText.of("Please switch on JavaScript."), SUMMARY)


def test_a_page_is_noted_until_it_was_read() -> None:
    hits = [hit(f"https://a.org/{name}", 1) for name in ("new", "mended")]
    pages = [{"url": "https://a.org/new", "problem": "HTTP 403"}, {"url": "https://a.org/mended", "problem": ""}]
    before: EvidencePool = {**EMPTY, "unread": {"https://a.org/old": "HTTP 404", "https://a.org/mended": "HTTP 500"}}

    pool = grown_pool(before, state_with(*hits, read=pages), ["hum"])

    assert pool["unread"] == {"https://a.org/new": "HTTP 403", "https://a.org/old": "HTTP 404"}
