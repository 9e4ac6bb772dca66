"""Papers from arXiv: its abstracts, by its public search."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from contend.models.research import Found
from contend.settings import service_address
from contend.sources.source import AskedSource, as_found
from contend.sources.throttle import Queue, host_of, why_unreachable
from contend.text import clean

if TYPE_CHECKING:
    import arxiv

ARXIV_URL = "https://export.arxiv.org"
_PAPER = re.compile(
    r"https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/((?:[a-z.-]+/)?\d[\w.]*?)(?:\.pdf)?/?(?:[?#].*)?\Z"
)
T = TypeVar("T")


@cache
def _queue(base_url: str, interval_seconds: float, deadline_seconds: float) -> Queue:
    return Queue(host_of(base_url), interval_seconds=interval_seconds, deadline_seconds=deadline_seconds)


class ArxivSource(AskedSource):
    """arXiv, asked as it asks to be: one call at a time, 3 seconds apart, for the whole process.

    `deadline_seconds` holds for a search and its repeats, from the moment it is its turn. A paper's text is its whole
    abstract, and its relevance falls by rank.
    """

    name = "arxiv"
    summarizes = True

    def __init__(
        self, base_url: str | None = None, *, deadline_seconds: float = 30.0, interval_seconds: float = 3.0
    ) -> None:
        super().__init__()
        self._base_url = service_address(base_url or ARXIV_URL, "CONTEND_ARXIV_BASE_URL", example=ARXIV_URL)
        self._interval = interval_seconds
        self._queue = _queue(self._base_url, interval_seconds, deadline_seconds)

    async def check(self) -> str | None:
        """None if a connection to arXiv opens, else why not; within 3 seconds."""
        return await why_unreachable(self._base_url)

    def _terms(self, query: str) -> str:
        return as_search_query(query)

    async def in_turn(self, attempt: Callable[[], T]) -> T:
        """What another call to arXiv gives, made on a thread when it is its turn; its errors pass through."""
        return await self._queue.call(lambda _: attempt())

    def pdf_of(self, url: str) -> str | None:
        """Where a paper lies as PDF, at the address that arXiv keeps for programs; None of what is no paper's page."""
        paper = _PAPER.match(url)
        return f"{self._base_url}/pdf/{paper[1]}" if paper else None

    async def _ask(self, terms: str, limit: int) -> list[Found]:
        papers = await self._queue.call(partial(self._papers, terms, limit))
        return self._usable([_as_found(paper, 1 - place / limit) for place, paper in enumerate(papers)])

    def _papers(self, terms: str, limit: int, seconds: float) -> "list[arxiv.Result]":
        from contend.sources.arxiv_client import find_papers  # noqa: PLC0415 - heavy; loaded off the event loop

        return find_papers(self._base_url, terms, limit=limit, seconds=seconds, interval_seconds=self._interval)


_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):\S")
_SYNTAX = re.compile(r"[^\w\s.'-]|(?<!\w)[-.']+|\b(?:AND|OR|ANDNOT)\b")


def as_search_query(query: str) -> str:
    """A question as plain words; a query that names arXiv's fields (`ti:checkerboard`) stays as it is.

    In arXiv's query language colons, brackets and quotation marks are syntax, refused where they are not in place.
    """
    line = clean(query, single_line=True)
    return line if _FIELD.search(line) else " ".join(_SYNTAX.sub(" ", line).split())


def _as_found(paper: "arxiv.Result", relevance: float) -> Found | None:
    day = paper.published.date()
    return as_found(
        "arxiv",
        title=paper.title,
        text=clean(paper.summary, single_line=True),
        url=re.sub("^http:", "https:", paper.entry_id.strip()),
        published_date=None if day == day.min else day.isoformat(),
        authors=[author.name for author in paper.authors],
        categories=paper.categories,
        relevance_score=round(relevance, 4),
    )
