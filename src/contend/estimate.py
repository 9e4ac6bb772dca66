"""What a run may cost, before anything is spent: the one place of this arithmetic.

A run is a list of steps. Each says how many calls it makes at least and at most, what its prompts hold, and how long
its replies are, in tokens at least and at most. All else is sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contend.llm import profile_of
from contend.llm.budget import cost_usd
from contend.llm.chat import schema_tokens
from contend.models import evaluation as judging
from contend.models import replies
from contend.models.options import LENGTH_WORDS, ResolvedOptions, Role, TeamConfig
from contend.models.playbook import CurationReply, ReflectionReply
from contend.models.replies import Reply
from contend.preflight import Opening
from contend.research.asking import MOST_LOOKS
from contend.settings.files import ModelsConfig
from contend.text import estimate_tokens

MOST_COMPARED_TEAMS = 4
"""Of more teams within a near tie, the first of the ranking are compared: each with the best costs two calls."""


Span = NDArray[np.float64]
"""Least and most: sums and products are those of each."""


def _span(least: float, most: float) -> Span:
    return np.array([least, most], np.float64)


class RunEstimate(NamedTuple):
    """Model calls, their tokens, and money in US dollars, at least and at most; None where a price is not known."""

    calls: tuple[int, int]
    tokens: tuple[int, int]
    usd: tuple[float, float] | None


@dataclass(frozen=True)
class _Step:
    """Calls of one kind: how many, by which model, in which shape; what prompts hold beside their frame; replies."""

    model: str
    shape: type[Reply]
    calls: Span
    reply: Span
    holds: Span | float = 0.0


_FRAME = _span(600, 900)
"""A prompt's instructions, without what is filled in."""

_STEP, _REVIEW, _METRIC, _JUDGMENT = _span(150, 700), _span(400, 2500), _span(60, 250), _span(40, 150)
_LESSONS, _PARTS, _CRITERIA, _SCREENING = _span(100, 800), _span(30, 300), _span(800, 2200), _span(20, 300)
_VERDICTS, _MENDED = _span(1800, 3200), _span(100, 1000)
_RUBRICS = _span(700, 2200)
"""The criteria with their examples, and the metrics' rubrics in a judge's prompt."""

_LIKELY_STEPS = _span(3, 10)
"""A strong model's, of however many it may take."""


def estimate_run(opening: Opening, models: ModelsConfig, *, corpus: int | None = None) -> RunEstimate:
    """The range of a run; `models` tells prices, `corpus` how many tokens its own documents have, where it is known."""
    options, teams = opening.options, opening.teams
    if not options.models:
        return RunEstimate((0, 0), (0, 0), (0.0, 0.0))
    whole = _estimate(opening.theme, options, teams, models, corpus)
    if options.depth != "auto":
        return whole
    least = _estimate(opening.theme, *_least(options, teams), models, corpus)
    usd = (least.usd[0], whole.usd[1]) if least.usd and whole.usd else None
    return RunEstimate((least.calls[0], whole.calls[1]), (least.tokens[0], whole.tokens[1]), usd)


def _least(options: ResolvedOptions, teams: Sequence[TeamConfig]) -> tuple[ResolvedOptions, Sequence[TeamConfig]]:
    """What `auto` plays where nothing is left open: one team, unless others are named, and no more than it has to."""
    synthesis = options.synthesis and "synthesis" in options.explicit
    least = options.model_copy(update={"max_rounds": options.min_rounds, "synthesis": synthesis})
    return least, teams[:1] if options.begins_with_one else teams


def contest_tokens(options: ResolvedOptions, teams: Sequence[TeamConfig], *, rounds: int, spent: int) -> int:
    """About how many tokens a contest of all teams would have used where the first used `spent` in so many rounds.

    As many times as much as the estimate says, to two digits.
    """
    without_lessons = options.model_copy(update={"learn": False})
    alone = without_lessons.model_copy(update={"min_rounds": rounds, "max_rounds": rounds})
    whole, part = (
        sum(_estimate("", options_of, teams_of, ModelsConfig(default=""), None).tokens)
        for options_of, teams_of in ((without_lessons, teams), (alone, teams[:1]))
    )
    return int(float(f"{spent * whole / part:.1e}"))


def _estimate(
    theme: str, options: ResolvedOptions, teams: Sequence[TeamConfig], models: ModelsConfig, corpus: int | None
) -> RunEstimate:
    calls = sum((step.calls for step in _Plan(options, teams, corpus).steps()), start=_span(0, 0))
    question = estimate_tokens(theme) + estimate_tokens(options.instructions)
    tokens, usd = _span(0, 0), _span(0, 0)
    is_priced = True
    for step in _Plan(options, teams, corpus, likely=True).steps():
        prompt = _FRAME + step.holds + schema_tokens(step.shape) + question
        tokens += step.calls * (prompt + step.reply)
        costs = [
            cost_usd(models.prices.get(step.model), input_tokens=prompt_tokens, output_tokens=reply_tokens)
            for prompt_tokens, reply_tokens in zip(prompt, step.reply, strict=True)
        ]
        is_priced = is_priced and None not in costs
        usd += step.calls * [cost or 0.0 for cost in costs]
    return RunEstimate(_whole(calls), _whole(tokens), (float(usd[0]), float(usd[1])) if is_priced else None)


def _whole(span: Span) -> tuple[int, int]:
    least, most = span
    return round(least), round(most)


class _Plan:
    """The steps of a run. `corpus`: tokens of the own documents; None where nobody counted them.

    `likely`: what most runs do, instead of all that one may do.
    """

    def __init__(
        self, options: ResolvedOptions, teams: Sequence[TeamConfig], corpus: int | None, *, likely: bool = False
    ) -> None:
        self._likely = likely
        self._teams = teams
        self._options = options
        self._corpus = corpus if options.sources == ["local"] else None
        # A reader's own limit holds in place of the length; a question of many parts has up to twice the room.
        words = _span(min(LENGTH_WORDS.values()), 2 * LENGTH_WORDS[options.length])
        self._draft = _span(1.4, 2.2) * words
        """A draft as it is shown."""
        self._draft_reply = _span(2.0, 3.0) * words
        """A draft as its writer replies it."""
        # Judges of a first report nearly always find what is worth another round.
        least = (options.min_rounds + 2 * options.max_rounds) / 3 if likely else options.min_rounds
        self._rounds = _span(least, options.max_rounds)
        self._of_research = _span(1, 1) if options.mends_only else self._rounds
        """Rounds with steps, reviews and a round judge behind them."""

    def steps(self) -> Iterator[_Step]:
        options, teams = self._options, self._teams
        evaluator = options.models["evaluator"]
        for team in teams:
            yield from self._of_team(team)
        if options.criteria_file is None:
            yield _Step(evaluator, judging.CriteriaReply, _span(1, 1), _CRITERIA)
        elif not options.criteria_file.parts:
            yield _Step(evaluator, judging.PartsReply, _span(1, 1), _PARTS)
        if options.synthesis and len(teams) > 1:
            yield from self._editing(len(teams))
        pairs = min(MOST_COMPARED_TEAMS, len(teams))
        yield self._pair(_span(0, min(2 if self._likely else 6, 2 * (pairs - 1))))
        if options.learn:
            yield _Step(options.models["reflector"], ReflectionReply, _span(1, 1), _LESSONS, self._draft)
            yield _Step(options.models["curator"], CurationReply, _span(1, 2), _LESSONS)

    def _of_team(self, team: TeamConfig) -> Iterator[_Step]:
        """Rounds: steps of research, drafts, reviews of all but the last, metrics, the round judge between them."""

        def model(role: Role) -> str:
            return team.models.get(role, self._options.models[role])

        rounds, drafts = self._rounds, team.max_iterations or self._options.max_iterations
        mends_only, researched = self._options.mends_only, self._of_research[1]
        # Where rounds only mend, and mostly with the depth `auto`, rules decide.
        by_rules = mends_only or (self._likely and self._options.depth == "auto")
        judge, decisions = self._options.models["judge"], _span(0, 0 if by_rules else rounds[1])
        if team.kind == "graph":  # what its own calls cost, nobody can say before
            rounds = np.minimum(rounds, self._of_research)
            yield from self._scoring(rounds)
            yield _Step(judge, judging.JudgmentReply, decisions, _JUDGMENT, self._draft)
            return
        writer, reviewer, brief = model("writer"), model("reviewer"), _span(0, 500)
        yield from self._researching(model("supervisor"))
        at_work = self._at_work(writer)
        # What several teams hold is asked about once.
        yield _Step(reviewer, replies.InjectionReply, _span(1 / len(self._teams), 1), _SCREENING, at_work)
        yield _Step(writer, replies.ReportReply, _span(1, 1), self._draft_reply, at_work)
        # Later rounds begin with the best report, which is the first of their drafts.
        later = 1 if mends_only else max(1, drafts - 1)
        revisions = _span(rounds[0] - 1, drafts - 1 + (rounds[1] - 1) * later)
        revising = at_work + self._draft + _span(0, 1500)
        yield _Step(writer, replies.RevisionReply, revisions, self._draft_reply * _span(0.4, 1), revising)
        mends = _span(0, rounds[1] if self._likely else 1 + revisions[1])
        yield _Step(writer, replies.MendedReply, mends, _MENDED, at_work + _span(0, 1500))
        # Where all was read whole there is nothing to open.
        looks = 0 if self._likely and self._read_whole(writer) else MOST_LOOKS
        reviews = _span(drafts > 1, (drafts - 1) * (1 + looks) + (researched - 1) * max(0, drafts - 2))
        yield _Step(reviewer, replies.FixesReply, reviews, _REVIEW, at_work + self._draft)
        yield from self._scoring(rounds)
        yield _Step(judge, judging.JudgmentReply, decisions, _JUDGMENT, brief + self._draft)

    def _researching(self, model: str) -> Iterator[_Step]:
        """Steps, whose prompts grow with what they bring; none where all is read whole."""
        if self._read_whole(model):
            return
        profile = profile_of(model, self._options)
        steps = (
            np.minimum(_LIKELY_STEPS, self._options.max_steps) if self._likely else _span(1, self._options.max_steps)
        )
        grown = np.minimum(profile.step_tokens * steps, profile.prompt_tokens) / 2
        most = self._of_research[1]
        times = _span(1, min(most, 1.5) if self._likely else most)
        yield _Step(model, replies.StepReply, steps * times, _STEP, self._catalogue + grown)

    def _scoring(self, times: Span) -> Iterator[_Step]:
        """One call where a judge reads whole reports; else one for each metric by model, and one on citations."""
        options = self._options
        judge, calls = options.models["evaluator"], times * options.evaluator.samples
        at_work = self._at_work(judge)
        by_model = [metric for metric in options.evaluator.metrics if metric.kind == "model"]
        together = [each for each in by_model if each.model is None and self._judged_together]
        if together:
            with_repairs = calls * _span(1, 1.2)
            yield _Step(judge, judging.VerdictsReply, with_repairs, _VERDICTS, at_work + self._draft + _RUBRICS)
            if options.length == "long":  # more citations than one reply has room for
                yield _Step(judge, judging.CitationReply, times * _span(0, 1), _METRIC, at_work)
        for metric in by_model:
            if metric not in together:
                yield _Step(metric.model or judge, judging.MetricReply, calls, _METRIC, self._draft + _span(0, 500))
        if not together:
            yield _Step(judge, judging.CitationReply, _span(0, times[1]), _METRIC, at_work)

    def _editing(self, reports: int) -> Iterator[_Step]:
        """The merged report: written, reviewed where there are sources to open, judged, and set beside the best one."""
        writer = self._options.models["writer"]
        holds = self._at_work(writer) * _span(1, 1.3) + self._draft * min(reports, 26)
        merger = _span(float(self._likely), 1)
        if not self._read_whole(writer):  # it may look into the sources first
            yield _Step(writer, replies.MergeReply, _span(0, 1), _STEP, holds)
            reviewer, mended = self._options.models["reviewer"], holds + self._draft
            yield _Step(reviewer, replies.FixesReply, merger * _span(1, 1 + MOST_LOOKS), _REVIEW, mended)
            yield _Step(writer, replies.RevisionReply, merger, self._draft_reply * _span(0.2, 0.8), mended)
        yield _Step(writer, replies.MergeReply, merger, self._draft_reply, holds)
        yield from self._scoring(merger)
        yield self._pair(merger * 2)

    def _pair(self, calls: Span) -> _Step:
        judge = self._options.models["evaluator"]
        least, most = _span(0.1, 0.9) * self._at_work(judge)
        passages = _span(least, min(most, profile_of(judge, self._options).disputed_tokens))
        return _Step(judge, judging.PairwiseReply, calls, _JUDGMENT, self._draft * 2 + passages)

    def _at_work(self, model: str) -> Span:
        """Passages of a call: all there are, where they fit, else what a team holds."""
        most = profile_of(model, self._options).evidence_tokens
        if self._corpus is None or self._corpus > most:
            return _span(most / 6, most)
        return _span(0.9, 1.2) * self._corpus

    @property
    def _catalogue(self) -> Span:
        return _span(50, 3000) if self._corpus is None else _span(0.01, 0.1) * min(self._corpus, 120_000)

    def _read_whole(self, model: str) -> bool:
        return self._corpus is not None and self._corpus <= profile_of(model, self._options).evidence_tokens

    @property
    def _judged_together(self) -> bool:
        return not self._options.evaluator.expected_score
