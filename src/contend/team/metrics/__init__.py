"""The metrics: each turns a submission into a score with its reason. By a model, by code, or by a function."""

from contend.team.metrics.by_model import WITH_PASSAGES, numbered_criteria
from contend.team.metrics.judge_view import pair_view
from contend.team.metrics.measure import MetricResult, measure, metric_tasks, unscored
from contend.team.metrics.support import claims_by_text, lines_of

__all__ = [
    "WITH_PASSAGES",
    "MetricResult",
    "claims_by_text",
    "lines_of",
    "measure",
    "metric_tasks",
    "numbered_criteria",
    "pair_view",
    "unscored",
]
