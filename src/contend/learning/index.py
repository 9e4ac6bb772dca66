"""Each dataset's lessons ready to be searched: a row for each text ever seen, with its vector and its terms.

A row is made once, whoever asks: a search, the choice of a run's lessons, a curation before it takes the playbook's
lock. Rows are appended, and lie in files that are mapped into memory; a playbook is a choice of rows.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from contend.retrieval import K1, B, Embedder, default_embedder, fused_ranks
from contend.text import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from contend.models.playbook import Bullet
    from contend.retrieval import Vectors

    Rows = NDArray[np.int32]

_DIGEST = 16
_LEAST_SAVED = 32
_SHARE_SAVED = 0.1
"""So many new rows, or such a share of them, are worth writing the files anew."""
_CHUNK = 8192
_USUAL_TERMS = 30
"""Of a lesson and its key words; BM25's average, fixed, so that a row's share never changes."""
_ARRAYS = ("vectors", "starts", "rows", "shares")


class Found(NamedTuple):
    """A lesson and how well it fits, 0.0 to 1.0."""

    bullet: Bullet
    score: float


class LessonIndex:
    """One dataset's index, for all threads of the process; without a folder it is in memory only.

    Blocks while it reads what is new. Lists of bullets that it is asked for must not change.
    """

    def __init__(self, folder: Path | None, dataset: str, embedder: Embedder) -> None:
        import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

        self._embedder = embedder
        self._stem = None if folder is None else folder / f"{dataset}.{type(embedder).__name__}"
        self._lock = threading.Lock()
        self._numbers: dict[bytes, int] | None = None
        self._arrays: dict[str, NDArray[Any]] = {}
        self._vocabulary: dict[str, int] = {}
        self._new: _NewRows = _NewRows()
        self._of: Sequence[Bullet] = ()
        self._always: list[Bullet] = []
        self._chosen: Rows = np.zeros(0, dtype=np.int32)

    def vectors(self, bullets: Sequence[Bullet]) -> Vectors:
        """The vectors of the bullets' contents, one row each, of unit length."""
        with self._lock:
            return self._vectors_of(self._rows_of(bullets))

    def always(self, bullets: Sequence[Bullet]) -> list[Bullet]:
        """Those that apply to every question."""
        with self._lock:
            self._follow(bullets)
            return self._always

    def search(self, bullets: Sequence[Bullet], query: str, k: int, *, vector: Vectors | None = None) -> list[Found]:
        """The `k` bullets that fit the query best, best first. `vector` spares embedding the query."""
        if not bullets or k <= 0:
            return []
        with self._lock:
            self._follow(bullets)
            chosen = self._chosen
            meaning = self._embedder.embed([query])[0] if vector is None else vector
            scores = self._term_scores(query).take(chosen)
            ranked = fused_ranks(scores, lambda places: self._vectors_of(chosen[places]) @ meaning, k)
        return [Found(bullets[hit.index], hit.score) for hit in ranked]

    def _follow(self, bullets: Sequence[Bullet]) -> None:
        """Know the rows of a playbook's bullets, and know them again at the next search."""
        if bullets is not self._of:
            self._chosen = self._rows_of(bullets)
            self._of, self._always = bullets, [bullet for bullet in bullets if bullet.always]

    def _rows_of(self, bullets: Sequence[Bullet]) -> Rows:
        import numpy as np  # noqa: PLC0415 - see above

        if bullets is self._of:
            return self._chosen
        numbers = self._known()
        keys = [_key(bullet) for bullet in bullets]
        new = {key: bullet for key, bullet in zip(keys, bullets, strict=True) if key not in numbers}
        if new:
            self._append(new)
        return np.fromiter((numbers[key] for key in keys), np.int32, len(keys))

    def _append(self, new: Mapping[bytes, Bullet]) -> None:
        numbers = self._known()
        made = [*new.values()]
        for start in range(0, len(made), _CHUNK):
            part = made[start : start + _CHUNK]
            vectors = self._embedder.embed([bullet.content for bullet in part])
            self._new.append(len(numbers) + start, vectors, [terms(_text(bullet)) for bullet in part])
        numbers.update({key: len(numbers) + place for place, key in enumerate(new)})
        if self._stem is not None and len(self._new.vectors) >= max(_LEAST_SAVED, _SHARE_SAVED * len(numbers)):
            self._save()

    def _vectors_of(self, rows: Rows) -> Vectors:
        import numpy as np  # noqa: PLC0415 - see above

        old = self._arrays.get("vectors")
        if old is None or not len(self._new.vectors):
            known = self._new.vectors if old is None else old
            return np.asarray(known[rows], dtype=np.float32)
        vectors: Vectors = np.empty((len(rows), old.shape[1]), dtype=np.float32)
        is_old = rows < len(old)
        vectors[is_old] = old[rows[is_old]]
        vectors[~is_old] = self._new.vectors[rows[~is_old] - len(old)]
        return vectors

    def _term_scores(self, query: str) -> Vectors:
        """BM25 of every row."""
        import numpy as np  # noqa: PLC0415 - see above

        count = len(self._known())
        scores = np.zeros(count, dtype=np.float32)
        for term in terms(query):
            parts = self._postings(term)
            number = sum(len(rows) for rows, _ in parts)
            weight = np.log(1 + (count - number + 0.5) / (number + 0.5), dtype=np.float32)
            for rows, shares in parts:
                scores[rows] += weight * shares
        return scores

    def _postings(self, term: str) -> list[tuple[Rows, Vectors]]:
        """The rows that have a term, and how much of BM25's weight each has for it."""
        new = self._new.postings(term)
        number = self._vocabulary.get(term)
        if number is None:
            return [new]
        start, end = self._arrays["starts"][number : number + 2]
        return [(self._arrays["rows"][start:end], self._arrays["shares"][start:end]), new]

    def _known(self) -> dict[bytes, int]:
        if self._numbers is None:
            self._numbers = self._read() or {}
        return self._numbers

    def _read(self) -> dict[bytes, int] | None:
        """The files, mapped; None where they are missing or do not belong together."""
        import numpy as np  # noqa: PLC0415 - see above

        if self._stem is None:
            return None
        try:
            told = json.loads(self._file("json").read_text("utf-8"))
            keys = self._file(f"{told['save']}.keys").read_bytes()
            arrays = {name: np.load(self._file(f"{told['save']}.{name}.npy"), mmap_mode="r") for name in _ARRAYS}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if len(keys) != _DIGEST * len(arrays["vectors"]) or len(arrays["starts"]) != len(told["terms"]) + 1:
            return None
        self._arrays = arrays
        self._vocabulary = {term: number for number, term in enumerate(told["terms"])}
        self._new = _NewRows(begin=len(arrays["vectors"]))
        return {keys[at : at + _DIGEST]: at // _DIGEST for at in range(0, len(keys), _DIGEST)}

    def _save(self) -> None:
        """Write all rows; what names the files comes last, so that readers see one save or the other."""
        import numpy as np  # noqa: PLC0415 - see above

        words = {**self._vocabulary}
        for term in self._new.terms:
            words.setdefault(term, len(words))
        arrays = self._joined(words)
        save = blake2b(os.urandom(16), digest_size=6).hexdigest()
        try:
            self._file("json").parent.mkdir(parents=True, exist_ok=True)
            for name, array in arrays.items():
                np.save(self._file(f"{save}.{name}.npy"), array)
            self._file(f"{save}.keys").write_bytes(b"".join(self._known()))
            written = self._file(f"{save}.tmp")
            written.write_text(json.dumps({"save": save, "terms": [*words]}, ensure_ascii=False), "utf-8")
            written.replace(self._file("json"))
            self._remove_older(save)
        except OSError:
            return  # a full disk costs the next process some time, and nothing else
        self._arrays, self._vocabulary = arrays, words
        self._new = _NewRows(begin=len(arrays["vectors"]))

    def _joined(self, words: Mapping[str, int]) -> dict[str, NDArray[Any]]:
        import numpy as np  # noqa: PLC0415 - see above

        of_terms, rows, shares = self._new.triples(words)
        vectors = self._new.vectors
        if self._arrays:
            old = self._arrays
            own = np.repeat(np.arange(len(old["starts"]) - 1), np.diff(old["starts"]))
            of_terms, rows = np.concatenate([own, of_terms]), np.concatenate([old["rows"], rows])
            shares, vectors = np.concatenate([old["shares"], shares]), np.concatenate([old["vectors"], vectors])
        order = np.argsort(of_terms, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(of_terms, minlength=len(words)))])
        return {
            "vectors": vectors,
            "starts": starts.astype(np.int64),
            "rows": rows[order],
            "shares": shares[order],
        }

    def _remove_older(self, save: str) -> None:
        newest = self._file("json")
        for path in newest.parent.glob(f"{newest.stem}.*"):
            if path != newest and not path.name.startswith(f"{newest.stem}.{save}."):
                path.unlink(missing_ok=True)

    def _file(self, ending: str) -> Path:
        assert self._stem is not None  # noqa: S101 - those in memory only read and write no files
        return self._stem.with_name(f"{self._stem.name}.{ending}")


class _NewRows:
    """Rows since the last save. `begin`: the number of the first."""

    def __init__(self, begin: int = 0) -> None:
        import numpy as np  # noqa: PLC0415 - see above

        self.begin = begin
        self.terms: dict[str, tuple[list[int], list[float]]] = {}
        self.vectors: Vectors = np.zeros((0, 0), dtype=np.float32)

    def append(self, begin: int, vectors: Vectors, texts: list[list[str]]) -> None:
        import numpy as np  # noqa: PLC0415 - see above

        self.vectors = np.concatenate([self.vectors, vectors]) if len(self.vectors) else vectors
        for row, text in enumerate(texts, start=begin):
            norm = K1 * (1 - B + B * len(text) / _USUAL_TERMS)
            for term, count in Counter(text).items():
                rows, shares = self.terms.setdefault(term, ([], []))
                rows.append(row)
                shares.append(count / (count + norm))

    def postings(self, term: str) -> tuple[Rows, Vectors]:
        import numpy as np  # noqa: PLC0415 - see above

        rows, shares = self.terms.get(term, ([], []))
        return np.asarray(rows, dtype=np.int32), np.asarray(shares, dtype=np.float32)

    def triples(self, words: Mapping[str, int]) -> tuple[NDArray[np.int64], Rows, Vectors]:
        """Term, row and share of each posting."""
        import numpy as np  # noqa: PLC0415 - see above

        numbers = np.fromiter((words[term] for term in self.terms), np.int64, len(self.terms))
        sizes = np.fromiter((len(rows) for rows, _ in self.terms.values()), np.int64, len(self.terms))
        rows = np.asarray([row for rows, _ in self.terms.values() for row in rows], dtype=np.int32)
        shares = np.asarray([share for _, shares in self.terms.values() for share in shares], dtype=np.float32)
        return np.repeat(numbers, sizes), rows, shares


def _text(bullet: Bullet) -> str:
    return f"{bullet.searchable_text}\n{bullet.content}"


def _key(bullet: Bullet) -> bytes:
    return blake2b(_text(bullet).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


@lru_cache(maxsize=64)
def lesson_index(folder: Path, dataset: str, embedder: Embedder | None = None) -> LessonIndex:
    """The one index of a dataset in this process; `folder` is that of the playbooks."""
    return LessonIndex(folder / "index", dataset, embedder or default_embedder())
