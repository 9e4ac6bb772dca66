"""Web pages from Tavily's search."""

import asyncio
import time
from dataclasses import InitVar, dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tenacity import AsyncRetrying

from contend.errors import SourceError
from contend.models.research import FoundPassage
from contend.settings import service_address
from contend.sources.calls import TransientError, http_client, refuse_if_busy, retry_rules, why_unreachable
from contend.sources.source import AskedSource, passage_of_item
from contend.text import clean, host_of, shorten

if TYPE_CHECKING:
    import httpx

_TAVILY_URL = "https://api.tavily.com"
_QUERY_CHARACTERS = 400
_OK = 200


@dataclass(eq=False, repr=False)
class TavilySource(AskedSource):
    """Web search by Tavily; off without a key, although the service has a mode without.

    `deadline_seconds` covers a search with its retries, the first of them after `retry_wait_seconds`. Only the first
    400 characters of a query count.
    """

    name = "tavily"
    summarizes = True
    most_results = 20

    api_key: InitVar[str | None]
    base_url: InitVar[str | None] = None
    deadline_seconds: float = field(default=30.0, kw_only=True)
    retry_wait_seconds: float = field(default=1.0, kw_only=True)

    def __post_init__(self, api_key: str | None, base_url: str | None) -> None:
        super().__init__()
        self._key = (api_key or "").strip()
        self._base_url = service_address(base_url or _TAVILY_URL, "CONTEND_TAVILY_BASE_URL", example=_TAVILY_URL)

    async def check(self) -> str | None:
        """None if there is a key and a connection to Tavily opens, else why not. Takes at most 3 seconds."""
        return self._fault_of_key() or await why_unreachable(self._base_url)

    async def search(self, query: str, *, limit: int) -> list[FoundPassage]:
        """See `Source.search`; SourceError also without a usable key."""
        if fault := self._fault_of_key():
            raise SourceError(fault)
        return await super().search(query, limit=limit)

    def _terms(self, query: str) -> str:
        return shorten(super()._terms(query), _QUERY_CHARACTERS)

    def _fault_of_key(self) -> str | None:
        if not self._key:
            return "TAVILY_API_KEY is not set"
        if not (self._key.isascii() and self._key.isprintable()):
            return "TAVILY_API_KEY holds characters that no key has: copy it again"
        return None

    async def _ask(self, terms: str, limit: int) -> list[FoundPassage]:
        await asyncio.to_thread(import_module, "tavily")  # heavy
        ends_at = time.monotonic() + self.deadline_seconds
        rules = retry_rules(self.deadline_seconds, first_wait_seconds=self.retry_wait_seconds)
        async for attempt in AsyncRetrying(**rules):
            with attempt:
                items = await _search(self._base_url, self._key, terms, limit=limit, seconds=ends_at - time.monotonic())
        results = [isinstance(item, dict) and {**item, "text": item.get("content")} for item in items[:limit]]
        return self._usable([passage_of_item("tavily", each) for each in results])


async def _search(base_url: str, api_key: str, query: str, *, limit: int, seconds: float) -> list[Any]:
    """At most `limit` results as Tavily sent them, not validated.

    Raises:
        SourceError: refused, unreachable, too slow, or no answer of Tavily's.
    """
    from tavily import AsyncTavilyClient  # noqa: PLC0415 - heavy, and loaded by now
    from tavily.errors import TimeoutError as TavilyTimeoutError  # noqa: PLC0415 - the same

    hooks = {"response": [partial(_pass_results, api_key, query)]}
    try:
        async with http_client(base_url, seconds, base_url=base_url, event_hooks=hooks) as http:
            client = AsyncTavilyClient(api_key, api_base_url=base_url, client=http)
            answer = await client.search(query, max_results=limit, timeout=seconds)
    except TavilyTimeoutError:
        raise TransientError(f"no whole answer from {host_of(base_url)} in time") from None
    return list(answer["results"])


async def _pass_results(api_key: str, query: str, response: "httpx.Response") -> None:
    """Raise our errors for answers without results: Tavily's client has no common error, and drops `Retry-After`."""
    await response.aread()
    refuse_if_busy("Tavily", response)
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        answer = None
    values = answer if isinstance(answer, dict) else {}
    if response.status_code != _OK:
        reason = _reason(values.get("detail")).replace(api_key, "…")
        raise SourceError(f"Tavily {_refusal(response.status_code, shorten(reason, 200), query)}")
    if not isinstance(values.get("results"), list):
        raise SourceError("Tavily answered with something else than results: check CONTEND_TAVILY_BASE_URL")


def _refusal(status: int, reason: str, query: str) -> str:
    match status:
        case 400:
            return f"refused the query {shorten(query, 100)!r}: {reason}"
        case 401:
            return "refused the key (HTTP 401): set TAVILY_API_KEY to a valid one"
        case 403:
            return f"does not allow this with the key's plan (HTTP 403: {reason}): use another key"
        case 432 | 433:
            return f"says that the plan is used up (HTTP {status}: {reason}): raise its limit or use another key"
    return f"refused (HTTP {status}: {reason}): check CONTEND_TAVILY_BASE_URL"


def _reason(detail: object) -> str:
    message = detail.get("error") if isinstance(detail, dict) else detail
    return (clean(message, single_line=True) if isinstance(message, str) else "") or "no reason given"
