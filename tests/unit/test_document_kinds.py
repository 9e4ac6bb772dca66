"""PDF, Word and CSV files: what is read of them, and how what is not is named."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given
from hypothesis import strategies as st

from contend.models.research import FoundPassage
from contend.sources.local import LocalDocuments
from contend.sources.passages import split_passages
from contend.sources.readers import read_document
from contend.sources.readers.csv_table import read_csv
from contend.sources.readers.document import Document, Unreadable
from contend.sources.readers.pdf import pages_to_markdown, read_pdf
from contend.sources.readers.word import read_docx
from fakes.files import docx_bytes, make_docx, make_locked_pdf, make_pdf

HERE = Path("file")
WIND = "Vortices leave both sides of the deck in turn, and the bridge hums."
RUST = "Salt water makes the cables of a bridge rust from within."
JAPANESE_WIND = ["# 橋と風", "橋が風で鳴るのは、渦が両側から放出されるためであ", "る。設計者は風洞で断面を試す。"]


def csv(text: str, encoding: str = "utf-8") -> Document:
    return read_csv(text.encode(encoding), HERE)


def names(results: list[FoundPassage]) -> list[str]:
    return [Path(unquote(urlsplit(each.result.url).path)).name for each in results]


# -- PDF


def test_a_pdf_is_read_page_by_page_and_a_passage_knows_its_page() -> None:
    document = read_pdf(make_pdf([[WIND], [RUST]]), HERE)

    assert [(piece.heading, piece.text) for piece in split_passages(document.text)] == [("p. 1", WIND), ("p. 2", RUST)]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("A study of humming", "A study of humming"),
        ("", "Humming bridges"),
        ("Microsoft Word - x.doc", "Humming bridges"),
    ],
)
def test_the_title_of_a_pdf_is_in_its_properties_or_set_big_on_its_first_page(message: str, title: str) -> None:
    page = ["# Humming", "# bridges", WIND, RUST, WIND]

    assert read_pdf(make_pdf([page], title=message), HERE).title == title


def test_a_pdf_without_any_title_is_called_after_its_file() -> None:
    assert read_pdf(make_pdf([[WIND, RUST]]), Path("wind.pdf")).title == "wind.pdf"


def test_words_parted_at_line_ends_are_made_whole() -> None:
    document = read_pdf(make_pdf([["The bridge hums at its own fre-", "quency in the wind."]]), HERE)

    assert document.text.endswith("hums at its own frequency in the wind.")


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        ("a well-\nknown bridge, and others well-known", "a well-known bridge, and others well-known"),
        ("it stood from 1935-\n1940 there", "it stood from 1935-1940 there"),
        ("a manip\ufffe\r\nulation of words", "a manipulation of words"),
        ("a manip\x02ulation of words", "a manipulation of words"),
        ("the eﬃcient ﬂow of ⼈々", "the efficient flow of 人々"),
    ],
)
def test_characters_of_the_typesetting_become_those_of_the_words(lines: str, whole: str) -> None:
    assert pages_to_markdown([lines]) == f"## p. 1\n\n{whole}"


def test_running_heads_and_page_numbers_are_no_text_and_numbers_in_tables_are() -> None:
    rows = [("first", "13 91"), ("second", "49 343"), ("third", "12 84"), ("last", "88 616")]
    pages = [f"Journal of Wind 12\n{row}\nThe {part} part.\n{page}" for page, (part, row) in enumerate(rows, start=7)]

    text = pages_to_markdown(pages)

    assert text.startswith("## p. 1\n\n13 91\n\nThe first part.\n\n## p. 2\n\n49 343\n\nThe second part.")
    assert text.endswith("88 616\n\nThe last part.")
    assert "Journal" not in text


def test_a_sentence_that_goes_on_over_the_page_stays_whole() -> None:
    first = "A wind of even speed makes the deck\nof a long bridge hum, as long ago John"
    second = "Smith saw in 1940.\nThe next year was calm."

    first_page, second_page = split_passages(pages_to_markdown([first, second]))

    assert first_page.text.endswith("of a long bridge hum, as long ago John Smith saw in 1940.")
    assert second_page[:2] == ("p. 2", "The next year was calm.")


def test_a_heading_is_no_part_of_the_sentence_after_it() -> None:
    lines = "1 Introduction\nThe deck of a long bridge hums in an even wind,\nwhich was seen early.\nA next one."

    assert pages_to_markdown([lines]).split("\n\n")[1:3] == [
        "1 Introduction",
        "The deck of a long bridge hums in an even wind,\nwhich was seen early.",
    ]


def test_what_looks_like_markup_in_a_pdf_hides_no_page() -> None:
    text = pages_to_markdown(["# include <wind>\n```\nx = 1", "The second page."])

    assert [piece.heading for piece in split_passages(text)] == ["p. 1", "p. 2"]


def test_japanese_is_read_from_a_pdf() -> None:
    document = read_pdf(make_pdf([JAPANESE_WIND]), HERE)

    assert document.title == "橋と風"
    assert [piece.text for piece in split_passages(document.text)] == [
        "橋と風\n\n橋が風で鳴るのは、渦が両側から放出されるためである。設計者は風洞で断面を試す。"
    ]


def test_no_more_pages_are_read_than_the_limit_and_that_is_said() -> None:
    pages = [[f"The {part} part."] for part in ("first", "second", "third", "fourth", "fifth")]

    document = read_pdf(make_pdf(pages), HERE, most_pages=2)

    assert document.text.endswith("## p. 2\n\nThe second part.")
    assert document.note == "only the first 2 of 5 pages are read"


def test_reading_a_pdf_ends_in_time() -> None:
    document = read_pdf(make_pdf([[WIND], [RUST]]), HERE, most_seconds=0)

    assert document.note == "only the first 1 of 2 pages are read"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (make_locked_pdf(), "locked by a password: save it without one"),
        (make_pdf([[WIND]])[:300], "broken, or no PDF"),
        (b"%PDF-1.7\n" + b"\x00" * 200, "broken, or no PDF"),
        (make_pdf([[], []]), "no text in it: a scanned document needs text recognition (OCR) first"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as excinfo:
        read_pdf(content, HERE)

    assert str(excinfo.value) == reason


def damage(content: bytes) -> st.SearchStrategy[bytes]:
    """The content with some of its bytes changed or taken out."""
    places = st.integers(0, len(content) - 1)
    cuts = st.tuples(places, st.integers(0, 30), st.binary(max_size=8))
    return cuts.map(lambda cut: content[: cut[0]] + cut[2] + content[cut[0] + cut[1] :])


@given(damage(make_pdf([["# Humming bridges", WIND], [RUST]])))
def test_a_damaged_pdf_is_read_or_refused_and_never_crashes(content: bytes) -> None:
    with suppress(Unreadable):
        assert isinstance(read_pdf(content, HERE).text, str)


@given(st.lists(st.text("ab1 .-\n#`。か\r\x02\ufffe", max_size=60), max_size=5))
def test_pages_of_any_text_lose_nothing_but_white_space_and_what_repeats(pages: list[str]) -> None:
    text = pages_to_markdown(pages)

    assert {character for character in text if character.isalpha()} <= set("".join(pages)) | {"p"}
    if len(pages) == 1:
        assert text.count("か") == pages[0].count("か")


# -- Word


def test_a_word_file_keeps_headings_lists_and_tables_in_order() -> None:
    content = make_docx(
        ("Title", "The bridge book"),
        ("Heading 1", "Wind"),
        ("Normal", WIND),
        ("List Bullet", "a damper"),
        ("List Number", "a fairing"),
        ("Heading 2", "Figures"),
        [["Bridge", "", "Fell in"], ["Tacoma Narrows", "long", "1940"], ["Tay", "", "1879"]],
        ("Normal", "# no heading"),
    )

    document = read_docx(content, HERE)

    assert document.title == "The bridge book"
    assert document.text.split("\n\n") == [
        "# The bridge book",
        "## Wind",
        WIND,
        "- a damper",
        "- a fairing",
        "### Figures",
        "- Bridge: Tacoma Narrows; long; Fell in: 1940.",
        "- Bridge: Tay; Fell in: 1879.",
        "no heading",
    ]


@pytest.mark.parametrize(
    ("message", "blocks", "title"),
    [
        ("From the properties", [("Heading 1", "Wind")], "From the properties"),
        ("", [("Normal", "words"), ("Heading 1", "Wind")], "Wind"),
        ("Word Document", [("Normal", "words")], "file"),
    ],
)
def test_the_title_of_a_word_file(message: str, blocks: list[tuple[str, str]], title: str) -> None:
    assert read_docx(make_docx(*blocks, title=message), HERE).title == title


def test_a_merged_cell_stands_in_each_row_it_spans_and_once_in_its_own() -> None:
    document = docx.Document()
    table = document.add_table(3, 3)
    for row, cells in zip(table.rows, [["Region", "Sales", ""], ["North", "1", "2"], ["", "3", "3"]], strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(1, 0).merge(table.cell(2, 0))

    assert read_docx(docx_bytes(document), HERE).text.split("\n\n") == [
        "- Region: North; Sales: 1; Sales: 2.",
        "- Region: North; Sales: 3.",
    ]


def test_inserted_text_counts_and_deleted_text_and_readings_do_not() -> None:
    document = docx.Document()
    document.element.body.insert(
        0,
        parse_xml(
            f"<w:p {nsdecls('w')}><w:r><w:t>The bridge </w:t></w:r><w:ins><w:r><w:t>hums</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>sleeps</w:delText></w:r></w:del><w:r><w:tab/><w:t>in the</w:t><w:br/>"
            "<w:t>wind: </w:t></w:r><w:r><w:ruby><w:rt><w:r><w:t>はし</w:t></w:r></w:rt>"
            "<w:rubyBase><w:r><w:t>橋</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
        ),
    )

    assert read_docx(docx_bytes(document), HERE).text == "The bridge hums\tin the\nwind: 橋"


def test_no_more_of_a_word_file_is_read_than_the_limit_and_that_is_said() -> None:
    document = read_docx(make_docx(*[("Normal", f"paragraph {number}") for number in range(5)]), HERE, most_blocks=2)

    assert document.text == "paragraph 0\n\nparagraph 1"
    assert document.note == "only the first 2 paragraphs and table rows are read"


def test_a_word_table_with_names_on_two_rows_is_read_like_one_in_a_csv_file() -> None:
    rows = [["Plant", "2023", ""], ["", "Units", "CO2"], ["Kassel", "42", "42"]]
    document = docx.Document()
    table = document.add_table(3, 3)
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))

    assert read_docx(docx_bytes(document), HERE).text == "- Plant: Kassel; 2023 Units: 42; 2023 CO2: 42."


def test_a_word_file_that_unpacks_to_far_too_much_is_refused_unread() -> None:
    packed = io.BytesIO(make_docx(("Normal", WIND)))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/bomb.xml", b" " * 101_000_000)

    with pytest.raises(Unreadable, match="MB once unpacked, over 100 MB"):
        read_docx(packed.getvalue(), HERE)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 no archive", "broken, or no Word document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "locked by a password, or an older kind of Word file"),
    ],
)
def test_a_word_file_that_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_docx(content, HERE)


@pytest.fixture(scope="module")
def word_parts() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(make_docx(("Heading 1", "Wind"), [["a", "b"], ["1", "2"]]))) as package:
        return {name: package.read(name) for name in package.namelist()}


@given(st.data())
def test_a_damaged_word_file_is_read_or_refused_and_never_crashes(
    word_parts: dict[str, bytes], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["word/document.xml", "word/styles.xml", "[Content_Types].xml", "_rels/.rels"]))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        for each, part in word_parts.items():
            package.writestr(each, data.draw(damage(part)) if each == name else part)

    with suppress(Unreadable):
        assert isinstance(read_docx(content.getvalue(), HERE).text, str)


# -- CSV


def test_each_row_of_a_csv_file_is_a_sentence_with_the_names_of_its_columns() -> None:
    document = csv("Bridge,Fell in,Cause\nTacoma Narrows,1940,wind\nTay,1879,\n\n")

    assert document.title == "file"
    assert document.text.split("\n\n") == [
        "Bridge; Fell in; Cause",
        "- Bridge: Tacoma Narrows; Fell in: 1940; Cause: wind.",
        "- Bridge: Tay; Fell in: 1879.",
    ]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('Name;Price\n"Long; thin ""deck""";1,5\nShort;2,5\n', '- Name: Long; thin "deck"; Price: 1,5.'),
        ("Name\tSaid\nAnn\tyes, no, perhaps\nBob\tno\n", "- Name: Ann; Said: yes, no, perhaps."),
        ('Name,Note\nAnn,"first\nsecond line"\n', "- Name: Ann; Note: first second line."),
        ("Name|Age\r\nAnn|7\r\n", "- Name: Ann; Age: 7."),
        ("Name\n# Ann\n", "- Name: # Ann."),
        ("sep=:\nName:Age\nAnn:7\n", "- Name: Ann; Age: 7."),
    ],
)
def test_a_csv_file_is_read_whatever_parts_its_columns(text: str, row: str) -> None:
    assert csv(text).text.split("\n\n")[1] == row


def test_a_japanese_table_in_shift_jis_with_its_title_above() -> None:
    document = csv("橋の一覧,,\n名称,完成,場所\n明石海峡大橋,1998年,神戸\n", "shift_jis")

    assert document.title == "橋の一覧"
    assert document.text.split("\n\n") == [
        "橋の一覧",
        "名称; 完成; 場所",
        "- 名称: 明石海峡大橋; 完成: 1998年; 場所: 神戸。",
    ]


def test_remarks_above_a_table_with_commas_in_them_are_no_names_of_columns() -> None:
    document = csv(
        "# Survey, June 2025. Sent out, 168 came back.\n# Minutes.\nform,role,now,new\n1,driver,32,45\n2,,8,9\n"
    )

    assert document.title == "Survey, June 2025."
    assert document.text.split("\n\n")[-3:] == [
        "form; role; now; new",
        "- form: 1; role: driver; now: 32; new: 45.",
        "- form: 2; now: 8; new: 9.",
    ]


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (
            "# Trams, km, 2029, planned\n# A row per route\nroute,day,km,trips\n1,weekday,12,5\n2,sunday,13,4\n",
            "Trams, km, 2029, planned",
        ),
        ("Trams, planned, 2029\nroute,day,km,trips\n1,weekday,12,5\n2,sunday,13,4\n", "Trams, planned, 2029"),
        ("Trams of 2029,,,\nby,J. Smith,,\nroute,day,km,trips\n1,weekday,12,5\n2,sunday,13,4\n", "Trams of 2029"),
        ("Trams of 2029;;;\r\n;;;\r\nroute;day;km;trips\r\n1;weekday;12;5\r\n2;sunday;13;4\r\n", "Trams of 2029"),
        ("sep=;\nroute;day;km;trips\n1;weekday;12;5\n2;sunday;13;4\n", "file"),
    ],
)
def test_a_table_below_remarks_as_spreadsheets_save_them_has_its_own_names(content: str, title: str) -> None:
    document = csv(content)

    assert document.title == title
    assert document.text.split("\n\n")[-3:] == [
        "route; day; km; trips",
        "- route: 1; day: weekday; km: 12; trips: 5.",
        "- route: 2; day: sunday; km: 13; trips: 4.",
    ]


def test_a_remark_above_a_single_column_or_one_without_a_name_is_none_of_the_names() -> None:
    assert csv("# of 2029\nName\nAnn\n").text.endswith("\n\nName\n\n- Name: Ann.")
    assert csv("# by, J. Smith\n,North,South\nTrams,12,5\nCars,7,9\n").text.split("\n\n")[-3:] == [
        "North; South",
        "- Trams; North: 12; South: 5.",
        "- Cars; North: 7; South: 9.",
    ]


def test_a_comma_in_the_last_cell_of_most_rows_does_not_cost_the_names_of_the_columns() -> None:
    assert csv("id,comment\n1,good, cheap\n2,bad, dear\n3,none\n4,good, dear\n").text.split("\n\n") == [
        "id; comment",
        "- id: 1; comment: good; cheap.",
        "- id: 2; comment: bad; dear.",
        "- id: 3; comment: none.",
        "- id: 4; comment: good; dear.",
    ]


def test_names_on_two_rows_are_read_as_one_and_equal_figures_of_two_columns_both_stand() -> None:
    document = csv(
        "Emissions,,,,\n,2023,,2024,\nPlant,Units,CO2 (t),Units,CO2 (t)\nKassel,42,1.5,42,1.4\nAll,54,6,54,\n"
    )

    assert document.text.split("\n\n") == [
        "Emissions",
        "Plant; 2023 Units; 2023 CO2 (t); 2024 Units; 2024 CO2 (t)",
        "- Plant: Kassel; 2023 Units: 42; 2023 CO2 (t): 1.5; 2024 Units: 42; 2024 CO2 (t): 1.4.",
        "- Plant: All; 2023 Units: 54; 2023 CO2 (t): 6; 2024 Units: 54.",
    ]
    assert csv("Year,Cost,Cost\n2024,3,3\n").text.endswith("- Year: 2024; Cost: 3; Cost: 3.")


def test_units_below_the_names_belong_to_them_and_no_value_of_the_first_row_does() -> None:
    assert "- Werk: Kassel; Betrag EUR: 1.234,50." in csv("Werk;Betrag\n;EUR\nKassel;1.234,50\nFulda;2,5\n").text
    assert "- Werk: Kassel; Betrag EUR: 5; gut." in csv("Werk;Betrag;\n;EUR;\nKassel;5;gut\n").text
    assert "- Site: A; Cost: open." in csv("Site,Cost\nA,open\nB,12\n").text
    assert "- Cost: 5." in csv("Site,Cost\n,5\nB,12\n").text
    assert "- Note: none." in csv("Site,Note\n,none\nB,good\n").text
    assert "- State; North: open; South: shut." in csv(",North,South\nState,open,shut\nTrams,12,5\n").text


@pytest.mark.parametrize("first", ["", "Site"])
def test_years_name_columns(first: str) -> None:
    row = csv(f"{first},2023,2024\nHarbour,12,14\nHill,11,13\n").text.split("\n\n")[1]

    assert row == ("- Site: Harbour; 2023: 12; 2024: 14." if first else "- Harbour; 2023: 12; 2024: 14.")


def test_a_second_table_below_an_empty_row_has_names_of_its_own_and_a_total_there_has_not() -> None:
    document = csv("Sites,\nSite,Length\nHill,120\n,\nTotal,120\n,\nJacks,\nin stock,\nJack,Load\nJ1,8\n")

    assert document.text.split("\n\n") == [
        *("Sites", "Site; Length", "- Site: Hill; Length: 120.", "- Site: Total; Length: 120."),
        *("Jacks", "in stock", "Jack; Load", "- Jack: J1; Load: 8."),
    ]


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        ("Yard,,open\nQuay,5,shut\n", ["- Site: Yard; State: open.", "- Site: Quay; Length: 5; State: shut."]),
        (
            "Yard,not yet known,open\nQuay,5,shut\n",
            ["- Site: Yard; Length: not yet known; State: open.", "- Site: Quay; Length: 5; State: shut."],
        ),
        (
            "Yard,tbc,new\nQuay,tbc,new\nPier,7,new\n",
            ["- Site: Quay; Length: tbc; State: new.", "- Site: Pier; Length: 7; State: new."],
        ),
        ("船着場,,open\n桟橋,5,shut\n", ["- Site: 船着場; State: open。", "- Site: 桟橋; Length: 5; State: shut."]),
    ],
    ids=["gap", "value of another row", "value of a row below", "ja"],
)
def test_a_row_without_a_figure_below_an_empty_one_is_a_row_where_it_cannot_hold_names(
    rows: str, last: list[str]
) -> None:
    document = csv(f"Site,Length,State\nHill,120,open\n,,\n{rows}")

    assert document.text.split("\n\n")[-2:] == last


def test_names_that_are_repeated_below_an_empty_row_are_names() -> None:
    document = csv("Site,Length\nHill,120\n,\nSite,Length\nYard,12\n")

    assert document.text.split("\n\n")[-2:] == ["Site; Length", "- Site: Yard; Length: 12."]


def test_a_table_of_numbers_alone_has_no_names() -> None:
    assert csv("1,2\n3,4\n").text == "- 1; 2.\n\n- 3; 4."
    assert csv("1999,2001\n2003,2004\n").text == "- 1999; 2001.\n\n- 2003; 2004."
    assert csv("Trams\n1,2\n3,4\n").text == "Trams\n\n- 1; 2.\n\n- 3; 4."


def test_a_formula_is_text() -> None:
    assert "Total: =SUM(A1:A9)." in csv('Name,Total\nall,"=SUM(A1:A9)"\n').text


def test_no_more_rows_are_read_than_the_limit_and_that_is_said() -> None:
    document = read_csv(b"n\n" + b"7\n" * 9, HERE, most_rows=3)

    assert document.text.count("n: 7") == 2
    assert document.note == "only the first 3 of 10 rows are read"


def test_a_quotation_mark_that_never_closes_costs_the_rows_after_it_only() -> None:
    document = csv('Name,Note\nAnn,fine\nBob,"' + "x" * 200_000)

    assert "- Name: Ann; Note: fine." in document.text
    assert document.note.startswith("only read up to row 2")


@given(st.text('ab1,;\t|"\n\r 。', max_size=200))
def test_any_text_is_read_as_a_table_and_no_letter_is_lost(text: str) -> None:
    text_read = csv(text).text

    assert set("ab1") & set(text) <= set(text_read)


# -- found in a folder


async def test_questions_find_the_passages_of_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "wind.pdf").write_bytes(make_pdf([["# Wind", WIND], [RUST]]))
    (tmp_path / "風.pdf").write_bytes(make_pdf([JAPANESE_WIND]))
    (tmp_path / "tea.docx").write_bytes(make_docx(("Heading 1", "Tea"), ("Normal", "Green tea is steamed early.")))
    (tmp_path / "茶.docx").write_bytes(make_docx(("Heading 1", "お茶"), ("Normal", "緑茶は摘んだあとすぐに蒸す。")))
    (tmp_path / "towns.csv").write_text("Town,Mayor\nVeltsund,Mira Kolander\nOstby,Jon Aas\n", "utf-8")
    (tmp_path / "町.csv").write_bytes("町,町長\n東山町,山田花子\n西川町,佐藤一郎\n".encode("shift_jis"))
    source = LocalDocuments([tmp_path])

    async def first(question: str) -> tuple[str, str]:
        best, *_ = results = await source.search(question, limit=1)
        return names(results)[0], best.text

    assert await first("Why do cables rust?") == ("wind.pdf", RUST)
    assert (await first("なぜ橋は風で鳴るのですか"))[0] == "風.pdf"
    assert await first("When is green tea steamed?") == ("tea.docx", "Green tea is steamed early.")
    assert await first("緑茶はいつ蒸しますか") == ("茶.docx", "緑茶は摘んだあとすぐに蒸す。")
    assert "Town: Veltsund; Mayor: Mira Kolander." in (await first("Who is the mayor of Veltsund?"))[1]
    assert "町: 東山町; 町長: 山田花子。" in (await first("東山町の町長は誰ですか"))[1]
    assert source.left_out == []


async def test_files_that_cannot_be_read_are_named_with_the_reason_and_the_others_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (tmp_path / "cut.pdf").write_bytes(make_pdf([[WIND]])[:200])
    (tmp_path / "locked.pdf").write_bytes(make_locked_pdf())
    (tmp_path / "empty.docx").write_bytes(b"")
    (tmp_path / "wind.pdf").write_bytes(make_pdf([[WIND]]))
    source = LocalDocuments([tmp_path])

    assert names(await source.search("humming bridge", limit=3)) == ["wind.pdf"]
    assert sorted(source.left_out_lines()) == [
        "cut.pdf, deep/broken.pdf (broken, or no PDF)",
        "empty.docx (an empty file)",
        "locked.pdf (locked by a password: save it without one)",
    ]


async def test_many_files_of_one_reason_take_one_short_line(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG")
    source = LocalDocuments([tmp_path])

    await source.check()

    (line,) = source.left_out_lines()
    assert line.startswith("0.png, 1.png, 2.png, 3.png, 4.png and 4 more (of no known kind")


async def test_a_file_read_in_part_is_found_and_named_also_from_the_kept_index(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "towns.csv").write_text('Town,Number\ntown77,77\nOstby,"' + "8" * 200_000, "utf-8")

    for _ in range(2):
        source = LocalDocuments([folder], cache=tmp_path / "index")
        assert await source.search("town77", limit=1)
        (line,) = source.left_out_lines()
        assert line.startswith("towns.csv (only read up to row 2")


def test_a_file_without_a_byte_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"")

    with pytest.raises(Unreadable, match="an empty file"):
        read_document(tmp_path / "a.pdf")
