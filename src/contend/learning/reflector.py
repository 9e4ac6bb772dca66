"""The reflector: draws lessons from a run's rounds, and says of the bullets that were used whether they helped."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field

from contend.llm import DEFAULT_CONTEXT_TOKENS, Model, Scope
from contend.models.evaluation import Submission
from contend.models.playbook import Bullet, BulletEvaluation, ReflectionReply, ReflectionResult
from contend.models.record import Identifier, Language, Record, Score
from contend.models.task import CallUsage
from contend.prompts.judging import ReflectorPrompt, RoundReflectedOn, ShownBullet
from contend.text import estimate_tokens, shorten

_log = logging.getLogger(__name__)


class _Limits(NamedTuple):
    """Rounds in a prompt; characters of a round in each of its texts, `line` in a query or document; their number."""

    rounds: int
    feedback: int
    judges: int
    judgment: int
    draft: int
    queries: int
    citations: int
    line: int


_WHOLE = _Limits(
    rounds=16, feedback=12_000, judges=10, judgment=2_000, draft=40_000, queries=20, citations=40, line=400
)
"""Longer than what judges and writers may write."""
_MEDIUM = _Limits(rounds=6, feedback=2_400, judges=6, judgment=300, draft=12_000, queries=8, citations=10, line=150)
"""About 20,000 tokens at most."""
_COMPACT = _Limits(rounds=2, feedback=1_200, judges=4, judgment=150, draft=3_000, queries=4, citations=4, line=120)
"""About 4,000 tokens at most: a small model reads 8,000, and its reply has to fit."""
_LIMITS = (_WHOLE, _MEDIUM, _COMPACT)


class PlayedRound(Record):
    """A finished round as the reflector sees it."""

    team_id: Identifier
    round_number: int = Field(ge=1)
    score: Score | None = None
    feedback: str = ""
    used: list[str] = Field(default_factory=list)
    """The ids of the bullets that its submission used."""
    metrics: dict[str, Score | None] = Field(default_factory=dict)
    queries: list[str] = Field(default_factory=list)
    exit_reason: str | None = None
    judged: list[str] = Field(default_factory=list)
    """What each judge wrote, and what is unmet."""
    submission: str | None = None
    """The document id of what was handed in, from which come `draft` and `cited`."""
    draft: str = ""
    cited: list[str] = Field(default_factory=list)
    """Documents, each with the search that found it."""


class Reflection(NamedTuple):
    """What the reflector found, and the calls it made."""

    result: ReflectionResult
    usage: list[CallUsage]


@dataclass(frozen=True)
class ReflectorAgent:
    """Reflects on a run in one model call."""

    llm: Model
    context_of: Callable[[str], int] = lambda _: DEFAULT_CONTEXT_TOKENS
    """The tokens that the model can read in an execution, by its id."""

    async def reflect(
        self,
        rounds: Sequence[PlayedRound],
        bullets: Sequence[Bullet],
        *,
        dataset: str,
        execution_id: str,
        theme: str = "",
        language: Language = "en",
    ) -> Reflection:
        """Lessons of the rounds, and one tag at most for each of `bullets` that a round used.

        Without rounds there is no call. Of many rounds the best and the worst are shown. Tags of other bullets are
        dropped and logged. Texts are cut where they take more than half of what the model reads.

        Raises:
            ModelError: as `Model.ask`.
        """
        if not rounds:
            return Reflection(ReflectionResult(), [])
        ids = {bullet_id for each in rounds for bullet_id in each.used}
        own = [bullet for bullet in bullets if bullet.id in ids]
        context = self.context_of(execution_id)
        limits = next(each for each in _LIMITS if _fits(rounds, each, context))
        prompt = ReflectorPrompt(
            dataset=dataset,
            theme=theme,
            rounds=[_shorten_round(each, limits) for each in _telling(rounds, limits.rounds)],
            bullets=[ShownBullet.of(bullet) for bullet in own],
        )
        scope = Scope(execution_id=execution_id, role="reflector", language=language)
        answer = await self.llm.ask(prompt, ReflectionReply, scope=scope)
        return Reflection(reflection_of(answer.value, {bullet.id for bullet in own}), [answer.usage])


def _fits(rounds: Sequence[PlayedRound], limits: _Limits, context: int) -> bool:
    texts = (_shorten_round(each, limits).model_dump_json() for each in _telling(rounds, limits.rounds))
    return limits is _COMPACT or sum(map(estimate_tokens, texts)) <= context // 2


def _telling(rounds: Sequence[PlayedRound], most: int) -> list[PlayedRound]:
    """The best and the worst rounds, in the order played: lessons come from the contrast."""
    if len(rounds) <= most:
        return [*rounds]
    by_score = sorted((each for each in rounds if each.score is not None), key=lambda each: each.score or 0.0)
    half = most // 2
    extremes = {id(each) for each in (*by_score[:half], *by_score[-half:])}
    return [each for each in rounds if id(each) in extremes] or [*rounds[:most]]


def _shorten_round(whole: PlayedRound, limits: _Limits) -> RoundReflectedOn:
    return RoundReflectedOn(
        **whole.model_dump(exclude={"submission", "feedback", "draft", "queries", "judged", "cited"}),
        feedback=shorten(whole.feedback, limits.feedback),
        draft=shorten(whole.draft, limits.draft),
        queries=_lines(whole.queries, limits.queries, limits.line),
        judged=_lines(whole.judged, limits.judges, limits.judgment),
        cited=_lines(whole.cited, limits.citations, limits.line),
    )


def _lines(texts: Sequence[str], most: int, characters: int) -> list[str]:
    return [shorten(text, characters) for text in texts[:most]]


def with_drafts(rounds: Sequence[PlayedRound], submissions: Mapping[str, Submission]) -> list[PlayedRound]:
    """The rounds with what their submissions show: the documents cited, and the best and the worst draft."""
    by_score = sorted((each for each in rounds if each.submission in submissions), key=lambda each: each.score or 0.0)
    telling = {each.submission for each in (*by_score[:1], *by_score[-1:])}

    def with_draft(each: PlayedRound) -> PlayedRound:
        if (submission := submissions.get(each.submission or "")) is None:
            return each
        draft = submission.content if each.submission in telling else each.draft
        return each.model_copy(update={"cited": _citations(submission), "draft": draft})

    return [*map(with_draft, rounds)]


def _citations(submission: Submission) -> list[str]:
    """Each document cited, with the search that found it."""
    ids = {*submission.draft.passages()}
    passages = [passage for passage in submission.passages if passage.id in ids]
    queries = {passage.title: submission.found_by.get(passage.id, "") for passage in passages}
    return [f"{title} ← {query}" if query else title for title, query in queries.items()]


def reflection_of(reply: ReflectionReply, ids: Collection[str]) -> ReflectionResult:
    """What a reply says, without tags of bullets other than these, and with one tag at most for each."""
    insights = [insight for insight in reply.insights if insight.key_insight.strip()]
    tags: dict[str, BulletEvaluation] = {}
    for evaluation in reply.bullet_evaluations:
        if evaluation.bullet_id in ids:
            tags.setdefault(evaluation.bullet_id, evaluation)
        else:
            _log.info("dropped the tag of %s: no round used such a bullet", shorten(evaluation.bullet_id, 64))
    return ReflectionResult(insights=insights, bullet_evaluations=[*tags.values()])
