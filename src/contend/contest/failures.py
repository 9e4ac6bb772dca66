"""What failed in a run without costing a team its place: the run's message and its report say it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contend.contest.comparing import Comparison
from contend.contest.editing import Editing
from contend.contest.outcomes import TeamOutcome
from contend.team.evaluation import by_judges
from contend.text import shorten

_REASON_CHARACTERS = 200
_NO_CRITERIA = "no criteria could be set, and coverage is judged by its rubric"


class _Failure(NamedTuple):
    what: str
    reason: str


def failure_notes(
    outcomes: Sequence[TeamOutcome],
    comparisons: Sequence[Comparison],
    editing: Editing,
    *,
    criteria_failure: str = "",
) -> list[str]:
    """A line each on what failed: criteria, metrics, round judges, comparisons, the editor. A reason is told once."""
    told = {outcome.status.error_message for outcome in outcomes}
    lines = []
    on_teams = (*_on_metrics(outcomes), *_on_judges(outcomes), *_on_comparisons(comparisons), *_on_editor(editing))
    on_criteria = [_Failure(_NO_CRITERIA, criteria_failure)] if criteria_failure else []
    for what, reason in (*on_criteria, *on_teams):
        lines.append(f"{what} ({'the same reason' if reason in told else shorten(reason, _REASON_CHARACTERS)})")
        told.add(reason)
    return lines


def dropped_quotes(outcomes: Sequence[TeamOutcome]) -> list[str]:
    """A line on judges' quotes that are in no submission, for who reads the report."""
    metrics = [metric for outcome in outcomes for finished in outcome.rounds for metric in finished.metrics]
    dropped = sum(metric.dropped for metric in metrics)
    return [f"quotes of judges that are in no submission, and were dropped: {dropped}"] if dropped else []


def _on_metrics(outcomes: Sequence[TeamOutcome]) -> Iterator[_Failure]:
    rounds = [finished for outcome in outcomes for finished in outcome.rounds]
    failed = [[metric for metric in by_judges(finished.metrics) if metric.score is None] for finished in rounds]
    hit = [metrics for metrics in failed if metrics]
    if hit:
        names = sorted({metric.name for metrics in hit for metric in metrics})
        yield _Failure(f"unscored in {len(hit)} of {len(rounds)} rounds: {', '.join(names)}", hit[0][0].reason)


def _on_judges(outcomes: Sequence[TeamOutcome]) -> Iterator[_Failure]:
    failures = [finished.judge_failure for outcome in outcomes for finished in outcome.rounds if finished.judge_failure]
    if failures:
        after = "1 round" if len(failures) == 1 else f"{len(failures)} rounds"
        yield _Failure(f"the round judge failed after {after}, and its team played on", failures[0])


def _on_editor(editing: Editing) -> Iterator[_Failure]:
    if editing.failure:
        yield _Failure("the editor failed, and the best team's report stands", editing.failure)


def _on_comparisons(comparisons: Sequence[Comparison]) -> Iterator[_Failure]:
    failures = [each.failure for each in comparisons if each.failure]
    if failures:
        yield _Failure(f"near tie: {len(failures)} of {len(comparisons)} comparisons failed", failures[0])
