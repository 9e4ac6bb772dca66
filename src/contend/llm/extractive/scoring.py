"""Metrics by rule. More answers score higher; repeats and padding never do, for they add to flaws and to no merit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from contend.llm.extractive.asked import MetricValues
from contend.llm.extractive.relevance import meaning
from contend.llm.extractive.sentences import is_whole, length_of, reads_as_line
from contend.models.record import Language
from contend.points import COVERED, answered_share, asks, body_blocks
from contend.retrieval import default_embedder
from contend.text import (
    detect_language,
    shorten,
    split_blocks,
    split_sentences,
    squeezed,
    terms,
    without_item_mark,
)

_FULL_SIZE = 6
"""From this many sentences on the question a text counts as a report, below it as a share of one."""

_EVIDENCE_CHARACTERS = 200
_MOST_EVIDENCE = 3
_FULL_TERMS: dict[Language, int] = {"en": 3, "ja": 8}
_LEAST_SHARED: dict[Language, int] = {"en": 1, "ja": 3}
"""How many terms a sentence on the question shares with it, at least and at best; a Japanese word makes several."""

_LENGTHS: dict[Language, tuple[int, int]] = {"en": (6, 45), "ja": (15, 130)}
_SECTIONS = 3

_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "nothing": "No sentence is about the question. Improve: answer it in whole sentences.",
        "coverage": "{answered} of {points} points are answered, {share} % of their terms are found. "
        "Weakest: {weakest}. Improve: search for the weakest points and quote an answer to each.",
        "covered": "All {points} points are answered, {share} % of their terms are found.",
        "relevance": "{near} of {all} sentences are close to the question, on average {share} %; {size} of {full} "
        "sentences that make a report. Improve: leave out what is far from the question.",
        "clarity": "{all} sentences: {repeated} repeated, {broken} broken, {odd} too short or too long, {jumps} "
        "without a link to the one before; {sections} sections. Improve: {improve}.",
        "other": "No rule of its own for {metric}: the mean of coverage ({coverage} %) and relevance ({relevance} %). "
        "Improve the lower one.",
        "repeated": "say each thing once",
        "broken": "leave out broken sentences",
        "odd": "prefer sentences of 6 to 45 words",
        "jumps": "put together what belongs together",
        "none": "nothing that this rule sees",
    },
    "ja": {
        "nothing": "問いについて述べた文がない。改善: 完全な文で問いに答える。",
        "coverage": "{points}項目のうち{answered}項目に答え、語の{share}%がある。"
        "最も弱い項目: {weakest}。改善: 弱い項目を検索し、それぞれに答えを引用する。",
        "covered": "{points}項目すべてに答え、語の{share}%がある。",
        "relevance": "{all}文のうち{near}文が問いに近く、平均{share}%。"
        "報告に要る{full}文のうち{size}文。改善: 問いから遠い文を省く。",
        "clarity": "{all}文: 重複{repeated}、不完全{broken}、長さの不適{odd}、"
        "前とつながらない文{jumps}。節は{sections}。改善: {improve}。",
        "other": "{metric}には固有の規則がないため、"
        "網羅({coverage}%)と関連({relevance}%)の平均。改善: 低い方を上げる。",
        "repeated": "同じことは一度だけ述べる",
        "broken": "不完全な文を省く",
        "odd": "15字から130字の文にする",
        "jumps": "関係のある文を近くに置く",
        "none": "この規則で見える点はない",
    },
}


class Verdict(NamedTuple):
    """`merit` 0.0 to 1.0; `evidence` sentences of the submission."""

    merit: float
    reason: str
    evidence: list[str]


class Sentence(NamedTuple):
    """A sentence of the submission. `about` 0.0 to 1.0: how close it is to the question or one of its points.

    `answers`: it is whole, on the question and no question itself.
    """

    text: str
    whole: bool
    answers: bool
    about: float


@dataclass(frozen=True)
class Judged:
    """A submission as the metrics read it."""

    asked: MetricValues
    language: Language

    @cached_property
    def sentences(self) -> list[Sentence]:
        """All its sentences but the question and its points themselves."""
        given = {squeezed(query) for query in self._queries}
        blocks = [split_sentences(without_item_mark(block)) for block in body_blocks(self.asked.submission)]
        lines = {block[0] for block in blocks if len(block) == 1}
        texts = [text for block in blocks for text in block if squeezed(text) not in given]
        vectors = default_embedder().embed([self.asked.user_query, *texts])
        cosines = [float(row @ vectors[0]) for row in vectors[1:]]
        return [self._read(text, cosine, line=text in lines) for text, cosine in zip(texts, cosines, strict=True)]

    @cached_property
    def distinct(self) -> list[Sentence]:
        different: dict[str, Sentence] = {}
        for sentence in self.sentences:
            different.setdefault(squeezed(sentence.text), sentence)
        return list(different.values())

    @cached_property
    def answers(self) -> list[Sentence]:
        """The only sentences that add to a score."""
        return [sentence for sentence in self.distinct if sentence.answers]

    @property
    def size(self) -> float:
        return min(1.0, len(self.answers) / _FULL_SIZE)

    @property
    def _queries(self) -> list[str]:
        return [self.asked.user_query, *self.asked.points]

    def _read(self, text: str, cosine: float, *, line: bool) -> Sentence:
        language = detect_language(text)
        own, near = set(terms(text)), meaning(cosine, language)
        wanted = [set(terms(query)) for query in self._queries]
        lexical = max(min(1.0, len(own & want) / max(1, min(len(want), _FULL_TERMS[language]))) for want in wanted)
        shared = max(len(own & want) for want in wanted) >= _LEAST_SHARED[language]
        whole = is_whole(text, loose=line and reads_as_line(text))
        answers = whole and (shared or near >= 1.0) and not asks(text)
        return Sentence(text, whole, answers, 0.6 * lexical + 0.4 * near if answers else 0.0)


def score(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """One metric's verdict; 0 for a text without one whole sentence on the question, whatever the metric."""
    judged = Judged(MetricValues.model_validate(values), language)
    metric = _METRICS.get(judged.asked.metric, _other)
    verdict = metric(judged) if judged.answers else Verdict(0.0, _SAID[language]["nothing"], [])
    evidence = [_quote(text) for text in verdict.evidence[:_MOST_EVIDENCE]]
    return {"reason": shorten(verdict.reason, 600), "evidence": evidence, "percent": round(100 * verdict.merit)}


def _coverage(judged: Judged) -> Verdict:
    """The mean over points (the question's terms without a plan) of the share found in all and in one sentence."""
    points = judged.asked.points or [judged.asked.user_query]
    text = "\n".join(sentence.text for sentence in judged.answers)
    found = [answered_share(point, text) for point in points]
    best = [max(judged.answers, key=lambda sentence: answered_share(point, sentence.text)) for point in points]
    merits = [
        (share + min(1.0, answered_share(point, answer.text) / COVERED)) / 2
        for point, share, answer in zip(points, found, best, strict=True)
    ]
    answered = sum(share >= COVERED for share in found)
    weakest = min(range(len(points)), key=lambda place: merits[place])
    reason = _SAID[judged.language]["covered" if answered == len(points) else "coverage"].format(
        answered=answered,
        points=len(points),
        share=_percent(sum(found) / len(found)),
        weakest=f"“{shorten(points[weakest], 120)}” ({_percent(found[weakest])} %)",
    )
    return Verdict(sum(merits) / len(merits), reason, list(dict.fromkeys(answer.text for answer in best)))


def _relevance(judged: Judged) -> Verdict:
    """The mean closeness of the different sentences to the question, for a text of full size."""
    mean = sum(sentence.about for sentence in judged.distinct) / len(judged.distinct)
    near = [sentence for sentence in judged.answers if sentence.about >= mean]
    reason = _SAID[judged.language]["relevance"].format(
        near=len(judged.answers),
        all=len(judged.distinct),
        share=_percent(mean),
        size=min(_FULL_SIZE, len(judged.answers)),
        full=_FULL_SIZE,
    )
    closest = sorted(near, key=lambda sentence: -sentence.about)
    return Verdict(mean**0.5 * judged.size, reason, [sentence.text for sentence in closest])


def _clarity(judged: Judged) -> Verdict:
    """Full marks less the flaws, each as a share of the sentences that say something."""
    worth = min(2 * _FULL_SIZE, max(_FULL_SIZE, len(judged.answers)))
    flaws = {
        "repeated": _repeated(judged.sentences),
        "broken": [sentence.text for sentence in judged.distinct if not sentence.whole],
        "odd": [sentence.text for sentence in judged.distinct if not _readable(sentence.text)],
        "jumps": [after.text for before, after in pairwise(judged.distinct) if not _linked(before, after)],
    }
    weights = {"repeated": 0.35, "broken": 0.35, "odd": 0.15, "jumps": 0.1}
    lost = sum(weights[name] * min(1.0, len(found) / worth) for name, found in flaws.items())
    blocks = split_blocks(judged.asked.submission)
    # A heading above nothing is no section: repeats leave such headings.
    sections = sum(block.startswith("## ") and not after.startswith("#") for block, after in pairwise(blocks))
    lost += 0.06 * (1 - min(1.0, sections / _SECTIONS))
    worst = max(flaws, key=lambda name: weights[name] * len(flaws[name]))
    said = _SAID[judged.language]
    reason = said["clarity"].format(
        all=len(judged.sentences),
        sections=sections,
        improve=said[worst if flaws[worst] else "none"],
        **{name: len(found) for name, found in flaws.items()},
    )
    return Verdict(max(0.0, 1 - lost) * judged.size, reason, flaws[worst])


def _other(judged: Judged) -> Verdict:
    coverage, relevance = _coverage(judged), _relevance(judged)
    reason = _SAID[judged.language]["other"].format(
        metric=judged.asked.metric, coverage=_percent(coverage.merit), relevance=_percent(relevance.merit)
    )
    return Verdict((coverage.merit + relevance.merit) / 2, reason, coverage.evidence)


_METRICS: dict[str, Callable[[Judged], Verdict]] = {
    "clarity_coherence": _clarity,
    "coverage": _coverage,
    "relevance": _relevance,
}


def _repeated(sentences: Sequence[Sentence]) -> list[str]:
    seen: set[str] = set()
    again = []
    for sentence in sentences:
        key = squeezed(sentence.text)
        if key in seen:
            again.append(sentence.text)
        seen.add(key)
    return again


def _readable(text: str) -> bool:
    language = detect_language(text)
    least, most = _LENGTHS[language]
    return least <= length_of(text, language) <= most


def _linked(before: Sentence, after: Sentence) -> bool:
    return bool(set(terms(before.text)) & set(terms(after.text)))


def _quote(text: str) -> str:
    """A sentence's beginning, verbatim."""
    return text if len(text) <= _EVIDENCE_CHARACTERS else shorten(text, _EVIDENCE_CHARACTERS).removesuffix("…")


def _percent(share: float) -> int:
    return round(100 * share)
