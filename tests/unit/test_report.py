"""Reports built from drafts: only code writes citations, headings and addresses."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.citations import citation_numbers
from contend.errors import DraftError
from contend.models.research import CitedSentence, Draft
from contend.report import (
    build_report,
    state_to_report,
)
from fakes.reports import FILLER, build, draft, passage, said, source


def finding(text: str, *passages: str) -> str:
    """How one sentence reads as a finding."""
    return build(draft(findings=[said("First, a plain one.", "a"), said(text, *passages)])).key_findings[1]


def test_a_mark_stands_before_the_full_stop() -> None:
    assert finding("Bridges hum.", "a") == "Bridges hum [1]."


def test_a_japanese_mark_stands_before_its_full_stop_without_a_space() -> None:
    assert finding("橋は風で鳴る。", "a") == "橋は風で鳴る[1]。"


def test_a_sentence_without_a_full_stop_gets_one() -> None:
    assert finding("Bridges hum", "a") == "Bridges hum [1]."


def test_a_sentence_that_rests_on_two_sources_shows_both_in_order() -> None:
    assert finding("Bridges hum!", "b", "a", "b") == "Bridges hum [1][2]!"


def test_a_mark_follows_a_closing_quote() -> None:
    assert finding('She said "it hums."', "a") == 'She said "it hums." [1]'


def test_letters_with_stops_keep_their_last_stop() -> None:
    assert finding("It was seen in the U.S.", "a") == "It was seen in the U.S. [1]."


def test_a_passage_that_no_source_has_is_not_cited() -> None:
    assert finding("Bridges hum.", "nowhere") == "Bridges hum."


def test_cited_sources_come_first_in_the_order_of_their_first_citation() -> None:
    report = build(draft(summary=[said(f"{FILLER}.", "c")], findings=[said("It hums.", "b")]), names="abcd")

    assert [entry.title for entry in report.sources] == ["Title c", "Title b", "Title a", "Title d"]


def test_passages_of_one_page_share_its_number() -> None:
    passages = [passage("a"), passage("a").model_copy(update={"id": "a2"})]
    cited = draft(findings=[said("It hums.", "a2", "a")])

    report = build_report(cited, passages, [source("a"), source("a")], theme="Why?", language="en")

    assert report.key_findings == ["It hums [1]."]
    assert len(report.sources) == 1


def test_a_short_summary_is_filled_with_findings() -> None:
    report = build(draft(summary=[said("It hums.", "a")], findings=[said(f"{FILLER}.", "b")]))

    assert report.executive_summary == f"It hums [1]. {FILLER} [2]."


def test_a_long_summary_loses_whole_sentences_at_its_end() -> None:
    sentences = [said(f"{number} {FILLER}.", "a") for number in range(20)]

    report = build(draft(summary=sentences))

    assert len(report.executive_summary) <= 1000
    assert report.executive_summary.endswith(f"{FILLER} [1].")
    assert report.executive_summary.startswith(f"0 {FILLER} [1]. 1 ")


def test_a_short_analysis_is_filled_with_findings() -> None:
    report = build(draft(analysis=[said("It hums.", "a")], findings=[said(f"{FILLER}.", "a")]))

    assert report.detailed_analysis == f"It hums [1]. {FILLER} [1]."


def test_an_analysis_is_set_in_paragraphs_of_three_or_four_sentences() -> None:
    report = build(draft(analysis=[said(f"{FILLER}, said report {number}.") for number in range(11)]))

    assert [part.count(FILLER) for part in report.detailed_analysis.split("\n\n")] == [3, 4, 4]


def test_a_draft_with_too_little_text_is_refused_with_the_remedy() -> None:
    little = draft(analysis=[said("It hums.")], findings=[said("It hums.")])

    with pytest.raises(
        DraftError, match=r"too little text .* analysis has 8 characters, at least 100 .* add documents"
    ):
        build(little)


def test_a_draft_of_nothing_but_an_address_is_refused() -> None:
    with pytest.raises(DraftError, match="findings"):
        build(draft(findings=[said("https://evil.example/page")]))


def test_notes_by_code_end_the_constraints() -> None:
    report = build(draft(limits=[said("Few sources were open.", "b")]), notes=("arXiv was off: timeout",))

    assert report.constraints_and_challenges == "Few sources were open [2].\n\narXiv was off: timeout."


def test_constraints_over_their_limit_lose_sentences_and_keep_the_notes() -> None:
    report = build(draft(limits=[said(f"{FILLER}.", "a")] * 30), notes=("No language model wrote this.",))

    assert len(report.constraints_and_challenges) <= 2000
    assert report.constraints_and_challenges.endswith(f"{FILLER} [1].\n\nNo language model wrote this.")


def test_japanese_sentences_meet_without_a_space() -> None:
    analysis = [
        said("橋は風で鳴る。" + "風の渦がケーブルを横に押すためである" * 3 + number, "a") for number in "一二三"
    ]

    report = build(draft(analysis=analysis), language="ja")

    assert " " not in report.detailed_analysis
    assert report.detailed_analysis.count("[1]。") == 3


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Bridges hum [3] in wind [1, 2].", "Bridges hum in wind [1]."),
        ("Bridges hum [[1]2] in wind【4†source】.", "Bridges hum in wind [1]."),
        ("Bridges hum &#91;3&#93; in wind \\[3\\].", "Bridges hum in wind [1]."),
        ("Bridges hum [3] in wind [^4].", "Bridges hum in wind [1]."),
        ("橋は風［３］で鳴る。", "橋は風で鳴る[1]。"),
    ],
)
def test_citation_marks_of_a_model_are_taken_out(written: str, shown: str) -> None:
    assert finding(written, "a") == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("# Bridges\n\n- hum.", "Bridges - hum."),
        ("1. Bridges hum.", "Bridges hum."),
        ("Bridges ## References hum.", "Bridges References hum."),
        ("> Bridges hum.", "Bridges hum."),
        ("Bridges `hum.", "Bridges hum."),
        ("[1]: https://evil.example/x Bridges hum.", ": Bridges hum."),
    ],
)
def test_markdown_blocks_of_a_model_are_taken_out(written: str, shown: str) -> None:
    assert finding(written) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Bridges <b>hum</b>.", "Bridges hum."),
        ("Bridges <script>alert(1)</script>hum.", "Bridges hum."),
        ("Bridges <img src=x onerror=alert(1)>hum.", "Bridges hum."),
        ("Bridges &lt;iframe src=x&gt;hum.", "Bridges hum."),
        ("Bridges <scr<b>ipt>hum.", "Bridges hum."),
        ("Bridges hum if a<b.", "Bridges hum if a< b."),
        ("Bridges </div><img src=x onerror=", "Bridges < img src=x onerror=."),
    ],
)
def test_html_of_a_model_is_taken_out(written: str, shown: str) -> None:
    assert finding(written) == shown


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/a?b=[1]",
        "(https://evil.example/a_(b))",
        "[here](https://evil.example)",
        "![here](//evil.example/x.png)",
        "<https://evil.example/a>",
        "www.evil.com",
        "//evil.example/x",
        "evil.com/login",
        "javascript:alert(1)",
        "hthttp://x.ytp://evil.example",
        "data:text/html,evil",
    ],
)
def test_an_address_that_no_source_has_does_not_survive(address: str) -> None:
    shown = finding(f"Bridges hum {address} in wind.")

    assert "evil" not in shown
    assert "//" not in shown
    assert "script" not in shown


def test_an_address_of_a_source_stays() -> None:
    assert finding("Read https://b.example/page.", "b") == "Read https://b.example/page [2]."


def test_a_title_with_html_and_links_is_made_plain() -> None:
    hostile = source("a", title="Bridges\n<script>alert(1)</script> [hum](javascript:alert(1))")

    report = build_report(draft(), [passage("a")], [hostile], theme="Why?", language="en")

    assert report.sources[0].title == "Bridges hum"


HOSTILE = st.text(alphabet="ab1[]()<>/#`:.&;\\!*_^ \n［］１。橋", max_size=40)
SENTENCES = st.lists(
    st.builds(CitedSentence, text=HOSTILE.filter(str.strip), passages=st.lists(st.sampled_from("abcdz"), max_size=3)),
    max_size=6,
)


@given(summary=SENTENCES, findings=SENTENCES, analysis=SENTENCES, limits=SENTENCES)
def test_every_mark_is_an_entry_of_the_sources(
    summary: list[CitedSentence],
    findings: list[CitedSentence],
    analysis: list[CitedSentence],
    limits: list[CitedSentence],
) -> None:
    shipped = draft()
    report = build(
        Draft(
            summary=[*summary, *shipped.summary],
            findings=[*findings, *shipped.findings],
            analysis=[*analysis, *shipped.analysis],
            limits=[*limits, said("Few sources were open.", "b")],
        )
    )

    numbers = citation_numbers(report.to_markdown())

    assert set(numbers) <= set(range(1, len(report.sources) + 1))
    firsts = list(dict.fromkeys(numbers))
    assert firsts == sorted(firsts)


@given(text=HOSTILE)
def test_a_model_can_write_no_mark_of_its_own(text: str) -> None:
    report = build(draft(findings=[said("First, a plain one.", "a"), said(f"x {text}")]))

    assert not re.search(r"\[\s*\d+\s*\]", report.key_findings[1])


def state(**changed: object) -> dict[str, Any]:
    return {
        "theme": "Why do bridges hum?",
        "task_plan": None,
        "research_data": [source(name).model_dump(mode="json") for name in "ab"],
        "passages": [{"id": name, "url": f"https://{name}.example/page", "title": name} for name in "ab"],
        "draft_report": draft().model_dump(mode="json"),
        "options": {"language": "en"},
    } | changed


def test_a_states_report_has_the_theme_of_its_plan() -> None:
    assert state_to_report(state(task_plan={"theme": "Which bridges hum?"})).theme == "Which bridges hum?"


def test_a_state_without_a_plan_gives_the_theme_of_the_run() -> None:
    assert state_to_report(state()).theme == "Why do bridges hum?"


def test_a_states_report_has_the_cited_source_as_entry_one() -> None:
    report = state_to_report(state(draft_report=draft(summary=[said(f"{FILLER}.", "b")]).model_dump(mode="json")))

    assert report.executive_summary == f"{FILLER} [1]."
    assert report.sources[0].title == "Title b"


@pytest.mark.parametrize("missing", [None, {}])
def test_a_state_without_a_draft_is_refused(missing: dict[str, Any] | None) -> None:
    with pytest.raises(DraftError, match="no draft"):
        state_to_report(state(draft_report=missing))


def test_a_state_with_a_broken_draft_is_refused_naming_the_field() -> None:
    with pytest.raises(DraftError, match="Draft summary: Field required"):
        state_to_report(state(draft_report={"findings": [], "analysis": []}))
