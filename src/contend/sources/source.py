"""The protocol of sources, how their answers become results, and sources by a user's function."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Protocol

from pydantic import ValidationError

from contend.errors import SourceError
from contend.extensions import SourceFunction
from contend.models.research import FoundPassage, SearchResult
from contend.registry import FunctionFailed, start_function
from contend.sources.calls import Queue, SharedAnswers, TransientError
from contend.text import clean, shorten

_logger = logging.getLogger(__name__)


class Source(Protocol):
    """A place to search. Adapters map their vendor's errors to SourceError.

    `summarizes`: its texts are summaries of documents elsewhere, and the best are read in full; else they are passages
    of documents.

    Every source can `search`. Local documents also `find` literal words and `read` sections by place; a source that
    `summarizes` gives pages whose sections `SourceSet.read_page` reads; any other can only search.
    """

    name: str
    summarizes: bool

    async def check(self) -> str | None:
        """None if the source can be used, else why it is off. Takes at most 3 seconds."""
        ...

    async def search(self, query: str, *, limit: int) -> list[FoundPassage]:
        """At most `limit` results, best first.

        Raises:
            SourceError: the source refused or failed.
        """
        ...


class AskedSource(ABC):
    """An external source. The same search within a quarter of an hour gets the same answer.

    `left_out`: the number of results without text or usable address.
    """

    name: str
    most_results = 200

    def __init__(self) -> None:
        self.left_out = 0
        self._answers: SharedAnswers[list[FoundPassage]] = SharedAnswers()

    async def search(self, query: str, *, limit: int) -> list[FoundPassage]:
        """At most `limit` results, best first.

        Raises:
            SourceError: the source refused, failed or gave no complete answer in time.
        """
        terms, most = self._terms(query), min(limit, self.most_results)
        if not terms or most < 1:
            return []
        return [*await self._answers.get((terms, most), partial(self._ask, terms, most))]

    def _terms(self, query: str) -> str:
        """The search terms to send; "" if there are none."""
        return clean(query, single_line=True)

    @abstractmethod
    async def _ask(self, terms: str, limit: int) -> list[FoundPassage]: ...

    def _usable(self, results: Sequence[FoundPassage | None]) -> list[FoundPassage]:
        usable = [each for each in results if each is not None]
        if count := len(results) - len(usable):
            self.left_out += count
            _logger.info("%s: %d of %d results had no text or address", self.name, count, len(results))
        return usable


_TITLE_CHARACTERS = 500
_SUMMARY_CHARACTERS = 2000
_TEXT_CHARACTERS = 20_000
_MOST_AUTHORS = 50
_MOST_CATEGORIES = 20


def found_passage(source: str, *, title: str, text: str, url: str, **facts: Any) -> FoundPassage | None:  # noqa: ANN401 - as below
    """A cleaned passage; None without text or usable web address.

    The text is cut at 20,000 characters; without a title the address is used. `facts`: other fields of SearchResult.
    """
    whole = clean(text).strip()
    address = clean(url).strip()
    if not whole or address.split() != [address]:
        return None
    try:
        result = SearchResult(
            title=shorten(clean(title, single_line=True) or address, _TITLE_CHARACTERS),
            summary=shorten(clean(whole, single_line=True), _SUMMARY_CHARACTERS),
            source=source,
            url=address,
            authors=_names(facts.pop("authors", ()), _MOST_AUTHORS),
            categories=_names(facts.pop("categories", ()), _MOST_CATEGORIES),
            **facts,
        )
    except ValidationError:
        return None
    return FoundPassage(result, shorten(whole, _TEXT_CHARACTERS))


def passage_of_item(source: str, item: object) -> FoundPassage | None:
    """A passage from a service's or function's `title`, `text`, `url`, `published_date`, `authors` and `score`."""
    if not isinstance(item, Mapping):
        return None
    title, text, url = (value if isinstance(value := item.get(key), str) else "" for key in ("title", "text", "url"))
    authors = item.get("authors")
    return found_passage(
        source,
        title=title,
        text=text,
        url=url,
        published_date=as_day(item.get("published_date")),
        authors=[name for name in authors if isinstance(name, str)] if isinstance(authors, list) else (),
        relevance_score=as_score(item.get("score")),
    )


def as_day(date: object) -> str | None:
    """A date in RFC 2822 or ISO 8601 format as YYYY-MM-DD; None for anything else."""
    if not isinstance(date, str):
        return None
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return parse(date.strip()).date().isoformat()
        except (ValueError, OverflowError):
            continue
    return None


def as_score(value: object) -> float | None:
    """A number cut to 0 to 1; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(min(max(value, 0), 1))


def _names(names: Sequence[str], most: int) -> list[str] | None:
    return [name for each in names if (name := clean(each, single_line=True))][:most] or None


class QueuedSource(AskedSource):
    """A source that is called once at a time; the deadline holds for a search and its repeats."""

    _who: str
    """Begins its errors."""

    def __init__(self, name: str, *, interval_seconds: float, deadline_seconds: float, read_pages: bool) -> None:
        super().__init__()
        self.name = name
        self.summarizes = read_pages
        self._queue = Queue(name, interval_seconds=interval_seconds, deadline_seconds=deadline_seconds)

    async def _ask(self, query: str, limit: int) -> list[FoundPassage]:
        items = await self._queue.call(partial(self._call, query, limit))
        if not isinstance(items, list | tuple):
            raise SourceError(f"{self._who} gave {shorten(repr(items), 80)}: return a list of results")
        return self._usable([passage_of_item(self.name, item) for item in items])[:limit]

    @abstractmethod
    def _call(self, query: str, limit: int, seconds: float) -> object:
        """A list of `{"title", "text", "url", "published_date", …}`, in the thread of the queue.

        Raises:
            TransientError: it may answer when it is asked again.
            SourceError: it refused or failed.
        """


class FunctionSource(QueuedSource):
    """Asks a function. One that raises an OSError, such as a ConnectionError, is asked again."""

    def __init__(self, own: SourceFunction[Any]) -> None:
        super().__init__(
            own.name,
            interval_seconds=own.interval_seconds,
            deadline_seconds=own.deadline_seconds,
            read_pages=own.read_pages,
        )
        self._own = own
        self._who = f"the function of source {own.name}"

    async def check(self) -> str | None:
        """None: the function was loaded, and only a search can show more."""
        return None

    def _call(self, query: str, limit: int, seconds: float) -> object:
        try:
            return start_function(self._own.function, query, limit).result(seconds)
        except FunctionFailed as error:
            raise (TransientError if error.passing else SourceError)(f"{self._who} {error}") from error
        except TimeoutError as error:
            raise SourceError(f"{self._who} was not done within {self._own.deadline_seconds:g} s") from error
