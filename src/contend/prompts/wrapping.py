"""Text from outside, put between delimiters that it cannot close."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Self, SupportsIndex

from contend.text import clean, normalized

_LABEL = re.compile(r"[a-z]{1,20}")
_OPEN, _CLOSE = "[<‹〈《⟨❬❮]", "[>›〉》⟩❭❯]"
_DASH = r"[-_‐‑‒–—―−]"
_GAP = r"\s{0,3}"
_TAG = rf"{_OPEN}{_GAP}/?{_GAP}(?:\w{{1,40}}{_GAP}{_DASH}{_GAP}[0-9a-f]{{6,}}{_GAP}{_CLOSE}?|(?:text|%s){_GAP}{_CLOSE})"
_CHAT_TOKEN = r"<\|[\w▁.-]{1,40}\|>"  # noqa: S105 - a local server may read these as turns of the chat
_INSTEAD = "(tag)"


class NumberedPart(NamedTuple):
    """A part of a text, behind a tag with its number such as `<P12-xxxxxxxx>`, which no text can hold."""

    number: int
    heading: str
    text: str


class Untrusted(str):
    """Text that somebody else wrote: a query, a page, a submission, a lesson, a name.

    `label` (1 to 20 of a-z) becomes the delimiter's name and tells the model what the text is. `parts` follow the text
    before the delimiter closes. What str's methods make of it is a plain str again: mark the text last.
    """

    __slots__ = ("label", "parts")

    label: str
    parts: tuple[NumberedPart, ...]

    def __new__(cls, text: str, *, label: str = "text", parts: Iterable[NumberedPart] = ()) -> Self:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"label must be 1 to 20 letters a-z, not {label!r}")
        untrusted = super().__new__(cls, text)
        untrusted.label, untrusted.parts = label, tuple(parts)
        return untrusted


class Sealed(str):
    """Untrusted text as templates meet it: cleaned and delimited. A slice of it is delimited again."""

    __slots__ = ("_inner", "_label", "_mark")

    _inner: str
    _label: str
    _mark: str

    def __new__(cls, inner: str, label: str = "text", mark: str = "") -> Self:
        gap = "\n" if "\n" in inner else ""
        sealed = super().__new__(cls, f"<{label}-{mark}>{gap}{inner}{gap}</{label}-{mark}>")
        sealed._inner, sealed._label, sealed._mark = inner, label, mark
        return sealed

    def __getitem__(self, key: SupportsIndex | slice) -> "Sealed":
        return Sealed(self._inner[key], self._label, self._mark)

    def summarized(self, max_len: int) -> "Sealed":
        """The first `max_len` characters and `...`; the same text when it is not longer."""
        return self if len(self._inner) <= max_len else Sealed(self._inner[:max_len] + "...", self._label, self._mark)


def mark_of(execution_id: str) -> str:
    """The delimiters' mark of an execution: 8 hex characters, the same after a resume.

    Nobody outside can guess it, because execution ids are random (UUID4).
    """
    return sha256(f"contend delimiter {execution_id}".encode()).hexdigest()[:8]


def seal(value: object, mark: str) -> object:
    """Plain data with every `Untrusted` inside, nested too, cleaned and delimited. Blank ones become `""`.

    Raises:
        TypeError: something is not plain (str, int, float, bool, None, list, tuple, dict).
    """
    match value:
        case Untrusted():
            return _sealed(value, mark)
        case str() | bool() | int() | float() | None:
            return value
        case Mapping():
            return {str(key): seal(item, mark) for key, item in value.items()}
        case list() | tuple():
            return [seal(item, mark) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} is not plain data")


def _sealed(value: Untrusted, mark: str) -> str:
    parts = [
        f"<P{each.number}-{mark}> {clean(_shown(each.heading, value.label, mark), single_line=True)}".rstrip()
        + f"\n{_shown(each.text, value.label, mark)}"
        for each in value.parts
    ]
    inner = "\n\n".join(filter(None, [_shown(str(value), value.label, mark), *parts]))
    return Sealed(inner, value.label, mark) if inner else ""


@lru_cache(maxsize=1024)
def _shown(text: str, label: str, mark: str) -> str:
    """Kept, because all metrics of a submission and both who write and who review show the same texts."""
    return neutral(clean(text), label=label, mark=mark).strip()


def neutral(text: str, *, label: str, mark: str) -> str:
    """The text with `(tag)` for whatever resembles a delimiter or a chat template's token.

    Full-width and other folded letters are unfolded only where they would spell one.
    """
    lookalike = _lookalike(label, mark)
    folded = normalized(text)
    if not lookalike.search(folded):
        return text
    return clean(lookalike.sub(_INSTEAD, folded))


def without_delimiters(text: str, mark: str) -> str:
    """A model's text without the delimiters that it copied from its prompt."""
    return re.sub(rf"</?(?:[a-z]{{1,20}}|P\d+)-{re.escape(mark)}>(?:\\n)?", "", text)


@lru_cache(maxsize=256)
def _lookalike(label: str, mark: str) -> re.Pattern[str]:
    shapes = [_TAG % re.escape(label), _CHAT_TOKEN, re.escape(mark)]
    return re.compile("|".join(shape for shape in shapes if shape), re.IGNORECASE)
