"""Local documents: files of all kinds that are read, in folders or given by name, searched by passage."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

from contend.models.research import Found, SearchResult
from contend.retrieval import Embedder
from contend.sources.library import CatalogueEntry, Library, PieceHit, Progress
from contend.sources.local_index import LeftOut, list_files, reason_lines, validate_paths
from contend.text import clean, shorten

_SUMMARY_CHARACTERS = 500
MANY_FILES = 200
"""Reading fewer is over before anybody wonders."""

_LEAST_STEP = 25
_MOST_STEPS = 100
T = TypeVar("T")


class LocalDocuments:
    """Documents in files and folders. The index is built at the first search and mended when files change.

    `left_out` names the files that are not searched, or not whole, as of the last look. `cache` is a folder that keeps
    what was read between runs; `look_again_seconds` is how long files are taken to be unchanged.

    Raises:
        InputError: a path does not exist, or is a file of no known kind.
    """

    name = "local"
    summarizes = False

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        cache: Path | None = None,
        embedder: Embedder | None = None,
        look_again_seconds: float = 5.0,
    ) -> None:
        validate_paths(paths)
        self.left_out: list[LeftOut] = []
        self._paths = list(paths)
        self._library = Library(cache, embedder)
        self._look_again_seconds = look_again_seconds
        self._refreshed_at: float | None = None
        self._waiting = 0
        # One thread: concurrent searches share one build, and the event loop's own threads stay free meanwhile.
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="contend-local")

    async def check(self) -> str | None:
        """None if there is a file to search, else the reason there is none."""
        if not self._paths:
            return "no documents given"
        files, left_out = await asyncio.to_thread(list_files, self._paths)
        if self._refreshed_at is None:
            self.left_out = left_out
        if files:
            return None
        why = "; ".join(reason_lines(left_out, self._paths))
        return f"no readable document in {', '.join(map(str, self._paths))}{f': {why}' if why else ''}"

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """At most `limit` sections with what answers in them, best first; those of one document share its url."""
        return await self._refreshed(lambda: [_as_found(hit) for hit in self._library.search(query, limit)])

    async def read_all(self, progress: Progress | None = None) -> None:
        """Read what was not read yet, as before a search: `left_out` is complete afterwards.

        `progress` is told on the caller's loop, where over `MANY_FILES` are read, at most a hundred times how many of
        how many were.
        """
        if not self._is_fresh():
            await self._refreshed(lambda: None, _stepwise(progress) if progress else None)

    async def catalogue(self) -> list[CatalogueEntry]:
        """The documents that are searched, in the order of their paths."""
        return await self._refreshed(self._library.catalogue)

    async def whole(self, most_tokens: int) -> list[Found]:
        """All sections of all documents in order, where they take at most so many tokens together; else none."""

        def fitting() -> list[Found]:
            if sum(entry.tokens for entry in self._library.catalogue()) > most_tokens:
                return []
            return [_as_found(hit) for hit in self._library.sections()]

        return await self._refreshed(fitting)

    def left_out_lines(self) -> list[str]:
        """`left_out` for a reader, a line for each reason."""
        return reason_lines(self.left_out, self._paths)

    async def _refreshed(self, work: Callable[[], T], progress: Progress | None = None) -> T:
        def refresh_and_work() -> T:
            self._refresh(progress or (lambda *_: None))
            return work()

        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, refresh_and_work)
        finally:
            self._waiting -= 1

    def _is_fresh(self) -> bool:
        return self._refreshed_at is not None and time.monotonic() - self._refreshed_at < self._look_again_seconds

    def _refresh(self, progress: Progress) -> None:
        if not self._is_fresh():
            now = time.monotonic()
            files, left_out = list_files(self._paths)
            left_out += self._library.update(files, is_awaited=lambda: self._waiting > 0, progress=progress)
            self.left_out = left_out
            self._refreshed_at = now


def _stepwise(progress: Progress) -> Progress:
    """For the thread that reads: passes on to the caller's loop and context, where there is enough to tell."""
    loop, context = asyncio.get_running_loop(), copy_context()

    def tell(count: int, files: int) -> None:
        step = max(_LEAST_STEP, -(-files // _MOST_STEPS))
        if files > MANY_FILES and (count % step == 0 or count == files):
            loop.call_soon_threadsafe(progress, count, files, context=context)

    return tell


def _as_found(hit: PieceHit) -> Found:
    result = SearchResult(
        title=hit.file.title,
        summary=shorten(clean(hit.piece.text, single_line=True), _SUMMARY_CHARACTERS),
        source="local",
        url=hit.file.path.as_uri(),
        published_date=hit.file.published,
        relevance_score=hit.score,
    )
    return Found(result, hit.section.text, hit.section.heading.removeprefix(hit.file.title).removeprefix(" › "))
