"""How close sentences are to a query: by rank, by the share of its terms, by meaning."""

from collections import Counter
from collections.abc import Sequence
from math import log1p

from contend.models.record import Language
from contend.retrieval import HybridIndex, default_embedder
from contend.text import detect_language, terms

_RANK, _TERMS, _MEANING = 0.3, 0.45, 0.25
_ENOUGH = 0.6
"""The share of a query's terms, rare ones counting more, from which a sentence takes all of it up."""

_COSINES: dict[Language, tuple[float, float]] = {"en": (0.1, 0.5), "ja": (0.55, 0.8)}
"""Cosines of the static vectors at which a sentence is about something else, and about the same."""


class Relevance:
    """An index of sentences that gives each a closeness to any query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._index = HybridIndex(texts)
        self._terms = [set(terms(text)) for text in texts]
        self._counts = Counter(term for held in self._terms for term in held)
        self.vectors = self._index.vectors

    def to(self, query: str) -> list[float]:
        """0.0 to 1.0 for each text; 0.0 for those that share no term with the query, if any text does."""
        wanted = {term: self._worth(term) for term in terms(query) if self._counts[term]}
        total = sum(wanted.values())
        vector = default_embedder().embed([query])[0]
        cosines = self.vectors @ vector
        closeness = [0.0] * len(self._texts)
        for found in self._index.search(query, len(self._texts), vector=vector):
            place = found.index
            held = sum(wanted[term] for term in self._terms[place] & wanted.keys()) / total if total else 0.0
            near = meaning(float(cosines[place]), detect_language(self._texts[place]))
            closeness[place] = _RANK * found.score + _TERMS * min(1.0, held / _ENOUGH) + _MEANING * near
        return closeness

    def _worth(self, term: str) -> float:
        """Rare terms tell more, but one that hardly occurs in passages found for the question is beside it."""
        count = self._counts[term]
        return log1p(len(self._texts) / count) * count / (count + 1)


def meaning(cosine: float, language: Language) -> float:
    """A cosine of two texts' static vectors as 0.0 (about something else) to 1.0 (about the same)."""
    low, high = _COSINES[language]
    return min(1.0, max(0.0, (cosine - low) / (high - low)))
