"""What judges see of a submission, and what code refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.team.judge_view import reason_not_to_judge, whole_text

THEME = "Why do bridges hum in the wind?"
SENTENCES = (
    "Bridges hum because the wind sheds vortices from their cables [1].",
    "A damper takes the energy out of the cable [2].",
    "Judges of the contest give each design a score from 0 to 100 points.",
    "風が弱い日には橋は鳴らない[1]。",
)


def report(*sentences: str) -> str:
    references = "\n\n".join(
        f"{number}. **On bridges**\n   - Source: local\n   - URL: https://bridges.example/{number}" for number in (1, 2)
    )
    listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, start=1))
    return f"# {THEME}\n\n## Key Findings\n\n{listed}\n\n## References\n\n{references}\n"


KEYS = [
    "Thought process:",
    "Solution",
    "Let's solve this problem step by step.",
    "Let us think step by step:",
    "Final answer:",
    "解",
    "思考過程：",
    "段階的に考えてみましょう。",
]


def test_references_may_repeat_and_stay() -> None:
    text = whole_text(report(*SENTENCES))

    assert text.count("- Source: local") == 2
    assert text.count("**On bridges**") == 2


def test_references_that_nothing_cites_are_left_out() -> None:
    text = whole_text(report(SENTENCES[0]))

    assert "https://bridges.example/1" in text
    assert "https://bridges.example/2" not in text


def test_references_are_kept_that_marks_cite_together() -> None:
    for mark in ("[1,2]", "[1–2]"):
        assert whole_text(report(f"All of it hums{mark}.")).count("**On bridges**") == 2


@given(st.text(max_size=300))
def test_any_text_can_be_shown_and_showing_it_again_changes_nothing(content: str) -> None:
    text = whole_text(content)

    assert whole_text(text) == text


@pytest.mark.parametrize("content", ["", "  \n", "\u200b"])
def test_an_empty_submission_is_refused(content: str) -> None:
    assert reason_not_to_judge(THEME, content) == "the submission is empty"


@pytest.mark.parametrize(
    "content",
    [
        ":", ".", THEME, f"# {THEME}", f"{THEME}\n\n{THEME}", "why do bridges hum in the wind", *KEYS,
        report(), report(*KEYS), report(*(f"{key} [1]." for key in KEYS)), report(THEME, *KEYS),
        f"Solution: {THEME}", report("Thought process: Let us think step by step."), f"解答： {THEME}",
    ],
)  # fmt: skip
def test_a_submission_without_a_word_beyond_the_question_is_refused(content: str) -> None:
    assert reason_not_to_judge(THEME, content) == "nothing beyond the question"


@pytest.mark.parametrize("content", [report(SENTENCES[0]), report(SENTENCES[3]), "Yes, it does.", "| a | wind |"])
def test_a_submission_that_says_something_is_judged(content: str) -> None:
    assert reason_not_to_judge(THEME, content) is None
