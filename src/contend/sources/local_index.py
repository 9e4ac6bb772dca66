"""Which files local documents are made of, and the index over them: kept on disk, of changed files made again."""

import json
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from contend.errors import InputError
from contend.retrieval import Embedder, HybridIndex
from contend.sources.passages import Sections, TextPiece, sections_of, split_passages
from contend.sources.readers import KINDS, read_document
from contend.sources.readers.document import without_page
from contend.text import clean

if TYPE_CHECKING:
    from contend.retrieval import Vectors


MOST_FILES = 10_000
MOST_BYTES = 50_000_000
OWN_REPORTS = "contend-results"
"""The folder of reports that runs leave where they were started: no report is a source of the next."""

_MOST_LINES = 10
_MOST_NAMES = 5


class LeftOut(NamedTuple):
    """A file or folder that is not searched, and why."""

    path: Path
    reason: str


class LocalFile(NamedTuple):
    """A file, with what tells that it changed."""

    path: Path
    modified_ns: int
    size: int


def validate_paths(paths: Sequence[Path]) -> None:
    """Passes if every path is a folder or a file of a readable kind.

    Raises:
        InputError: naming the first that is not.
    """
    for path in paths:
        try:
            there = path.exists()
        except OSError as error:
            raise InputError(f"documents: {path} cannot be opened ({error.strerror}): mend its rights") from error
        if not there:
            raise InputError(f"documents: {path} does not exist: give a file or a folder that does")
        if path.is_file() and path.suffix.lower() not in KINDS:
            raise InputError(f"documents: {path} is of no known kind: give a folder or a file in {_kinds()}")


def list_files(paths: Sequence[Path], *, most: int = MOST_FILES) -> tuple[list[LocalFile], list[LeftOut]]:
    """Each readable file once, folders walked in order of name, and what was left out.

    Hidden files and folders are passed over silently, and so are reports of earlier runs. Links that lead out of the
    folder given are not followed.
    """
    files: dict[Path, LocalFile] = {}
    left_out: list[LeftOut] = []
    for path, reason in _candidates(paths):
        file_or_reason = reason or _examined(path)
        if isinstance(file_or_reason, str):
            left_out.append(LeftOut(path, file_or_reason))
        elif file_or_reason.path not in files and len(files) == most:
            left_out.append(LeftOut(path, f"over {most:,} files: give fewer folders"))
            break
        else:
            files[file_or_reason.path] = file_or_reason
    return list(files.values()), left_out


def reason_lines(left_out: Sequence[LeftOut], paths: Sequence[Path]) -> list[str]:
    """A line for each reason, with names as they stand within `paths`: `a.pdf, b.pdf and 3 more (broken)`."""
    names: dict[str, list[str]] = {}
    for each in left_out:
        names.setdefault(each.reason, []).append(_name(each.path, paths))
    lines = [f"{_some(file_names)} ({reason})" for reason, file_names in names.items()]
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"files left out for further reasons: {more:,}"]


def _name(path: Path, paths: Sequence[Path]) -> str:
    folders = [each for place in paths for each in (place, place.resolve()) if path != each]
    name = next((str(path.relative_to(folder)) for folder in folders if path.is_relative_to(folder)), path.name)
    return clean(name, single_line=True)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _candidates(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        if path.is_dir():
            yield from _walked(path, path.resolve())
        else:
            yield path, "" if path.exists() else "does not exist any more"


def _walked(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """The files beneath a folder, each with the reason to leave it out or ""."""
    unreadable: list[OSError] = []
    for name, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != OWN_REPORTS)
        for file in sorted([*files, *(each for each in folders if Path(name, each).is_symlink())]):
            path = Path(name, file)
            if not file.startswith("."):
                yield path, _link_fault(path, root)
    for error in unreadable:
        yield Path(error.filename), f"cannot be opened: {error.strerror}"


def _link_fault(path: Path, root: Path) -> str:
    """Why a link is not followed; "" for what is none, and for one that stays within the root."""
    try:
        within = not path.is_symlink() or path.resolve().is_relative_to(root)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    except RuntimeError:
        return "a link that leads in a circle"
    return "" if within else "a link out of the folder"


def _examined(path: Path) -> LocalFile | str:
    """The file, or why it is left out."""
    if path.suffix.lower() not in KINDS:
        return f"of no known kind: read are {_kinds()}"
    try:
        real = path.resolve()
        status = real.stat()
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "no plain file"
    if status.st_size > MOST_BYTES:
        return f"{status.st_size / 1e6:.0f} MB, over {MOST_BYTES / 1e6:.0f} MB"
    return LocalFile(real, status.st_mtime_ns, status.st_size)


def _kinds() -> str:
    return ", ".join(sorted(KINDS))


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
