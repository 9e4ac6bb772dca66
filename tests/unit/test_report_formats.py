"""Reports as Markdown, read back from it, and exported."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from contend.models.record import Language
from contend.models.research import ResearchReport
from contend.report import (
    build_report,
    head_markdown,
    parse_report,
    to_bibtex,
    to_json,
)
from fakes.reports import FILLER, build, draft, finished, passage, run_head, said, source


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_reads_as_markdown(language: Language, snapshot: SnapshotAssertion) -> None:
    assert finished(language).to_markdown(language) == snapshot


def test_sources_that_nothing_cites_are_listed_as_also_read() -> None:
    references = build(draft(findings=[said("It hums.", "b")])).to_markdown().partition("## References")[2]

    assert re.findall(r"^(\d)\. |^### (.+)$", references, re.MULTILINE) == [
        ("1", ""), ("2", ""), ("", "Also read"), ("3", ""),
    ]  # fmt: skip


def test_a_report_that_cites_nothing_lists_all_its_sources_as_references() -> None:
    report = finished().model_copy(
        update={"executive_summary": FILLER, "key_findings": ["It is `x[1]`."], "detailed_analysis": FILLER * 2}
        | {"constraints_and_challenges": ""}
    )

    assert "Also read" not in report.to_markdown()


@pytest.mark.parametrize(
    ("folders", "shown"),
    [
        (["/home/ann/My notes"], "damping.md"),
        (["/home/ann"], "My notes/damping.md"),
        (["/home/ann/My notes/damping.md"], "damping.md"),
        (["/home/ann/My notes", "/home/ann/other"], "My notes/damping.md"),
        (["/home/bob"], "file:///home/ann/My%20notes/damping.md"),
    ],
)
def test_a_local_document_is_named_by_its_path_in_its_folder(folders: list[str], shown: str) -> None:
    assert f"   - URL: {shown}\n" in finished().to_markdown(folders=[*map(Path, folders)])


def test_a_title_loses_its_anchor() -> None:
    anchored = source("a", title="How to set up {#setup}")

    assert (
        build_report(draft(), [passage("a")], [anchored], theme="Why?", language="en").sources[0].title
        == "How to set up"
    )


def test_a_report_without_constraints_has_no_such_section() -> None:
    assert "Constraints" not in build(draft()).to_markdown()


def test_the_last_line_of_a_report_is_its_time() -> None:
    assert finished().to_markdown().split("\n")[-1] == "*Generated at: 2026-01-02 12:00:00 UTC*"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_is_read_back_from_its_markdown(language: Language) -> None:
    report = finished(language)
    markdown = f"{report.to_markdown(language)}\n\n{head_markdown(run_head(), language)}"

    assert parse_report(markdown, theme=report.theme, sources=report.sources) == report


def test_a_foreign_report_brings_its_own_references() -> None:
    markdown = (
        f"Here it is.\n\n## 1. Executive summary\n{FILLER} [1].\n\n## Background\nBridges are old.\n\n"
        f"### Key Findings:\n- It hums\n  in wind [2].\n\n## **Detailed Analysis**\n{FILLER} [1].\n\n"
        "## References\n[1] Wind and cables. https://wind.example/a.\n[2] [Humming](https://hum.example/b)\n"
    )

    report = parse_report(markdown, theme="Why?")

    assert report is not None
    assert [(one.title, one.url) for one in report.sources] == [
        ("Wind and cables", "https://wind.example/a"),
        ("Humming", "https://hum.example/b"),
    ]
    assert report.key_findings == ["It hums in wind [2]."]
    assert report.detailed_analysis == f"### Background\n\nBridges are old.\n\n{FILLER} [1]."


def test_a_foreign_reports_entry_is_the_retrieved_source_of_that_address() -> None:
    markdown = build(draft(), names="ba").to_markdown()

    report = parse_report(markdown, theme="Why?", sources=[source("c"), source("a")])

    assert report is not None
    assert [one.summary for one in report.sources] == ["Summary of a.", "Title b", "Summary of c."]


@pytest.mark.parametrize(
    "markdown",
    [
        "",
        "Bridges hum.",
        "# Bridges\n\n## Summary of things\n\nThey hum.",
        f"## Executive Summary\n\n{FILLER}\n\n## Key Findings\n\n1. It hums.",
        f"## Executive Summary\n{FILLER}\n## Key Findings\n- x\n## Detailed Analysis\n{FILLER}\n## References\n- Me",
    ],
)
def test_markdown_that_holds_no_report_gives_none(markdown: str) -> None:
    assert parse_report(markdown, theme="Why?") is None


def test_html_of_a_foreign_report_is_text() -> None:
    markdown = finished().to_markdown().replace("It is loud.", "It is <img src=x onerror=alert(1)> loud <https://a.b>.")

    report = parse_report(markdown, theme="Why?")

    assert report is not None
    assert report.key_findings[1] == r"It is \<img src=x onerror=alert(1)> loud https://a.b."


@given(st.text(alphabet="#*[]1.- \nabhttps://x<>`|=", max_size=300))
def test_any_markdown_gives_a_report_or_none(markdown: str) -> None:
    assert parse_report(markdown, theme="Why?") is None


def test_json_loads_again_as_the_report() -> None:
    assert ResearchReport.model_validate_json(to_json(finished())) == finished()


def test_sources_are_exported_as_bibtex(snapshot: SnapshotAssertion) -> None:
    assert to_bibtex(finished()) == snapshot


def test_bibtex_escapes_what_tex_would_run() -> None:
    hostile = source("a", title=r"\input{x} & 100% $y_1$ #~^", authors=["Smith and Sons", "Doe, J."])

    entry = to_bibtex(finished().model_copy(update={"sources": [hostile]}))

    escaped = r"\textbackslash{}input\{x\} \& 100\% \$y\_1\$ \#\textasciitilde{}\textasciicircum{}"
    assert f"  title = {{{{{escaped}}}}}," in entry
    assert "  author = {{Smith and Sons} and {Doe, J.}}," in entry


def test_bibtex_keys_are_those_of_the_source_wherever_it_stands() -> None:
    one, other = source("a", authors=["Jürgen Müller"], published_date="2023-01-04"), source("b")
    keys = [
        re.findall(r"@misc\{([^,]+),", to_bibtex(finished().model_copy(update={"sources": order})))
        for order in ([one, other], [other, one])
    ]

    assert keys[0] == keys[1][::-1]
    assert keys[0][0].startswith("muller2023-")
