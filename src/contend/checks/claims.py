"""What is checked, what a draft claims, and how much of a claim its passages say."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from contend.models.record import Record, Score, Text
from contend.models.research import ClaimKind, Draft, Passage
from contend.retrieval import default_embedder
from contend.text import WORDS, detect_language, en, split_sentences, terms

if TYPE_CHECKING:
    from contend.retrieval import Vectors

Level = Literal["supported", "near", "unsupported", "not_needed"]


class Claim(Record, frozen=True):
    """A sentence without its citation marks. `expression`: the arithmetic behind a derived figure, as `21.4 * 4`.

    `cells`: of a table's row what its cells say; "" for a sentence. `quoted`: its passages have the words that it
    quotes; `refuted`: what code refutes of it, for readers.
    """

    text: Text
    kind: ClaimKind = "stated"
    expression: str = ""
    cells: str = ""
    quoted: bool = False
    refuted: str = ""

    @property
    def comparison_text(self) -> str:
        """What is held against passages: the headings of a table's columns are the writer's own."""
        return self.cells or self.text


class PassageText(NamedTuple):
    """A passage that a claim cites, whole. `speaks_to_ai`: its source does, so that it supports nothing alone."""

    id: str
    title: str
    text: str
    speaks_to_ai: bool = False

    @property
    def whole(self) -> str:
        """What a citation of the passage rests on."""
        return f"{self.title}\n\n{self.text}"


class Mark(Record):
    """What a named rule found. `detail` names it in the claim's own words; `line` tells a reader."""

    rule: str
    detail: str
    line: str


class ClaimCheck(Record):
    """How far the passages that a claim names say it.

    `support` is 0.0 to 1.0. *supported* from 0.8 on, and without a mark; *near* from 0.5 on; *not_needed* for a
    judgement or an open question that names no passage. `nearest` is the id of the passage that is nearest to the
    claim, `excerpt` its sentence.
    """

    level: Level
    support: Score
    marks: list[Mark] = Field(default_factory=list)
    nearest: str = ""
    excerpt: str = ""


class Calibration(NamedTuple):
    """Where a rule's threshold comes from: the data, the day, and the share of right claims that it marks there."""

    threshold: float
    data: str
    date: str
    false_alarms: float


class DraftClaim(NamedTuple):
    """A statement of a draft under its place there, with the passages that it names."""

    place: str
    claim: Claim
    passages: tuple[PassageText, ...]


def claims_of(draft: Draft, passages: Sequence[Passage]) -> list[DraftClaim]:
    """The draft's statements in reading order; `passages` carry their texts."""
    texts = {passage.id: passage_text(passage) for passage in passages}
    return [
        DraftClaim(
            at.place,
            Claim(
                text=at.sentence.text,
                kind=at.sentence.kind,
                expression=at.sentence.basis if at.sentence.kind == "derived" else "",
                cells="; ".join(filter(None, at.row.texts())) if at.row else "",
                quoted=bool(at.sentence.quotes) and at.sentence.kind == "stated",
                refuted="; ".join(
                    WORDS[detect_language(at.sentence.text)].refuted[each.rule].format(detail=each.detail)
                    for each in at.sentence.refuted
                ),
            ),
            tuple(texts[name] for name in dict.fromkeys(at.sentence.passages) if name in texts),
        )
        for at in draft.placed_sentences()
    ]


def passage_text(passage: Passage) -> PassageText:
    return PassageText(passage.id, passage.title, passage.text, passage.speaks_to_ai)


_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+(?:[.,]\d+)*")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")
# Hiragana are mostly endings and particles, which another wording changes; names in Latin letters and figures stay.
_LATIN_WEIGHT = 2.0
# At 0 for both 56 of the 100 true sentences of benchmarks/citations_ja.toml are shown as supported where 50 are so, but
# also half of those with another verb, such as 送る for 受け取る.
_MIXED_WEIGHT, _HIRAGANA_WEIGHT = 0.3, 0.1
# Neighbouring sentences. With 2 a point less of experts' right citations is taken, with 5 two more changed sentences of
# benchmarks/citations_*.toml are shown as supported.
_WINDOW = 3
UNMET_PAIRS = 0.5
"""The share of a Japanese word's pairs of characters over which its passages do not hold it."""
_JAPANESE_NAME = re.compile(r"[\u3400-\u9fff々]{2,}|[\u30a1-\u30ff]{2,}")


class Strength(NamedTuple):
    """Of a claim the `share` that its passages say, 0.0 to 1.0, and which sentence of which passage says most of it.

    `lift`: the share above what passages of this length hold of most sentences about their subject, 0.0 to 1.0.
    `nearest` is the passage's id. `unmet`: Japanese words of which they have hardly a pair of characters.
    """

    share: float
    lift: float
    nearest: str
    sentence: str
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
    target = _target(claim, across=all(text.japanese != japanese for text in texts))
    if not target.terms:
        return Strength(0.0, 0.0, passages[0].id, passages[0].title)
    matches = [_meets(target, text) for text in texts]
    whole = float(target.shares @ np.maximum.reduce([each.max(axis=1) for each in matches]))
    share = (whole + max(float((target.shares @ _windows(each)).max()) for each in matches)) / 2
    growth = _FLOOR_GROWTH * math.log(max(1, *(text.terms for text in texts)) / _FLOOR_TERMS)
    floor = min(_HIGHEST_FLOOR, max(0.0, _FLOOR[japanese] + growth))
    by_sentence = [target.shares @ each for each in matches]
    place = max(range(len(texts)), key=lambda place: float(by_sentence[place].max()))
    sentence = texts[place].sentences[int(by_sentence[place].argmax())]
    unmet = _unmet(claim, texts) if japanese else ()
    return Strength(share, max(0.0, (share - floor) / (1 - floor)), passages[place].id, sentence, unmet)


def _unmet(claim: str, texts: Sequence[_Text]) -> tuple[str, ...]:
    vocabulary = {term for text in texts for term in text.places}
    runs = dict.fromkeys(_JAPANESE_NAME.findall(claim))
    return tuple(run for run in runs if _unknown_share(run, vocabulary) > UNMET_PAIRS)


def _unknown_share(run: str, vocabulary: Collection[str]) -> float:
    pairs = [first + second for first, second in pairwise(run)]
    return sum(pair not in vocabulary for pair in pairs) / len(pairs)


# What passages hold of sentences that they do not say, on the very same subject: the median over experts' answers
# (data/citations), for passages of 100 terms and for five times as many. None of them is near the length at which the
# highest floor begins, some twenty thousand terms of English: whole documents of graphs alone are.
_FLOOR = {False: 0.38, True: 0.16}
_FLOOR_GROWTH = 0.06
_FLOOR_TERMS = 100
_HIGHEST_FLOOR = 0.7


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
