"""What all readers share: the document, decoding of English and Japanese text, and dates."""

import calendar
import re
import unicodedata
from datetime import date
from itertools import islice, takewhile
from typing import NamedTuple

from contend.text import SENTENCE_STOPS, en, ja
from contend.text.characters import CJK


class Document(NamedTuple):
    """A file's title and its text as Markdown."""

    title: str
    text: str
    note: str = ""
    """What was not read; "" if everything was."""
    published: str | None = None
    """The date in the file, as YYYY-MM-DD."""
    changed: str | None = None
    """The date of its last change, from a line outside its text."""


class Unreadable(Exception):  # noqa: N818 - said of the file
    """The file cannot be read; the message is the reason."""


_MARKUP = re.compile(r"\s*+(?:#{1,6}\s+|`{3,}+|~{3,}+)++")
_PAGE = re.compile(r"(?:^| › )p\. \d+\Z")


def as_prose(line: str) -> str:
    """A plain text line, without marks that would make it a heading or code block in Markdown."""
    markup = _MARKUP.match(line)
    return line[markup.end() :] if markup else line


def page_heading(number: int) -> str:
    """The heading of a page, counted from 1."""
    return f"## p. {number}"


def without_page(heading: str) -> str:
    """A heading without its page number, which says nothing about the subject."""
    return _PAGE.sub("", heading)


_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_HIRAGANA = re.compile("[\u3041-\u3096]")
_HALF_WIDTH_KANA = re.compile("[\uff61-\uff9f]")
_WESTERN_MARKS = re.compile("[\x80-\xff]")
_MOST_WESTERN_MARKS = 0.2
"""Of a text's characters: Russian or Greek read as Windows-1252 has more; 5 of the Western lines below have."""
_JAPANESE_RUN = re.compile("[\u3005\u3041-\u30ff\u4e00-\u9fff\uff61-\uff9f]+")
_KANA = re.compile("[\u3041-\u30ff]")
_MISREAD = re.compile(
    "(?<![\uff61-\uff9f])[\uff61-\uff9f](?![\uff61-\uff9f])|[\x80\ue000-\uf8ff]"
    "|(?<=[A-Za-z])[\u4e00-\u9fff\uf900-\ufaff](?![\u3041-\u9fff])|[\u4e00-\u9fff\uf900-\ufaff](?=[a-z])"
)
"""Windows-1252 read as Shift JIS: a lone half-width letter for £, a control sign for €, a character for `’s` or `áb`.

Chosen on lines of installed packages and this project, each read alone: 99% of 15,064 lines with signs or accents are
read right, and 99.8% of 10,252 lines in Shift JIS and EUC-JP; of 76,832 single words with accents, not used for the
choice, 74%. charset-normalizer reads 50% and 62% of 1,500 lines of each kind right, and 92% and 91% if it is limited to
these encodings.
"""
_DECLARED_ENCODING = re.compile(
    r"windows-125[0-8]|iso-8859-\d{1,2}|koi8-[ru]|gb(2312|k|18030)|big5(-?hkscs)?|euc-kr|ks_c_5601-1987", re.IGNORECASE
)
"""Declared encodings that are accepted, because the bytes alone do not show them."""
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252"}
"""The encodings that such pages really use."""


def decode(content: bytes, *, declared_encoding: str = "") -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, Shift JIS, EUC-JP, ISO-2022-JP or Windows-1252.

    The encoding is detected from the bytes. The `declared_encoding` counts only if that is uncertain: declarations are
    often wrong.

    Raises:
        Unreadable: the bytes are no text in any of these.
    """
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return _decode_strictly(content, encoding)
    if b"\x00" in content:
        raise Unreadable("binary, or text in UTF-16 without its mark: save it as UTF-8")
    if b"\x1b$" in content:
        return _decode_strictly(content, "iso2022_jp")
    text = _decode(content, "utf-8")
    return _guess(content, declared_encoding) if text is None else text


def _guess(content: bytes, declared_encoding: str) -> str:
    readings = [text for text in (_decode(content, "cp932"), _decode(content, "euc_jp")) if text is not None]
    japanese = max(readings, key=_kana, default=None)
    is_codec = _DECLARED_ENCODING.fullmatch(declared_encoding) is not None
    by_word = _decode(content, _WIDER.get(declared_encoding.lower(), declared_encoding)) if is_codec else None
    if japanese is not None and (_is_japanese(japanese) if by_word is None else _kana(japanese) > 0):
        return japanese
    if by_word is not None:
        return by_word
    western = _decode(content, "cp1252")
    marks = 0 if western is None else len(_WESTERN_MARKS.findall(western))
    if western is not None and (japanese is not None or marks <= _MOST_WESTERN_MARKS * len(western)):
        return western
    if japanese is not None:
        return japanese
    raise Unreadable("not text in UTF-8, UTF-16, Shift JIS, EUC-JP or Windows-1252: save it as UTF-8")


def _is_japanese(text: str) -> bool:
    """Whether text decoded as Japanese has more Japanese than misread Windows-1252 characters."""
    runs = [run for run in _JAPANESE_RUN.findall(text) if len(run) > 1 or _KANA.match(run)]
    return sum(map(len, runs)) >= len(_MISREAD.findall(text))


def _kana(text: str) -> int:
    """How Japanese a text looks: wrongly decoded text is full of half-width letters."""
    return len(_HIRAGANA.findall(text)) - len(_HALF_WIDTH_KANA.findall(text))


def _decode_strictly(content: bytes, encoding: str) -> str:
    text = _decode(content, encoding)
    if text is None or "\x00" in text:
        raise Unreadable(f"broken or binary: it looks like {encoding} and is not")
    return text


def _decode(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


_ISO_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_PDF_DAY = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})")


def day_of(stamp: str) -> str | None:
    """The date of an ISO 8601 time, as YYYY-MM-DD; None for anything else."""
    match = _ISO_DAY.match(stamp.strip().strip("\"'"))
    return _valid(match[1]) if match else None


def day_in_name(stem: str) -> str | None:
    """The last ISO date in a file's name."""
    days = [day for match in _ISO_DAY.finditer(stem) if (day := _valid(match[1]))]
    return days[-1] if days else None


def day_of_pdf(stamp: str) -> str | None:
    """The date of a time in PDF format: `D:20250301120000+09'00'`."""
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
_WRITTEN_DAY = re.compile(
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
"""After a date: it is part of a sentence or a span of time."""

_APART = re.compile(r"[·•・|,、;()。/]|[.!?] |(?<!\d) [–—-] ")
_BEFORE = re.compile(
    rf"\s*(?:(?:[-+] )?(?:{en.DATE_FIELDS}|{ja.DATE_FIELDS}):?\s*)?|.*[{CJK}](?<![{ja.OTHER_DAYS_END}]) ", re.IGNORECASE
)
_AFTER = re.compile(
    rf"(?P<named>{ja.AFTER_DATE})?(?:\)?\Z|[T ]?\d{{1,2}}[:時]| ?[^\w\s:~)〈–—-]| [–—-] (?!\d)| [{CJK}])"
)
"""A separate date ends its line or a part of it, with or without a time; within a sentence it does not count."""
_HEAD_LINES = 3


def day_in_head(text: str) -> str | None:
    """The text's own date, from its first three lines, or fewer before a table.

    It is below the title, alone or named as the date, else in the title. A date within a sentence or with another name
    does not count.
    """
    lines = (re.sub(r"[#*_>]+", "", line).strip() for line in unicodedata.normalize("NFKC", text[:2000]).split("\n"))
    prose = takewhile(lambda line: not line.startswith("|"), filter(None, map(without_page, lines)))
    head = list(islice(prose, _HEAD_LINES))
    under = 1 if head and head[0][-1] not in SENTENCE_STOPS else 0
    dates = [match for line in head[under:] for match in _WRITTEN_DAY.finditer(line) if _is_apart(match)]
    in_title = [
        match for line in head[:under] for match in _WRITTEN_DAY.finditer(line) if not _GOES_ON.match(line, match.end())
    ]
    return next((day for match in [*dates, *in_title] if (day := _valid(_iso(match)))), None)


_CHANGED = re.compile(
    rf"(?:^|[.;|·•()–—-])\s*(?:{en.CHANGE_FIELDS}|Stand|{ja.CHANGE_FIELDS})(?:\s*:\s*|\s+|(?=[\d{CJK}]))", re.IGNORECASE
)
_DOTTED_DAY = re.compile(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)")
_UNIX_DAY = re.compile(
    rf"(?:{'|'.join(calendar.day_abbr)}),? {_MONTH} (?P<day>\d{{1,2}}) [\d:]{{5,8}}(?: [A-Z]{{2,5}})?"
    r" (?P<year>\d{4})",
    re.IGNORECASE,
)
_LONGEST_CHANGE_LINE = 300
_END_LINES = 10


def day_of_change(text: str) -> str | None:
    """The date in the last line such as `Last modified: 12 May 2026`.

    Only the first and last ten lines that are not empty are checked.
    """
    lines = [line for line in unicodedata.normalize("NFKC", text).split("\n") if line.strip("#*_>- \t")]
    ends = lines[:_END_LINES] + lines[max(_END_LINES, len(lines) - _END_LINES) :]
    days = [_day_of_change(" ".join(line.strip("#*_>- \t").split())) for line in ends]
    return next(filter(None, reversed(days)), None)


def _day_of_change(line: str) -> str | None:
    changed = _CHANGED.search(line[:_LONGEST_CHANGE_LINE])
    if changed is None:
        return None
    if written := _WRITTEN_DAY.match(line, changed.end()):
        return _valid(_iso(written))
    day = _DOTTED_DAY.match(line, changed.end()) or _UNIX_DAY.match(line, changed.end())
    if day is None:
        return None
    return _valid(f"{day['year']}-{_MONTHS.get(day['month'].lower(), day['month']):0>2}-{day['day']:0>2}")


def _is_apart(match: re.Match[str]) -> bool:
    before, after = _APART.split(match.string[: match.start()])[-1], _AFTER.match(match.string, match.end())
    return bool(after and (after["named"] or _BEFORE.fullmatch(before)))


def _iso(match: re.Match[str]) -> str:
    if match["iso"]:
        return "-".join(part.zfill(2) for part in re.split("[-/]", match["iso"]))
    year = match["year"] or match["year2"] or match["year3"].replace("元", "1")
    month = match["month3"] or _MONTHS[(match["month"] or match["month2"]).lower()]
    era_start = ja.ERAS.get(match["era"] or "", 0)
    return f"{era_start + int(year):04}-{int(month):02}-{int(match['day'] or match['day2'] or match['day3']):02}"


def _valid(day: str) -> str | None:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None
