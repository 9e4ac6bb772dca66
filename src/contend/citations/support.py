"""Whether the text that a sentence cites says it: words, names and figures in common, and nearness in meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contend.citations.figures import figures_missing, stated_figures
from contend.citations.sentences import CheckedSentence
from contend.models.record import Record, Score
from contend.text import detect_language, split_sentences, terms

if TYPE_CHECKING:
    from contend.retrieval import Embedder, Vectors

VERIFIED = 0.5
# Chosen on expert answers whose citations are known (tests/unit/test_citations.py).
_LEXICAL_SHARE = 0.65
_LEAST_STRENGTH = 0.25
_LEAST_SHARE_OF_BEST = 0.84
# As good as verbatim: that another text says it too is then no objection.
_STRONG_ALONE = 0.8
_FIGURE_MISSING = 0.4
# Half a sentence from another source than the one it cites.
_MOST_ELSEWHERE = 0.35
_PART_MISSING = 0.45
_WINDOW = 3
_NAME_WEIGHT = 2.0
_NAME = re.compile(r"\b[A-Z][A-Za-z]*[A-Z0-9][\w-]*|(?<=[a-z,;] )[A-Z][a-z]{2,}\b")


class CitationCheck(Record):
    """How far the cited text supports a sentence. `verified`: at 0.5 or above."""

    text: str
    support: Score
    verified: bool


def check_support(
    sentences: Sequence[CheckedSentence], *, alternatives: Sequence[str] = (), embedder: Embedder | None = None
) -> list[CitationCheck]:
    """How far each sentence's cited texts support it.

    The texts that other sentences cite, and `alternatives`, are what else the sentence could have cited: where one of
    them says it clearly better, the citation is not verified.
    """
    pool = list(dict.fromkeys([*(text for sentence in sentences for text in sentence.passages), *alternatives]))
    scores = [_support(sentence, pool, embedder) for sentence in sentences]
    return [
        CitationCheck(text=sentence.text, support=score, verified=score >= VERIFIED)
        for sentence, score in zip(sentences, scores, strict=True)
    ]


def support(
    sentence: str, passages: Sequence[str], *, alternatives: Sequence[str] = (), embedder: Embedder | None = None
) -> float:
    """How far the passages together say the sentence, 0.0 to 1.0; from 0.5 on they are taken to support it.

    Words in common within three sentences of a passage, names doubly, and for English with an `embedder` nearness in
    meaning. At most 0.4 when a figure is not in the passages, and below 0.5 when one of the `alternatives` fits clearly
    better or has a third of the sentence that the passages have not.
    """
    return _support(CheckedSentence(sentence, list(passages)), alternatives, embedder)


class _Read(NamedTuple):
    """A text taken apart: its terms, those of each run of neighbouring sentences, figures, its sentences' vectors."""

    japanese: bool
    terms: frozenset[str]
    windows: list[frozenset[str]]
    figures: frozenset[Decimal]
    vectors: Vectors | None


def _support(sentence: CheckedSentence, alternatives: Sequence[str], embedder: Embedder | None) -> float:
    claim = _claim(sentence.text, embedder)
    cited = _read("\n\n".join(sentence.passages), embedder)
    strength = claim.strength(cited)
    score = _calibrated(strength)
    if figures_missing(sentence.text, cited.figures):
        score = min(score, _FIGURE_MISSING)
    if strength >= _STRONG_ALONE:
        return round(score, 3)
    best, elsewhere = strength / _LEAST_SHARE_OF_BEST, 0.0
    for other in (_read(text, embedder) for text in alternatives if text not in sentence.passages):
        best = max(best, claim.strength(other, above=best))
        elsewhere = max(elsewhere, claim.share_beyond(cited, other))
    if elsewhere >= _MOST_ELSEWHERE:
        score = min(score, _PART_MISSING)
    if (least := _LEAST_SHARE_OF_BEST * best) > strength:
        score = min(score, VERIFIED * strength / least)
    return round(score, 3)


class _Claim:
    """A sentence to be found in texts."""

    def __init__(self, sentence: str, embedder: Embedder | None) -> None:
        names = {term for name in _NAME.findall(sentence) for term in terms(name)}
        self._weights = {term: _NAME_WEIGHT if term in names else 1.0 for term in terms(sentence)}
        # Across languages only figures and names in Latin letters can be compared.
        self._latin = {term: weight for term, weight in self._weights.items() if term.isascii()}
        self._japanese = detect_language(sentence) == "ja"
        self._vector = embedder.embed([sentence])[0] if embedder else None

    def strength(self, text: _Read, *, above: float = 0.0) -> float:
        """How much of the sentence is in the text, 0.0 to 1.0; 0.0 where it is soon plain that it is not `above`."""
        weights = self._weights if self._japanese == text.japanese else self._latin
        # The embedder finds any two Japanese sentences near to each other.
        if self._vector is None or text.vectors is None or self._japanese:
            return _coverage(weights, text.windows)
        if _LEXICAL_SHARE * _coverage(weights, [text.terms]) + 1 - _LEXICAL_SHARE < above:
            return 0.0
        nearness = max(0.0, min(1.0, float((text.vectors @ self._vector).max())))
        return _LEXICAL_SHARE * _coverage(weights, text.windows) + (1 - _LEXICAL_SHARE) * nearness

    def share_beyond(self, cited: _Read, other: _Read) -> float:
        """How much of the sentence another text has that the cited one has not, 0.0 to 1.0."""
        if cited.japanese != other.japanese:
            return 0.0
        weights = self._weights if self._japanese == other.japanese else self._latin
        found = weights.keys() & (other.terms - cited.terms)
        return sum(map(weights.__getitem__, found)) / sum(weights.values()) if found else 0.0


# Teams keep what they said well from round to round.
_claim = lru_cache(maxsize=512)(_Claim)


def _coverage(weights: Mapping[str, float], windows: Sequence[frozenset[str]]) -> float:
    """The weighted share of a sentence's terms that a few neighbouring sentences of a text have."""
    total = sum(weights.values())
    found = (sum(map(weights.__getitem__, weights.keys() & window)) for window in windows)
    return max(found, default=0.0) / total if total else 0.0


@lru_cache(maxsize=512)
def _read(text: str, embedder: Embedder | None) -> _Read:
    """Kept, because the teams of a run and their rounds cite the same passages."""
    sentences = split_sentences(text)
    found = [terms(sentence) for sentence in sentences]
    starts = range(max(1, len(found) - _WINDOW + 1))
    return _Read(
        japanese=detect_language(text) == "ja",
        terms=frozenset(term for part in found for term in part),
        windows=[frozenset(term for part in found[start : start + _WINDOW] for term in part) for start in starts],
        figures=stated_figures(text),
        vectors=embedder.embed(sentences) if embedder and sentences else None,
    )


def _calibrated(strength: float) -> float:
    """Strength on a scale where `_LEAST_STRENGTH` is 0.5 and the sentence itself is 1."""
    if strength < _LEAST_STRENGTH:
        return VERIFIED * strength / _LEAST_STRENGTH
    return min(1.0, VERIFIED + (1 - VERIFIED) * (strength - _LEAST_STRENGTH) / (1 - _LEAST_STRENGTH))
