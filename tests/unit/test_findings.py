"""What the judge of a pair is told that code counted."""

import pytest

from contend.contest.findings import Count, compare

NONE = Count(0, 0)


def better(kind: str, first: Count, second: Count) -> str | None:
    """Which is told to be better by one kind of count, where there is nothing else; None if it isn't told at all."""
    nothing = dict.fromkeys(("points", "citations", "sentences"), NONE)
    rows = compare(nothing | {kind: first}, nothing | {kind: second})
    return rows[0].better if rows else None


@pytest.mark.parametrize("kind", ["points", "sentences"])
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (Count(4, 4), Count(2, 4), "first"),
        (Count(1.5, 4), Count(2.6, 4), "second"),
        (Count(4, 4), Count(3, 4), "tie"),
        (Count(10, 10), Count(9, 9), "tie"),
        (Count(20, 20), Count(3, 4), "tie"),
        (Count(2, 4), Count(20, 20), "second"),
    ],
)
def test_one_that_code_may_be_wrong_about_makes_no_report_better(
    kind: str, first: Count, second: Count, said: str
) -> None:
    assert better(kind, first, second) == said
    assert better(kind, second, first) == {"first": "second", "second": "first", "tie": "tie"}[said]


def test_a_single_invented_citation_makes_the_other_report_better() -> None:
    assert better("citations", Count(7, 8), Count(3, 3)) == "second"
    assert better("citations", Count(7, 7), Count(3, 3)) == "tie"


def test_a_report_that_cites_nothing_is_worse_than_one_whose_sources_say_some_of_it() -> None:
    assert better("sentences", NONE, Count(1, 4)) == "second"
    assert better("sentences", NONE, Count(0, 4)) == "tie"


def test_what_neither_has_any_of_is_not_told() -> None:
    assert better("points", NONE, NONE) is None
