"""Search over any texts: BM25 on terms and vectors on meaning, fused by rank. Vendors load when first used."""

from __future__ import annotations

import json
import logging
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contend.text import clean, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

# Static vectors know less than terms: at a quarter they mend the order among matches and never overturn a clear one.
# By benchmarks/reading_npm.toml 20 of 40 facts are offered in 8,000 tokens and 39 in 32,000: with vectors at 0 19 and
# 37, at 0.5 16 and 39; with an offset of 3 20 and 38, of 60 18 and 39; with K1 at 0.9, or B at 0.3 or 0.75, 18 or 19
# in 8,000.
_RANK_OFFSET = 10
_VECTOR_WEIGHT = 0.25
_CANDIDATES = 200
K1, B = 1.2, 0.6
_SCORES = ("data", "indices", "indptr")
"""The parts of bm25s's index: a sparse matrix of terms and texts."""


class Embedder(Hashable, Protocol):
    """Makes vectors of texts."""

    def embed(self, texts: list[str]) -> Vectors:
        """One row per text, of unit length, or zero where the text says nothing to the model."""
        ...


@dataclass(frozen=True, slots=True)
class Match:
    """A text's place in the list it was found in, and how well it fits, 0.0 to 1.0."""

    index: int
    score: float


class StaticEmbedder:
    """Word vectors averaged over the text, 256 dimensions; the weights lie in the wordllama package.

    Its own reader takes three times the memory and the time, for it widens the weights and pads every text.
    """

    def __init__(self) -> None:
        from safetensors.numpy import load_file  # noqa: PLC0415 - heavy, and not needed by most commands
        from tokenizers import Tokenizer  # noqa: PLC0415 - the same

        folder = Path(str(distribution("wordllama").locate_file("wordllama")))
        self._words = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))

    def embed(self, texts: list[str]) -> Vectors:
        import numpy as np  # noqa: PLC0415 - see above

        vectors: Vectors = np.zeros((len(texts), self._words.shape[1]), dtype=np.float32)
        for place, text in enumerate(texts):
            if tokens := self._tokens(clean(text)):
                mean = self._words[tokens].mean(axis=0, dtype=np.float32)
                vectors[place] = mean / (np.linalg.norm(mean) or 1.0)
        return vectors

    def _tokens(self, text: str) -> list[int]:
        # One by one: for a handful of texts, a batch's threads cost more than they do.
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return tokens


@lru_cache(maxsize=1)
def default_embedder() -> StaticEmbedder:
    """The one embedder of the process; works offline."""
    return StaticEmbedder()


class HybridIndex:
    """An index over texts. Building it takes about 0.1 ms for a sentence; a query under 1 ms.

    BM25 goes over terms that we make ourselves, so that Japanese counts too.
    """

    def __init__(
        self, texts: Sequence[str], embedder: Embedder | None = None, *, vectors: Vectors | None = None
    ) -> None:
        self._embedder = embedder or default_embedder()
        self.vectors: Vectors = self._embedder.embed(list(texts)) if vectors is None else vectors
        self._numbers: dict[str, int] = {}
        ids = [[self._numbers.setdefault(term, len(self._numbers)) for term in terms(text)] for text in texts]
        self._bm25 = _bm25() if self._numbers else None
        if self._bm25:
            self._bm25.index((ids, self._numbers), create_empty_token=False, show_progress=False)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], embedder: Embedder | None = None) -> HybridIndex:
        """The index again from what `to_arrays` gave.

        Raises:
            KeyError, ValueError: a part is missing or damaged.
        """
        import numpy as np  # noqa: PLC0415 - see StaticEmbedder

        index = cls([], embedder, vectors=arrays["vectors"].astype(np.float32))
        index._numbers = {term: number for number, term in enumerate(json.loads(arrays["terms"].tobytes()))}
        if index._numbers:
            index._bm25 = _bm25()
            index._bm25.scores = {**{name: arrays[name] for name in _SCORES}, "num_docs": len(index.vectors)}
            index._bm25.vocab_dict, index._bm25.nonoccurrence_array = index._numbers, None
        return index

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The index as arrays, to keep in a file. Vectors lose what half precision does not hold."""
        import numpy as np  # noqa: PLC0415 - see StaticEmbedder

        words = np.frombuffer(json.dumps(list(self._numbers)).encode(), dtype=np.uint8)
        scores = {name: self._bm25.scores[name] for name in _SCORES} if self._bm25 else {}
        return {"vectors": self.vectors.astype(np.float16), "terms": words, **scores}

    def search(self, query: str, k: int, *, vector: Vectors | None = None) -> list[Match]:
        """The `k` best texts, best first, ties in list order.

        Texts that share no term with the query take no part, unless none shares any: then vectors alone decide, and
        the score is the cosine. Otherwise 1.0 means first by terms and by vector. `vector` spares embedding the query.
        """
        if k <= 0 or not len(self.vectors):
            return []
        meaning = self._embedder.embed([query])[0] if vector is None else vector
        numbers = [self._numbers[term] for term in terms(query) if term in self._numbers]
        scores = self._bm25.get_scores_from_ids(numbers) if self._bm25 and numbers else None
        if scores is None or not scores.any():
            cosines = self.vectors @ meaning
            return [Match(place, min(1.0, float(cosines[place]))) for place in _best(cosines, k)]
        matches = _best(scores, max(_CANDIDATES, 4 * k))
        shares = _fuse(scores[matches], self.vectors[matches] @ meaning)
        hits = [Match(place, min(1.0, float(share))) for place, share in zip(matches, shares, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.index))[:k]


def _bm25() -> Any:  # noqa: ANN401 - bm25s ships no types
    import bm25s  # noqa: PLC0415 - heavy, and not needed by most commands

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG
    return bm25s.BM25(k1=K1, b=B)


def _best(scores: Vectors, k: int) -> list[int]:
    """The places of the `k` highest scores above zero, ties in order of place."""
    import numpy as np  # noqa: PLC0415 - see StaticEmbedder

    least = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
    places = np.flatnonzero((scores >= least) & (scores > 0))
    best: list[int] = places[np.argsort(-scores[places], kind="stable")][:k].tolist()
    return best


def _fuse(by_terms: Vectors, by_vector: Vectors) -> NDArray[np.float64]:
    """Weighted reciprocal rank fusion of two scores of the same texts, 1.0 for the best by both.

    Cormack, Clarke and Büttcher (2009), with weights.
    """
    shares = 1 / (_RANK_OFFSET + _ranks(by_terms)) + _VECTOR_WEIGHT / (_RANK_OFFSET + _ranks(by_vector))
    return shares * _RANK_OFFSET / (1 + _VECTOR_WEIGHT)


def _ranks(scores: Vectors) -> NDArray[np.intp]:
    """How many scores are higher than each: equal scores share a rank, so that a tie is not an order."""
    import numpy as np  # noqa: PLC0415 - see StaticEmbedder

    return np.searchsorted(np.sort(-scores), -scores)
