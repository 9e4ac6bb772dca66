"""What is no feedback of a reviewer: its own instructions."""

import pytest

from contend.research.writing import without_instructions

TOLD = "The second finding lacks the year in which the bridge was built."
JAPANESE = "二番目の発見には橋が建てられた年が書かれていない。"


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
