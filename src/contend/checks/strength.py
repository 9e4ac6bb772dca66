"""How much of a claim its passages say: its terms, met by the same ones or by words near in meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from contend.checks import en
from contend.checks.claims import PassageText
from contend.retrieval import default_embedder
from contend.text import detect_language, split_sentences, terms

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


class _Read(NamedTuple):
    """A text's terms with the words they come from, one dictionary a sentence. The first sentence is the title."""

    japanese: bool
    sentences: list[str]
    terms: list[dict[str, str]]


@lru_cache(maxsize=4096)
def strength(claim: str, passages: tuple[PassageText, ...]) -> Strength:
    """How much of the claim's terms the passages hold: on the whole, and within three neighbouring sentences.

    An English word counts as much as its vector in the embedder is long, and is met as far as the passage's nearest
    word means the same; figures, names and numerals are met by themselves only. Japanese is compared by pairs of
    characters. Across languages only what stands in Latin letters or digits is compared.
    """
    import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

    own, cited = _read("", claim), [_read(passage.title, passage.text) for passage in passages]
    weights = _weights(own, across=bool(cited) and all(read.japanese != own.japanese for read in cited))
    if not weights or not cited:
        return Strength(0.0, 0.0, None)
    scale = np.array(list(weights.values())) / sum(weights.values())
    met = [_met(own, list(weights), read) for read in cited]
    whole = float(scale @ np.max([each.max(axis=1) for each in met], axis=0))
    window = max(float((scale @ _windows(each)).max()) for each in met)
    share = (whole + window) / 2
    floor = _floor(max(sum(map(len, read.terms)) for read in cited), japanese=own.japanese)
    by_sentence = [scale @ each for each in met]
    place = max(range(len(cited)), key=lambda place: float(by_sentence[place].max()))
    return Strength(
        share, max(0.0, (share - floor) / (1 - floor)), (place, int(by_sentence[place].argmax())), _unmet(own, cited)
    )


def _unmet(own: _Read, cited: Sequence[_Read]) -> tuple[str, ...]:
    if not own.japanese:
        return ()
    known = {term for read in cited for sentence in read.terms for term in sentence}
    runs = dict.fromkeys(run for sentence in own.sentences for run in _JAPANESE_NAME.findall(sentence))
    return tuple(run for run in runs if _unknown_share(run, known) > _UNMET_PAIRS)


def _unknown_share(run: str, known: Collection[str]) -> float:
    pairs = [first + second for first, second in pairwise(run)]
    return sum(pair not in known for pair in pairs) / len(pairs)


def sentence_of(passage: PassageText, place: int) -> str:
    """The sentence that `Strength.nearest` names."""
    return _read(passage.title, passage.text).sentences[place]


# What passages hold of sentences that they do not say, on the very same subject: the median over experts' answers
# (data/citations), for passages of 100 terms and for five times as many.
_FLOOR = {False: 0.38, True: 0.16}
_FLOOR_GROWTH = 0.06
_FLOOR_TERMS = 100
_HIGHEST_FLOOR = 0.7


def _floor(count: int, *, japanese: bool) -> float:
    return min(_HIGHEST_FLOOR, max(0.0, _FLOOR[japanese] + _FLOOR_GROWTH * math.log(max(1, count) / _FLOOR_TERMS)))


def _weights(own: _Read, *, across: bool) -> dict[str, float]:
    every = {term: word for sentence in own.terms for term, word in sentence.items()}
    if across:
        every = {term: word for term, word in every.items() if term.isascii()}
    if own.japanese:
        return {term: _japanese_weight(term) for term in every}
    return {term: _length(word.lower()) for term, word in every.items()}


def _japanese_weight(term: str) -> float:
    if term.isascii():
        return _LATIN_WEIGHT
    return (1.0, _MIXED_WEIGHT, _HIRAGANA_WEIGHT)[min(2, len(_HIRAGANA.findall(term)))]


def _met(own: _Read, wanted: Sequence[str], cited: _Read) -> Vectors:
    """How far each sentence of a text meets each wanted term: a row a term, a column a sentence."""
    import numpy as np  # noqa: PLC0415 - see above

    words = {term: word for sentence in own.terms for term, word in sentence.items()}
    met: Vectors = np.array(
        [[float(term in sentence) for sentence in cited.terms] for term in wanted], dtype=np.float32
    )
    soft = [place for place, term in enumerate(wanted) if _may_be_reworded(words[term])]
    if own.japanese or not soft:
        return met
    vectors = np.array([_direction(words[wanted[place]].lower()) for place in soft])
    for column, sentence in enumerate(cited.terms):
        if sentence:
            others = np.array([_direction(word.lower()) for word in sentence.values()])
            met[soft, column] = np.maximum(met[soft, column], (vectors @ others.T).max(axis=1))
    return met


def _may_be_reworded(word: str) -> bool:
    return word.islower() and word not in en.SPELT


def _windows(met: Vectors) -> Vectors:
    """The best of each run of neighbouring sentences; the title stands beside each."""
    import numpy as np  # noqa: PLC0415 - see above

    title, rest = met[:, :1], met[:, 1:]
    if not rest.shape[1]:
        return title
    runs = [rest[:, start : start + _WINDOW].max(axis=1) for start in range(max(1, rest.shape[1] - _WINDOW + 1))]
    windows: Vectors = np.maximum(np.array(runs).T, title)
    return windows


@lru_cache(maxsize=50_000)
def _vector(word: str) -> Vectors:
    vectors: Vectors = default_embedder().words([word])[0]
    return vectors


@lru_cache(maxsize=50_000)
def _length(word: str) -> float:
    import numpy as np  # noqa: PLC0415 - see above

    return float(np.linalg.norm(_vector(word)))


@lru_cache(maxsize=50_000)
def _direction(word: str) -> Vectors:
    direction: Vectors = _vector(word) / (_length(word) or 1.0)
    return direction


@lru_cache(maxsize=1024)
def _read(title: str, text: str) -> _Read:
    """Kept, because the teams of a run and their rounds cite the same passages."""
    sentences = [title, *split_sentences(text)]
    japanese = detect_language(text) == "ja"
    return _Read(japanese, sentences, [_terms_of(sentence) for sentence in sentences])


def _terms_of(sentence: str) -> dict[str, str]:
    words = {term: word for word in _WORD.findall(sentence) for term in terms(word)}
    return {term: words.get(term, term) for term in terms(sentence)}
