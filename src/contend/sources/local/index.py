"""Files read, split and embedded once, and kept on disk until they change."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from contend.retrieval import Embedder, HybridIndex
from contend.sources.local.folders import Listed
from contend.sources.local.sections import Sections, sections_of
from contend.sources.passages import PlacedPiece, placed_passages
from contend.sources.readers.document import without_page
from contend.sources.readers.files import read_document
from contend.text import estimate_tokens

if TYPE_CHECKING:
    from contend.retrieval import Vectors

FORMAT = "6"


@dataclass(frozen=True)
class IndexedFile:
    """A document's passages, with one vector for each. `note` says what of it was not read.

    `published`: its day as YYYY-MM-DD, if known; `tokens`: about as many as its text has.
    """

    path: Path
    title: str
    pieces: list[PlacedPiece]
    vectors: "Vectors"
    note: str = ""
    published: str | None = None
    tokens: int = 0

    @cached_property
    def sections(self) -> Sections:
        """What its passages stand in."""
        return sections_of(self.pieces)

    def searchable(self) -> list[str]:
        """Each passage under its title and headings, which are searched with it and not quoted."""
        return [_searchable(self.title, piece) for piece in self.pieces]


def _searchable(title: str, piece: PlacedPiece) -> str:
    heading = without_page(piece.heading).removeprefix(title).removeprefix(" › ")
    return f"{title} › {heading}\n{piece.text}" if heading else f"{title}\n{piece.text}"


def index_file(file: Listed, embedder: Embedder, cache: Path | None) -> IndexedFile:
    """The file's passages and vectors, from the cache folder where it has them.

    Raises:
        Unreadable: it cannot be read, or there is no text in it.
        OSError: it cannot be opened.
    """
    cached = cache / _key(file, embedder) if cache else None
    indexed = _load(cached, file.path) if cached else None
    if indexed is None:
        document = read_document(file.path)
        pieces = placed_passages(document.text)
        tokens = estimate_tokens(document.text)
        vectors = _as_kept(embedder.embed([_searchable(document.title, piece) for piece in pieces]))
        indexed = IndexedFile(file.path, document.title, pieces, vectors, document.note, document.published, tokens)
        if cached:
            _save(cached, indexed)
    return indexed


def _as_kept(vectors: "Vectors") -> "Vectors":
    """In half precision, as in the cache: a search finds the same whether the file was read now or before."""
    import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

    return vectors.astype(np.float16).astype(np.float32)


def _key(file: Listed, embedder: Embedder) -> str:
    parts = (FORMAT, type(embedder).__qualname__, str(file.path), str(file.modified_ns), str(file.size))
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest() + ".npz"


def _load(kept: Path, path: Path) -> IndexedFile | None:
    """What was kept of the file, or None: a missing or damaged cache costs reading the file again, no more."""
    import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

    try:
        with kept.open("rb") as file, np.load(file, allow_pickle=False) as content:
            title, pieces, note, published, tokens = json.loads(content["words"].tobytes())
            vectors: Vectors = content["vectors"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return IndexedFile(path, title, [PlacedPiece(*piece) for piece in pieces], vectors, note, published, tokens)


def _save(kept: Path, indexed: IndexedFile) -> None:
    import numpy as np  # noqa: PLC0415 - see above

    words = np.frombuffer(
        json.dumps([indexed.title, indexed.pieces, indexed.note, indexed.published, indexed.tokens]).encode(),
        dtype=np.uint8,
    )
    temporary = kept.with_name(f".{uuid4().hex}.tmp")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez(file, words=words, vectors=indexed.vectors.astype(np.float16))
        temporary.replace(kept)
    except OSError:
        temporary.unlink(missing_ok=True)  # an index that cannot be kept is made again next time


_MOST_KEPT = 8
"""Indexes over different folders, or over the same one at different times."""


@dataclass(frozen=True)
class KeptIndex:
    """The files that could be read, and the index over their passages in turn."""

    files: dict[Listed, IndexedFile]
    index: HybridIndex


def load_index(cache: Path, files: Sequence[Listed], embedder: Embedder) -> KeptIndex | None:
    """What was kept of exactly these files, or None: a missing or damaged one is made again."""
    import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

    kept = cache / _name(files, embedder)
    try:
        with kept.open("rb") as file, np.load(file, allow_pickle=False) as content:
            words = json.loads(content["words"].tobytes())
            index = HybridIndex.of_kept(content, embedder)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    bounds = pairwise([0, *accumulate(len(pieces) for _, _, pieces, *_ in words)])
    read = {
        files[place]: IndexedFile(
            files[place].path,
            title,
            [PlacedPiece(*piece) for piece in pieces],
            index.vectors[begin:end],
            note,
            published,
            tokens,
        )
        for (place, title, pieces, note, published, tokens), (begin, end) in zip(words, bounds, strict=True)
    }
    return KeptIndex(read, index)


def save_index(
    cache: Path, files: Sequence[Listed], read: Mapping[Listed, IndexedFile], index: HybridIndex, embedder: Embedder
) -> None:
    """Keep the index over what could be read of the files; where that fails, it is made again next time."""
    import numpy as np  # noqa: PLC0415 - see above

    said = [
        [place, each.title, each.pieces, each.note, each.published, each.tokens]
        for place, file in enumerate(files)
        if (each := read.get(file))
    ]
    arrays: dict[str, Any] = {"words": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8), **index.kept()}
    temporary = cache / f".{uuid4().hex}.tmp"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        temporary.replace(cache / _name(files, embedder))
        _forget_oldest(cache)
    except OSError:
        temporary.unlink(missing_ok=True)


def _forget_oldest(cache: Path) -> None:
    files = sorted(cache.glob("all-*.npz"), key=lambda each: each.stat().st_mtime_ns)
    for each in files[:-_MOST_KEPT]:
        each.unlink(missing_ok=True)


def _name(files: Sequence[Listed], embedder: Embedder) -> str:
    lines = [FORMAT, type(embedder).__qualname__]
    lines += [f"{file.path}\0{file.modified_ns}\0{file.size}" for file in files]
    digest = sha256("\0".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return f"all-{digest}.npz"
