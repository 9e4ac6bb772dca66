"""Passages of many files under one index, searched with the documents that the first hits name."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contend.retrieval import Embedder, HybridIndex, default_embedder
from contend.sources.local_index import (
    IndexedFile,
    KeptIndex,
    LeftOut,
    LocalFile,
    index_file,
    kept_files,
    load_index,
    save_index,
    searchable,
)
from contend.sources.passages import DocumentSection, TextPiece
from contend.sources.readers.document import Unreadable, without_page
from contend.text import detect_language, terms

if TYPE_CHECKING:
    from contend.retrieval import Vectors


Progress = Callable[[int, int], None]
_RANKED = 50
_HITS_FOLLOWED = 5
_MENTIONS_FOLLOWED = 3
_BONUS = 0.6
_KEPT_SEARCHES = 256
_LEVELS = 2
_SHORTEST = {"en": 4, "ja": 2}
_AFTERTHOUGHT = re.compile(r"(?<!\s)\s*[(（][^()（）]*[)）]\s*\Z")
_SEMICOLON = re.compile("[;；]")


class PieceHit(NamedTuple):
    """A passage that was found, the section that it stands in, and how well it fits, 0.0 to 1.0."""

    file: IndexedFile
    piece: TextPiece
    section: DocumentSection
    score: float


class CatalogueEntry(NamedTuple):
    """A document as a planner sees it."""

    title: str
    url: str
    headings: list[str]
    """Those of its top two levels."""
    tokens: int
    """About as many as its sections take in a prompt."""
    published: str | None = None
    """YYYY-MM-DD, if known."""


class ReadingStopped(Exception):  # noqa: N818 - no error: nobody is there to be told
    """Reading stopped because nobody waits for it."""


class Library:
    """Reads files as they change, and searches them. Not for several threads at once."""

    def __init__(self, cache: Path | None = None, embedder: Embedder | None = None) -> None:
        self._cache = cache
        self._given_embedder = embedder
        self._files: dict[LocalFile, IndexedFile | LeftOut] = {}
        self._search: Callable[[str, int], list[PieceHit]] | None = None

    @cached_property
    def _embedder(self) -> Embedder:
        return self._given_embedder or default_embedder()

    def update(
        self,
        files: list[LocalFile],
        *,
        is_awaited: Callable[[], bool] = lambda: True,
        progress: Progress = lambda *_: None,
    ) -> list[LeftOut]:
        """Reads what is new or changed, forgets what is gone; returns what of them could not be read.

        `progress` is told after each file how many of how many were read.

        Raises:
            ReadingStopped: between two files nobody waited any more; what was read until then is kept.
        """
        if set(files) != set(self._files):
            before = load_index(self._cache, files, self._embedder) if self._cache and not self._files else None
            documents = self._unchanged(files, before)
            new = [file for file in files if file not in documents]
            for count, file in enumerate(new, start=1):
                if not is_awaited():
                    self._index(files, documents)
                    raise ReadingStopped
                documents[file] = _read(file, self._embedder)
                progress(count, len(new))
            self._files = {file: documents[file] for file in files}
            # A file that cannot be read is tried at each start, and stands in no index.
            is_same = before is not None and [*before.files] == [*_readable(self._files)]
            index = before.index if before and is_same else self._index(files, self._files)
            # All teams ask for the theme in each round, and what they plan to ask is often alike.
            library_index = _LibraryIndex([*_readable(self._files).values()], self._embedder, index)
            self._search = lru_cache(maxsize=_KEPT_SEARCHES)(library_index.search)
        return [reason for each in self._files.values() if (reason := _unread(each))]

    def _unchanged(self, files: list[LocalFile], index: KeptIndex | None) -> dict[LocalFile, IndexedFile | LeftOut]:
        """The files that were read before, by this process or by another one."""
        before: Mapping[LocalFile, IndexedFile | LeftOut] = index.files if index else self._files
        if not before and self._cache:
            before = kept_files(self._cache, self._embedder)
        return {file: before[file] for file in files if file in before}

    def _index(self, files: list[LocalFile], documents: Mapping[LocalFile, IndexedFile | LeftOut]) -> HybridIndex:
        """An index over what was read, which is kept."""
        import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

        readable = _readable(documents)
        texts = [text for file in readable.values() for text in searchable(file.title, file.pieces)]
        vectors = [self._embedder.embed([]), *(file.vectors for file in readable.values())]
        index = HybridIndex(texts, self._embedder, vectors=np.concatenate(vectors))
        if self._cache:
            save_index(self._cache, files, KeptIndex(readable, index), self._embedder)
        return index

    def sections(self) -> list[PieceHit]:
        """Every section of every document, in the order of the files."""
        return [
            PieceHit(each, each.pieces[each.sections.places.index(place)], section, 1.0)
            for each in _readable(self._files).values()
            for place, section in enumerate(each.sections.sections)
        ]

    def catalogue(self) -> list[CatalogueEntry]:
        return [
            CatalogueEntry(each.title, each.path.as_uri(), _top_headings(each), each.tokens, each.published)
            for each in _readable(self._files).values()
        ]

    def search(self, query: str, limit: int) -> list[PieceHit]:
        """At most `limit` sections, each by its best passage, best first.

        A document that one of the first hits names by its title moves up. Of a query with several subjects, parted by
        semicolons, each subject's best comes first, then each one's second.
        """
        if self._search is None:
            return []
        subjects = [subject for subject in _SEMICOLON.split(query) if subject.strip()] or [query]
        rows = zip_longest(*(self._search(subject, limit) for subject in subjects))
        best: dict[tuple[Path, DocumentSection], PieceHit] = {}
        for hit in (hit for row in rows for hit in row if hit):
            best.setdefault((hit.file.path, hit.section), hit)
        return list(best.values())[:limit]


class TitleMentions:
    """Finds which of the titles a text mentions. A title of several documents tells none of them."""

    def __init__(self, titles: Sequence[str]) -> None:
        names = [_AFTERTHOUGHT.sub("", title).casefold().strip() for title in titles]
        counts = Counter(names)
        self._titles = {
            name: place
            for place, name in enumerate(names)
            if counts[name] == 1 and len(name) >= _SHORTEST[detect_language(name)] and terms(name)
        }

    def in_text(self, text: str) -> list[int]:
        """The places of the titles that the text mentions as whole words, in order of mention."""
        lower = text.casefold()
        positions = [(_position(name, lower), place) for name, place in self._titles.items() if name in lower]
        return [place for position, place in sorted(positions) if position >= 0]


def _readable(documents: Mapping[LocalFile, IndexedFile | LeftOut]) -> dict[LocalFile, IndexedFile]:
    return {file: each for file, each in documents.items() if isinstance(each, IndexedFile)}


def _read(file: LocalFile, embedder: Embedder) -> IndexedFile | LeftOut:
    try:
        return index_file(file, embedder)
    except Unreadable as error:
        return LeftOut(file.path, str(error))
    except OSError as error:
        return LeftOut(file.path, f"cannot be opened: {error.strerror}")


def _unread(file: IndexedFile | LeftOut) -> LeftOut | None:
    if isinstance(file, LeftOut):
        return file
    return LeftOut(file.path, file.note) if file.note else None


def _top_headings(file: IndexedFile) -> list[str]:
    paths = dict.fromkeys(without_page(piece.heading) for piece in file.pieces)
    inner = (path.removeprefix(file.title).removeprefix(" › ") for path in paths)
    return list(dict.fromkeys(name for path in inner for name in path.split(" › ")[:_LEVELS] if name))


@dataclass(frozen=True)
class _LibraryIndex:
    """The library as of one update. A passage's place is its number over all files in turn."""

    files: list[IndexedFile]
    embedder: Embedder
    index: HybridIndex

    @cached_property
    def starts(self) -> list[int]:
        return [0, *accumulate(len(file.pieces) for file in self.files)]

    @cached_property
    def owners(self) -> list[int]:
        return [number for number, file in enumerate(self.files) for _ in file.pieces]

    @cached_property
    def titles(self) -> TitleMentions:
        return TitleMentions([file.title for file in self.files])

    def search(self, query: str, limit: int) -> list[PieceHit]:
        vector = self.embedder.embed([query])[0]
        hits = self.index.search(query, max(_RANKED, 3 * limit), vector=vector)
        own = {hit.index: hit.score for hit in hits}
        scores = own | self._mentioned(own, self.index.vectors @ vector)
        places = sorted(scores, key=lambda place: (-scores[place], -own.get(place, 0.0), place))
        best: dict[tuple[int, int], PieceHit] = {}
        for place in places:
            best.setdefault(self._section_place(place), self._hit(place, scores[place]))
            if len(best) == limit:
                break
        return list(best.values())

    def _section_place(self, place: int) -> tuple[int, int]:
        number = self.owners[place]
        return number, self.files[number].sections.places[place - self.starts[number]]

    def _mentioned(self, own: dict[int, float], cosines: "Vectors") -> dict[int, float]:
        """The best passage of each document that the first hits name, with its raised score.

        It rises up to the hit that names it, not above.
        """
        scores: dict[int, float] = {}
        for place, score in islice(own.items(), _HITS_FOLLOWED):
            for number in islice(self._mentions(place), _MENTIONS_FOLLOWED):
                passages = range(self.starts[number], self.starts[number + 1])
                best = max(passages, key=lambda each: (own.get(each, 0.0), float(cosines[each])))
                before = own.get(best, 0.0)
                scores[best] = max(scores.get(best, before), min(score, before + _BONUS * score))
        return scores

    def _mentions(self, place: int) -> Iterator[int]:
        text = self.files[self.owners[place]].pieces[place - self.starts[self.owners[place]]].text
        return (number for number in self.titles.in_text(text) if number != self.owners[place])

    def _hit(self, place: int, score: float) -> PieceHit:
        number, section = self._section_place(place)
        file = self.files[number]
        return PieceHit(file, file.pieces[place - self.starts[number]], file.sections.sections[section], score)


def _position(name: str, text: str) -> int:
    """Where the name stands as a word of its own; Japanese has no gaps between words, so that it stands anywhere."""
    if detect_language(name) == "ja":
        return text.find(name)
    match = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text)
    return match.start() if match else -1
