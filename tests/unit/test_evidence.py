"""The evidence of a team: what was found stays under its number, what is held stays until it is given up."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contend.evidence import Evidence, EvidencePool, empty_pool
from contend.evidence.pool import (
    MOST_RESULTS,
    as_evidence,
    as_passage,
    first_actions,
    give_up,
    held_tokens,
    hold,
    in_reading_order,
    own_passages,
    parts_after_report,
    parts_of,
    passage_numbers,
    passages_of,
    results_for,
    with_catalogue,
    with_hits,
    with_offered,
    with_parts,
)
from contend.models.research import FoundPassage, Part, SearchResult
from contend.stores import passage_id, text_id

NAMES = "abcdefgh"


def passage(name: str, tokens: int = 100, *, url: str = "", place: int = 1, by: Iterable[str] = ()) -> Evidence:
    return {
        "id": name,
        "url": url or f"https://a.org/{name}",
        "source": "web",
        "title": name.upper(),
        "heading": "",
        "place": place,
        "published": None,
        "tokens": tokens,
        "found_by": [*by],
    }


def hits(passages: Iterable[Evidence]) -> list[tuple[Evidence, dict[str, Any], str]]:
    return [
        (each, {"title": each["title"], "source": "web", "url": each["url"]}, f"t-{each['id']}") for each in passages
    ]


def pool_of(*passages: Evidence, parts: Iterable[str] = ("Why?",)) -> EvidencePool:
    return with_hits(empty_pool([*parts]), hits(passages))


def ids(pool: EvidencePool) -> list[str]:
    return [each["id"] for each in pool["passages"]]


passages = st.builds(
    passage, st.sampled_from(NAMES), st.integers(1, 400), by=st.lists(st.sampled_from("xyz"), max_size=2)
)
pools = st.lists(passages, max_size=8).map(lambda made: pool_of(*made))
some_ids = st.lists(st.sampled_from([*NAMES, "unknown"]), max_size=8)


def test_a_section_that_stands_in_two_documents_is_two_passages_of_one_text() -> None:
    result = SearchResult(title="Fees", summary="7.", source="local", url="file:///docs/2024.md")
    other = result.model_copy(update={"url": "file:///docs/2025.md"})
    made = [as_evidence(FoundPassage(each, "The fee is 7.", "Fees", 3), "7" * 64, "fee") for each in (result, other)]

    evidence = [each for each, _ in made]

    assert [each["id"] for each in evidence] == [passage_id("7" * 64, each.url) for each in (result, other)]
    assert {text_id(each["id"]) for each in evidence} == {"7" * 64}
    assert (evidence[0]["place"], evidence[0]["heading"], evidence[0]["found_by"]) == (3, "Fees", ["fee"])


def test_what_is_found_again_keeps_its_number_and_every_action_that_found_it() -> None:
    pool = pool_of(passage("a", by=["fee"]), passage("b", by=["fee"]))

    pool = with_hits(pool, hits([passage("c", by=["fare"]), passage("a", by=["fare", "fee"])]))

    assert passage_numbers(pool) == {"a": 1, "b": 2, "c": 3}
    assert [each["found_by"] for each in pool["passages"]] == [["fee", "fare"], ["fee"], ["fare"]]


def test_addresses_of_one_document_are_one_and_the_text_that_found_it_first_sums_it_up() -> None:
    pool = pool_of(
        passage("a", url="https://arxiv.org/abs/2001.00001v1"), passage("b", url="http://arxiv.org/pdf/2001.00001v2")
    )

    assert pool["documents"] == ["https://arxiv.org/abs/2001.00001v1"]
    assert [result["url"] for result in pool["results"]] == pool["documents"]
    assert {each["url"] for each in pool["passages"]} == {*pool["documents"]}
    assert pool["summarized_by"] == {"https://arxiv.org/abs/2001.00001v1": "t-a"}


@given(pools, st.lists(passages, max_size=8))
def test_evidence_only_grows(pool: EvidencePool, new: list[Evidence]) -> None:
    after = with_hits(pool, hits(new))

    assert ids(after)[: len(ids(pool))] == ids(pool)
    assert after["documents"][: len(pool["documents"])] == pool["documents"]
    assert {each["id"] for each in new} <= {*ids(after)}
    assert {each["url"] for each in after["passages"]} <= {*after["documents"]}
    for old, now in zip(pool["passages"], after["passages"], strict=False):
        assert {*old["found_by"]} <= {*now["found_by"]}


def test_the_documents_of_a_catalogue_have_the_first_numbers() -> None:
    pool = with_hits(with_catalogue(empty_pool([]), ["file:///a.md", "file:///b.md"]), hits([passage("x")]))

    assert with_catalogue(pool, ["file:///a.md", "file:///b.md"])["documents"] == [
        "file:///a.md",
        "file:///b.md",
        "https://a.org/x",
    ]


@given(pools, some_ids, some_ids, st.integers(0, 1_500))
def test_what_is_held_stays_whatever_else_is_wanted(
    pool: EvidencePool, first: list[str], then: list[str], room: int
) -> None:
    before, _ = hold(pool, first, room=10_000)
    after, beyond = hold(before, then, room=room)

    assert after["held"][: len(before["held"])] == before["held"]
    assert held_tokens(after) <= max(room, held_tokens(before))
    wanted = {each for each in then if each in ids(pool)}
    assert wanted == wanted & {*after["held"], *beyond}
    assert not {*after["held"]} & {*beyond}


@given(pools, some_ids, some_ids)
def test_what_is_given_up_goes_alone_and_can_be_held_again(
    pool: EvidencePool, first: list[str], gone: list[str]
) -> None:
    before, _ = hold(pool, first, room=10_000)
    after = give_up(before, gone)

    assert after["held"] == [each for each in before["held"] if each not in gone]
    assert after["passages"] == before["passages"]
    again, beyond = hold(after, [each for each in gone if each in before["held"]], room=held_tokens(before))
    assert {*again["held"]} == {*before["held"]}
    assert beyond == []


def test_a_passage_too_large_for_the_room_left_is_passed_over_for_smaller_ones() -> None:
    pool, beyond = hold(pool_of(passage("a", 60), passage("b", 90), passage("c", 40)), "abc", room=100)

    assert (pool["held"], beyond) == (["a", "c"], ["b"])


def test_passages_are_read_by_document_and_place() -> None:
    first, second = "file:///first.md", "file:///second.md"
    pool = with_hits(
        with_catalogue(empty_pool([]), [first, second]),
        hits([passage("a", url=second, place=1), passage("b", url=first, place=7), passage("c", url=first, place=2)]),
    )

    assert in_reading_order(pool, ["a", "b", "c", "b", "unknown"]) == ["c", "b", "a"]
    assert [each.id for each in passages_of(pool, ["a", "b", "a", "unknown"])] == ["a", "b"]


def test_documents_of_what_is_held_are_listed_all_and_others_only_where_there_is_room() -> None:
    pool = pool_of(*(passage(f"n{number}") for number in range(MOST_RESULTS + 5)))

    few, many = (results_for(pool, ids(pool)[-count:]) for count in (2, MOST_RESULTS + 1))

    assert [result["title"] for result in few[:3]] == ["N23", "N24", "N0"]
    assert [len(few), len(many)] == [MOST_RESULTS, MOST_RESULTS + 1]


def test_what_another_team_brought_was_not_found_by_this_one() -> None:
    shared = [passage("theirs"), passage("own")]
    pool = with_offered(pool_of(passage("own", by=["fee", "fare"])), shared)
    pool = with_hits(pool, hits([passage("theirs", by=["fee"])]))
    next_round = with_offered(pool, shared)

    for each in (pool, next_round):
        assert first_actions(each, ["own", "theirs", "unknown"]) == {"own": "fee"}
        assert own_passages(each, ["theirs", "own"]) == ["own"]
    assert [result["url"] for result in pool["results"]] == ["https://a.org/own", "https://a.org/theirs"]


def test_own_documents_that_a_team_reads_whole_are_its_own_though_others_hold_them_before() -> None:
    note, page = passage("note", url="file:///docs/note.md"), passage("page")
    pool = with_offered(empty_pool(["Why?"]), [note, page])

    assert own_passages({**pool, "whole": True}, ["page", "note"]) == ["note"]


def test_a_passage_keeps_its_place_and_size_outside_of_the_pool() -> None:
    made = as_passage({**passage("a", 70, place=4), "signals": []})

    assert (made.place, made.tokens, made.text) == (4, 70, "")


STATES = [Part(text=text, state=text) for text in ("open", "partly", "answered", "not_found")]  # type: ignore[arg-type]  # each is a state


def test_a_part_is_answered_in_part_where_the_report_says_that_something_of_it_is_not_told() -> None:
    pool = with_parts(empty_pool([]), STATES)

    assert [part.state for part in parts_after_report(pool, [])] == ["open", "partly", "answered", "not_found"]
    assert [part.state for part in parts_after_report(pool, [1, 2, 3, 4])] == ["open", "partly", "partly", "not_found"]


def test_of_documents_read_whole_the_report_alone_says_what_is_not_told() -> None:
    pool: EvidencePool = {**empty_pool(["Why?", "Since when?"]), "whole": True}

    assert [part.state for part in parts_after_report(pool, [2])] == ["answered", "partly"]
    assert [part.state for part in parts_of(pool)] == ["open", "open"]
