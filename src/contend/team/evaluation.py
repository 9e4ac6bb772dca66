"""From metric scores to one evaluation: weights, unscored metrics, the cap on invented citations, the feedback."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from contend.models.evaluation import CODE_METRIC_NAMES, EvaluationResult, MetricScore
from contend.models.record import Language
from contend.text import shorten, shown_score, squeezed

INVALID_CITATION_CAP = 0.5
"""A report that cites what was not retrieved scores at most this."""

FEEDBACK_METRICS = 3
_AROUND_QUOTES = "\"'“”‘’「」『』…."

_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "unscored": "unscored: {names}; the other metrics are weighed alone",
        "lost": "unscored: {names}; metrics by code alone make no score",
        "capped": "capped: a citation names a source that was not retrieved",
    },
    "ja": {
        "unscored": "採点できなかった指標: {names}。ほかの指標だけで評価した",
        "lost": "採点できなかった指標: {names}。コードによる指標だけでは採点しない",
        "capped": "上限を適用: 取得していない資料への引用がある",
    },
}


class Overall(NamedTuple):
    score: float | None
    notes: list[str]


def evaluation_of(
    metrics: Sequence[MetricScore], *, language: Language = "en", notes: Sequence[str] = ()
) -> EvaluationResult:
    """The weighted mean over scored metrics (re-weighted where some are unscored), None where no judge gave a score.

    The feedback begins with what bears on all of it, `notes` last, and ends with the lowest metrics.
    """
    ordered = medians(metrics, language)
    overall = _overall(ordered, language)
    lowest = sorted((metric for metric in ordered if metric.score is not None), key=lambda metric: metric.score or 0.0)
    lines = [f"{metric.name} {shown_score(metric.score)}: {shorten(metric.reason, 300)}" for metric in lowest]
    return EvaluationResult(
        overall=overall.score, metrics=ordered, feedback="\n".join([*overall.notes, *notes, *lines[:FEEDBACK_METRICS]])
    )


def medians(samples: Sequence[MetricScore], language: Language) -> list[MetricScore]:
    """One score for each metric, by name: the median of its scored samples, with the reason of one near it."""
    by_name: dict[str, list[MetricScore]] = {}
    for sample in sorted(samples, key=lambda sample: (sample.name, sample.score or 0.0, sample.reason)):
        by_name.setdefault(sample.name, []).append(sample)
    return [_median(of_metric, language) for of_metric in by_name.values()]


def _median(samples: Sequence[MetricScore], language: Language) -> MetricScore:
    scored = [sample for sample in samples if sample.score is not None]
    if not scored or len(samples) == 1:
        return samples[0]
    middle = median(sample.score or 0.0 for sample in scored)
    nearest = min(scored, key=lambda sample: abs((sample.score or 0.0) - middle))
    told = ", ".join(shown_score(sample.score, language) for sample in samples)
    reason = f"{nearest.reason} (median of {told})"
    return nearest.model_copy(update={"score": middle, "reason": reason})


def _overall(metrics: Sequence[MetricScore], language: Language) -> Overall:
    judged = by_judges(metrics)
    # Metrics by code alone are no score: a round would gain by its judges' failure.
    lost = bool(judged) and all(metric.score is None for metric in judged)
    scored = [] if lost else [metric for metric in metrics if metric.score is not None and metric.weight > 0]
    missing = [metric.name for metric in metrics if metric.score is None and metric.applies]
    said = "lost" if lost else "unscored"
    notes = [_SAID[language][said].format(names=", ".join(missing))] if missing else []
    weight = sum(metric.weight for metric in scored)
    if not weight:
        return Overall(None, notes)
    mean = sum((metric.score or 0.0) * metric.weight for metric in scored) / weight
    if _cites_what_was_not_retrieved(metrics) and mean > INVALID_CITATION_CAP:
        return Overall(INVALID_CITATION_CAP, [*notes, _SAID[language]["capped"]])
    return Overall(min(1.0, mean), notes)


def _cites_what_was_not_retrieved(metrics: Sequence[MetricScore]) -> bool:
    return any(metric.name == "citation_validity" and metric.score not in {None, 1.0} for metric in metrics)


def by_judges(metrics: Sequence[MetricScore]) -> list[MetricScore]:
    """Those that count and are not by code."""
    return [metric for metric in metrics if metric.weight > 0 and metric.name not in CODE_METRIC_NAMES]


def found_evidence(evidence: Sequence[str], content: str) -> tuple[list[str], int]:
    """The quotes that stand in the submission, white space, emphasis and citation marks aside, and how many do not."""
    body = squeezed(content)
    kept = [quote for quote in evidence if (plain := squeezed(quote).strip(_AROUND_QUOTES)) and plain in body]
    return kept, len(evidence) - len(kept)
