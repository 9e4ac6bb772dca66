"""Pages and papers in full: fetched once, split into passages as local documents are, searched by question."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from contend.errors import SourceError
from contend.retrieval import HybridIndex
from contend.sources.arxiv import ArxivSource
from contend.sources.passages import TextPiece, split_passages
from contend.sources.readers.document import Unreadable, decode, without_page
from contend.sources.readers.html import LARGE_PAGE, read_web_page
from contend.sources.readers.process import read_apart
from contend.sources.throttle import SharedAnswers, canonical_url
from contend.text import clean

if TYPE_CHECKING:
    from contend.sources.fetch import Fetched, Fetcher, Network

_SECONDS = 60.0
_PDF_PAGES = 200
_READING_SECONDS = 25.0
_CHARACTERS = 200_000
_KEPT = 64


@dataclass(frozen=True)
class FullText:
    """A document's passages and their index."""

    pieces: list[TextPiece]
    index: HybridIndex

    @classmethod
    def of(cls, markdown: str) -> "FullText":
        pieces = split_passages(markdown)
        return cls(pieces, HybridIndex([f"{without_page(piece.heading)}\n{piece.text}" for piece in pieces]))

    def nearest(self, question: str, limit: int) -> list[TextPiece]:
        """At most `limit` passages, best first."""
        return [self.pieces[hit.index] for hit in self.index.search(question, limit)]

    @cached_property
    def characters(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)


class FullTexts:
    """Reads pages and papers once for all who ask within a quarter of an hour; what failed is not tried again then.

    Pages come from public addresses and the `allowed` networks only; papers of arXiv when it is their turn.
    `deadline_seconds` holds for a document, the wait for its turn included.
    """

    def __init__(
        self, arxiv: ArxivSource, *, allowed: Sequence["Network"] = (), deadline_seconds: float = _SECONDS
    ) -> None:
        self._arxiv = arxiv
        self._allowed = allowed
        self._deadline = deadline_seconds
        self._answers: SharedAnswers[FullText | str] = SharedAnswers(most=_KEPT)
        # Few threads: a page takes a second of work, and the event loop's own threads stay free meanwhile.
        self._workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="contend-pages")

    async def read(self, url: str) -> FullText:
        """The document behind a result's address.

        Raises:
            SourceError: it cannot be read; the message is the reason without the address.
        """
        answer = await self._answers.get(canonical_url(url), partial(self._document, url))
        if isinstance(answer, str):
            raise SourceError(answer)
        return answer

    async def _document(self, url: str) -> FullText | str:
        """The document, or why it cannot be read."""
        try:
            async with asyncio.timeout(self._deadline):
                page = await self._fetch(url)
                return await asyncio.get_running_loop().run_in_executor(self._workers, _read, page, url)
        except TimeoutError:
            return f"not read within {self._deadline:g} s"
        except (Unreadable, SourceError) as error:
            return str(error)

    async def _fetch(self, url: str) -> "Fetched":
        fetcher = await asyncio.to_thread(lambda: self._fetcher)
        paper = self._arxiv.pdf_of(url)
        if paper is None:
            return await fetcher.get(url)
        return await self._arxiv.in_turn(lambda: asyncio.run(fetcher.get(paper)))

    @cached_property
    def _fetcher(self) -> "Fetcher":
        from contend.sources.fetch import Fetcher, Guard  # noqa: PLC0415 - heavy, loaded off the event loop

        return Fetcher(Guard(self._allowed))


def _read(page: "Fetched", url: str) -> FullText:
    text = clean(_markdown(page, url))[:_CHARACTERS]
    if not text.strip():
        raise Unreadable("no text in it")
    return FullText.of(text)


def _markdown(page: "Fetched", url: str) -> str:
    if page.kind == "pdf":
        return read_apart(".pdf", page.body, Path(url), most_pages=_PDF_PAGES, most_seconds=_READING_SECONDS).text
    if page.kind == "text":
        return decode(page.body, declared=page.charset)
    if len(page.body) > LARGE_PAGE:
        return read_apart("web", page.body, Path(url), charset=page.charset, most_seconds=_READING_SECONDS).text
    return read_web_page(page.body, page.charset)
