"""Whether names, years and figures stand in a claim beside the words beside which they stand in its passages."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from contend.checks.figures import years
from contend.text import detect_language, en, terms

NAME = re.compile(
    r"(?:^|(?<=[.!?:]\s))[A-Z][a-z]+(?=\s[A-Z][a-z])|"
    r"(?<![.!?:]\s)(?<!^)(?<![\w-])[A-Z][a-z\u00c0-\u024f][\w’-]*|\b[A-Za-z]*[a-z][A-Z][A-Za-z]*|\b[A-Z]{2,}\w*(?:-\w+)*|\b[A-Z][A-Za-z]*-?\d[\w.-]*\b",
    re.MULTILINE | re.ASCII,
)
"""A name or identifier in Latin letters; the first word of a sentence only where its shape shows one."""

_EN_WORD = re.compile(
    r"(?P<end>[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|because|who|which|than)\b)"
    r"|(?P<word>[^\W_][\w’'.-]*[^\W_]|[^\W_])|(?P<quoted>(?!))|(?P<particle>(?!))"
)
_JA_WORD = re.compile(
    r"(?P<end>[、，；：])|「(?P<quoted>[^」]{1,30})」|(?P<word>[\u3400-\u9fff々\u30a1-\u30ff]+|[A-Za-z][A-Za-z0-9.-]*|\d+(?:[.,]\d+)*)(?P<particle>[はが](?![\u3041-\u3096]?ら))?"
)


class PlacedToken(NamedTuple):
    """A word of a sentence: what it is compared by, what it is, and in which clause it stands."""

    key: str
    kind: str
    clause: int


@lru_cache(maxsize=1024)
def names_in(text: str) -> frozenset[str]:
    return frozenset(
        name.lower().removesuffix("’s").removesuffix("'s") for name in NAME.findall(unicodedata.normalize("NFKC", text))
    )


@lru_cache(maxsize=4096)
def tokens(sentence: str, names: frozenset[str]) -> tuple[PlacedToken, ...]:
    """The words of a sentence that say something."""
    plain = unicodedata.normalize("NFKC", sentence)
    japanese, own_years, clause = detect_language(plain) == "ja", years(plain), 0
    placed: list[PlacedToken] = []
    for match in (_JA_WORD if japanese else _EN_WORD).finditer(plain):
        if match["end"]:
            clause += 1
            continue
        word = (match["quoted"] or match["word"]).lower().removesuffix("'s").removesuffix("’s")
        kind = match["particle"] or "word"
        if word in own_years:
            kind = "year"
        elif word in names or match["quoted"] or (japanese and re.match("[a-z]", word)):
            kind = "name"
        elif word[0].isdigit() or word in en.SPELT:
            kind = "figure"
        key = word if japanese or kind != "word" else next(iter(terms(word)), "")
        if key:
            placed.append(PlacedToken(key, kind, clause))
    return tuple(placed)


_SUBJECTS = ("は", "が")
_ANCHORS = ("name", "year", *_SUBJECTS)
_ORDERED = ("name", "year", "figure")
# Fewer words in common say nothing of their order.
_LEAST_SHARED = 4
_LONG_WORD = 3
_LEAST_IN_ORDER = 0.7


def out_of_place(claim: str, sentence: str, names: frozenset[str]) -> str:
    """The name, year or subject that the sentence says something else of; "" without one.

    Either another one of its kind stands where the claim has it, or the claim turns their order round.
    """
    own, cited = tokens(claim, names), tokens(sentence, names)
    return next(_with_others(own, cited), "") or _turned(own, cited)


def _with_others(own: Sequence[PlacedToken], cited: Sequence[PlacedToken]) -> Iterator[str]:
    keys = {token.key for token in own}
    for anchor in own:
        if anchor.kind in _ANCHORS:
            votes = [_vote(anchor, token, cited, keys) for token in own if token.key != anchor.key]
            against = votes.count(-1)
            figures = [token for token in own if token.kind == "figure" and _vote(anchor, token, cited, keys) < 0]
            if against > votes.count(1) or (figures and anchor.kind in {"name", "year"}):
                yield anchor.key


def _vote(anchor: PlacedToken, token: PlacedToken, cited: Sequence[PlacedToken], keys: AbstractSet[str]) -> int:
    """1 where the sentence has the anchor beside the token, -1 where it has another of its kind that is not claimed."""
    place = next((place for place, other in enumerate(cited) if other.key == token.key), None)
    if place is None:
        return 0
    clause = [other.key for other in cited if other.clause == cited[place].clause and other.kind == anchor.kind]
    before = [other.key for other in cited[:place] if other.kind == anchor.kind][-1:]
    beside = [key for key in clause if key != token.key] or before
    if anchor.key in beside:
        return 1
    return -1 if beside and keys.isdisjoint(beside) else 0


def _turned(own: Sequence[PlacedToken], cited: Sequence[PlacedToken]) -> str:
    places, keys = [token.key for token in cited], [token.key for token in own]
    shared = [token for token in own if places.count(token.key) == 1 and keys.count(token.key) == 1]
    along = [places.index(token.key) for token in shared]
    ordered = {token.key: place for token, place in zip(shared, along, strict=True) if _has_its_place(token)}
    if list(ordered.values()) != sorted(ordered.values()):
        return next(iter(ordered))
    if len(along) >= _LEAST_SHARED and _longest_rise(along) < _LEAST_IN_ORDER * len(along):
        return shared[0].key
    return next((token.key for token in shared if _is_object(token, own, cited)), "")


def _has_its_place(token: PlacedToken) -> bool:
    """Whether to turn it round with another one makes a difference: names and figures; long Japanese words may be."""
    return token.kind in _ORDERED or (not token.key.isascii() and len(token.key) >= _LONG_WORD)


def _is_object(subject: PlacedToken, own: Sequence[PlacedToken], cited: Sequence[PlacedToken]) -> bool:
    """Whether what a Japanese claim speaks of is no subject there, and what is one there is none in the claim."""
    there = next(token for token in cited if token.key == subject.key)
    if subject.kind not in _SUBJECTS or there.kind in _SUBJECTS:
        return False
    subjects = {token.key for token in cited if token.clause == there.clause and token.kind in _SUBJECTS}
    return any(token.key in subjects and token.kind not in _SUBJECTS for token in own)


def _longest_rise(places: Sequence[int]) -> int:
    best: list[int] = []
    for end, place in enumerate(places):
        best.append(1 + max((best[start] for start in range(end) if places[start] < place), default=0))
    return max(best, default=0)
