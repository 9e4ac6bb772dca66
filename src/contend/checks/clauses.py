"""What words say of each other in a text: which are denied or on a side of a scale, and which stand beside which.

By clauses: their words, those denied, the sides. By places: whether names, years and figures stand in a claim beside
the words beside which they stand in its passages.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from contend.checks.figures import years
from contend.text import detect_language, en, ja, split_sentences, terms

_EN_END = re.compile(rf"[;:()–—]|,(?!\d)|{en.CLAUSE_ENDS}", re.IGNORECASE)
_JA_END = re.compile(ja.CLAUSE_ENDS)
_EN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?|\d+(?:[.,]\d+)*")
_JA_WORD = re.compile(r"[\u3400-\u9fff々]+|[\u30a1-\u30ff]+|[A-Za-z][\w.-]*|\d+(?:[.,]\d+)*")
_EN_HARMLESS = re.compile("|".join(rf"\b(?:{phrase})" for phrase in en.NOT_NEGATING), re.IGNORECASE)
_JA_HARMLESS = re.compile(ja.NOT_NEGATING)
_JA_NEGATION = re.compile(ja.NEGATION)
_JA_NEGATIVE_PREFIX = re.compile(rf"[{ja.NEGATIVE_PREFIXES}]([\u3400-\u9fff]{{2,}})")
_CHANGING = re.compile("(?<=[a-z])[aeiou]+(?=[a-z])")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")
# As many words after "not" are taken to be denied by it; 2 and 4 tell the same of benchmarks/citations_en.toml.
_REACH = 3


class Clause(NamedTuple):
    """Part of a sentence. `terms`: of its words; `negated_terms`: those that it denies; `around`: of its sentence."""

    terms: frozenset[str]
    negated_terms: frozenset[str]
    sides: frozenset[tuple[int, int]]
    around: frozenset[str]


@lru_cache(maxsize=1024)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of all sentences, in order. `sides`: scale and side, as `OPPOSITES` of en.py and ja.py list them."""
    plain = unicodedata.normalize("NFKC", text)
    japanese = detect_language(plain) == "ja"
    return tuple(clause for sentence in split_sentences(plain) for clause in _clauses(sentence, japanese=japanese))


def _clauses(sentence: str, *, japanese: bool) -> list[Clause]:
    around = _content(sentence)
    end, clause_of = (_JA_END, _read_ja) if japanese else (_EN_END, _read_en)
    return [clause_of(part, around) for part in end.split(sentence)]


def _content(text: str) -> frozenset[str]:
    """The terms without what inflection changes: the vowels of English words, the hiragana of Japanese."""
    return frozenset(_CHANGING.sub("", term) for term in terms(text) if not _HIRAGANA.search(term))


def _read_en(part: str, around: frozenset[str]) -> Clause:
    words = [word.replace("’", "'") for word in _EN_WORD.findall(_EN_HARMLESS.sub(" ", part))]
    negatives: set[str] = set()
    for place, word in enumerate(words):
        if is_negator(word):
            after = [term for other in words[place + 1 :] if not is_negator(other) for term in _content(other)]
            negatives |= set(after[:_REACH])
    sides = {side for word in _EN_WORD.findall(part) for side in _EN_SIDES.get(word.lower(), ())}
    return Clause(_content(part), frozenset(negatives), frozenset(sides), around)


def is_negator(word: str) -> bool:
    return word.lower().replace("'", "") in en.NEGATORS or word.lower().endswith("n't")


def _inflections(word: str) -> set[str]:
    """A verb with its regular endings, so that lists hold each once."""
    stem = word.removesuffix("e")
    return {word, f"{word}s", f"{stem}ed", f"{stem}ing", f"{stem}es"}


def _sides_of_words() -> dict[str, set[tuple[int, int]]]:
    sides: dict[str, set[tuple[int, int]]] = {}
    for scale, pair in enumerate(en.OPPOSITES):
        for side, words in enumerate(pair):
            for word in words.split():
                for form in _inflections(word):
                    sides.setdefault(form, set()).add((scale, side))
    return sides


_EN_SIDES = _sides_of_words()
_JA_SIDES = [
    (re.compile(pattern), (scale, side)) for scale, pair in enumerate(ja.OPPOSITES) for side, pattern in enumerate(pair)
]


def _read_ja(part: str, around: frozenset[str]) -> Clause:
    negatives: set[str] = set()
    plain = _JA_HARMLESS.sub(" ", part)
    for ending in _JA_NEGATION.finditer(plain):
        before = _JA_WORD.findall(plain[: ending.start()])
        negatives |= _content(before[-1]) if before else set()
    negatives |= {term for word in _JA_NEGATIVE_PREFIX.findall(part) for term in _content(word)}
    sides = frozenset(side for pattern, side in _JA_SIDES if pattern.search(part))
    return Clause(_content(part), frozenset(negatives), sides, around)


def clause_word(text: str, scale: int, side: int) -> Iterator[str]:
    """The words of a text that stand on that side of the scale."""
    yield from (word for word in _EN_WORD.findall(text) if (scale, side) in _EN_SIDES.get(word.lower(), ()))
    yield from (match[0] for pattern, each in _JA_SIDES if each == (scale, side) for match in pattern.finditer(text))


def word_in(text: str, term: str) -> str:
    """The word of a text that a term of its clauses comes from."""
    words = [*_EN_WORD.findall(text), *_JA_WORD.findall(text)]
    return next((word for word in words if term in _content(word)), term)


NAME = re.compile(
    r"(?:^|(?<=[.!?:]\s))[A-Z][a-z]+(?=\s[A-Z][a-z])|"
    r"(?<![.!?:]\s)(?<!^)(?<![\w-])[A-Z][a-z\u00c0-\u024f][\w’-]*|\b[A-Za-z]*[a-z][A-Z][A-Za-z]*|\b[A-Z]{2,}\w*(?:-\w+)*|\b[A-Z][A-Za-z]*-?\d[\w.-]*\b",
    re.MULTILINE | re.ASCII,
)
"""A name or identifier in Latin letters; the first word of a sentence only where its shape shows one."""

_EN_PARTS = re.compile(
    r"(?P<end>[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|because|who|which|than)\b)"
    r"|(?P<word>[^\W_][\w’'.-]*[^\W_]|[^\W_])|(?P<quoted>(?!))|(?P<particle>(?!))"
)
_JA_PARTS = re.compile(
    r"(?P<end>[、，；：])|「(?P<quoted>[^」]{1,30})」|(?P<word>[\u3400-\u9fff々\u30a1-\u30ff]+|[A-Za-z][A-Za-z0-9.-]*|\d+(?:[.,]\d+)*)(?P<particle>[はが](?![\u3041-\u3096]?ら))?"
)


class PlacedWord(NamedTuple):
    """A word of a sentence: what it is compared by, what it is, and in which clause it stands."""

    key: str
    kind: str
    clause: int


@lru_cache(maxsize=1024)
def names_in(text: str) -> frozenset[str]:
    return frozenset(name.lower().removesuffix("’s") for name in NAME.findall(unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=4096)
def words_of(sentence: str, names: frozenset[str]) -> tuple[PlacedWord, ...]:
    """The words of a sentence that say something."""
    plain = unicodedata.normalize("NFKC", sentence)
    japanese, own_years, clause = detect_language(plain) == "ja", years(plain), 0
    words: list[PlacedWord] = []
    for match in (_JA_PARTS if japanese else _EN_PARTS).finditer(plain):
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
            words.append(PlacedWord(key, kind, clause))
    return tuple(words)


_SUBJECTS = ("は", "が")
_ANCHORS = ("name", "year", *_SUBJECTS)
_KINDS_IN_ORDER = ("name", "year", "figure")
# Fewer words in common say nothing of their order. Of the 200 changed sentences of benchmarks/citations_*.toml two more
# are shown as supported at 6 words, three more at Japanese words of 4 characters; 0.6 and 0.8 in order make none.
_LEAST_COMMON_WORDS = 4
_LONG_WORD = 3
_LEAST_IN_ORDER = 0.7


def out_of_place(claim: str, sentence: str, names: frozenset[str]) -> str:
    """The name, year or subject that the sentence says something else of; "" without one.

    Either another one of its kind stands where the claim has it, or the claim turns their order round.
    """
    own, source = words_of(claim, names), words_of(sentence, names)
    return next(_with_others(own, source), "") or _out_of_order(own, source)


def _with_others(own: Sequence[PlacedWord], source: Sequence[PlacedWord]) -> Iterator[str]:
    keys = {word.key for word in own}
    for anchor in own:
        if anchor.kind in _ANCHORS:
            votes = [_vote(anchor, word, source, keys) for word in own if word.key != anchor.key]
            against = votes.count(-1)
            figures = [word for word in own if word.kind == "figure" and _vote(anchor, word, source, keys) < 0]
            if against > votes.count(1) or (figures and anchor.kind in {"name", "year"}):
                yield anchor.key


def _vote(anchor: PlacedWord, word: PlacedWord, source: Sequence[PlacedWord], keys: AbstractSet[str]) -> int:
    """1 where the sentence has the anchor beside the word, -1 where it has another of its kind that is not claimed."""
    place = next((place for place, other in enumerate(source) if other.key == word.key), None)
    if place is None:
        return 0
    clause = [other.key for other in source if other.clause == source[place].clause and other.kind == anchor.kind]
    before = [other.key for other in source[:place] if other.kind == anchor.kind][-1:]
    beside = [key for key in clause if key != word.key] or before
    if anchor.key in beside:
        return 1
    return -1 if beside and keys.isdisjoint(beside) else 0


def _out_of_order(own: Sequence[PlacedWord], source: Sequence[PlacedWord]) -> str:
    places, keys = [word.key for word in source], [word.key for word in own]
    common = [word for word in own if places.count(word.key) == 1 and keys.count(word.key) == 1]
    along = [places.index(word.key) for word in common]
    # To turn names and figures round makes a difference; of other words, long Japanese ones are names at times.
    fixed_places = {
        word.key: place
        for word, place in zip(common, along, strict=True)
        if word.kind in _KINDS_IN_ORDER or (not word.key.isascii() and len(word.key) >= _LONG_WORD)
    }
    if list(fixed_places.values()) != sorted(fixed_places.values()):
        return next(iter(fixed_places))
    if len(along) >= _LEAST_COMMON_WORDS and _longest_rise(along) < _LEAST_IN_ORDER * len(along):
        return common[0].key
    return next((word.key for word in common if _is_object(word, own, source)), "")


def _is_object(subject: PlacedWord, own: Sequence[PlacedWord], source: Sequence[PlacedWord]) -> bool:
    """Whether what a Japanese claim speaks of is no subject there, and what is one there is none in the claim."""
    there = next(word for word in source if word.key == subject.key)
    if subject.kind not in _SUBJECTS or there.kind in _SUBJECTS:
        return False
    subjects = {word.key for word in source if word.clause == there.clause and word.kind in _SUBJECTS}
    return any(word.key in subjects and word.kind not in _SUBJECTS for word in own)


def _longest_rise(places: Sequence[int]) -> int:
    best: list[int] = []
    for end, place in enumerate(places):
        best.append(1 + max((best[start] for start in range(end) if places[start] < place), default=0))
    return max(best)
