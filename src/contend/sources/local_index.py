"""The index of local documents: read, split and embedded once, and kept on disk; changed files are indexed again.

A search also considers documents that its first hits mention by title.
"""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate, islice, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from contend.errors import StoreUnwritable
from contend.models.research import FoundPassage, SearchResult
from contend.retrieval import Embedder, HybridIndex
from contend.sources.catalogue import CatalogueEntry, below_title, headings_of
from contend.sources.literal import ComparableText, LiteralWords
from contend.sources.passages import (
    DocumentSection,
    SectionSize,
    TextPiece,
    section_sizes,
    sections_between,
    sections_of,
    split_passages,
)
from contend.sources.readers import read_document
from contend.sources.readers.document import Document, Unreadable, without_page
from contend.sources.titles import titles_among
from contend.stores import write_file
from contend.text import clean, detect_language, shorten, terms

if TYPE_CHECKING:
    from contend.retrieval import Vectors

_FORMAT = "15"
_MOST_INDEXES = 8
"""Cached indexes, of different folders or of one folder at different times."""
_LEAST_HITS = 50
_SUMMARY_CHARACTERS = 500
# Mentioned titles are followed for questions that need two documents. In benchmarks/reading_npm.toml, where each fact
# needs one document, a bonus of 0.3 loses one fact of 40 in 8,000 tokens, 0.9 wins one, and 2 or 10 hits lose none.
_MOST_NAMING_HITS = 5
_MOST_MENTIONS = 3
_BONUS = 0.6
_KEPT_SEARCHES = 256
_SHORTEST = {"en": 4, "ja": 2}
_AFTERTHOUGHT = re.compile(r"(?<!\s)\s*[(（][^()（）]*[)）]\s*\Z")
_KINDS_OF_PLACES = 4
_SEMICOLON = re.compile("[;；]")


class LocalFile(NamedTuple):
    """A file, with what changes when the file does."""

    path: Path
    modified_ns: int
    size: int


@dataclass(frozen=True)
class IndexedFile:
    """A document's passages, and a vector for each."""

    path: Path
    title: str
    pieces: list[TextPiece]
    vectors: "Vectors"
    note: str = ""
    """What was not read."""
    published: str | None = None
    """Its date as YYYY-MM-DD, if known."""
    sizes: Sequence[SectionSize] = ()
    """The sizes of its sections."""

    @property
    def tokens(self) -> int:
        """Estimated tokens of its sections."""
        return sum(tokens for _, tokens in self.sizes)

    @cached_property
    def sections(self) -> list[DocumentSection]:
        """Its sections, in order."""
        return sections_of(self.pieces, self.sizes or None)

    @cached_property
    def section_of(self) -> list[DocumentSection]:
        """The section of each passage."""
        return [section for section in self.sections for _ in section.passages]

    @cached_property
    def comparable_sections(self) -> list[tuple[ComparableText, ComparableText]]:
        """For each section its headings, with the title at the first, and its text with them."""
        headings: list[list[str]] = [[] for _ in self.sections]
        headings[0].append(self.title)
        for heading in headings_of(self.sections, self.title):
            headings[heading.section - 1].append(heading.path.rpartition(" › ")[2])
        return [
            (ComparableText.of("\n".join(own)), ComparableText.of("\n".join([*own, section.text])))
            for own, section in zip(headings, self.sections, strict=True)
        ]


def _searchable(title: str, pieces: Sequence[TextPiece]) -> list[str]:
    """Each passage below its title and headings, which are searched but not quoted."""
    headings = [below_title(without_page(piece.heading), title) for piece in pieces]
    tops = [f"{title} › {heading}" if heading else title for heading in headings]
    return [f"{top}\n{piece.text}" for top, piece in zip(tops, pieces, strict=True)]


def index_file(file: LocalFile, embedder: Embedder) -> IndexedFile:
    """The file's passages and vectors; for an unreadable file none, with the reason as note."""
    import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

    try:
        document = read_document(file.path)
    except Unreadable as error:
        document = Document("", "", note=str(error))
    except OSError as error:
        document = Document("", "", note=f"cannot be opened: {error.strerror}")
    pieces = split_passages(document.text)
    vectors = embedder.embed(_searchable(document.title, pieces))
    return IndexedFile(
        file.path,
        document.title,
        pieces,
        # In half precision, as in the cache: results are the same whether the file was read now or before.
        vectors.astype(np.float16).astype(np.float32),
        document.note,
        document.published,
        section_sizes(pieces),
    )


class TitleMentions:
    """Finds the titles that a text mentions. A title shared by several documents is ignored."""

    def __init__(self, titles: Sequence[str]) -> None:
        names = [_AFTERTHOUGHT.sub("", title).casefold().strip() for title in titles]
        counts = Counter(names)
        self._titles = {
            name: place
            for place, name in enumerate(names)
            if counts[name] == 1 and len(name) >= _SHORTEST[detect_language(name)] and terms(name)
        }

    def in_text(self, text: str) -> list[int]:
        """The numbers of the titles that the text mentions as whole words, in order of mention."""
        lower = text.casefold()
        positions = [(_position(name, lower), place) for name, place in self._titles.items() if name in lower]
        return [place for position, place in sorted(positions) if position >= 0]


@dataclass(frozen=True)
class LocalIndex:
    """The readable files, and the index of their passages; a passage's place is its number over all files."""

    files: Mapping[LocalFile, IndexedFile]
    embedder: Embedder
    index: HybridIndex

    @classmethod
    def over(cls, files: Mapping[LocalFile, IndexedFile], embedder: Embedder) -> Self:
        import numpy as np  # noqa: PLC0415 - heavy, and not needed to start the command line

        texts = [text for file in _titled([*files.values()]) for text in _searchable(file.title, file.pieces)]
        vectors = [embedder.embed([]), *(file.vectors for file in files.values())]
        return cls(files, embedder, HybridIndex(texts, embedder, vectors=np.concatenate(vectors)))

    def whole(self) -> list[FoundPassage]:
        """All sections of all documents, in the order of the files."""
        return [each for file in self.documents for each in self._sections(file, 1, len(file.sections))]

    def read(self, url: str, first: int, last: int) -> list[FoundPassage]:
        """The sections of a document by place, in order; none if the document is unknown."""
        return self._sections(self._by_url[url], first, last) if url in self._by_url else []

    def find(self, words: str, limit: int) -> tuple[list[FoundPassage], int]:
        """At most `limit` sections that contain the words, and the number of all such sections.

        First those with the words in a heading, then those with a line that starts with them, as a definition does,
        then the others, last those with the words only within other words. Within each kind every document's first come
        in the order of the files, then every document's second.
        """
        literal = LiteralWords(words)
        if not literal:
            return [], 0
        hits = sorted(
            (kind, rank, number, place)
            for number, file in enumerate(self.documents)
            for kind, places in enumerate(_literal_places(file, literal))
            for rank, place in enumerate(places)
        )
        passages = (self._sections(self.documents[number], place, place) for *_, number, place in hits[:limit])
        return [passage for (passage,) in passages], len(hits)

    @cached_property
    def catalogue(self) -> tuple[CatalogueEntry, ...]:
        return tuple(
            CatalogueEntry(
                number,
                self.title_of(each),
                each.path.as_uri(),
                headings_of(each.sections, each.title),
                each.tokens,
                len(each.sections),
                each.published,
            )
            for number, each in enumerate(self.documents, start=1)
        )

    def title_of(self, file: IndexedFile) -> str:
        """The file's title, with its name if another document has the same title."""
        is_one_of_several = self._title_counts[file.title] > 1
        return f"{file.title} ({file.path.name})" if is_one_of_several else file.title

    def search(self, query: str, limit: int) -> list[FoundPassage]:
        """At most `limit` sections, ranked by their best passage.

        A document whose title one of the first hits mentions moves up. For a query of several subjects, separated by
        semicolons, each subject's best section comes first, then each one's second.
        """
        subjects = [subject for subject in _SEMICOLON.split(query) if subject.strip()] or [query]
        rows = zip_longest(*(self._cached_search(subject, limit) for subject in subjects))
        best: dict[tuple[str, int], FoundPassage] = {}
        for hit in (hit for row in rows for hit in row if hit):
            best.setdefault((hit.result.url, hit.place), hit)
        return list(best.values())[:limit]

    @cached_property
    def documents(self) -> list[IndexedFile]:
        """The files in order, with their titles adjusted to each other."""
        return _titled([*self.files.values()])

    @cached_property
    def _by_url(self) -> dict[str, IndexedFile]:
        return {file.path.as_uri(): file for file in self.documents}

    @cached_property
    def _cached_search(self) -> Callable[[str, int], list[FoundPassage]]:
        # All teams search for the question in each round, and often for similar things.
        return lru_cache(maxsize=_KEPT_SEARCHES)(self._of_subject)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(file.pieces) for file in self.documents)]

    @cached_property
    def _owners(self) -> list[int]:
        return [number for number, file in enumerate(self.documents) for _ in file.pieces]

    @cached_property
    def _title_counts(self) -> Counter[str]:
        return Counter(file.title for file in self.documents)

    @cached_property
    def _titles(self) -> TitleMentions:
        return TitleMentions([file.title for file in self.documents])

    def _of_subject(self, query: str, limit: int) -> list[FoundPassage]:
        vector = self.embedder.embed([query])[0]
        hits = self.index.search(query, max(_LEAST_HITS, 3 * limit), vector=vector)
        own = {hit.index: hit.score for hit in hits}
        scores = own | self._scores_of_mentions(own, self.index.vectors @ vector)
        places = sorted(scores, key=lambda place: (-scores[place], -own.get(place, 0.0), place))
        best: dict[tuple[int, int], FoundPassage] = {}
        for place in places:
            number = self._owners[place]
            file, passage = self.documents[number], place - self._starts[number]
            section = file.section_of[passage]
            if (number, section.place) not in best:
                best[number, section.place] = self._passage(file, file.pieces[passage], section, scores[place])
            if len(best) == limit:
                break
        return list(best.values())

    def _scores_of_mentions(self, own: dict[int, float], cosines: "Vectors") -> dict[int, float]:
        """The best passage of each document that the first hits mention, with its raised score.

        The score rises at most to that of the mentioning hit.
        """
        scores: dict[int, float] = {}
        for place, score in islice(own.items(), _MOST_NAMING_HITS):
            for number in islice(self._mentions(place), _MOST_MENTIONS):
                passages = range(self._starts[number], self._starts[number + 1])
                best = max(passages, key=lambda each: (own.get(each, 0.0), float(cosines[each])))
                before = own.get(best, 0.0)
                scores[best] = max(scores.get(best, before), min(score, before + _BONUS * score))
        return scores

    def _mentions(self, place: int) -> Iterator[int]:
        text = self.documents[self._owners[place]].pieces[place - self._starts[self._owners[place]]].text
        return (number for number in self._titles.in_text(text) if number != self._owners[place])

    def _sections(self, file: IndexedFile, first: int, last: int) -> list[FoundPassage]:
        """A document's sections from one place to another, as far as they exist."""
        return [
            self._passage(file, file.pieces[section.passages.start], section, 1.0)
            for section in sections_between(file.sections, first, last)
        ]

    def _passage(self, file: IndexedFile, piece: TextPiece, section: DocumentSection, score: float) -> FoundPassage:
        """A section, with its found piece as summary; `score`: 0.0 to 1.0."""
        result = SearchResult(
            title=self.title_of(file),
            summary=shorten(clean(piece.text, single_line=True), _SUMMARY_CHARACTERS),
            source="local",
            url=file.path.as_uri(),
            published_date=file.published,
            relevance_score=score,
        )
        return FoundPassage(result, section.text, below_title(section.heading, file.title), section.place)


def _titled(files: Sequence[IndexedFile]) -> list[IndexedFile]:
    titles = titles_among([file.title for file in files], [_first_heading(file) for file in files])
    return [
        file if file.title == title else replace(file, title=title) for file, title in zip(files, titles, strict=True)
    ]


def _first_heading(file: IndexedFile) -> str:
    headings = (without_page(piece.heading) for piece in file.pieces)
    return next((heading.split(" › ")[0] for heading in headings if heading), "")


def _literal_places(file: IndexedFile, literal: LiteralWords) -> list[list[int]]:
    """Places of the sections with the words in a heading, at the start of a line, elsewhere, and within other words."""
    places: list[list[int]] = [[] for _ in range(_KINDS_OF_PLACES)]
    for place, (headings, text) in enumerate(file.comparable_sections, start=1):
        if literal.stand_in(text):
            places[_kind_of_place(literal, headings, text)].append(place)
    return places


def _kind_of_place(literal: LiteralWords, headings: ComparableText, text: ComparableText) -> int:
    if not literal.stand_apart(text):
        return 3
    return 0 if literal.stand_apart(headings) else 1 if literal.open_a_line(text) else 2


def _position(name: str, text: str) -> int:
    """The position of the name as a separate word, anywhere in Japanese; -1 if missing."""
    if detect_language(name) == "ja":
        return text.find(name)
    match = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text)
    return match.start() if match else -1


def forget_indexes(folder: Path, *, beneath: Path) -> None:
    """Delete the kept indexes with text of files beneath another folder. Blocking."""
    import numpy as np  # noqa: PLC0415 - see above

    for place in folder.glob("*.npz"):
        with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile), place.open("rb") as file:
            rows = json.loads(np.load(file, allow_pickle=False)["rows"].tobytes())
            if any(Path(path).is_relative_to(beneath) for path, *_ in rows):
                place.unlink(missing_ok=True)


@dataclass(frozen=True)
class IndexCache:
    """Indexes in a folder; without a folder, nothing is cached."""

    folder: Path | None
    embedder: Embedder

    def load(self, files: Iterable[LocalFile]) -> LocalIndex | None:
        """The index of exactly these files; None if it is missing or damaged."""
        place = self.folder and self.folder / self._name(_digest(files))
        index = self._read(place) if place else None
        if place and index:
            with suppress(OSError):
                place.touch()  # the least recently used are deleted
        return index

    def files(self) -> dict[LocalFile, IndexedFile]:
        """The files of all cached indexes: unchanged ones need not be read again."""
        places = self.folder.glob(self._name("*")) if self.folder else ()
        indexes = [index for place in places if (index := self._read(place))]
        return {file: each for index in indexes for file, each in index.files.items()}

    def save(self, files: Iterable[LocalFile], index: LocalIndex) -> None:
        """Save the index of these files; failures are ignored, and it is built again next time."""
        import numpy as np  # noqa: PLC0415 - see above

        if self.folder is None:
            return
        rows = [
            [str(at.path), at.modified_ns, at.size, each.title, each.pieces, each.note, each.published, each.sizes]
            for at, each in index.files.items()
        ]
        words = np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {"rows": words, **index.index.to_arrays()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        with suppress(OSError, StoreUnwritable):
            write_file(self.folder / self._name(_digest(files)), content.getvalue())
            by_use = sorted(self.folder.glob("*.npz"), key=lambda each: each.stat().st_mtime_ns)
            for each in by_use[:-_MOST_INDEXES]:
                each.unlink(missing_ok=True)

    def _read(self, place: Path) -> LocalIndex | None:
        import numpy as np  # noqa: PLC0415 - see above

        try:
            with place.open("rb") as file, np.load(file, allow_pickle=False) as content:
                rows = json.loads(content["rows"].tobytes())
                index = HybridIndex.from_arrays(content, self.embedder)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        files: dict[LocalFile, IndexedFile] = {}
        bounds = pairwise([0, *accumulate(len(row[4]) for row in rows)])
        for (path, modified_ns, size, title, pieces, *others), (begin, end) in zip(rows, bounds, strict=True):
            key = LocalFile(Path(path), modified_ns, size)
            own = [TextPiece(*piece) for piece in pieces]
            files[key] = IndexedFile(key.path, title, own, index.vectors[begin:end], *others)
        return LocalIndex(files, self.embedder, index)

    def _name(self, digest: str) -> str:
        return f"all-{_FORMAT}-{type(self.embedder).__qualname__}-{digest}.npz"


def _digest(files: Iterable[LocalFile]) -> str:
    lines = "\0".join(f"{file.path}\0{file.modified_ns}\0{file.size}" for file in files)
    return sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
