"""One search by the `tavily` client: its answer's results as they came, or a SourceError that never holds the key.

Imported at the first search: `tavily` is slow to load.
"""

import asyncio
from typing import Any

import httpx
from tavily import AsyncTavilyClient
from tavily.errors import TimeoutError as TavilyTimeoutError

from contend.errors import SourceError
from contend.retry_after import retry_after
from contend.sources.address import host_of
from contend.sources.certificates import certificates
from contend.sources.manners import TransientError
from contend.text import clean, shorten

_OK = 200
_BAD_REQUEST = 400
_BAD_KEY = 401
_FORBIDDEN = 403
_PLAN_LIMITS = {432, 433}
_PASSING = {408, 429}
_SERVER_FAULT = 500


async def search(base_url: str, api_key: str, query: str, *, limit: int, seconds: float) -> list[Any]:
    """At most `limit` results as Tavily sent them, of any shape.

    Raises:
        SourceError: refused, unreachable, not done within `seconds`, or not an answer of Tavily's.
    """
    host = host_of(base_url)
    gate = _Gate(api_key, query)
    try:
        async with (
            asyncio.timeout(seconds),
            # Connections live as long as the call: none is bound to an event loop or left for someone to close.
            httpx.AsyncClient(
                base_url=base_url, verify=certificates(), event_hooks={"response": [gate.pass_answers]}
            ) as http,
        ):
            client = AsyncTavilyClient(api_key, api_base_url=base_url, client=http)
            answer = await client.search(query, max_results=limit, timeout=seconds)
    # Without their causes: what httpx raises can hold the request, and with it the key.
    except (TimeoutError, TavilyTimeoutError):
        raise TransientError(f"no whole answer from {host} in time") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TransientError(f"no connection to {host} ({type(error).__name__})") from None
    return list(answer["results"])


class _Gate:
    """Lets answers with results through; the client's own errors have no common base and lose `Retry-After`."""

    def __init__(self, api_key: str, query: str) -> None:
        self._key = api_key
        self._query = query

    async def pass_answers(self, response: httpx.Response) -> None:
        await response.aread()
        status = response.status_code
        if status != _OK:
            raise self._refusal(status, response)
        answer = _json(response)
        if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
            raise SourceError("Tavily answered with something else than results: check CONTEND_TAVILY_BASE_URL")

    def _refusal(self, status: int, response: httpx.Response) -> SourceError:
        if status in _PASSING or status >= _SERVER_FAULT:
            wait = retry_after(response.headers.get("Retry-After"))
            asks = "" if wait is None else f", asks to wait {wait:.0f} s"
            return TransientError(f"Tavily is busy or down (HTTP {status}{asks}): try again later", after=wait)
        said = self._said(response)
        if status == _BAD_KEY:
            return SourceError("Tavily refused the key (HTTP 401): set TAVILY_API_KEY to a valid one")
        if status in _PLAN_LIMITS:
            return SourceError(f"Tavily's plan is used up (HTTP {status}: {said}): raise its limit or use another key")
        if status == _FORBIDDEN:
            return SourceError(f"Tavily does not allow this with the key's plan (HTTP 403: {said}): use another key")
        if status == _BAD_REQUEST:
            return SourceError(f"Tavily refused the query {shorten(self._query, 100)!r}: {said}")
        return SourceError(f"Tavily refused (HTTP {status}: {said}): check CONTEND_TAVILY_BASE_URL")

    def _said(self, response: httpx.Response) -> str:
        answer = _json(response)
        detail = answer.get("detail") if isinstance(answer, dict) else None
        said = detail.get("error") if isinstance(detail, dict) else detail
        shown = clean(said, single_line=True) if isinstance(said, str) else ""
        return shorten(shown.replace(self._key, "…"), 200) or "no reason given"


def _json(response: httpx.Response) -> object:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
