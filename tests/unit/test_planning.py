"""A plan keeps every part of its question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.llm.extractive.planning import plan as planned_by_rule
from contend.models.research import ResearchPlan
from contend.research.planning import left_out, whole_plan
from contend.text import detect_language

THEME = "How does resume work after a crash, and which model calls are repeated?"
REPEATED = "which model calls are repeated (resume)"
JAPANESE = "再開はどのような手順で行われ、どのモデル呼び出しが繰り返されますか"


def plan(theme: str, *points: str, queries: int = 1) -> ResearchPlan:
    return ResearchPlan(
        theme=theme,
        investigation_points=list(points),
        search_queries=[f"query {number}" for number in range(queries)],
        plan_text="Look for the steps first.",
    )


def test_a_part_of_the_question_that_no_point_names_becomes_the_first_point_and_a_query() -> None:
    whole = whole_plan(plan(THEME, "How does resume work?", "What happens after a crash?"), "en")

    assert whole.investigation_points == [REPEATED, "How does resume work?", "What happens after a crash?"]
    assert whole.search_queries == ["query 0", "model calls repeated resume"]


def test_a_part_of_a_japanese_question_that_no_point_names_becomes_a_point() -> None:
    first, second = whole_plan(plan(JAPANESE, "再開の手順"), "ja").investigation_points

    assert "モデル呼び出しが繰り返され" in first
    assert second == "再開の手順"


@pytest.mark.parametrize(
    ("theme", "points"),
    [
        (THEME, ["Which calls to a model are repeated?", "Steps of resuming after crashes: how they work"]),
        (THEME, [THEME]),
        (JAPANESE, ["再開の手順", "モデル呼び出しの繰り返し"]),
        ("東京と大阪の人口は何人ですか", ["大阪の人口", "東京の人口"]),
    ],
)
def test_a_plan_that_names_every_part_in_its_own_words_stays_as_it_is(theme: str, points: list[str]) -> None:
    made = plan(theme, *points)

    assert whole_plan(made, detect_language(theme)) == made


def test_what_two_parts_share_stands_for_neither() -> None:
    north, south = (f"how does the {side} bridge of Tacoma hum in winds" for side in ("north", "south"))

    assert left_out(f"{north}, and {south}?", [north]) == [f"{south} (north)"]
    assert left_out("東京と大阪の人口は何人ですか", ["東京の人口"]) == ["大阪の人口は何人ですか"]


def test_two_parts_that_name_the_same_are_both_left_out_where_no_point_names_it() -> None:
    parts = ["Do bridges of Tacoma hum", "why do bridges of Tacoma hum"]

    assert left_out(f"{', and '.join(parts)}?", ["Costs"]) == parts


def test_a_word_of_three_that_no_point_names_is_left_out_and_one_of_four_may_be_a_way_to_say_it() -> None:
    assert left_out("Does resume work after crashes?", ["How resume works"]) == ["Does resume work after crashes?"]
    assert left_out("Does resume of runs work after crashes?", ["How resume of runs works"]) == []


@pytest.mark.parametrize("theme", ["How long do bridges of basalt last in Iceland?", "氷の橋はどのくらい持ちますか"])
def test_a_question_of_one_part_that_the_points_pass_by_is_added_whole(theme: str) -> None:
    assert left_out(theme, ["Definition", "定義"]) == [theme]


def test_a_part_that_says_too_little_alone_is_added_as_the_whole_question() -> None:
    theme = "Why do the bridges of Iceland hum, and what stopped it?"

    assert left_out(theme, ["Why do the bridges of Iceland hum?"]) == [theme]


def test_parts_that_say_too_little_alone_bring_the_whole_question_once() -> None:
    theme = "Why do bridges hum, and what stopped it?"

    assert left_out(theme, ["Costs"]) == [theme]


def test_the_task_that_a_question_sets_is_no_part_of_it() -> None:
    assert left_out("Please describe and explain the leases of threads", ["Leases of threads"]) == []


def test_a_plan_stays_within_its_limits_and_keeps_what_was_left_out() -> None:
    whole = whole_plan(plan(THEME, *(f"Costs of part {number}" for number in range(10)), queries=20), "en")

    assert len(whole.investigation_points) == 10
    assert REPEATED in whole.investigation_points
    assert len(whole.search_queries) == 20


@pytest.mark.parametrize("theme", [THEME, JAPANESE, "東京と大阪の人口は何人ですか", "Bridges"])
def test_a_plan_made_by_rule_leaves_nothing_out(theme: str) -> None:
    made = planned_by_rule({"theme": theme}, "ja" if theme[0] > "z" else "en")

    assert left_out(theme, made["investigation_points"]) == []


def test_a_point_in_another_language_than_the_reports_is_left_out_and_a_name_stays() -> None:
    points = ["再開の手順", "What are the steps of resuming a run?", "LangGraph Studio", "モデル呼び出しの繰り返し"]

    assert whole_plan(plan(JAPANESE, *points), "ja").investigation_points == [points[0], *points[2:]]
    assert whole_plan(plan(THEME, THEME, "再開の手順は何ですか"), "en").investigation_points == [THEME]


def test_a_plan_in_another_language_than_the_question_stays_as_it_is() -> None:
    made = plan(THEME, "再開の手順", "What happens after a crash of it?")

    assert whole_plan(made, "ja") == made


def test_a_question_that_names_nothing_leaves_a_plan_its_points() -> None:
    assert whole_plan(plan("What is it?", "それは何ですか"), "en").investigation_points == ["それは何ですか"]


@given(theme=st.text(min_size=1, max_size=120).filter(str.strip), point=st.text(min_size=1, max_size=60))
def test_any_question_is_in_a_plan_that_was_made_whole(theme: str, point: str) -> None:
    missing = left_out(theme, [point])

    assert left_out(theme, [point, *missing]) == []
