"""The metrics: each turns a submission into a score with its reason. By a model, by code, or by a function."""

from contend.team.metrics.measuring import Measured, measure, metric_tasks, unscored
from contend.team.metrics.seen import seen_by_judges
from contend.team.metrics.support import CitationCounts, Doubt, citation_counts, doubts_of, lines_of

__all__ = [
    "CitationCounts",
    "Doubt",
    "Measured",
    "citation_counts",
    "doubts_of",
    "lines_of",
    "measure",
    "metric_tasks",
    "seen_by_judges",
    "unscored",
]
