"""Whether one lesson says what another says, by code: strictly, because a wrong "same" overwrites a lesson.

Each lesson is read as a sequence of words that carry meaning. Two lessons say the same where each word of one has its
word in the other, and the order is the same, or whole parts of the sentence have changed places. Whatever else is said
in other words is for a language model to read; without one, the two are kept apart.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

from contend.checks.claims import Calibration
from contend.checks.clauses import clauses, is_negator
from contend.checks.figures import stated_figures
from contend.checks.units import SCALES, UNITS
from contend.models.record import Language
from contend.text import detect_language, en, ja, normalized, terms

DENIAL = "¬"
CONTRADICTION = Calibration(1, "tests/data/lessons/test.tsv, the 40 rewordings", "2026-11-22", 0.025)
"""For the words and endings that `contradicts` reads: one that differs is enough. Pairs without one go to a model."""
_RELATIONS = frozenset(
    """
    about above after all any before below between beyond both few fewer from less many more most only out over than
    through too under until up down off without within if unless some then next afterwards later earlier finally
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Words that searches leave out, and that a lesson turns on."""
_LIGHT = frozenset("always must each every need please".split())  # noqa: SIM905 - see above
_EXACT = frozenset(
    {*en.SPELT, *SCALES, *UNITS, "half", "quarter", "third", "second", "first", "last", "double", "once"}
)
_EN_WORD = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?|\d+(?:[.,:/-]\d+)*")
_JA_CHUNK = re.compile(r"[\u3400-\u9fff々]+|[\u30a1-\u30ffー]+|[A-Za-z][\w.-]*|\d+(?:[.,:/-]\d+)*")
_JA_ROLE = re.compile(ja.ROLE)
_JA_DENIAL = re.compile(ja.DENIAL)
_JA_ORDER = re.compile(ja.ORDER)
_OF_DEGREE = re.compile(r"[a-z]{3,}en")
"""Verbs such as shorten and lengthen lie near to one another, and mean the opposite."""
_SHORTEST_STEM = 4


class WordVectors(Protocol):
    """How near two words are in meaning, -1.0 to 1.0."""

    def __call__(self, word: str, other: str) -> float: ...


class Word(NamedTuple):
    """A word that carries meaning. `exact`: only itself will do (a name, a figure). `role`: the particle after it."""

    form: str
    stem: str
    exact: bool
    role: str = ""


class Likeness(NamedTuple):
    """From which cosine on two words may stand for one another: with the same beginning, and at a sentence's head.

    The calibration's false alarms are pairs of lessons of other meaning that are taken for one.
    """

    form: float
    head: float
    calibration: Calibration


def says_the_same(text: str, other: str, *, near: WordVectors, likeness: Likeness) -> bool:
    """Whether the two are one lesson, as far as code can be sure; False says no more than that it is not."""
    if _folded(text) == _folded(other):
        return True
    if detect_language(text) != detect_language(other) or contradicts(text, other):
        return False
    own, others = _words(text), _words(other)
    return _matched(own, others, _Match(near, likeness, detect_language(text)))


def contradicts(text: str, other: str) -> bool:
    """Whether polarity, figures or sides of a scale (more, less) differ, so that no rewording can make them one."""
    if detect_language(text) != detect_language(other):
        return False
    if _figures(text) != _figures(other) or _denials(text) % 2 != _denials(other) % 2:
        return True
    own, others = _sides(text), _sides(other)
    return any((scale, 1 - side) in others and (scale, side) not in others for scale, side in own)


class _Match(NamedTuple):
    near: WordVectors
    likeness: Likeness
    language: Language

    def forms(self, word: Word, other: Word) -> bool:
        """Whether two words are forms of one."""
        if word.stem == other.stem:
            return True
        if word.exact or other.exact:
            return False
        if self.language == "ja":
            begins_alike = word.form.startswith(other.form) or other.form.startswith(word.form)
        else:
            begins_alike = (
                word.form[:_SHORTEST_STEM] == other.form[:_SHORTEST_STEM] and len(word.form) >= _SHORTEST_STEM
            )
        if not begins_alike:
            return False
        return self.near(word.form, other.form) >= self.likeness.form

    def heads(self, word: Word, other: Word) -> bool:
        """Whether two verbs mean nearly the same."""
        if word.exact or other.exact or DENIAL in (word.stem, other.stem):
            return False
        return self.forms(word, other) or self.near(word.form, other.form) >= self.likeness.head


def _matched(own: list[Word], others: list[Word], match: _Match) -> bool:
    if len(own) != len(others) or not own:
        return False
    renamed = _in_words_of(own, others, match)
    if renamed is None:
        return False
    if any(renamed[turn:] + renamed[:turn] == others for turn in range(len(others))):
        return True
    if match.language == "ja":
        return _same_roles(renamed, own, others)
    return _without_head(renamed, renamed[_head(own, match.language)]) == _without_head(
        others, renamed[_head(own, match.language)]
    )


def _in_words_of(own: list[Word], others: list[Word], match: _Match) -> list[Word] | None:
    """Each word as its partner among the others; None where one has none."""
    left = list(range(len(others)))
    renamed: list[Word | None] = []
    for word in own:
        place = next((at for at in left if match.forms(word, others[at])), None)
        renamed.append(None if place is None else others[place])
        if place is not None:
            left.remove(place)
    head, head_there = _head(own, match.language), _head(others, match.language)
    if left == [head_there] and renamed.count(None) == 1 and renamed[head] is None:
        renamed[head] = others[head_there] if match.heads(own[head], others[head_there]) else None
    return None if None in renamed else [word for word in renamed if word is not None]


def _head(words: list[Word], language: Language) -> int:
    """Where the verb of an instruction stands: first in English, last in Japanese."""
    places = [place for place, word in enumerate(words) if word.stem != DENIAL]
    return (places[-1] if language == "ja" else places[0]) if places else 0


def _without_head(words: list[Word], head: Word) -> list[Word]:
    place = words.index(head)
    return words[:place] + words[place + 1 :]


def _same_roles(renamed: list[Word], own: list[Word], others: list[Word]) -> bool:
    """Whether particles tell, in whatever order, that each word does the same in both sentences."""
    here = _phrases([partner._replace(role=word.role) for word, partner in zip(own, renamed, strict=True)])
    there = _phrases(others)
    return Counter(here) == Counter(there) and len({role for role, _ in there}) == len(there)


def _phrases(words: list[Word]) -> list[tuple[str, str]]:
    """The words up to each particle that tells a role, with the role; 「の」 only joins."""
    phrases: list[tuple[str, str]] = []
    joined = ""
    for word in words:
        joined += word.stem + ("の" if word.role == "の" else "")
        if word.role not in {"", "の"}:
            phrases.append(("を" if word.role in ja.ROLES_OF_ONE_THING else word.role, joined))
            joined = ""
    return [*phrases, ("", joined)]


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Word, ...]:
    plain = normalized(text)
    return tuple(_read_ja(plain) if detect_language(plain) == "ja" else _read_en(plain))


def _words(text: str) -> list[Word]:
    return [*_read(text)]


def _read_en(text: str) -> Iterator[Word]:
    for found in _EN_WORD.finditer(text):
        word = found[0].replace("’", "'")
        small = word.casefold()
        if is_negator(word):
            yield Word(DENIAL, DENIAL, exact=True)
        elif small in _RELATIONS:
            yield Word(small, small, exact=True)
        elif small not in _LIGHT and (stems := terms(word)):
            is_name = word[0].isupper() and not _begins_sentence(text, found.start())
            yield Word(small, stems[0], exact=is_name or _is_exact(small))
        elif len(word) == 1 and word.isupper() and word not in "AI":
            yield Word(small, small, exact=True)


def _is_exact(word: str) -> bool:
    return word in _EXACT or word[0].isdigit() or len(word) == 1 or _OF_DEGREE.fullmatch(word) is not None


def _begins_sentence(text: str, place: int) -> bool:
    before = text[:place].rstrip()
    return not before or before[-1] in ".:;!?"


def _read_ja(text: str) -> Iterator[Word]:
    marked = [(found.start(), Word(DENIAL, DENIAL, exact=True)) for found in _JA_DENIAL.finditer(text)]
    marked += [(found.start(), Word("→", "→", exact=True)) for found in _JA_ORDER.finditer(text)]
    yield from (word for _, word in sorted([*marked, *_ja_chunks(text)], key=lambda each: each[0]))


def _ja_chunks(text: str) -> Iterator[tuple[int, Word]]:
    for found in _JA_CHUNK.finditer(text):
        if found[0] not in ja.EMPTY_NOUNS:
            role = _JA_ROLE.match(text, found.end())
            form = normalized(found[0]).casefold()
            exact = not re.match(r"[\u3400-\u9fff]", form)
            yield found.start(), Word(form, form, exact=exact, role=role[1] if role else "")


@lru_cache(maxsize=4096)
def _figures(text: str) -> frozenset[object]:
    return frozenset((figure.value, figure.measure) for figure in stated_figures(text))


def _denials(text: str) -> int:
    return sum(word.stem == DENIAL for word in _read(text))


def _sides(text: str) -> frozenset[tuple[int, int]]:
    return frozenset(side for clause in clauses(text) for side in clause.sides)


def _folded(text: str) -> str:
    return " ".join(normalized(text).casefold().split())
