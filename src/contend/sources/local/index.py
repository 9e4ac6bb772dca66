"""Files read, split and embedded once; the index over them is kept on disk, and what of them changed is read again."""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from contend.retrieval import Embedder, HybridIndex
from contend.sources.local.folders import LocalFile
from contend.sources.local.sections import Sections, sections_of
from contend.sources.passages import TextPiece, split_passages
from contend.sources.readers.document import without_page
from contend.sources.readers.files import read_document

if TYPE_CHECKING:
    from contend.retrieval import Vectors

FORMAT = "10"
_MOST_KEPT = 8
"""Indexes over different folders, or over the same one at different times."""


@dataclass(frozen=True)
class IndexedFile:
    """A document's passages, with one vector for each."""

    path: Path
    title: str
    pieces: list[TextPiece]
    vectors: "Vectors"
    note: str = ""
    """What of it was not read."""
    published: str | None = None
    """Its day as YYYY-MM-DD, if known."""
    tokens: int = 0
    """About as many as its sections take in a prompt."""

    @cached_property
    def sections(self) -> Sections:
        """What its passages stand in."""
        return sections_of(self.pieces)


def searchable(title: str, pieces: Sequence[TextPiece]) -> list[str]:
    """Each passage under its title and headings, which are searched with it and not quoted."""
    headings = [without_page(piece.heading).removeprefix(title).removeprefix(" › ") for piece in pieces]
    tops = [f"{title} › {heading}" if heading else title for heading in headings]
    return [f"{top}\n{piece.text}" for top, piece in zip(tops, pieces, strict=True)]


def index_file(file: LocalFile, embedder: Embedder) -> IndexedFile:
    """The file's passages and vectors.

    Raises:
        Unreadable: it cannot be read, or there is no text in it.
        OSError: it cannot be opened.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

    document = read_document(file.path)
    pieces = split_passages(document.text)
    vectors = embedder.embed(searchable(document.title, pieces))
    return IndexedFile(
        file.path,
        document.title,
        pieces,
        # In half precision, as they are kept: a search finds the same whether the file was read now or before.
        vectors.astype(np.float16).astype(np.float32),
        document.note,
        document.published,
        sum(section.tokens for section in sections_of(pieces).sections),
    )


@dataclass(frozen=True)
class KeptIndex:
    """The files that could be read, and the index over their passages in turn."""

    files: Mapping[LocalFile, IndexedFile]
    index: HybridIndex


def load_index(cache: Path, files: Iterable[LocalFile], embedder: Embedder) -> KeptIndex | None:
    """What was kept of exactly these files, or None: a missing or damaged one is made again."""
    place = _place(cache, files, embedder)
    index = _load(place, embedder)
    if index:
        with suppress(OSError):
            place.touch()  # those that nobody has used for longest are thrown away
    return index


def kept_files(cache: Path, embedder: Embedder) -> dict[LocalFile, IndexedFile]:
    """All files of all kept indexes: those that are unchanged need not be read for another one."""
    files: dict[LocalFile, IndexedFile] = {}
    for place in cache.glob(_NAME.format(embedder=type(embedder).__qualname__, digest="*")):
        index = _load(place, embedder)
        files |= index.files if index else {}
    return files


def save_index(cache: Path, files: Iterable[LocalFile], index: KeptIndex, embedder: Embedder) -> None:
    """Keep the index over what could be read of the files; where that fails, it is made again next time."""
    import numpy as np  # noqa: PLC0415 - see above

    rows = [
        [str(file.path), file.modified_ns, file.size, each.title, each.pieces, each.note, each.published, each.tokens]
        for file, each in index.files.items()
    ]
    words = np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {"rows": words, **index.index.kept()}
    temporary = cache / f".{uuid4().hex}.tmp"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        temporary.replace(_place(cache, files, embedder))
        _forget_oldest(cache)
    except OSError:
        temporary.unlink(missing_ok=True)


def _load(place: Path, embedder: Embedder) -> KeptIndex | None:
    import numpy as np  # noqa: PLC0415 - see above

    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as content:
            rows = json.loads(content["rows"].tobytes())
            index = HybridIndex.of_kept(content, embedder)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    files: dict[LocalFile, IndexedFile] = {}
    bounds = pairwise([0, *accumulate(len(row[4]) for row in rows)])
    for (path, modified_ns, size, title, pieces, *others), (begin, end) in zip(rows, bounds, strict=True):
        key = LocalFile(Path(path), modified_ns, size)
        own = [TextPiece(*piece) for piece in pieces]
        files[key] = IndexedFile(key.path, title, own, index.vectors[begin:end], *others)
    return KeptIndex(files, index)


def _forget_oldest(cache: Path) -> None:
    files = sorted(cache.glob("*.npz"), key=lambda each: each.stat().st_mtime_ns)
    for each in files[:-_MOST_KEPT]:
        each.unlink(missing_ok=True)


_NAME = f"all-{FORMAT}-{{embedder}}-{{digest}}.npz"


def _place(cache: Path, files: Iterable[LocalFile], embedder: Embedder) -> Path:
    lines = "\0".join(f"{file.path}\0{file.modified_ns}\0{file.size}" for file in files)
    digest = sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    return cache / _NAME.format(embedder=type(embedder).__qualname__, digest=digest)
