"""The sources that config/sources.toml names: each by its kind, or by a function of the user's own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from contend.errors import InputError, SourceError
from contend.models.research import Found
from contend.registry import Function, FunctionFailed, Registry, start_function
from contend.settings import Settings, SourceConfig
from contend.sources.arxiv import ArxivSource
from contend.sources.local.documents import LocalDocuments
from contend.sources.mcp import McpTool
from contend.sources.source import AskedSource, Source, item_found
from contend.sources.tavily import TavilySource
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
        self._queue = Queue(name)

    async def check(self) -> str | None:
        """None: the function was found, and only a search tells more."""
        return None

    async def _ask(self, query: str, limit: int) -> list[Found]:
        interval, deadline = self._entry.interval_seconds, self._entry.deadline_seconds
        attempt = partial(self._call, query, limit)
        items = await self._queue.call(attempt, interval_seconds=interval, deadline_seconds=deadline)
        if not isinstance(items, list):
            shown = shorten(repr(items), 80)
            raise SourceError(f"the function of source {self.name} gave {shown}: return a list of results")
        return self._usable([item_found(self.name, item) for item in items])[:limit]

    def _call(self, query: str, limit: int, seconds: float) -> object:
        who = f"the function of source {self.name}"
        try:
            return start_function(self._function, query, limit).result(seconds)
        except FunctionFailed as error:
            raise (TransientError if error.passing else SourceError)(f"{who} {error}") from error
        except TimeoutError as error:
            raise SourceError(f"{who} was not done within {self._entry.deadline_seconds:g} s") from error


class McpSource(FunctionSource):
    """Asks a tool of an MCP server, as a function is asked."""

    def __init__(self, name: str, entry: SourceConfig, tool: McpTool) -> None:
        super().__init__(name, entry, tool.search)
        self._tool = tool

    async def check(self) -> str | None:
        return await self._tool.check()

    def _call(self, query: str, limit: int, seconds: float) -> object:
        # A loop of its own, which has ended the server's process when it ends.
        return asyncio.run(self._tool.search(query, limit, seconds))


SourceFactory = Callable[[Sequence[Path]], Source]
"""Makes a source for a run with these documents."""


def _local(settings: Settings, paths: Sequence[Path]) -> Source:
    return LocalDocuments(paths, cache=settings.folder / "documents" / "index")


def _arxiv(settings: Settings, _: Sequence[Path]) -> Source:
    return ArxivSource(settings.arxiv_base_url)


def _tavily(settings: Settings, _: Sequence[Path]) -> Source:
    return TavilySource(settings.tavily_key, settings.tavily_base_url)


KINDS: Registry[Callable[[Settings, Sequence[Path]], Source]] = Registry(
    "kind of source", {"local": _local, "arxiv": _arxiv, "tavily": _tavily}
)
"""What `kind` of an entry in `[sources]` may be; each is named as its kind is."""


def source_factories(
    sources: Mapping[str, SourceConfig], settings: Settings, load: Callable[[str], Function]
) -> dict[str, SourceFactory]:
    """What makes each source. Blocking: `load` gives the functions that `module:function` names.

    Raises:
        InputError: an entry names a kind that is none or a function that cannot be loaded, or its name is a kind's.
    """
    return {name: _factory(name, entry, settings, load) for name, entry in sources.items()}


def _factory(name: str, entry: SourceConfig, settings: Settings, load: Callable[[str], Function]) -> SourceFactory:
    where = f"config/sources.toml [sources.{name}]"
    if name in KINDS.entries and (entry.function or entry.kind == "mcp"):
        raise InputError(f"{where}: the name belongs to a source of contend's own; choose another")
    if entry.kind == "mcp":
        source = McpSource(name, entry, McpTool(name, entry, where, settings.folder))
        return lambda _: source
    if entry.function is None:
        make = KINDS.get(entry.kind or name, where)
        if (entry.kind or name) != name:
            raise InputError(f"{where}: a source of kind {entry.kind!r} is named as its kind: [sources.{entry.kind}]")
        return partial(make, settings)
    return partial(_by_function, name, entry, load(entry.function))


def _by_function(name: str, entry: SourceConfig, function: Function, _: Sequence[Path]) -> Source:
    return FunctionSource(name, entry, function)
