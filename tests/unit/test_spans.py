"""Where quotes and inputs of sums stand in their passages."""

import pytest

from contend.checks.spans import around, input_spans, quote_spans

TEXT = (
    "The plant makes **4,200**\u00a0units a month! It cost 71.5 million kroner. Nobody counts.\n"
    "| Crew | 6,900 | same timetable |\nIt was signed on 26 February 2027. 生産は月に４２００台。来年も同じ。"
)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Makes 4,200 units", ["makes **4,200**\u00a0units"]),
        ("The plant ... a month", ["The plant", "a month"]),
        ("crew | same timetable", ["Crew", "same timetable"]),
        ("月に4200台", ["月に４２００台"]),
        ("The plant | Crew", []),
        ("makes 4,300 units", []),
    ],
)
def test_a_quote_is_found_as_the_text_writes_it(words: str, found: list[str]) -> None:
    assert [TEXT[begin:end] for begin, end in quote_spans(words, TEXT)] == found


def test_the_inputs_of_a_sum_are_found_in_the_notation_of_the_text_and_conventions_are_not() -> None:
    formula = "4200 * 71.5 / 100 + 12 + 888; 2027-02-26 + 90 days"

    spans = input_spans(formula, TEXT)

    assert [TEXT[begin:end] for begin, end in spans] == ["26 February 2027", "4,200", "71.5 million"]


@pytest.mark.parametrize(
    ("neighbours", "most", "shown"),
    [
        (1, 600, "The plant makes **4,200**\u00a0units a month! It cost 71.5 million kroner. Nobody counts.\n"),
        (1, 60, "It cost 71.5 million kroner. "),
        (1, 16, "t 71.5 million k"),
    ],
)
def test_a_span_is_shown_with_as_many_of_its_neighbours_as_there_is_room_for(
    neighbours: int, most: int, shown: str
) -> None:
    (part,) = around(quote_spans("71.5 million", TEXT), TEXT, neighbours=neighbours, most=most)

    assert TEXT[part.begin : part.end].strip() == shown.strip()


def test_parts_that_touch_are_one() -> None:
    spans = [*quote_spans("4,200 units", TEXT), *quote_spans("Nobody counts", TEXT)]

    assert len(around(spans, TEXT, neighbours=1, most=600)) == 1
    assert len(around(spans, TEXT, neighbours=0, most=600)) == 2
