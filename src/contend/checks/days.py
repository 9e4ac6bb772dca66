"""Find the dates of a text, in English, German and Japanese notations."""

import re
from dataclasses import dataclass

from contend.text import ja

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner", "february feb februar", "march mar märz mär", "april apr", "may mai",
            "june jun juni", "july jul juli", "august aug", "september sep sept", "october oct oktober okt",
            "november nov", "december dec dezember dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_ALSO_WORDS = frozenset({"may", "march", "mar"})
"""Months only with a capital or a year: "values below 10 may be ignored"."""

_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"(?<!\d)(?P<year>\d{4})[-/年](?P<month>\d{1,2})(?:[-/月](?P<day>\d{1,2})日?)?(?!\d)月?"),
    re.compile(r"(?<![\d.])(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})?(?!\.?\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?"),
    re.compile(
        rf"(?<![\w.])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?(?P<month>{_NAMES})\b\.?,?(?:\s(?P<year>\d{{4}}))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<month>{_NAMES})\b\.?\s(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.:]))?(?:,?\s?(?:of\s)?(?P<year>\d{{4}}))?",
        re.IGNORECASE,
    ),
)
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])")
_SHORT_DAY = re.compile(r"\d{1,2}\.\d{1,2}\.?")
_ERA = re.compile(rf"({'|'.join(ja.ERAS)})(元|\d+)年")
_GERMAN_TIME = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{2})(?=\sUhr\b)")
_FULL_HOUR = re.compile(r"(?<!\d)0?(\d{1,2}):00(?!\d)")


@dataclass(frozen=True)
class Day:
    """A date, as much of it as the text gives."""

    text: str
    year: int | None
    month: int
    day: int | None

    @property
    def may_be_number(self) -> bool:
        """Whether it is written as `4.2.`, which may be a version or a number at the end of a sentence."""
        return _SHORT_DAY.fullmatch(self.text) is not None

    def fits(self, other: "Day") -> bool:
        """Whether both may be the same day."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(own is None or its is None or own == its for own, its in pairs)


def without_days(plain: str) -> tuple[tuple[Day, ...], str]:
    """The dates of a text, and the text without them. `plain`: as `notations.normal` gives it."""
    days: list[Day] = []

    def taken(match: re.Match[str]) -> str:
        named = match.groupdict()
        if named["month"] in _ALSO_WORDS and not named.get("year"):
            return match[0]
        month = _MONTHS.get(named["month"].casefold()) or (int(named["month"]) if named["month"].isdigit() else 0)
        year, day = (int(named[key]) if named.get(key) else None for key in ("year", "day"))
        if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31) or (day is None and year is None):  # noqa: PLR2004
            return match[0]
        days.append(Day(match[0].strip(" ,."), year, month, day))
        return " "

    def slashed(match: re.Match[str]) -> str:
        one, two, year = map(int, match.groups())
        days.extend(Day(match[0], year, month, day) for month, day in {(one, two), (two, one)} if month <= 12)  # noqa: PLR2004
        return " "

    rest = _ERA.sub(lambda each: f"{ja.ERAS[each[1]] + (1 if each[2] == '元' else int(each[2]))}年", plain)
    rest = _GERMAN_TIME.sub(r"\1:\2", _SLASHED.sub(slashed, rest))
    for pattern in _DATES:
        rest = pattern.sub(taken, rest)
    return tuple(days), _FULL_HOUR.sub(r"\1", rest)
