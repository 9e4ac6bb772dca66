"""Reports as Markdown, read back from it, and exported."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from contend.errors import DraftError
from contend.models.record import Language
from contend.models.research import Passage, ResearchReport
from contend.report import Reference, build_report, head_markdown, read_draft, to_bibtex, to_json
from fakes.reports import FILLER, NOON, build, draft, finished_report, passage, run_head, sentence, source


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_reads_as_markdown(language: Language, snapshot: SnapshotAssertion) -> None:
    assert finished_report(language).to_markdown(language) == snapshot


def test_sources_that_nothing_cites_are_listed_as_also_read() -> None:
    references = build(draft(findings=[sentence("It hums.", "b")])).to_markdown().partition("## References")[2]

    assert re.findall(r"^(\d)\. |^### (.+)$", references, re.MULTILINE) == [
        ("1", ""), ("2", ""), ("", "Also read"), ("3", ""),
    ]  # fmt: skip


def test_a_report_that_cites_nothing_lists_all_its_sources_as_references() -> None:
    report = finished_report().model_copy(
        update={"executive_summary": FILLER, "key_findings": ["It is `x[1]`."], "detailed_analysis": FILLER * 2}
        | {"constraints_and_challenges": ""}
    )

    assert "Also read" not in report.to_markdown()


@pytest.mark.parametrize(
    ("folders", "text"),
    [
        (["/home/ann/My notes"], "damping.md"),
        (["/home/ann"], "My notes/damping.md"),
        (["/home/ann/My notes/damping.md"], "damping.md"),
        (["/home/ann/My notes", "/home/ann/other"], "My notes/damping.md"),
        (["/home/bob"], "file:///home/ann/My%20notes/damping.md"),
    ],
)
def test_a_local_document_is_named_by_its_path_in_its_folder(folders: list[str], text: str) -> None:
    assert f"   - URL: {text}\n" in finished_report().to_markdown(folders=[*map(Path, folders)])


def test_a_title_loses_its_anchor() -> None:
    anchored = source("a", title="How to set up {#setup}")

    assert (
        build_report(draft(), [passage("a")], [anchored], theme="Why?", language="en").sources[0].title
        == "How to set up"
    )


def test_a_report_without_constraints_has_no_such_section() -> None:
    assert "Constraints" not in build(draft()).to_markdown()


def test_the_last_line_of_a_report_is_its_time() -> None:
    assert finished_report().to_markdown().split("\n")[-1] == "*Generated at: 2026-01-02 12:00:00 UTC*"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_report_is_read_back_from_its_markdown(language: Language) -> None:
    report = finished_report(language)
    markdown = f"{report.to_markdown(language)}\n\n{head_markdown(run_head(), language)}"

    reading = read_draft(markdown)

    passages = [Passage(id=one.url, url=one.url, title=one.title) for one in report.sources]
    rebuilt = build_report(
        reading.draft, passages, report.sources, theme=report.theme, language=language, generated_at=NOON
    )
    assert reading.draft.title == report.theme
    assert rebuilt == report


def test_a_foreign_report_brings_its_own_references() -> None:
    markdown = (
        f"Here it is.\n\n## 1. Executive summary\n{FILLER} [1].\n\n## Background\nBridges are old.\n\n"
        f"### Key Findings:\n- It hums\n  in wind [2].\n\n## **Detailed Analysis**\n{FILLER} [1].\n\n"
        "## References\n[1] Wind and cables. https://wind.example/a.\n[2] [Humming](https://hum.example/b)\n"
    )

    reading = read_draft(markdown)

    assert reading.references == {
        "https://wind.example/a": Reference("Wind and cables. https://wind.example/a.", "https://wind.example/a"),
        "https://hum.example/b": Reference("[Humming](https://hum.example/b)", "https://hum.example/b"),
    }
    assert [(each.text, each.passages) for each in reading.draft.findings] == [
        ("It hums in wind.", ["https://hum.example/b"])
    ]
    assert [section.heading for section in reading.draft.sections] == ["", "Background", ""]


def test_only_links_to_the_web_are_citations() -> None:
    reading = read_draft("It hums, see [a study](https://a.example/x_(hum) 'Study'), [below](#more) and ![](img.png).")

    assert list(reading.references) == ["https://a.example/x_(hum)"]
    assert reading.draft.summary[0].text == "It hums, see a study, [below](#more) and ![](img.png)."


@pytest.mark.parametrize("markdown", ["", "# Bridges", "# Bridges\n\n## Summary\n\n---", "[1]"])
def test_markdown_that_says_nothing_is_no_report(markdown: str) -> None:
    with pytest.raises(DraftError):
        read_draft(markdown)


def test_html_of_a_foreign_report_is_text() -> None:
    reading = read_draft("It hums.\n\nIt is <img src=x onerror=alert(1)> loud <b>and clear</b>.")

    text = build_report(reading.draft, [], [], theme="Why?", language="en").detailed_analysis
    assert "<" not in text.replace("\\<", "")


@given(st.text(alphabet="#*[]1.- \nabhttps://x<>`|=", max_size=300))
def test_any_markdown_gives_a_draft_or_says_that_it_is_none(markdown: str) -> None:
    with suppress(DraftError):
        assert read_draft(markdown).draft.findings


def test_json_loads_again_as_the_report() -> None:
    assert ResearchReport.model_validate_json(to_json(finished_report())) == finished_report()


def test_sources_are_exported_as_bibtex(snapshot: SnapshotAssertion) -> None:
    assert to_bibtex(finished_report()) == snapshot


def test_bibtex_escapes_what_tex_would_run() -> None:
    hostile = source("a", title=r"\input{x} & 100% $y_1$ #~^", authors=["Smith and Sons", "Doe, J."])

    entry = to_bibtex(finished_report().model_copy(update={"sources": [hostile]}))

    escaped = r"\textbackslash{}input\{x\} \& 100\% \$y\_1\$ \#\textasciitilde{}\textasciicircum{}"
    assert f"  title = {{{{{escaped}}}}}," in entry
    assert "  author = {{Smith and Sons} and {Doe, J.}}," in entry


def test_bibtex_keys_are_those_of_the_source_wherever_it_stands() -> None:
    one, other = source("a", authors=["Jürgen Müller"], published_date="2023-01-04"), source("b")
    keys = [
        re.findall(r"@misc\{([^,]+),", to_bibtex(finished_report().model_copy(update={"sources": order})))
        for order in ([one, other], [other, one])
    ]

    assert keys[0] == keys[1][::-1]
    assert keys[0][0].startswith("muller2023-")
