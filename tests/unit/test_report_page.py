"""The page of a report and its appendix: nothing on it runs or loads."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from contend.models.record import Language
from contend.models.task import RunUsage
from contend.report import (
    head_markdown,
    markdown_to_html,
    to_html,
)
from fakes.reports import FILLER, finished, run_head, source


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_appendix_tells_what_run_it_was(language: Language, snapshot: SnapshotAssertion) -> None:
    assert head_markdown(run_head(), language) == snapshot


@pytest.mark.parametrize(("language", "said"), [("en", "Published unscored: Scout"), ("ja", "未採点のまま掲載：Scout")])
def test_without_a_score_nobody_is_called_the_winner(language: Language, said: str) -> None:
    assert f"- {said}\n" in head_markdown(run_head(best_score=None), language)


def test_an_unknown_cost_is_shown_as_unknown() -> None:
    assert "(cost unknown)" in head_markdown(run_head(usage=RunUsage(cost_usd=None)), "en")


def test_a_team_name_cannot_break_the_appendix() -> None:
    hostile = run_head(winner="Scout\n## References <script>alert(1)</script>")

    assert "- Winner: Scout ## References (87.3/100)\n" in head_markdown(hostile, "en")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_is_shown_as_a_page(language: Language, snapshot: SnapshotAssertion) -> None:
    page = to_html(finished(language), run_head(), language)

    assert re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL) == snapshot


def test_a_page_names_its_language_and_loads_nothing() -> None:
    page = to_html(finished("ja"), run_head(), "ja")

    assert '<html lang="ja">' in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"<(?:script|link|img|iframe|object)\b|\bsrc=|@import|url\(", page)


def test_every_mark_on_the_page_leads_to_its_source_and_back() -> None:
    page = to_html(finished(), run_head(), "en")

    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    assert re.findall(r'id="source-(\d)"', page) == ["1", "2", "3"]


def test_a_mark_on_the_page_shows_the_sources_title_and_summary() -> None:
    assert 'title="Title a — Summary of a."' in to_html(finished(), run_head(), "en")


def test_a_local_document_is_shown_as_a_path_without_a_link() -> None:
    page = to_html(finished(), run_head(), "en")

    assert '<span class="path">/home/ann/My notes/damping.md</span>' in page
    assert "file:" not in page


def test_the_theme_is_text_on_the_page() -> None:
    page = to_html(finished().model_copy(update={"theme": "</title><script>alert(1)</script>"}), run_head(), "en")

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
    hostile = finished().model_copy(
        update={
            "executive_summary": f"{FILLER} {attack}",
            "detailed_analysis": f"{FILLER}\n\n{attack}\n\n{FILLER}",
            "sources": [source("a", title=attack[:100], summary=attack)],
        }
    )
    head = run_head(winner=attack, notes=[attack], unverified=[attack], sources_off={attack: attack})

    check_inert(to_html(hostile, head, "en"))


@pytest.mark.parametrize("attack", HOSTILE_MARKDOWN)
def test_hostile_foreign_markdown_is_inert_on_the_page(attack: str) -> None:
    check_inert(markdown_to_html(f"# Bridges\n\n{attack}", run_head(), theme=attack, language="en"))


def check_inert(page: str) -> None:
    tags = re.findall(r"<[a-z][^>]*>", page)
    assert not [tag for tag in tags if re.match(r"<(?:script|img|form|iframe|object|svg)\b", tag)]
    assert not [tag for tag in tags if re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', tag))]
    links = re.findall(r'\shref="([^"]*)"', "".join(tags))
    assert not [link for link in links if not re.match(r"#(?:source|cite)-\d+$|https?://[a-z]", link)]
    assert page.count("</main>") == 1


def test_foreign_markdown_keeps_its_links_to_the_web() -> None:
    page = markdown_to_html("See [here](https://a.example/x).", run_head(), theme="Why?", language="en")

    assert '<a href="https://a.example/x"' in page
