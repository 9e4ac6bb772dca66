"""PDF files: the text of their pages and their title."""

import re
import threading
import time
from contextlib import closing
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from contend.sources.days import day_of_pdf
from contend.sources.document import Document, Unreadable
from contend.sources.pdf_pages import pages_to_markdown
from contend.text import clean, shorten

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

MOST_PAGES = 1_000
MOST_SECONDS = 60.0

_TITLE_CHARACTERS = 3_000
"""Where on the first page a title is looked for."""

_DAYS = ("CreationDate", "ModDate")
_BROKEN_CHARACTERS = 60
_BIG = 1.2
_AS_BIG = 0.95
_FILE_NAME = re.compile(
    r"(?:^microsoft word - .*|.*\.(?:docx?|odt|rtf|tex|dvi|ps|pdf|indd|html?|md|txt|pptx?|xlsx?)|untitled.*|無題.*)\Z",
    re.IGNORECASE,
)
# PDFium keeps state of its own for the whole process.
_ONE_AT_A_TIME = threading.Lock()


class _Read(NamedTuple):
    """A page that cannot be read is None."""

    title: str
    pages: list[str | None]
    of: int
    day: str | None


def read_pdf(
    content: bytes, path: Path, *, most_pages: int = MOST_PAGES, most_seconds: float = MOST_SECONDS
) -> Document:
    """The text with a heading for each page, without running heads; a title from its properties or its first page.

    Raises:
        Unreadable: it is broken or locked by a password, or its pages are pictures.
    """
    with _ONE_AT_A_TIME:
        read = _read(content, most_pages, most_seconds)
    markdown = pages_to_markdown([page or "" for page in read.pages])
    if not markdown:
        raise Unreadable("no text in it: a scanned document needs text recognition (OCR) first")
    return Document(read.title or path.stem, markdown, _note(read), read.day)


def _note(read: _Read) -> str:
    broken = [str(number) for number, page in enumerate(read.pages, start=1) if page is None]
    notes = []
    if len(read.pages) < read.of:
        notes.append(f"only the first {len(read.pages):,} of {read.of:,} pages are read")
    if broken:
        notes.append(f"pages that cannot be read: {shorten(', '.join(broken), _BROKEN_CHARACTERS)}")
    return "; ".join(notes)


def _read(content: bytes, most_pages: int, most_seconds: float) -> _Read:
    import pypdfium2  # noqa: PLC0415 - loads PDFium, and not needed to start the command line

    end = time.monotonic() + most_seconds
    try:
        with closing(pypdfium2.PdfDocument(content)) as pdf:
            pages: list[str | None] = []
            while len(pages) < min(len(pdf), most_pages) and (not pages or time.monotonic() < end):
                pages.append(_page(pdf, len(pages)))
            return _Read(_title(pdf), pages, len(pdf), _day(pdf))
    except pypdfium2.PdfiumError as error:
        locked = error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD
        reason = "locked by a password: save it without one" if locked else "broken, or no PDF"
        raise Unreadable(reason) from error


def _page(pdf: "PdfDocument", number: int) -> str | None:
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - see above

    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text:
            return str(text.get_text_bounded())
    except PdfiumError:
        return None


def _day(pdf: "PdfDocument") -> str | None:
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - see above

    try:
        return next((day for name in _DAYS if (day := day_of_pdf(pdf.get_metadata_value(name)))), None)
    except (PdfiumError, UnicodeDecodeError):
        return None


def _title(pdf: "PdfDocument") -> str:
    """What the properties say, if it is no file's name, else the first lines of the first page that are set big."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - see above

    try:
        said = clean(pdf.get_metadata_value("Title"), single_line=True)
        if said and not _FILE_NAME.match(said):
            return said
        with closing(pdf[0]) as page, closing(page.get_textpage()) as text:
            return _big_lines(text)
    except (PdfiumError, UnicodeDecodeError):
        return ""


def _big_lines(page: "PdfTextPage") -> str:
    lines = _lines(page)
    if not lines:
        return ""
    biggest = max(height for _, height in lines)
    if biggest < _BIG * median(height for _, height in lines):
        return ""
    together = groupby(lines, key=lambda line: line[1] >= _AS_BIG * biggest)
    return next(" ".join(text for text, _ in big) for is_big, big in together if is_big)


def _lines(page: "PdfTextPage") -> list[tuple[str, float]]:
    """The first lines of a page with the height of their characters in points."""
    from pypdfium2.raw import FPDFText_GetUnicode  # noqa: PLC0415 - see above

    lines = [("", 0.0)]
    for place in range(min(page.count_chars(), _TITLE_CHARACTERS)):
        character = chr(FPDFText_GetUnicode(page, place))
        if character in "\r\n":
            lines.append(("", 0.0))
            continue
        _, bottom, _, top = page.get_charbox(place, loose=True)
        text, height = lines[-1]
        lines[-1] = (text + character, max(height, top - bottom))
    return [(shown, height) for text, height in lines if (shown := clean(text, single_line=True))]
