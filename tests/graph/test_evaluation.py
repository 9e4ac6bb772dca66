"""How submissions are scored, through the contest's own door."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.errors import InputError
from contend.models.evaluation import MetricScore
from contend.models.events import RoundScored
from fakes.contests import Contest, write_workspace
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
CHEESE = "The moon is made of green cheese from Gouda."


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha",))
    return Contest(workspace, documents, vendors.base_url)


def write_metrics(workspace: Path, text: str) -> None:
    (workspace / "config" / "evaluator.toml").write_text(text, "utf-8")


def rounds_of(contest: Contest) -> list[RoundScored]:
    return [event for event in contest.events if isinstance(event, RoundScored)]


def metrics_of(event: RoundScored) -> dict[str, MetricScore]:
    return {metric.name: metric for metric in event.metrics}


def with_findings(*sentences: dict[str, Any]) -> Callable[[str], str]:
    """What makes a writer's reply hold these findings too."""

    def added(reply: str) -> str:
        draft = json.loads(reply)
        return json.dumps(draft | {"findings": [*sentences, *draft["findings"]][:8]}, ensure_ascii=False)

    return added


# ---- metrics by code


async def test_all_metrics_by_code_stand_beside_those_by_model(contest: Contest) -> None:
    await contest.run(THEME, max_rounds=1)

    (scored,) = rounds_of(contest)
    metrics = metrics_of(scored)
    assert set(metrics) == {
        "clarity_coherence", "coverage", "relevance", "citation_validity", "citation_support", "point_coverage",
    }  # fmt: skip
    assert metrics["citation_support"].score == 1.0
    assert sum(metric.weight for metric in scored.metrics) == pytest.approx(1)


async def test_a_cited_sentence_that_its_source_does_not_say_costs_support_and_is_named(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": CHEESE, "sources": [1]}), prompt="writer/write")

    await contest.run(THEME, max_rounds=1)

    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert support.score is not None
    assert 0 < support.score < 1
    assert CHEESE in support.reason


async def test_a_sentence_repeated_with_its_citation_adds_nothing_to_support(
    contest: Contest, vendors: Vendors
) -> None:
    wrong = {"text": CHEESE, "sources": [1]}
    right = {"text": "The command resume reads this checkpoint and goes on from there.", "sources": [1]}
    for findings in ([wrong, right], [wrong, right, right, right]):
        vendors.heal()
        vendors.malform(with_findings(*findings), prompt="writer/write")
        await contest.run(THEME, max_rounds=1)

    plain, padded = (metrics_of(event)["citation_support"].score or 0.0 for event in rounds_of(contest))
    assert padded <= plain


async def test_points_of_the_plan_that_the_report_leaves_open_cost_coverage_and_are_named(
    contest: Contest, vendors: Vendors
) -> None:
    open_point = "The price of volcanic basalt"
    plan = {
        "investigation_points": ["What a team searches", open_point],
        "search_queries": ["resume checkpoint", "team sources"],
        "plan_text": "Two points and two queries.",
    }
    vendors.reply(json.dumps(plan), prompt="supervisor/plan")

    await contest.run(THEME, max_rounds=1)

    points = metrics_of(rounds_of(contest)[0])["point_coverage"]
    assert points.score == 0.5
    assert open_point in points.reason


async def test_a_report_that_cites_nothing_has_no_support_to_measure_and_is_capped(
    contest: Contest, vendors: Vendors
) -> None:
    def uncited(reply: str) -> str:
        draft = json.loads(reply)
        for part in ("summary", "findings", "analysis", "limits"):
            draft[part] = [{**sentence, "sources": []} for sentence in draft[part]]
        return json.dumps(draft)

    vendors.malform(uncited, prompt="writer/write")

    await contest.run(THEME, max_rounds=1)

    (scored,) = rounds_of(contest)
    metrics = metrics_of(scored)
    assert metrics["citation_support"].score is None
    assert metrics["citation_validity"].score == 0.0
    assert (metrics["clarity_coherence"].score or 0.0) > 0
    assert (scored.score or 0.0) <= 0.5


async def test_metrics_by_code_are_measured_also_where_they_are_not_listed(contest: Contest, workspace: Path) -> None:
    write_metrics(workspace, '[[evaluator.metrics]]\nname = "coverage"\nweight = 1.0\n')

    await contest.run(THEME, max_rounds=1)

    (scored,) = rounds_of(contest)
    weights = {metric.name: metric.weight for metric in scored.metrics}
    assert weights == {"coverage": 1.0, "citation_validity": 0.0, "citation_support": 0.0, "point_coverage": 0.0}
    assert scored.score == metrics_of(scored)["coverage"].score


@pytest.mark.parametrize(
    ("weights", "said"), [((0.5, 0.4), "sum to 0.9"), ((0.5, 0.7), "sum to 1.2"), ((1.0, None), "every metric")]
)
async def test_weights_that_do_not_add_up_are_refused_before_anything_is_spent(
    contest: Contest, workspace: Path, vendors: Vendors, weights: tuple[float, float | None], said: str
) -> None:
    lines = [
        f'[[evaluator.metrics]]\nname = "{name}"\n' + (f"weight = {weight}\n" if weight is not None else "")
        for name, weight in zip(("coverage", "relevance"), weights, strict=True)
    ]
    write_metrics(workspace, "\n".join(lines))

    with pytest.raises(InputError, match=said):
        await contest.run(THEME)

    assert not vendors.calls
    assert not (workspace / "contend.duckdb").exists()
