"""A researcher's step: what it holds and gives up, how far parts are, and what goes back to be mended."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.evidence import ActionResult, Desk, EvidencePool, Step, after_step, empty_pool, faults_of_step
from contend.evidence.pool import held_tokens, hold, parts_of, with_hits, with_parts
from contend.models.replies import StepReply
from contend.models.research import Part

DESK = Desk(["local", "tavily"], ["file:///docs/a.md"], most_pages=1, source_of={})


def pool_of(sizes: Sequence[int], *, held: Sequence[int] = (), parts: int = 2) -> EvidencePool:
    """Passages `p1` and so on, some of them held."""
    passages = [
        {
            "id": f"p{number}",
            "url": f"https://a.org/{number}",
            "source": "tavily",
            "title": "A",
            "heading": "",
            "place": 1,
            "published": None,
            "tokens": size,
            "found_by": ["hum"],
        }
        for number, size in enumerate(sizes, start=1)
    ]
    results = [{"title": "A", "source": "tavily", "url": each["url"]} for each in passages]
    made = ((each, result, "t") for each, result in zip(passages, results, strict=True))
    pool = with_hits(empty_pool([f"Part {number}" for number in range(1, parts + 1)]), made)  # type: ignore[arg-type]  # evidence
    return hold(pool, [f"p{number}" for number in held], room=1_000_000)[0]


def note(
    part: int, *passages: int, state: str = "partly", missing: str = "", notes: Sequence[str] = ()
) -> dict[str, Any]:
    return {"part": part, "state": state, "passages": [*passages], "missing": missing, "notes": [*notes]}


def step(**said: Any) -> StepReply:  # noqa: ANN401 - any field of a reply
    plain = {"thought": "So it hums.", "parts": [], "others": [], "give_up": [], "actions": [], "done": True}
    return StepReply.model_validate({**plain, **said})


def search(source: str = "local", *, kind: str = "search", parts: Sequence[int] = (1,)) -> ActionResult:
    return {  # type: ignore[typeddict-item]  # a kind
        "kind": kind,
        "source": source,
        "text": "hum",
        "parts": [*parts],
        "by": "researcher",
        "shown": [],
        "listed": [],
        "known": [],
        "total": 0,
        "problem": "",
    }


def after(pool: EvidencePool, *results: ActionResult) -> EvidencePool:
    """The pool after a step with these actions."""
    done = Step(number=1, round=1, thought="", held=[], given_up=[], results=[*results])
    return {**pool, "steps": [*pool["steps"], done]}


def test_a_step_holds_what_counts_for_a_part_or_else_and_the_parts_are_as_it_says() -> None:
    reply = step(parts=[note(2, 3, 1, missing="Since  when?\n")], others=[2], thought="It\nhums.")

    pool, beyond = after_step(pool_of([10, 10, 10]), reply, round_number=3, room=100)

    assert (pool["held"], beyond) == (["p3", "p1", "p2"], [])
    assert [(part.state, part.passages, part.missing) for part in parts_of(pool)] == [
        ("open", [], ""),
        ("partly", ["p3", "p1"], "Since when?"),
    ]
    assert pool["steps"] == [
        {"number": 1, "round": 3, "thought": "It hums.", "held": ["p3", "p1", "p2"], "given_up": [], "results": []}
    ]


def test_what_a_researcher_notes_of_a_part_stays_once_and_the_newest_where_it_is_much() -> None:
    pool, disagreement = pool_of([10]), "a.md says 5 s, b.md 15 s."
    for notes in ([disagreement], [f"{disagreement}\n", "B\nbreaks A."], [str(number) for number in range(8)]):
        pool, _ = after_step(pool, step(parts=[note(1, notes=notes)]), round_number=1, room=100)

    assert [part.notes for part in parts_of(pool)] == [[disagreement, "B breaks A.", *map(str, range(8))], []]
    for notes in ([str(number) for number in range(begin, begin + 8)] for begin in (8, 16)):
        pool, _ = after_step(pool, step(parts=[note(1, notes=notes)]), round_number=1, room=100)
    assert parts_of(pool)[0].notes == [*map(str, range(4, 24))]


def test_room_is_made_before_it_is_used_and_what_finds_none_is_told() -> None:
    pool, beyond = after_step(
        pool_of([60, 40, 50, 9], held=[1, 2]), step(others=[3, 4], give_up=[2]), round_number=1, room=115
    )

    assert (pool["held"], beyond) == (["p1", "p3"], ["p4"])
    assert pool["steps"][-1]["given_up"] == ["p2"]


def test_what_was_given_up_comes_back_when_it_is_wanted_again() -> None:
    pool, _ = after_step(pool_of([60], held=[1]), step(give_up=[1]), round_number=1, room=100)
    again, _ = after_step(pool, step(parts=[note(1, 1)]), round_number=1, room=100)

    assert (pool["held"], again["held"]) == ([], ["p1"])
    assert [each["number"] for each in again["steps"]] == [1, 2]


def test_a_part_keeps_what_counts_for_it_until_that_is_given_up() -> None:
    pool, _ = after_step(pool_of([10, 10]), step(parts=[note(1, 1)]), round_number=1, room=100)
    pool, _ = after_step(pool, step(parts=[note(1, 2, state="answered")]), round_number=1, room=100)
    gone, _ = after_step(pool, step(give_up=[1]), round_number=1, room=100)

    assert [parts_of(each)[0].passages for each in (pool, gone)] == [["p1", "p2"], ["p2"]]
    assert parts_of(gone)[0].state == "answered"


def test_what_the_teams_report_draws_on_stays() -> None:
    pool = pool_of([10, 10], held=[1, 2])
    reply = step(give_up=[1, 2])

    kept, _ = after_step(pool, reply, round_number=2, room=100, pinned=["p1"])

    assert kept["held"] == ["p1"]
    assert faults_of_step(reply, pool, DESK, room=100, pinned=["p1"]) == (
        "your team's report draws on passage 1: it stays"
    )


numbers = st.lists(st.integers(0, 9), max_size=6)


@given(st.lists(st.integers(1, 90), max_size=8), numbers, numbers, numbers, st.integers(0, 300))
def test_nothing_that_is_held_goes_unless_it_is_named(
    sizes: list[int], held: list[int], wanted: list[int], given_up: list[int], room: int
) -> None:
    before = pool_of(sizes, held=[number for number in held if number <= len(sizes)])
    reply = step(parts=[note(1, *wanted)], give_up=given_up)

    pool, beyond = after_step(before, reply, round_number=1, room=room)

    named = {f"p{number}" for number in given_up}
    assert {*before["held"]} - {*pool["held"]} == {*before["held"]} & named
    assert held_tokens(pool) <= max(room, held_tokens(before))
    assert not {*beyond} & {*pool["held"]}
    assert {*parts_of(pool)[0].passages} <= {*pool["held"]}
    if not faults_of_step(reply, before, DESK, room=room):
        assert beyond == []


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"others": [1], "parts": [note(1, 2)]}, ""),
        ({"others": [7], "parts": [note(1, 9)]}, "there is no passage 7, 9: they are numbered 1 to 3"),
        ({"give_up": [1]}, "passage 1 is not held, so it cannot be given up"),
        ({"parts": [note(3)]}, "there is no part 3: they are numbered 1 to 2"),
        ({"done": False}, "name actions, or say that you are done"),
        (
            {"actions": [{"kind": "search", "source": "arxiv", "text": "hum", "parts": []}]},
            "there is no source 'arxiv': choose from local, tavily",
        ),
    ],
)
def test_a_researcher_is_told_what_is_wrong_with_its_step(said: dict[str, Any], fault: str) -> None:
    assert faults_of_step(step(**said), pool_of([10, 10, 10], held=[3]), DESK, room=100) == fault


def test_too_many_faults_are_told_in_part() -> None:
    actions = [{"kind": "read", "source": "", "text": "nowhere", "parts": []}] * 8

    said = faults_of_step(
        step(actions=actions, parts=[note(9)] * 9, give_up=[1]), pool_of([10]), DESK, room=100
    ).splitlines()

    assert len(said) == 12


def test_what_would_not_fit_goes_back_with_how_much_has_to_go() -> None:
    pool = pool_of([60, 40, 50], held=[1, 2])

    assert faults_of_step(step(others=[3]), pool, DESK, room=100) == (
        "what you hold would have 150 tokens, and there is room for 100: name passages of at least 50 tokens in "
        "`give_up`, or hold fewer"
    )
    assert faults_of_step(step(others=[3], give_up=[1]), pool, DESK, room=100) == ""
    assert faults_of_step(step(others=[2, 2], parts=[note(1, 2)]), pool, DESK, room=100) == ""


def test_a_step_that_holds_nothing_more_is_right_where_the_report_alone_takes_more_than_the_room() -> None:
    pool = pool_of([80, 50, 10], held=[1, 2])

    assert faults_of_step(step(), pool, DESK, room=100, pinned=["p1", "p2"]) == ""


NOT_FOUND = step(parts=[note(1, state="not_found")])


@pytest.mark.parametrize(
    ("results", "missing"),
    [
        ([], "local, tavily"),
        ([search("local")], "tavily"),
        ([search("local"), search("tavily", parts=[2])], "tavily"),
        ([search("local"), search("tavily", kind="read")], "tavily"),
        ([search("local", kind="find"), search("tavily", parts=[2, 1])], None),
    ],
    ids=["nothing", "one source", "for another part", "read only", "everywhere"],
)
def test_that_nothing_is_found_is_said_of_what_was_searched_in_every_source(
    results: list[ActionResult], missing: str | None
) -> None:
    fault = f"part 1 is not to be called not found before it was searched in {missing}" if missing else ""

    assert faults_of_step(NOT_FOUND, after(pool_of([10]), *results), DESK, room=100) == fault


def test_a_source_that_failed_meanwhile_needs_no_search() -> None:
    pool = after(pool_of([10]), search("local"))

    assert faults_of_step(NOT_FOUND, pool, Desk(["local"], [], 1, {}), room=100) == ""


def test_that_nothing_is_found_is_not_said_of_a_part_for_which_passages_count() -> None:
    tried = after(pool_of([10, 10], held=[1]), search("local"), search("tavily"))
    counted = with_parts(tried, [Part(text="Part 1", state="partly", passages=["p1"]), Part(text="Part 2")])
    fault = "passages count for part 1: it is partly answered, and `missing` says the rest"

    assert faults_of_step(step(parts=[note(1, 2, state="not_found")]), tried, DESK, room=100) == fault
    assert faults_of_step(NOT_FOUND, counted, DESK, room=100) == fault
    assert faults_of_step(NOT_FOUND, tried, DESK, room=100) == ""


def test_a_part_whose_passages_are_all_given_up_may_be_called_not_found() -> None:
    tried = after(pool_of([10], held=[1]), search("local"), search("tavily"))
    counted = with_parts(tried, [Part(text="Part 1", state="partly", passages=["p1"]), Part(text="Part 2")])

    reply = step(parts=[note(1, state="not_found")], give_up=[1])

    assert faults_of_step(reply, counted, DESK, room=100) == ""
