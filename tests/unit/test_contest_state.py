from typing import Any, cast

import pytest

from contend.contest.editing import BEST, EDITOR, is_worse
from contend.contest.publishing import editor_lines
from contend.contest.state import Comparison, ContestState, ContestView
from contend.team.measurement import metric_names

CALL = {"role": "evaluator", "model": "m", "requests": 1, "input_tokens": 9, "output_tokens": 1, "milliseconds": 5}


def test_a_checkpoint_of_before_calls_were_on_record_alone_is_read() -> None:
    team = {"team_id": "a", "name": "A", "sources": ["local"]}
    status = {"team_id": "a", "team_name": "A", "status": "completed"}
    state: dict[str, Any] = {
        "teams": [team],
        "outcomes": [{"team": team, "status": status, "spent": {"requests": 3}}],
        "comparisons": [{"first": "a", "second": "b", "choice": "first", "usage": CALL}],
        "editing": {"document": "d" * 64, "reports": 2, "published": True, "calls": [CALL]},
    }

    view = ContestView(cast("ContestState", state))

    assert [outcome.team_id for outcome in view.outcomes] == ["a"]
    assert [comparison.better for comparison in view.comparisons] == ["a"]
    assert view.editing.published


def test_a_merged_report_is_said_to_be_held_to_the_best_score_whoever_won_a_near_tie() -> None:
    teams = [{"team_id": name, "name": name, "sources": ["local"]} for name in "ab"]
    outcomes = [
        {
            "team": team,
            "status": {"team_id": team["team_id"], "team_name": team["name"], "status": "completed"},
            "rounds": [
                {"round_number": 1, "submission": "x", "score": score, "feedback": "", "metrics": [], "seconds": 0}
            ],
        }
        for team, score in zip(teams, (0.8, 0.79), strict=True)
    ]
    editing = {"document": "d" * 64, "reports": 2, "score": 0.795, "published": False}
    state = {"teams": teams, "outcomes": outcomes, "pairwise": {"a": 0.0, "b": 1.0}, "editing": editing}

    view = ContestView(cast("ContestState", state))

    assert view.winner is not None
    assert view.winner.team_id == "b"
    (line,) = editor_lines(view, "en")
    assert "the merged report was not better" in line
    assert line.endswith("Score: 79.5/100; the best team's: 80.0/100.")


def test_a_metric_task_of_before_metrics_were_sent_by_name_is_read() -> None:
    assert metric_names(["clarity", {"name": "insight", "kind": "model", "weight": 0.2}]) == ["clarity", "insight"]


@pytest.mark.parametrize(
    ("score", "best", "better", "worse"),
    [
        (0.5, 0.9, [EDITOR, EDITOR], False), (0.9, 0.5, [BEST, BEST], True), (0.9, 0.5, [BEST], False),
        (0.9, 0.5, [BEST, EDITOR], False), (0.5, 0.9, ["", ""], True), (0.9, 0.9, [], False),
        (None, 0.1, [], True), (None, None, [], True), (0.1, None, [], False),
    ],
)  # fmt: skip
def test_a_merged_report_is_worse_where_both_orders_say_so_or_else_by_its_score(
    score: float | None, best: float | None, better: list[str], *, worse: bool
) -> None:
    choices = {EDITOR: "first", BEST: "second", "": "tie"}
    comparisons = [
        Comparison.model_validate({"first": EDITOR, "second": BEST, "choice": choices[each]}) for each in better
    ]

    assert is_worse(score, best, comparisons) is worse
