"""A draft without the feedback that its writer copied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import DraftError
from contend.models.research import CitedSentence, Draft, Passage
from contend.research.feedback import told_to_writer, without_feedback, without_instructions, without_remarks
from contend.research.state import ResearchState

OWN = "Dampers stop the humming of most bridges."
TOLD = "The second finding lacks the year in which the bridge was built."
JAPANESE = "二番目の発見には橋が建てられた年が書かれていない。"


def draft(*findings: str) -> Draft:
    other = [CitedSentence(text=OWN, passages=["p1"])]
    return Draft(summary=other, findings=[CitedSentence(text=text) for text in findings], analysis=other)


def left(*findings: str, told: tuple[str, ...] = (TOLD, JAPANESE), passage: str = "") -> list[str]:
    offered = [Passage(id="p1", url="https://bridges.example", title="On bridges", text=passage)]
    return [sentence.text for sentence in without_feedback(draft(*findings), told, offered).findings]


@pytest.mark.parametrize(
    "copied",
    [TOLD, JAPANESE, TOLD.upper(), f"**{TOLD}** [1]", TOLD.rstrip("."), f"As was said, {TOLD}", f"{TOLD} {TOLD}"],
)
def test_a_sentence_that_repeats_feedback_is_taken_out(copied: str) -> None:
    assert left("Wind sheds vortices.", copied) == ["Wind sheds vortices."]


def test_only_the_copied_sentence_of_several_goes() -> None:
    assert left(f"Wind sheds vortices. {TOLD} Cables swing.") == ["Wind sheds vortices. Cables swing."]


def test_what_a_passage_says_stays_also_where_feedback_quoted_it() -> None:
    assert left(TOLD, passage=f"Engineers agree. {TOLD} It is a pity.") == [TOLD]


def test_a_part_of_which_nothing_is_left_says_what_the_others_say() -> None:
    assert left(TOLD) == [OWN]


def test_a_draft_of_nothing_but_feedback_is_no_draft() -> None:
    copied = [CitedSentence(text=TOLD)]

    with pytest.raises(DraftError, match="repeats its feedback"):
        without_feedback(Draft(summary=copied, findings=copied, analysis=copied), [TOLD], [])


def test_feedback_is_that_of_all_earlier_rounds_and_of_the_reviewer_without_metric_names() -> None:
    state: ResearchState = {
        "history": [
            {"feedback": "capped: a citation names a source\ncoverage 45.0/100: One part is thin. Name the year."},
            {"feedback": "relevance unscored: the endpoint failed"},
        ],
        "feedback": "Say who built it.",
    }

    assert told_to_writer(state) == [
        "capped: a citation names a source", "One part is thin.", "Name the year.", "the endpoint failed",
        "Say who built it.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("instructions", "echo"),
    [
        ("You review. Is anything said twice? `accept`: true or false.", "- **Is anything said twice?**"),
        ("点検する。すべての問いに答えているか。重複はないか。", "すべての問いに答えているか。重複はないか。"),
    ],
)
def test_a_reviewers_own_instructions_are_no_feedback(instructions: str, echo: str) -> None:
    assert without_instructions(f"{echo}\n{TOLD}\n{JAPANESE}", instructions) == f"{TOLD}\n{JAPANESE}"
    assert without_instructions(echo, instructions) == ""


def test_a_word_that_a_reviewers_instructions_hold_too_may_be_its_feedback() -> None:
    assert without_instructions("Unclear.", "Is anything said twice or left unclear?") == "Unclear."


REMARKS = [
    "The passage about dampers does not mention the price.",
    "The passage provides figures.",
    "抜粋3には価格が書かれていない。",
]


@pytest.mark.parametrize("remark", REMARKS)
def test_a_remark_on_the_passages_is_left_out_but_among_the_limits(remark: str) -> None:
    limits = [CitedSentence(text=remark)]
    made = draft(f"Wind sheds vortices. {remark}", remark).model_copy(update={"limits": limits})

    kept = without_remarks(
        made,
        [Passage(id="p1", url="https://a.org", title="On bridges", text=f"Passages of ships are low. {OWN}")],
        "Why?",
    )

    assert [sentence.text for sentence in kept.findings] == ["Wind sheds vortices."]
    assert (kept.summary, kept.analysis, kept.limits) == (made.summary, made.analysis, limits)


@pytest.mark.parametrize("remark", REMARKS)
def test_what_is_said_of_passages_stays_where_they_are_the_subject_and_where_nothing_else_is_said(remark: str) -> None:
    about = [Passage(id="p1", url="https://a.org", title="On bridges", text=remark)]

    assert without_remarks(draft(OWN, remark), about, "Why?") == draft(OWN, remark)
    assert without_remarks(draft(OWN, remark), [], remark) == draft(OWN, remark)
    assert without_remarks(draft(remark), [], "Why?") == draft(remark)


@given(st.lists(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=5))
def test_without_feedback_a_draft_stays_as_it_is(findings: list[str]) -> None:
    assert without_feedback(draft(*findings), [], []) == draft(*findings)
