"""Abstracts of papers from arXiv's public search."""

import asyncio
import html
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

from contend.connections import certificates
from contend.errors import SourceError
from contend.models.research import FoundPassage
from contend.settings import service_address
from contend.sources.calls import (
    Queue,
    TransientError,
    http_client,
    refuse_if_busy,
    why_unreachable,
)
from contend.sources.source import AskedSource, found_passage
from contend.text import clean, host_of, shorten

if TYPE_CHECKING:
    import arxiv
    import httpx

_ARXIV_URL = "https://export.arxiv.org"
_PAPER = re.compile(
    r"https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/((?:[a-z.-]+/)?\d[\w.]*?)(?:\.pdf)?/?(?:[?#].*)?\Z"
)
_LARGEST_FEED = 20_000_000
_OK = 200
_BAD_REQUEST = 400
T = TypeVar("T")


@cache
def _queue(base_url: str, interval_seconds: float, deadline_seconds: float) -> Queue:
    return Queue(host_of(base_url), interval_seconds=interval_seconds, deadline_seconds=deadline_seconds)


class ArxivSource(AskedSource):
    """arXiv, within its terms of use: one call at a time, 3 seconds apart, for the whole process.

    `deadline_seconds` covers a search with its retries, once it is its turn. A paper's text is its whole abstract; its
    relevance falls with its rank.
    """

    name = "arxiv"
    summarizes = True

    def __init__(
        self, base_url: str | None = None, *, deadline_seconds: float = 30.0, interval_seconds: float = 3.0
    ) -> None:
        super().__init__()
        self._base_url = service_address(base_url or _ARXIV_URL, "CONTEND_ARXIV_BASE_URL", example=_ARXIV_URL)
        self._interval = interval_seconds
        self._queue = _queue(self._base_url, interval_seconds, deadline_seconds)

    async def check(self) -> str | None:
        """None if a connection to arXiv opens, else why not. Takes at most 3 seconds."""
        return await why_unreachable(self._base_url)

    def _terms(self, query: str) -> str:
        return as_search_query(query)

    async def in_turn(self, attempt: Callable[[], T]) -> T:
        """Make another call to arXiv on a thread, when it is its turn; its errors pass through."""
        return await self._queue.call(lambda _: attempt())

    def pdf_of(self, url: str) -> str | None:
        """The PDF of a paper, at the host that arXiv provides for programs; None if the page is no paper's."""
        paper = _PAPER.match(url)
        return f"{self._base_url}/pdf/{paper[1]}" if paper else None

    async def _ask(self, terms: str, limit: int) -> list[FoundPassage]:
        # Both are slow to load, and no part of the deadline.
        await asyncio.to_thread(import_module, "arxiv")
        await asyncio.to_thread(certificates)
        papers = await self._queue.call(partial(self._papers, terms, limit))
        return self._usable([_found_passage(paper, 1 - place / limit) for place, paper in enumerate(papers)])

    def _papers(self, terms: str, limit: int, seconds: float) -> "list[arxiv.Result]":
        """Most relevant first. A page that comes short is followed by another, an interval later."""
        import arxiv  # noqa: PLC0415 - heavy, and loaded by now

        # Second attempts are the queue's business.
        client = arxiv.Client(page_size=limit, delay_seconds=self._interval, num_retries=0)
        client.query_url_format = f"{self._base_url}/api/query?{{}}"
        # In place of its own connection, which knows no time limit and would take any page for a feed.
        get = partial(_feed, terms, time.monotonic() + seconds)
        client._session = SimpleNamespace(get=get)  # noqa: SLF001 - it offers no other way
        papers: list[arxiv.Result] = []
        try:
            with suppress(arxiv.UnexpectedEmptyPageError):  # fewer than arXiv announced, and worth as much
                papers.extend(client.results(arxiv.Search(terms, max_results=limit)))
        except (arxiv.ArxivError, ValueError) as error:
            raise SourceError(f"{host_of(self._base_url)} gave an unusable answer ({type(error).__name__})") from error
        return papers


_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):\S")
_SYNTAX = re.compile(r"[^\w\s.'-]|(?<!\w)[-.']+|\b(?:AND|OR|ANDNOT)\b")


def as_search_query(query: str) -> str:
    """A question as plain words; a query with arXiv's fields (`ti:checkerboard`) stays unchanged.

    In arXiv's query language colons, brackets and quotation marks are syntax, and misplaced ones are refused.
    """
    line = clean(query, single_line=True)
    return line if _FIELD.search(line) else " ".join(_SYNTAX.sub(" ", line).split())


def _found_passage(paper: "arxiv.Result", relevance: float) -> FoundPassage | None:
    day = paper.published.date()
    return found_passage(
        "arxiv",
        title=paper.title,
        text=clean(paper.summary, single_line=True),
        url=re.sub("^http:", "https:", paper.entry_id.strip()),
        published_date=None if day == day.min else day.isoformat(),
        authors=[author.name for author in paper.authors],
        categories=paper.categories,
        relevance_score=round(relevance, 4),
    )


def _feed(query: str, ends_at: float, url: str, headers: dict[str, str]) -> SimpleNamespace:
    """A whole, readable feed as the client wants it, or a SourceError."""
    feed = asyncio.run(_whole_feed(query, ends_at, url, headers))
    return SimpleNamespace(status_code=_OK, content=with_readable_dates(feed))


async def _whole_feed(query: str, ends_at: float, url: str, headers: dict[str, str]) -> bytes:
    async with (
        http_client(url, ends_at - time.monotonic(), follow_redirects=True, timeout=None) as http,
        http.stream("GET", url, headers=headers) as response,
    ):
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _LARGEST_FEED:
                raise SourceError(f"arXiv sent more than {_LARGEST_FEED} bytes: search more narrowly")
    _refuse_failures(response, bytes(body), query)
    return bytes(body)


_ERROR_ENTRY = re.compile(rb"<id>\s*https?://(?:export\.)?arxiv\.org/api/errors")
_SUMMARY = re.compile(rb"<summary[^<>]*>([^<]*)")


def _refuse_failures(response: "httpx.Response", body: bytes, query: str) -> None:
    status = response.status_code
    refuse_if_busy("arXiv", response)
    if status == _BAD_REQUEST or _ERROR_ENTRY.search(body):
        match = _SUMMARY.search(body)
        text = html.unescape(match[1].decode("utf-8", "replace")) if match else ""
        reason = shorten(clean(text, single_line=True), 200) or "no reason given"
        raise SourceError(f"arXiv refused the query {shorten(query, 100)!r}: {reason}")
    if status != _OK:
        raise SourceError(f"arXiv refused (HTTP {status}): see https://info.arxiv.org/help/api")
    if b"<feed" not in body[:2000]:
        raise SourceError("arXiv answered with something else than a feed; it may be under maintenance: try later")
    if b"</feed>" not in body[-200:]:
        raise TransientError("arXiv broke off in the middle of its feed")


_END = b"</entry>"
# The two that the client reads of an entry, and for one of which it would give up the page.
_DATE = re.compile(rb"(<(?:updated|published)>)([^<]*)")
_NO_DATE = datetime.min.replace(tzinfo=UTC).isoformat().encode()
_NO_DATES = b"<updated>%b</updated><published>%b</published>" % (_NO_DATE, _NO_DATE)


def with_readable_dates(feed: bytes) -> bytes:
    """The feed with the first day of the calendar where an entry's date is missing or cannot be read.

    The client would lose the page for it.
    """
    readable = _DATE.sub(lambda date: date[0] if _is_date(date[2]) else date[1] + _NO_DATE, feed)
    # The client takes the first of each that stands in an entry.
    return readable.replace(_END, _NO_DATES + _END)


def _is_date(date: bytes) -> bool:
    """Whether the client can read it; it takes dates to UTC."""
    try:
        datetime.fromisoformat(date.decode().strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True
