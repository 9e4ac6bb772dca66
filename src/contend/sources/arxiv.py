"""Abstracts of papers from arXiv's public search."""

import asyncio
import html
import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from lxml.etree import XMLParser, fromstring

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
from contend.sources.source import AskedSource, as_day, found_passage
from contend.text import clean, host_of, shorten

if TYPE_CHECKING:
    import httpx
    from lxml.etree import _Element

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
        # Slow to load, and outside the deadline.
        await asyncio.to_thread(certificates)
        feed = await self._queue.call(lambda seconds: asyncio.run(self._feed(terms, limit, seconds)))
        entries = await asyncio.to_thread(_entries, feed)
        return self._usable([_found_passage(each, 1 - place / limit) for place, each in enumerate(entries[:limit])])

    async def _feed(self, terms: str, limit: int, seconds: float) -> bytes:
        """A whole feed, the most relevant papers first."""
        query = {"search_query": terms, "sortBy": "relevance", "sortOrder": "descending"}
        url = f"{self._base_url}/api/query?{urlencode({**query, 'start': 0, 'max_results': limit})}"
        async with (
            http_client(url, seconds, follow_redirects=True, timeout=None) as http,
            http.stream("GET", url, headers={"User-Agent": f"contend/{version('contend')}"}) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST_FEED:
                    raise SourceError(f"arXiv sent more than {_LARGEST_FEED} bytes: search more narrowly")
        _refuse_failures(response, bytes(body), terms)
        return bytes(body)


_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):\S")
_SYNTAX = re.compile(r"[^\w\s.'-]|(?<!\w)[-.']+|\b(?:AND|OR|ANDNOT)\b")


def as_search_query(query: str) -> str:
    """A question as plain words; a query with arXiv's fields (`ti:checkerboard`) stays unchanged.

    In arXiv's query language colons, brackets and quotation marks are syntax, and misplaced ones are refused.
    """
    line = clean(query, single_line=True)
    return line if _FIELD.search(line) else " ".join(_SYNTAX.sub(" ", line).split())


def _entries(feed: bytes) -> list["_Element"]:
    """The feed's entries; damaged parts are skipped, entities are not resolved."""
    parser = XMLParser(recover=True, resolve_entities=False, no_network=True)
    entries: list[_Element] = fromstring(feed, parser).findall("{*}entry")
    return entries


def _found_passage(paper: "_Element", relevance: float) -> FoundPassage | None:
    return found_passage(
        "arxiv",
        title=paper.findtext("{*}title", ""),
        text=clean(paper.findtext("{*}summary", ""), single_line=True),
        url=re.sub("^http:", "https:", paper.findtext("{*}id", "").strip()),
        published_date=as_day(paper.findtext("{*}published")),
        authors=[author.findtext("{*}name", "") for author in paper.iterfind("{*}author")],
        categories=[category.get("term", "") for category in paper.iterfind("{*}category")],
        relevance_score=round(relevance, 4),
    )


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
