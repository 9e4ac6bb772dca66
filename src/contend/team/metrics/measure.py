"""The metrics of one submission: refused by code, measured by code or a function, or judged by a model."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from contend.errors import ContendError, MetricError
from contend.models.evaluation import Measurement, MetricInput, MetricScore
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.record import Record
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.registry import FunctionFailed, call_function
from contend.run_context import RunContext
from contend.services import Services
from contend.team.criteria import judged_by_criteria, reads_whole_reports
from contend.team.metrics.by_model import judge_by_model, judge_together
from contend.team.metrics.plan_points import names_something, uncovered_points
from contend.team.metrics.rejection import refusal
from contend.team.metrics.support import checked_validity, citation_support, citations_of, support_of
from contend.team.state import MetricTask
from contend.text import WORDS, clean, shorten

_SHOWN_CHARACTERS = 160


CodeMetric = Callable[[Services, MetricTask, Submission], Awaitable[Measurement]]


async def citation_validity(services: Services, task: MetricTask, submission: Submission) -> Measurement:
    """The share of citations whose source was retrieved; 0.0 where nothing is cited."""
    language = (await services.run(task)).options.language
    validity, words = await checked_validity(services, submission), WORDS[language].feedback
    total = validity.total + len(submission.missing)
    if not total:
        return Measurement(0.0, words.uncited)
    reason = words.citations_retrieved.format(good=validity.valid, all=total)
    if submission.missing:
        names = (f"{shorten(name, _SHOWN_CHARACTERS)} ({why})" for name, why in submission.missing.items())
        reason += words.citations_missing.format(text="; ".join(names))
    return Measurement(validity.valid / total, reason)


async def point_coverage(services: Services, task: MetricTask, submission: Submission) -> Measurement:
    """The share of the plan's points that the report answers; None without a plan."""
    words = WORDS[(await services.run(task)).options.language].feedback
    points = [point for point in submission.points if names_something(point)]
    if not points:
        return Measurement(None, words.no_plan)
    missing = uncovered_points(points, submission.content)
    good = len(points) - len(missing)
    reason = words.points_answered.format(good=good, all=len(points))
    if missing:
        reason += words.points_missing.format(text="; ".join(shorten(each, _SHOWN_CHARACTERS) for each in missing))
    return Measurement(good / len(points), reason)


CODE_METRICS: Mapping[str, CodeMetric] = {
    "citation_validity": citation_validity,
    "citation_support": citation_support,
    "point_coverage": point_coverage,
}
"""By the names that `config/evaluator.toml` gives them; `contend.models.evaluation` lists them too."""


WITH_CITATIONS = "citation_support"
"""The metric by code whose doubtful citations a judge decides on that has the passages at hand."""


class MetricResult(Record):
    """A metric's score, and what a model was asked for it; of metrics judged together beside the first."""

    score: MetricScore
    usage: CallUsage | None = None


def metric_tasks(
    services: Services,
    run: RunContext,
    *,
    submission: str,
    theme: str,
    team_id: str,
    round_number: int,
    criteria: Sequence[dict[str, Any]] = (),
) -> list[MetricTask]:
    """All that is measured of a submission, those by a language model as often as there are samples.

    Metrics that the run's model judges are asked in one call where it can read whole reports; with the first sample it
    decides on doubtful citations, too.
    """
    options, weights = run.options, run.options.evaluator.weights()
    configs = options.evaluator.measured
    together = [each for each in configs if _goes_together(services, each, options, criteria=bool(criteria))]
    support = [each for each in configs if together and each.name == WITH_CITATIONS]
    alone = [[each] for each in configs if each not in [*together, *support]]
    return [
        MetricTask(
            metrics=[
                {**each.model_dump(mode="json"), "weight": weights[each.name]}
                for each in [*metrics, *(support if metrics is together and sample == 1 else [])]
            ],
            together=metrics is together,
            criteria=list(criteria),
            sample=sample,
            submission=submission,
            theme=theme,
            execution_id=run.execution_id,
            team_id=team_id,
            round_number=round_number,
        )
        for metrics in [*([together] if together else []), *alone]
        for sample in range(1, 1 + (options.evaluator.samples if metrics[0].kind == "model" else 1))
    ]


async def measure(services: Services, task: MetricTask) -> list[MetricResult]:
    """The metrics of a task.

    Raises:
        ModelError: the metrics' model failed.
        MetricError: the metric's own function failed.
    """
    configs = [MetricConfig.model_validate(metric) for metric in task["metrics"]]
    submission = await services.require_submission(task["submission"])
    reason = refusal(task["theme"], submission.content, (await services.run(task)).options.language)
    if reason is not None:
        return [MetricResult(score=_score(each, Measurement(0.0, reason))) for each in configs]
    if not task["together"]:
        return [await _measure_alone(services, task, configs[0], submission)]
    by_model = [each for each in configs if each.kind == "model"]
    scores, usage = await judge_together(services, task, by_model, submission)
    rest = [*scores[1:], *await _citations_by_verdicts(services, task)]
    return [MetricResult(score=scores[0], usage=usage), *(MetricResult(score=each) for each in rest)]


async def unscored(services: Services, task: MetricTask, error: BaseException) -> list[MetricResult]:
    """Metrics that failed: no score, never 0. Of citations code's word stands."""
    reason = str(error) if isinstance(error, ContendError) else f"{type(error).__name__}: {error}"
    citations = await _citations_by_verdicts(services, task) if task["together"] else []
    scores = {
        metric["name"]: MetricScore(name=metric["name"], score=None, reason=reason, weight=metric["weight"])
        for metric in task["metrics"]
    }
    return [MetricResult(score=each) for each in (scores | {each.name: each for each in citations}).values()]


async def _citations_by_verdicts(services: Services, task: MetricTask) -> list[MetricScore]:
    """How far citations hold, by code and by what a judge has said of the doubtful ones; none where nobody asks."""
    configs = [MetricConfig.model_validate(each) for each in task["metrics"] if each["name"] == WITH_CITATIONS]
    submission = await services.require_submission(task["submission"])
    language = (await services.run(task)).options.language
    return [_score(each, support_of(await citations_of(services, task, submission), language)) for each in configs]


async def _measure_alone(
    services: Services, task: MetricTask, config: MetricConfig, submission: Submission
) -> MetricResult:
    if config.kind == "model":
        score, usage = await judge_by_model(services, task, config, submission)
        return MetricResult(score=score, usage=usage)
    if config.kind == "python":
        measurement = await judge_by_function(services, config, submission, theme=task["theme"])
    else:
        measurement = await CODE_METRICS[config.name](services, task, submission)
    return MetricResult(score=_score(config, measurement), usage=measurement.usage)


def _score(config: MetricConfig, measurement: Measurement) -> MetricScore:
    return MetricScore(
        name=config.name,
        score=measurement.score,
        reason=measurement.reason,
        weight=config.weight or 0.0,
        evidence=list(measurement.evidence),
        applies=measurement.score is not None,
        partly=dict(measurement.partly),
    )


def _goes_together(services: Services, metric: MetricConfig, options: ResolvedOptions, *, criteria: bool) -> bool:
    """How likely each percentage is can be read off one percentage only; of criteria there is none."""
    if not reads_whole_reports(services, metric, options):
        return False
    return not options.evaluator.expected_score or (criteria and judged_by_criteria(services, metric, options))


async def judge_by_function(
    services: Services, config: MetricConfig, submission: Submission, *, theme: str
) -> Measurement:
    """What the function says: a score from 0 to 1, or a score and its reason.

    Raises:
        MetricError: it raised, was not done in time, or gave no score.
    """
    metric_input = MetricInput(
        query=theme,
        submission=submission.content,
        sources=[source.model_dump(mode="json") for source in submission.report.sources],
        points=list(submission.points),
    )
    function = services.function(config.function or "")
    try:
        return measurement_of(await call_function(function, metric_input, seconds=config.timeout_seconds))
    except FunctionFailed as error:
        raise MetricError(f"the metric's function {error}") from error


def measurement_of(result: object) -> Measurement:
    """A function's result as a measurement.

    Raises:
        MetricError: it is neither a score from 0 to 1 nor a score and a text.
    """
    score, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, "")  # noqa: PLR2004 - score and reason
    number = float(score) if isinstance(score, Real) and not isinstance(score, bool) else math.nan
    if not 0 <= number <= 1 or not isinstance(reason, str):
        text = shorten(repr(result), 80)
        raise MetricError(f"the metric's function gave {text}: give a score from 0 to 1, or (score, reason)")
    return Measurement(number, clean(reason))
