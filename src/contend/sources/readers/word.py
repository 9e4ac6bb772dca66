"""Word documents: headings, paragraphs, lists and tables in order."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, zip_longest
from pathlib import Path

import docx
from docx.document import Document as WordDocument
from docx.exceptions import PythonDocxError
from docx.opc.exceptions import OpcError
from docx.oxml.exceptions import XmlchemyError
from docx.oxml.ns import qn
from docx.oxml.table import CT_Tbl, CT_Tc
from docx.oxml.text.paragraph import CT_P
from docx.styles.style import BaseStyle

from contend.sources.readers.csv_table import column_names
from contend.sources.readers.document import Document, Unreadable, as_prose
from contend.text import clean, one_line, table_row

_MOST_BLOCKS = 50_000
"""The most paragraphs and table rows of a document."""

_MOST_UNPACKED_BYTES = 100_000_000
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, SyntaxError),
    *(ValueError, LookupError, AttributeError, TypeError, AssertionError),
)
"""Errors of damaged files beside python-docx's own: in the archive (RuntimeError: an encrypted entry), in the XML
(lxml's error is a SyntaxError), and for missing parts and elements."""

_OLE_MARK = b"\xd0\xcf\x11\xe0"
_HEADING = re.compile(r"(?:heading (?P<level>[1-9])|title)\Z", re.IGNORECASE)
_ITEM = "- "
_MOST_ANCESTORS = 10
_DEFAULT_TITLE = "Word Document"
"""The title that python-docx gives a file without properties."""

_LIBRARY = "python-docx"
_TEMPLATE_TIME = datetime(2013, 12, 23, 23, 15, tzinfo=UTC)
"""The time in the template of python-docx, from which it creates every file."""

_MOST_COLUMNS = 100
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def read_docx(content: bytes, path: Path, *, most_blocks: int = _MOST_BLOCKS) -> Document:
    """The document's text with inserted changes and text boxes; headings are one level below the title.

    Raises:
        Unreadable: it is broken, locked by a password, an older kind of Word file, or over 100 MB unpacked.
    """
    if content.startswith(_OLE_MARK):
        raise Unreadable("locked by a password, or an older kind of Word file: save it as .docx without a password")
    try:
        _check_size(content)
        return _read(content, path, most_blocks)
    except (OpcError, PythonDocxError, XmlchemyError, *_DAMAGE) as error:
        raise Unreadable("broken, or no Word document") from error


def _check_size(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        size = sum(entry.file_size for entry in package.infolist())
    if size > _MOST_UNPACKED_BYTES:
        raise Unreadable(f"{size / 1e6:,.0f} MB once unpacked, over {_MOST_UNPACKED_BYTES / 1e6:.0f} MB")


def _read(content: bytes, path: Path, most_blocks: int) -> Document:
    document = docx.Document(io.BytesIO(content))
    blocks = list(islice(_blocks(document), most_blocks + 1))
    title = next((block[2:] for block in blocks if block.startswith("# ")), "")
    in_properties = document.core_properties.title.replace(_DEFAULT_TITLE, "")
    first = next((block.lstrip("# ") for block in blocks if block.startswith("#")), "")
    note = f"only the first {most_blocks:,} paragraphs and table rows are read" if len(blocks) > most_blocks else ""
    text = clean("\n\n".join(blocks[:most_blocks]))
    return Document(title or in_properties or first or path.name, text, note, _day(document))


def _day(document: WordDocument) -> str | None:
    """The date of the last save, else of creation; None without properties or with those of the template."""
    properties = document.core_properties
    day = properties.modified or properties.created
    named_by_library = properties.title == _DEFAULT_TITLE and properties.last_modified_by == _LIBRARY
    return day.date().isoformat() if day and day != _TEMPLATE_TIME and not named_by_library else None


def _blocks(document: WordDocument) -> Iterator[str]:
    marks = {style.style_id: _mark(style) for style in document.styles}
    paragraph, table = qn("w:p"), qn("w:tbl")
    around = {qn("w:tbl"), "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
    for element in document.element.body.iter(paragraph, table):
        if around.isdisjoint(each.tag for each in element.iterancestors()):
            yield from _table_rows(element) if element.tag == table else _paragraph(element, marks)


def _mark(style: BaseStyle) -> str:
    """The Markdown mark of a style's paragraphs, from the style or the nearest one it is based on."""
    for _ in range(_MOST_ANCESTORS):
        name = style.name or ""
        if heading := _HEADING.match(name):
            return "#" * min(int(heading["level"] or 0) + 1, 6) + " "
        if name.startswith("List"):
            return _ITEM
        based_on = getattr(style, "base_style", None)
        if based_on is None:
            break
        style = based_on
    return ""


def _paragraph(element: CT_P, marks: dict[str, str]) -> Iterator[str]:
    text = "\n".join(as_prose(line) for line in _text(element).split("\n") if line.strip())
    mark = marks.get(element.style or "", "")
    if not text.strip():
        return
    if mark.startswith("#"):
        yield mark + one_line(text)
    else:
        is_item = mark or element.xpath("./w:pPr/w:numPr/w:numId[@w:val!='0']")
        yield (_ITEM if is_item else "") + text


def _text(paragraph: CT_P) -> str:
    """The paragraph's visible text, without deleted text, ruby readings, and text boxes anchored in it."""
    return "".join(
        node.text or "" if (name := node.tag.rpartition("}")[2]) == "t" else _CHARACTERS.get(name, "")
        for node in paragraph.xpath(".//w:r[not(ancestor::w:rt)]/*")
        if next(node.iterancestors(paragraph.tag)) is paragraph
    )


def _table_rows(table: CT_Tbl) -> Iterator[str]:
    """Each row with the column names. A table of one row or column is only a frame around its text."""
    rows = [row for row in _cells(table) if any(row)]
    if len(rows) == 1 or all(len(row) == 1 for row in rows):
        yield from (as_prose(cell) for row in rows for cell in row if cell)
    else:
        names, height = column_names(rows)
        for row in rows[height:]:
            cells = dict.fromkeys(zip_longest(names, row, fillvalue=""))  # merged cells count once
            yield from filter(None, [table_row([name for name, _ in cells], [value for _, value in cells])])


def _cells(table: CT_Tbl) -> Iterator[list[str]]:
    """The cell texts of each row; merged cells are repeated."""
    above: list[str] = []
    for row in table.tr_lst:
        cells: list[str] = []
        for cell in row.tc_lst:
            goes_on = cell.vMerge == "continue" and len(cells) < len(above)
            cells += [above[len(cells)] if goes_on else _cell(cell)] * min(cell.grid_span, _MOST_COLUMNS)
        yield cells
        above = cells


def _cell(cell: CT_Tc) -> str:
    return one_line(" ".join(_text(paragraph) for paragraph in cell.xpath(".//w:p")))
