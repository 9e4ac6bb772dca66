"""Which lessons a run starts with, and from which team some are withheld to see what they are worth."""

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contend.learning.meaning import vectors_of
from contend.learning.merging import CHANCES
from contend.models.playbook import Bullet, Playbook
from contend.models.record import Identifier, Record
from contend.retrieval import HybridIndex, default_embedder
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


class _Match(NamedTuple):
    """A lesson and how well it fits, 0.0 to 1.0."""

    bullet: Bullet
    score: float
    vector: "Vectors"


class Holdout(Record):
    """Lessons that one team goes without."""

    team_id: Identifier
    bullets: list[str]


def lesson_index(bullets: Sequence[Bullet]) -> HybridIndex:
    """Lessons to be searched by their words and key words, and by what they mean; made once for the same. Blocks."""
    return _index_of(tuple((bullet.searchable_text, bullet.content) for bullet in bullets))


@lru_cache(maxsize=4)
def _index_of(texts: tuple[tuple[str, str], ...]) -> HybridIndex:
    vectors = vectors_of(tuple(content for _, content in texts), default_embedder())
    return HybridIndex([f"{key_words}\n{content}" for key_words, content in texts], vectors=vectors)


def select_bullets(
    playbook: Playbook, theme: str, *, tokens: int = 600, index: HybridIndex | None = None
) -> list[Bullet]:
    """The lessons for a question, best first, in about so many tokens together.

    Only what fits is taken: what a search for the question finds, and lessons that apply to every question. Fit counts
    times confidence, in quarantine half; of two that are alike or conflict the better one is taken; a fifth of the
    tokens is kept for newcomers. `index` is that of the playbook's bullets. Blocks.
    """
    matches = _fitting(playbook.bullets, index or lesson_index(playbook.bullets), theme)
    candidates = [match.bullet for match in matches]
    vectors = {match.bullet.id: match.vector for match in matches}
    newcomers = [(bullet, tokens * _SHARE_OF_NEWCOMERS) for bullet in candidates if _is_newcomer(bullet)]
    choice: dict[str, Bullet] = {}
    total = 0
    for bullet, limit in [*newcomers, *((bullet, tokens) for bullet in candidates)]:
        cost = estimate_tokens(bullet.lesson)
        fits = total + cost <= limit and len(choice) < MOST_LESSONS
        if fits and not _is_redundant(bullet, choice.values(), vectors):
            choice[bullet.id] = bullet
            total += cost
    return [bullet for bullet in candidates if bullet.id in choice]


def choose_holdout(bullets: Sequence[Bullet], team_ids: Sequence[str], *, seed: str, first: str = "") -> Holdout | None:
    """Half of the lessons, at random, and the team that goes without; None where there is nothing to compare.

    `first`: the team that may play alone, and goes without none.
    """
    if len(team_ids) < 2 or not bullets:  # noqa: PLR2004 - one with and one without
        return None
    chance = random.Random(seed)  # noqa: S311 - a fair draw that a resumed run repeats
    ids = sorted(bullet.id for bullet in bullets)
    half = chance.sample(ids, (len(ids) + chance.randint(0, 1)) // 2 or 1)
    others = sorted(team_id for team_id in team_ids if team_id != first)
    return Holdout(team_id=chance.choice(others), bullets=sorted(half))


def _is_newcomer(bullet: Bullet) -> bool:
    """Whether a lesson is on trial and has not been shown as often as it may be."""
    return bullet.status == "quarantined" and bullet.trial.shown < CHANCES


def _fitting(bullets: Sequence[Bullet], index: HybridIndex, theme: str) -> list[_Match]:
    """What a search finds, and what applies to every question, best first."""
    hits = {hit.index: hit.score for hit in index.search(theme, _CANDIDATES) if hit.score >= _WEAKEST_MATCH}
    general = {place: _FIT_OF_GENERAL for place, bullet in enumerate(bullets) if bullet.always}
    scores = {place: max(hits.get(place, 0.0), general.get(place, 0.0)) for place in hits | general}
    matches = [
        _Match(bullets[place], score, index.vectors[place])
        for place, score in scores.items()
        if not bullets[place].is_harmful
    ]
    trust = {"quarantined": _SHARE_IN_QUARANTINE, "active": 1.0}

    def worth(match: _Match) -> float:
        return match.score * match.bullet.confidence * trust[match.bullet.status]

    return sorted(matches, key=lambda match: (-worth(match), match.bullet.id))


def _is_redundant(bullet: Bullet, others: Iterable[Bullet], vectors: Mapping[str, "Vectors"]) -> bool:
    """Whether one of the others says nearly the same, or conflicts with it."""
    return any(
        each.id in {bullet.id, bullet.conflicts_with}
        or each.conflicts_with == bullet.id
        or float(vectors[bullet.id] @ vectors[each.id]) >= _ALIKE
        for each in others
    )
