"""The page of a report and its appendix: nothing on it runs or loads."""

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from contend.checks import citation_numbers
from contend.models.record import Language
from contend.models.research import Passage, Section, Table, TableCell, TableRow
from contend.models.task import RunUsage
from contend.report import (
    PublishedLine,
    PublishedMark,
    ReportEvidence,
    build_report,
    head_markdown,
    published_lines,
    to_html,
)
from fakes.reports import FILLER, NOON, build, draft, finished_report, run_head, sentence, source


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_appendix_tells_what_run_it_was(language: Language, snapshot: SnapshotAssertion) -> None:
    assert head_markdown(run_head(), language) == snapshot


@pytest.mark.parametrize(
    ("language", "message"), [("en", "Published unscored: Scout"), ("ja", "未採点のまま掲載：Scout")]
)
def test_without_a_score_nobody_is_called_the_winner(language: Language, message: str) -> None:
    assert f"- {message}\n" in head_markdown(run_head(best_score=None), language)


@pytest.mark.parametrize(
    ("language", "fact"),
    [
        ("en", "- Published: editor's merge (91.5/100); best team: Scout (87.3/100)"),
        ("ja", "- 公開：編集者の統合レポート（91.5/100）、最良のチーム: Scout（87.3/100）"),
    ],
)
def test_the_editors_merge_is_nobodys_win(language: Language, fact: str) -> None:
    head = run_head(published="editor", published_score=0.915)

    assert f"{fact}\n" in head_markdown(head, language)
    assert "Winner" not in to_html(finished_report(language), head, language)


def test_an_unknown_cost_is_shown_as_unknown() -> None:
    assert "(cost unknown)" in head_markdown(run_head(usage=RunUsage(cost_usd=None)), "en")


def test_a_team_name_cannot_break_the_appendix() -> None:
    hostile = run_head(winner="Scout\n## References <script>alert(1)</script>")

    assert "- Winner: Scout ## References (87.3/100)\n" in head_markdown(hostile, "en")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_is_shown_as_a_page(language: Language, snapshot: SnapshotAssertion) -> None:
    page = to_html(finished_report(language), run_head(), language)

    assert re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL) == snapshot


def test_a_page_names_its_language_and_loads_nothing() -> None:
    page = to_html(finished_report("ja"), run_head(), "ja")

    assert '<html lang="ja">' in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"<(?:script|link|img|iframe|object)\b|\bsrc=|@import|url\(", page)


def test_every_mark_on_the_page_leads_to_its_source_and_back() -> None:
    page = to_html(finished_report(), run_head(), "en")

    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    assert re.findall(r'id="source-(\d)"', page) == ["1", "2", "3"]


@pytest.mark.parametrize("own_headings", [False, True])
def test_references_stand_behind_the_words_on_the_run_where_the_reader_lays_the_report_out(own_headings: bool) -> None:
    page = to_html(finished_report().model_copy(update={"own_headings": own_headings}), run_head(), "en")

    places = [page.index(part) for part in ('class="references"', "Generated at", 'class="about-run"')]
    assert sorted(places) == (places if not own_headings else [places[2], *places[:2]])


def test_the_names_of_files_that_a_reader_asks_for_end_the_report_on_its_page_too() -> None:
    report = finished_report().model_copy(update={"own_headings": True, "sources_by_name": True})

    page = to_html(report, run_head(), "en", folders=[Path("/home/ann/My notes")])

    names = "<h2>Sources</h2><ol><li>https://a.example/page</li><li>damping.md</li></ol>"
    assert re.sub(r"\s*\n\s*", "", page).partition('<section class="about-run">')[0].endswith(names)
    assert "<h2>Sources</h2>" not in to_html(report.model_copy(update={"sources_by_name": False}), run_head(), "en")


def test_marks_in_a_row_are_a_range_on_the_page_that_leads_to_each_end_and_back_from_every_source() -> None:
    report = build(draft(summary=[sentence("It hums.", "b"), sentence("It sings.", "a", "b", "c", "d")]), names="abcd")

    page = to_html(report, run_head(), "en")

    text = re.sub(r"<[^>]+>", "", page.partition("Executive Summary")[2])
    assert "It hums[1]. It sings[1–4]." in text
    assert 'href="#source-4" title="Title d — Summary of d."' in page
    dash = re.search(r'<a href="#source-2" title="([^"]+)" class="cite" id="cite-2"[^>]*>–</a>', page)
    assert dash
    assert dash[1] == "Title a — Summary of a.\n\nTitle c — Summary of c."
    assert re.findall(r'class="back" href="#cite-(\d)"', page) == ["1", "2", "2", "4"]
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


def test_a_mark_on_the_page_shows_the_sources_title_and_summary() -> None:
    assert 'title="Title a — Summary of a."' in to_html(finished_report(), run_head(), "en")


def test_a_local_document_is_linked_and_named_by_its_path_in_its_folder() -> None:
    page = to_html(finished_report(), run_head(), "en", folders=[Path("/home/ann/My notes")])

    link = 'href="file:///home/ann/My%20notes/damping.md" rel="nofollow noopener noreferrer">damping.md</a>'
    assert link in page
    assert page.count("file:") == 1


def lines_of(*passages: str) -> list[PublishedLine]:
    """The lines of `finished`, in which the first source has these passages."""
    behind = [Passage(id=text, url="u", title="Title a", heading="p. 3", text=text) for text in passages]
    report = finished_report()
    numbers = citation_numbers(report)
    return [
        PublishedLine("", "", [PublishedMark(number, [behind[place % len(behind)]] if number == 1 else [])])
        for place, number in enumerate(numbers)
    ]


def test_each_mark_shows_the_passage_that_it_rests_on_and_the_reference_shows_all() -> None:
    page = to_html(finished_report(), run_head(), "en", lines=lines_of("It hums & sings.", "<b>Wind</b>"))

    tooltips = re.findall(r'href="#source-1" title="([^"]+)" class="cite"', page.partition("</header>")[2])
    assert tooltips[:2] == ["Title a — p. 3: It hums &amp; sings.", "Title a — p. 3: &lt;b&gt;Wind&lt;/b&gt;"]
    assert "<summary><strong>p. 3</strong> It hums &amp; sings.</summary>" in page
    assert "<blockquote>&lt;b&gt;Wind&lt;/b&gt;</blockquote>" in page


def test_each_mark_of_a_cell_shows_the_passage_of_that_cell_on_the_page_and_in_the_evidence() -> None:
    passages = [
        Passage(id=f"{name}-{part}", url=source(name).url, title=f"Title {name}", text=f"{part} of {name}.")
        for name in "ab"
        for part in ("One", "Two")
    ]
    passages_of_cells = (["b-Two", "a-One"], ["a-Two"], ["b-One"])
    cells = [TableCell(text=f"{number} Hz", passages=[*each]) for number, each in enumerate(passages_of_cells)]
    table = Table(columns=["West", "East", "North"], rows=[TableRow(cells=cells, passages=["a-One", "a-Two"])])
    section = Section(heading="Hum", blocks=[table])
    report_draft = draft(summary=[sentence("It hums.", "b-One")]).model_copy(update={"sections": [section]})
    results = [source(name) for name in "ab"]
    report = build_report(report_draft, passages, results, theme="Why?", language="en", generated_at=NOON)
    lines = published_lines(report_draft, passages, results)

    page = to_html(report, run_head(), "en", lines=lines)
    evidence = ReportEvidence.of(report, "en", lines, doubts={}, folders=[])

    assert "| 0 Hz[1][2] | 1 Hz[2] | 2 Hz[1] |" in report.detailed_analysis
    behind = [(1, "Two of b."), (2, "One of a."), (2, "Two of a."), (1, "One of b.")]
    row = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r'href="#source-(\d)" title="Title \w — ([^"]+)"', row) == [(str(n), text) for n, text in behind]
    marks = [mark for mark in evidence.marks if mark.sentence == "0 Hz[1,2] | 1 Hz[2] | 2 Hz[1]"]
    assert [(mark.number, mark.passages[0].text) for mark in marks] == behind


def test_evidence_of_an_earlier_release_that_names_files_in_marks_is_read() -> None:
    report = finished_report()
    evidence = json.loads(ReportEvidence.of(report, "en", [], doubts={}, folders=[]).model_dump_json())
    for mark in evidence["marks"]:
        mark["label"] = "a.txt"

    assert len(ReportEvidence.model_validate(evidence).marks) == len(citation_numbers(report))


def test_the_evidence_shows_a_sentence_with_its_marks_as_the_report_does_and_finds_what_is_doubtful_in_it() -> None:
    urls = [f"file:///docs/{letter}.txt" for letter in "abc"]
    results = [source("a").model_copy(update={"source": "local", "url": url}) for url in urls]
    passages = [Passage(id=url, url=url, title="T", text="It hums.") for url in urls]
    report_draft = draft(summary=[sentence("It hums.", *urls)])
    report = build_report(report_draft, passages, results, theme="Why?", language="en", generated_at=NOON)
    lines = published_lines(report_draft, passages, results)

    doubts = {"It hums[1][2][3].": "no wind"}
    evidence = ReportEvidence.of(report, "en", lines, doubts=doubts, folders=[Path("/docs")])

    assert (evidence.marks[0].sentence, evidence.marks[0].doubt) == ("It hums[1–3].", "no wind")


def test_where_a_person_has_edited_the_report_a_mark_shows_all_passages_of_its_source() -> None:
    page = to_html(finished_report(), run_head(), "en", lines=lines_of("It hums.", "It sings.")[1:])

    assert 'title="Title a — p. 3: It sings.\n\np. 3: It hums."' in page


def test_sources_that_nothing_cites_stand_apart_on_the_page() -> None:
    page = to_html(finished_report(), run_head(), "en")

    references, _, also_read = page.partition("<h3>Also read</h3>")
    assert re.findall(r'id="source-(\d)"', references) == ["1", "2"]
    assert '<ol start="3"><li id="source-3"><strong>Slats &amp; rails</strong>' in also_read


def test_the_theme_is_text_on_the_page() -> None:
    page = to_html(
        finished_report().model_copy(update={"theme": "</title><script>alert(1)</script>"}), run_head(), "en"
    )

    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert "<script" not in page


HOSTILE_MARKDOWN = [
    "<script>alert(1)</script>",
    "<img src=https://evil.example/x onerror=alert(1)>",
    "![x](https://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "[x](//evil.example/x)",
    "[x](data:text/html;base64,PHN2Zz4=)",
    "[x](file:///etc/passwd)",
    "</section></main></body><form action=//evil.example>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://ok.example "onmouseover=alert(1)")',
    "<a href='&#106;avascript:alert(1)'>x</a>",
]


@pytest.mark.parametrize("attack", HOSTILE_MARKDOWN)
def test_hostile_text_is_inert_on_the_page(attack: str) -> None:
    hostile = finished_report().model_copy(
        update={
            "executive_summary": f"{FILLER} {attack}",
            "detailed_analysis": f"{FILLER}\n\n{attack}\n\n{FILLER}",
            "sources": [source("a", title=attack[:100], summary=attack)],
        }
    )
    head = run_head(winner=attack, notes=[attack], unverified=[attack], sources_off={attack: attack}, places=[attack])
    behind = Passage(id="1", url="u", title=attack[:100], heading=attack, text=attack)

    check_inert(to_html(hostile, head, "en", lines=[PublishedLine("", "", [PublishedMark(1, [behind])])]))


def check_inert(page: str) -> None:
    tags = re.findall(r"<[a-z][^>]*>", page)
    assert not [tag for tag in tags if re.match(r"<(?:script|img|form|iframe|object|svg)\b", tag)]
    assert not [tag for tag in tags if re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', tag))]
    links = re.findall(r'\shref="([^"]*)"', "".join(tags))
    assert not [link for link in links if not re.match(r"#(?:source|cite)-\d+$|#about-run$|https?://[a-z]", link)]
    assert page.count("</main>") == 1


def test_a_report_keeps_its_links_to_the_web() -> None:
    linked = finished_report().model_copy(update={"detailed_analysis": "See [here](https://a.example/x)."})

    assert '<a href="https://a.example/x"' in to_html(linked, run_head(), "en")
