"""Styles for the Word document of a report: the page that pandoc reads, and the document that it takes styles from.

Each mark of a report has a style of its own, so that a reader changes or hides it in one place.
"""

import io
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from docx import Document
from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Mm, Pt, RGBColor
from docx.styles.style import CharacterStyle, ParagraphStyle
from docx.text.paragraph import Paragraph
from lxml.html import HtmlElement, fragment_fromstring, tostring

from contend.models.record import Language
from contend.report.kinds import DISPUTED, JUDGEMENT, NOT_FOUND
from contend.report.plain import DOUBTFUL_SIGN
from contend.text import WORDS

_STYLE = "data-custom-style"
"""The attribute by which pandoc writes a style of Word's."""
_LISTS = {"ol": "List Number", "ul": "List Bullet"}
_BLOCKS = {*_LISTS, "blockquote", "pre", "table"}

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no Word document may have."""

_LATIN_FONT, _JAPANESE_FONT, _CODE_FONT = "Calibri", "Yu Gothic", "Consolas"
_INK, _FAINT, _LINK, _CAUTION = (RGBColor.from_string(each) for each in ("22262B", "626A73", "0B5CAD", "9A5B00"))


def styled_body(body: str, language: Language) -> str:
    """A report's cleaned HTML with the styles of its lists, cautions, citations, marks and refuted statements."""
    root = fragment_fromstring(_NO_XML.sub("", body), create_parent="body")
    for element in [*root.iter("a", "li", "p", "s", "span")]:
        match element.tag, element.attrib.pop("class", None):
            case "a", "cite":
                _wrap_content(element, "Citation")  # with its id: pandoc makes no bookmark of a link's
            case "span", "sum":
                element.set(_STYLE, "Sum")
            case "s", _:
                _wrap(element, "span", "Refuted")
            case "p", "caution":
                _wrap(element, "div", "Caution")
            case "li", _:
                for paragraph in _paragraphs(element):
                    _wrap(paragraph, "div", _LISTS.get(element.getparent().tag, "List Bullet"))
    _style_marks(root, _marks(language))
    return str(tostring(root, encoding="unicode"))


def _wrap(element: HtmlElement, tag: str, style: str) -> None:
    """Put an element into a new one of a style."""
    outer = element.makeelement(tag, {_STYLE: style})
    outer.tail, element.tail = element.tail, None
    element.getparent().replace(element, outer)
    outer.append(element)


def _wrap_content(element: HtmlElement, style: str) -> None:
    inner = element.makeelement("span", {_STYLE: style})
    inner.text, element.text = element.text, None
    inner.extend([*element])
    if name := element.attrib.pop("id", None):
        inner.set("id", name)
    element.append(inner)


def _paragraphs(item: HtmlElement) -> list[HtmlElement]:
    """The paragraphs of a list's item; text without one becomes its first."""
    if item.find("p") is None:
        paragraph = item.makeelement("p")
        paragraph.text, item.text = item.text, None
        for child in takewhile(lambda child: child.tag not in _BLOCKS, [*item]):
            paragraph.append(child)
        item.insert(0, paragraph)
    return list(item.findall("p"))


def _marks(language: Language) -> dict[str, str]:
    """The style of each mark, as it is printed."""
    calculated = WORDS[language].headings.calculated.strip(" *")
    return {
        JUDGEMENT: "Judgement",
        NOT_FOUND: "Not Found",
        DISPUTED: "Disputed",
        calculated: "Calculated",
        DOUBTFUL_SIGN: "Doubtful",
    }


def _style_marks(root: HtmlElement, styles: Mapping[str, str]) -> None:
    pattern = re.compile(f"({'|'.join(map(re.escape, styles))})")
    for element in [*root.iter()]:
        if element.tag != "code" and element.text:
            element.text, *rest = pattern.split(element.text)
            element[:0] = _spans(element, rest, styles)
        if element.tail:
            element.tail, *rest = pattern.split(element.tail)
            parent = element.getparent()
            behind = parent.index(element) + 1
            parent[behind:behind] = _spans(element, rest, styles)


def _spans(element: HtmlElement, parts: Sequence[str], styles: Mapping[str, str]) -> list[HtmlElement]:
    """Marks and the texts behind them, by turns, as spans."""
    spans = []
    for mark, behind in zip(parts[::2], parts[1::2], strict=True):
        span = element.makeelement("span", {_STYLE: styles[mark]})
        span.text, span.tail = mark, behind
        spans.append(span)
    return spans


def reference_document() -> bytes:
    """The document whose styles, page and footer pandoc takes."""
    document = Document()
    for style in [*document.styles]:
        if style.type == WD_STYLE_TYPE.TABLE and style.name not in {"Normal Table", "Table Grid"}:
            style.delete()
    _set_fonts(document)
    _add_paragraph_styles(document)
    _add_text_styles(document)
    table = document.styles.add_style("Table", WD_STYLE_TYPE.TABLE)
    table.base_style = document.styles["Table Grid"]
    _set_page(document)
    return _saved(document)


def _set_fonts(document: WordDocument) -> None:
    """One font for each script; python-docx names no font for Japanese."""
    for name in ("Title", *(f"Heading {level}" for level in range(1, 10))):
        style: Any = document.styles[name]
        style.element.rPr.remove(style.element.rPr.rFonts)  # its theme's, which would come first
        style.font.color.rgb = _INK
    normal: Any = document.styles["Normal"]
    normal.font.name, normal.font.size = _LATIN_FONT, Pt(11)
    normal.element.rPr.rFonts.set(qn("w:eastAsia"), _JAPANESE_FONT)
    sizes = {"Title": 22, "Heading 1": 16, "Heading 2": 13, "Heading 3": 11.5}
    for name, points in sizes.items():
        document.styles[name].font.size = Pt(points)
        document.styles[name].paragraph_format.space_after = Pt(6)


def _add_paragraph_styles(document: WordDocument) -> None:
    """Those that pandoc names, and our own."""
    bases = {
        "First Paragraph": "Body Text",
        "Caution": "Body Text",
        "Block Text": "Body Text",
        "Source Code": "Normal",
        "Compact": "Normal",
        "Table Heading": "Compact",
    }
    styles: dict[str, ParagraphStyle] = {"Body Text": document.styles["Body Text"], "Normal": document.styles["Normal"]}
    for name, base in bases.items():
        styles[name] = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        styles[name].base_style = styles[base]
    styles["Caution"].font.color.rgb = _CAUTION
    styles["Block Text"].paragraph_format.left_indent = Mm(8)
    styles["Source Code"].font.name = _CODE_FONT
    styles["Compact"].font.size = Pt(9.5)
    styles["Compact"].paragraph_format.keep_together = True  # a row of a table stays on one page
    styles["Table Heading"].font.bold = True
    for name, points in {"Body Text": 6, "Source Code": 6, "Compact": 2}.items():
        shape = styles[name].paragraph_format
        shape.space_before = shape.space_after = Pt(points)


def _add_text_styles(document: WordDocument) -> None:
    names = (
        "Hyperlink",
        "Citation",
        "Sum",
        "Judgement",
        "Not Found",
        "Disputed",
        "Calculated",
        "Doubtful",
        "Refuted",
        "Verbatim Char",
    )
    styles: dict[str, CharacterStyle] = {
        name: document.styles.add_style(name, WD_STYLE_TYPE.CHARACTER) for name in names
    }
    styles["Hyperlink"].font.color.rgb = styles["Citation"].font.color.rgb = _LINK
    styles["Hyperlink"].font.underline = True
    styles["Citation"].font.superscript = styles["Sum"].font.superscript = True
    for name in ("Sum", "Judgement", "Not Found", "Disputed", "Calculated", "Refuted"):
        styles[name].font.color.rgb = _FAINT
    for name in ("Judgement", "Not Found", "Disputed", "Calculated"):
        styles[name].font.italic = True
    styles["Refuted"].font.strike = True
    styles["Doubtful"].font.color.rgb = _CAUTION
    styles["Verbatim Char"].font.name = _CODE_FONT


def _set_page(document: WordDocument) -> None:
    """A4, and the page's number of how many in its footer."""
    section = document.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    section.left_margin = section.right_margin = Mm(24)
    section.top_margin = section.bottom_margin = Mm(22)
    footer = section.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    _add_field(footer, "PAGE")
    footer.add_run(" / ")
    _add_field(footer, "NUMPAGES")


def _add_field(paragraph: Paragraph, instruction: str) -> None:
    """Add a field, for which python-docx has no method."""
    field = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), instruction)
    field.append(paragraph.add_run("1")._r)  # noqa: SLF001 - the same
    paragraph._p.append(field)  # noqa: SLF001 - the same


def finished(word: bytes, created: datetime) -> bytes:
    """Pandoc's document with a style for table heads and the time when it was made, which pandoc's sandbox hides."""
    document = Document(io.BytesIO(word))
    for table in document.tables:
        for cell in table.rows[0].cells:
            for paragraph in cell.paragraphs:
                paragraph.style = "Table Heading"
    document.core_properties.created = document.core_properties.modified = created
    return _saved(document)


def _saved(document: WordDocument) -> bytes:
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()
