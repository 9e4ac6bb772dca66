"""Which passages answer a part of a question: by search, and by how much of what the part asks about they say."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from contend.checks.claims import Calibration
from contend.quotes.units import Unit, said_by
from contend.retrieval import Embedder, HybridIndex, default_embedder
from contend.text import clean, normalized, terms, without_item_mark

MOST_QUOTES, MOST_OF_A_LIST, MOST_NEAREST = 5, 10, 3
_CANDIDATES = 200
_NEAR = 0.75
"""Further quotes of a part cover at least this share of what the best one does."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|(?:(?![\u3005-\u30ff\u3400-\u9fff])[^\W\d_])+")
_JAPANESE = re.compile(r"[\u3005-\u3007\u3400-\u9fff]+|[\u30a1-\u30fa\u30fc]+")
_CONTEXT = 0.8
"""A word of a heading counts for less than one of the quote itself."""

_ALIKE = 0.5
"""Two words whose vectors are as near are taken for one: `cost` and `price` are at 0.67."""

_GAIN = 0.25
"""A quote that says this share more of what is asked about stands beside the best one."""


CALIBRATION = Calibration(
    threshold=0.5,
    data="tests/data/quotes: 20 questions in English and Japanese on six files",
    chosen="2026-11-22",
    false_alarms=0.0,
)
"""A passage answers if it covers this share of what is asked about, weighted by how rare and telling the words are."""


class Quote(NamedTuple):
    """A passage, the share of the part that it covers, 0.0 to 1.0, and the words of the part that it has."""

    unit: Unit
    coverage: float
    words: frozenset[str]


class QuotedAnswer(NamedTuple):
    """What the documents say to one part. Without quotes they do not answer it: `nearest` come next to it."""

    part: str
    quotes: list[Quote]
    nearest: list[Quote]


def answers_of(question: str, units: Sequence[Unit], *, threshold: float = CALIBRATION.threshold) -> list[QuotedAnswer]:
    """For each part of the question its quotes, best first.

    Of a part that no passage answers as a whole the clauses stand for it where each of them is answered.
    """
    corpus = _Corpus(units, default_embedder())
    return [answer for part in parts_of(question) for answer in _answers(part, corpus, threshold)]


def content_words(text: str) -> dict[str, str]:
    """The terms that a question is about, each with the word as it stands there: English stems, Japanese pairs.

    Of Japanese, kanji and katakana count: what stands between them is grammar.
    """
    words: dict[str, str] = {}
    for run in _JAPANESE.findall(normalized(text)):
        words |= {pair: pair for pair in map("".join, pairwise(run))} or {run: run}
    return words | _words(text)


def words_of(run: str, wanted: frozenset[str]) -> list[tuple[bool, str]]:
    """A word, or a run of Japanese, in pieces: whether each is one of the wanted terms, and its text."""
    if not _JAPANESE.search(run):
        return [(not wanted.isdisjoint(terms(run)), run)]
    hit = [False] * len(run)
    for place in range(len(run)):
        for length in (1, 2):
            if run[place : place + length] in wanted:
                hit[place : place + length] = [True] * len(run[place : place + length])
    return [
        (strong, "".join(letter for _, letter in each))
        for strong, each in groupby(zip(hit, run, strict=True), key=lambda pair: pair[0])
    ]


def _words(text: str, *, every: bool = False) -> dict[str, str]:
    """The terms of a text's words, each with the first of them; of `every` term there is."""
    words = {term: word.lower() for word in reversed(_WORD.findall(normalized(text))) for term in terms(word)}
    return dict.fromkeys(terms(text), "") | words if every else words


@dataclass(frozen=True)
class _Corpus:
    """What may be quoted, counted once for all parts of a question."""

    units: Sequence[Unit]
    embedder: Embedder

    @cached_property
    def index(self) -> HybridIndex:
        return HybridIndex([f"{unit.context()}\n{said_by(unit)}" for unit in self.units], self.embedder)

    @cached_property
    def own(self) -> list[dict[str, str]]:
        return [_words(f"{unit.lead}\n{said_by(unit)}", every=True) for unit in self.units]

    @cached_property
    def around(self) -> list[dict[str, str]]:
        return [_words(f"{unit.source.title}\n{unit.source.heading}", every=True) for unit in self.units]

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many units each term stands."""
        return Counter(term for own, around in zip(self.own, self.around, strict=True) for term in {*own, *around})

    def weights(self, word_of_term: dict[str, str]) -> dict[str, float]:
        """How much of the part each of its terms is: rare words most."""
        return {term: math.log(1 + len(self.units) / max(1, self.counts[term])) for term in word_of_term}

    def list_of(self, place: int) -> list[int]:
        """The places of the items of one list, in its order."""
        unit = self.units[place]
        return [
            other
            for other, each in enumerate(self.units)
            if each.kind == unit.kind and each.group == unit.group and each.source is unit.source
        ]

    def likeness(self, word_of_term: dict[str, str]) -> dict[str, dict[str, float]]:
        """For each English term of the part the corpus's words of like meaning: `cost` and `price`."""
        import numpy as np  # noqa: PLC0415 - heavy, and not needed by most commands

        of_all = {term: word for each in (*self.own, *self.around) for term, word in each.items()}
        words, corpus_words = (
            {term: word for term, word in each.items() if word.isascii() and word.isalpha()}
            for each in (word_of_term, of_all)
        )
        if not corpus_words or not words:
            return {}
        alike = self.embedder.embed([*words.values()]) @ self.embedder.embed([*corpus_words.values()]).T
        names = [*corpus_words]
        return {
            term: {names[place]: float(alike[row, place]) for place in np.flatnonzero(alike[row] >= _ALIKE)}
            for row, term in enumerate(words)
        }


@dataclass(frozen=True)
class _PartWords:
    """One part, against a corpus."""

    corpus: _Corpus
    weights: dict[str, float]
    alike: dict[str, dict[str, float]]

    def shares(self, place: int) -> dict[str, float]:
        """How much of each term a unit has, 0.0 to 1.0: the term itself, or an English word of like meaning."""
        own, around = self.corpus.own[place], self.corpus.around[place]

        def worth(term: str) -> float:
            return 1.0 if term in own else _CONTEXT if term in around else 0.0

        return {
            term: max(worth(term), *(like * worth(other) for other, like in self.alike.get(term, {}).items()), 0.0)
            for term in self.weights
        }

    def coverage(self, shares: dict[str, float]) -> float:
        total = sum(self.weights.values()) or 1.0
        return sum(self.weights[term] * share for term, share in shares.items()) / total

    def quote(self, place: int, shares: dict[str, float]) -> Quote:
        own = self.corpus.own[place]
        words = {term for term in self.weights if term in own}
        words |= {other for term in self.weights.keys() - words for other in self.alike.get(term, {}) if other in own}
        return Quote(self.corpus.units[place], self.coverage(shares), frozenset(words))


def _answers(part: str, corpus: _Corpus, threshold: float) -> list[QuotedAnswer]:
    whole = _answer(part, corpus, threshold)
    of_clauses = [] if whole.quotes else [_answer(clause, corpus, threshold) for clause in _clauses_of(part)]
    return of_clauses if of_clauses and all(each.quotes for each in of_clauses) else [whole]


def _answer(part: str, corpus: _Corpus, threshold: float) -> QuotedAnswer:
    words = content_words(part)
    if not corpus.units or not words:
        return QuotedAnswer(part, [], [])
    part_words = _PartWords(corpus, corpus.weights(words), corpus.likeness(words))
    shares = {hit.index: part_words.shares(hit.index) for hit in corpus.index.search(part, _CANDIDATES)}
    order = sorted(shares, key=lambda place: -part_words.coverage(shares[place]))

    def quotes(places: Sequence[int]) -> list[Quote]:
        return [
            part_words.quote(place, shares.get(place) or part_words.shares(place))
            for place in _with_lists(part_words, places)
        ]

    best = part_words.coverage(shares[order[0]]) if order else 0.0
    if best < threshold:
        return QuotedAnswer(part, [], quotes(order[:MOST_NEAREST]))
    alike = [place for place in order if part_words.coverage(shares[place]) >= max(threshold, _NEAR * best)]
    places = list(dict.fromkeys([*_complete(part_words, order, shares), *alike]))
    return QuotedAnswer(part, quotes(places[:MOST_QUOTES]), [])


def _complete(part_words: _PartWords, order: Sequence[int], shares: dict[int, dict[str, float]]) -> list[int]:
    """The best unit, and those that say much of what is asked about and is in none before them."""
    had = dict.fromkeys(part_words.weights, 0.0)
    chosen: list[int] = []
    while len(chosen) < MOST_QUOTES:
        best = max(order, key=lambda place: part_words.coverage(_gain(shares[place], had)))
        if part_words.coverage(_gain(shares[best], had)) < _GAIN:
            break
        chosen.append(best)
        had = {term: max(share, shares[best][term]) for term, share in had.items()}
    return chosen


def _gain(shares: dict[str, float], had: dict[str, float]) -> dict[str, float]:
    return {term: max(0.0, share - had[term]) for term, share in shares.items()}


def _with_lists(part_words: _PartWords, places: Sequence[int]) -> list[int]:
    """The places, and the whole list of each item whose leading line was asked about."""
    places_shown: list[int] = []
    for place in places:
        unit = part_words.corpus.units[place]
        whole = unit.kind == "item" and not part_words.weights.keys().isdisjoint(terms(unit.lead))
        places_shown += part_words.corpus.list_of(place)[:MOST_OF_A_LIST] if whole else [place]
    return [*dict.fromkeys(places_shown)]


_CLAUSE_END = re.compile(r"(?<=[,;、，；])(?!\d)\s*")
_LEAST_OF_A_CLAUSE = 2
"""A clause asks what of what: with one content word it belongs to the clause before or after it.

Of 210 pairs of English questions in tests/data/quotes, joined to one sentence, 162 are answered where 52 were without
clauses, and 28 of 30 Japanese ones where 16 were; with 3 words 138 and 24. Joined with a question that the documents do
not answer, as many are answered as without clauses: 14 of 84.
"""


def _clauses_of(part: str) -> list[str]:
    """What stands between a part's commas and semicolons, of two content words or more each."""
    clauses: list[str] = []
    for piece in _CLAUSE_END.split(part):
        if clauses and min(len(content_words(each)) for each in (clauses[-1], piece)) < _LEAST_OF_A_CLAUSE:
            clauses[-1] = f"{clauses[-1]} {piece}"
        else:
            clauses.append(piece)
    return clauses


_QUESTION_END = re.compile(r"(?<=[?？])(?![?？])[\s\u3000]*")


def parts_of(question: str) -> list[str]:
    """The questions that a question holds: sub-questions by their marks, list items, lines. One where none is apart.

    A line that only leads in, as in `Tell me:`, is no part.
    """
    lines = [line for line in clean(question).splitlines() if line.strip()]
    pieces = [part for line in lines for part in _QUESTION_END.split(without_item_mark(line.strip()))]
    parts = [part.strip() for part in pieces if terms(part) and not part.rstrip().endswith((":", "："))]
    questions = [part for part in parts if part.endswith(("?", "？"))]
    # Where some parts ask and others only tell, what tells is background.
    return list(dict.fromkeys(questions or parts)) or [" ".join(clean(question).split())]
