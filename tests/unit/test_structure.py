"""What people see on a page as one: a term and its definition, a line and what it heads, a table and its caption."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from contend.sources.local import LocalDocuments
from contend.sources.passages import TextPiece, sections_of, split_passages
from contend.sources.readers import read_document
from contend.sources.readers.html import html_to_markdown, read_web_page
from contend.sources.titles import titles_among

LONGEST = 700
LISTS = Path(__file__).parents[1] / "data" / "definitions" / "lists.html"
LONG = "The pump of this line is serviced every other week by the crew on duty, who changes its filter too. " * 9


def passages(page: str) -> list[TextPiece]:
    return split_passages(html_to_markdown(page).text)


def bare(text: str) -> str:
    return "".join(text.split())


def definitions(page: str) -> list[tuple[list[str], str]]:
    """The terms and the text of each definition, as another reader of HTML sees them."""
    found: list[tuple[list[str], str]] = []
    for entries in html.fromstring(page).iter("dl"):
        terms: list[str] = []
        for entry in entries:
            if entry.tag == "dd":
                found.append((terms, entry.text_content()))
                terms = []
            else:
                terms.append(entry.text_content())
    return found


def parted(page: str) -> list[list[str]]:
    """The terms that no passage holds together with their definition.

    Of a definition longer than a passage, terms of which a passage has neither the name nor the heading.
    """
    texts = [bare(f"{piece.heading} {piece.text}") for piece in passages(page)]
    return [terms for terms, text in definitions(page) if not is_whole(terms, text, texts)]


def is_whole(terms: list[str], definition: str, passages: list[str]) -> bool:
    parts = re.split(r"(?<=\.)\s+(?=[A-Z])", definition.strip()) if len(definition) > LONGEST else [definition]
    named = [passage for passage in passages if all(bare(term) in passage for term in terms)]
    return all(any(bare(part) in passage for passage in named) for part in parts)


@pytest.mark.parametrize("entries", re.findall("<dl>.*?</dl>", LISTS.read_text("utf-8")))
def test_a_term_and_its_definition_are_one_passage_in_the_lists_of_real_pages(entries: str) -> None:
    assert parted(f"<h1>Reference</h1><p>{LONG}</p>{entries}<p>{LONG}</p>") == []


def test_a_term_and_its_definition_are_one_passage_in_lists_cut_by_length() -> None:
    page = LISTS.read_text("utf-8")

    assert page.count("<dl>") >= 100
    assert parted(page) == []


def test_no_passage_of_a_real_page_ends_with_a_line_that_leads_to_the_next() -> None:
    entries = "".join(f"<p>Value {number}</p><p>{LONG[:number]}</p>" for number in range(60, 700, 7))

    ends = [piece.text.split("\n")[-1] for piece in passages(f"<h1>Values</h1>{entries}")]

    assert not [end for end in ends if re.fullmatch(r"Value \d+", end)]


def test_a_long_definition_stands_under_its_term_and_what_follows_the_list_does_not() -> None:
    inner = f"<dl><dt>--deep</dt><dd><p>{LONG}</p></dd></dl>"
    page = (
        f"<h2>Options</h2><dl><dt>-a</dt><dt>--all</dt><dd><p>Short.</p><p>{LONG}</p>{inner}</dd>"
        f"<dt>-b</dt><dd>Brief.</dd></dl><p>After all.</p><h2>Files</h2><p>None.</p>"
    )

    headings = {piece.heading for piece in passages(page)}
    (after,) = [piece for piece in passages(page) if "After all." in piece.text]

    assert headings == {"Options", "Options › -a, --all", "Options › -a, --all › --deep", "Files"}
    assert after.heading == "Options"
    assert "- -b: Brief." in after.text


def test_a_table_of_contents_made_of_terms_is_a_list() -> None:
    page = "<dl><dt>Contents</dt><dt>1. Pumps</dt><dd><dl><dt>Old</dt><dt>New</dt></dl></dd><dt>2. Valves</dt></dl>"

    assert html_to_markdown(page).text.split("\n\n") == ["- Contents", "- 1. Pumps", "- Old", "- New", "- 2. Valves"]


def test_code_and_headings_within_a_term_are_part_of_its_line() -> None:
    page = "<dl><dt><h3>Why?</h3> It says: <pre>error:\n  none</pre></dt><dd>So.</dd></dl><p>After.</p>"

    assert html_to_markdown(page).text.split("\n\n") == ["- Why? It says: error: none: So.", "After."]


def test_a_paragraph_of_a_page_that_begins_with_a_number_sign_is_no_heading() -> None:
    page = "<h1>Notes</h1><p><code>#</code> is the comment character.</p><p>The rest is read.</p>"

    (passage,) = passages(page)

    assert passage.heading == "Notes"
    assert "is the comment character." in passage.text


def test_a_definition_with_code_and_items_keeps_them_below_its_term() -> None:
    entry = "<dt>level:</dt><dd>One of:<ul><li>low<li>high</ul><pre>level = low</pre></dd>"
    page = f"<dl>{entry}<dt>Why?</dt><dd>So.</dd></dl>"

    assert html_to_markdown(page).text.split("\n\n") == [
        "- level: One of:",
        "- low",
        "- high",
        "```\nlevel = low\n```",
        "- Why? So.",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["<p><b>max_pumps</b></p>", "<p><strong>Valves:</strong></p>"],
        ["<a name='p'></a><p>Pumps</p>", "<p><a id='v'>Valves</a></p>"],
        ["<p>Why do the pumps hum?</p>", "<p>How often is a valve closed?</p>"],
        ["<p>4.1.1 Pumps</p>", "<p>4.1.2 Valves</p>"],
        ["<p>第３条（ポンプ）</p>", "<p>第４条（弁）</p>"],
    ],
)
def test_lines_that_head_long_texts_are_headings(lines: list[str]) -> None:
    pieces = passages("<h2>Care</h2>" + "".join(f"{line}<p>{LONG}</p><p>{LONG}</p>" for line in lines))

    names = [html.fromstring(line).text_content().rstrip(":") for line in lines]
    assert list(dict.fromkeys(piece.heading for piece in pieces)) == [f"Care › {name}" for name in names]


def test_lines_that_head_short_texts_stay_with_them_in_one_section() -> None:
    page = (
        f"<h2>Care</h2><p><b>Pumps</b></p><p>{LONG}</p><p><b>Valves</b></p><p>Short.</p><p><b>Doors</b></p><p>None.</p>"
    )

    sections = sections_of(passages(page))

    assert [section.heading for section in sections] == ["Care › Pumps", "Care"]
    assert sections[1].text == "**Valves**\n\nShort.\n\n**Doors**\n\nNone."


def test_what_stands_beneath_a_numbered_line_goes_over_the_pages_of_a_file() -> None:
    text = f"## p. 1\n\n4.1 Pumps\n\n{LONG}\n\n## p. 2\n\n{LONG}\n\n4.2 Valves\n\n{LONG}\n\n## p. 3\n\nEnd."

    pieces = split_passages(text)

    assert list(dict.fromkeys(piece.heading for piece in pieces)) == [
        "4.1 Pumps › p. 1",
        "4.1 Pumps › p. 2",
        "4.2 Valves › p. 2",
        "4.2 Valves › p. 3",
    ]


def test_a_numbered_clause_begins_a_passage() -> None:
    clauses = [f"7.{number} {LONG[:300].strip()}" for number in range(1, 6)]

    assert [piece.text for piece in split_passages("\n\n".join(clauses))] == clauses


def test_one_bold_line_alone_heads_nothing() -> None:
    assert {piece.heading for piece in passages(f"<h2>Care</h2><p><b>Beware</b></p><p>{LONG}</p><p>{LONG}</p>")} == {
        "Care"
    }


def test_bold_lines_and_questions_head_texts_in_markdown_too() -> None:
    page = "# Care\n\n" + "".join(f"**{name}**\n\n{LONG}\n\n" for name in ("Pumps", "Valves"))

    assert list(dict.fromkeys(piece.heading for piece in split_passages(page))) == ["Care › Pumps", "Care › Valves"]


def test_a_table_is_read_with_the_names_of_its_columns_and_its_caption_stays_with_every_part() -> None:
    rows = "".join(f"<tr><td>port-{number}</td><td><p>{LONG[:300]}</p></td></tr>" for number in range(40))
    page = f"<p><b>Table 3. Ports</b></p><table><tr><th>Name</th><th>Text</th></tr>{rows}</table><p>After.</p>"

    sections = sections_of(passages(page))

    assert len(sections) > 2
    assert all(
        section.text.startswith(
            ("**Table 3. Ports**\n| Name | Text |\n| --- | --- |\n| port-", "**Table 3. Ports**\n\n| Name")
        )
        for section in sections
    )


def test_cells_over_several_rows_and_columns_stand_where_they_are_seen() -> None:
    page = (
        "<table><caption>Table 1. Pumps</caption><tr><th>#<th>Day<th>Night</tr><tr><td rowspan=2>A<td>1<td>2</tr>"
        "<tr><td colspan=2>off</tr><tr><td>B<td><ul><li>x<li>y</ul><td>3</tr></table>"
    )

    assert html_to_markdown(page).text.split("\n\n") == [
        "Table 1. Pumps",
        "| # | Day | Night |",
        "| --- | --- | --- |",
        "| A | 1 | 2 |",
        "| A | off |  |",
        "| B | x; y | 3 |",
    ]


TAGS = ["table", "tr", "td", "th", "dl", "dt", "dd", "p", "b", "h2", "pre", "ul", "li", "nav", "title", "script"]


@given(st.lists(st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "words ", "橋"])))
def test_what_a_page_says_is_read_wherever_its_tags_begin_and_end(tags: list[str]) -> None:
    page = "".join(tags).replace("<nav>", "").replace("<title>", "").replace("<script>", "")

    said = html.fromstring(f"<div>{page}</div>").text_content() if page else ""

    read = html_to_markdown(page).text
    assert all(read.count(word) >= said.count(word) for word in ("words", "橋"))


@pytest.mark.parametrize("span", ["0", "-1", "x", "999999999", "²"])
def test_no_span_of_a_cell_makes_a_table_large(span: str) -> None:
    page = f"<table><tr><td colspan='{span}' rowspan='{span}'>a<td>b</tr><tr><td>c<td>d</tr></table>"

    assert len(html_to_markdown(page).text) < 2_000


def test_a_table_that_only_frames_a_page_is_no_table() -> None:
    page = (
        f"<table><tr><td><h1>Pumps</h1><p>{LONG}</p></td><td>Home</td></tr><tr><td>Prev</td><td>Next</td></tr></table>"
    )

    assert html_to_markdown(page).text.split("\n\n") == ["# Pumps", LONG.strip(), "Home", "Prev | Next"]


def test_terms_of_a_web_page_stay_with_their_definitions_and_its_bold_lines_stay_lines() -> None:
    entries = "<dl><dt>alpha</dt><dt>beta</dt><dd><p>The first letters of the alphabet.</p></dd></dl>"
    before = "<p>This page is about the letters that people have written with since the days of Homer.</p>"
    after = "<p>Greek is written from left to right, with <b>all</b> of its letters in one line.</p>"
    page = f"<article><h1>Letters</h1>{before}{entries}<p><b>Greek</b></p>{after}</article>"

    text = read_web_page(page.encode(), "utf-8")

    assert "alpha, beta: The first letters of the alphabet." in text
    assert "\n**Greek**\n" in text
    assert "with all of its letters" in text


@pytest.mark.parametrize(
    ("titles", "headings", "own"),
    [
        (
            ["Pumps — Depot 3.1 manual", "Valves — Depot 3.1 manual", "Doors — Depot 3.1 manual"],
            ["Pumps", "Valves", "Doors"],
            ["Pumps", "Valves", "Doors"],
        ),
        (["Depot | Pumps", "Depot | Valves", "Depot | A | B"], ["Pumps", "Valves", "A"], ["Pumps", "Valves", "A | B"]),
        (["Depot", "Depot", "Other"], ["Pumps", "Valves", "Others"], ["Pumps", "Valves", "Other"]),
        (["Depot", "Depot"], ["Home", "Home"], ["Depot", "Depot"]),
        (["Depot", "Depot"], ["", "Valves"], ["Depot", "Valves"]),
        (
            ["Minutes - May", "Minutes - June", "Minutes - July"],
            ["Minutes - May", "Minutes - June", "Minutes - July"],
            None,
        ),
        (["Minutes: May", "Minutes: June", "Minutes: July"], ["", "", ""], None),
        (["A - Depot", "B - Depot"], ["A", "B"], None),
    ],
)
def test_a_title_leaves_off_what_most_titles_share(
    titles: list[str], headings: list[str], own: list[str] | None
) -> None:
    assert titles_among(titles, headings) == (own or titles)


async def test_pages_of_a_site_are_named_by_what_is_their_own(tmp_path: Path) -> None:
    for name in ("Pumps", "Valves", "Doors"):
        page = f"<title>{name} — Depot 3.1 manual</title><h1>{name}</h1><p>They hum.</p><h2>Care</h2><p>Rarely.</p>"
        (tmp_path / f"{name}.html").write_text(page, "utf-8")
    source = LocalDocuments([tmp_path])

    entries = await source.catalogue()
    found, _ = await source.find("rarely", limit=9)

    assert [entry.title for entry in entries] == ["Doors", "Pumps", "Valves"]
    assert [heading.path for heading in entries[0].headings] == ["Care"]
    assert {(hit.result.title, hit.heading) for hit in found} == {(each.title, "Care") for each in entries}


@pytest.mark.parametrize(
    ("name", "content", "day"),
    [
        (
            "a.html",
            "<p>Text.</p><footer>Imprint<br>© Depot. Last updated on Jan 05, 2024. Made by hand.</footer>",
            "2024-01-05",
        ),
        ("a.html", "<p>Text.</p><div>Last updated 2023-01-25 09:27:30 -- Depot 2.8.0</div>", "2023-01-25"),
        ("a.html", "<p>Text.</p><p>This page was last edited on 5 May 2024, at 12:00 (UTC).</p>", "2024-05-05"),
        ("a.html", "<p>Text.</p><p>Last modified: Fri Oct  2 14:25:30 CEST 2020</p>", "2020-10-02"),
        ("a.html", "<p>Text.</p><p>Stand: 12.05.2024</p>", "2024-05-12"),
        ("a.html", "<p>本文。</p><footer>最終更新：２０２４年５月１日</footer>", "2024-05-01"),
        ("a.html", "<p>本文。</p><p>最終更新日 2024/05/01</p>", "2024-05-01"),
        ("a.html", '<meta name="date" content="2023-02-03"><p>Text.</p><p>Last modified 2024-05-01</p>', "2023-02-03"),
        ("a.md", f"# A\n\n{LONG}\n\n*Last modified: 12 May 2024*", "2024-05-12"),
        ("a-2023-02-03.md", f"# A\n\n{LONG}\n\nLast modified: 12 May 2024", "2024-05-12"),
        ("a.md", f"# A\n\n{LONG}\n\nIt was last modified on 12 May 2024 by the crew.", None),
        ("a.md", f"# A\n\n{LONG}\n\nLast modified: 31 February 2024", None),
        ("a.md", f"# A\n\n{LONG}\n\nThe standard of 12.05.2024 holds.", None),
        ("a.csv", "Fault,Day\ncold,updated 2024-05-01\n", None),
        ("a.html", "<p>Text.</p><script>Last modified: 2024-05-01</script>", None),
    ],
)
def test_the_day_of_a_document_is_that_of_its_last_change_where_a_line_names_it(
    tmp_path: Path, name: str, content: str, day: str | None
) -> None:
    (tmp_path / name).write_text(content, "utf-8")

    assert read_document(tmp_path / name).published == day


def test_a_line_that_names_a_change_in_the_middle_of_a_text_is_not_the_documents_own(tmp_path: Path) -> None:
    middle = "\n\n".join(["Text."] * 15 + ["Last modified: 12 May 2024"] + ["Text."] * 15)
    (tmp_path / "a.md").write_text(middle, "utf-8")

    assert read_document(tmp_path / "a.md").published is None


MANUAL = """pumpctl(8)                     Pumps 2.1                     pumpctl(8)

NAME
       pumpctl - control of pumps

COMMANDS
   START
       start {pump}

       Starts a pump, such as

              # pumpctl start north

   STOP
       stop {pump}
"""


def test_a_manual_page_has_the_headings_that_its_margin_tells(tmp_path: Path) -> None:
    page = tmp_path / "pumpctl.8.txt"
    page.write_text(MANUAL)

    document = read_document(page)

    sections = {piece.heading: piece.text for piece in split_passages(document.text)}
    assert document.title == "pumpctl(8): control of pumps"
    assert list(sections) == ["NAME", "COMMANDS › START", "COMMANDS › STOP"]
    assert "pumpctl start north" in sections["COMMANDS › START"]


@pytest.mark.parametrize("name", ["README", "NEWS", "pump.conf"])
def test_plain_text_is_read_whatever_its_name_ends_with(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("The pump starts at 5 bar.")

    assert "5 bar" in read_document(tmp_path / name).text


@pytest.mark.parametrize("around", ['role="navigation"', 'class="navheader"', 'class="navfooter" align="right"'])
def test_what_stands_around_a_page_by_its_role_or_class_is_not_read(around: str) -> None:
    page = f"<body><div {around}><p>next <img src=x> previous</p></div><p>The pump starts at 5 bar.</p></body>"

    assert html_to_markdown(page).text == "The pump starts at 5 bar."
