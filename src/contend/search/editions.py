"""Find documents that are editions of the same text, by name, title and day, and the newest of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from contend.text import fold

_VERSION = re.compile(
    r"(?:(?<![^\W_])(?:version|ver|v|revision|rev|edition|ed|ausgabe|auflage|fassung)|第)[\s._-]*(\d{1,4}(?:\.\d{1,4}){0,3})"
    r"(?:\s*(?:版|稿|訂)|(?![^\W_]))|(?<![^\W_])(\d{1,3})(?:\.|st|nd|rd|th)?[\s._-]*(?:edition|ed(?![^\W_])|auflage|ausgabe|版)"
)
_DAY = re.compile(
    r"(?<!\d)((?:19|20)\d\d)年?(?:[-_.\s/]*(0[1-9]|1[0-2]|[1-9](?=月))月?(?:[-_.\s/]*(0[1-9]|[12]\d|3[01]|[1-9](?=日))日?)?)?(?!\d)"
)
_WORD = re.compile(r"[^\W_]+")

Rank = tuple[int, ...]


class Edition(NamedTuple):
    """A document with what tells its edition: its name, its title and the day in it."""

    url: str
    title: str
    published: str | None = None


def newest_editions(documents: Iterable[Edition]) -> dict[str, Edition]:
    """For each superseded document, by its address, the newest edition.

    Two documents are editions of the same text if their names or titles differ only in a version or a day. Neither is
    newer unless both have a version, or both a day.
    """
    groups: dict[object, list[Edition]] = {}
    for document in documents:
        for key in _keys(document):
            groups.setdefault(key, []).append(document)
    newest: dict[str, Edition] = {}
    for group in groups.values():
        for rank_of in (_version, _day):
            ranked = [(rank, document) for document in group if (rank := rank_of(document))]
            if len(ranked) > 1:
                best, latest = max(ranked, key=lambda pair: pair[0])
                newest |= {document.url: latest for rank, document in ranked if rank < best}
                break
    return newest


class _HasAddress(Protocol):
    @property
    def url(self) -> str: ...


Hit = TypeVar("Hit", bound=_HasAddress)


def newest_first(hits: Sequence[Hit], most: int, *, newest: Mapping[str, Edition]) -> list[Hit]:
    """At most `most` hits. A hit of a superseded edition brings the best hit of the newest one, and comes last.

    `newest`: the result of `newest_editions`.
    """

    def with_newest(hit: Hit) -> list[Hit]:
        url = newest[hit.url].url if hit.url in newest else ""
        return [*[other for other in hits if other.url == url][:1], hit]

    in_order = dict.fromkeys(chain.from_iterable(map(with_newest, hits)))
    return sorted([*in_order][:most], key=lambda hit: hit.url in newest)


def _keys(document: Edition) -> list[object]:
    """What editions of one text share: name and title, each within its folder, without version and day."""
    folder = _words(_path(document).parent.name)
    name = _words(_path(document).stem)
    title = _words(document.title.removesuffix(f" ({_path(document).name})"))
    return [(kind, folder, words) for kind, words in (("name", name), ("title", title)) if words]


def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_DAY.sub(" ", _VERSION.sub(" ", fold(name)))))


def _path(document: Edition) -> PurePosixPath:
    return PurePosixPath(unquote(urlsplit(document.url).path))


def _texts(document: Edition) -> list[str]:
    path = _path(document)
    return [fold(text) for text in (path.stem, document.title, path.parent.name)]


def _version(document: Edition) -> Rank | None:
    match = next(filter(None, map(_VERSION.search, _texts(document))), None)
    return tuple(int(number) for number in (match[1] or match[2]).split(".")) if match else None


def _day(document: Edition) -> Rank | None:
    """The day in the document's name, or its own day. A year alone sorts before its days."""
    if document.published:
        return tuple(int(part) for part in document.published.split("-"))
    match = next(filter(None, map(_DAY.search, _texts(document))), None)
    return tuple(int(part) for part in match.groups() if part) if match else None
