from typing import Any, cast

from contend.contest.state import ContestState, ContestView
from contend.team.state import MetricTask
from contend.team.support import metric_names

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


def test_a_metric_task_of_before_metrics_were_sent_by_name_is_read() -> None:
    metrics = ["clarity", {"name": "insight", "kind": "model", "weight": 0.2}]

    assert metric_names(cast("MetricTask", {"metrics": metrics})) == ["clarity", "insight"]
