"""The metrics: each turns a submission into a score with its reason. By a model, by code, or by a function."""

from contend.team.metrics.by_model import WITH_PASSAGES, listed
from contend.team.metrics.judge_view import pair_view
from contend.team.metrics.measure import MetricResult, measure, metric_tasks, unscored
from contend.team.metrics.support import claims_by_text, lines_of

__all__ = [
    "WITH_PASSAGES",
    "MetricResult",
    "claims_by_text",
    "lines_of",
    "listed",
    "measure",
    "metric_tasks",
    "pair_view",
    "unscored",
]
