"""Pages from the web, by Tavily's search."""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from contend.errors import SourceError
from contend.models.research import Found
from contend.sources.address import checked_address, why_unreachable
from contend.sources.manners import Patience, SharedAnswers, TransientError
from contend.sources.mapping import as_found
from contend.text import clean, shorten

TAVILY_URL = "https://api.tavily.com"
_QUERY_CHARACTERS = 400
_MOST_RESULTS = 20
_logger = logging.getLogger(__name__)


class TavilySource:
    """Web search by Tavily; off without a key, though the service has a mode without.

    `deadline_seconds` holds for a search and its repeats, the first of them after `retry_wait_seconds`. Whoever
    searches for the same within a quarter of an hour gets the same answer. `left_out` counts results without text or
    a usable address.
    """

    name = "tavily"
    summarizes = True

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None = None,
        *,
        deadline_seconds: float = 30.0,
        retry_wait_seconds: float = 1.0,
    ) -> None:
        self._key = (api_key or "").strip()
        self._base_url = checked_address(base_url or TAVILY_URL, "CONTEND_TAVILY_BASE_URL")
        self._deadline = deadline_seconds
        self._retry_wait = retry_wait_seconds
        self._answers: SharedAnswers[list[Found]] = SharedAnswers()
        self.left_out = 0

    async def check(self) -> str | None:
        """None if there is a key and a connection to Tavily opens, else why not; within 3 seconds."""
        return self._fault_of_key() or await why_unreachable(self._base_url)

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """At most `limit` pages (and 20), best first; of the query the first 400 characters count.

        Raises:
            SourceError: no usable key, or Tavily refused, failed or gave no whole answer in time.
        """
        if fault := self._fault_of_key():
            raise SourceError(fault)
        asked = shorten(clean(query, single_line=True), _QUERY_CHARACTERS)
        if not asked or limit < 1:
            return []
        most = min(limit, _MOST_RESULTS)
        return [*await self._answers.get((asked, most), partial(self._ask, asked, most))]

    def _fault_of_key(self) -> str | None:
        if not self._key:
            return "TAVILY_API_KEY is not set"
        if not (self._key.isascii() and self._key.isprintable()):
            return "TAVILY_API_KEY holds characters that no key has: copy it again"
        return None

    async def _ask(self, asked: str, limit: int) -> list[Found]:
        search = await asyncio.to_thread(_search_by_wire)
        patience = Patience(self._deadline, first_wait_seconds=self._retry_wait)
        while True:
            try:
                items = await search(self._base_url, self._key, asked, limit=limit, seconds=patience.left)
            except TransientError as error:
                await asyncio.sleep(patience.wait_after(error))
            else:
                return self._usable(items[:limit])

    def _usable(self, items: list[Any]) -> list[Found]:
        usable = [found for item in items if isinstance(item, dict) and (found := _as_found(item))]
        self.left_out += len(items) - len(usable)
        if len(items) > len(usable):
            _logger.info("Tavily: %d of %d results had no text or address", len(items) - len(usable), len(items))
        return usable


def _search_by_wire() -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """Loaded off the event loop, certificates too."""
    from contend.sources.certificates import certificates  # noqa: PLC0415 - heavy
    from contend.sources.tavily_wire import search  # noqa: PLC0415 - heavy

    certificates()
    return search


def _as_found(item: Mapping[str, Any]) -> Found | None:
    title, content, url = (item.get(name) for name in ("title", "content", "url"))
    return as_found(
        "tavily",
        title=title if isinstance(title, str) else "",
        text=content if isinstance(content, str) else "",
        url=url if isinstance(url, str) else "",
        published_date=as_day(item.get("published_date")),
        relevance_score=as_score(item.get("score")),
    )


def as_day(written: object) -> str | None:
    """YYYY-MM-DD of a date as mail (RFC 2822) or ISO 8601 writes it; None of anything else."""
    if not isinstance(written, str):
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return read(written.strip()).date().isoformat()
        except (ValueError, OverflowError):
            continue
    return None


def as_score(given: object) -> float | None:
    """0 to 1, cut off beyond; None of what is not a number."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given):
        return None
    return float(min(max(given, 0), 1))
