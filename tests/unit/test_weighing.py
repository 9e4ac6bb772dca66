"""From metric scores to one evaluation, and the limits of what judges may say."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from contend.models.evaluation import EvaluationResult, Fix, JudgmentReply, MetricReply, MetricScore, PairwiseReply
from contend.models.options import EvaluatorConfig, MetricConfig
from contend.models.round import Judgment
from contend.team.judging import evidence_in
from contend.team.metrics import evaluation_of, medians

SAMPLES = ((0.4, "Fair."), (0.2, "Weak."), (0.4, "Dull."))


def metric(name: str, score: float | None, *, weight: float = 0.5, reason: str = "Fair.") -> MetricScore:
    return MetricScore(name=name, score=score, weight=weight, reason=reason)


def test_the_overall_score_is_the_weighted_mean() -> None:
    result = evaluation_of([metric("a", 0.9, weight=0.75), metric("b", 0.1, weight=0.25)])

    assert result.overall == pytest.approx(0.7)


def test_where_a_round_only_mends_statements_that_are_not_shown_stand_first() -> None:
    fix, lacking = Fix(where="1.1.1", what="Name the year."), {"It rose.": "no year"}
    support = metric("citation_support", 0.5, weight=0).model_copy(update={"evidence": ["It fell."], "partly": lacking})
    scores = [metric("coverage", 0.5).model_copy(update={"fixes": [fix]}), support]
    places = {"It rose.": "2.1.1", "It fell.": "3.1.1"}

    feedbacks = [evaluation_of(scores, places=places, doubts_first=first).feedback for first in (True, False)]

    assert [[line.split(":")[0] for line in each.splitlines()] for each in feedbacks] == [
        ["- 3.1.1", "- 2.1.1", "- 1.1.1"],
        ["- 1.1.1", "- 3.1.1", "- 2.1.1"],
    ]


def test_without_a_failed_metric_the_others_are_weighed_again_and_the_result_says_so() -> None:
    scores = [metric("a", 0.9, weight=0.2), metric("b", 0.6, weight=0.4), metric("c", None, weight=0.4)]

    result = evaluation_of(scores)

    assert result.overall == pytest.approx(0.7)
    assert result.feedback.endswith("\nunscored: c; the other metrics are weighed alone")
    assert "\n採点できなかった指標: c。" in evaluation_of(scores, language="ja").feedback


def test_without_any_score_a_submission_is_unscored_and_not_zero() -> None:
    assert evaluation_of([metric("a", None), metric("b", None)]).overall is None


def test_where_every_judge_failed_metrics_by_code_make_no_score() -> None:
    scores = [metric("coverage", None), metric("relevance", None), metric("citation_validity", 1.0)]

    result = evaluation_of(scores)

    assert result.overall is None
    assert result.feedback == "unscored: coverage, relevance; metrics by code alone make no score"
    assert "コードによる指標だけでは採点しない" in evaluation_of(scores, language="ja").feedback


def test_where_no_judge_was_asked_metrics_by_code_make_the_score() -> None:
    scores = [metric("citation_support", None), metric("citation_validity", 1.0), metric("point_coverage", 0.5)]

    assert evaluation_of(scores).overall == 0.75


def test_a_score_that_weighs_nothing_is_no_overall_score() -> None:
    assert evaluation_of([metric("a", None, weight=1.0), metric("citation_validity", 1.0, weight=0.0)]).overall is None


@pytest.mark.parametrize(("validity", "overall"), [(1.0, 0.9), (0.99, 0.5), (0.0, 0.5), (None, 0.9)])
@pytest.mark.parametrize("weight", [0.0, 0.0001])
def test_a_citation_that_was_not_retrieved_caps_the_score_whatever_its_weight(
    validity: float | None, overall: float, weight: float
) -> None:
    result = evaluation_of([metric("citation_validity", validity, weight=weight), metric("a", 0.9)])

    assert result.overall == pytest.approx(overall, abs=0.001)
    assert ("capped: " in result.feedback) is (overall == 0.5)


def test_a_cap_raises_nothing() -> None:
    result = evaluation_of([metric("citation_validity", 0.5, weight=0.0), metric("a", 0.2)])

    assert result.overall == 0.2
    assert "capped" not in result.feedback


def test_feedback_lists_criteria_then_fixes_then_unsupported_places_then_what_bears_on_the_score() -> None:
    long = ("Say why it hums, and when. " * 40).strip()
    scores = [
        metric("insight", 0.4).model_copy(update={"fixes": [Fix(where="2.1.3", what=long)]}),
        metric("coverage", 0.9).model_copy(update={"fixes": [Fix(where="summary 1", what="Answer it.")]}),
        metric("own", 0.1, reason="Mend it. " * 60),
        metric("perfect", 1.0),
        metric("citation_support", 0.5).model_copy(update={"evidence": ["It hums at night.", "It is said."]}),
        metric("citation_validity", 0.5, weight=0.0),
    ]

    lines = evaluation_of(scores, places={"It hums at night.": "1.1.2"}).feedback.splitlines()

    assert lines == [
        "- summary 1: Answer it.",
        f"- own 10.0/100: {'Mend it. ' * 60}",
        f"- 2.1.3: {long}",
        "- 1.1.2: What it cites does not say this.",
        "- What it cites does not say this. “It is said.”",
        "capped: nothing is cited, or a citation names a source that was not retrieved",
    ]


def test_what_judges_and_the_check_say_of_one_place_stands_in_one_line() -> None:
    scores = [
        metric("insight", 0.4).model_copy(update={"fixes": [Fix(where="2.1.3", what="Say why it hums.")]}),
        metric("citation_support", 0.5).model_copy(update={"partly": {"It hums at night.": "the night"}}),
    ]

    feedback = evaluation_of(scores, places={"It hums at night.": "2.1.3"}).feedback

    assert feedback == "- 2.1.3: Say why it hums. What it cites says only a part of this (the night)."


def test_a_sentence_that_its_passages_contradict_goes_back_with_what_they_say() -> None:
    said, other = "It hums at night.", "It sings."
    contradicted = {"evidence": [said, other], "partly": {said: "it hums by day"}}
    scores = [metric("citation_support", 0.5).model_copy(update=contradicted)]

    lines = evaluation_of(scores, places={said: "1.1.2", other: "1.1.3"}).feedback.splitlines()

    assert lines == [
        "- 1.1.2: What it cites does not say this (it hums by day).",
        "- 1.1.3: What it cites does not say this.",
    ]


def test_what_two_judges_say_of_one_place_in_the_same_words_is_said_once() -> None:
    fixes = {"fixes": [Fix(where="2.1.3", what="Say why it hums.")]}
    scores = [metric(name, 0.4).model_copy(update=fixes) for name in ("insight", "clarity")]

    assert evaluation_of(scores).feedback == "- 2.1.3: Say why it hums."


def test_coverage_that_names_no_fix_waits_behind_what_scored_lower() -> None:
    lines = evaluation_of([metric("coverage", 0.9), metric("own", 0.1)]).feedback.splitlines()

    assert lines == ["- own 10.0/100: Fair.", "- coverage 90.0/100: Fair."]


def test_a_metric_that_does_not_apply_is_not_said_to_be_missing() -> None:
    absent = metric("point_coverage", None, weight=0.0).model_copy(update={"applies": False})

    assert evaluation_of([metric("own", 1.0), absent]).feedback == ""


def test_samples_in_whatever_order_make_the_same_metrics() -> None:
    samples = [metric("b", 0.5), *(metric("a", score, reason=reason) for score, reason in SAMPLES)]

    both = medians(samples, "en")

    assert both == medians(samples[::-1], "en")
    assert [(each.name, each.reason) for each in both] == [
        ("a", "Dull. (median of 20.0/100, 40.0/100, 40.0/100)"), ("b", "Fair."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("samples", "middle"),
    [((0.2, 0.9, 0.6), 0.6), ((0.2, 0.6), 0.4), ((0.9, None, 0.3), 0.6), ((None, 0.7), 0.7), ((None, None), None)],
)
def test_of_a_metrics_samples_the_median_of_those_scored_counts(
    samples: tuple[float | None, ...], middle: float | None
) -> None:
    (median,) = medians([metric("a", sample) for sample in samples], "en")

    assert median.score == (None if middle is None else pytest.approx(middle))


@given(st.lists(st.tuples(st.none() | st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=8))
def test_an_overall_score_lies_between_the_lowest_and_the_highest_and_loads_again(
    scores: list[tuple[float | None, float]],
) -> None:
    result = evaluation_of([metric(f"m{at}", score, weight=weight) for at, (score, weight) in enumerate(scores)])

    scored = [score for score, _ in scores if score is not None]
    assert (result.overall is None) is (not scored)
    assert result.overall is None or min(scored) - 1e-9 <= result.overall <= max(scored) + 1e-9
    assert EvaluationResult.model_validate_json(result.model_dump_json()) == result


def test_quotes_stand_in_the_submission_white_space_aside() -> None:
    content = "Wind sheds\nvortices.  Dampers help.\n橋は風で\n鳴る。"
    quotes = ["sheds vortices", "Dampers  help", "橋は風で鳴る", "Dampers hurt", "  ", ""]

    assert evidence_in(quotes, content) == (quotes[:3], 3)


def test_quotes_are_found_without_the_citation_marks_and_emphasis_of_the_submission() -> None:
    content = "Bridges **hum** in wind [1][2]. Dampers help [3].\n\n橋は鳴る[1]。風が強い[2]。"
    quotes = [
        "Bridges hum in wind. Dampers help.",
        "“Dampers help…”",
        "橋は鳴る。風が強い。",
        "bridges hum in wind [2]",
    ]

    assert evidence_in([*quotes, "Bridges hum in rain."], content) == (quotes, 1)
    assert evidence_in(quotes, content.replace("[1][2]", "[1,2,4–6]")) == (quotes, 0)


# ---- what a judge may say


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (MetricReply, {"reason": "Fair.", "evidence": []}),
        (JudgmentReply, {"reasoning": "Fair.", "should_continue": True}),
    ],
)
@pytest.mark.parametrize("percent", [250, 101, -1, 7.5, "many", None, math.nan, math.inf])
def test_a_percentage_is_a_whole_number_from_0_to_100(
    kind: type[BaseModel], fields: dict[str, Any], percent: object
) -> None:
    name = "percent" if kind is MetricReply else "confidence_percent"

    assert kind.model_validate({**fields, name: 100})
    with pytest.raises(ValidationError):
        kind.model_validate({**fields, name: percent})


@pytest.mark.parametrize("kind", [MetricReply, JudgmentReply, PairwiseReply])
def test_a_judge_gives_its_reason_before_its_verdict(kind: type[BaseModel]) -> None:
    assert next(iter(kind.model_fields)) in {"reason", "reasoning"}


@pytest.mark.parametrize("score", [1.01, -0.01, math.nan, math.inf, -math.inf])
def test_scores_and_confidences_outside_0_to_1_are_refused(score: float) -> None:
    for kind, fields in (
        (MetricScore, {"name": "a", "score": score, "weight": 1.0}),
        (EvaluationResult, {"overall": score, "metrics": [], "feedback": ""}),
        (Judgment, {"should_continue": True, "reasoning": "", "confidence": score}),
    ):
        with pytest.raises(ValidationError):
            kind.model_validate(fields)


# ---- weights


def with_weights(*weights: float | None) -> EvaluatorConfig:
    return EvaluatorConfig(metrics=[MetricConfig(name=f"m{at}", weight=weight) for at, weight in enumerate(weights)])


def test_metrics_without_weights_weigh_the_same() -> None:
    weights = with_weights(None, None, None, None).weights()

    assert [weights[f"m{at}"] for at in range(4)] == [0.25] * 4


@pytest.mark.parametrize("weights", [(0.5, 0.4991), (0.5, 0.5009), (1.0, 0.0)])
def test_weights_that_sum_to_one_within_a_thousandth_are_taken(weights: tuple[float, ...]) -> None:
    assert list(with_weights(*weights).weights().values())[-2:] == list(weights)


@pytest.mark.parametrize("weights", [(0.5, 0.4989), (0.5, 0.5011), (0.5, None), (1.5, -0.5)])
def test_other_weights_are_refused(weights: tuple[float | None, ...]) -> None:
    with pytest.raises(ValidationError):
        with_weights(*weights)
