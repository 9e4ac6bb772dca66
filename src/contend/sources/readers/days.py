"""The day of a document as the file itself tells it. Pure."""

import calendar
import re
import unicodedata
from datetime import date
from itertools import islice, takewhile

from contend.sources.readers.document import without_page
from contend.text import SENTENCE_STOPS, en, ja
from contend.text.cleaning import CJK

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
_WEEKDAY = rf"(?:(?:{'|'.join([*calendar.day_name, *calendar.day_abbr])})\.?,? )?"
_WRITTEN = re.compile(
    r"(?<!\d)(?:"
    r"(?P<iso>\d{4}([-/])\d{1,2}\2\d{1,2})(?!\d)"
    rf"|{_WEEKDAY}(?P<day>\d{{1,2}}){en.ORDINAL} {_MONTH} (?P<year>\d{{4}})(?!\d)"
    rf"|{_WEEKDAY}{_MONTH.replace('month', 'month2')} (?P<day2>\d{{1,2}}){en.ORDINAL}, (?P<year2>\d{{4}})(?!\d)"
    rf"|(?P<era>{'|'.join(ja.ERAS)})?(?P<year3>\d{{1,4}}|元)年(?P<month3>\d{{1,2}})月(?P<day3>\d{{1,2}})日"
    rf"(?:\([{ja.WEEKDAYS}]\))?"
    r")",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r" ?[a-z0-9\u3041-\u3096]", re.IGNORECASE)
"""After a day: it belongs to a sentence, or to a span of time."""

_APART = re.compile(r"[·•・|,、;()。/]|[.!?] |(?<!\d) [–—-] ")
_BEFORE = re.compile(
    rf"\s*(?:(?:[-+] )?(?:{en.DATE_FIELDS}|{ja.DATE_FIELDS}):?\s*)?|.*[{CJK}](?<![{ja.OTHER_DAYS_END}]) ",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"(?P<named>{ja.AFTER_DATE})?(?:\)?\Z|[T ]?\d{{1,2}}[:時]| ?[^\w\s:~)〈–—-]| [–—-] (?!\d)| [{CJK}])"
)
"""A day apart ends its line or its part of it, also with the time; a sentence that goes on behind brackets owns it."""
_HEAD_LINES = 3


def day_in_head(text: str) -> str | None:
    """The day that a text's head gives as its own: its first three lines, or fewer before a table.

    It stands under the title, by itself or named as the date, else in the title. A day that a sentence speaks of, or
    that has another name, is not the text's own.
    """
    lines = (re.sub(r"[#*_>]+", "", line).strip() for line in unicodedata.normalize("NFKC", text[:2000]).split("\n"))
    prose = takewhile(lambda line: not line.startswith("|"), filter(None, map(without_page, lines)))
    head = list(islice(prose, _HEAD_LINES))
    under = 1 if head and head[0][-1] not in SENTENCE_STOPS else 0
    dates = [match for line in head[under:] for match in _WRITTEN.finditer(line) if _is_apart(match)]
    in_title = [
        match for line in head[:under] for match in _WRITTEN.finditer(line) if not _GOES_ON.match(line, match.end())
    ]
    return next((day for match in [*dates, *in_title] if (day := _valid(_iso(match)))), None)


def _is_apart(match: re.Match[str]) -> bool:
    before, after = _APART.split(match.string[: match.start()])[-1], _AFTER.match(match.string, match.end())
    return bool(after and (after["named"] or _BEFORE.fullmatch(before)))


def _iso(match: re.Match[str]) -> str:
    if match["iso"]:
        return "-".join(part.zfill(2) for part in re.split("[-/]", match["iso"]))
    year = match["year"] or match["year2"] or match["year3"].replace("元", "1")
    month = match["month3"] or _MONTHS[(match["month"] or match["month2"]).lower()]
    begun = ja.ERAS.get(match["era"] or "", 0)
    return f"{begun + int(year):04}-{int(month):02}-{int(match['day'] or match['day2'] or match['day3']):02}"


def _valid(day: str) -> str | None:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None
