"""A dataset's lessons, searched by terms and by meaning; each text's vector is made once in a process."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contend.retrieval import Embedder, HybridIndex, default_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from contend.models.playbook import Bullet
    from contend.retrieval import Vectors


class LessonMatch(NamedTuple):
    """A lesson and how well it fits, 0.0 to 1.0."""

    bullet: Bullet
    score: float


class LessonIndex:
    """One dataset's index, for all threads of the process; of the playbook that it was last asked about.

    Blocks while it reads what is new. Lists of bullets that it is asked for must not change.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder or default_embedder()
        self._lock = threading.Lock()
        self._rows: dict[str, Vectors] = {}
        self._bullets: Sequence[Bullet] = ()
        self._index = HybridIndex([], self._embedder)

    def vectors(self, bullets: Sequence[Bullet]) -> Vectors:
        """The vectors of the bullets' contents, one row each, of unit length."""
        with self._lock:
            return self._vectors(bullets)

    def search(
        self, bullets: Sequence[Bullet], query: str, k: int, *, vector: Vectors | None = None
    ) -> list[LessonMatch]:
        """The `k` bullets that fit the query best, best first. `vector` spares embedding the query."""
        with self._lock:
            if bullets is not self._bullets:
                texts = [f"{bullet.searchable_text}\n{bullet.content}" for bullet in bullets]
                self._index = HybridIndex(texts, self._embedder, vectors=self._vectors(bullets))
                self._bullets = bullets
            index = self._index
        return [LessonMatch(bullets[hit.index], hit.score) for hit in index.search(query, k, vector=vector)]

    def _vectors(self, bullets: Sequence[Bullet]) -> Vectors:
        import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

        contents = [bullet.content for bullet in bullets]
        new = [*dict.fromkeys(content for content in contents if content not in self._rows)]
        self._rows |= zip(new, self._embedder.embed(new), strict=True)
        vectors: Vectors = np.array([self._rows[content] for content in contents], dtype=np.float32)
        return vectors


@lru_cache(maxsize=64)
def lesson_index(folder: Path, dataset: str, embedder: Embedder | None = None) -> LessonIndex:  # noqa: ARG001 - its key
    """The one index of a dataset in this process; `folder` is that of the playbooks."""
    return LessonIndex(embedder)
