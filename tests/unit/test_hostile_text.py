"""Text that is made to keep a process busy: marks without end, and what regular expressions are slow at."""

import re
import time
import unicodedata
from functools import cache

import pytest
from langchain_core.messages import HumanMessage

from contend.checks.notations import notes_of
from contend.errors import InputError
from contend.preflight import question_of
from contend.text import clean, normalize
from fakes.patterns import MOST_GROWTH, TIMES, Use, cost, ended_in_time, uses_in

MARKS = "\u0301\u0316"  # above and below in turn: to be sorted


def test_combining_marks_beyond_thirty_in_a_row_are_left_out() -> None:
    assert clean(f"a{MARKS * 20}b{MARKS * 2}") == unicodedata.normalize("NFC", f"a{MARKS * 15}b{MARKS * 2}")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_no_text_unfolds_to_a_long_run_of_marks(form: str) -> None:
    """Tried with every character that is, or unfolds to, marks alone."""
    for character in _all_marks():
        run = unicodedata.normalize("NFKD", normalize(character * 100, form))  # type: ignore[arg-type]  # one of the four
        assert len(run) <= 30 * len(unicodedata.normalize("NFKD", character))


@cache
def _all_marks() -> list[str]:
    characters = map(chr, range(0x300, 0x110000))
    return [each for each in characters if all(map(unicodedata.combining, unicodedata.normalize("NFKD", each)))]


@pytest.mark.parametrize("text", ["が ぱ　ﾊﾟ", "e\u0301", "กำลัง ที่", "שָׁלוֹם", "ཧཱུྃ", "नमस्ते", "Việt Nam", "Ä\u0323"])
def test_text_of_any_script_is_normalized_as_ever(text: str) -> None:
    assert normalize(text) == unicodedata.normalize("NFKC", text)
    assert clean(text) == unicodedata.normalize("NFC", text)


def test_a_question_far_too_long_is_refused_by_the_length_it_was_sent_with() -> None:
    """Cleaned, it would have half of it: nobody has to clean it first."""
    sent = "a\u200b" * 120_000

    with pytest.raises(InputError, match="theme has 240,000 characters"):
        question_of(sent)
    with pytest.raises(InputError, match="theme has 240,000 characters"):
        question_of(None, [HumanMessage(sent)])


@pytest.mark.parametrize(
    "bad",
    [
        *(
            r"\s*x",
            r"<a.*?</a>",
            r"(?:a|b|ab)*c",
            r"(\w+)+:",
            r"[.!?]+\Z",
            r"\b(?=[\w-]*\d)[\w-]{9,}",
            r"x[^()]*[=,][^()]*\)",
        ),
        *(r"\*\*.+?\*\*(?=\n)", r"(?<=か)[^。]*点"),
    ],
)
def test_a_pattern_that_is_slow_on_some_text_is_known_by_its_growth(bad: str) -> None:
    assert growth(Use("bad", re.compile(bad, re.DOTALL), at_one_place=False)) > MOST_GROWTH


@pytest.mark.parametrize("good", [r"(?<!\s)\s+x", r"<a[^<]*</a>", r"(?<![ab])[ab]++c", r"\w:", r"a.{0,40}b"])
def test_a_pattern_that_is_quick_on_all_text_is_no_suspect(good: str) -> None:
    assert growth(Use("good", re.compile(good, re.DOTALL), at_one_place=False)) <= MOST_GROWTH


def test_the_work_on_figures_grows_no_faster_than_the_text() -> None:
    def seconds(text: str) -> float:
        began = time.process_time()
        notes_of.__wrapped__(text)
        return time.process_time() - began

    assert min(seconds("1 " * 6_000 * TIMES) for _ in range(3)) < MOST_GROWTH * max(0.001, seconds("1 " * 6_000))


def growth(use: Use) -> float:
    with ended_in_time():
        return cost(use).growth


def test_the_work_of_every_pattern_grows_no_faster_than_the_text() -> None:
    with ended_in_time():
        costs = [(use.name, cost(use)) for use in uses_in("contend")]

    assert len(costs) > 100
    assert [(name, cost.text) for name, cost in costs if cost.growth > MOST_GROWTH] == []
