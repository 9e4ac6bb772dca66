"""The `arxiv` client on a connection with manners: every answer is a whole, readable feed, or a SourceError.

Imported at the first search: `arxiv` and `requests` are slow to load.
"""

import html
import re
import time
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

import arxiv
import requests
import urllib3
from requests.adapters import HTTPAdapter

from contend.errors import SourceError
from contend.retry_after import retry_after
from contend.sources.address import host_of
from contend.sources.throttle import TransientError
from contend.text import clean, shorten

_CONNECT_SECONDS = 10.0
_LARGEST_FEED = 20_000_000
_CHUNK = 65_536
_OK = 200
_BAD_REQUEST = 400
_TOO_MANY_REQUESTS = 429
_SERVER_FAULT = 500

NO_DATE = datetime.min.replace(tzinfo=UTC)
"""Stands where an entry's date is missing or cannot be read."""


class _Call(NamedTuple):
    query: str
    ends_at: float


class Wire:
    """One client and its connections, for one thread at a time."""

    def __init__(self, base_url: str) -> None:
        self._host = host_of(base_url)
        self._adapter = _FeedAdapter()
        # Second attempts are the line's business.
        self._client = arxiv.Client(num_retries=0)
        self._client.query_url_format = f"{base_url}/api/query?{{}}"
        for scheme in ("https://", "http://"):
            self._client._session.mount(scheme, self._adapter)  # noqa: SLF001 - the client offers no other way to set a timeout

    def papers(self, query: str, *, limit: int, seconds: float, interval_seconds: float) -> list[arxiv.Result]:
        """At most `limit` papers, most relevant first; unreadable dates are `NO_DATE`.

        A page that comes short is followed by another, `interval_seconds` later.

        Raises:
            SourceError: no whole feed came within `seconds`, or a refusal.
        """
        self._adapter.call = _Call(query, time.monotonic() + seconds)
        self._client.page_size, self._client.delay_seconds = limit, interval_seconds
        papers: list[arxiv.Result] = []
        try:
            papers.extend(self._client.results(arxiv.Search(query, max_results=limit)))
        except arxiv.UnexpectedEmptyPageError:
            pass  # fewer than arXiv announced, and worth as much
        except requests.Timeout as error:
            raise TransientError(f"no answer from {self._host} in time") from error
        except requests.ConnectionError as error:
            raise TransientError(f"no connection to {self._host} ({type(error).__name__})") from error
        except (requests.RequestException, arxiv.ArxivError, ValueError) as error:
            raise SourceError(f"{self._host} gave an unusable answer ({type(error).__name__})") from error
        return papers


@cache
def wire_to(base_url: str) -> Wire:
    """The one client of this process for an address."""
    return Wire(base_url)


class _FeedAdapter(HTTPAdapter):
    """Hands out what the client can read: it knows no deadline and no page but a feed, and one bad date fails it."""

    call = _Call("", 0.0)

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:  # type: ignore[override]  # noqa: ANN401 - requests passes all by name
        left = max(0.001, self.call.ends_at - time.monotonic())
        settings |= {"stream": True, "timeout": (min(left, _CONNECT_SECONDS), left)}
        response = super().send(request, **settings)
        if response.is_redirect:
            return response
        body = _body(response, self.call.ends_at)
        _refuse_failures(response, body, self.call.query)
        response.raw = BytesIO(with_readable_dates(body))
        return response


def _body(response: requests.Response, ends_at: float) -> bytes:
    """Read as it comes: the timeout of `requests` starts anew with each byte."""
    body = bytearray()
    try:
        while chunk := response.raw.read1(_CHUNK, decode_content=True):
            body += chunk
            if time.monotonic() > ends_at:
                raise TransientError("arXiv sent its answer too slowly")
            if len(body) > _LARGEST_FEED:
                raise SourceError(f"arXiv sent more than {_LARGEST_FEED} bytes: search more narrowly")
    except urllib3.exceptions.HTTPError as error:
        raise TransientError("arXiv broke off in the middle of its answer") from error
    finally:
        response.raw.close()
    return bytes(body)


_ERROR_ENTRY = re.compile(rb"<id>\s*https?://(?:export\.)?arxiv\.org/api/errors")
_SUMMARY = re.compile(rb"<summary[^<>]*>([^<]*)")


def _refuse_failures(response: requests.Response, body: bytes, query: str) -> None:
    status = response.status_code
    if status == _TOO_MANY_REQUESTS or status >= _SERVER_FAULT:
        wait = retry_after(response.headers.get("Retry-After"))
        asks = "" if wait is None else f", asks to wait {wait:.0f} s"
        raise TransientError(f"arXiv is busy or down (HTTP {status}{asks}): try again later", after=wait)
    if status == _BAD_REQUEST or _ERROR_ENTRY.search(body):
        raise SourceError(f"arXiv refused the query {shorten(query, 100)!r}: {_said(body)}")
    if status != _OK:
        raise SourceError(f"arXiv refused (HTTP {status}): see https://info.arxiv.org/help/api")
    if b"<feed" not in body[:2000]:
        raise SourceError("arXiv answered with something else than a feed; it may be under maintenance: try later")
    if b"</feed>" not in body[-200:]:
        raise TransientError("arXiv broke off in the middle of its feed")


def _said(body: bytes) -> str:
    match = _SUMMARY.search(body)
    text = html.unescape(match[1].decode("utf-8", "replace")) if match else ""
    return shorten(clean(text, single_line=True), 200) or "no reason given"


_BEGINS_ENTRY, _ENDS_ENTRY = re.compile(rb"<entry[\s>]"), b"</entry>"
_WRITTEN_NO_DATE = NO_DATE.isoformat().encode()


def with_readable_dates(feed: bytes) -> bytes:
    """The feed with `NO_DATE` where an entry's date is missing or cannot be read, so that none is lost for it."""
    *entries, rest = feed.split(_ENDS_ENTRY)
    return b"".join([*map(_dated, entries), rest])


def _dated(before_end: bytes) -> bytes:
    """What stands before an entry's end, and that end."""
    begin = _BEGINS_ENTRY.search(before_end)
    if begin is None:
        return before_end + _ENDS_ENTRY
    return before_end[: begin.start()] + _with_dates(before_end[begin.start() :]) + _ENDS_ENTRY


def _with_dates(entry: bytes) -> bytes:
    for name in (b"updated", b"published"):
        date = re.search(rb"<%b>([^<]*)</%b>" % (name, name), entry)
        if date is None:
            entry += b"<%b>%b</%b>" % (name, _WRITTEN_NO_DATE, name)
        elif not _is_date(date[1]):
            entry = entry[: date.start(1)] + _WRITTEN_NO_DATE + entry[date.end(1) :]
    return entry


def _is_date(written: bytes) -> bool:
    """Whether the client can read it; it takes dates to UTC."""
    try:
        datetime.fromisoformat(written.decode().strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True
