"""The day of a document as the file itself tells it. Pure."""

import calendar
import re
import unicodedata
from collections.abc import Iterator
from datetime import date

from contend.text import ja

_ISO_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_PDF_DAY = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})")


def day_of(stamp: str) -> str | None:
    """The day that a time in ISO 8601 begins with, as YYYY-MM-DD; None for anything else."""
    match = _ISO_DAY.match(stamp.strip().strip("\"'"))
    return _valid(match[1]) if match else None


def day_in_name(stem: str) -> str | None:
    """The last day in a file's name."""
    days = [day for match in _ISO_DAY.finditer(stem) if (day := _valid(match[1]))]
    return days[-1] if days else None


def day_of_pdf(stamp: str) -> str | None:
    """The day of a time as PDF files write it: `D:20250301120000+09'00'`."""
    match = _PDF_DAY.match(stamp.strip())
    return _valid("-".join(match.groups())) if match else None


_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_WRITTEN = re.compile(
    r"(?<!\d)(?:"
    r"(?P<iso>\d{4}-\d{2}-\d{2})(?!\d)"
    rf"|(?P<day>\d{{1,2}}) {_MONTH} (?P<year>\d{{4}})(?!\d)"
    rf"|{_MONTH.replace('month', 'month2')} (?P<day2>\d{{1,2}}), (?P<year2>\d{{4}})(?!\d)"
    rf"|(?P<era>{'|'.join(ja.ERAS)})?(?P<year3>\d{{1,4}}|元)年(?P<month3>\d{{1,2}})月(?P<day3>\d{{1,2}})日"
    r")",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r" ?[a-z0-9\u3041-\u3096]", re.IGNORECASE)
"""After a day: it belongs to a sentence, or to a span of time."""

_FIRST_LINES = 3


def day_in_lines(text: str) -> str | None:
    """The day that stands by itself in a text's first three lines: under its title, in it, or named as its date."""
    lines = [
        line
        for line in unicodedata.normalize("NFKC", text[:2000]).split("\n")
        if line.strip() and not line.startswith("|")
    ]
    return next((day for line in lines[:_FIRST_LINES] for day in _days_alone(line)), None)


def _days_alone(line: str) -> Iterator[str]:
    for match in _WRITTEN.finditer(line):
        after = line[match.end() :]
        if not _GOES_ON.match(after) and (day := _valid(_iso(match))):
            yield day


def _iso(match: re.Match[str]) -> str:
    if match["iso"]:
        return match["iso"]
    year = match["year"] or match["year2"] or match["year3"].replace("元", "1")
    month = match["month3"] or _MONTHS[(match["month"] or match["month2"]).lower()]
    begun = ja.ERAS.get(match["era"] or "", 0)
    return f"{begun + int(year):04}-{int(month):02}-{int(match['day'] or match['day2'] or match['day3']):02}"


def _valid(day: str) -> str | None:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None
