"""contend: research teams answer the same question in competing rounds; the best report wins.

Example:
    import contend

    outcome = await contend.run("Why do bridges hum in the wind?", options=contend.RunOptions(documents=["papers"]))
    print(outcome.markdown)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contend.app import DryRun, RunOutcome, dry_run, research, resume, run, status
    from contend.extensions import Evaluator, GuestTeam, MetricFunction, SourceFunction, metric, source
    from contend.graphs import build_graph
    from contend.models.evaluation import MetricContext
    from contend.models.options import RunOptions
    from contend.services import Services
    from contend.settings import load_settings

__all__ = [
    "DryRun",
    "Evaluator",
    "GuestTeam",
    "MetricContext",
    "MetricFunction",
    "RunOptions",
    "RunOutcome",
    "Services",
    "SourceFunction",
    "build_graph",
    "dry_run",
    "load_settings",
    "metric",
    "research",
    "resume",
    "run",
    "source",
    "status",
]

_HOMES = {
    **dict.fromkeys(
        ["Evaluator", "GuestTeam", "MetricFunction", "SourceFunction", "metric", "source"], "contend.extensions"
    ),
    "MetricContext": "contend.models.evaluation",
    "RunOptions": "contend.models.options",
    "Services": "contend.services",
    "build_graph": "contend.graphs",
    "load_settings": "contend.settings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """Import on first use: the graph and its libraries take seconds, `contend --help` must not."""
    if name not in __all__:
        raise AttributeError(f"module 'contend' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - keeps `import contend` bare

    return getattr(import_module(_HOMES.get(name, "contend.app")), name)
