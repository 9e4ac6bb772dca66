"""One metric of one submission: refused by code, measured by code, or judged by a model."""

from contend.models.evaluation import MetricScore
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.task import CallUsage
from contend.services import Services
from contend.team.metrics.by_code import CODE_METRICS
from contend.team.metrics.by_model import judged_by_model
from contend.team.metrics.seen import refusal
from contend.team.state import MetricTask

Measured = tuple[MetricScore, CallUsage | None]


async def measure(services: Services, task: MetricTask) -> Measured:
    """One metric of one submission.

    Raises:
        ModelError: the metric's model failed.
    """
    config = MetricConfig.model_validate(task["metric"])
    options = ResolvedOptions.model_validate(task["options"])
    submission = await services.require_submission(task["submission"])
    weight = options.evaluator.weights()[config.name]
    if (refused := refusal(task["theme"], submission.content, options.language)) is not None:
        return MetricScore(name=config.name, score=0.0, reason=refused, weight=weight), None
    if config.kind == "code":
        finding = await CODE_METRICS[config.name](services, submission, options.language)
        return MetricScore(name=config.name, score=finding.score, reason=finding.reason, weight=weight), None
    return await judged_by_model(services, task, config, submission, weight=weight)
