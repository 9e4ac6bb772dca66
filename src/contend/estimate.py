"""What a run may cost, before anything is spent: the one place of this arithmetic.

A round is a list of steps. Each says how many calls it makes at least and at most, which parts its prompts hold, and
how long its replies are; a part has a size in tokens at least and at most. All else is sums.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from contend.llm.budget import cost_usd
from contend.llm.context import ContextProfile, profile_of
from contend.models.options import LENGTH_WORDS, ResolvedOptions, Role, TeamConfig
from contend.preflight import Opening
from contend.settings import ModelsConfig
from contend.team.metrics import WITH_PASSAGES
from contend.text import estimate_tokens

MOST_COMPARED = 4
"""Of more teams within a near tie, the first of the ranking are compared: every pair costs two calls."""

_TOKENS_PER_WORD = 1.5
"""Of a report with its citations."""

_SHAPE_PER_WORD = 2.5
"""Of a draft as the writer replies it: sentences in JSON with the numbers of their passages."""


class Span(NamedTuple):
    """Least and most."""

    least: float
    most: float

    def __add__(self, other: "Span") -> "Span":  # type: ignore[override]  # sums, not a longer tuple
        return Span(self.least + other.least, self.most + other.most)

    def __mul__(self, times: "Span") -> "Span":  # type: ignore[override]  # products, not repetition
        return Span(self.least * times.least, self.most * times.most)


class Estimate(NamedTuple):
    """Model calls, their tokens, and money in US dollars, at least and at most; None where a price is not known."""

    calls: tuple[int, int]
    tokens: tuple[int, int]
    usd: tuple[float, float] | None


@dataclass(frozen=True)
class _Step:
    """Calls of one kind: how many, by which model, with which parts in the prompt, how long a reply in tokens."""

    model: str
    calls: Span
    reply: Span
    passages: bool = False
    draft: bool = False
    brief: bool = False


_FRAME = Span(450, 900)
"""A prompt's instructions, and the schema of its reply, without what is filled in."""

_PLAN, _REVIEW, _METRIC, _JUDGMENT = Span(120, 500), Span(60, 400), Span(40, 250), Span(30, 150)
_LESSONS = Span(100, 800)
_SCREENED = Span(20, 100)
_CRITERIA = Span(200, 900)


def estimated(opening: Opening, models: ModelsConfig) -> Estimate:
    """The range of a run; `models` tells prices."""
    steps = [*_steps(opening)] if opening.options.models else []
    usd: Span | None = Span(0, 0)
    calls = tokens = Span(0, 0)
    for step in steps:
        prompt = _prompt(step, opening, profile_of(step.model, opening.options))
        calls += step.calls
        tokens += step.calls * (prompt + step.reply)
        costs = [
            cost_usd(models.prices.get(step.model), input_tokens=round(given), output_tokens=round(said))
            for given, said in zip(prompt, step.reply, strict=True)
        ]
        usd = None if usd is None or None in costs else usd + step.calls * Span(*(cost or 0.0 for cost in costs))
    return Estimate(_whole(calls), _whole(tokens), usd and (usd.least, usd.most))


def _steps(opening: Opening) -> Iterator[_Step]:
    options = opening.options
    for team in opening.teams:
        yield from _steps_of_team(team, options)
    pairs = min(MOST_COMPARED, len(opening.teams))
    yield _Step(options.models["evaluator"], Span(0, pairs * (pairs - 1)), _JUDGMENT, draft=True)
    if _judged_together(options):
        yield _Step(options.models["evaluator"], Span(1, 1), _CRITERIA)
    if options.learn:
        yield _Step(options.models["reflector"], Span(1, 1), _LESSONS, draft=True)
        yield _Step(options.models["curator"], Span(1, 2), _LESSONS)


def _steps_of_team(team: TeamConfig, options: ResolvedOptions) -> Iterator[_Step]:
    """A round: one plan, a draft in each loop, a review of each but the last, the metrics, the round judge."""

    def model(role: Role) -> str:
        return team.models.get(role, options.models[role])

    rounds = Span(options.min_rounds, options.max_rounds)
    loops = team.max_iterations or options.max_iterations
    words = LENGTH_WORDS[options.length]
    draft = Span(0.2 * words, words * _SHAPE_PER_WORD)
    yield _Step(model("supervisor"), rounds, _PLAN, brief=True)
    yield _Step(model("writer"), rounds * Span(1, loops), draft, passages=True, draft=loops > 1, brief=True)
    yield _Step(model("reviewer"), rounds * Span(min(1, loops - 1), loops - 1), _REVIEW, passages=True, draft=True)
    yield _Step(model("reviewer"), Span(0, rounds.most), _SCREENED)
    yield from _scoring(options, rounds)
    yield _Step(options.models["judge"], Span(0, rounds.most), _JUDGMENT, brief=True)


def _scoring(options: ResolvedOptions, rounds: Span) -> Iterator[_Step]:
    """Metrics by model, those of a judge that reads much in two calls, and one look at doubtful citations."""
    judge, samples = options.models["evaluator"], options.evaluator.samples
    asked = rounds * Span(samples, samples)
    by_model = [metric for metric in options.evaluator.metrics if metric.kind == "model"]
    shared = [metric.name for metric in by_model if metric.model is None and _judged_together(options)]
    if others := [name for name in shared if name != WITH_PASSAGES]:
        yield _Step(judge, asked, _METRIC * Span(len(others), 2 * len(others)), draft=True)
    if WITH_PASSAGES in shared:
        yield _Step(judge, asked, _METRIC * Span(1, 2), passages=True, draft=True)
    for metric in by_model:
        if metric.name not in shared:
            yield _Step(metric.model or judge, asked, _METRIC, passages=metric.name == WITH_PASSAGES, draft=True)
    yield _Step(judge, Span(0, rounds.most), _METRIC, passages=True)


def _judged_together(options: ResolvedOptions) -> bool:
    judge = options.models["evaluator"]
    return not profile_of(judge, options).compact and not options.evaluator.expected_score


def _prompt(step: _Step, opening: Opening, profile: ContextProfile) -> Span:
    """The tokens of a prompt; a run may find few passages, and its first round has no brief of earlier ones."""
    options = opening.options
    asked = estimate_tokens(opening.theme) + estimate_tokens(options.instructions)
    words = LENGTH_WORDS[options.length]
    parts = [_FRAME, Span(asked, asked)]
    if step.passages:
        parts.append(Span(profile.chosen_tokens / 8, profile.chosen_tokens))
    if step.draft:
        parts.append(Span(0.2 * words, min(profile.draft_tokens, words * _TOKENS_PER_WORD)))
    if step.brief:
        parts.append(Span(0, options.round_prompt.estimated_prompt_tokens))
    return _sum(parts)


def _sum(spans: Iterable[Span]) -> Span:
    total = Span(0, 0)
    for span in spans:
        total += span
    return total


def _whole(span: Span) -> tuple[int, int]:
    return round(span.least), round(span.most)
