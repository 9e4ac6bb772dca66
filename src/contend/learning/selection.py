"""Which lessons a run starts with, and from which team some are withheld to see what they are worth."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from contend.learning.index import LessonIndex, LessonMatch
from contend.learning.merging import CHANCES
from contend.models.playbook import Bullet, Playbook
from contend.models.record import Identifier, Record
from contend.text import estimate_tokens

if TYPE_CHECKING:
    from contend.retrieval import Vectors

_SHARE_IN_QUARANTINE = 0.5
_SHARE_OF_NEWCOMERS = 0.2
"""Of the tokens, kept for lessons that have not had their chances yet."""
_WEAKEST_MATCH = 0.25
"""Below it a match rests on a chance likeness of vectors."""
_FIT_OF_GENERAL = 0.5
"""How well a lesson fits that applies to every question, beside 1.0 for the best match."""
_ALIKE = 0.8
"""Of two lessons with this cosine one is enough."""
_CANDIDATES = 60
MOST_LESSONS = 16


class Withheld(Record):
    """Lessons that one team goes without."""

    team_id: Identifier
    bullets: list[str]


def select_bullets(
    playbook: Playbook, theme: str, *, tokens: int = 600, index: LessonIndex | None = None
) -> list[Bullet]:
    """The lessons for a question, best first, in about so many tokens together.

    Only what fits is taken: what a search for the question finds, and lessons that apply to every question. Fit counts
    times confidence, in quarantine half; of two that are alike or conflict the better one is taken; a fifth of the
    tokens is kept for newcomers. Blocks.
    """
    if not playbook.bullets:
        return []
    index = index or LessonIndex()
    matches = _fitting(playbook, theme, index)
    ranked = sorted(matches, key=lambda match: (-match.score * _trust(match.bullet), match.bullet.id))
    candidates = [match.bullet for match in ranked]
    vectors = dict(zip((each.id for each in candidates), index.vectors(candidates), strict=True))
    newcomers = [(bullet, tokens * _SHARE_OF_NEWCOMERS) for bullet in candidates if _is_newcomer(bullet)]
    chosen: dict[str, Bullet] = {}
    used = 0
    for bullet, limit in [*newcomers, *((bullet, tokens) for bullet in candidates)]:
        cost = estimate_tokens(bullet.lesson)
        fits = used + cost <= limit and len(chosen) < MOST_LESSONS
        if fits and not _is_said(bullet, chosen.values(), vectors):
            chosen[bullet.id] = bullet
            used += cost
    return [bullet for bullet in candidates if bullet.id in chosen]


def withheld(bullets: Sequence[Bullet], team_ids: Sequence[str], *, seed: str) -> Withheld | None:
    """Half of the lessons, at random, and the team that goes without; None where there is nothing to compare."""
    if len(team_ids) < 2 or not bullets:  # noqa: PLR2004 - one with and one without
        return None
    chance = random.Random(seed)  # noqa: S311 - a fair draw that a resumed run repeats
    ids = sorted(bullet.id for bullet in bullets)
    half = chance.sample(ids, (len(ids) + chance.randint(0, 1)) // 2 or 1)
    return Withheld(team_id=chance.choice(sorted(team_ids)), bullets=sorted(half))


def _is_newcomer(bullet: Bullet) -> bool:
    """Whether a lesson is on trial and has not been shown as often as it may be."""
    return bullet.status == "quarantined" and bullet.trial.shown < CHANCES


def _trust(bullet: Bullet) -> float:
    """A bullet's confidence, halved in quarantine."""
    return bullet.confidence * (_SHARE_IN_QUARANTINE if bullet.status == "quarantined" else 1.0)


def _fitting(playbook: Playbook, theme: str, index: LessonIndex) -> list[LessonMatch]:
    hits = index.search(playbook.bullets, theme, _CANDIDATES)
    matches = {hit.bullet.id: hit for hit in hits if hit.score >= _WEAKEST_MATCH}
    for bullet in playbook.bullets:
        if bullet.always and (bullet.id not in matches or matches[bullet.id].score < _FIT_OF_GENERAL):
            matches[bullet.id] = LessonMatch(bullet, _FIT_OF_GENERAL)
    return [each for each in matches.values() if not each.bullet.is_harmful]


def _is_said(bullet: Bullet, others: Iterable[Bullet], vectors: Mapping[str, "Vectors"]) -> bool:
    """Whether one of the others says nearly the same, or conflicts with it."""
    return any(
        each.id in {bullet.id, bullet.conflicts_with}
        or each.conflicts_with == bullet.id
        or float(vectors[bullet.id] @ vectors[each.id]) >= _ALIKE
        for each in others
    )
