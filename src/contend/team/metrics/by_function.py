"""Metrics by a Python function of the user's own."""

import math
from numbers import Real

from contend.errors import MetricError
from contend.models.evaluation import Measurement, MetricInput
from contend.models.options import MetricConfig
from contend.models.submission import Submission
from contend.registry import FunctionFailed, call_function
from contend.services import Services
from contend.text import clean, shorten


async def judged_by_function(
    services: Services, config: MetricConfig, submission: Submission, *, theme: str
) -> Measurement:
    """What the function says: a score from 0 to 1, or a score and its reason.

    Raises:
        MetricError: it raised, was not done in time, or gave no score.
    """
    given = MetricInput(
        query=theme,
        submission=submission.content,
        sources=[source.model_dump(mode="json") for source in submission.report.sources],
        points=list(submission.points),
    )
    function = services.function(config.function or "")
    try:
        return finding_of(await call_function(function, given, seconds=config.timeout_seconds))
    except FunctionFailed as error:
        raise MetricError(f"the metric's function {error}") from error


def finding_of(result: object) -> Measurement:
    """A function's result as a finding.

    Raises:
        MetricError: it is neither a score from 0 to 1 nor a score and a text.
    """
    score, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, "")  # noqa: PLR2004 - score and reason
    number = float(score) if isinstance(score, Real) and not isinstance(score, bool) else math.nan
    if not 0 <= number <= 1 or not isinstance(reason, str):
        shown = shorten(repr(result), 80)
        raise MetricError(f"the metric's function gave {shown}: give a score from 0 to 1, or (score, reason)")
    return Measurement(number, clean(reason))
