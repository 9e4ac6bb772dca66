"""Metrics by code: were the cited sources retrieved, do they say it, are the plan's points answered?"""

from collections.abc import Awaitable, Callable, Mapping

from contend.models.evaluation import Measurement
from contend.models.submission import Submission
from contend.services import Services
from contend.team.metrics.plan_points import names_something, uncovered_points
from contend.team.metrics.support import checked_validity, citation_support
from contend.team.state import MetricTask
from contend.text import WORDS, shorten

_SHOWN_CHARACTERS = 160


CodeMetric = Callable[[Services, MetricTask, Submission], Awaitable[Measurement]]


async def citation_validity(services: Services, task: MetricTask, submission: Submission) -> Measurement:
    """The share of citations whose source was retrieved; 0.0 where nothing is cited."""
    language = (await services.run(task)).options.language
    validity = await checked_validity(services, submission)
    if not validity.total:
        return Measurement(0.0, WORDS[language].feedback.uncited)
    return _share(validity.valid, validity.total, WORDS[language].feedback.citations_retrieved)


async def point_coverage(services: Services, task: MetricTask, submission: Submission) -> Measurement:
    """The share of the plan's points that the report answers; None without a plan."""
    language = (await services.run(task)).options.language
    points = [point for point in submission.points if names_something(point)]
    if not points:
        return Measurement(None, WORDS[language].feedback.no_plan)
    missing = uncovered_points(points, submission.content)
    finding = _share(len(points) - len(missing), len(points), WORDS[language].feedback.points_answered)
    if not missing:
        return finding
    shown = "; ".join(shorten(point, _SHOWN_CHARACTERS) for point in missing)
    return finding._replace(reason=finding.reason + WORDS[language].feedback.points_missing.format(text=shown))


def _share(good: int, total: int, line: str) -> Measurement:
    return Measurement(good / total, line.format(good=good, all=total))


CODE_METRICS: Mapping[str, CodeMetric] = {
    "citation_validity": citation_validity,
    "citation_support": citation_support,
    "point_coverage": point_coverage,
}
"""By the names that `config/evaluator.toml` gives them; `contend.models.evaluation` lists them too."""
