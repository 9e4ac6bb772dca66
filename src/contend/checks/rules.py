"""Named rules: each looks for one way in which a claim differs from the passages it names. They mark, nothing more."""

import calendar
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from contend.checks.claims import UNMET_PAIRS, Calibration, Claim, PassageText, strength
from contend.checks.clauses import NAME, Clause, clause_word, clauses, names_in, out_of_place, word_in
from contend.checks.figures import RATES, UNITS, Figure, claimed_figures, in_other_units, missing, stated_figures, years
from contend.text import detect_language, split_sentences, terms

_LEAST_FIGURE = 10

Finder = Callable[[Claim, Sequence[PassageText]], Iterator[str]]


class Rule(NamedTuple):
    """`find` gives what differs, in the claim's words. A claim with such a mark has at most `cap` of support."""

    name: str
    find: Finder
    cap: float
    calibration: Calibration


def _same_language(claim: Claim, passages: Sequence[PassageText]) -> list[PassageText]:
    language = detect_language(claim.text)
    return [passage for passage in passages if detect_language(passage.text) == language]


def _figures_of(passages: Sequence[PassageText]) -> list[Figure]:
    return [figure for passage in passages for figure in stated_figures(passage.whole)]


def year_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A year that the passages do not name."""
    yield from sorted(years(claim.comparison_text).difference(*(years(passage.whole) for passage in passages)))


def figure_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A figure that is not in the passages, rounded or not. Counts under ten are anybody's own."""
    absent = missing(claimed_figures(claim.comparison_text), _figures_of(passages))
    for figure in absent:
        is_count = not figure.measure and figure.value < _LEAST_FIGURE and figure.value == int(figure.value)
        if not is_count:
            yield figure.text


def unit_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A figure that the passages give in another unit, or a rate (a minute, a year) that they do not name."""
    figures = claimed_figures(claim.comparison_text)
    yield from (figure.text for figure in in_other_units(figures, _figures_of(passages)))
    own, rates = _rates(claim.comparison_text), {rate for passage in passages for rate in _rates(passage.whole)}
    if rates and figures:
        yield from (own[rate] for rate in own.keys() - rates)


@lru_cache(maxsize=1024)
def _rates(text: str) -> Mapping[str, str]:
    matches = ((rate, re.search(pattern, text, re.IGNORECASE)) for rate, pattern in RATES.items())
    return {rate: each[0] for rate, each in matches if each}


def sign_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A figure with a minus that the passages give without one, or the other way round, where nothing else says it."""
    figures = _figures_of(passages)
    for figure in claimed_figures(claim.comparison_text):
        same = [other for other in figures if figure.is_amount_of(other)]
        if same and all(other.negative != figure.negative for other in same):
            without = _sentences_with(figure, passages) if figure.negative else [claim.comparison_text]
            if not any((0, 1) in clause.sides for text in without for clause in clauses(text)):
                yield figure.text


def _sentences_with(figure: Figure, passages: Sequence[PassageText]) -> list[str]:
    sentences = (sentence for passage in passages for sentence in split_sentences(passage.whole))
    return [each for each in sentences if any(figure.is_amount_of(other) for other in stated_figures(each))]


_LEAST_CONTEXT = 0.65
# Lower, because the word itself is one that the two do not share.
_LEAST_CONTEXT_OF_SIDES = 0.55
# At 4 one more changed sentence of benchmarks/citations_*.toml is shown as supported, at 2 none less.
_LEAST_COMMON_TERMS = 3


def negation_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A word that the claim denies and the passages affirm, or the other way round, where both speak of the same."""
    others = _clauses_of(claim, passages)
    for clause in clauses(claim.comparison_text):
        for term in sorted(clause.terms):
            is_denied = term in clause.negated_terms
            with_term = [each for each in others if term in each.terms]
            alike = [each for each in with_term if (term in each.negated_terms) == is_denied]
            other = [each for each in with_term if (term in each.negated_terms) != is_denied]
            if _is_of_these(clause, other, alike, least=_LEAST_CONTEXT):
                yield word_in(claim.comparison_text, term)
                return


def _is_of_these(clause: Clause, these: Sequence[Clause], those: Sequence[Clause], *, least: float) -> bool:
    """Whether the clause is about what these clauses are about, and more so than about those."""
    likeness = _best(clause, these)
    return likeness >= least and likeness > _best(clause, those)


def direction_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A word for one side of a scale (rose, more, 増加) where the passages, of the same, have the other side's."""
    others = _clauses_of(claim, passages)
    for clause in clauses(claim.comparison_text):
        for scale, side in clause.sides:
            alike = [each for each in others if (scale, side) in each.sides]
            other = [each for each in others if (scale, 1 - side) in each.sides]
            only = (scale, 1 - side) not in clause.sides
            if only and _is_of_these(clause, other, alike, least=_LEAST_CONTEXT_OF_SIDES):
                yield next(clause_word(claim.comparison_text, scale, side), claim.text)
                return


def _clauses_of(claim: Claim, passages: Sequence[PassageText]) -> list[Clause]:
    return [clause for passage in _same_language(claim, passages) for clause in clauses(passage.text)]


def _best(clause: Clause, others: Sequence[Clause]) -> float:
    return max((_context(clause, each) for each in others), default=0.0)


def _context(clause: Clause, other: Clause) -> float:
    """How far a clause of the claim and one of a passage are about the same, 0.0 to 1.0."""
    common = clause.terms & other.terms
    if not common:
        return 0.0
    of_claim = (len(common) + len(clause.terms & other.around)) / (2 * len(clause.terms))
    enough = len(common) >= _LEAST_COMMON_TERMS or len(common) == len(other.terms) > 1
    of_passage = len(common) / len(other.terms) if enough else 0.0
    return max(of_claim, of_passage)


def name_missing(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A name or identifier in Latin letters that the passages do not hold, in whatever form.

    Names of months and units may be written otherwise, and in another language names are.
    """
    if len(_same_language(claim, passages)) < len(passages):
        return
    words = _MONTHS_AND_UNITS.union(*(_words_of(passage.whole) for passage in passages))
    for name in dict.fromkeys(NAME.findall(unicodedata.normalize("NFKC", claim.comparison_text))):
        parts = re.findall(r"\w+", name.lower().removesuffix("’s"))
        if terms(name) and not all(part in words or part.rstrip("s") in words for part in parts):
            texts = [unicodedata.normalize("NFKC", passage.whole) for passage in passages]
            if not any(name.lower() in text.lower() or _is_short_for(name, text) for text in texts):
                yield name


_MONTHS_AND_UNITS = frozenset(name.lower() for name in calendar.month_name if name) | UNITS.keys()


@lru_cache(maxsize=1024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower()))


def _is_short_for(name: str, text: str) -> bool:
    """Whether capitals are the first letters of words in a row."""
    if not re.fullmatch(r"[A-Z]{2,6}s?", name):
        return False
    pattern = r"[\s-]+(?:(?:of|the|and|for|in|on)\s+)*".join(rf"{letter}\w*" for letter in name.rstrip("s"))
    return re.search(rf"\b{pattern}", text, re.IGNORECASE) is not None


# Less of a claim in one sentence, and its words stand where they do by the writer's choice.
_LEAST_IN_ONE = 0.5


def place_differs(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A name, year or subject that the nearest sentence gives to something else."""
    same_language = _same_language(claim, passages)
    names = names_in(claim.comparison_text).union(*(names_in(passage.whole) for passage in same_language))
    own = frozenset(terms(claim.comparison_text))
    sentences = [each for passage in same_language for each in _sentences_of(passage.text)]
    near = [text for text, sentence_terms in sentences if len(own & sentence_terms) >= _LEAST_IN_ONE * len(own)]
    yield from filter(None, (out_of_place(claim.comparison_text, each, names) for each in near))


@lru_cache(maxsize=1024)
def _sentences_of(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((sentence, frozenset(terms(sentence))) for sentence in split_sentences(text))


def in_another_language(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """Of a passage in the other language code compares figures only."""
    if len(_same_language(claim, passages)) < len(passages):
        yield claim.text


def word_missing(claim: Claim, passages: Sequence[PassageText]) -> Iterator[str]:
    """A Japanese word, perhaps a name, of which the passages hold hardly a pair of characters."""
    if detect_language(claim.text) == "ja" and len(_same_language(claim, passages)) == len(passages):
        yield from strength(claim.comparison_text, tuple(passages)).unmet


_EXPERTS = "data/citations, right citations"
_DATE = "2026-11-22"
DOUBTED, NOT_SUPPORTED = 0.75, 0.45
"""The most support that a claim has with a mark: *near*, or not even that. Either is for a language model to decide."""

RULES = (
    Rule("year", year_differs, NOT_SUPPORTED, Calibration(0, _EXPERTS, _DATE, 0.007)),
    Rule("figure", figure_differs, NOT_SUPPORTED, Calibration(_LEAST_FIGURE, _EXPERTS, _DATE, 0.04)),
    Rule("unit", unit_differs, NOT_SUPPORTED, Calibration(0, _EXPERTS, _DATE, 0.0)),
    Rule("sign", sign_differs, DOUBTED, Calibration(0, _EXPERTS, _DATE, 0.005)),
    Rule("negation", negation_differs, DOUBTED, Calibration(_LEAST_CONTEXT, _EXPERTS, _DATE, 0.013)),
    Rule("direction", direction_differs, DOUBTED, Calibration(_LEAST_CONTEXT_OF_SIDES, _EXPERTS, _DATE, 0.002)),
    Rule("name", name_missing, DOUBTED, Calibration(0, _EXPERTS, _DATE, 0.202)),
    Rule("place", place_differs, DOUBTED, Calibration(_LEAST_IN_ONE, _EXPERTS, _DATE, 0.094)),
    Rule("language", in_another_language, DOUBTED, Calibration(0, _EXPERTS, _DATE, 0.0)),
    Rule("word", word_missing, DOUBTED, Calibration(UNMET_PAIRS, "benchmarks/citations_ja.toml, close", _DATE, 0.0)),
)
"""They are for stated sentences: what is derived has other words and figures than its passages."""
