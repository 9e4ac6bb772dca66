"""Local documents: readable files, in folders or given by name, searched by passage."""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from contend.errors import InputError, SourceError
from contend.models.record import Language
from contend.models.research import FoundPassage
from contend.retrieval import Embedder, default_embedder
from contend.sources.catalogue import CatalogueEntry
from contend.sources.local_index import (
    IndexCache,
    IndexedFile,
    LocalFile,
    LocalIndex,
    index_file,
)
from contend.sources.readers import KINDS, kind_of
from contend.text import WORDS, Words, clean, reason_text

_MOST_FILES = 10_000
MOST_BYTES = 50_000_000
OWN_REPORTS = "contend-results"
"""The folder of reports in the working directory: a report must not be a source of the next one."""

_MOST_LINES = 10
_MOST_NAMES = 5
_MANY_FILES = 200
"""Reading fewer files is fast enough without progress."""

_LEAST_STEP = 25
_MOST_STEPS = 100
Progress = Callable[[int, int], None]
T = TypeVar("T")


class LeftOut(NamedTuple):
    """A file or folder that is left out, and why."""

    path: Path
    reason: str


class ReadingStopped(Exception):  # noqa: N818 - no error: nobody is there to be told
    """Reading stopped because nobody waits for the result."""


def index_folder(workspace: Path) -> Path:
    """Where a workspace keeps its indexes."""
    return workspace / "documents" / "index"


@dataclass(eq=False)
class LocalDocuments:
    """Documents in files and folders. The index is built at the first search and updated when files change.

    `left_out`: files that are not searched, or not completely, as of the last check. `cache`: a folder that keeps the
    index between runs; `look_again_seconds`: how long files count as unchanged. Blocking: checks the paths.

    Raises:
        InputError: a path does not exist, or is a file of an unknown kind.
    """

    name = "local"
    summarizes = False

    paths: Sequence[Path]
    cache: Path | None = field(default=None, kw_only=True)
    embedder: Embedder | None = field(default=None, kw_only=True)
    look_again_seconds: float = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        validate_paths(self.paths)
        self.left_out: list[LeftOut] = []
        self._folders = [folder for path in self.paths for folder in (path, path.resolve())]
        self._files: dict[LocalFile, IndexedFile] = {}
        self._index: LocalIndex | None = None
        self._refreshed_at: float | None = None
        self._waiting = 0
        # One thread: concurrent searches share one build, and the event loop's default threads stay free.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="contend-local")

    async def check(self) -> str | None:
        """None if there is a file to search, else why not."""
        if not self.paths:
            return "no documents given"
        files, left_out = await asyncio.to_thread(list_files, self.paths)
        if self._refreshed_at is None:
            self.left_out = left_out
        if files:
            return None
        why = "; ".join(reason_lines(left_out, self._folders))
        return f"no readable document in {', '.join(map(str, self.paths))}{f': {why}' if why else ''}"

    async def search(self, query: str, *, limit: int) -> list[FoundPassage]:
        """At most `limit` sections that answer the query, best first; sections of a document share its url."""
        return await self._with_fresh_index(lambda index: index.search(query, limit))

    async def read_all(self, progress: Progress | None = None) -> None:
        """Read new and changed files, as a search does; `left_out` is complete afterwards.

        If more than `_MANY_FILES` are read, `progress` gets the number read and the total on the caller's loop, at most
        a hundred times.
        """
        if not self._is_fresh():
            await self._with_fresh_index(lambda _: None, _stepwise(progress) if progress else None)

    async def find(self, words: str, *, limit: int) -> tuple[list[FoundPassage], int]:
        """At most `limit` sections that contain the words literally, and the number of all such sections.

        Case, character width and white space are ignored. `*` matches anything within a line, `?` one character:
        `max_*_size`. Sections with the words in their heading come first, then those with a line that starts with them;
        within each kind every document's first section, then every document's second.
        """
        return await self._with_fresh_index(lambda index: index.find(words, limit))

    async def read(self, url: str, first: int, last: int) -> list[FoundPassage]:
        """The sections `first` to `last` of a document, counted from 1, as far as they exist.

        Raises:
            SourceError: no searched document has this address.
        """
        sections = await self._with_fresh_index(lambda index: index.read(url, first, last))
        if not sections:
            raise SourceError("no document has this address")
        return sections

    async def catalogue(self) -> list[CatalogueEntry]:
        """The documents that are searched, in the order of their paths."""
        return await self._with_fresh_index(lambda index: [*index.catalogue])

    async def whole(self, most_tokens: int) -> list[FoundPassage]:
        """All sections of all documents in order, if they have at most `most_tokens` together; else none."""

        def fitting(index: LocalIndex) -> list[FoundPassage]:
            tokens = sum(file.tokens for file in index.files.values())
            return index.whole() if tokens <= most_tokens else []

        return await self._with_fresh_index(fitting)

    def left_out_lines(self, language: Language = "en") -> list[str]:
        """`left_out` for people, one line per reason."""
        return reason_lines(self.left_out, self._folders, language)

    async def _with_fresh_index(self, work: Callable[[LocalIndex], T], progress: Progress | None = None) -> T:
        def refresh_and_work() -> T:
            return work(self._refresh(progress or (lambda *_: None)))

        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, refresh_and_work)
        finally:
            self._waiting -= 1

    def _is_fresh(self) -> bool:
        return self._refreshed_at is not None and time.monotonic() - self._refreshed_at < self.look_again_seconds

    @cached_property
    def _embedder(self) -> Embedder:
        return self.embedder or default_embedder()

    @cached_property
    def _cache(self) -> IndexCache:
        return IndexCache(self.cache, self._embedder)

    def _refresh(self, progress: Progress) -> LocalIndex:
        if self._index is None or not self._is_fresh():
            now = time.monotonic()
            files, left_out = list_files(self.paths)
            if self._index is None or set(files) != set(self._files):
                self._index = self._read(files, progress)
            self.left_out = left_out + [LeftOut(each.path, each.note) for each in self._files.values() if each.note]
            self._refreshed_at = now
        return self._index

    def _read(self, files: list[LocalFile], progress: Progress) -> LocalIndex:
        """Read new and changed files, and drop missing ones.

        Raises:
            ReadingStopped: nobody waits any more; what was read so far is saved.
        """
        cached = None if self._files else self._cache.load(files)
        before = cached.files if cached else self._files or self._cache.files()
        documents = {file: before[file] for file in files if file in before}
        new = [file for file in files if file not in documents]
        for count, file in enumerate(new, start=1):
            if not self._waiting:
                self._kept_index(files, documents)
                raise ReadingStopped
            documents[file] = index_file(file, self._embedder)
            progress(count, len(new))
        self._files = {file: documents[file] for file in files}
        # An unreadable file is in no index, and tried again at each start.
        is_same = cached is not None and [*cached.files] == [file for file, each in self._files.items() if each.pieces]
        return cached if cached and is_same else self._kept_index(files, self._files)

    def _kept_index(self, files: list[LocalFile], documents: Mapping[LocalFile, IndexedFile]) -> LocalIndex:
        """An index over the documents, saved in the cache."""
        index = LocalIndex.over({file: each for file, each in documents.items() if each.pieces}, self._embedder)
        self._cache.save(files, index)
        return index


def _stepwise(progress: Progress) -> Progress:
    """Progress for the reading thread: passes steps on to the caller's loop and context."""
    loop, context = asyncio.get_running_loop(), copy_context()

    def tell(count: int, files: int) -> None:
        step = max(_LEAST_STEP, -(-files // _MOST_STEPS))
        if files > _MANY_FILES and (count % step == 0 or count == files):
            loop.call_soon_threadsafe(progress, count, files, context=context)

    return tell


def validate_paths(paths: Sequence[Path]) -> None:
    """Check that every path is a folder or a file of a readable kind.

    Raises:
        InputError: one is not; names the first.
    """
    for path in paths:
        try:
            there = path.exists()
            is_read = not path.is_file() or kind_of(path) is not None
        except OSError as error:
            raise InputError(f"documents: {path} cannot be opened ({error.strerror}): mend its rights") from error
        if not there:
            raise InputError(f"documents: {path} does not exist: give a file or a folder that does")
        if not is_read:
            raise InputError(f"documents: {path} is of no known kind: give a folder or a file in {_kinds()}")


def list_files(paths: Sequence[Path], *, most: int = _MOST_FILES) -> tuple[list[LocalFile], list[LeftOut]]:
    """Each readable file once, folders in order of name, and what was left out.

    Hidden files and folders and reports of earlier runs are skipped silently. Links out of a given folder are not
    followed.
    """
    files: dict[Path, LocalFile] = {}
    left_out: list[LeftOut] = []
    for path, reason in _candidates(paths):
        file_or_reason = reason or _examine(path)
        if isinstance(file_or_reason, str):
            left_out.append(LeftOut(path, file_or_reason))
        elif file_or_reason.path not in files and len(files) == most:
            left_out.append(LeftOut(path, f"over {most:,} files: give fewer folders"))
            break
        else:
            files[file_or_reason.path] = file_or_reason
    return list(files.values()), left_out


def reason_lines(left_out: Sequence[LeftOut], folders: Sequence[Path], language: Language = "en") -> list[str]:
    """One line per reason, with names relative to `folders`: `a.pdf, b.pdf and 3 more (broken)`."""
    names: dict[str, list[str]] = {}
    for each in left_out:
        names.setdefault(each.reason, []).append(_name(each.path, folders))
    words = WORDS[language]
    lines = [
        words.file_reason.format(files=_some(file_names, words), why=reason_text(reason, language))
        for reason, file_names in names.items()
    ]
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], words.further_reasons.format(count=more)]


def _name(path: Path, folders: Sequence[Path]) -> str:
    names = (str(path.relative_to(each)) for each in folders if path != each and path.is_relative_to(each))
    name = next(names, path.name)
    return clean(name, single_line=True)


def _some(names: Sequence[str], words: Words) -> str:
    more, first = len(names) - _MOST_NAMES, ", ".join(names[:_MOST_NAMES])
    return words.files_and_more.format(names=first, count=more) if more > 0 else first


def _candidates(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        if path.is_dir():
            yield from _walk(path, path.resolve())
        else:
            yield path, "" if path.exists() else "does not exist any more"


def _walk(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """The files in a folder and its subfolders, each with a reason to leave it out or ""."""
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
    """Why a link is not followed; "" if the path is no link or stays within the root."""
    try:
        within = not path.is_symlink() or path.resolve().is_relative_to(root)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    except RuntimeError:
        return "a link that leads in a circle"
    return "" if within else "a link out of the folder"


def _examine(path: Path) -> LocalFile | str:
    """The file, or why to leave it out."""
    try:
        real = path.resolve()
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            return "no plain file"
        if kind_of(path) is None:
            return f"of no known kind: read are {_kinds()}"
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    if status.st_size > MOST_BYTES:
        return f"{status.st_size / 1e6:.0f} MB, over {MOST_BYTES / 1e6:.0f} MB"
    return LocalFile(real, status.st_mtime_ns, status.st_size)


def _kinds() -> str:
    return f"{', '.join(sorted(filter(None, KINDS)))} and other plain text"
