"""How much of a claim its passages say: its terms, met by the same ones or by words near in meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from contend.checks.claims import PassageText
from contend.retrieval import default_embedder
from contend.text import detect_language, en, split_sentences, terms

if TYPE_CHECKING:
    from contend.retrieval import Vectors

_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+(?:[.,]\d+)*")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")
# Hiragana are mostly endings and particles, which another wording changes; names in Latin letters and figures stay.
_LATIN_WEIGHT = 2.0
_MIXED_WEIGHT = 0.3
_HIRAGANA_WEIGHT = 0.1
_WINDOW = 3
_UNMET_PAIRS = 0.5
_JAPANESE_NAME = re.compile(r"[\u3400-\u9fff々]{2,}|[\u30a1-\u30ff]{2,}")


class Strength(NamedTuple):
    """Of a claim the `share` that its passages say, 0.0 to 1.0, and which sentence says most of it.

    `lift`: the share above what passages of this length hold of most sentences about their subject, 0.0 to 1.0.
    `nearest`: the places of the passage and of its sentence; None without a passage. `unmet`: Japanese words
    of which they have hardly a pair of characters.
    """

    share: float
    lift: float
    nearest: tuple[int, int] | None
    unmet: tuple[str, ...] = ()


class _Text(NamedTuple):
    """A text's sentences, of which the first is the title, and what a claim is held against.

    `places`: the sentences of each term; `words`: of each sentence that has any, the directions of their vectors, which
    may mean a claim's.
    """

    japanese: bool
    sentences: list[str]
    places: dict[str, list[int]]
    words: dict[int, Vectors]

    @property
    def terms(self) -> int:
        return sum(map(len, self.words.values()))


class _Target(NamedTuple):
    """What of a claim is looked for: its terms, their shares of it, and those that other words may mean."""

    terms: list[str]
    shares: Vectors
    soft: list[int]
    vectors: Vectors


@lru_cache(maxsize=4096)
def strength(claim: str, passages: tuple[PassageText, ...]) -> Strength:
    """How much of the claim's terms the passages hold: on the whole, and within three neighbouring sentences.

    An English word counts as much as its vector in the embedder is long, and is met as far as the passage's nearest
    word means the same; figures, names and numerals are met by themselves only. Japanese is compared by pairs of
    characters. Across languages only what stands in Latin letters or digits is compared.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

    japanese, texts = detect_language(claim) == "ja", [_text(passage.title, passage.text) for passage in passages]
    target = _target(claim, across=bool(texts) and all(text.japanese != japanese for text in texts))
    if not target.terms or not texts:
        return Strength(0.0, 0.0, None)
    matches = [_meets(target, text) for text in texts]
    whole = float(target.shares @ np.maximum.reduce([each.max(axis=1) for each in matches]))
    share = (whole + max(float((target.shares @ _windows(each)).max()) for each in matches)) / 2
    floor = _floor(max(text.terms for text in texts), japanese=japanese)
    by_sentence = [target.shares @ each for each in matches]
    place = max(range(len(texts)), key=lambda place: float(by_sentence[place].max()))
    nearest = place, int(by_sentence[place].argmax())
    unmet = _unmet(claim, texts) if japanese else ()
    return Strength(share, max(0.0, (share - floor) / (1 - floor)), nearest, unmet)


def _unmet(claim: str, texts: Sequence[_Text]) -> tuple[str, ...]:
    vocabulary = {term for text in texts for term in text.places}
    runs = dict.fromkeys(_JAPANESE_NAME.findall(claim))
    return tuple(run for run in runs if _unknown_share(run, vocabulary) > _UNMET_PAIRS)


def _unknown_share(run: str, vocabulary: Collection[str]) -> float:
    pairs = [first + second for first, second in pairwise(run)]
    return sum(pair not in vocabulary for pair in pairs) / len(pairs)


def sentence_of(passage: PassageText, place: int) -> str:
    """The sentence that `Strength.nearest` names."""
    return _text(passage.title, passage.text).sentences[place]


# What passages hold of sentences that they do not say, on the very same subject: the median over experts' answers
# (data/citations), for passages of 100 terms and for five times as many.
_FLOOR = {False: 0.38, True: 0.16}
_FLOOR_GROWTH = 0.06
_FLOOR_TERMS = 100
_HIGHEST_FLOOR = 0.7


def _floor(count: int, *, japanese: bool) -> float:
    return min(_HIGHEST_FLOOR, max(0.0, _FLOOR[japanese] + _FLOOR_GROWTH * math.log(max(1, count) / _FLOOR_TERMS)))


@lru_cache(maxsize=1024)
def _target(claim: str, *, across: bool) -> _Target:
    import numpy as np  # noqa: PLC0415 - see above

    words = {term: word for sentence in split_sentences(claim) for term, word in _terms_of(sentence).items()}
    japanese = detect_language(claim) == "ja"
    if across:
        words = {term: word for term, word in words.items() if term.isascii()}
    weights = [_japanese_weight(term) if japanese else _word_vector(word.lower())[0] for term, word in words.items()]
    forms = list(words.values())
    soft = [] if japanese else [at for at, word in enumerate(forms) if word.islower() and word not in en.SPELT]
    vectors = [_word_vector(forms[at].lower())[1] for at in soft]
    shares = np.array(weights, dtype=np.float32) / (sum(weights) or 1.0)
    return _Target(list(words), shares, soft, np.array(vectors, dtype=np.float32))


def _japanese_weight(term: str) -> float:
    if term.isascii():
        return _LATIN_WEIGHT
    return (1.0, _MIXED_WEIGHT, _HIRAGANA_WEIGHT)[min(2, len(_HIRAGANA.findall(term)))]


def _meets(target: _Target, text: _Text) -> Vectors:
    """How far each sentence of a text meets each target term: a row a term, a column a sentence."""
    import numpy as np  # noqa: PLC0415 - see above

    matrix: Vectors = np.zeros((len(target.terms), len(text.sentences)), dtype=np.float32)
    for row, term in enumerate(target.terms):
        if term in text.places:
            matrix[row, text.places[term]] = 1.0
    for place, words in text.words.items() if target.soft else ():
        alike = (target.vectors @ words.T).max(axis=1)
        matrix[target.soft, place] = np.maximum(matrix[target.soft, place], alike)
    return matrix


def _windows(matrix: Vectors) -> Vectors:
    """The best of each run of neighbouring sentences; the title stands beside each."""
    import numpy as np  # noqa: PLC0415 - see above

    title, rest = matrix[:, :1], matrix[:, 1:]
    if not rest.shape[1]:
        return title
    last = max(1, rest.shape[1] - _WINDOW + 1)
    runs = [rest[:, start : start + last] for start in range(min(_WINDOW, rest.shape[1]))]
    best: Vectors = np.maximum(np.maximum.reduce(runs), title)
    return best


@lru_cache(maxsize=50_000)
def _word_vector(word: str) -> tuple[float, Vectors]:
    """A word's weight, the length of its vector, and what it means, the vector's direction."""
    import numpy as np  # noqa: PLC0415 - see above

    vector: Vectors = default_embedder().words([word])[0]
    length = float(np.linalg.norm(vector))
    return length, vector / (length or 1.0)


# A passage's vectors take some hundred kilobytes.
@lru_cache(maxsize=256)
def _text(title: str, text: str) -> _Text:
    """Kept, because the teams of a run and their rounds cite the same passages."""
    import numpy as np  # noqa: PLC0415 - see above

    sentences = [title, *split_sentences(text)]
    japanese, sentence_terms = detect_language(text) == "ja", [_terms_of(sentence) for sentence in sentences]
    places: dict[str, list[int]] = {}
    for place, terms_of_one in enumerate(sentence_terms):
        for term in terms_of_one:
            places.setdefault(term, []).append(place)
    words = {
        place: np.array([_word_vector(word.lower())[1] for word in each.values()], dtype=np.float32)
        for place, each in enumerate(sentence_terms)
        if each
    }
    return _Text(japanese, sentences, places, words)


def _terms_of(sentence: str) -> dict[str, str]:
    words = {term: word for word in _WORD.findall(sentence) for term in terms(word)}
    return {term: words.get(term, term) for term in terms(sentence)}
