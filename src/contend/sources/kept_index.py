"""The index over all files, kept in one file until one of them changes."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from contend.retrieval import Embedder, HybridIndex
from contend.sources.folders import Listed
from contend.sources.indexed import FORMAT, IndexedFile
from contend.sources.passages import PlacedPiece

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
    kept = sorted(cache.glob("all-*.npz"), key=lambda each: each.stat().st_mtime_ns)
    for each in kept[:-_MOST_KEPT]:
        each.unlink(missing_ok=True)


def _name(files: Sequence[Listed], embedder: Embedder) -> str:
    lines = [FORMAT, type(embedder).__qualname__]
    lines += [f"{file.path}\0{file.modified_ns}\0{file.size}" for file in files]
    digest = sha256("\0".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return f"all-{digest}.npz"
