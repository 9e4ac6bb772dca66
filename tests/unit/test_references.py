"""Texts of others: their marks, and their references in whatever layout."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contend.checks import check_validity
from contend.contest.publishing import named_sources
from contend.errors import InputError
from contend.models.record import Language
from contend.models.research import Passage, ResearchReport, SearchResult
from contend.report import (
    PublishedLine,
    PublishedMark,
    head_markdown,
    published_markdown,
    read_draft,
    read_references,
    with_joined_marks,
)
from contend.scoring import submission_of_text
from contend.text import bare_text
from fakes.reports import finished_report, run_head

BODY = "Bridges hum in wind [1]. Dampers help [2]. Nobody knows why [3]."
LAYOUTS = {
    "numbered list": "## References\n\n1. Wind. https://a.example/x\n2. [Dampers](https://b.example/y)\n",
    "brackets": "[1] Wind, https://a.example/x\n[2] Dampers. https://b.example/y\n",
    "definitions": '[1]: https://a.example/x\n[2]: <https://b.example/y> "Dampers"\n',
    "bold heading": "**Sources:**\n\n- [1] Wind: https://a.example/x\n- [2] Dampers: https://b.example/y\n",
    "plain heading": "Further reading:\n1) Wind, https://a.example/x\n2) Dampers, https://b.example/y\n",
    "fields": "### References\n\n1. **Wind**\n   - URL: https://a.example/x\n\n2. **Dampers**\n   - URL: b/y.md\n",
    "japanese": "## 参考文献\n\n1. 風 https://a.example/x\n2. 減衰 https://b.example/y\n",
    "books": "## Bibliography\n\n1. Weiss, A.: Wind. 1999.\n2. Tanaka, K.: Dampers. 2004.\n",
    "italic heading": "### _Works cited_\n\n1. Weiss, A.: Wind. 1999.\n2. Tanaka, K.: Dampers. 2004.\n",
    "dois": "[1] Wind, doi:10.1234/wind\n[2] Dampers, https://doi.org/10.1234/dampers\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_citations_are_held_against_the_texts_own_references(layout: str) -> None:
    submission = submission_of_text(f"# Hum\n\n{BODY}\n\n{LAYOUTS[layout]}", "Why do bridges hum?")

    validity = check_validity(submission.report, {result.url for result in submission.results})

    assert validity == (2, 3, ["[3]"])


def test_footnotes_and_several_numbers_in_one_mark_are_citations() -> None:
    text = "It hums.[^1] It sings [1, 2].\n\n[^1]: Wind, https://a.example/x\n[^2]: Song\n    https://b.example/y\n"

    references = read_references(text)

    assert references.body == "It hums.[1] It sings [1][2]."
    assert [entry.address for entry in references.entries.values()] == ["https://a.example/x", "https://b.example/y"]


def test_three_marks_or_more_in_a_row_are_published_as_a_range_that_is_read_as_its_numbers() -> None:
    single = "It hums [1][2][3][5]. It sings [1][2]. `x[1][2][3]` is code. Loud [5][2][3][4]."
    reference_list = "\n\n## References\n\n" + "\n".join(f"{n}. Wind. https://a.example/{n}" for n in range(1, 6))

    published = with_joined_marks(f"{single}{reference_list}")

    assert published.startswith("It hums [1–3,5]. It sings [1,2]. `x[1][2][3]` is code. Loud [5,2–4].")
    assert read_references(published).body == single
    report = submission_of_text(published, "Why?").report
    assert check_validity(report, {source.url for source in report.sources}) == (5, 5, [])


@pytest.mark.parametrize("marks", ["[1]", "[1,3]", "[8–10]", "[2,8–10]"])
def test_a_sentence_is_the_same_with_its_marks_and_without(marks: str) -> None:
    assert bare_text(f"It hums{marks}.") == bare_text("It hums.")


def named_report() -> ResearchReport:
    """Its sources: two files of a folder, a page of the web, and a file whose name looks like a mark."""
    urls = ["file:///docs/prices.csv", "file:///docs/old/letter 2.txt", "https://a.example/x", "file:///docs/a[1].md"]
    texts = {
        "executive_summary": f"Much rests on all of it [1][2][3][4]. {'It hums in any wind at all. ' * 3}",
        "key_findings": ["It costs 240 [1][2]."],
        "detailed_analysis": (
            "### Sites\n\nWind [3].\n\n### 1. Money\n\nLoud [1][3]. Odd [4].\n\n### 2. Room\n\nAll [1][2][3][4]."
        ),
    }
    sources = [SearchResult(title="T", summary="S", source="local", url=url) for url in urls]
    return finished_report().model_copy(update={**texts, "sources": sources, "sources_by_name": True})


def published(report: ResearchReport, language: Language = "en", *, appendix: str = "") -> str:
    return published_markdown(report, appendix, language, folders=[Path("/docs")])


def test_a_report_whose_reader_lays_it_out_and_asks_for_its_documents_ends_with_their_names() -> None:
    report = named_report().model_copy(update={"own_headings": True})

    text = published(report, appendix="## About this run")

    names = "1. prices.csv\n2. old/letter 2.txt\n3. https://a.example/x\n4. a\\[1\\].md"
    assert f"\n\n## Sources\n\n{names}\n\n## About this run\n" in text
    without = published(report.model_copy(update={"sources_by_name": False}))
    assert read_references(text).body == read_references(without).body
    assert "## Sources" not in published(report.model_copy(update={"own_headings": False}))


def test_a_report_that_cites_nothing_ends_with_no_names() -> None:
    texts = {"executive_summary": "It hums.", "key_findings": ["It hums."], "detailed_analysis": "It hums."}
    report = named_report().model_copy(update={**texts, "constraints_and_challenges": "", "own_headings": True})

    assert "## Sources" not in published(report)


def test_a_report_whose_reader_says_how_it_is_laid_out_has_the_headings_of_its_sections_alone() -> None:
    report = named_report().model_copy(update={"own_headings": True})

    text = published(report, appendix="## About this run\n\n- Winner: Scout [1]")

    assert [line for line in text.splitlines() if line.startswith("#")] == [
        f"# {report.theme}", "## Sites", "## 1. Money", "## 2. Room", "## Constraints and Challenges",
        "## Sources", "## About this run", "## References",
    ]  # fmt: skip
    assert "\n\nIt costs 240 [1,2].\n\n" in text
    assert "\n1. **T**; prices.csv\n" in text
    references = read_references(text)
    assert "It costs 240 [1][2]." in references.body
    assert "Scout" not in references.text
    assert len(references.entries) == len(report.sources)


def test_an_opening_that_is_a_part_of_its_own_has_that_parts_heading() -> None:
    parts = {"own_headings": True, "opening_heading": "1. What to do", "detailed_analysis": "### 2. Room\n\nOdd [4]."}
    report = named_report().model_copy(update=parts)

    text = published(report)

    assert f"# {report.theme}\n\n## 1. What to do\n\n{report.executive_summary[:20]}" in text
    assert [section.heading for section in read_draft(text).draft.sections] == ["1. What to do", "2. Room"]
    assert "1. What to do" not in published(report.model_copy(update={"own_headings": False}))


def test_titles_names_and_addresses_of_sources_stay_as_they_are() -> None:
    report = named_report()
    two = report.sources[3].model_copy(update={"url": "file:///docs/a[1][2].md"})

    report = report.model_copy(update={"sources": [*report.sources[:3], two]})

    assert "; a\\[1\\]\\[2\\].md\n" in published(report)
    assert "\n4. a\\[1\\]\\[2\\].md\n" in published(report.model_copy(update={"own_headings": True}))


def test_marks_in_a_row_are_joined_in_a_report_without_names_too() -> None:
    report = finished_report().model_copy(update={"key_findings": ["It costs 240 [1][2]."]})

    assert "1. It costs 240 [1,2].\n" in published(report, appendix="## About this run\n\n- Winner: Scout")


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "*†: the writer's judgement · [=…]: a sum, checked by code*"),
        ("ja", "*†: 書き手の判断 · [=…]: コードで検算した式*"),
    ],
)
def test_the_marks_that_a_report_has_are_explained_below_its_title(language: Language, line: str) -> None:
    findings = ["It costs 240[1][=12×20].", "Buy it†.", "It takes a day[1][calc.1]."]
    report = finished_report().model_copy(update={"key_findings": findings})

    text = published(report, language)

    assert text.split("\n\n")[1] == line
    assert line not in read_references(text).text


def test_a_report_without_marks_explains_none() -> None:
    assert published(finished_report()).split("\n\n")[1] == "## Executive Summary"


ODD_NAMES = [
    "[x] brief 2026.md", "見積_2026 [最終].md", "a*b*c_plan_d_.md", "__init__ <b>&amp;`x`.md", "cost|table.csv",
    "1. Offer.md", "- notes.txt", "# minutes.md", "R&D_2026_final.md", "~~old~~ \\_x.md", "[prices](b.example).md",
]  # fmt: skip


def shown(markdown: str) -> str:
    """What a reader of the Markdown sees."""
    blocks = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(markdown)
    return "\n".join(
        "".join(f"<{child.tag}>" if child.tag and child.nesting else child.content for child in block.children or ())
        for block in blocks
        if block.type == "inline"
    )


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_with_signs_of_markdown_is_shown_as_it_is_and_read_as_it_is(name: str) -> None:
    report = named_report()
    odd = report.sources[3].model_copy(update={"url": f"file:///docs/{quote(name)}", "title": name})
    report = report.model_copy(update={"sources": [*report.sources[:3], odd]})
    own = report.model_copy(update={"own_headings": True})

    assert f"\n<strong>{name}<strong>\n" in shown(published(report))
    names = published(own).partition("\n## Sources\n")[2].partition("\n## References\n")[0]
    assert shown(names).splitlines() == ["prices.csv", "old/letter 2.txt", "https://a.example/x", name]
    assert read_references(published(report)).entries[4].text == f"**{name}**"
    titled = odd.model_copy(update={"title": "T"})
    report = report.model_copy(update={"sources": [*report.sources[:3], titled]})
    assert f"\n<strong>T<strong>; {name}\n" in shown(published(report))
    assert read_references(published(report)).entries[4].text == f"**T**; {name}"


def test_names_on_the_run_are_shown_as_they_are() -> None:
    source = named_report().sources[3].model_copy(update={"title": "a[1] *b*"})
    report = named_report().model_copy(update={"sources": [source]})
    head = run_head(left_out=["a*b*.pdf, [x] c.pdf (broken)"])

    assert "Left out of the documents: a*b*.pdf, [x] c.pdf (broken)" in shown(head_markdown(head, "en"))
    assert [*map(shown, named_sources(report, [source.url], "en"))] == ["[1] a[1] *b*"]


def test_a_reference_is_one_line_with_the_pages_or_headings_that_are_cited() -> None:
    headings = ("[1] *args*", "", "B", "[1] *args*", "C", "D")
    passages = [Passage(id=str(at), url="u", title="T", heading=each) for at, each in enumerate(headings)]
    lines = [PublishedLine("", "", [PublishedMark(2, passages), PublishedMark(1, passages[1:3])])]

    text = published_markdown(finished_report(), "", "en", lines=lines, folders=[Path("/home/ann/My notes")])

    one, two, *_ = shown(text).partition("\nReferences\n")[2].split("\n")
    assert one == "<strong>Title a<strong>; A. Weiss, Karo Tanaka; 2023-01-04; B; https://a.example/page"
    assert two == "<strong>Title c<strong>; damping.md › [1] *args*, B, C, …"


def test_a_name_without_signs_and_an_address_of_the_web_are_printed_letter_by_letter() -> None:
    urls = ["file:///docs/order_brief-2026_09 (R&D) %232.md", "https://a.example/a_*b*_[c]?x=1&amp=2"]
    report = named_report()
    sources = [report.sources[0].model_copy(update={"url": url}) for url in urls]

    text = published(report.model_copy(update={"sources": sources}))

    assert "; order_brief-2026_09 (R&D) #2.md\n" in text
    assert "; https://a.example/a_*b*_[c]?x=1&amp=2\n" in text


def test_what_others_wrote_in_brackets_stays_where_their_references_are_no_files() -> None:
    text = "It hums [see 3 below], [3を参照] [1]."

    assert read_references(f"{text}\n\n## References\n\n1. Wind. https://a.example/x\n").body == text


@pytest.mark.parametrize("begin", ["<!DOCTYPE html>\n<html>", '\n<html lang="en">'])
def test_a_page_of_html_is_refused_with_what_to_give(begin: str) -> None:
    with pytest.raises(InputError, match=r"a page of HTML: give it in Markdown, as report\.md"):
        submission_of_text(f"{begin}<body><p>It hums [1].</p></body></html>", "Why?")


def test_a_0_in_brackets_is_no_mark_and_stays() -> None:
    text = "It lies in [0, 1], and x[0] is its first [1].\n\n## References\n\n1. Wind. https://a.example/x\n"

    (statement,) = read_draft(text).draft.sections[0].statements()

    assert statement.text == "It lies in [0, 1], and x[0] is its first."
    assert statement.passages == ["https://a.example/x"]


def test_brackets_that_name_no_reference_stay_as_they_are() -> None:
    text = "It hums [prices.csv; unknown.txt], [sic] and [prices.csv](a)."

    assert read_references(f"{text}\n\n## References\n\n1. **P**\n   - URL: prices.csv\n").body == text


def test_an_interval_that_the_references_do_not_have_is_no_range_of_marks() -> None:
    text = "It hums at [10-20] Hz [1], or falls [1, 20-10], between [0, 1] and [0,1]."

    assert read_references(f"{text}\n\n## References\n\n1. Wind. https://a.example/x").body == text


def test_a_report_of_contend_is_read_without_what_it_says_of_its_run() -> None:
    report = finished_report()
    markdown = f"{report.to_markdown()}\n\n{head_markdown(run_head(), 'en')}\n"

    submission = submission_of_text(markdown, report.theme)

    assert "Winner" not in submission.content
    assert "Generated at" not in submission.content
    assert len(submission.results) == len(report.sources)
    assert check_validity(submission.report, {one.url for one in submission.results}) == (2, 2, [])


def test_findings_in_a_numbered_list_are_no_references() -> None:
    text = "# Hum\n\n1. Wind does it, see https://a.example/x.\n2. So says https://b.example/y.\n"

    submission = submission_of_text(text, "Why do bridges hum?")

    assert "Wind does it" in submission.report.detailed_analysis
    assert check_validity(submission.report, {one.url for one in submission.results}).unknown == []


def test_headings_rulers_and_table_lines_of_a_text_are_no_statements() -> None:
    text = "# Hum\n\n## Wind\n\nIt hums [1].\n\n- It sings.\n\n| Bridge | Tone |\n| --- | --- |\n| Kolby | 280 Hz |\n"

    draft = submission_of_text(text, "Why do bridges hum?").draft

    assert {each.text for each in draft.sentences()} == {"It hums.", "It sings.", "Bridge: Kolby; Tone: 280 Hz"}
    assert [section.heading for section in draft.sections] == ["Wind"]


@given(st.text(alphabet="#*[]^1.:- \nabhttps://x`", max_size=200).filter(str.strip))
def test_any_text_can_be_read(text: str) -> None:
    assert read_references(text).body
