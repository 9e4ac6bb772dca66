"""The writer: whole sentences out of the passages, chosen by relevance and difference, each with where it stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from contend.checks.injection import Planted
from contend.errors import ReplyError
from contend.llm.extractive.asked import PassageValues, WriteValues
from contend.llm.extractive.relevance import Relevance
from contend.llm.extractive.sentences import quotes
from contend.models.record import Language
from contend.points import uncovered_points
from contend.retrieval import HybridIndex, mmr
from contend.text import detect_language, squeezed, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SMALL, _LARGE = 12, 13
"""Up to 12 sentences the best are taken whatever their fit; from 14 on the summary has three."""

_FINDINGS = (3, 6)
_ANALYSIS_MOST = 12
_ANALYSIS_WANTED = 8
_SEEDS = 7
_DOCUMENTS = 3
_RELEVANT = 0.3
"""Of the best sentence's fit: below it a sentence only serves where there is too little else."""

_SAME = 0.9
_OTHER_LANGUAGE = 0.4
"""A sentence in another language than the report's counts that much less."""

_KEPT = 1.15
"""A sentence of the best draft so far counts that much more."""


class Candidate(NamedTuple):
    """A sentence on offer. `place` is its place among all sentences of its first passage."""

    text: str
    numbers: tuple[int, ...]
    document: str
    place: int
    weight: float
    back: bool


@dataclass(frozen=True)
class Offer:
    """The candidates and how well each fits the question, each point, and all in all; 0.0 to about 1.0."""

    candidates: list[Candidate]
    vectors: "NDArray[np.float32]"
    theme: list[float]
    points: list[list[float]]
    fits: list[float]

    def relevant(self) -> list[int]:
        """The candidates that say something of the question, best first."""
        best = max(self.fits)
        return [place for place in self.ordered() if 0 < self.fits[place] >= _RELEVANT * best]

    def ordered(self) -> list[int]:
        return sorted(range(len(self.fits)), key=lambda place: (-self.fits[place], place))

    def pick(self, pool: Sequence[int], scores: Sequence[float], most: int) -> list[int]:
        """At most `most` of the pool, by score and difference."""
        places = mmr(self.vectors[list(pool)], [scores[place] for place in pool], most)
        return [pool[place] for place in places]


class Parts(NamedTuple):
    summary: list[int]
    findings: list[int]
    analysis: list[int]


def write(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """The draft: every sentence verbatim from a passage, with that passage's number.

    Raises:
        ReplyError: the passages hold no whole sentence.
    """
    asked = WriteValues.model_validate(values)
    candidates = _candidates(asked.passages, language)
    if not candidates:
        raise ReplyError(
            f"the {len(asked.passages)} passages hold no whole sentence; "
            "add documents or sources, or ask a wider question"
        )
    offer = _offer(asked, candidates)
    parts = _parts(offer, asked)
    said = {name: [_said(candidates[place]) for place in places] for name, places in parts._asdict().items()}
    return {**said, "limits": [], "bullets": []}


def _said(candidate: Candidate) -> dict[str, object]:
    return {"text": candidate.text, "sources": list(candidate.numbers[:3])}


def _candidates(passages: Iterable[PassageValues], language: Language) -> list[Candidate]:
    """The quotable sentences in reading order, without orders; one that several passages hold names them all."""
    found: dict[str, Candidate] = {}
    passages = [*passages]
    planted = Planted((passage.title, passage.text) for passage in passages)
    for passage in passages:
        for quote in (quote for quote in quotes(passage.text) if not planted.in_sentence(quote.text)):
            first = found.get(squeezed(quote.text))
            if first is None:
                weight = quote.weight * (1.0 if detect_language(quote.text) == language else _OTHER_LANGUAGE)
                first = Candidate(quote.text, (), passage.title, quote.place, weight, quote.back)
            numbers = tuple(dict.fromkeys((*first.numbers, passage.number)))
            found[squeezed(quote.text)] = first._replace(numbers=numbers)
    return list(found.values())


def _offer(asked: WriteValues, candidates: list[Candidate]) -> Offer:
    index = Relevance([candidate.text for candidate in candidates])
    worth = _worth(asked, candidates)
    theme = _times(index.to(asked.theme), worth)
    points = [_times(index.to(point), worth) for point in asked.points]
    fits = [
        0.55 * near + 0.45 * max((point[place] for point in points), default=near) for place, near in enumerate(theme)
    ]
    draft = squeezed(asked.best_draft)
    kept = [_KEPT if draft and squeezed(candidate.text) in draft else 1.0 for candidate in candidates]
    return Offer(candidates, index.vectors, theme, points, _times(fits, kept))


def _worth(asked: WriteValues, candidates: Sequence[Candidate]) -> list[float]:
    """How well a sentence stands alone, and half of it from how well its passage as a whole fits the question."""
    of_passage = _passage_fits(asked)
    return [candidate.weight * (0.5 + 0.5 * of_passage[candidate.numbers[0]]) for candidate in candidates]


def _times(values: Sequence[float], factors: Sequence[float]) -> list[float]:
    return [value * factor for value, factor in zip(values, factors, strict=True)]


def _passage_fits(asked: WriteValues) -> dict[int, float]:
    """How well each passage as a whole fits the question: its sentences need not repeat the question's words."""
    index = HybridIndex([f"{passage.title}\n{passage.text}" for passage in asked.passages])
    scores = {found.index: found.score for found in index.search(asked.theme, len(asked.passages))}
    return {passage.number: scores.get(place, 0.0) for place, passage in enumerate(asked.passages)}


def _parts(offer: Offer, asked: WriteValues) -> Parts:
    pool = _different(offer, offer.ordered())[: max(len(offer.relevant()), _SMALL)]
    alone = [place for place in pool if not offer.candidates[place].back] or pool
    summary = offer.pick(alone, offer.theme, max(1, min(3 if len(pool) > _LARGE else 2, len(pool) // 3)))
    rest = [place for place in pool if place not in summary]
    findings = _findings(offer, rest, asked, most=max(1, min(_FINDINGS[1], len(rest) // 2))) or summary
    rest = [place for place in rest if place not in findings]
    analysis = _analysis(offer, rest, spoken=[*summary, *findings])
    return Parts(summary, findings, _grouped(offer, analysis or findings))


def _different(offer: Offer, places: Sequence[int]) -> list[int]:
    """Without sentences that nearly repeat a better one."""
    kept: list[int] = []
    held: list[set[str]] = []
    for place in places:
        own = set(terms(offer.candidates[place].text))
        if not any(len(own & other) >= _SAME * max(len(own), len(other), 1) for other in held):
            kept.append(place)
            held.append(own)
    return kept


def _findings(offer: Offer, pool: Sequence[int], asked: WriteValues, *, most: int) -> list[int]:
    """The best answer to each point, those first that the best draft left open; then what else fits and differs."""
    chosen: list[int] = []
    for point in _open_first(asked):
        answers = [place for place in pool if offer.points[point][place] > 0 and place not in chosen]
        if answers and len(chosen) < most:
            chosen.append(max(answers, key=lambda place: (_answer(offer, asked, point, place), -place)))
    alone = [place for place in pool if place not in chosen and not offer.candidates[place].back]
    return chosen + offer.pick(alone, offer.fits, max(0, min(_FINDINGS[0], most) - len(chosen)))


def _answer(offer: Offer, asked: WriteValues, point: int, place: int) -> float:
    """How well a sentence answers a point, counting most what sets the point apart from the question."""
    own = set(terms(asked.points[point])) - set(terms(asked.theme))
    special = len(own & set(terms(offer.candidates[place].text))) / len(own) if own else 0.0
    return offer.points[point][place] * (0.5 if offer.candidates[place].back else 1.0) + special


def _open_first(asked: WriteValues) -> list[int]:
    missing = set(uncovered_points(asked.points, asked.best_draft)) if asked.best_draft else set()
    return sorted(range(len(asked.points)), key=lambda place: (asked.points[place] not in missing, place))


def _analysis(offer: Offer, pool: Sequence[int], *, spoken: Sequence[int]) -> list[int]:
    """Several documents, what fits and differs, and the sentences that go on from there."""
    alone = [place for place in pool if not offer.candidates[place].back]
    chosen = _more_documents(offer, alone, spoken)
    seeds = offer.pick([place for place in alone if place not in chosen], offer.fits, _SEEDS - len(chosen))
    chosen += seeds
    for place in [*chosen, *spoken]:
        after = _next(offer, place)
        if after is not None and after in pool and after not in chosen and len(chosen) < _ANALYSIS_MOST:
            chosen.append(after)
    spare = [place for place in alone if place not in chosen]
    chosen += spare[: max(0, _ANALYSIS_WANTED - len(chosen))]
    return [place for place in chosen if not offer.candidates[place].back or _before(offer, place) in chosen]


def _more_documents(offer: Offer, pool: Sequence[int], spoken: Sequence[int]) -> list[int]:
    """The best sentence of each document not cited yet, until three are."""
    cited = {offer.candidates[place].document for place in spoken}
    chosen: list[int] = []
    for place in sorted(pool, key=lambda place: (-offer.fits[place], place)):
        if len(cited) >= _DOCUMENTS:
            break
        if offer.candidates[place].document not in cited:
            cited.add(offer.candidates[place].document)
            chosen.append(place)
    return chosen


def _grouped(offer: Offer, places: Sequence[int]) -> list[int]:
    """By document, the best first, and within it as it reads there."""
    best: dict[str, float] = {}
    for place in places:
        document = offer.candidates[place].document
        best[document] = max(best.get(document, 0.0), offer.fits[place])
    return sorted(
        places, key=lambda place: (-best[offer.candidates[place].document], offer.candidates[place].document, place)
    )


def _next(offer: Offer, place: int) -> int | None:
    return place + 1 if place + 1 < len(offer.candidates) and _before(offer, place + 1) == place else None


def _before(offer: Offer, place: int) -> int | None:
    """The candidate that stands right before this one in the same passage."""
    if place == 0:
        return None
    own, other = offer.candidates[place], offer.candidates[place - 1]
    return place - 1 if own.numbers[0] == other.numbers[0] and own.place == other.place + 1 else None
