"""The pool of evidence: it only grows, each query has its seats, and what is pinned stays."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from contend.models.replies import ChoiceReply
from contend.research.evidence import (
    EMPTY,
    Evidence,
    at_work,
    chosen_ids,
    grown_pool,
    merge_evidence,
    select_evidence,
)
from contend.research.state import ResearchState
from contend.stores.documents import text_id


def passage(name: str, tokens: int = 100, **queries: int) -> Evidence:
    return {
        "id": name,
        "url": f"https://a.org/{name}",
        "title": name,
        "heading": "",
        "published": None,
        "tokens": tokens,
        "weight": 1.0,
        "queries": queries,
    }


def ids(results: list[Evidence]) -> list[str]:
    return [each["id"] for each in results]


def hit(document: str) -> dict[str, Any]:
    """A section that every document holds, as a search of the query `fee` finds it."""
    result = {"title": document, "source": "local", "url": f"file:///docs/{document}"}
    return {"query": "fee", "place": 1, "text": "7" * 64, "heading": "Fees", "tokens": 9, "result": result}


def test_a_text_of_two_documents_is_two_passages() -> None:
    state = cast("ResearchState", {"found": [hit("2024.md"), hit("2025.md"), hit("2024.md")]})

    found = grown_pool(EMPTY, state, ["fee"])["passages"]

    assert [each["title"] for each in found] == ["2024.md", "2025.md"]
    assert {text_id(each["id"]) for each in found} == {"7" * 64}


def test_the_pool_knows_how_often_each_query_was_answered_and_by_which_text_a_document_was_found_first() -> None:
    first = grown_pool(EMPTY, cast("ResearchState", {"found": [hit("2024.md")]}), ["fee", "fare"])

    pool = grown_pool(first, cast("ResearchState", {"found": [{**hit("2024.md"), "text": "8" * 64}]}), ["fee"])

    assert first["searches"] == {"fee": 1, "fare": 0}
    assert pool["searches"] == {"fee": 2, "fare": 0}
    assert pool["summarized_by"] == {"file:///docs/2024.md": "7" * 64}


def test_documents_that_are_read_whole_were_found_by_no_query_and_stay_whole() -> None:
    first = grown_pool(EMPTY, cast("ResearchState", {}), [], [{**hit("2024.md"), "query": ""}])

    pool = grown_pool(first, cast("ResearchState", {}), [])

    assert (first["whole"], pool["whole"]) == (True, True)
    assert [each["queries"] for each in pool["passages"]] == [{}]
    assert pool["searches"] == {}


def test_a_page_that_was_not_read_is_named_by_its_documents_address() -> None:
    page = {**hit("x"), "result": {"title": "X", "source": "tavily", "url": "https://a.example/x"}}
    read = [
        {"url": "https://a.example/x?utm_source=y", "problem": "too long"},
        {"url": "file:///docs/2024.md", "problem": ""},
    ]

    pool = grown_pool(EMPTY, cast("ResearchState", {"found": [page, hit("2024.md")], "read": read}), ["fee"])

    assert pool["unread"] == {"https://a.example/x": "too long"}


def test_a_passage_weighs_what_the_best_source_that_found_it_weighs() -> None:
    light, heavy = ({**passage("a", wind=1), "weight": weight} for weight in (0.5, 0.9))

    merged = [merge_evidence([], cast("list[Evidence]", pair))[0] for pair in ([light, heavy], [heavy, light])]

    assert [each["weight"] for each in merged] == [0.9, 0.9]


def test_all_documents_at_work_are_listed_and_others_only_where_there_is_room() -> None:
    found = [hit(f"{number}.md") for number in range(25)]
    pool = grown_pool(EMPTY, cast("ResearchState", {"found": found}), ["fee"])
    names = ids(pool["passages"])

    assert [len(at_work(pool, names[:count])["research_data"]) for count in (2, 21)] == [20, 21]


def test_a_pinned_passage_stands_once() -> None:
    pool = [passage("a", wind=1), passage("b", wind=2)]

    assert ids(select_evidence(pool, pinned_ids=["b", "b"], tokens=200)) == ["b", "a"]


def test_of_equally_good_passages_what_more_queries_found_comes_first_in_any_order_of_the_pool() -> None:
    seats = [passage(f"{query}-{place}", **{query: place}) for query in ("q1", "q2") for place in (1, 2, 3)]
    pool = [*seats, passage("a", q1=4), passage("c", q1=4), passage("b", q1=4, q2=4)]

    for each in (pool, pool[::-1]):
        assert ids(select_evidence(each, pinned_ids=[], tokens=10_000))[6:] == ["b", "a", "c"]


def test_each_query_has_its_best_three_before_what_many_queries_found() -> None:
    common = [passage(f"c{place}", wind=place + 3, hum=place + 3, cable=place + 3) for place in range(1, 9)]
    own = [passage(f"{query}{place}", **{query: place}) for query in ("wind", "hum", "cable") for place in (1, 2, 3)]

    found = ids(select_evidence([*common, *own], pinned_ids=[], tokens=1_000))

    assert set(found[:9]) == {f"{query}{place}" for query in ("wind", "hum", "cable") for place in (1, 2, 3)}
    assert len(found) == 10


def test_what_one_query_is_about_comes_before_what_many_name_in_passing() -> None:
    seats = [passage(f"seat{place}", q1=place) for place in range(1, 4)]
    own = passage("own", q1=4)
    passing = passage("passing", q1=9, q2=9, q3=9, q4=9)
    others = [passage(f"{query}-{place}", **{query: place}) for query in ("q2", "q3", "q4") for place in range(1, 4)]

    found = ids(select_evidence([*seats, *others, passing, own], pinned_ids=[], tokens=100_000))

    assert found.index("own") < found.index("passing")


def test_a_crumb_takes_no_seat_and_a_query_that_found_nothing_else_keeps_it() -> None:
    pool = [passage("crumb", 10, wind=1), *(passage(f"w{place}", wind=place) for place in (2, 3, 4)),
            passage("alone", 10, hum=1)]  # fmt: skip

    assert ids(select_evidence(pool, pinned_ids=[], tokens=310)) == ["w2", "alone", "w3", "w4"]


def test_pinned_passages_stand_first_whatever_they_take() -> None:
    pool = [passage("a", wind=1), passage("cited", 5_000), passage("b", wind=2)]

    assert ids(select_evidence(pool, pinned_ids=["cited", "gone"], tokens=100)) == ["cited"]


def test_a_passage_that_is_found_again_keeps_its_place_and_its_best_rank() -> None:
    (one, two) = merge_evidence([passage("a", wind=4)], [passage("b", wind=1), passage("a", wind=2, hum=1)])

    assert (one["id"], one["queries"]) == ("a", {"wind": 2, "hum": 1})
    assert two["id"] == "b"


names = st.sampled_from("abcdef")
passages = st.builds(passage, names, st.integers(60, 500), wind=st.integers(1, 9), hum=st.integers(1, 9))


@given(st.lists(passages, max_size=8), st.lists(passages, max_size=8))
def test_evidence_only_grows(before: list[Evidence], new: list[Evidence]) -> None:
    pool = merge_evidence([], before)
    after = merge_evidence(pool, new)

    assert set(ids(pool)) <= set(ids(after))
    assert ids(after)[: len(pool)] == ids(pool)
    for old, now in zip(pool, after, strict=False):
        assert all(now["queries"][query] <= place for query, place in old["queries"].items())


@given(st.lists(passages, max_size=8), st.integers(0, 2_000))
def test_a_querys_first_hit_is_offered_where_it_fits(found: list[Evidence], tokens: int) -> None:
    pool = merge_evidence([], found)
    first = [min(pool, key=lambda each: (each["queries"][query], each["id"])) for query in ("wind", "hum") if pool]
    room = tokens + sum(each["tokens"] for each in first)

    assert {each["id"] for each in first} <= set(ids(select_evidence(pool, pinned_ids=[], tokens=room)))


def test_what_a_model_chose_is_taken_point_by_point_as_far_as_it_fits() -> None:
    shown = [passage(name) for name in "abcde"]
    reply = ChoiceReply.model_validate(
        {"points": [{"point": 1, "passages": [1, 2, 3]}, {"point": 2, "passages": [5, 99]}], "others": [4], "gaps": []}
    )

    assert chosen_ids(reply, shown, tokens=400) == ["a", "e", "d", "b"]
    assert chosen_ids(ChoiceReply(points=[], others=[], gaps=[]), shown, tokens=250) == ["a", "b"]
