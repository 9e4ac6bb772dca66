"""The page of a report and its appendix: nothing on it runs or loads."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from contend.models.record import Language
from contend.models.research import CitedSentence, Passage, Refutation, Section, Table, TableRow
from contend.models.task import RunUsage
from contend.report import (
    LedgerStatement,
    PublishedLine,
    PublishedMark,
    PublishedReport,
    build_report,
    head_markdown,
    published_lines,
    to_html,
    with_ledger,
)
from fakes.reports import FILLER, NOON, build, draft, finished_report, passage, run_head, sentence, source


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_appendix_tells_what_run_it_was(language: Language, snapshot: SnapshotAssertion) -> None:
    assert head_markdown(run_head(), language) == snapshot


@pytest.mark.parametrize(
    ("language", "message"), [("en", "Published unscored: Scout"), ("ja", "未採点のまま公開：Scout")]
)
def test_without_a_score_nobody_is_called_the_winner(language: Language, message: str) -> None:
    assert f"- {message}\n" in head_markdown(run_head(best_score=None), language)


@pytest.mark.parametrize(
    ("language", "fact"),
    [
        ("en", "- Published: editor's merge (91.5/100); best team: Scout (87.3/100)"),
        ("ja", "- 公開：編集者の統合レポート（91.5/100）、最良のチームはScout（87.3/100）"),
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

    assert re.sub(r"<(style|script)>.*?</\1>| script-src '[^']+';", "", page, flags=re.DOTALL) == snapshot


def test_a_japanese_page_says_at_its_head_in_japanese_why_a_source_was_off() -> None:
    head = run_head(sources_off={"tavily": "TAVILY_API_KEY is not set"})
    at_head = to_html(finished_report("ja"), head, "ja").partition('<section class="report">')[0]

    assert "tavily (TAVILY_API_KEY が設定されていない)" in at_head


def test_a_page_names_its_language_and_loads_nothing() -> None:
    page = to_html(finished_report("ja"), run_head(), "ja")

    assert '<html lang="ja">' in page
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" in page
    assert not re.search(r"<(?:link|img|iframe|object)\b|\bsrc=|@import|url\(", page)
    assert page.count("<script") == 1


def test_every_mark_on_the_page_leads_to_its_source_and_back() -> None:
    page = to_html(finished_report(), run_head(), "en")

    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    assert re.findall(r'id="source-(\d)"', page) == ["1", "2"]


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
    assert 'href="#source-4" title="Title d"' in page
    assert re.search(r'<a href="#source-2" title="Title a; Title c" class="cite" id="cite-2"[^>]*>–</a>', page)
    assert re.findall(r'class="back" href="#cite-(\d)"', page) == ["1", "2", "2", "4"]
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


def test_a_local_document_is_linked_and_named_by_its_path_in_its_folder() -> None:
    page = to_html(finished_report(), run_head(), "en", folders=[Path("/home/ann/My notes")])

    link = 'href="file:///home/ann/My%20notes/damping.md" rel="nofollow noopener noreferrer">damping.md</a>'
    assert link in page
    assert page.count("file:") == 1


def test_a_reference_shows_the_passages_that_are_cited() -> None:
    passages = [Passage(id=text, url="u", title="T", heading="p. 3", text=text) for text in ("It hums & sings.", "<b>")]
    lines = [PublishedLine("", "", [PublishedMark(1, [each])]) for each in passages]

    page = to_html(finished_report(), run_head(), "en", lines=lines)

    assert "<summary><strong>p. 3</strong> It hums &amp; sings.</summary>" in page
    assert "<blockquote>&lt;b&gt;</blockquote>" in page
    assert ' · <a class="path" href="https://a.example/page"' in page.partition('<span class="about">p. 3</span>')[2]


def test_what_was_read_and_is_not_cited_is_a_number_on_the_page() -> None:
    page = to_html(finished_report(), run_head(), "en")

    assert '</ol><p class="about">1 more document was read and not cited.</p>' in page
    assert "Slats" not in page


PLANT = "The plant stands in Kolby. It makes **4,200 units** a month. Nobody counts them. It opened in 1987."
STATEMENTS = [
    CitedSentence(text="It makes 4,200 units a month.", passages=["a"], quotes=["makes 4,200 units a month"]),
    CitedSentence(text="That is 175 an hour.", passages=["a"], kind="derived", basis="4200 / 24"),
    CitedSentence(text="**Hire** five more & wait.", kind="judgement"),
    CitedSentence(text="Its profit is not told.", kind="not_found", basis="2: profit of the plant"),
    CitedSentence(
        text="It opened in 1987 or not.", passages=["a"], quotes=["opened in 1987", "Kolby"], kind="disputed"
    ),
]


def published_page(statements: Sequence[CitedSentence], *, doubts: Mapping[str, str], text: str = PLANT) -> str:
    """The page of a report that says this, and cites one passage."""
    table = Table(columns=["Plant", "Units"], rows=[TableRow(cells=["Kolby", "4,200"], passages=["a"])])  # type: ignore[list-item]  # validated
    made = draft(summary=[*statements]).model_copy(update={"sections": [Section(heading="Plant", blocks=[table])]})
    passages = [passage("a").model_copy(update={"text": text, "heading": "p. 3", "read_at": "2026-01-02T12:00:00Z"})]
    report = build_report(made, passages, [source("a")], theme="Why?", language="en", generated_at=NOON)
    lines = published_lines(made, passages, [source("a")])
    printed = {each.statement for each in lines}
    ledger = with_ledger(report, made, passages, question="Why?", printed=printed, doubts=doubts, judged=printed)
    return to_html(ledger, run_head(), "en", lines=lines)


def test_each_statement_of_the_page_has_its_proof() -> None:
    page = published_page(STATEMENTS, doubts={STATEMENTS[2].text: "who says so?"})

    proofs = dict(re.findall(r'<aside class="proof" id="proof-([^"]+)" role="tooltip">(.*?)</aside>', page))
    assert "Quoted" in proofs["summary-1"]
    assert '[1] Title a › p. 3 <span class="read">read 2026-01-02</span>' in proofs["summary-1"]
    quote = "The plant stands in Kolby. It <mark>makes **4,200 units** a month</mark>. Nobody counts them."
    assert f"<blockquote>{quote} …</blockquote>" in proofs["summary-1"]
    assert "<code>4200 / 24 = 175</code>" in proofs["summary-2"]
    assert "<blockquote>… It makes **<mark>4,200</mark> units** a month. …</blockquote>" in proofs["summary-2"]
    assert 'judgement</p><p class="caution">To check: who says so?</p>' in proofs["summary-3"]
    assert "Searched for: profit of the plant" in proofs["summary-4"]
    assert '<p class="kind">Sources disagree</p>' in proofs["summary-5"]
    assert "<mark>Kolby</mark>" in proofs["summary-5"]
    assert "<mark>opened in 1987</mark>" in proofs["summary-5"]
    assert re.findall(r'aria-describedby="proof-([^"]+)"', page) == [*proofs]
    assert re.search(r'<tr (?=[^>]*class="s")(?=[^>]*tabindex="0")[^>]*aria-describedby="proof-1-1-1"', page)
    assert 'tabindex="0" aria-describedby="proof-summary-3"><strong>Hire</strong> five more &amp; wait' in page
    filters = re.findall(r'data-filter="(\w+)" aria-pressed="false">[\w ]+ <span>(\d)</span>', page)
    assert filters == [("calculated", "1"), ("judgement", "1"), ("not_found", "1"), ("disputed", "1"), ("doubted", "1")]
    # Its style hides them in print and without a script.
    assert re.search(
        r'<div (?=[^>]*class="filters")(?=[^>]*role="group")[^>]*aria-label="Point out">Point out <b', page
    )


def test_a_statement_that_is_struck_out_has_its_proof_too() -> None:
    wrong = CitedSentence(text="It makes 9 units.", passages=["a"], refuted=[Refutation(rule="figure", detail="9")])
    report = finished_report().model_copy(update={"detailed_analysis": "~~It makes 9 units[1].~~ ⚠ Rest."})
    statement = LedgerStatement(place="1.1.1", text=wrong.text, says=wrong.text, kind="stated", refuted=wrong.refuted)
    ledger = PublishedReport(**report.model_dump(), statements=[statement])

    page = to_html(ledger, run_head(), "en", lines=[PublishedLine(wrong.text, "It makes 9 units[1].", [], "1.1.1")])

    assert re.search(
        r'aria-describedby="proof-1-1-1"><s>It makes 9 units<a [^>]+>\[1\]</a>\.</s> ⚠</span> Rest\.', page
    )


def test_excerpts_of_a_long_passage_stay_short() -> None:
    page = published_page(STATEMENTS[:1], doubts={}, text=f"{'It rained all day in Kolby. ' * 200}{PLANT}")

    (proof,) = re.findall(r'id="proof-summary-1" role="tooltip">(.*?)</aside>', page)
    assert "<mark>makes **4,200 units** a month</mark>" in proof
    assert len(proof) < 900


def test_the_theme_is_text_on_the_page() -> None:
    page = to_html(
        finished_report().model_copy(update={"theme": "</title><script>alert(1)</script>"}), run_head(), "en"
    )

    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert page.count("<script") == 1


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
    statements = [CitedSentence(text=attack, passages=["a"], kind="derived", basis=f"4200 / 21; {attack}")]
    check_inert(published_page([STATEMENTS[0], *statements], doubts={attack: attack}, text=f"{PLANT} {attack}"))


def check_inert(page: str) -> None:
    assert page.count("<script") == 1
    tags = re.findall(r"<[a-z][^>]*>", page.partition("<script>")[0])
    assert not [tag for tag in tags if re.match(r"<(?:script|img|form|iframe|object|svg)\b", tag)]
    assert not [tag for tag in tags if re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', tag))]
    links = re.findall(r'\shref="([^"]*)"', "".join(tags))
    assert not [link for link in links if not re.match(r"#(?:source|cite)-\d+$|#about-run$|https?://[a-z]", link)]
    assert page.count("</main>") == 1


def test_a_report_keeps_its_links_to_the_web() -> None:
    linked = finished_report().model_copy(update={"detailed_analysis": "See [here](https://a.example/x)."})

    assert '<a href="https://a.example/x"' in to_html(linked, run_head(), "en")
