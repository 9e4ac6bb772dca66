"""Figures, dates and identifiers: which of a text another text has, whatever notation either writes them in."""

import random
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from contend.checks.notations import notes_of, unfounded

DATA = Path(__file__).parents[1] / "data" / "proof"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Costs rose to 142M in 2024.", "142 million dollars in 2024"),
        ("Die Kosten: 1.234,5 Mio. Euro am 12. März 2024", "1,234.5 million, 2024-03-12"),
        ("売上は1億4200万円、令和6年3月12日", "142 million yen; 12 March 2024"),
        ("12,5 Prozent", "12.5 %"),
        ("3 of 12 sites", "three of twelve sites"),
        ("about 21 km", "21.4 km"),
        ("at 05:00 and 17:30", "at 5:00, 17:30"),
        ("CHF 1'200'000", "1.2 million francs"),
        ("Set all8 with -s2scrypt; version v1.8.9", "-s2scrypt never; all8; 1.8.9"),
        ("As part 3 and table 2 say, 5 %", "5 percent"),
        ("03/04/2025", "4 March 2025"),
        ("in March 2024", "on 12 March 2024"),
        ("第3部と表2では、三つの橋", "3つの橋"),
        ("1日に3回", "毎日3回"),
        ("It came with 4.2.", "Release 4.2 of 14 May"),
        ("30 Männer in 90 Minuten", "30 men; 90 minutes"),
        ("about 341,000 came, rund 2.100 davon", "340,663; 2,113"),
        ("about 2,732,000 kroner, 約2,732,000円", "2732142.86"),
        ("In August 2022", "in the dry August of 2022"),
        ("Gas bottles over 11 kg (§ 8 (3))", "(3) Gas bottles of more than 11 kg"),
        ("90 minutes; 1,5 Stunden", "1.5 hours; 90 Minuten"),
        ("24 m²; 60 m³/min", "24 Quadratmeter; 1 cubic metre per second, or 1 m³/s"),
        ("4.3 Pa·s", "4,300 mPa·s"),
        ("four weeks", "28 days, 4 dogs"),
        ("4.600.000 Euro bis zum 11.10.2026.", "4,6 Millionen Euro; 11. Oktober 2026"),
        ("um 16.35 Uhr", "16:35"),
        ("時速26km", "14 knots"),
        ("From 60 to 20 in fives, such as 30", "60,55,50,45,40,35,30,25,20."),
        ("one of 60,55,…,20", "60,55,50,45,40,35,30,25,20"),
        ("SHA-1, SHA1-signed and B1/B2", "signed using SHA1; B1 and B2"),
        ("Values below 10 may be ignored, as in the late-1990s", "10; of the 1990s"),
        ("1,234,567 men on 8443 and 7002", "1,234,567 men; ports 8080,8443 and 7000,7001,7002."),
    ],
)
def test_the_same_figures_dates_and_names_are_found_in_another_notation(text: str, source: str) -> None:
    assert unfounded(text, carriers=notes_of(source)) == []


@pytest.mark.parametrize(
    ("text", "source", "missing"),
    [
        ("Costs rose to 143M.", "142 million", ["143M"]),
        ("am 13. März 2024", "2024-03-12", ["13. März 2024"]),
        ("1億4300万円", "1億4200万円", ["1億4300万"]),
        ("12,6 Prozent", "12,5 %", ["12,6"]),
        ("certified to ISO-27001", "certified", ["ISO-27001"]),
        ("version 1.8.10", "version 1.8.9", ["1.8.10"]),
        ("21.5 km", "21.4 km", ["21.5"]),
        ("on 5 May 2025", "on 5 March 2025", ["5 May 2025"]),
        ("4 of 12 sites", "three of twelve sites", ["4"]),
        ("Revenue was $212 billion.", "Revenue was $212 million.", ["$212 billion"]),
        ("tried after 30 minutes", "tried after 30 seconds", ["30 minutes"]),
        ("工事は5か月かかる", "工事は5週間かかる", ["5か月"]),
        ("nach 30 Minuten versucht", "tried after 30 seconds", ["30 Minuten"]),
        ("after four days", "after four weeks", ["four days"]),
        ("12,5 Mio. Dollar", "12,5 Mio. Euro", ["12,5 Mio. Dollar"]),
        ("zwei Millionen Ereignisse", "2.000 Ereignisse", ["zwei Millionen"]),
        ("時速14km", "14ノット", ["14km"]),
        ("0.31 litres per minute", "0.31 litres per second", ["0.31 litres per minute"]),
        ("120 km; 2020", "129 km; 2023", ["120", "2020"]),
        ("1 may 2027", "on 1 March 2027", ["1 may 2027"]),
        ("AES-256 for B1/B2", "AES-128; B1 and B3", ["AES-256", "B1/B2"]),
        ("33; 567; 56 Euro; 5 kg", "60,55,50; 1,234,567; 1234,56 Euro; 12,5 kg", ["33", "567", "56", "5"]),
    ],
)
def test_what_another_text_does_not_have_is_named(text: str, source: str, missing: list[str]) -> None:
    assert unfounded(text, carriers=notes_of(source)) == missing


def test_a_small_number_by_which_nothing_is_measured_is_left_to_readers_where_nobody_quotes() -> None:
    carriers = notes_of("several sites")

    assert unfounded("2 of them", carriers=carriers, small_too=False) == []
    assert unfounded("2 % of them", carriers=carriers, small_too=False) == ["2"]


def test_the_result_of_a_sum_carries_in_any_scale() -> None:
    assert unfounded("22 %", carriers=notes_of(""), values=[Decimal("0.2229")]) == []
    assert unfounded("32 %", carriers=notes_of(""), values=[Decimal("0.2229")]) == ["32"]
    # At a sentence's end, where it could be a day, too.
    assert unfounded("It is 14.5. So be it.", carriers=notes_of(""), values=[Decimal("14.4906")]) == []
    assert unfounded("It is 14.6. So be it.", carriers=notes_of(""), values=[Decimal("14.4906")]) == ["14.6"]


def test_an_input_of_a_sum_may_stand_in_another_scale_and_not_ten_times_as_large() -> None:
    notes = notes_of("45 percent of $4,712,330")

    assert [notes.has_digits(Decimal(each)) for each in ("0.45", "4.71233", "4.5")] == [True, True, False]


def _told(name: str) -> Iterator[tuple[str, str, str]]:
    """Kind, statement and source of a set of statements that are true, or have another unit."""
    for source in tomllib.loads((DATA / name).read_text("utf-8"))["source"]:
        text = f"{source.pop('title')}\n{source.pop('text')}"
        for kind, statements in source.items():
            yield from ((kind, each, text) for each in ([statements] if isinstance(statements, str) else statements))


def test_no_true_sentence_is_refuted_and_most_with_another_unit_are() -> None:
    told = [*_told("sentences_en.toml"), *_told("sentences_ja.toml")]
    refuted = [(kind, text) for kind, text, source in told if unfounded(text, carriers=notes_of(source))]

    assert [text for kind, text in refuted if kind in {"close", "paraphrased"}] == []
    assert sum(kind == "unit" for kind, _ in refuted) >= sum(kind == "unit" for kind, *_ in told) * 0.8


TRUE = [*filter(None, (DATA / "statements.txt").read_text("utf-8").split("\n"))]
_DIGIT = re.compile(r"\d")


def test_of_statements_in_three_languages_changed_figures_are_refuted_and_true_ones_are_not() -> None:
    """Each line of the set is a statement, a tab, and the words of a source in another notation or language."""
    pairs = [line.split("\t") for line in TRUE]
    draw = random.Random(29)  # noqa: S311 - the same each time
    false_alarms = [text for text, source in pairs if unfounded(text, carriers=notes_of(source))]
    unseen = []
    for text, source in pairs:
        at = draw.choice([match.start() for match in _DIGIT.finditer(text)])
        other = draw.choice([digit for digit in "123456789" if digit != text[at]])
        changed = text[:at] + other + text[at + 1 :]
        if not unfounded(changed, carriers=notes_of(source)):
            unseen.append(changed)

    assert len(pairs) >= 200
    assert len(false_alarms) <= len(pairs) * 0.01, false_alarms
    assert len(unseen) <= len(pairs) * 0.02, unseen
