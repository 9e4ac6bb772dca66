"""The records of an execution: task, team status, round result, summary."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from uuid import uuid1

import pytest
from pydantic import ValidationError

from contend.models.record import Record
from contend.models.task import (
    CallUsage,
    ExecutionSummary,
    OrchestratorTask,
    RoundResult,
    RunUsage,
    TeamStage,
    TeamStatus,
)

TASK: dict[str, Any] = {"user_prompt": " Why hum? ", "team_configs": ["config/teams/a.toml"], "timeout_seconds": 600}
RESULT: dict[str, Any] = {
    "team_id": "a",
    "team_name": "A",
    "round_number": 1,
    "submission_content": "Bridges hum.",
    "evaluation_score": 0.5,
    "evaluation_feedback": "",
    "usage": RunUsage(requests=1, input_tokens=2, output_tokens=3),
    "execution_time_seconds": 0.001,
}


def status(team_id: str, state: TeamStage) -> TeamStatus:
    return TeamStatus(team_id=team_id, team_name=team_id.upper(), status=state)


def summary(**given: Any) -> ExecutionSummary:  # noqa: ANN401 - any field
    fields = {"task_id": OrchestratorTask(**TASK).task_id, "user_prompt": "Why hum?", "total_execution_time_seconds": 1}
    return ExecutionSummary(**{**fields, **given})


def test_a_task_draws_its_id_and_time_and_strips_its_question() -> None:
    one, other = OrchestratorTask(**TASK), OrchestratorTask(**TASK)

    assert one.task_id != other.task_id
    assert one.task_id.version == 4
    assert one.created_at.tzinfo is UTC
    assert one.user_prompt == "Why hum?"
    assert one.team_configs == [Path("config/teams/a.toml")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_prompt": "  "},
        {"user_prompt": "橋" * 8001},
        {"team_configs": []},
        {"timeout_seconds": 0},
        {"timeout_seconds": 0.5},
        {"task_id": uuid1()},
        {"created_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - a time without a zone is what is refused
        {"teams": []},
    ],
)
def test_a_task_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OrchestratorTask(**{**TASK, **wrong})


def test_a_question_of_8000_characters_is_a_task() -> None:
    assert len(OrchestratorTask(**{**TASK, "user_prompt": "橋" * 8000}).user_prompt) == 8000


def test_a_team_waits_then_runs_then_ends_and_its_times_are_kept() -> None:
    pending = TeamStatus(team_id="a", team_name="A")
    running = pending.to("running")
    failed = running.to("failed", error_message="no draft")

    assert (pending.status, pending.current_round, pending.started_at) == ("pending", 0, None)
    assert running.started_at is not None
    assert running.completed_at is None
    assert failed.started_at == running.started_at
    assert failed.completed_at is not None
    assert failed.error_message == "no draft"


STATES = get_args(TeamStage)
ALLOWED = {("pending", "running"), *(("running", end) for end in ("completed", "failed", "timeout"))}


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("after", STATES)
def test_only_the_named_transitions_are_allowed_and_the_same_changes_nothing(
    before: TeamStage, after: TeamStage
) -> None:
    team = status("a", before)
    if before == after:
        assert team.to(after) is team
    elif (before, after) in ALLOWED:
        assert team.to(after).status == after
    else:
        with pytest.raises(ValueError, match=f"{before} cannot become {after}"):
            team.to(after)


@pytest.mark.parametrize(
    "wrong", [{"current_round": -1}, {"status": "waiting"}, {"team_id": "a/b"}, {"team_name": " "}]
)
def test_a_team_status_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TeamStatus(**{"team_id": "a", "team_name": "A", **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"round_number": 0},
        {"submission_content": " "},
        {"evaluation_score": 1.01},
        {"evaluation_score": float("nan")},
        {"execution_time_seconds": 0},
        {"execution_time_seconds": 0.0009},
        {"execution_time_seconds": float("inf")},
    ],
)
def test_a_round_result_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RoundResult(**{**RESULT, **wrong})


def test_a_round_nobody_could_score_has_no_score() -> None:
    assert RoundResult(**{**RESULT, "evaluation_score": None}).evaluation_score is None


def test_a_summary_counts_a_timeout_with_a_kept_round_as_failed() -> None:
    teams = [status("a", "completed"), status("b", "timeout"), status("c", "failed"), status("d", "completed")]
    other = RoundResult(**{**RESULT, "team_id": "b"})

    counted = summary(team_statuses=teams, team_results=[other])

    assert (counted.total_teams, counted.completed_teams, counted.failed_teams) == (4, 2, 2)


def test_a_summary_may_have_no_winner() -> None:
    assert (summary().best_team_id, summary().best_score, summary().total_teams) == (None, None, 0)


@pytest.mark.parametrize("wrong", [{"total_execution_time_seconds": 0}, {"best_score": 1.5}, {"best_team_id": "a b"}])
def test_a_summary_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        summary(**wrong)


@pytest.mark.parametrize(
    "record",
    [
        OrchestratorTask(**TASK),
        status("a", "running"),
        RoundResult(**RESULT),
        summary(team_statuses=[status("a", "failed")], team_results=[RoundResult(**RESULT)], best_team_id="a"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_loads_again_from_its_own_json_unchanged(record: Record) -> None:
    assert type(record).model_validate_json(record.model_dump_json()) == record


def test_usage_adds_up_and_one_unknown_price_makes_the_cost_unknown() -> None:
    call = CallUsage(
        call_key="k", role="writer", model="m", input_tokens=10, output_tokens=5, cost_usd=0.25, milliseconds=1
    )
    unknown = call.model_copy(update={"cost_usd": None})

    assert RunUsage.of([call, call]) == RunUsage(requests=2, input_tokens=20, output_tokens=10, cost_usd=0.5)
    assert (RunUsage.of([call]) + RunUsage.of([unknown])).cost_usd is None
