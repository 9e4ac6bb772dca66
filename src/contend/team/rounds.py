"""Round control: a pure function from a team's rounds, limits and clock to its next step."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from contend.models.evaluation import MetricScore
from contend.models.options import ResolvedOptions
from contend.models.record import Record, Score, UtcDatetime, utc_now
from contend.models.round import ExitReason, Judgment
from contend.models.task import CallUsage, RunUsage
from contend.text import shown_score

_ROUNDING = 1e-9
"""0.35 - 0.34 is a little less than 0.01."""


class FinishedRound(Record):
    """A round as the team's state keeps it: the submission by its document id, active seconds.

    `judge_failure` says why the round judge that was asked after it gave no word.
    """

    round_number: int = Field(ge=1)
    submission: str
    score: Score | None
    feedback: str
    metrics: list[MetricScore]
    uncovered: list[str] = Field(default_factory=list)
    queries: list[str] = Field(default_factory=list)
    bullets_used: list[str] = Field(default_factory=list)
    calls: list[CallUsage] = Field(default_factory=list)
    judge_failure: str = ""
    seconds: float = Field(ge=0)
    completed_at: UtcDatetime = Field(default_factory=utc_now)

    @property
    def usage(self) -> RunUsage:
        return RunUsage.of(self.calls)


class Decision(Record):
    """What follows a round. `exit_reason` None: another round, or the judge decides."""

    step: Literal["go_on", "ask_judge", "stop"]
    reasoning: str
    exit_reason: ExitReason | None = None
    confidence: Score | None = None


class Standing(Record):
    """What round control looks at beside the rounds. `hard_stop`: the hard budget that is used up."""

    hard_stop: ExitReason | None = None
    share_left: float = Field(default=1.0, ge=0, le=1)
    time_used: float = Field(default=0.0, ge=0)
    max_rounds: int | None = None
    """What its kind of team plays at most."""


def decide(rounds: Sequence[FinishedRound], options: ResolvedOptions, standing: Standing) -> Decision:  # noqa: PLR0911 - one return for each reason, in the order that holds
    """Hard stops, then the rounds that must be played, then the stops without a call; else the judge is asked."""
    played, judgment = len(rounds), options.judgment
    if standing.hard_stop is not None:
        return _stop(standing.hard_stop, f"{standing.hard_stop} reached after round {played}")
    if standing.time_used >= options.timeout_per_team_seconds:
        return _stop("deadline", f"the team's {options.timeout_per_team_seconds} active seconds are used")
    if standing.max_rounds is not None and played >= standing.max_rounds:
        return _stop("one_round", "quotes are found in one round")
    if played < options.min_rounds:
        return Decision(step="go_on", reasoning=f"round {played} of at least {options.min_rounds}")
    if played >= options.max_rounds:
        return _stop("max_rounds", f"round {played} of at most {options.max_rounds}")
    best = max((finished.score for finished in rounds if finished.score is not None), default=None)
    if judgment.target_score is not None and best is not None and best >= judgment.target_score:
        return _stop("target_score", f"{shown_score(best)} reaches the target")
    if on_plateau(rounds, min_improvement=judgment.min_improvement, patience=judgment.patience):
        return _stop("plateau", f"no gain in the last {judgment.patience} rounds")
    if standing.share_left < judgment.budget_reserve:
        return _stop("budget_reserve", f"{standing.share_left:.0%} of a budget is left, which is kept back")
    return Decision(step="ask_judge", reasoning="the round judge decides")


def judged(judgment: Judgment, *, confidence_threshold: float) -> Decision:
    """The judge's word; a stop it is not sure of is not followed."""
    if judgment.should_continue or judgment.confidence < confidence_threshold:
        return Decision(step="go_on", reasoning=judgment.reasoning, confidence=judgment.confidence)
    return Decision(step="stop", reasoning=judgment.reasoning, exit_reason="judge", confidence=judgment.confidence)


def best_of(rounds: Sequence[FinishedRound]) -> FinishedRound | None:
    """The round with the best score, of equals the later; the latest where none is scored."""
    scored = [finished for finished in rounds if finished.score is not None]
    if scored:
        return max(scored, key=lambda finished: (finished.score or 0.0, finished.round_number))
    return rounds[-1] if rounds else None


def lean(rounds: Sequence[FinishedRound]) -> list[FinishedRound]:
    """The rounds as the state keeps them: of their metrics what later nodes read. The record has all of it."""
    best = best_of(rounds)
    return [
        finished.model_copy(
            update={"metrics": [_lean(metric, of_best=finished is best) for metric in finished.metrics]}
        )
        for finished in rounds
    ]


def _lean(metric: MetricScore, *, of_best: bool) -> MetricScore:
    reason = "" if metric.score is not None else metric.reason
    # The sentences that the best submission's sources do not say are named in the report.
    evidence = metric.evidence if of_best and metric.name == "citation_support" else []
    return metric.model_copy(update={"reason": reason, "evidence": evidence, "fixes": []})


def on_plateau(rounds: Sequence[FinishedRound], *, min_improvement: float, patience: int) -> bool:
    """Whether the last `patience` rounds brought no gain of `min_improvement` over the best before them."""
    if len(rounds) <= patience:
        return False
    before = max((finished.score or 0.0 for finished in rounds[:-patience]), default=0.0)
    since = max(finished.score or 0.0 for finished in rounds[-patience:])
    return since - before < min_improvement - _ROUNDING


def _stop(reason: ExitReason, reasoning: str) -> Decision:
    return Decision(step="stop", reasoning=reasoning, exit_reason=reason)
