"""How far a research is, from what its run told."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from contend.api.progress import progress_of
from contend.models.events import (
    AnyEvent,
    CriteriaSet,
    QuestionAsked,
    RoundStarted,
    RunDone,
    RunResumed,
    RunStarted,
    StepChosen,
    StepDone,
    TeamDone,
    TeamStarted,
    WinnerPicked,
)
from contend.models.record import utc_now
from contend.models.task import RunUsage

RUN = "run"
BEGAN = datetime(2026, 1, 15, 10, tzinfo=UTC)
OPTIONS = {"max_rounds": 2, "max_iterations": 5, "synthesis": True, "learn": False}


def _at(minutes: float, requests: int = 0) -> dict[str, object]:
    return {"execution_id": RUN, "at": BEGAN + timedelta(minutes=minutes), "spent": RunUsage(requests=requests)}


def _events() -> list[AnyEvent]:
    start = RunStarted(
        **_at(0),
        thread_id="t",
        theme="?",
        teams=["a", "b"],
        sources=["local"],
        sources_off={},
        models={"writer": "m"},
        options=OPTIONS,
        calls=(20, 40),
    )
    return [
        start,
        CriteriaSet(**_at(0.5, 1), criteria=[]),
        *(TeamStarted(**_at(0.5, 1), team_id=team, team_name=team.upper()) for team in ("a", "b")),
        *(RoundStarted(**_at(0.5, 1), team_id=team, round_number=1) for team in ("a", "b")),
    ]


def _step(team_id: str, step: str, minutes: float, requests: int, **said: object) -> StepDone:
    return StepDone.model_validate(
        {**_at(minutes, requests), "team_id": team_id, "round_number": 1, "step": step, "iteration": 1, **said}
    )


def test_nothing_told_is_the_opening() -> None:
    progress = progress_of([])

    assert (progress.current_node, progress.nodes_completed, progress.teams) == ("open_run", [], [])


def test_each_team_has_a_node_and_the_one_heard_of_last_is_shown() -> None:
    progress = progress_of(
        [*_events(), _step("a", "plan", 1, 2), _step("a", "search", 1.5, 2), _step("b", "plan", 2, 3, actions=1)]
    )

    assert [(team.team_id, team.current_node, team.round_number) for team in progress.teams] == [
        ("a", "writer", 1),
        ("b", "researcher", 1),
    ]
    assert progress.current_node == "researcher"
    assert progress.nodes_completed == ["open_run", "set_criteria", "brief", "supervisor"]
    assert "learn" not in progress.nodes_remaining
    assert progress.nodes_remaining[-4:] == ["synthesize", "pick_winner", "publish", "finish_run"]


def test_a_rejected_draft_goes_back_and_an_accepted_one_is_handed_in() -> None:
    rejected = progress_of([*_events(), _step("a", "review", 2, 5, feedback="name the year")])
    accepted = progress_of([*_events(), _step("a", "review", 2, 5)])

    assert (rejected.current_node, accepted.current_node) == ("supervisor", "submit")


def test_the_end_is_estimated_at_the_pace_of_the_calls_made() -> None:
    before = utc_now()

    progress = progress_of([*_events(), _step("a", "write", 5, 10)])

    assert progress.estimated_completion_time is not None
    seconds_to_come = progress.estimated_completion_time - before
    assert timedelta(minutes=9.9) < seconds_to_come < timedelta(minutes=10.5)


def test_while_a_person_is_asked_there_is_no_end_and_the_wait_does_not_slow_the_pace() -> None:
    question = QuestionAsked(**_at(2, 5), question_id="q", asked="plan", team_id="a", description="Plan of team A")
    waiting = progress_of([*_events(), question], is_going=False)
    resumed = RunResumed(execution_id=RUN, at=BEGAN + timedelta(minutes=62), answers={"q": {"type": "approve"}})

    progress = progress_of([*_events(), question, resumed, _step("a", "write", 65, 10)])

    assert waiting.estimated_completion_time is None
    assert [team.status for team in waiting.teams] == ["waiting", "interrupted"]
    assert progress.estimated_completion_time is not None
    assert progress.estimated_completion_time - utc_now() < timedelta(minutes=11)


def test_a_team_whose_plan_was_answered_is_at_work_at_once() -> None:
    question = QuestionAsked(**_at(2, 5), question_id="q", asked="plan", team_id="a", description="Plan of team A")
    resumed = RunResumed(execution_id=RUN, at=BEGAN + timedelta(minutes=62), answers={"q": {"type": "approve"}})

    assert [team.status for team in progress_of([*_events(), question, resumed]).teams] == ["running", "running"]


def test_after_the_teams_come_the_editor_and_the_report() -> None:
    team_ends = [TeamDone(**_at(6, 12), team_id=team, status="completed") for team in ("a", "b")]

    editing = progress_of([*_events(), *team_ends])
    picked = progress_of([*_events(), *team_ends, WinnerPicked(**_at(7, 12), team_id="a", score=0.8, leaderboard=[])])

    assert (editing.current_node, picked.current_node) == ("synthesize", "publish")
    assert editing.nodes_completed == ["open_run", "set_criteria", "team"]
    assert {team.status for team in editing.teams} == {"completed"}


def test_a_further_question_on_a_thread_has_a_progress_of_its_own() -> None:
    first = [
        *_events(),
        RunDone(**_at(5, 20), status="completed", message="all teams delivered", usage=RunUsage()),
    ]

    assert progress_of([*first, *_events()], is_going=False) == progress_of(_events(), is_going=False)


def test_a_step_that_did_not_run_is_not_completed() -> None:
    unreviewed = progress_of([*_events(), _step("a", "plan", 1, 2), _step("a", "review", 2, 5)])
    team_ends = [TeamDone(**_at(6, 12), team_id=team, status="failed") for team in ("a", "b")]
    failed = [*_events(), *team_ends, WinnerPicked(**_at(7, 12), team_id=None, score=None, leaderboard=[])]
    end = RunDone(**_at(8, 12), status="failed", message="no team delivered", usage=RunUsage())

    assert unreviewed.nodes_completed == ["open_run", "set_criteria", "brief", "supervisor", "reviewer"]
    assert progress_of([*failed, end], is_going=False).nodes_completed == [
        "open_run", "set_criteria", "team", "pick_winner", "finish_run"
    ]  # fmt: skip


@pytest.mark.parametrize("step", get_args(StepDone.model_fields["step"].annotation))
def test_every_step_is_told_by_a_node_that_ran(step: str) -> None:
    told = progress_of([*_events(), _step("a", step, 1, 2)])

    before = ["open_run", "set_criteria", "brief"]
    assert told.nodes_completed[:3] == before
    assert {*told.nodes_completed, told.current_node} > {*before}


def test_a_team_that_looks_further_is_at_its_research() -> None:
    told = progress_of([*_events(), _step("a", "plan", 1, 2), _step("a", "research", 1, 3), _step("a", "search", 1, 3)])

    assert "researcher" in told.nodes_completed


def test_the_steps_of_a_round_are_those_of_that_round() -> None:
    first = [*_events(), _step("a", "plan", 1, 2), _step("a", "write", 2, 4)]

    second = progress_of([*first, RoundStarted(**_at(3, 5), team_id="a", round_number=2)])

    assert second.nodes_completed == ["open_run", "set_criteria", "brief"]


def test_a_further_team_is_part_of_a_run_from_when_it_is_sent() -> None:
    start, *_ = _events()
    ended = TeamDone(**_at(3, 9), team_id="a", status="completed")
    chosen = StepChosen(**_at(3, 9), step="send", reason="Still open.", teams=["c"])

    progress = progress_of([start.model_copy(update={"teams": ["a"]}), ended, chosen])

    assert (progress.current_node, progress.nodes_remaining[-1]) == ("brief", "finish_run")
    assert [(team.team_id, team.status, team.max_rounds) for team in progress.teams] == [
        ("a", "completed", 2),
        ("c", "pending", 2),
    ]
