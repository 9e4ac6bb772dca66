"""Round control: a pure function from a team's rounds, limits and clock to its next step."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from contend.models.evaluation import MetricScore
from contend.models.options import ResolvedOptions
from contend.models.record import Record, Score
from contend.models.round import ExitReason, Judgment, Round, best_round
from contend.text import counted, shown_score

_ROUNDING = 1e-9
"""0.35 - 0.34 is a little less than 0.01."""


class NextStep(Record):
    """What follows a round. `exit_reason` None: another round, or the judge decides."""

    step: Literal["go_on", "ask_judge", "stop"]
    reasoning: str
    exit_reason: ExitReason | None = None
    confidence: Score | None = None


class TeamLimits(Record):
    """What round control looks at beside the rounds. `hard_stop`: the hard budget that is used up."""

    hard_stop: ExitReason | None = None
    share_left: float = Field(default=1.0, ge=0, le=1)
    time_used: float = Field(default=0.0, ge=0)
    max_rounds: int | None = None
    """What its kind of team plays at most."""


def decide(rounds: Sequence[Round], options: ResolvedOptions, limits: TeamLimits) -> NextStep:  # noqa: PLR0911 - one return for each reason, in the order that holds
    """Hard stops, then the rounds that must be played, then the stops without a call; else the judge is asked."""
    count, judgment = len(rounds), options.judgment
    if limits.hard_stop is not None:
        return _stop(limits.hard_stop, f"{limits.hard_stop} reached after round {count}")
    if limits.time_used >= options.timeout_per_team_seconds:
        return _stop("deadline", f"the team's {options.timeout_per_team_seconds} active seconds are used")
    if limits.max_rounds is not None and count >= limits.max_rounds:
        return _stop("one_round", "quotes are found in one round")
    if count < options.min_rounds:
        return NextStep(step="go_on", reasoning=f"round {count} of at least {options.min_rounds}")
    if count >= options.max_rounds:
        return _stop("max_rounds", f"round {count} of at most {options.max_rounds}")
    best = max((each.score for each in rounds if each.score is not None), default=None)
    if judgment.target_score is not None and best is not None and best >= judgment.target_score:
        return _stop("target_score", f"{shown_score(best)} reaches the target")
    if on_plateau(rounds, min_improvement=judgment.min_improvement, patience=judgment.patience):
        return _stop("plateau", f"no gain in the last {counted(judgment.patience, 'rounds')}")
    if limits.share_left < judgment.budget_reserve:
        return _stop("budget_reserve", f"{limits.share_left:.0%} of a budget is left, which is kept back")
    return NextStep(step="ask_judge", reasoning="the round judge decides")


def after_judgment(judgment: Judgment, *, confidence_threshold: float) -> NextStep:
    """The judge's word; a stop it is not sure of is not followed."""
    if judgment.should_continue or judgment.confidence < confidence_threshold:
        return NextStep(step="go_on", reasoning=judgment.reasoning, confidence=judgment.confidence)
    return NextStep(step="stop", reasoning=judgment.reasoning, exit_reason="judge", confidence=judgment.confidence)


def lean(rounds: Sequence[Round]) -> list[Round]:
    """The rounds as the state keeps them: of their metrics what later nodes read. The record has all of it."""
    best = best_round(rounds)
    return [
        each.model_copy(update={"metrics": [_lean(metric, of_best=each is best) for metric in each.metrics]})
        for each in rounds
    ]


def _lean(metric: MetricScore, *, of_best: bool) -> MetricScore:
    reason = "" if metric.score is not None else metric.reason
    # The sentences that the best submission's sources do not say are named in the report.
    evidence = metric.evidence if of_best and metric.name == "citation_support" else []
    return metric.model_copy(update={"reason": reason, "evidence": evidence, "fixes": []})


def on_plateau(rounds: Sequence[Round], *, min_improvement: float, patience: int) -> bool:
    """Whether the last `patience` rounds brought no gain of `min_improvement` over the best before them."""
    if len(rounds) <= patience:
        return False
    before = max((each.score or 0.0 for each in rounds[:-patience]), default=0.0)
    since = max(each.score or 0.0 for each in rounds[-patience:])
    return since - before < min_improvement - _ROUNDING


def _stop(reason: ExitReason, reasoning: str) -> NextStep:
    return NextStep(step="stop", reasoning=reasoning, exit_reason=reason)
