"""Which bullet says nearly the same: cosine of vectors, with what static vectors don't see added in code."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from contend.models.playbook import Bullet
from contend.models.record import Language
from contend.retrieval import Embedder, default_embedder
from contend.text import detect_language, normalized, shared_content, terms


class Threshold(NamedTuple):
    """From where on two lessons count as one.

    `cosine` of the lessons, `shared`: the share of terms in common, and `swapped`: where they differ in one word alone,
    the cosine of the two words.
    """

    cosine: float
    shared: float
    swapped: float


# An embedder's own, because unrelated texts lie at 0.1 for one and at 0.84 for another. StaticEmbedder, measured on
# short lessons such as a playbook's, the same ones that the thresholds were chosen on:
#
#              paraphrases   cosine         shared         found   other pairs   cosine             taken for one
#   English    14            0.35 to 0.79   0.23 to 0.73   7       496           at most 0.57       none
#   Japanese   12            0.61 to 0.92   0.12 to 0.65   7       561           30 above 0.78      7, all akin
#
# A missed duplicate costs a line; a wrong one overwrites a lesson. Lessons that differ in one word ("the date of each
# source", "the author of each source") lie at 0.66 to 0.93, their two words at -0.12 to 0.44.
THRESHOLDS: dict[str, dict[Language, Threshold]] = {
    "StaticEmbedder": {"en": Threshold(0.6, 0.4, 0.5), "ja": Threshold(0.78, 0.38, 0.5)},
}
UNMEASURED = Threshold(0.97, 0.4, 0.97)
"""For an embedder that nobody has measured: nearly the same words."""

_SWAP_TERMS: dict[Language, int] = {"en": 1, "ja": 5}
_LABEL = re.compile(r"\b(?:\w*\d\w*|[A-Z])\b", re.ASCII)


class Nearest(NamedTuple):
    """The bullet nearest to a text. `likeness` is the cosine; `same`: they are one lesson."""

    bullet: Bullet
    likeness: float
    same: bool


class Nearness:
    """Bullets and their vectors. Blocks for about 0.4 ms per bullet when made."""

    def __init__(self, bullets: Iterable[Bullet], embedder: Embedder | None = None) -> None:
        self._embedder = embedder = embedder or default_embedder()
        self._bullets = {bullet.id: bullet for bullet in bullets}
        contents = [bullet.content for bullet in self._bullets.values()]
        self._rows = dict(zip(self._bullets, embedder.embed(contents), strict=True)) if contents else {}

    def put(self, bullet: Bullet) -> None:
        self._bullets[bullet.id] = bullet
        self._rows[bullet.id] = self._embedder.embed([bullet.content])[0]

    def drop(self, bullet_id: str) -> None:
        del self._bullets[bullet_id], self._rows[bullet_id]

    def nearest(self, content: str, *, but: str | None = None) -> Nearest | None:
        """The bullet that says the same as `content`, else the one nearest to it, leaving out `but`."""
        vector = self._embedder.embed([content])[0]
        likeness = {key: min(1.0, float(row @ vector)) for key, row in self._rows.items() if key != but}
        threshold = self._threshold(content)
        by_likeness = sorted(likeness, key=lambda key: (-likeness[key], key))
        found = [Nearest(self._bullets[key], likeness[key], same=False) for key in by_likeness]
        for near in found:
            if self._says_the_same(content, near, threshold):
                return near._replace(same=True)
        return found[0] if found else None

    def _threshold(self, content: str) -> Threshold:
        measured = THRESHOLDS.get(type(self._embedder).__name__, {})
        return measured.get(detect_language(content), UNMEASURED)

    def _says_the_same(self, content: str, near: Nearest, threshold: Threshold) -> bool:
        other = near.bullet.content
        if _folded(content) == _folded(other):
            return True
        if near.likeness < threshold.cosine or _labels(content) != _labels(other):
            return False
        if _shared(content, other) < threshold.shared:
            return False
        return not self._is_a_swap(content, other, threshold.swapped)

    def _is_a_swap(self, content: str, other: str, alike: float) -> bool:
        """Whether one word stands for another and the two mean different things."""
        own, others = dict.fromkeys(terms(content)), dict.fromkeys(terms(other))
        alone, alone_there = [t for t in own if t not in others], [t for t in others if t not in own]
        most = _SWAP_TERMS[detect_language(content)]
        if not (0 < len(alone) <= most and 0 < len(alone_there) <= most):
            return False
        word, instead = self._embedder.embed([" ".join(alone), " ".join(alone_there)])
        return float(word @ instead) < alike


def _labels(text: str) -> set[str]:
    """Numbers and letters that name things: static vectors hardly see them."""
    return set(_LABEL.findall(normalized(text))) - {"A", "I"}


def _shared(content: str, other: str) -> float:
    return (shared_content(content, other) + shared_content(other, content)) / 2


def _folded(text: str) -> str:
    return " ".join(normalized(text).casefold().split())
