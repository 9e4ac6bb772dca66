"""The sources that config/sources.toml names: each by its kind, or by a function of the user's own."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from contend.errors import InputError
from contend.registry import Function, Registry
from contend.settings import Settings, SourceConfig
from contend.sources.arxiv import ArxivSource
from contend.sources.by_function import FunctionSource
from contend.sources.local.documents import LocalDocuments
from contend.sources.source import Source
from contend.sources.tavily import TavilySource

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
    if entry.function is None:
        make = KINDS.get(entry.kind or name, where)
        if (entry.kind or name) != name:
            raise InputError(f"{where}: a source of kind {entry.kind!r} is named as its kind: [sources.{entry.kind}]")
        return partial(make, settings)
    if name in KINDS.entries:
        raise InputError(f"{where}: the name belongs to a source of contend's own; choose another for the function")
    return partial(_by_function, name, entry, load(entry.function))


def _by_function(name: str, entry: SourceConfig, function: Function, _: Sequence[Path]) -> Source:
    return FunctionSource(
        name,
        function,
        interval_seconds=entry.interval_seconds,
        deadline_seconds=entry.deadline_seconds,
        summarizes=entry.read_pages,
    )
