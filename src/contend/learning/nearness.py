"""Which bullet is nearest to a text, and whether the two are one lesson."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contend.checks.claims import Calibration
from contend.learning.meaning import Likeness, says_the_same
from contend.models.playbook import Bullet
from contend.retrieval import Embedder, default_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contend.retrieval import Vectors

# An embedder's own, because unrelated words lie at 0.0 for one and at 0.8 for another. StaticEmbedder, of verbs in
# English and Japanese: those that stand for one another (ask, request) at 0.41 to 0.82, others (keep, remove) below
# 0.4 but for a few (shorten, lengthen) at 0.5. Forms of one word (mark, marked; 比べ, 比較) lie at 0.57 and above.
_PAIRS = "tests/data/lessons/test.tsv, the 120 pairs of other meaning"
_CHOSEN = "2026-11-22"
LIKENESS = {"StaticEmbedder": Likeness(form=0.5, head=0.45, calibration=Calibration(0.45, _PAIRS, _CHOSEN, 0.0))}
UNMEASURED = Likeness(
    form=0.97, head=0.97, calibration=Calibration(0.97, "no data: nearly the same words", _CHOSEN, 0.0)
)
"""For an embedder that nobody has measured."""
_LOOKED_AT = 40
"""Bullets whose words are compared with a text's. What says the same in the same words lies among the nearest."""


class Nearest(NamedTuple):
    """The bullet nearest to a text. `likeness` is the cosine; `same`: they are one lesson."""

    bullet: Bullet
    likeness: float
    same: bool


class Nearness:
    """Bullets and their vectors, searched by one multiplication. Blocks while it embeds; `vectors` spares that."""

    def __init__(
        self, bullets: Sequence[Bullet], embedder: Embedder | None = None, *, vectors: Vectors | None = None
    ) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

        self._embedder = embedder or default_embedder()
        self._likeness = LIKENESS.get(type(self._embedder).__name__, UNMEASURED)
        self._bullets: list[Bullet | None] = [*bullets]
        self._places = {bullet.id: place for place, bullet in enumerate(bullets)}
        contents = [bullet.content for bullet in bullets]
        self._vectors: Vectors = self._embedder.embed(contents) if vectors is None else np.asarray(vectors)

    def put(self, bullet: Bullet) -> None:
        """Add a bullet, or take its new words."""
        import numpy as np  # noqa: PLC0415 - see above

        row = self._embedder.embed([bullet.content])
        place = self._places.get(bullet.id)
        if place is None:
            self._places[bullet.id] = len(self._bullets)
            self._bullets.append(bullet)
            self._vectors = np.concatenate([self._vectors, row]) if len(self._vectors) else row
        else:
            if not self._vectors.flags.writeable:
                self._vectors = self._vectors.copy()
            self._bullets[place], self._vectors[place] = bullet, row[0]

    def drop(self, bullet_id: str) -> None:
        self._bullets[self._places.pop(bullet_id)] = None

    def near(self, content: str, *, most: int = _LOOKED_AT, but: str | None = None) -> list[Nearest]:
        """The bullets nearest to `content`, nearest first, leaving out `but`; `same` is left False."""
        import numpy as np  # noqa: PLC0415 - see above

        if not self._places:
            return []
        cosines = self._vectors @ self._vector(content)
        gone = len(self._bullets) - len(self._places) + 1
        few = np.argpartition(-cosines, min(most + gone, len(cosines)) - 1)[: most + gone]
        found = [
            Nearest(bullet, min(1.0, float(cosines[place])), same=False)
            for place in few
            if (bullet := self._bullets[place]) is not None and bullet.id != but
        ]
        return sorted(found, key=lambda near: (-near.likeness, near.bullet.id))[:most]

    def nearest(self, content: str, *, but: str | None = None) -> Nearest | None:
        """The bullet that says the same as `content`, else the one nearest to it, leaving out `but`."""
        found = self.near(content, but=but)
        for near in found:
            if self.same(content, near.bullet.content):
                return near._replace(same=True)
        return found[0] if found else None

    def of(self, content: str, bullet_id: str | None) -> Nearest | None:
        """How near the bullet of an id is; None where there is none."""
        place = self._places.get(bullet_id or "")
        bullet = None if place is None else self._bullets[place]
        return None if bullet is None else self.likeness_to(content, bullet)

    def likeness_to(self, content: str, bullet: Bullet) -> Nearest:
        """How near one bullet is, and whether it says the same."""
        cosine = float(self._vectors[self._places[bullet.id]] @ self._vector(content))
        return Nearest(bullet, min(1.0, cosine), self.same(content, bullet.content))

    def same(self, content: str, other: str) -> bool:
        """Whether code is sure that the two are one lesson."""
        return says_the_same(content, other, near=self._near_words, likeness=self._likeness)

    def _vector(self, content: str) -> Vectors:
        row: Vectors = self._embedder.embed([content])[0]
        return row

    def _near_words(self, word: str, other: str) -> float:
        return _near_words(self._embedder, word, other)


@lru_cache(maxsize=4096)
def _near_words(embedder: Embedder, word: str, other: str) -> float:
    own, others = embedder.embed([word, other])
    return float(own @ others)
