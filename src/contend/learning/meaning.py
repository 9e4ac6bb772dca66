"""Whether one lesson says what another says, by code: strictly, because a wrong "same" overwrites a lesson.

Each lesson is read as a sequence of words that carry meaning. Two lessons say the same where each word of one has its
word in the other, and the order is the same, or whole parts of the sentence have changed places. Whatever else is said
in other words is for a language model to read; without one, the two are kept apart. Which bullets are compared at all,
vectors tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from contend.checks.claims import Calibration
from contend.checks.clauses import clauses, is_negator
from contend.checks.figures import SCALES, UNITS, stated_figures
from contend.retrieval import Embedder, default_embedder
from contend.text import detect_language, en, fold, ja, normalize, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contend.models.playbook import Bullet
    from contend.retrieval import Vectors


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


class Word(NamedTuple):
    """A word that carries meaning."""

    form: str
    stem: str
    exact: bool
    """Only itself will do: a name, a figure."""
    role: str = ""
    """The particle after it."""


def says_the_same(text: str, other: str, *, near: Callable[[str, str], float], least: float) -> bool:
    """Whether the two are one lesson, as far as code can be sure; False says no more than that it is not.

    `near`: how near two words are in meaning, -1.0 to 1.0; from `least` on two verbs may stand for one another.
    """
    if fold(text) == fold(other):
        return True
    if detect_language(text) != detect_language(other) or contradicts(text, other):
        return False
    japanese, own, others = detect_language(text) == "ja", [*_words(text)], [*_words(other)]
    own = _with_head_of(own, others, japanese, lambda word, its: near(word.form, its.form) >= least)
    stems, its = [word.stem for word in own], [word.stem for word in others]
    if not own or sorted(stems) != sorted(its):
        return False
    if any(stems[turn:] + stems[:turn] == its for turn in range(len(stems))):
        return True
    if japanese:
        return _same_roles(own, others)
    head = stems[_head(own, japanese=False)]
    return _without(stems, head) == _without(its, head)


def contradicts(text: str, other: str) -> bool:
    """Whether polarity, figures or sides of a scale (more, less) differ, so that no rewording can make them one."""
    if detect_language(text) != detect_language(other):
        return False
    if _figures(text) != _figures(other) or _denials(text) % 2 != _denials(other) % 2:
        return True
    own, others = _sides(text), _sides(other)
    return any((scale, 1 - side) in others and (scale, side) not in others for scale, side in own)


def _with_head_of(
    own: list[Word], others: list[Word], japanese: bool, alike: Callable[[Word, Word], bool]
) -> list[Word]:
    """The words, and in place of their verb the others', where nothing else differs and the verbs are alike."""
    if len(own) != len(others) or not own:
        return own
    place = _head(own, japanese=japanese)
    head, its = own[place], others[_head(others, japanese=japanese)]
    differ = Counter(word.stem for word in own) - Counter(word.stem for word in others)
    if differ != {head.stem: 1} or head.exact or its.exact or not alike(head, its):
        return own
    return [*own[:place], head._replace(stem=its.stem), *own[place + 1 :]]


def _head(words: list[Word], *, japanese: bool) -> int:
    """Where the verb of an instruction stands: first in English, last in Japanese."""
    places = [place for place, word in enumerate(words) if word.stem != DENIAL]
    return places[-1 if japanese else 0] if places else 0


def _without(stems: list[str], head: str) -> list[str]:
    place = stems.index(head)
    return stems[:place] + stems[place + 1 :]


def _same_roles(own: list[Word], others: list[Word]) -> bool:
    """Whether particles tell, in whatever order, that each word does the same in both sentences."""
    here, there = _phrases(own), _phrases(others)
    return Counter(here) == Counter(there) and len({role for role, _ in there}) == len(there)


def _phrases(words: list[Word]) -> list[tuple[str, str]]:
    """The words up to each particle that tells a role, with the role; 「の」 only joins."""
    phrases: list[tuple[str, str]] = []
    phrase = ""
    for word in words:
        phrase += word.stem + ("の" if word.role == "の" else "")
        if word.role not in {"", "の"}:
            phrases.append(("を" if word.role in ja.ROLES_OF_ONE_THING else word.role, phrase))
            phrase = ""
    return [*phrases, ("", phrase)]


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[Word, ...]:
    plain = normalize(text)
    return tuple(_read_ja(plain) if detect_language(plain) == "ja" else _read_en(plain))


def _read_en(text: str) -> Iterator[Word]:
    for match in _EN_WORD.finditer(text):
        word = match[0].replace("’", "'")
        small = word.casefold()
        if is_negator(word):
            yield Word(DENIAL, DENIAL, exact=True)
        elif small in _RELATIONS:
            yield Word(small, small, exact=True)
        elif small not in _LIGHT and (stems := terms(word)):
            is_name = word[0].isupper() and not _begins_sentence(text, match.start())
            yield Word(small, stems[0], exact=is_name or _is_exact(small))
        elif len(word) == 1 and word.isupper() and word not in "AI":
            yield Word(small, small, exact=True)


def _is_exact(word: str) -> bool:
    return word in _EXACT or word[0].isdigit() or len(word) == 1 or _OF_DEGREE.fullmatch(word) is not None


def _begins_sentence(text: str, place: int) -> bool:
    before = text[:place].rstrip()
    return not before or before[-1] in ".:;!?"


def _read_ja(text: str) -> Iterator[Word]:
    signs = [
        (match.start(), Word(sign, sign, exact=True))
        for pattern, sign in ((_JA_DENIAL, DENIAL), (_JA_ORDER, "→"))
        for match in pattern.finditer(text)
    ]
    yield from (word for _, word in sorted([*signs, *_ja_chunks(text)], key=lambda each: each[0]))


def _ja_chunks(text: str) -> Iterator[tuple[int, Word]]:
    for match in _JA_CHUNK.finditer(text):
        if match[0] not in ja.EMPTY_NOUNS:
            role = _JA_ROLE.match(text, match.end())
            form = normalize(match[0]).casefold()
            exact = not re.match(r"[\u3400-\u9fff]", form)
            yield match.start(), Word(form, form, exact=exact, role=role[1] if role else "")


@lru_cache(maxsize=4096)
def _figures(text: str) -> frozenset[object]:
    return frozenset((figure.value, figure.measure) for figure in stated_figures(text))


def _denials(text: str) -> int:
    return sum(word.stem == DENIAL for word in _words(text))


def _sides(text: str) -> frozenset[tuple[int, int]]:
    return frozenset(side for clause in clauses(text) for side in clause.sides)


# An embedder's own, because unrelated words lie at 0.0 for one and at 0.8 for another. StaticEmbedder, of verbs in
# English and Japanese: those that stand for one another (ask, request) at 0.41 to 0.82, others (keep, remove) below
# 0.4 but for a few (shorten, lengthen) at 0.5.
_PAIRS = "tests/data/lessons/test.tsv, the 120 pairs of other meaning"
_DATE = "2026-11-22"
LIKENESS = {"StaticEmbedder": Calibration(0.45, _PAIRS, _DATE, 0.0)}
"""From which cosine on two verbs may stand for one another.

False alarms are pairs of lessons of other meaning that are taken for one.
"""
DEFAULT_LIKENESS = Calibration(0.97, "no data: nearly the same words", _DATE, 0.0)
"""For an embedder that nobody has measured."""
_MOST_NEIGHBOURS = 40
"""Bullets whose words are compared with a text's. What says the same in the same words lies among the nearest."""


class Nearest(NamedTuple):
    """A bullet near to a text. `likeness` is the cosine."""

    bullet: Bullet
    likeness: float


@lru_cache(maxsize=4)
def vectors_of(contents: tuple[str, ...], embedder: Embedder) -> Vectors:
    """One row per lesson, made once for the choice of a run's lessons and its curation; nobody changes it. Blocks."""
    return embedder.embed([*contents])


class Nearness:
    """Bullets and their vectors. Blocks while it embeds."""

    def __init__(self, bullets: Sequence[Bullet], embedder: Embedder | None = None) -> None:
        self._embedder = embedder or default_embedder()
        self._likeness = LIKENESS.get(type(self._embedder).__name__, DEFAULT_LIKENESS).threshold
        vectors = vectors_of(tuple(bullet.content for bullet in bullets), self._embedder)
        self._by_id = {bullet.id: (bullet, vector) for bullet, vector in zip(bullets, vectors, strict=True)}

    def put(self, bullet: Bullet) -> None:
        """Add a bullet, or take its new words."""
        self._by_id[bullet.id] = bullet, self._vector(bullet.content)

    def drop(self, bullet_id: str) -> None:
        self._by_id.pop(bullet_id, None)

    def near(self, content: str, *, most: int = _MOST_NEIGHBOURS, but: str | None = None) -> list[Nearest]:
        """The bullets nearest to `content`, nearest first, leaving out `but`."""
        vector = self._vector(content)
        nearest = [self._nearest(bullet_id, vector) for bullet_id in self._by_id if bullet_id != but]
        return sorted(nearest, key=lambda each: (-each.likeness, each.bullet.id))[:most]

    def of(self, content: str, bullet_id: str) -> Nearest | None:
        """How near the bullet of an id is; None where there is none."""
        return self._nearest(bullet_id, self._vector(content)) if bullet_id in self._by_id else None

    def same(self, content: str, other: str) -> bool:
        """Whether code is sure that the two are one lesson."""
        return says_the_same(content, other, near=partial(_near_words, self._embedder), least=self._likeness)

    def _nearest(self, bullet_id: str, vector: Vectors) -> Nearest:
        bullet, own = self._by_id[bullet_id]
        return Nearest(bullet, min(1.0, float(own @ vector)))

    def _vector(self, content: str) -> Vectors:
        row: Vectors = self._embedder.embed([content])[0]
        return row


@lru_cache(maxsize=4096)
def _near_words(embedder: Embedder, word: str, other: str) -> float:
    own, others = embedder.embed([word, other])
    return float(own @ others)
