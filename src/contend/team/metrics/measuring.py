"""One metric of one submission: refused by code, measured by code or a function, or judged by a model."""

from typing import Any

from contend.errors import ContendError
from contend.models.evaluation import MetricScore
from contend.models.options import EvaluatorConfig, MetricConfig, ResolvedOptions
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.services import Services
from contend.settings import EXTRACTIVE
from contend.team.metrics.by_code import CODE_METRICS
from contend.team.metrics.by_function import judged_by_function
from contend.team.metrics.by_model import judged_by_model
from contend.team.metrics.finding import Finding
from contend.team.metrics.seen import refusal
from contend.team.state import MetricTask

Measured = tuple[MetricScore, CallUsage | None]


def metric_tasks(
    options: dict[str, Any], *, submission: str, theme: str, execution_id: str, team_id: str, round_number: int
) -> list[MetricTask]:
    """All that is measured of a submission: each metric, those by a language model as often as there are samples."""
    evaluator = EvaluatorConfig.model_validate(options["evaluator"])
    return [
        MetricTask(
            metric=metric.model_dump(mode="json"),
            sample=sample,
            submission=submission,
            theme=theme,
            options=options,
            execution_id=execution_id,
            team_id=team_id,
            round_number=round_number,
        )
        for metric in evaluator.measured
        for sample in range(1, 1 + (evaluator.samples if _varies(metric, options) else 1))
    ]


async def measure(services: Services, task: MetricTask) -> Measured:
    """One metric of one submission.

    Raises:
        ModelError: the metric's model failed.
        MetricError: the metric's own function failed.
    """
    config = MetricConfig.model_validate(task["metric"])
    options = ResolvedOptions.model_validate(task["options"])
    submission = await services.require_submission(task["submission"])
    refused = refusal(task["theme"], submission.content, options.language)
    if refused is None and config.kind == "model":
        return await judged_by_model(services, task, config, submission)
    finding = Finding(0.0, refused) if refused else await _found(services, task, config, submission)
    score = MetricScore(
        name=config.name,
        score=finding.score,
        reason=finding.reason,
        weight=options.evaluator.weights()[config.name],
        evidence=list(finding.evidence),
        applies=finding.score is not None,
    )
    return score, finding.usage


def unscored(task: MetricTask, error: BaseException) -> MetricScore:
    """A metric that failed: no score, never 0."""
    reason = str(error) if isinstance(error, ContendError) else f"{type(error).__name__}: {error}"
    return MetricScore(name=task["metric"]["name"], score=None, reason=reason, weight=_weight(task))


def _weight(task: MetricTask) -> float:
    return EvaluatorConfig.model_validate(task["options"]["evaluator"]).weights()[task["metric"]["name"]]


async def _found(services: Services, task: MetricTask, config: MetricConfig, submission: Submission) -> Finding:
    if config.kind == "python":
        return await judged_by_function(services, config, submission, theme=task["theme"])
    return await CODE_METRICS[config.name](services, task, submission)


def _varies(metric: MetricConfig, options: dict[str, Any]) -> bool:
    """Whether asking again may give another score."""
    return metric.kind == "model" and (metric.model or options["models"]["evaluator"]) != EXTRACTIVE
