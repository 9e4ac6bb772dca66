"""From metric scores to one evaluation: weights, unscored metrics, the cap on invented citations, the feedback."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from contend.models.evaluation import CODE_METRIC_NAMES, EvaluationResult, MetricScore
from contend.models.record import Language
from contend.text import WORDS, shown_score, squeezed

INVALID_CITATION_CAP = 0.5
"""A report that cites what was not retrieved scores at most this."""

_AROUND_QUOTES = "\"'“”‘’「」『』…."


class Overall(NamedTuple):
    score: float | None
    notes: list[str]


def evaluation_of(
    metrics: Sequence[MetricScore],
    *,
    language: Language = "en",
    places: Mapping[str, str] | None = None,
) -> EvaluationResult:
    """The weighted mean over scored metrics (re-weighted where some are unscored), None where no judge gave a score.

    `places`: where each sentence stands in the submission. The feedback lists what to mend, a line each and nothing
    cut: by criteria, by the other judges, by code; then what bears on the whole score.
    """
    scores = medians(metrics, language)
    overall = _overall(scores, language)
    lines = [*_fixes(scores, places or {}, language), *overall.notes]
    return EvaluationResult(overall=overall.score, metrics=scores, feedback="\n".join(lines))


def _fixes(metrics: Sequence[MetricScore], places: Mapping[str, str], language: Language) -> list[str]:
    """What judges want changed, coverage first, then the lowest metric; of one that names no fix its reason.

    What several say of one place stands together, and with it that its passages do not say it, or say a part.
    """
    weighty = [metric for metric in metrics if metric.score is not None and metric.weight > 0]
    lowest = sorted(weighty, key=lambda metric: (metric.name != "coverage" or not metric.fixes, metric.score or 0.0))
    by_place: dict[str, list[str]] = {}
    for metric in lowest:
        for fix in metric.fixes:
            by_place.setdefault(fix.where.strip(), []).append(fix.what)
        if not metric.fixes and metric.name != "citation_support" and metric.score != 1:
            by_place[f"{metric.name} {shown_score(metric.score, language)}"] = [metric.reason]
    marks, words = _marks(metrics, language), WORDS[language].feedback
    for text, mark in marks.items():
        if text in places:
            by_place.setdefault(places[text], []).append(mark)
    lines = [f"- {place}: {' '.join(dict.fromkeys(whats))}" for place, whats in by_place.items()]
    quotes = (words.quoted.format(mark=mark, text=text) for text, mark in marks.items() if text not in places)
    return [*lines, *(f"- {line}" for line in quotes)]


def _marks(metrics: Sequence[MetricScore], language: Language) -> dict[str, str]:
    """What is lacking of the sentences that are not supported, or only in part."""
    support, words = [metric for metric in metrics if metric.name == "citation_support"], WORDS[language].feedback
    marks = {text: words.unsupported for metric in support for text in metric.evidence}
    partly = {text: lacking for metric in support for text, lacking in metric.partly.items()}
    return marks | {text: words.said_in_part.format(lacking=lacking) for text, lacking in partly.items()}


def medians(samples: Sequence[MetricScore], language: Language) -> list[MetricScore]:
    """One score for each metric, by name: the median of its scored samples, with the reason of one near it."""
    by_name: dict[str, list[MetricScore]] = {}
    for sample in sorted(samples, key=lambda sample: (sample.name, sample.score or 0.0, sample.reason)):
        by_name.setdefault(sample.name, []).append(sample)
    return [_median(of_metric, language) for of_metric in by_name.values()]


def _median(samples: Sequence[MetricScore], language: Language) -> MetricScore:
    usable = [sample for sample in samples if sample.score is not None]
    if not usable or len(samples) == 1:
        return samples[0]
    middle = median(sample.score or 0.0 for sample in usable)
    nearest = min(usable, key=lambda sample: abs((sample.score or 0.0) - middle))
    values = ", ".join(shown_score(sample.score, language) for sample in samples)
    reason = f"{nearest.reason} (median of {values})"
    return nearest.model_copy(update={"score": middle, "reason": reason})


def _overall(metrics: Sequence[MetricScore], language: Language) -> Overall:
    of_judges = by_judges(metrics)
    # Metrics by code alone are no score: a round would gain by its judges' failure.
    judges_failed = bool(of_judges) and all(metric.score is None for metric in of_judges)
    usable = [] if judges_failed else [metric for metric in metrics if metric.score is not None and metric.weight > 0]
    missing = [metric.name for metric in metrics if metric.score is None and metric.applies]
    words = WORDS[language].feedback
    line = words.judges_unscored if judges_failed else words.metrics_unscored
    notes = [line.format(names=", ".join(missing))] if missing else []
    weight = sum(metric.weight for metric in usable)
    if not weight:
        return Overall(None, notes)
    mean = sum((metric.score or 0.0) * metric.weight for metric in usable) / weight
    invalid = any(metric.name == "citation_validity" and metric.score not in {None, 1.0} for metric in metrics)
    if invalid and mean > INVALID_CITATION_CAP:
        return Overall(INVALID_CITATION_CAP, [*notes, words.capped])
    return Overall(min(1.0, mean), notes)


def by_judges(metrics: Sequence[MetricScore]) -> list[MetricScore]:
    """Those that count and are not by code."""
    return [metric for metric in metrics if metric.weight > 0 and metric.name not in CODE_METRIC_NAMES]


def evidence_in(evidence: Sequence[str], content: str) -> tuple[list[str], int]:
    """The quotes that stand in the submission, white space, emphasis and citation marks aside, and how many do not."""
    body = squeezed(content)
    quotes = [quote for quote in evidence if (plain := squeezed(quote).strip(_AROUND_QUOTES)) and plain in body]
    return quotes, len(evidence) - len(quotes)
