"""How near lessons are to one another, by their vectors. Whether two say the same, a language model decides.

Both must agree: a missed duplicate costs a line, a wrong one overwrites a lesson and inherits its votes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contend.retrieval import Embedder, default_embedder
from contend.text import detect_language, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contend.models.playbook import Bullet
    from contend.retrieval import Vectors


LIKENESS = {("StaticEmbedder", "en"): 0.5, ("StaticEmbedder", "ja"): 0.75}
"""The cosine from which an embedder confirms a model's claim that two lessons say the same.

It tells what two lessons are about, not whether one denies the other: it never decides alone. An embedder's own,
because unrelated lessons lie at 0.1 for one and at 0.6 for another. Chosen on the odd lines of
tests/data/lessons/test.tsv, where 1 % of unrelated lessons lie as near (2026-11-27).
"""
_DEFAULT_LIKENESS = 0.97
"""For an embedder that nobody has measured: nearly the same words."""
_MOST_NEIGHBOURS = 40
_STOPS = ".。!！"


class Nearest(NamedTuple):
    """A bullet near to a text. `likeness` is the cosine."""

    bullet: Bullet
    likeness: float


def same_words(text: str, other: str) -> bool:
    """Whether two lessons are the same word for word: case, width, white space and the last stop aside."""
    return lesson_key(text) == lesson_key(other)


def lesson_key(text: str) -> str:
    """What lessons that are the same word for word share."""
    return fold(text).rstrip(_STOPS)


@lru_cache(maxsize=4)
def vectors_of(contents: tuple[str, ...], embedder: Embedder) -> Vectors:
    """One row per lesson, made once for the choice of a run's lessons and its curation; nobody changes it. Blocks."""
    return embedder.embed([*contents])


class Nearness:
    """Bullets and their vectors. Blocks while it embeds."""

    def __init__(self, bullets: Sequence[Bullet], embedder: Embedder | None = None) -> None:
        self._embedder = embedder or default_embedder()
        vectors = vectors_of(tuple(bullet.content for bullet in bullets), self._embedder)
        self._by_id = {bullet.id: (bullet, vector) for bullet, vector in zip(bullets, vectors, strict=True)}

    def put(self, bullet: Bullet) -> None:
        """Add a bullet, or take its new words."""
        self._by_id[bullet.id] = bullet, self._vector(bullet.content)

    def drop(self, bullet_id: str) -> None:
        self._by_id.pop(bullet_id, None)

    def near(self, content: str, *, most: int = _MOST_NEIGHBOURS, but: str | None = None) -> list[Nearest]:
        """The bullets nearest to `content`, nearest first, leaving out `but`."""
        vector = self._vector(content)
        nearest = [self._nearest(bullet_id, vector) for bullet_id in self._by_id if bullet_id != but]
        return sorted(nearest, key=lambda each: (-each.likeness, each.bullet.id))[:most]

    def of(self, content: str, bullet_id: str) -> Nearest | None:
        """How near the bullet of an id is; None where there is none."""
        return self._nearest(bullet_id, self._vector(content)) if bullet_id in self._by_id else None

    def agrees(self, content: str, near: Nearest) -> bool:
        """Whether a lesson lies so near to a bullet that a model may call them one."""
        key = type(self._embedder).__name__, detect_language(content)
        return near.likeness >= LIKENESS.get(key, _DEFAULT_LIKENESS)

    def _nearest(self, bullet_id: str, vector: Vectors) -> Nearest:
        bullet, own = self._by_id[bullet_id]
        return Nearest(bullet, min(1.0, float(own @ vector)))

    def _vector(self, content: str) -> Vectors:
        row: Vectors = self._embedder.embed([content])[0]
        return row
