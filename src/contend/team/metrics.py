"""The metrics of a submission: refused by code, measured by code or a function, or judged by a model; and their sum."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import median
from typing import Any

from langgraph.errors import NodeError
from langgraph.types import Command

from contend.checks import check_validity
from contend.criteria import goes_by_criteria, reads_whole_reports
from contend.errors import ContendError, MetricError
from contend.langgraph_compat import cause
from contend.models.evaluation import (
    CODE_METRIC_NAMES,
    EvaluationResult,
    MetricContext,
    MetricResult,
    MetricScore,
    Submission,
)
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.record import Language
from contend.prompts.library import PromptLibrary
from contend.registry import FunctionFailed, call_function
from contend.run_context import RunContext
from contend.services import Services
from contend.team.judge_view import reason_not_to_judge
from contend.team.judging import judge_by_model, judge_together
from contend.team.measurement import Measurement, open_measurement
from contend.team.state import MetricTask
from contend.team.support import citation_support, citations_of, support_of
from contend.text import WORDS, clean, shorten, shown_score

_SHOWN_CHARACTERS = 160

WITH_CITATIONS = "citation_support"
"""The metric by code whose statements without quotes a judge decides on that has the passages at hand."""

INVALID_CITATION_CAP = 0.5
"""A report that cites what was not retrieved scores at most this."""

CodeMetric = Callable[[Measurement, MetricConfig], Awaitable[MetricResult]]


async def citation_validity(work: Measurement, config: MetricConfig) -> MetricResult:
    """The share of citations whose source was retrieved; 0.0 where nothing is cited.

    An address that stands in a passage is no citation.
    """
    words, submission = WORDS[work.language].feedback, work.submission
    texts = [f"{each.title}\n\n{each.text}" for each in work.passages]
    validity = check_validity(submission.report, {result.url for result in submission.results}, texts=texts)
    total = validity.total + len(submission.missing)
    if not total:
        return _result(config, 0.0, words.uncited)
    reason = words.citations_retrieved.format(good=validity.valid, all=total)
    if submission.missing:
        names = (f"{shorten(name, _SHOWN_CHARACTERS)} ({why})" for name, why in submission.missing.items())
        reason += words.citations_missing.format(text="; ".join(names))
    return _result(config, validity.valid / total, reason)


async def point_coverage(work: Measurement, config: MetricConfig) -> MetricResult:
    """The share of the question's parts that are answered, one answered in part counting half; None without parts."""
    words, submission = WORDS[work.language].feedback, work.submission
    if not submission.parts:
        return _result(config, None, words.no_plan)
    good = sum(part.state == "answered" for part in submission.parts)
    points = good + sum(part.state == "partly" for part in submission.parts) / 2
    reason = words.points_answered.format(good=good, all=len(submission.parts))
    if missing := unanswered(submission):
        reason += words.points_missing.format(text="; ".join(shorten(each, _SHOWN_CHARACTERS) for each in missing))
    return _result(config, points / len(submission.parts), reason)


def unanswered(submission: Submission) -> list[str]:
    """The parts of the question that are not answered as a whole."""
    return [part.text for part in submission.parts if part.state != "answered"]


CODE_METRICS: Mapping[str, CodeMetric] = {
    "citation_validity": citation_validity,
    WITH_CITATIONS: citation_support,
    "point_coverage": point_coverage,
}
"""By the names that `config/evaluator.toml` gives them; `contend.models.evaluation` lists them too."""


def metric_tasks(
    run: RunContext,
    *,
    submission: str,
    theme: str,
    team_id: str,
    round_number: int,
    criteria: Sequence[dict[str, Any]] = (),
    with_fixes: bool = True,
) -> list[MetricTask]:
    """All that is measured of a submission, those by a language model as often as there are samples.

    Metrics that the run's model judges are asked in one call where it can read whole reports; with the first sample it
    decides on statements without quotes, too.
    """
    options, configs = run.options, run.options.evaluator.all_metrics
    together = [each for each in configs if _goes_together(run.library, each, options, criteria=bool(criteria))]
    support = [each for each in configs if together and each.name == WITH_CITATIONS]
    alone = [[each] for each in configs if each not in [*together, *support]]
    return [
        MetricTask(
            metrics=[each.name for each in [*metrics, *(support if metrics is together and sample == 1 else [])]],
            together=metrics is together,
            with_fixes=with_fixes,
            criteria=list(criteria),
            sample=sample,
            submission=submission,
            theme=theme,
            execution_id=run.execution_id,
            team_id=team_id,
            round_number=round_number,
        )
        for metrics in [*([together] if together else []), *alone]
        for sample in range(1, 1 + (options.evaluator.samples if metrics[0].kind == "model" else 1))
    ]


def _goes_together(library: PromptLibrary, metric: MetricConfig, options: ResolvedOptions, *, criteria: bool) -> bool:
    """How likely each percentage is can be read off one percentage only; of criteria there is none."""
    if not reads_whole_reports(library, metric, options):
        return False
    return not options.evaluator.expected_score or (criteria and goes_by_criteria(library, metric, options))


async def measure(work: Measurement) -> list[MetricResult]:
    """The metrics of a task.

    Raises:
        ModelError: the metrics' model failed.
        MetricError: the metric's own function failed.
    """
    reason = reason_not_to_judge(work.question, work.submission.content, work.language)
    if reason is not None:
        return [_result(each, 0.0, reason) for each in work.metrics]
    if work.together:
        return [*await judge_together(work), *_citations_by_verdicts(work)]
    (config,) = work.metrics
    match config.kind:
        case "python":
            return [await judge_by_function(work, config)]
        case "model":
            return [await judge_by_model(work, config)]
        case _:
            return [await CODE_METRICS[config.name](work, config)]


def results_without_score(work: Measurement, error: BaseException) -> list[MetricResult]:
    """Metrics that failed: no score, never 0. Of citations code's word stands."""
    reason = str(error) if isinstance(error, ContendError) else f"{type(error).__name__}: {error}"
    citations = _citations_by_verdicts(work) if work.together else []
    by_name = {each.name: MetricResult(score=each.with_score(None, reason)) for each in work.metrics}
    return list((by_name | {each.score.name: each for each in citations}).values())


@dataclass(frozen=True)
class MeasuringNodes:
    """What a graph measures a submission by: results stand in its state under `key`, and it goes on at `join`."""

    services: Services
    key: str
    join: str

    async def score(self, task: MetricTask) -> dict[str, Any]:
        """The metrics that one call judges, or one by code."""
        return self._update(await measure(await open_measurement(self.services, task)))

    async def leave_unscored(self, task: MetricTask, error: NodeError) -> Command[Any]:
        """Metrics that fail leave their scores open; the others count."""
        # A failed node's edges are not followed: without this, metrics that all fail would end the graph silently.
        work = await open_measurement(self.services, task)
        return Command(update=self._update(results_without_score(work, cause(error))), goto=self.join)

    def _update(self, results: Sequence[MetricResult]) -> dict[str, Any]:
        return {self.key: [each.model_dump(mode="json") for each in results]}


def _citations_by_verdicts(work: Measurement) -> list[MetricResult]:
    """How far citations hold, by code and by what a judge has said; none where nobody asks."""
    configs = [each for each in work.metrics if each.name == WITH_CITATIONS]
    return [support_of(each, citations_of(work), work.language) for each in configs]


def _result(config: MetricConfig, score: float | None, reason: str) -> MetricResult:
    return MetricResult(score=config.with_score(score, reason, applies=score is not None))


async def judge_by_function(work: Measurement, config: MetricConfig) -> MetricResult:
    """What the function says: a score from 0 to 1, or a score and its reason.

    Raises:
        MetricError: it raised, was not done in time, or gave no score.
    """
    context = MetricContext(
        question=work.question,
        report=work.submission.content,
        statements=work.submission.draft.sentences(),
        passages=work.passages,
        sources=work.submission.report.sources,
        parts=work.submission.parts,
    )
    # In a thread: where the run goes on after a restart, the file that has it is read only now.
    metric = await asyncio.to_thread(work.function, config)
    try:
        result = await call_function(metric.function, context, seconds=config.timeout_seconds or metric.timeout_seconds)
    except FunctionFailed as error:
        raise MetricError(f"the metric's function {error}") from error
    score, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, "")  # noqa: PLR2004 - score and reason
    number = float(score) if isinstance(score, Real) and not isinstance(score, bool) else math.nan
    if not 0 <= number <= 1 or not isinstance(reason, str):
        text = shorten(repr(result), 80)
        raise MetricError(f"the metric's function gave {text}: give a score from 0 to 1, or (score, reason)")
    return _result(config, number, clean(reason))


def evaluation_of(
    metrics: Sequence[MetricScore],
    *,
    language: Language = "en",
    places: Mapping[str, str] | None = None,
    doubts_first: bool = False,
) -> EvaluationResult:
    """The weighted mean over scored metrics (re-weighted where some are unscored), None where no judge gave a score.

    `places`: where each sentence stands in the submission. The feedback lists what to mend, a line each and nothing
    cut: by criteria, by the other judges, by code; then what bears on the whole score. `doubts_first`: statements that
    are not shown stand before all else.
    """
    scores = medians(metrics, language)
    overall, notes = _overall(scores, language)
    lines = [*_fixes(scores, places or {}, language, doubts_first=doubts_first), *notes]
    return EvaluationResult(overall=overall, metrics=scores, feedback="\n".join(lines))


def _fixes(
    metrics: Sequence[MetricScore], places: Mapping[str, str], language: Language, *, doubts_first: bool
) -> list[str]:
    """What judges want changed, coverage first, then the lowest metric; of one that names no fix its reason.

    What several say of one place stands together, and with it that its passages do not say it, or say a part.
    """
    weighty = [metric for metric in metrics if metric.score is not None and metric.weight > 0]
    lowest = sorted(weighty, key=lambda metric: (metric.name != "coverage" or not metric.fixes, metric.score or 0.0))
    marks, words = _marks(metrics, language), WORDS[language].feedback
    placed = {text: mark for text, mark in marks.items() if text in places}
    by_place: dict[str, list[str]] = {}
    for text, mark in (placed if doubts_first else {}).items():
        by_place.setdefault(places[text], []).append(mark)
    for metric in lowest:
        for fix in metric.fixes:
            by_place.setdefault(fix.where, []).append(fix.what)
        if not metric.fixes and metric.name != "citation_support" and metric.score != 1:
            by_place[f"{metric.name} {shown_score(metric.score, language)}"] = [metric.reason]
    for text, mark in placed.items():
        by_place.setdefault(places[text], []).append(mark)
    lines = [f"- {place}: {' '.join(dict.fromkeys(whats))}" for place, whats in by_place.items()]
    quotes = (words.quoted.format(mark=mark, text=text) for text, mark in marks.items() if text not in places)
    return [*lines, *(f"- {line}" for line in quotes)]


def _marks(metrics: Sequence[MetricScore], language: Language) -> dict[str, str]:
    """What is lacking of the sentences that are not supported, then of those that are in part."""
    support, words = [metric for metric in metrics if metric.name == "citation_support"], WORDS[language].feedback
    lacking = {text: what for metric in support for text, what in metric.partly.items()}
    marks = {}
    for text in (each for metric in support for each in metric.evidence):
        why = lacking.get(text)
        marks[text] = words.unsupported_because.format(lacking=why) if why else words.unsupported
    return marks | {
        text: words.said_in_part.format(lacking=what) for text, what in lacking.items() if text not in marks
    }


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


def _overall(metrics: Sequence[MetricScore], language: Language) -> tuple[float | None, list[str]]:
    of_judges = by_judges(metrics)
    # Metrics by code alone are no score: a round would gain by its judges' failure.
    no_judge = bool(of_judges) and all(metric.score is None for metric in of_judges)
    usable = [] if no_judge else [metric for metric in metrics if metric.score is not None]
    missing = [metric.name for metric in metrics if metric.score is None and metric.applies]
    words = WORDS[language].feedback
    line = words.judges_unscored if no_judge else words.metrics_unscored
    notes = [line.format(names=", ".join(missing))] if missing else []
    weight = sum(metric.weight for metric in usable)
    if not weight:
        return None, notes
    mean = sum((metric.score or 0.0) * metric.weight for metric in usable) / weight
    invalid = any(metric.name == "citation_validity" and metric.score not in {None, 1.0} for metric in metrics)
    if invalid and mean > INVALID_CITATION_CAP:
        return INVALID_CITATION_CAP, [*notes, words.capped]
    return min(1.0, mean), notes


def by_judges(metrics: Sequence[MetricScore]) -> list[MetricScore]:
    """Those that count and are not by code."""
    return [metric for metric in metrics if metric.weight > 0 and metric.name not in CODE_METRIC_NAMES]
