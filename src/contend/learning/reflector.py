"""The reflector: draws lessons from a run's rounds, and says of the bullets that were used whether they helped."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field

from contend.llm.model import Model, Scope
from contend.models.playbook import Bullet, BulletEvaluation, Insight, ReflectionResult
from contend.models.record import Identifier, Language, Record, Score
from contend.models.replies import ReflectionReply
from contend.models.task import CallUsage
from contend.prompts.lessons import reflector_values
from contend.text import shorten

_log = logging.getLogger(__name__)

_MOST_ROUNDS = 16
_FEEDBACK_CHARACTERS = 400
_MOST_QUERIES = 6
_QUERY_CHARACTERS = 120


class PlayedRound(Record):
    """A finished round as the reflector sees it. `used` holds the ids of the bullets that its submission used."""

    team_id: Identifier
    round_number: int = Field(ge=1)
    score: Score | None = None
    feedback: str = ""
    used: list[str] = Field(default_factory=list)
    metrics: dict[str, Score | None] = Field(default_factory=dict)
    queries: list[str] = Field(default_factory=list)
    exit_reason: str | None = None


class Reflection(NamedTuple):
    """What the reflector found, and the calls it made."""

    result: ReflectionResult
    usage: list[CallUsage]


@dataclass(frozen=True)
class ReflectorAgent:
    """Reflects on a run in one model call."""

    llm: Model

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
        dropped and logged.

        Raises:
            ModelError: as `Model.structured`.
        """
        if not rounds:
            return Reflection(ReflectionResult(), [])
        used = {bullet_id for played in rounds for bullet_id in played.used}
        tagged = [bullet for bullet in bullets if bullet.id in used]
        shown = [_shortened(played).model_dump() for played in _telling(rounds)]
        values = reflector_values(dataset, theme=theme, rounds=shown, bullets=tagged)
        scope = Scope(execution_id=execution_id, role="reflector", language=language)
        answer = await self.llm.structured("reflector/reflect", ReflectionReply, values, scope=scope)
        return Reflection(_result(answer.value, {bullet.id for bullet in tagged}), [answer.usage])


def _telling(rounds: Sequence[PlayedRound]) -> list[PlayedRound]:
    """The best and the worst rounds, in the order played: lessons come from the contrast."""
    if len(rounds) <= _MOST_ROUNDS:
        return [*rounds]
    scored = sorted((played for played in rounds if played.score is not None), key=lambda played: played.score or 0.0)
    half = _MOST_ROUNDS // 2
    chosen = {id(played) for played in (*scored[:half], *scored[-half:])}
    return [played for played in rounds if id(played) in chosen] or [*rounds[:_MOST_ROUNDS]]


def _shortened(played: PlayedRound) -> PlayedRound:
    queries = [shorten(query, _QUERY_CHARACTERS) for query in played.queries[:_MOST_QUERIES]]
    return played.model_copy(update={"feedback": shorten(played.feedback, _FEEDBACK_CHARACTERS), "queries": queries})


def _result(reply: ReflectionReply, known: set[str]) -> ReflectionResult:
    insights = [Insight(**insight.model_dump()) for insight in reply.insights if insight.key_insight.strip()]
    tags: dict[str, BulletEvaluation] = {}
    for evaluation in reply.bullet_evaluations:
        if evaluation.bullet_id in known:
            tags.setdefault(evaluation.bullet_id, BulletEvaluation(**evaluation.model_dump()))
        else:
            _log.info("dropped the tag of %s: no round used such a bullet", shorten(evaluation.bullet_id, 64))
    return ReflectionResult(insights=insights, bullet_evaluations=[*tags.values()])
