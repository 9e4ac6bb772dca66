"""Metrics by a model: the judge sees the question, the submission, the plan's points and one rubric."""

from collections.abc import Mapping

from contend.llm.model import Scope
from contend.models.evaluation import MetricScore
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.replies import MetricReply
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts import Untrusted
from contend.services import Services
from contend.team.evaluation import found_evidence
from contend.team.metrics.seen import seen_by_judges
from contend.team.state import MetricTask


async def judged_by_model(
    services: Services, task: MetricTask, config: MetricConfig, submission: Submission
) -> tuple[MetricScore, CallUsage]:
    """One metric's verdict.

    Raises:
        ModelError: the metric's model failed.
    """
    options = ResolvedOptions.model_validate(task["options"])
    values: Mapping[str, object] = {
        "metric": config.name,
        "rubric": services.rubric(config, options.language),
        "user_query": Untrusted(task["theme"], label="query"),
        "submission": Untrusted(seen_by_judges(submission.content).text, label="submission"),
        "points": [Untrusted(point) for point in submission.points],
    }
    model = services.model("evaluator", options, task["execution_id"], name=config.model)
    spread_over = "percent" if options.evaluator.expected_score else None
    answer = await model.structured(
        "evaluator/metric", MetricReply, values, scope=scope_of(task), spread_over=spread_over
    )
    evidence, dropped = found_evidence(answer.value.evidence, submission.content)
    score = MetricScore(
        name=config.name,
        score=answer.value.expected(answer.spread) if answer.spread else answer.value.score(),
        reason=answer.value.reason,
        weight=options.evaluator.weights()[config.name],
        evidence=evidence,
        dropped=dropped,
    )
    return score, answer.usage


def scope_of(task: MetricTask) -> Scope:
    """Whose call it is, by metric and sample."""
    name = task["metric"]["name"]
    return Scope(
        execution_id=task["execution_id"],
        role="evaluator",
        language=task["options"]["language"],
        team_id=task["team_id"],
        round_number=task["round_number"],
        step=name if task["sample"] == 1 else f"{name}#{task['sample']}",
        sampled=task["options"]["evaluator"]["samples"] > 1,
    )
