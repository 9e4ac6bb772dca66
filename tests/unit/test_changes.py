"""What two reports say differently, statement by statement."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from contend.report import LedgerStatement, StatementChanges, statement_changes

RANGE = "At −5 °C Skarv reaches 39 km on a full battery."
REFUND = "Refunds came to 90,000 kroner in 2025."


def changes(first: Sequence[str], second: Sequence[str]) -> StatementChanges:
    return statement_changes(
        *(
            [LedgerStatement(place="1.1.1", text=each, says=each, kind="stated") for each in side]
            for side in (first, second)
        )
    )


def sides(found: StatementChanges) -> tuple[list[str], list[str]]:
    """All statements that one of the two reports has otherwise or alone."""
    paired = [
        ["".join(each.text for each in words if each.side in {"both", side}) for words in found.changed]
        for side in ("first", "second")
    ]
    return [*paired[0], *found.only_first], [*paired[1], *found.only_second]


def marked(found: StatementChanges) -> list[str]:
    """The pairs as `[-removed-]{+added+}`."""
    marks = {"both": "{}", "first": "[-{}-]", "second": "{{+{}+}}"}
    return ["".join(marks[each.side].format(each.text) for each in words) for words in found.changed]


def test_a_statement_that_was_reworded_is_a_pair_with_its_changed_words_marked() -> None:
    found = changes([RANGE, REFUND], ["In winter, at −12 °C, Skarv reaches 33 km on a full battery.", REFUND])

    assert marked(found) == ["[-At −5-]{+In winter, at −12+} °C{+,+} Skarv reaches [-39-]{+33+} km on a full battery."]
    assert (found.common, found.only_first, found.only_second) == (1, [], [])


def test_a_statement_with_fewer_than_half_of_its_words_in_common_stands_alone() -> None:
    found = changes([RANGE], [REFUND])

    assert found == StatementChanges(common=0, changed=[], only_first=[RANGE], only_second=[REFUND])


def test_of_several_statements_the_most_alike_are_a_pair_in_the_order_of_the_second_report() -> None:
    rows = [f"Kroner: {name}; Alken: {cost}; Tern: {cost}" for name, cost in (("Crew", 690), ("Fuel", 462))]
    found = changes(rows, [row.replace("Kroner:", "Kroner a year:") for row in reversed(rows)])

    assert marked(found) == [row.replace("Kroner:", "Kroner{+ a year+}:") for row in reversed(rows)]


def test_a_japanese_statement_is_compared_by_characters() -> None:
    found = changes(["航続距離は冬に39キロメートルです。"], ["航続距離は冬に33キロメートルでした。"])

    assert marked(found) == ["航続距離は冬に[-39-]{+33+}キロメートルで[-す-]{+した+}。"]


def test_emphasis_and_escapes_are_no_difference_and_are_not_shown() -> None:
    found = changes(
        ["**Skarv** reaches `39 km`, \\*at least."], ["Skarv reaches 39 km, \\*at *least*.", "<b>Bold</b> words."]
    )

    assert found.common == 1
    assert found.only_second == ["<b>Bold</b> words."]


words = st.sampled_from(["the", "ferry", "Skarv", "reaches", "39", "1,170", "kWh", ",", "(", "橋", "渦は", "—"])
statements = st.lists(st.lists(words, min_size=1, max_size=9).map(" ".join), max_size=7)


@given(statements, statements)
def test_nothing_that_either_report_says_is_lost_or_said_twice(first: list[str], second: list[str]) -> None:
    found = changes(first, second)

    ours, theirs = sides(found)
    assert sorted(ours) == sorted({*first} - {*second})
    assert sorted(theirs) == sorted({*second} - {*first})
    assert found.common == len({*first} & {*second})
