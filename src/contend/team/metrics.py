"""The metrics: each turns a submission into a score with its reason. By a model, or by code alone."""

from collections.abc import Callable, Mapping

from contend.citations import check_validity
from contend.llm.model import Scope
from contend.models.evaluation import MetricScore
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.replies import MetricReply
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts import Untrusted
from contend.services import Services
from contend.team.evaluation import found_evidence
from contend.team.state import MetricTask

Measured = tuple[MetricScore, CallUsage | None]
CodeMetric = Callable[[Submission, float], MetricScore]


async def measure(services: Services, task: MetricTask) -> Measured:
    """One metric of one submission.

    Raises:
        ModelError: the metric's model failed.
    """
    config = MetricConfig.model_validate(task["metric"])
    options = ResolvedOptions.model_validate(task["options"])
    submission = await services.require_submission(task["submission"])
    weight = options.evaluator.weights()[config.name]
    if config.kind == "code":
        return CODE_METRICS[config.name](submission, weight), None
    if (refused := refusal(task["theme"], submission.content)) is not None:
        return MetricScore(name=config.name, score=0.0, reason=refused, weight=weight), None
    return await _by_model(services, task, config, submission, weight)


async def _by_model(
    services: Services, task: MetricTask, config: MetricConfig, submission: Submission, weight: float
) -> Measured:
    language = task["options"]["language"]
    scope = Scope(
        execution_id=task["execution_id"],
        role="evaluator",
        language=language,
        team_id=task["team_id"],
        round_number=task["round_number"],
        step=config.name,
    )
    values: Mapping[str, object] = {
        "metric": config.name,
        "rubric": services.rubric(config.name, language),
        "user_query": Untrusted(task["theme"], label="query"),
        "submission": Untrusted(submission.content, label="submission"),
        "points": [Untrusted(point) for point in submission.points],
    }
    options = ResolvedOptions.model_validate(task["options"])
    model = services.model("evaluator", options, task["execution_id"], name=config.model)
    answer = await model.structured("evaluator/metric", MetricReply, values, scope=scope)
    evidence, dropped = found_evidence(answer.value.evidence, submission.content)
    note = f" ({dropped} quotes are not in the submission and were dropped)" if dropped else ""
    score = MetricScore(
        name=config.name,
        score=answer.value.score(),
        reason=answer.value.reason + note,
        weight=weight,
        evidence=evidence,
    )
    return score, answer.usage


def refusal(theme: str, content: str) -> str | None:
    """Why code refuses a submission before any call; None if it may be judged."""
    body = "\n".join(line for line in content.splitlines() if not line.startswith(("#", "*Generated at")))
    if not body.replace(theme, "").strip():
        return "nothing beyond the question"
    return None


def citation_validity(submission: Submission, weight: float) -> MetricScore:
    """The share of citations whose source was retrieved; 0 where nothing is cited."""
    validity = check_validity(submission.report, {result.url for result in submission.results})
    if not validity.total:
        return MetricScore(name="citation_validity", score=0.0, reason="nothing is cited", weight=weight)
    reason = f"{validity.valid} of {validity.total} citations name a retrieved source"
    return MetricScore(name="citation_validity", score=validity.valid / validity.total, reason=reason, weight=weight)


CODE_METRICS: Mapping[str, CodeMetric] = {"citation_validity": citation_validity}
"""Metrics by code, by the name that `config/evaluator.toml` gives them."""
