"""PDF files: the text of their pages and their title."""

import re
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby, pairwise, takewhile
from pathlib import Path
from statistics import median

from pypdfium2 import PdfDocument, PdfiumError, PdfTextPage
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDFText_GetUnicode

from contend.sources.readers.document import Document, Unreadable, as_prose, day_of_pdf, page_heading
from contend.text import clean, normalize, shorten, split_sentences

MOST_PAGES = 1_000
_MOST_SECONDS = 60.0

_TITLE_CHARACTERS = 3_000
"""The first characters of the first page, where the title is searched."""

_DAYS = ("CreationDate", "ModDate")
_BROKEN_CHARACTERS = 60
_BIG = 1.2
_AS_BIG = 0.95
_FILE_NAME = re.compile(
    r"(?:^microsoft word - .*|.*\.(?:docx?|odt|rtf|tex|dvi|ps|pdf|indd|html?|md|txt|pptx?|xlsx?)|untitled.*|無題.*)\Z",
    re.IGNORECASE,
)
# PDFium has global state.
_ONE_AT_A_TIME = threading.Lock()


def read_pdf(
    content: bytes, path: Path, *, most_pages: int = MOST_PAGES, most_seconds: float = _MOST_SECONDS
) -> Document:
    """The text with a heading per page, without running heads; the title from the properties or the first page.

    Raises:
        Unreadable: it is broken, locked by a password, or scanned.
    """
    texts: list[str | None] = []
    try:
        with _ONE_AT_A_TIME, closing(PdfDocument(content)) as pdf:
            end = time.monotonic() + most_seconds
            total, title, day = len(pdf), _title(pdf), _day(pdf)
            while len(texts) < min(total, most_pages) and (not texts or time.monotonic() < end):
                texts.append(_page(pdf, len(texts)))
    except PdfiumError as error:
        needs_password = error.err_code == FPDF_ERR_PASSWORD
        reason = "locked by a password: save it without one" if needs_password else "broken, or no PDF"
        raise Unreadable(reason) from error
    markdown = pages_to_markdown([text or "" for text in texts])
    if not markdown:
        raise Unreadable("no text in it: a scanned document needs text recognition (OCR) first")
    return Document(title or path.name, markdown, _note(texts, total), day)


def _note(texts: Sequence[str | None], total: int) -> str:
    """Which of the `total` pages were not read; unreadable ones are None."""
    numbers = [str(number) for number, text in enumerate(texts, start=1) if text is None]
    notes = []
    if len(texts) < total:
        notes.append(f"only the first {len(texts):,} of {total:,} pages are read")
    if numbers:
        notes.append(f"pages that cannot be read: {shorten(', '.join(numbers), _BROKEN_CHARACTERS)}")
    return "; ".join(notes)


def _page(pdf: PdfDocument, number: int) -> str | None:
    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text:
            return str(text.get_text_bounded())
    except PdfiumError:
        return None


def _day(pdf: PdfDocument) -> str | None:
    try:
        return next((day for name in _DAYS if (day := day_of_pdf(pdf.get_metadata_value(name)))), None)
    except (PdfiumError, UnicodeDecodeError):
        return None


def _title(pdf: PdfDocument) -> str:
    """The title in the properties, if it is no file name, else the first large lines of the first page."""
    try:
        title = clean(pdf.get_metadata_value("Title"), single_line=True)
        if title and not _FILE_NAME.match(title):
            return title
        with closing(pdf[0]) as page, closing(page.get_textpage()) as text:
            return _big_lines(text)
    except (PdfiumError, UnicodeDecodeError):
        return ""


def _big_lines(page: PdfTextPage) -> str:
    lines = _measured_lines(page)
    if not lines:
        return ""
    biggest = max(height for _, height in lines)
    if biggest < _BIG * median(height for _, height in lines):
        return ""
    together = groupby(lines, key=lambda line: line[1] >= _AS_BIG * biggest)
    return next(" ".join(text for text, _ in big) for is_big, big in together if is_big)


def _measured_lines(page: PdfTextPage) -> list[tuple[str, float]]:
    """The first lines of a page, with their character height in points."""
    lines = [("", 0.0)]
    for place in range(min(page.count_chars(), _TITLE_CHARACTERS)):
        character = chr(FPDFText_GetUnicode(page, place))
        if character in "\r\n":
            lines.append(("", 0.0))
            continue
        _, bottom, _, top = page.get_charbox(place, loose=True)
        text, height = lines[-1]
        lines[-1] = (text + character, max(height, top - bottom))
    return [(line, height) for text, height in lines if (line := clean(text, single_line=True))]


# PDFium writes one of these for a hyphen at the end of a line.
_LINE_HYPHEN = re.compile("[\ufffe\x02](?:\r?\n)?")
_STRAY_RETURN = re.compile("\r(?!\n)")
_LOOK_ALIKES = re.compile("[\ufb00-\ufb06\u2e80-\u2fdf]")
"""Ligatures, and the radicals that many Japanese files use for characters."""

_EDGE_LINES = 3
_NUMBER = re.compile(r"\d{1,5}")
_MOST_NUMBERS = 4
_RUNNING = 3
"""A line that is the same at the edge of this many pages, except for a page number, is a running head or foot."""

_SENTENCE_END = re.compile(r"[.!?。．！？:：][\"'”’»)\]」』）]*\Z")
_SHORT = 0.6
_FULL = 0.9
_BROKEN_WORD = re.compile(r"(?<![^\W_])([^\W_]+)[-\u2010\u00ad]\n([^\W_]+)")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]+-[^\W_]+")


def pages_to_markdown(texts: Sequence[str]) -> str:
    """The paragraphs of the pages, with a heading per page number; "" if no page has text.

    A sentence across two pages is put on the first.
    """
    pages = [list(_paragraphs(lines)) for lines in _without_running_heads([_lines(text) for text in texts])]
    for page, after in pairwise([page for page in pages if page]):
        _finish(page, after)
    blocks = [block for number, page in enumerate(pages, start=1) if page for block in (page_heading(number), *page)]
    return _with_whole_words("\n\n".join(blocks))


def _lines(text: str) -> list[str]:
    plain_breaks = clean(_STRAY_RETURN.sub("", _LINE_HYPHEN.sub("-\n", text)))
    plain = _LOOK_ALIKES.sub(lambda match: normalize(match[0]), plain_breaks)
    return [line for each in plain.split("\n") if (line := as_prose(each).strip())]


def _without_running_heads(pages: list[list[str]]) -> list[list[str]]:
    """Remove lines at the edges of pages that other pages have too, also with a counting page number."""
    counts = Counter(
        variant
        for number, lines in enumerate(pages)
        for variant in {
            variant
            for line in lines[:_EDGE_LINES] + lines[_EDGE_LINES:][-_EDGE_LINES:]
            for variant in _variants(line, number)
        }
    )
    enough = max(2, min(_RUNNING, sum(map(bool, pages))))
    running = {variant for variant, count in counts.items() if count >= enough}
    return [_inner(lines, number, running) for number, lines in enumerate(pages)]


def _inner(lines: list[str], page: int, running: set[str]) -> list[str]:
    def runs(line: str) -> bool:
        return not running.isdisjoint(_variants(line, page))

    head = len(list(takewhile(runs, lines[:_EDGE_LINES])))
    foot = len(list(takewhile(runs, lines[head:][: -_EDGE_LINES - 1 : -1])))
    return lines[head : len(lines) - foot]


def _variants(line: str, page: int) -> Iterator[str]:
    """The line, and variants with each of its first numbers replaced by its distance to the page's index."""
    yield line
    for count, match in enumerate(_NUMBER.finditer(line)):
        if count < _MOST_NUMBERS:
            yield f"{line[: match.start()]}\0{int(match[0]) - page}\0{line[match.end() :]}"


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Join lines to paragraphs, which end with a short line or a heading."""
    if not lines:
        return
    wide = _full_width(lines)
    paragraph = [lines[0]]
    for line, after in pairwise(lines):
        if _ends_early(line, after, wide):
            yield "\n".join(paragraph)
            paragraph = []
        paragraph.append(after)
    yield "\n".join(paragraph)


def _ends_early(line: str, after: str, wide: int) -> bool:
    if _SENTENCE_END.search(line):
        return _width(line) < _FULL * wide
    return _width(line) < _SHORT * wide and not after[0].islower() and line[-1] not in ",、-"


def _full_width(lines: Sequence[str]) -> int:
    """The width that nine in ten lines do not exceed."""
    return sorted(map(_width, lines))[len(lines) * 9 // 10]


def _width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


def _finish(page: list[str], after: list[str]) -> None:
    """Move the rest of a page's last sentence from the next page to it."""
    if not page:
        return
    lines = "\n".join(page).split("\n")
    full = _width(lines[-1]) >= _SHORT * _full_width(lines)
    if _SENTENCE_END.search(lines[-1]) or not (full or after[0][0].islower()):
        return
    end = _sentence_end(after[0])
    page[-1] += "\n" + after[0][:end]
    after[:1] = [rest] if (rest := after[0][end:].strip()) else []


def _sentence_end(text: str) -> int:
    """The end of the first sentence."""
    rest = sum(len(word) for word in next(iter(split_sentences(text)), "").split())
    for place, character in enumerate(text):
        rest -= not character.isspace()
        if not rest:
            return place + 1
    return len(text)


def _with_whole_words(text: str) -> str:
    """Join words hyphenated at line ends; the hyphen stays if the word has it elsewhere or needs it."""
    compounds = set(_COMPOUND.findall(text))

    def whole(match: re.Match[str]) -> str:
        before, after = match[1], match[2]
        belongs = f"{before}-{after}" in compounds or not (before[-1].islower() and after[0].islower())
        return f"{before}-{after}" if belongs else before + after

    return _BROKEN_WORD.sub(whole, text)
