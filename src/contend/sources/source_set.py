"""The sources of a process, and pages and papers in full.

Each source is created once, local documents once for their paths, and a page is fetched once for all teams.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from contend.errors import InputError, SourceError
from contend.extensions import SourceFunction, source_in_file
from contend.models.events import DocumentsLeftOut, DocumentsRead, Event
from contend.models.record import Language
from contend.models.research import FoundPassage, SearchResult
from contend.registry import Registry
from contend.retrieval import HybridIndex
from contend.settings import Settings, environment_options, secret_text
from contend.settings.files import SourceConfig
from contend.sources.arxiv import ArxivSource
from contend.sources.calls import SharedAnswers
from contend.sources.catalogue import CatalogueEntry
from contend.sources.local import LocalDocuments, index_folder
from contend.sources.mcp import McpSource
from contend.sources.passages import DocumentSection, TextPiece, sections_between, sections_of, split_passages
from contend.sources.readers.document import Unreadable, decode, without_page
from contend.sources.readers.html import LARGE_PAGE, read_web_page
from contend.sources.readers.process import read_apart
from contend.sources.source import FunctionSource, Source
from contend.sources.tavily import TavilySource
from contend.text import canonical_url, clean, shorten

if TYPE_CHECKING:
    from contend.sources.fetch import FetchedPage, Fetcher, Network

_NEAREST_HITS = 200
_RUNS_AT_ONCE = 1_000
_PAGE_SECONDS = 60.0
_PDF_PAGES = 200
_READING_SECONDS = 25.0
_PAGE_CHARACTERS = 200_000
_LEAST_PAGE_CHARACTERS = 60
"""Pages with less text are rejected: those that only ask for JavaScript have under 50 characters."""
_MOST_CACHED_PAGES = 64


@dataclass(frozen=True)
class FullText:
    """A document's passages and their index."""

    pieces: list[TextPiece]
    index: HybridIndex

    @classmethod
    def of(cls, markdown: str) -> "FullText":
        pieces = split_passages(markdown)
        return cls(pieces, HybridIndex([f"{without_page(piece.heading)}\n{piece.text}" for piece in pieces]))

    def nearest(self, question: str, limit: int) -> list[TextPiece]:
        """At most `limit` passages, best first."""
        return [self.pieces[hit.index] for hit in self.index.search(question, limit)]

    @cached_property
    def sections(self) -> list[DocumentSection]:
        """Its sections, in order."""
        return sections_of(self.pieces)

    @cached_property
    def characters(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)


@dataclass(eq=False)
class FullTexts:
    """Reads pages and papers, and caches them and failures for a quarter of an hour.

    Pages come only from public addresses and `allowed_networks`; arXiv's papers wait for their turn.
    `deadline_seconds`: for a document, with the wait for its turn.
    """

    arxiv: ArxivSource
    allowed_networks: Sequence["Network"] = field(default=(), kw_only=True)
    deadline_seconds: float = field(default=_PAGE_SECONDS, kw_only=True)

    def __post_init__(self) -> None:
        self._answers: SharedAnswers[FullText | str] = SharedAnswers(most=_MOST_CACHED_PAGES)
        # Few threads: a page takes a second of work, and the event loop's default threads stay free.
        self._workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="contend-pages")

    async def read(self, url: str) -> FullText:
        """The document at a result's address.

        Raises:
            SourceError: it cannot be read; the message is the reason, without the address.
        """
        answer = await self._answers.get(canonical_url(url), partial(self._document, url))
        if isinstance(answer, str):
            raise SourceError(answer)
        return answer

    async def _document(self, url: str) -> FullText | str:
        """The document, or why it cannot be read."""
        try:
            async with asyncio.timeout(self.deadline_seconds):
                page = await self._fetch(url)
                return await asyncio.get_running_loop().run_in_executor(self._workers, _read, page, url)
        except TimeoutError:
            return f"not read within {self.deadline_seconds:g} s"
        except (Unreadable, SourceError) as error:
            return str(error)

    async def _fetch(self, url: str) -> "FetchedPage":
        fetcher = await asyncio.to_thread(lambda: self._fetcher)
        paper = self.arxiv.pdf_of(url)
        if paper is None:
            return await fetcher.get(url)
        return await self.arxiv.in_turn(lambda: asyncio.run(fetcher.get(paper)))

    @cached_property
    def _fetcher(self) -> "Fetcher":
        from contend.sources.fetch import Fetcher, Guard  # noqa: PLC0415 - heavy, loaded off the event loop

        return Fetcher(Guard(self.allowed_networks))


def _read(page: "FetchedPage", url: str) -> FullText:
    text = clean(_markdown(page, url))[:_PAGE_CHARACTERS]
    if not text.strip():
        raise Unreadable("no text in it")
    if page.kind == "html" and len(text) < _LEAST_PAGE_CHARACTERS:
        raise Unreadable("almost no text in it: it may show more in a browser with JavaScript")
    return FullText.of(text)


def _markdown(page: "FetchedPage", url: str) -> str:
    if page.kind == "pdf":
        return read_apart(".pdf", page.body, Path(url), most_pages=_PDF_PAGES, most_seconds=_READING_SECONDS).text
    if page.kind == "text":
        return decode(page.body, declared_encoding=page.charset)
    if len(page.body) > LARGE_PAGE:
        return read_apart("web", page.body, Path(url), charset=page.charset, most_seconds=_READING_SECONDS).text
    return read_web_page(page.body, page.charset)


SourceFactory = Callable[[Sequence[Path]], Source]
"""Creates a source for a run with these documents."""

KINDS: Registry[Callable[[Settings, Sequence[Path]], Source]] = Registry(
    "kind of source",
    {
        "local": lambda settings, paths: LocalDocuments(paths, cache=index_folder(settings.folder)),
        "arxiv": lambda settings, _: ArxivSource(settings.arxiv_base_url),
        "tavily": lambda settings, _: TavilySource(secret_text(settings.tavily_api_key), settings.tavily_base_url),
    },
)
"""Values of `kind` in `[sources]`; each entry has the name of its kind."""


@dataclass(eq=False, repr=False)
class SourceSet:
    """The sources of config/sources.toml by name. `own_documents`: those of the workspace's options.

    `tell` publishes an event; `language_of` gives an execution's language. `served`: runs come from clients, which may
    not read all files of this process. Blocking: `load` gives what `module:attribute` names.

    Raises:
        InputError: an entry has an unknown kind, a function that cannot be loaded, or the name of a kind.
    """

    sources: InitVar[Mapping[str, SourceConfig]]
    settings: Settings
    load: InitVar[Callable[[str], object]]
    own_documents: Sequence[str] = field(kw_only=True)
    served: bool = field(kw_only=True)
    tell: Callable[[Event], None] = field(kw_only=True)
    language_of: Callable[[str], Language] = field(kw_only=True)

    def __post_init__(self, sources: Mapping[str, SourceConfig], load: Callable[[str], object]) -> None:
        self.factories = {name: _factory(name, entry, self.settings, load) for name, entry in sources.items()}
        self._told_left_out: deque[str] = deque(maxlen=_RUNS_AT_ONCE)
        self._sources: dict[tuple[str, tuple[str, ...]], Source] = {}

    def extended(self, own: Mapping[str, SourceFunction[Any]]) -> "SourceSet":
        """A copy with more sources; this set stays as it is."""
        more = copy(self)
        more.factories = self.factories | {name: _factory_of(each) for name, each in own.items()}
        more._sources = {**self._sources}  # noqa: SLF001 - a copy of its own
        return more

    def get(self, name: str, documents: Sequence[str]) -> Source:
        """A source by name, local documents also by their paths, so that runs share an index. Blocking.

        Raises:
            InputError: no source has this name, or a document path does not exist or may not be read.
        """
        if name not in self.factories:
            raise InputError(f"sources: no source {name!r}; choose from {', '.join(self.factories)}")
        key = _key(name, documents)
        if key not in self._sources:
            self._sources.setdefault(key, self.factories[name]([*map(self._locate, documents)]))
        return self._sources[key]

    def _locate(self, document: str) -> Path:
        """The path of a document; on a server only within folders that its operator allows.

        Raises:
            InputError: it is outside of them; does not say whether it exists.
        """
        path = self.settings.locate(document)
        if self.served and not any(path.resolve().is_relative_to(folder) for folder in self._served_folders):
            raise InputError(
                f"documents: this server may not read {shorten(clean(document, single_line=True), 200)}: name files or "
                "folders of its workspace, or have the folder listed in its CONTEND_SERVED_FOLDERS"
            )
        return path

    @cached_property
    def _served_folders(self) -> list[Path]:
        """The workspace, the folders that the operator allows, and the documents of the operator's options."""
        own = [*(environment_options().documents or []), *self.own_documents]
        paths = [self.settings.locate(path) for path in [*self.settings.served_folders, *own]]
        return [folder.resolve() for folder in [self.settings.folder, *paths]]

    async def paths(self, documents: Sequence[str]) -> list[Path]:
        """The resolved paths of a run's documents, to name what was found in them."""
        # In a thread, here and below: LangGraph's server forbids blocking calls on its event loop.
        return await asyncio.to_thread(lambda: [self.settings.locate(each).resolve() for each in documents])

    async def ready(self, name: str, documents: Sequence[str], execution_id: str) -> Source:
        """A source that is ready to search. Events report its progress if it has to read many documents first.

        Another event lists the documents left out, once per run.

        Raises:
            InputError: as `get` does.
        """
        source = self._sources.get(_key(name, documents))
        if source is None:
            source = await asyncio.to_thread(self.get, name, documents)
        if isinstance(source, LocalDocuments):
            await source.read_all(
                lambda count, files: self.tell(DocumentsRead(execution_id=execution_id, read=count, files=files))
            )
            if source.left_out and execution_id not in self._told_left_out:
                self._told_left_out.append(execution_id)
                files = source.left_out_lines(self.language_of(execution_id))
                self.tell(DocumentsLeftOut(execution_id=execution_id, files=files))
        return source

    async def _own(self, documents: Sequence[str], execution_id: str) -> LocalDocuments:
        return cast("LocalDocuments", await self.ready("local", documents, execution_id))

    async def catalogue(self, documents: Sequence[str], execution_id: str) -> list[CatalogueEntry]:
        """The own documents, as planners see them."""
        return await (await self._own(documents, execution_id)).catalogue()

    async def corpus_tokens(self, documents: Sequence[str]) -> int:
        """Total tokens of the own documents. Reads them outside a run, and writes nothing.

        Raises:
            InputError: a document path does not exist or may not be read.
        """
        source = await asyncio.to_thread(lambda: LocalDocuments([*map(self._locate, documents)]))
        await source.read_all()
        return sum(entry.tokens for entry in await source.catalogue())

    async def nearest(self, documents: Sequence[str], execution_id: str, query: str) -> list[str]:
        """Addresses of the own documents that answer a query, best first."""
        source = await self.ready("local", documents, execution_id)
        return list(dict.fromkeys(hit.result.url for hit in await source.search(query, limit=_NEAREST_HITS)))

    async def whole(self, documents: Sequence[str], execution_id: str, most_tokens: int) -> list[FoundPassage]:
        """All sections of the own documents in order; none if they have more than `most_tokens` together."""
        return await (await self._own(documents, execution_id)).whole(most_tokens)

    async def find(
        self, documents: Sequence[str], execution_id: str, words: str, *, limit: int
    ) -> tuple[list[FoundPassage], int]:
        """At most `limit` sections of the own documents that contain the words, and the number of all such sections."""
        return await (await self._own(documents, execution_id)).find(words, limit=limit)

    async def read(
        self, documents: Sequence[str], execution_id: str, url: str, first: int, last: int
    ) -> list[FoundPassage]:
        """The sections `first` to `last` of an own document, counted from 1.

        Raises:
            SourceError: no own document has this address.
        """
        return await (await self._own(documents, execution_id)).read(url, first, last)

    async def read_page(self, result: SearchResult, first: int, last: int) -> list[FoundPassage]:
        """The sections `first` to `last` of a page or paper that a search found, counted from 1.

        Raises:
            SourceError: it cannot be read; the message is the reason, without the address.
        """
        page = await self.full_texts.read(result.url)
        sections = sections_between(page.sections, first, last)
        return [FoundPassage(result, each.text, each.heading, each.place) for each in sections]

    @cached_property
    def full_texts(self) -> FullTexts:
        """Pages and papers in full, shared by all teams."""
        settings = self.settings
        return FullTexts(ArxivSource(settings.arxiv_base_url), allowed_networks=settings.fetch_allow)

    async def left_out(self, documents: Sequence[str], *, read: bool, language: Language = "en") -> list[str]:
        """The documents left out, one line per reason. Without `read`, only what a listing shows."""
        try:
            source = cast("LocalDocuments", await asyncio.to_thread(self.get, "local", documents))
        except InputError as error:  # they were removed after the run began
            return [str(error)]
        if read:
            await source.read_all()
        return source.left_out_lines(language)


def _key(name: str, documents: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    return name, tuple(documents) if name == "local" else ()


def _factory(name: str, entry: SourceConfig, settings: Settings, load: Callable[[str], object]) -> SourceFactory:
    where = f"config/sources.toml [sources.{name}]"
    if name in KINDS.entries and (entry.function or entry.kind == "mcp"):
        raise InputError(f"{where}: the name belongs to a source of contend's own; choose another")
    if entry.kind == "mcp":
        source = McpSource(name, entry, where, settings.folder)
        return lambda _: source
    if entry.function is None:
        make = KINDS.get(entry.kind or name, where)
        if (entry.kind or name) != name:
            raise InputError(f"{where}: a source of kind {entry.kind!r} is named as its kind: [sources.{entry.kind}]")
        return partial(make, settings)
    return _factory_of(source_in_file(load(entry.function), name, entry))


def _factory_of(own: SourceFunction[Any]) -> SourceFactory:
    return lambda _: FunctionSource(own)
