"""A source by a function of the user's own."""

from functools import partial

from contend.errors import SourceError
from contend.models.research import Found
from contend.registry import Function, FunctionFailed, start_function
from contend.settings import SourceConfig
from contend.sources.source import AskedSource, item_found
from contend.sources.throttle import Queue, TransientError
from contend.text import shorten


class FunctionSource(AskedSource):
    """Asks `function(query, limit)`, plain or async, for a list of `{"title", "text", "url", "published_date", …}`.

    One call at a time; the entry's deadline holds for a search and its repeats. A function that raises an OSError, such
    as a ConnectionError, is asked again.
    """

    def __init__(self, name: str, entry: SourceConfig, function: Function) -> None:
        super().__init__()
        self.name = name
        self.summarizes = entry.read_pages
        self._entry = entry
        self._function = function
        self._queue = Queue(name, interval_seconds=entry.interval_seconds, deadline_seconds=entry.deadline_seconds)

    async def check(self) -> str | None:
        """None: the function was found, and only a search tells more."""
        return None

    async def _ask(self, query: str, limit: int) -> list[Found]:
        items = await self._queue.call(partial(self._call, query, limit))
        if not isinstance(items, list):
            excerpt = shorten(repr(items), 80)
            raise SourceError(f"the function of source {self.name} gave {excerpt}: return a list of results")
        return self._usable([item_found(self.name, item) for item in items])[:limit]

    def _call(self, query: str, limit: int, seconds: float) -> object:
        who = f"the function of source {self.name}"
        try:
            return start_function(self._function, query, limit).result(seconds)
        except FunctionFailed as error:
            raise (TransientError if error.passing else SourceError)(f"{who} {error}") from error
        except TimeoutError as error:
            raise SourceError(f"{who} was not done within {self._entry.deadline_seconds:g} s") from error
