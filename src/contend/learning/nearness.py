"""Which bullet is nearest to a text, and whether the two are one lesson."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from contend.checks.claims import Calibration
from contend.learning.meaning import says_the_same
from contend.retrieval import Embedder, default_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contend.models.playbook import Bullet
    from contend.retrieval import Vectors

# An embedder's own, because unrelated words lie at 0.0 for one and at 0.8 for another. StaticEmbedder, of verbs in
# English and Japanese: those that stand for one another (ask, request) at 0.41 to 0.82, others (keep, remove) below
# 0.4 but for a few (shorten, lengthen) at 0.5.
_PAIRS = "tests/data/lessons/test.tsv, the 120 pairs of other meaning"
_CHOSEN = "2026-11-22"
LIKENESS = {"StaticEmbedder": Calibration(0.45, _PAIRS, _CHOSEN, 0.0)}
"""From which cosine on two verbs may stand for one another.

False alarms are pairs of lessons of other meaning that are taken for one.
"""
UNMEASURED = Calibration(0.97, "no data: nearly the same words", _CHOSEN, 0.0)
"""For an embedder that nobody has measured."""
_LOOKED_AT = 40
"""Bullets whose words are compared with a text's. What says the same in the same words lies among the nearest."""


class Nearest(NamedTuple):
    """A bullet near to a text. `likeness` is the cosine."""

    bullet: Bullet
    likeness: float


@lru_cache(maxsize=4)
def vectors_of(contents: tuple[str, ...], embedder: Embedder) -> Vectors:
    """One row per lesson, made once for the choice of a run's lessons and its curation; nobody changes it. Blocks."""
    return embedder.embed([*contents])


class Nearness:
    """Bullets and their vectors, searched by one multiplication. Blocks while it embeds."""

    def __init__(self, bullets: Sequence[Bullet], embedder: Embedder | None = None) -> None:
        self._embedder = embedder or default_embedder()
        self._likeness = LIKENESS.get(type(self._embedder).__name__, UNMEASURED).threshold
        self._bullets = [*bullets]
        self._vectors = vectors_of(tuple(bullet.content for bullet in bullets), self._embedder)

    def put(self, bullet: Bullet) -> None:
        """Add a bullet, or take its new words."""
        import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

        self.drop(bullet.id)
        row = self._embedder.embed([bullet.content])
        self._vectors = np.concatenate([self._vectors, row]) if self._bullets else row
        self._bullets.append(bullet)

    def drop(self, bullet_id: str) -> None:
        import numpy as np  # noqa: PLC0415 - see above

        if (place := self._place(bullet_id)) is not None:
            del self._bullets[place]
            self._vectors = np.delete(self._vectors, place, axis=0)

    def near(self, content: str, *, most: int = _LOOKED_AT, but: str | None = None) -> list[Nearest]:
        """The bullets nearest to `content`, nearest first, leaving out `but`."""
        import numpy as np  # noqa: PLC0415 - see above

        if not self._bullets:
            return []
        cosines = self._vectors @ self._vector(content)
        few = np.argpartition(-cosines, min(most, len(cosines) - 1))[: most + 1]
        nearest = [Nearest(self._bullets[place], min(1.0, float(cosines[place]))) for place in few]
        others = [each for each in nearest if each.bullet.id != but]
        return sorted(others, key=lambda each: (-each.likeness, each.bullet.id))[:most]

    def of(self, content: str, bullet_id: str) -> Nearest | None:
        """How near the bullet of an id is; None where there is none."""
        if (place := self._place(bullet_id)) is None:
            return None
        return Nearest(self._bullets[place], min(1.0, float(self._vectors[place] @ self._vector(content))))

    def same(self, content: str, other: str) -> bool:
        """Whether code is sure that the two are one lesson."""
        return says_the_same(content, other, near=partial(_near_words, self._embedder), least=self._likeness)

    def _place(self, bullet_id: str) -> int | None:
        return next((place for place, bullet in enumerate(self._bullets) if bullet.id == bullet_id), None)

    def _vector(self, content: str) -> Vectors:
        row: Vectors = self._embedder.embed([content])[0]
        return row


@lru_cache(maxsize=4096)
def _near_words(embedder: Embedder, word: str, other: str) -> float:
    own, others = embedder.embed([word, other])
    return float(own @ others)
