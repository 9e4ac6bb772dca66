"""The depth `auto`: what follows a team's round, and what follows once teams have ended."""

from collections.abc import Mapping
from typing import Any

import pytest

from contend.contest.stepping import ContestStep, Delivered, Situation, next_step
from contend.models.evaluation import CriterionLevel
from contend.models.options import EvaluatorConfig, MetricConfig, ResolvedOptions, TeamConfig
from contend.models.research import PartState
from contend.models.round import Round
from contend.team.rounds import NextStep, decide
from contend.team.shortfall import Shortfall

MET, PARTLY, UNMET = ({str(at): level for at in range(3)} for level in ("met", "partly", "unmet"))
WHOLE, OPEN, NOT_FOUND = ({"Why?": state} for state in ("answered", "open", "not_found"))
FIRST = TeamConfig(team_id="first", name="First", sources=["local"])
SAME = FIRST.model_copy(update={"team_id": "same", "name": "Same"})
STANCE = SAME.model_copy(update={"team_id": "stance", "name": "Stance", "stance": "Doubt it."})
WEB = SAME.model_copy(update={"team_id": "web", "name": "Web", "sources": ["local", "tavily"]})


def lacking(verdicts: Mapping[str, CriterionLevel], parts: Mapping[str, PartState] = WHOLE, **more: int) -> Shortfall:
    return Shortfall(verdicts=verdicts, parts=parts, **more)


@pytest.mark.parametrize(
    ("shortfall", "played", "step", "reason"),
    [
        (lacking(MET), 1, "stop", "criteria_met"),
        (lacking(MET, NOT_FOUND), 1, "stop", "criteria_met"),
        (lacking(PARTLY), 1, "go_on", None),
        (lacking(UNMET), 1, "go_on", None),
        (lacking(MET, OPEN), 1, "go_on", None),
        (lacking(MET, unsupported=1), 1, "go_on", None),
        (lacking(UNMET), 2, "stop", "max_rounds"),
        (lacking({}), 1, "ask_judge", None),
    ],
)
def test_a_round_is_followed_by_another_where_it_leaves_something_to_mend(
    shortfall: Shortfall, played: int, step: str, reason: str | None
) -> None:
    evaluator = EvaluatorConfig(metrics=[MetricConfig(name="coverage")])
    options = ResolvedOptions(depth="auto", max_rounds=2, evaluator=evaluator)
    rounds = [
        Round(round_number=at, submission="x", score=0.5, feedback="", metrics=[], seconds=1)
        for at in range(1, played + 1)
    ]

    decision = decide(rounds, options, shortfall=shortfall)

    assert (decision.step, decision.exit_reason) == (step, reason)


@pytest.mark.parametrize(("parts", "mends_only"), [(WHOLE, True), (NOT_FOUND, True), (OPEN, False)])
def test_another_round_only_mends_where_no_part_needs_research(
    parts: Mapping[str, PartState], mends_only: bool
) -> None:
    options = ResolvedOptions(depth="auto", evaluator=EvaluatorConfig(metrics=[MetricConfig(name="coverage")]))
    one = Round(round_number=1, submission="x", score=0.5, feedback="", metrics=[], seconds=1)

    assert decide([one], options, shortfall=lacking(UNMET, parts)).mends_only is mends_only


def test_other_depths_ask_the_round_judge_whatever_the_criteria_say() -> None:
    evaluator = EvaluatorConfig(metrics=[MetricConfig(name="coverage")])
    options = ResolvedOptions(depth="standard", evaluator=evaluator)
    one = Round(round_number=1, submission="x", score=0.5, feedback="", metrics=[], seconds=1)

    assert decide([one], options, shortfall=lacking(MET)) == NextStep(
        step="ask_judge", reasoning="the round judge decides"
    )


def after(first: Shortfall | None, *waiting: TeamConfig, **more: Any) -> ContestStep:  # noqa: ANN401 - fields of a Situation
    """What follows the one team."""
    delivered = [Delivered("First", 2, first)] if first else []
    values = {"language": "en", "sources": ["local", "tavily"], "synthesis": None, **more}
    return next_step(Situation(delivered=delivered, first=FIRST, waiting=waiting, **values))


@pytest.mark.parametrize(
    ("step", "teams", "reason"),
    [
        (
            after(lacking(MET), STANCE, tokens=38_000, contest_tokens=210_000),
            [],
            "All 3 criteria met after round 2: no contest was needed. 38,000 tokens instead of about 210,000.",
        ),
        (after(lacking(PARTLY, unsupported=1), STANCE), [], "statements that are not supported: 1): no contest"),
        (after(lacking(UNMET), SAME), [], "No further team has other sources or models or another stance."),
        (after(lacking(UNMET), SAME, STANCE), ["stance"], "criteria not met: 3 of 3. Further teams: Stance."),
        (after(lacking(MET, OPEN), STANCE), ["stance"], "parts of the question: 1. Further teams"),
        (after(lacking(MET, NOT_FOUND), STANCE), [], "no contest was needed"),
        (after(lacking(MET, NOT_FOUND), STANCE, WEB), ["stance", "web"], "parts of the question: 1. Further teams"),
        (after(lacking(MET, NOT_FOUND), WEB, sources=["local"]), [], "no contest was needed"),
        (after(lacking(MET, unsupported=1, contradicted=1), STANCE), ["stance"], "passages contradict: 1"),
        (after(lacking({}), STANCE), ["stance"], "no judge has held the report against criteria"),
        (after(lacking(UNMET), STANCE, has_budget=False), [], "Too little of a budget is left"),
        (after(lacking(UNMET), STANCE, reached_target=True), [], "The target score is reached"),
        (after(None, SAME, STANCE), ["same", "stance"], "First delivered nothing. Further teams: Same, Stance."),
        (after(None, STANCE, has_budget=False), [], "No team delivered"),
    ],
)
def test_further_teams_play_where_the_first_leaves_open_what_they_may_bring(
    step: ContestStep, teams: list[str], reason: str
) -> None:
    assert (step.step, step.teams) == ("send" if teams else "publish", teams)
    assert reason in step.reason


def merging(*shortfalls: Shortfall, **more: Any) -> ContestStep:  # noqa: ANN401 - fields of a Situation
    """What follows all teams, the best first."""
    delivered = [Delivered(f"T{at}", 1, each) for at, each in enumerate(shortfalls)]
    values = {"language": "en", "sources": [], "waiting": [], "synthesis": None, **more}
    return next_step(Situation(delivered=delivered, first=None, **values))


@pytest.mark.parametrize(
    ("step", "expected", "reason"),
    [
        (merging(lacking(PARTLY), lacking(MET)), "merge", "T1 met what T0's report does not (3 criteria or parts)"),
        (merging(lacking(MET, OPEN), lacking(UNMET)), "merge", "(1 criteria or parts)"),
        (merging(lacking(MET), lacking(PARTLY)), "publish", "nothing is merged"),
        (merging(lacking(MET), lacking({})), "merge", "No judge has held all reports"),
        (merging(lacking(MET), lacking(MET), synthesis=True), "merge", "as the run's options say"),
        (merging(lacking(UNMET), lacking(MET), synthesis=False), "publish", "as the run's options say"),
        (merging(lacking(UNMET), lacking(MET), has_budget=False), "publish", "Too little of a budget"),
        (merging(lacking(MET)), "publish", "Only T0 delivered"),
        (merging(), "publish", "No team delivered"),
    ],
)
def test_an_editor_merges_where_another_report_meets_what_the_best_does_not(
    step: ContestStep, expected: str, reason: str
) -> None:
    assert step.step == expected
    assert reason in step.reason
