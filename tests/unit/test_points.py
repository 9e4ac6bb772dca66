"""Whether a report answers the points of a plan, in English and Japanese."""

import pytest

from contend.team.judge_view import uncovered_points

ENGLISH = "Dampers stop the humming of bridges, because they take the energy out of the cables [1]."
JAPANESE = "再開コマンドは作業フォルダーの保存内容を読み込み、終わった段階の続きから動作する[1]。"


def report(*sentences: str) -> str:
    return f"# A theme\n\n## Key Findings\n\n1. {' '.join(sentences)}\n\n## References\n\n1. **The price of dampers**\n"


def test_a_point_whose_words_stand_in_the_report_is_covered() -> None:
    assert uncovered_points(["What do dampers do to humming bridges?"], report(ENGLISH)) == []


def test_a_point_that_only_the_references_name_is_not_covered() -> None:
    assert uncovered_points(["price of dampers"], report("Bridges hum [1].")) == ["price of dampers"]


@pytest.mark.parametrize(
    "point",
    [
        "再開コマンドはどのように動作しますか？",
        "保存内容はどこに残るのか",
        "再開コマンドとは何ですか",
        "なぜ続きから動作するのでしょうか？",
        "作業フォルダーの保存内容について教えてください",
    ],
)
def test_a_japanese_point_phrased_as_a_question_is_covered_by_its_answer(point: str) -> None:
    assert uncovered_points([point], report(JAPANESE)) == []


@pytest.mark.parametrize("point", ["料金はいくらですか？", "審査員の採点基準とは何か"])
def test_a_japanese_point_that_nothing_answers_is_not_covered(point: str) -> None:
    assert uncovered_points([point], report(JAPANESE)) == [point]


@pytest.mark.parametrize(
    "point", ["What do dampers cost?", "ダンパーの価格はいくらですか？", "The price of dampers.", "ダンパーの価格。"]
)
def test_a_report_that_repeats_a_point_does_not_answer_it(point: str) -> None:
    assert uncovered_points([point], report(ENGLISH, point)) == [point]


def test_half_of_a_points_words_answer_it_but_a_single_one_of_two_does_not() -> None:
    assert uncovered_points(["Do dampers stop the swinging of a pylon?"], report(ENGLISH)) == []
    assert uncovered_points(["Dampers on pylons"], report(ENGLISH)) == ["Dampers on pylons"]
    assert uncovered_points(["Dampers"], report(ENGLISH)) == []


def test_two_words_of_many_answer_no_point() -> None:
    point = "Do dampers stop the swinging of a heavy pylon in storms?"

    assert uncovered_points([point], report(ENGLISH)) == [point]


def test_a_question_answers_no_other_point() -> None:
    assert uncovered_points(["price of dampers"], report("Do you know the price of dampers?")) == ["price of dampers"]


@pytest.mark.parametrize(
    "block",
    [
        "### The price of dampers",
        "*Generated at: 2026-01-01*",
        "## References\n\n1. **The price of dampers**",
    ],
)
def test_what_is_no_text_of_a_report_says_nothing(block: str) -> None:
    assert uncovered_points(["price of dampers"], f"Bridges hum [1].\n\n{block}") == ["price of dampers"]


def test_a_row_of_a_table_answers_a_point() -> None:
    table = "| Part | Figure |\n|---|---|\n| The price of dampers [1] | 3 |"

    assert uncovered_points(["price of dampers"], f"Bridges hum [1].\n\n{table}") == []


def test_a_point_that_names_nothing_is_no_point() -> None:
    assert uncovered_points(["And what about it?"], report(ENGLISH)) == []
