"""The `arxiv` client on a connection that knows a deadline: every answer is a whole, readable feed, or a SourceError.

Imported at the first search: `arxiv` and `httpx` are slow to load.
"""

import asyncio
import html
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import arxiv
import httpx

from contend.errors import SourceError
from contend.sources.throttle import TransientError, certificates, host_of, passing_failures, refuse_if_busy
from contend.text import clean, shorten

_LARGEST_FEED = 20_000_000
_OK = 200
_BAD_REQUEST = 400

NO_DATE = datetime.min.replace(tzinfo=UTC)
"""Stands where an entry's date is missing or cannot be read."""


def find_papers(
    base_url: str, query: str, *, limit: int, seconds: float, interval_seconds: float
) -> list[arxiv.Result]:
    """At most `limit` papers, most relevant first; unreadable dates are `NO_DATE`. Blocking.

    A page that comes short is followed by another, `interval_seconds` later.

    Raises:
        SourceError: no whole feed came within `seconds`, or a refusal.
    """
    # Second attempts are the queue's business.
    client = arxiv.Client(page_size=limit, delay_seconds=interval_seconds, num_retries=0)
    client.query_url_format = f"{base_url}/api/query?{{}}"
    client._session = _Feeds(query, host_of(base_url), time.monotonic() + seconds)  # noqa: SLF001 - it offers no other way to set a timeout
    papers: list[arxiv.Result] = []
    try:
        with suppress(arxiv.UnexpectedEmptyPageError):  # fewer than arXiv announced, and worth as much
            papers.extend(client.results(arxiv.Search(query, max_results=limit)))
    except (arxiv.ArxivError, ValueError) as error:
        raise SourceError(f"{host_of(base_url)} gave an unusable answer ({type(error).__name__})") from error
    return papers


class _Feeds:
    """In place of the client's own connection: it would take any page for a feed, and lose all for one bad date."""

    def __init__(self, query: str, host: str, ends_at: float) -> None:
        self._query = query
        self._host = host
        self._ends_at = ends_at

    def get(self, url: str, headers: dict[str, str]) -> SimpleNamespace:
        feed = asyncio.run(self._feed(url, headers))
        return SimpleNamespace(status_code=_OK, content=with_readable_dates(feed))

    async def _feed(self, url: str, headers: dict[str, str]) -> bytes:
        options: Any = {"verify": certificates(), "follow_redirects": True, "timeout": None}
        with passing_failures(self._host):
            async with (
                asyncio.timeout(self._ends_at - time.monotonic()),
                httpx.AsyncClient(**options) as http,
                http.stream("GET", url, headers=headers) as response,
            ):
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LARGEST_FEED:
                        raise SourceError(f"arXiv sent more than {_LARGEST_FEED} bytes: search more narrowly")
        _refuse_failures(response, bytes(body), self._query)
        return bytes(body)


_ERROR_ENTRY = re.compile(rb"<id>\s*https?://(?:export\.)?arxiv\.org/api/errors")
_SUMMARY = re.compile(rb"<summary[^<>]*>([^<]*)")


def _refuse_failures(response: httpx.Response, body: bytes, query: str) -> None:
    status = response.status_code
    refuse_if_busy("arXiv", response)
    if status == _BAD_REQUEST or _ERROR_ENTRY.search(body):
        raise SourceError(f"arXiv refused the query {shorten(query, 100)!r}: {_reason(body)}")
    if status != _OK:
        raise SourceError(f"arXiv refused (HTTP {status}): see https://info.arxiv.org/help/api")
    if b"<feed" not in body[:2000]:
        raise SourceError("arXiv answered with something else than a feed; it may be under maintenance: try later")
    if b"</feed>" not in body[-200:]:
        raise TransientError("arXiv broke off in the middle of its feed")


def _reason(body: bytes) -> str:
    match = _SUMMARY.search(body)
    text = html.unescape(match[1].decode("utf-8", "replace")) if match else ""
    return shorten(clean(text, single_line=True), 200) or "no reason given"


_END = b"</entry>"
# The two that the client reads of an entry, and for one of which it would give up the page.
_DATE = re.compile(rb"(<(?:updated|published)>)([^<]*)")
_NO_DATE = NO_DATE.isoformat().encode()
_NO_DATES = b"<updated>%b</updated><published>%b</published>" % (_NO_DATE, _NO_DATE)


def with_readable_dates(feed: bytes) -> bytes:
    """The feed with `NO_DATE` where an entry's date is missing or cannot be read, so that none is lost for it."""
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
