"""Figures in a sentence, looked up in a text."""

import re
from collections.abc import Collection, Iterator
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from contend.text import normalized

_NUMBER = re.compile(r"\d++(?:[.,]\d++)*+")
_FIGURE = re.compile(rf"(?<![A-Za-z0-9_.^])(?<![A-Za-z]-){_NUMBER.pattern}")
_LIST_MARK = re.compile(r"\A\W*\d{1,2}[.)]\s|\(\d{1,2}\)\s")
_YEAR = re.compile(r"(?:1[89]|20)\d\d\Z")
_SPELT = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_VALUES = {word: Decimal(value) for value, word in enumerate(_SPELT, start=1)}
# More digits than any figure in prose; it keeps rounding within the precision of decimals.
_LONGEST = 12


def figures_missing(sentence: str, stated: Collection[Decimal]) -> bool:
    """Whether a figure of the sentence is not among those stated, rounded or not.

    Years, list numbers and digits in names (GPT-4) are not looked up: they often come from elsewhere.
    """
    plain = normalized(_LIST_MARK.sub(" ", sentence))
    return any(not _among(figure, stated) for figure in _figures(plain, _FIGURE) if not _YEAR.match(str(figure)))


def stated_figures(text: str) -> frozenset[Decimal]:
    """All figures of a text, the small ones also where they are spelt out in English."""
    plain = normalized(text)
    spelt = (_VALUES[word] for word in re.findall(r"[a-z]+", plain.lower()) if word in _VALUES)
    return frozenset([*_figures(plain, _NUMBER), *spelt])


def _figures(text: str, pattern: re.Pattern[str]) -> Iterator[Decimal]:
    for found in pattern.findall(text):
        whole = found.replace(",", "")
        if whole.count(".") <= 1 and len(whole) <= _LONGEST:
            yield Decimal(whole)


def _among(figure: Decimal, stated: Collection[Decimal]) -> bool:
    unit = Decimal(1).scaleb(int(figure.as_tuple().exponent))
    return any(
        figure in {number, number.quantize(unit, ROUND_DOWN), number.quantize(unit, ROUND_HALF_UP)} for number in stated
    )
