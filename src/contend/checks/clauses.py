"""The clauses of a text: their words, which of them are denied, and which side of a scale they stand on."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from contend.text import detect_language, en, ja, split_sentences, terms

_EN_END = re.compile(rf"[;:()–—]|,(?!\d)|{en.CLAUSE_ENDS}", re.IGNORECASE)
_JA_END = re.compile(ja.CLAUSE_ENDS)
_EN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?|\d+(?:[.,]\d+)*")
_JA_WORD = re.compile(r"[\u3400-\u9fff々]+|[\u30a1-\u30ff]+|[A-Za-z][\w.-]*|\d+(?:[.,]\d+)*")
_EN_HARMLESS = re.compile("|".join(rf"\b(?:{phrase})" for phrase in en.NOT_NEGATING), re.IGNORECASE)
_JA_HARMLESS = re.compile(ja.NOT_NEGATING)
_JA_NEGATION = re.compile(ja.NEGATION)
_JA_PREFIXED = re.compile(rf"[{ja.NEGATIVE_PREFIXES}]([\u3400-\u9fff]{{2,}})")
_CHANGING = re.compile("(?<=[a-z])[aeiou]+(?=[a-z])")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")
# As many words after "not" are taken to be denied by it.
_REACH = 3


class Clause(NamedTuple):
    """Part of a sentence. `terms`: of its words; `negated`: those of them that it denies; `around`: of its sentence."""

    terms: frozenset[str]
    negated: frozenset[str]
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
    parts = [part for part in (_JA_END if japanese else _EN_END).split(sentence) if part.strip()]
    clause_of = _read_ja if japanese else _read_en
    return [clause_of(part, around) for part in parts]


def _content(text: str) -> frozenset[str]:
    """The terms without what inflection changes: the vowels of English words, the hiragana of Japanese."""
    return frozenset(_CHANGING.sub("", term) or term for term in terms(text) if not _HIRAGANA.search(term))


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


def _inflected(word: str) -> set[str]:
    """A verb with its regular endings, so that lists hold each once."""
    stem = word.removesuffix("e")
    return {word, f"{word}s", f"{stem}ed", f"{stem}ing", f"{stem}es"}


def _sides_of_words() -> dict[str, set[tuple[int, int]]]:
    sides: dict[str, set[tuple[int, int]]] = {}
    for scale, pair in enumerate(en.OPPOSITES):
        for side, words in enumerate(pair):
            for word in words.split():
                for form in _inflected(word):
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
    negatives |= {term for word in _JA_PREFIXED.findall(part) for term in _content(word)}
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
