"""When a team stops: the reasons in their order, and the judge's word."""

from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.models.evaluation import Fix, MetricScore
from contend.models.options import EvaluatorConfig, JudgmentConfig, MetricConfig, ResolvedOptions
from contend.models.round import ExitReason, Judgment, Round, best_round
from contend.team.rounds import NextStep, after_judgment, decide, lean, on_plateau
from contend.team.shortfall import shortfall_of


def rounds_of(*scores: float | None) -> list[Round]:
    return [
        Round(round_number=number, submission="", score=score, feedback="", metrics=[], seconds=1)
        for number, score in enumerate(scores, start=1)
    ]


def options(*, least: int = 1, most: int = 3, **judgment: Any) -> ResolvedOptions:  # noqa: ANN401 - any option
    return ResolvedOptions(
        min_rounds=least,
        max_rounds=most,
        evaluator=EvaluatorConfig(metrics=[MetricConfig(name="coverage")]),
        judgment=JudgmentConfig(**judgment),
    )


AT_ONCE: dict[ExitReason, dict[str, Any]] = {
    "max_tokens": {"hard_stop": "max_tokens"},
    "deadline": {"active_seconds": 600.0},
    "one_round": {"max_rounds": 1},
}
"""What makes the stops hold that come before `min_rounds`, in their order."""


def test_stops_that_hold_at_once_are_told_in_their_order() -> None:
    reasons = list(AT_ONCE)
    for place, reason in enumerate(reasons):
        limits = {name: value for each in reasons[place:] for name, value in AT_ONCE[each].items()}
        assert decide(rounds_of(1.0), options(least=3), **limits).exit_reason == reason


def test_below_the_least_rounds_a_team_goes_on_whatever_else_holds() -> None:
    settled = options(least=3, most=3, target_score=0.1, patience=1)

    decision = decide(rounds_of(0.9, 0.9), settled, remaining_share=0.0)

    assert (decision.step, decision.exit_reason) == ("go_on", None)


def test_the_stops_without_a_call_are_told_in_their_order() -> None:
    same = rounds_of(0.9, 0.9, 0.9)

    reasons = [
        decide(same, options(most=3, target_score=0.9), remaining_share=0.1).exit_reason,
        decide(same, options(most=4, target_score=0.9), remaining_share=0.1).exit_reason,
        decide(same, options(most=4), remaining_share=0.1).exit_reason,
        decide(same, options(most=4, patience=3), remaining_share=0.1).exit_reason,
    ]

    assert reasons == ["max_rounds", "target_score", "plateau", "budget_reserve"]


def test_where_no_stop_holds_the_judge_is_asked() -> None:
    assert decide(rounds_of(0.5), options()).step == "ask_judge"


FIX = Fix(where="summary 1", what="Name the year.")


@pytest.mark.parametrize(
    ("metric", "step", "reason"),
    [
        ({"name": "coverage", "fixes": [FIX]}, "go_on", None),
        ({"name": "citation_support", "partly": {"It rose.": "no year"}}, "go_on", None),
        ({"name": "citation_support", "evidence": ["It rose."]}, "go_on", None),
        ({"name": "coverage"}, "stop", "criteria_met"),
    ],
)
def test_where_rounds_only_mend_what_is_left_decides_and_no_judge(
    metric: dict[str, Any], step: str, reason: str | None
) -> None:
    (played,) = rounds_of(0.9)
    judged = MetricScore.model_validate({"score": 0.9, "reason": "Clear.", "weight": 1, **metric})
    mending = options(most=2).model_copy(update={"mends_only": True})

    decision = decide([played], mending, shortfall=shortfall_of([judged], []))

    assert (decision.step, decision.exit_reason, decision.mends_only) == (step, reason, step == "go_on")


@pytest.mark.parametrize(("seconds", "stops"), [(599.9, False), (600.0, True)])
def test_a_team_stops_once_its_active_seconds_are_used(seconds: float, stops: bool) -> None:
    reason = decide(rounds_of(0.5), options(), active_seconds=seconds).exit_reason

    assert (reason == "deadline") is stops


@pytest.mark.parametrize(("left", "stops"), [(0.15, False), (0.149, True)])
def test_fifteen_hundredths_of_a_budget_are_kept_back(left: float, stops: bool) -> None:
    reason = decide(rounds_of(0.5), options(), remaining_share=left).exit_reason

    assert (reason == "budget_reserve") is stops


@pytest.mark.parametrize(("score", "stops"), [(0.8, True), (0.799, False), (None, False)])
def test_a_team_stops_at_its_target_score(score: float | None, stops: bool) -> None:
    reason = decide(rounds_of(score), options(target_score=0.8)).exit_reason

    assert (reason == "target_score") is stops


def test_a_target_reached_in_an_earlier_round_counts() -> None:
    assert decide(rounds_of(0.9, 0.3), options(target_score=0.8)).exit_reason == "target_score"


def test_a_target_of_no_points_waits_for_a_score() -> None:
    assert decide(rounds_of(None), options(target_score=0.0)).exit_reason is None


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ((0.5, 0.5), False),
        ((0.5, 0.5, 0.5), True),
        ((0.5, 0.4, 0.509), True),
        ((0.5, 0.4, 0.52), False),
        ((0.5, 0.505, 0.511), False),
        ((0.34, 0.34, 0.35), False),
        ((0.9, 0.1, 0.8), True),
        ((0.5, None, None), True),
        ((None, None, 0.5), False),
    ],
)
def test_two_rounds_without_a_gain_of_one_point_are_a_plateau(scores: tuple[float | None, ...], stops: bool) -> None:
    assert on_plateau(rounds_of(*scores), min_improvement=0.01, patience=2) is stops


def test_every_point_gained_counts_as_a_point() -> None:
    gains = pairwise(percent / 100 for percent in range(101))

    assert not [pair for pair in gains if on_plateau(rounds_of(*pair), min_improvement=0.01, patience=1)]


@pytest.mark.parametrize(
    ("should_continue", "confidence", "reason"),
    [(False, 0.5, "judge"), (False, 0.49, None), (True, 1.0, None), (True, 0.0, None)],
)
def test_a_judges_stop_holds_from_half_its_confidence_on(
    should_continue: bool, confidence: float, reason: str | None
) -> None:
    judgment = Judgment(should_continue=should_continue, reasoning="Enough is said.", confidence=confidence)

    decision = after_judgment(judgment, confidence_threshold=0.5)

    assert decision.exit_reason == reason
    assert decision.step == ("stop" if reason else "go_on")
    assert (decision.reasoning, decision.confidence) == ("Enough is said.", confidence)


def test_the_best_round_is_the_later_of_equals_and_the_latest_where_none_is_scored() -> None:
    best = [best_round(rounds_of(*scores)) for scores in ((0.5, 0.7, 0.7, None), (None, None), ())]

    assert [finished and finished.round_number for finished in best] == [3, 2, None]


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=10), st.floats(0, 1), st.integers(1, 10))
def test_a_decision_that_stops_names_its_reason_and_no_other_does(
    scores: list[float | None], left: float, least: int
) -> None:
    decision = decide(rounds_of(*scores), options(least=least, most=10), remaining_share=left)

    assert (decision.exit_reason in get_args(ExitReason)) is (decision.step == "stop")
    assert NextStep.model_validate_json(decision.model_dump_json()) == decision


def test_of_judged_metrics_the_state_keeps_what_speaks_against_the_best_round_and_why_one_is_unscored() -> None:
    metrics = [
        MetricScore(name="citation_support", score=0.5, reason="half", weight=1.0, evidence=["Said nowhere."]),
        MetricScore(name="coverage", score=None, reason="HTTP 500", weight=0.0),
    ]
    played = [past.model_copy(update={"metrics": metrics}) for past in rounds_of(0.4, 0.6, 0.5)]

    rest = lean(played)

    assert [past.metrics[0].evidence for past in rest] == [[], ["Said nowhere."], []]
    assert [[metric.reason for metric in past.metrics] for past in rest] == [["", "HTTP 500"]] * 3
    assert [[metric.score for metric in past.metrics] for past in rest] == [[0.5, None]] * 3
