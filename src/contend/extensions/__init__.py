"""Sources, metrics and teams that code brings as objects; what a TOML file names has the same shapes."""

from contend.extensions._joining import (
    GIVE_AGAIN,
    Extensions,
    Metrics,
    Sources,
    Teams,
    metric_in_file,
    run_request,
    source_in_file,
    with_metrics,
)
from contend.extensions._objects import Evaluator, GuestTeam, MetricFunction, SourceFunction, metric, source

__all__ = [
    "GIVE_AGAIN",
    "Evaluator",
    "Extensions",
    "GuestTeam",
    "MetricFunction",
    "Metrics",
    "SourceFunction",
    "Sources",
    "Teams",
    "metric",
    "metric_in_file",
    "run_request",
    "source",
    "source_in_file",
    "with_metrics",
]
