"""Search, find and read: which places a text names, what can be asked of which source, how it joins a pool."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.evidence import (
    Action,
    ActionHit,
    Brought,
    Desk,
    Evidence,
    EvidencePool,
    empty_pool,
    places_of,
    with_results,
)
from contend.evidence.actions import (
    MOST_READ,
    PlaceToRead,
    WordsToFind,
    place_to_read,
    tasks_of,
    unsearched_sources,
    words_of,
    words_to_find,
)
from contend.evidence.pool import with_catalogue, with_hits
from contend.models.replies import ActionReply

LOCAL_URLS = ["file:///docs/a.md", "file:///docs/b.md"]
PAGES = [f"https://a.org/{number}" for number in range(3)]
DESK = Desk(["local", "tavily"], [*LOCAL_URLS, *PAGES], most_pages=2, source_of=dict.fromkeys(PAGES, "tavily"))


def wanted(kind: str, text: str, source: str = "", parts: Sequence[int] = (1,)) -> ActionReply:
    return ActionReply.model_validate({"kind": kind, "source": source, "text": text, "parts": [*parts]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_size", WordsToFind("max_size")),
        ("5: max_size", WordsToFind("max_size", 5)),
        (" 5 :max size ", WordsToFind("max size", 5)),
        ("6: max_size", WordsToFind("6: max_size")),
        ("0: max_size", WordsToFind("0: max_size")),
        ("5:", WordsToFind("5:")),
        ("retry: 5", WordsToFind("retry: 5")),
    ],
)
def test_words_may_be_found_in_one_document_alone(text: str, words: WordsToFind) -> None:
    found = DESK.actions([wanted("find", text)], "researcher")

    assert words_to_find(text, len(DESK.documents)) == words
    assert [DESK.url_of(each) for each in found] == [DESK.documents[words.document - 1] if words.document else ""]


def action(kind: str = "search", text: str = "hum", source: str = "local", parts: Sequence[int] = (1,)) -> Action:
    return {"kind": kind, "source": source, "text": text, "parts": [*parts], "by": "researcher"}  # type: ignore[typeddict-item]  # a kind


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("12", (12, 1, MOST_READ)),
        (" 12.7 ", (12, 7, 7)),
        ("12.7-9", (12, 7, 9)),
        ("12.7 – 9", (12, 7, 9)),
        ("12.7-12.9", (12, 7, 9)),
        ("12.9-7", (12, 9, 9)),
        ("12.5-900", (12, 5, 4 + MOST_READ)),
        ("P12", None),
        ("12.", None),
        ("https://a.org/12", None),
        ("", None),
    ],
)
def test_a_place_is_a_document_or_some_of_its_sections(text: str, place: tuple[int, int, int] | None) -> None:
    assert place_to_read(text) == (place and PlaceToRead(*place))


@given(st.text("0123456789.-– ", max_size=12))
def test_a_reading_is_never_empty_and_never_longer_than_it_may_be(text: str) -> None:
    place = place_to_read(text)

    assert place is None or 0 <= place.last - place.first < MOST_READ


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (wanted("search", "hum"), ""),
        (wanted("search", "hum", "tavily"), ""),
        (wanted("search", "hum", "arxiv"), "there is no source 'arxiv': choose from local, tavily"),
        (wanted("find", "E-4711"), ""),
        (wanted("find", "E-4711", "local"), ""),
        (wanted("find", "E-4711", "tavily"), "tavily cannot be found in, only searched"),
        (wanted("read", "5"), ""),
        (wanted("read", "1.3-4", "local"), ""),
        (wanted("read", "6"), "there is no document 6: they are numbered 1 to 5"),
        (wanted("read", "0"), "there is no document 0: they are numbered 1 to 5"),
        (wanted("read", "Limits"), "'Limits' is no place: read 12, 12.7 or 12.7-9, by the numbers of "),
    ],
)
def test_what_cannot_be_done_goes_back_with_what_can(reply: ActionReply, fault: str) -> None:
    assert DESK.fault(reply).startswith(fault) is True
    assert bool(DESK.fault(reply)) == bool(fault)
    assert bool(DESK.actions([reply], "researcher")) == (not fault)


def test_nothing_is_found_in_without_documents_of_ones_own() -> None:
    desk = Desk(["tavily"], PAGES, most_pages=2, source_of={})

    assert not desk.can_find
    assert desk.fault(wanted("find", "E-4711")) == "no source that is on can be found in, only searched"


def test_a_search_that_names_no_source_is_made_in_each_and_a_find_in_the_own_documents() -> None:
    actions = DESK.actions([wanted("search", " hum\nof bridges ", parts=[2]), wanted("find", "E-4711")], "reviewer")

    assert [(each["kind"], each["source"], each["text"], each["parts"], each["by"]) for each in actions] == [
        ("search", "local", "hum of bridges", [2], "reviewer"),
        ("search", "tavily", "hum of bridges", [2], "reviewer"),
        ("find", "local", "E-4711", [1], "reviewer"),
    ]


def test_a_page_is_read_from_the_source_that_gave_it() -> None:
    (own, page) = DESK.actions([wanted("read", "1.2"), wanted("read", "3")], "researcher")

    assert (own["source"], page["source"]) == ("local", "tavily")
    assert [DESK.url_of(own), DESK.url_of(page), DESK.url_of(action())] == [LOCAL_URLS[0], PAGES[0], ""]


def test_so_many_pages_are_read_in_a_step_and_own_documents_are_none() -> None:
    pages, own = [wanted("read", str(number)) for number in (3, 4, 5)], [wanted("read", "1"), wanted("read", "2.1")]

    assert DESK.pages_fault([*own, *pages[:2]]) == ""
    assert DESK.pages_fault([*own, *pages]) == "at most 2 pages are read in a step"


def test_nodes_are_sent_the_page_to_read_with_its_result_and_no_more_pages_than_may_be_read() -> None:
    pool = pool_with(passage("x", url=PAGES[0]))
    actions = DESK.actions([*(wanted("read", str(number)) for number in (3, 4, 5)), wanted("read", "2")], "researcher")

    tasks = tasks_of(actions, DESK, pool, {"team_id": "scout"})

    assert [(task["number"], task["url"]) for task in tasks] == [(0, PAGES[0]), (1, PAGES[1]), (3, LOCAL_URLS[1])]
    assert [task["result"].get("title") for task in tasks] == ["X", None, None]
    assert {task["team_id"] for task in tasks} == {"scout"}


def test_a_report_names_a_search_by_its_words_and_another_action_with_its_kind() -> None:
    assert [words_of(action(kind)) for kind in ("search", "find", "read")] == ["hum", "find hum", "read hum"]


def passage(name: str, tokens: int = 10, *, url: str = "", place: int = 1) -> Evidence:
    return {
        "id": name,
        "url": url or f"https://b.org/{name}",
        "source": "tavily",
        "title": name.upper(),
        "heading": "",
        "place": place,
        "published": None,
        "tokens": tokens,
        "found_by": ["hum"],
    }


def hit(each: Evidence) -> ActionHit:
    return {
        "evidence": each,
        "result": {"title": each["title"], "source": each["source"], "url": each["url"]},
        "text": f"t-{each['id']}",
    }


def pool_with(*passages: Evidence) -> EvidencePool:
    pool = with_catalogue(empty_pool(["Why?"]), LOCAL_URLS)
    return with_hits(pool, ((each, hit(each)["result"], f"t-{each['id']}") for each in passages))


def brought(number: int, *passages: Evidence, **more: Any) -> Brought:  # noqa: ANN401 - any field
    return {"number": number, "hits": [hit(each) for each in passages], "total": 0, "problem": "", "url": "", **more}  # type: ignore[typeddict-item]  # fields of it


def test_each_actions_first_is_shown_before_anothers_second_and_the_rest_is_listed() -> None:
    first, second = [passage(f"a{n}") for n in (1, 2, 3)], [passage(f"b{n}") for n in (1, 2)]

    _, results = with_results(
        empty_pool([]),
        [action(), action("find")],
        [brought(1, *second, total=9), brought(0, *first)],
        visible=[],
        room=30,
    )

    assert [(each["shown"], each["listed"], each["known"]) for each in results] == [
        (["a1", "a2"], ["a3"], []),
        (["b1"], ["b2"], []),
    ]
    assert [each["total"] for each in results] == [0, 9]


def test_what_a_prompt_shows_already_is_named_and_not_shown_again() -> None:
    both = [passage("a"), passage("b")]

    _, results = with_results(
        pool_with(passage("a")), [action(), action()], [brought(0, *both), brought(1, *both)], visible=["a"], room=99
    )

    assert [(each["shown"], each["known"]) for each in results] == [(["b"], ["a"]), ([], ["a", "b"])]


def test_of_what_code_looks_for_the_two_best_that_are_new_are_shown() -> None:
    found = [passage(name) for name in "abcd"]

    _, (result,) = with_results(
        empty_pool([]), [{**action(), "by": "draft"}], [brought(0, *found)], visible=["a"], room=99
    )

    assert (result["shown"], result["listed"], result["known"]) == (["b", "c"], [], ["a"])


def test_a_passage_that_does_not_fit_leaves_room_for_a_smaller_one() -> None:
    _, (result,) = with_results(
        empty_pool([]), [action()], [brought(0, passage("large", 100), passage("small", 10))], visible=[], room=50
    )

    assert (result["shown"], result["listed"]) == (["small"], ["large"])


passages = st.builds(passage, st.sampled_from("abcdef"), st.integers(1, 60))


@given(st.lists(st.lists(passages, max_size=5), max_size=4), st.sets(st.sampled_from("abcdef")), st.integers(0, 200))
def test_all_that_was_brought_is_in_the_pool_and_named_once_by_each_action_and_what_is_shown_fits(
    made: list[list[Evidence]], visible: set[str], room: int
) -> None:
    actions = [action()] * len(made)

    pool, results = with_results(
        pool_with(), actions, [brought(at, *each) for at, each in enumerate(made)], visible=visible, room=room
    )

    sizes = {each["id"]: each["tokens"] for each in pool["passages"]}
    shown = [each for result in results for each in result["shown"]]
    assert len(shown) == len({*shown})
    assert not visible & {*shown}
    assert sum(sizes[each] for each in shown) <= room
    for result, own in zip(results, made, strict=True):
        named = [*result["shown"], *result["listed"], *result["known"]]
        assert sorted(named) == sorted({each["id"] for each in own})


def test_an_action_that_brought_nothing_says_why_and_one_of_which_nothing_came_is_empty() -> None:
    failed = brought(0, problem="HTTP 404", url=PAGES[0])

    pool, results = with_results(empty_pool([]), [action("read", "3"), action()], [failed], visible=[], room=99)

    assert [each["problem"] for each in results] == ["HTTP 404", ""]
    assert [each["shown"] for each in results] == [[], []]
    assert pool["unread"] == {PAGES[0]: "HTTP 404"}


def test_a_page_is_noted_until_it_was_read() -> None:
    pool: EvidencePool = {
        **pool_with(passage("x", url=PAGES[0])),
        "unread": {PAGES[0]: "HTTP 500", PAGES[1]: "HTTP 403"},
    }

    pool, _ = with_results(
        pool, [action("read", "3")], [brought(0, passage("y", url=PAGES[0]), url=PAGES[0])], visible=[], room=99
    )

    assert pool["unread"] == {PAGES[1]: "HTTP 403"}


def test_a_passage_is_named_by_its_documents_number_and_its_sections() -> None:
    pool = pool_with(passage("a", url=LOCAL_URLS[1], place=7), passage("b", place=0))

    assert places_of(pool) == {"a": "2.7", "b": "3"}


def test_a_source_is_searched_by_a_search_or_a_find_and_not_by_reading() -> None:
    nothing: Any = {"shown": [], "listed": [], "known": [], "total": 0, "problem": ""}
    results = [{**action("find"), **nothing}, {**action("read", "3", "tavily"), **nothing}]

    assert unsearched_sources(results, ["local", "tavily"]) == ["tavily"]
    assert unsearched_sources([], ["local", "tavily"]) == ["local", "tavily"]
