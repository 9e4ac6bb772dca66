"""The metrics: each turns a submission into a score with its reason. By a model, or by code."""

from contend.team.metrics.by_code import checked_citations
from contend.team.metrics.measuring import Measured, measure
from contend.team.metrics.seen import seen_by_judges

__all__ = ["Measured", "checked_citations", "measure", "seen_by_judges"]
