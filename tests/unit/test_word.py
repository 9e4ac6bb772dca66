"""Word documents as python-docx reads them: styles, lists, tables, marks, links, page numbers, language, properties."""

import io
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache

import pytest
from docx import Document
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from contend.exports import to_docx
from contend.models.record import Language, utc_now
from contend.report import to_html
from contend.text import WORDS
from fakes.reports import FILLER, finished_report, run_head

TABLE = "| Deck | Depth |\n| :-- | --: |\n| Slats `x[i]` | 1,250 ⚠ [2] |\n| ~~Rails~~ | ~~9~~ ⚠ |"
LISTS = "1. First\n   - inner\n   - more\n2. Second\n\nText between.\n\n3. Third\n\n   A paragraph of it."
JAPANESE_FONT = "Yu Gothic"


@cache
def word(analysis: str = FILLER, language: Language = "en") -> WordDocument:
    report = finished_report(language).model_copy(update={"detailed_analysis": analysis})
    return Document(io.BytesIO(to_docx(to_html(report, run_head(), language).encode())))


def styles_of(document: WordDocument) -> dict[str, str]:
    """The style of each paragraph by its text."""
    return {each.text: style_name(each) for each in document.paragraphs}


def style_name(styled: Paragraph | Run) -> str:
    assert styled.style is not None
    return styled.style.name or ""


def runs(document: WordDocument) -> Iterator[Run]:
    """All runs of its text and its tables, in links, too."""
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    for paragraph in [*document.paragraphs, *(each for cell in cells for each in cell.paragraphs)]:
        for part in paragraph.iter_inner_content():
            yield from [part] if isinstance(part, Run) else part.runs


def styled(document: WordDocument, style: str) -> list[str]:
    return [each.text for each in runs(document) if style_name(each) == style]


def numbering(paragraph: Paragraph) -> tuple[int, int] | None:
    """The list of a paragraph, and its level."""
    properties = paragraph._p.pPr
    if properties is None or properties.numPr is None:
        return None
    return properties.numPr.numId.val, properties.numPr.ilvl.val


def test_a_title_and_headings_have_words_own_styles() -> None:
    styles = styles_of(word())

    assert styles["Why do bridges hum?"] == "Title"
    assert [styles[each] for each in ("Executive Summary", "References", "About this run")] == ["Heading 1"] * 3
    assert styles["Leaderboard"] == "Heading 2"
    assert styles["Judge and writer are the same model."] == "Caution"


def test_numbered_and_bulleted_lists_are_lists_of_words() -> None:
    listed = {each.text: (style_name(each), numbering(each)) for each in word(LISTS).paragraphs}

    def of(text: str) -> tuple[str, int, int]:
        style, number = listed[text]
        assert number is not None
        return style, *number

    assert of("First")[0] == of("Second")[0] == "List Number"
    assert of("inner")[0] == of("more")[0] == "List Bullet"
    assert of("First")[1:] == of("Second")[1:]
    assert (of("First")[2], of("inner")[2]) == (0, 1)
    assert listed["Text between."][1] is None
    assert listed["A paragraph of it."][0] == "List Number"


def test_a_table_has_lines_and_a_head_that_is_repeated_on_each_page() -> None:
    table = word(TABLE).tables[0]

    head, *rows = table.rows
    assert [each.text for each in head.cells] == ["Deck", "Depth"]
    assert [row._tr.trPr is not None and row._tr.trPr.find(qn("w:tblHeader")) is not None for row in table.rows] == [
        True, *(False for _ in rows),
    ]  # fmt: skip
    assert {style_name(cell.paragraphs[0]) for cell in head.cells} == {"Table Heading"}
    assert {style_name(cell.paragraphs[0]) for row in rows for cell in row.cells} == {"Compact"}
    assert table.style is not None
    assert table.style.base_style is not None
    borders = table.style.base_style.element.find(f".//{qn('w:tblBorders')}")
    assert {each.get(qn("w:val")) for each in borders} == {"single"}
    assert {"top", "left", "bottom", "right", "insideH", "insideV"} <= {each.tag.partition("}")[2] for each in borders}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_each_mark_of_a_report_has_a_style_of_its_own(language: Language) -> None:
    words = WORDS[language].headings
    marks = {"Judgement": "†", "Not Found": "‡", "Disputed": "⇄", "Calculated": words.calculated}
    sentences = ". ".join(f"Hire {style}{mark}" for style, mark in marks.items())
    document = word(f"{sentences}. 200[1][=4200÷21]. ~~It makes **9**[1].~~ ⚠ `⚠`", language)

    # Two of them stand in the line that explains them, too.
    assert {style: {*styled(document, style)} for style in marks} == {
        style: {mark.strip(" *")} for style, mark in marks.items()
    }
    assert [each.strip("\u2060") for each in styled(document, "Sum")] == ["[=…]", "[=4200÷21]"]
    assert styled(document, "Doubtful")[0] == "⚠"
    assert "⚠" in styled(document, "Verbatim Char")  # somebody's code
    assert "".join(styled(document, "Refuted")) == "It makes 9."
    assert {"It makes", "9", "[1]"} <= {each.text.strip() for each in runs(document) if each.font.strike}


def test_the_cells_of_a_refuted_row_are_struck_out() -> None:
    assert styled(word(TABLE), "Refuted") == ["Rails", "9"]


def test_every_style_of_a_mark_shows_on_paper() -> None:
    document = word()

    fonts = {
        name: document.styles[name].font for name in ("Judgement", "Not Found", "Calculated", "Refuted", "Citation")
    }
    assert [name for name, font in fonts.items() if font.strike] == ["Refuted"]
    assert [name for name, font in fonts.items() if font.italic] == ["Judgement", "Not Found", "Calculated"]
    assert [name for name, font in fonts.items() if font.superscript] == ["Citation"]


def test_a_reference_is_an_item_with_a_link_to_its_source_and_citations_lead_to_it() -> None:
    document = word()

    entries = [each for each in document.paragraphs if each.text.startswith("Title a")]
    assert [style_name(each) for each in entries] == ["List Number"]
    assert "https://a.example/page" in [link.address for link in entries[0].hyperlinks]
    citations = [link for each in document.paragraphs for link in each.hyperlinks if link.text.startswith("[1")]
    assert {link.fragment for link in citations} >= {"source-1"}
    assert {style_name(run) for link in citations for run in link.runs} == {"Citation"}
    bookmarks = {each.get(qn("w:name")) for each in document.element.iter(qn("w:bookmarkStart"))}
    assert {link.fragment for each in document.paragraphs for link in each.hyperlinks if not link.address} <= bookmarks
    outward = [each.target_ref for each in document.part.rels.values() if each.reltype == RELATIONSHIP_TYPE.HYPERLINK]
    assert {each.partition(":")[0] for each in outward} <= {"https", "http", "file"}


def test_each_page_has_its_number_of_how_many_below() -> None:
    (footer,) = word().sections[0].footer.paragraphs

    fields = [each.get(qn("w:instr")) for each in footer._p.iter(qn("w:fldSimple"))]
    assert fields == ["PAGE", "NUMPAGES"]


@pytest.mark.parametrize(("language", "attribute"), [("en", "w:val"), ("ja", "w:eastAsia")])
def test_a_document_has_its_language_and_a_font_for_japanese(language: Language, attribute: str) -> None:
    document = word(language=language)

    (spoken,) = document.styles.element.iter(qn("w:lang"))
    assert spoken.get(qn(attribute)) == language
    assert document.core_properties.language == language
    for name in ("Normal", "Title", "Heading 1", "Heading 2", "List Number", "Table Heading"):
        assert east_asian_fonts(document, name) == [JAPANESE_FONT]


def east_asian_fonts(document: WordDocument, style_name: str) -> Sequence[str | None]:
    """The fonts for Japanese of a style and those that it rests on; a theme's counts as none."""
    style, fonts = document.styles[style_name], []
    while style is not None:
        fonts += [each.get(qn("w:eastAsia")) for each in style.element.iter(qn("w:rFonts"))]
        style = style.base_style  # type: ignore[attr-defined]  # paragraph styles have it
    return fonts


def test_the_properties_name_the_title_and_when_it_was_made() -> None:
    properties = word("Made now. " + FILLER).core_properties

    assert properties.title == "Why do bridges hum?"
    assert properties.created is not None
    assert timedelta(0) <= utc_now().replace(tzinfo=properties.created.tzinfo) - properties.created < timedelta(hours=1)


def test_what_a_screen_shows_beside_the_text_is_not_in_it() -> None:
    chart = '<svg role="img"><title>Scores</title><text>Scout: 89.5</text></svg>'
    page = to_html(finished_report(), run_head(), "en")
    page = page.replace("</main>", f'{chart}<div class="filters">Point out</div></main>')

    text = "".join(each.text for each in Document(io.BytesIO(to_docx(page.encode()))).paragraphs)
    assert [each for each in ("89.5", "Scores", "Point out") if each in text] == []
