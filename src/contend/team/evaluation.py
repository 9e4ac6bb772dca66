"""From metric scores to one evaluation: weights, unscored metrics, the cap on invented citations, the feedback."""

from collections.abc import Sequence
from typing import NamedTuple

from contend.models.evaluation import EvaluationResult, MetricScore
from contend.models.record import Language
from contend.text import shorten

INVALID_CITATION_CAP = 0.5
"""A report that cites what was not retrieved scores at most this."""

FEEDBACK_METRICS = 3

_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "unscored": "unscored: {names}; the other metrics are weighed alone",
        "capped": "capped: a citation names a source that was not retrieved",
    },
    "ja": {
        "unscored": "採点できなかった指標: {names}。ほかの指標だけで評価した",
        "capped": "上限を適用: 取得していない資料への引用がある",
    },
}


class Overall(NamedTuple):
    score: float | None
    notes: list[str]


def evaluation_of(
    metrics: Sequence[MetricScore], *, language: Language = "en", notes: Sequence[str] = ()
) -> EvaluationResult:
    """The weighted mean over scored metrics (re-weighted where some are unscored), None where none is.

    The feedback begins with what bears on all of it, `notes` last, and ends with the lowest metrics.
    """
    ordered = sorted(metrics, key=lambda metric: metric.name)
    overall = _overall(ordered, language)
    lowest = sorted((metric for metric in ordered if metric.score is not None), key=lambda metric: metric.score or 0.0)
    lines = [f"{metric.name} {_shown(metric.score)}: {shorten(metric.reason, 300)}" for metric in lowest]
    return EvaluationResult(
        overall=overall.score, metrics=ordered, feedback="\n".join([*overall.notes, *notes, *lines[:FEEDBACK_METRICS]])
    )


def _overall(metrics: Sequence[MetricScore], language: Language) -> Overall:
    scored = [metric for metric in metrics if metric.score is not None and metric.weight > 0]
    missing = [metric.name for metric in metrics if metric.score is None]
    notes = [_SAID[language]["unscored"].format(names=", ".join(missing))] if missing else []
    weight = sum(metric.weight for metric in scored)
    if not weight:
        return Overall(None, notes)
    mean = sum((metric.score or 0.0) * metric.weight for metric in scored) / weight
    if _cites_what_was_not_retrieved(metrics) and mean > INVALID_CITATION_CAP:
        return Overall(INVALID_CITATION_CAP, [*notes, _SAID[language]["capped"]])
    return Overall(min(1.0, mean), notes)


def _cites_what_was_not_retrieved(metrics: Sequence[MetricScore]) -> bool:
    return any(metric.name == "citation_validity" and metric.score not in {None, 1.0} for metric in metrics)


def found_evidence(evidence: Sequence[str], content: str) -> tuple[list[str], int]:
    """The quotes that stand in the submission, white space aside, and how many do not."""
    body = "".join(content.split())
    kept = [quote for quote in evidence if quote.strip() and "".join(quote.split()) in body]
    return kept, len(evidence) - len(kept)


def _shown(score: float | None) -> str:
    return "unscored" if score is None else f"{score * 100:.1f}/100"
