"""Which passages answer a part of a question: by how much of what the part asks about they say."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from contend.checks.claims import Calibration
from contend.quotes.units import Unit, said_by
from contend.retrieval import HybridIndex
from contend.text import clean, normalize, terms, without_item_mark

MOST_QUOTES, MOST_OF_A_LIST, MOST_NEAREST = 5, 10, 3
_WORD = re.compile(r"\d+(?:[.,]\d+)*|(?:(?![\u3005-\u30ff\u3400-\u9fff])[^\W\d_])+")
_JAPANESE = re.compile(r"[\u3005-\u3007\u3400-\u9fff]+|[\u30a1-\u30fa\u30fc]+")

_GAIN = 0.25
"""A passage that says this share more of what is asked about stands beside the best one.

Of the joined questions below, 168 and 24 are answered at 0.3; at 0.2 200 and 30, with more quotes for each part.
"""


CALIBRATION = Calibration(
    threshold=0.5,
    data="tests/data/quotes: 20 questions in English and Japanese on six files",
    date="2026-11-22",
    false_alarms=0.0,
)
"""A passage answers if it covers this share of what is asked about, weighted by how rare and telling the words are."""


class Quote(NamedTuple):
    """A passage, and the words of the part that it has."""

    unit: Unit
    words: frozenset[str]


class QuotedAnswer(NamedTuple):
    """What the documents say to one part. Without quotes they do not answer it: `nearest` come next to it."""

    part: str
    quotes: list[Quote]
    nearest: list[Quote]


def answers_of(question: str, units: Sequence[Unit]) -> list[QuotedAnswer]:
    """For each part of the question its quotes, best first.

    Of a part that no passage answers as a whole the clauses stand for it where each of them is answered.
    """
    corpus = _Corpus(units)
    return [answer for part in parts_of(question) for answer in _answers(part, corpus)]


def content_terms(text: str) -> list[str]:
    """The distinct terms that a question is about: English stems, Japanese pairs.

    Of Japanese, kanji and katakana count: what stands between them is grammar.
    """
    plain = normalize(text)
    pairs = (run[place : place + 2] for run in _JAPANESE.findall(plain) for place in range(max(1, len(run) - 1)))
    return list(dict.fromkeys([*pairs, *(term for word in _WORD.findall(plain) for term in terms(word))]))


def words_of(run: str, sought_terms: frozenset[str]) -> list[tuple[bool, str]]:
    """A word, or a run of Japanese, in pieces: whether each is one of the wanted terms, and its text."""
    if not _JAPANESE.search(run):
        return [(not sought_terms.isdisjoint(terms(run)), run)]
    hit = [False] * len(run)
    for place in range(len(run)):
        for length in (1, 2):
            if run[place : place + length] in sought_terms:
                hit[place : place + length] = [True] * len(run[place : place + length])
    return [
        (strong, "".join(letter for _, letter in each))
        for strong, each in groupby(zip(hit, run, strict=True), key=lambda pair: pair[0])
    ]


class _Corpus:
    """What may be quoted, and the terms of each unit and of what it stands under."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.texts = [f"{unit.context()}\n{said_by(unit)}" for unit in units]
        self.terms = [frozenset(terms(text)) for text in self.texts]
        self._counts = Counter(term for each in self.terms for term in each)

    @cached_property
    def index(self) -> HybridIndex:
        return HybridIndex(self.texts)

    def weights(self, part: str) -> dict[str, float]:
        """How much of the part each of its terms is: rare words most."""
        return {term: math.log(1 + len(self.units) / max(1, self._counts[term])) for term in content_terms(part)}

    def with_lists(self, places: Iterable[int], question_terms: Collection[str]) -> list[int]:
        """The places, and the whole list of each item whose leading line was asked about."""
        all_places: list[int] = []
        for place in places:
            unit = self.units[place]
            whole = unit.kind == "item" and not frozenset(question_terms).isdisjoint(terms(unit.lead))
            all_places += self._list_of(unit)[:MOST_OF_A_LIST] if whole else [place]
        return [*dict.fromkeys(all_places)]

    def _list_of(self, unit: Unit) -> list[int]:
        """The places of the items of one list, in its order."""
        return [
            place
            for place, each in enumerate(self.units)
            if (each.kind, each.group) == (unit.kind, unit.group) and each.source is unit.source
        ]


def _answers(part: str, corpus: _Corpus) -> list[QuotedAnswer]:
    whole = _answer(part, corpus)
    of_clauses = [] if whole.quotes else [_answer(clause, corpus) for clause in _clauses_of(part)]
    return of_clauses if of_clauses and all(each.quotes for each in of_clauses) else [whole]


def _answer(part: str, corpus: _Corpus) -> QuotedAnswer:
    weights = corpus.weights(part)
    if not corpus.units or not weights:
        return QuotedAnswer(part, [], [])
    total = math.fsum(weights.values())
    matches = {place: words for place, each in enumerate(corpus.terms) if (words := each & weights.keys())}

    def coverage(words: frozenset[str]) -> float:
        return math.fsum(weights[term] for term in words) / total

    def quotes(places: Iterable[int]) -> list[Quote]:
        all_places = corpus.with_lists(places, weights)
        return [Quote(corpus.units[place], matches.get(place, frozenset())) for place in all_places]

    best = max(map(coverage, matches.values()), default=0.0)
    if best < CALIBRATION.threshold:
        return QuotedAnswer(part, [], quotes(hit.index for hit in corpus.index.search(part, MOST_NEAREST)))
    as_good = [place for place, words in matches.items() if coverage(words) == best]
    return QuotedAnswer(part, quotes([*dict.fromkeys([*_complete(matches, coverage), *as_good])][:MOST_QUOTES]), [])


def _complete(matches: Mapping[int, frozenset[str]], coverage: Callable[[frozenset[str]], float]) -> list[int]:
    """The best unit, and those that say much of what is asked about and is in none before them."""
    selection: list[int] = []
    covered_words: frozenset[str] = frozenset()
    while len(selection) < MOST_QUOTES:
        gains = {place: coverage(words - covered_words) for place, words in matches.items()}
        best = max(gains, key=gains.__getitem__)
        if gains[best] < _GAIN:
            break
        selection.append(best)
        covered_words |= matches[best]
    return selection


_CLAUSE_END = re.compile(r"(?<=[,;、，；])(?!\d)\s*")
_LEAST_OF_A_CLAUSE = 2
"""A clause asks what of what: with one content word it belongs to the clause before or after it.

Of 210 pairs of English questions in tests/data/quotes, joined to one sentence, 184 are answered where 70 were without
clauses, and 28 of 30 Japanese ones where 16 were; with 3 words 151 and 24. Joined with a question that the documents do
not answer, as many are answered as without clauses: 14 of 84.
"""


def _clauses_of(part: str) -> list[str]:
    """What stands between a part's commas and semicolons, of two content words or more each."""
    clauses: list[str] = []
    for piece in _CLAUSE_END.split(part):
        if clauses and min(len(content_terms(each)) for each in (clauses[-1], piece)) < _LEAST_OF_A_CLAUSE:
            clauses[-1] = f"{clauses[-1]} {piece}"
        else:
            clauses.append(piece)
    return clauses


_QUESTION_END = re.compile(r"(?:(?<=[?？])(?![?？])|(?<=か。))[\s\u3000]*")


def parts_of(question: str) -> list[str]:
    """The questions that a question holds: sub-questions by their marks, list items, lines. One where none is apart.

    A line that only leads in, as in `Tell me:`, is no part.
    """
    lines = [line for line in clean(question).splitlines() if line.strip()]
    pieces = [part for line in lines for part in _QUESTION_END.split(without_item_mark(line.strip()))]
    parts = [part.strip() for part in pieces if terms(part) and not part.rstrip().endswith((":", "："))]
    questions = [part for part in parts if _QUESTION_END.search(part)]
    # Where some parts ask and others only tell, what tells is background.
    return list(dict.fromkeys(questions or parts)) or [" ".join(clean(question).split())]
