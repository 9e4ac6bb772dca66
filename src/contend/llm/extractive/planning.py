"""The supervisor's plan: the question in parts, and queries made of its key terms."""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from contend.llm.extractive.asked import PlanValues
from contend.models.record import Language
from contend.text import clean, detect_language, shorten, terms
from contend.theme import key_terms, parts_of, stated, subject_of

_MOST = 6
_LINE = 200
_POINTS_WANTED = 4

_ASKS = re.compile(r"[?？]\s*\Z")
_ASPECTS: dict[Language, dict[str, list[str]]] = {
    "en": {
        r"\bwhy\b|\bcauses?\b|\breasons?\b": [
            "Causes",
            "Evidence and examples",
            "Consequences and remedies",
        ],
        r"\bhow (?:much|many|long|often)\b": ["Figures", "What the figures depend on", "Definition"],
        r"\bhow\b": ["Steps and parts", "Conditions and settings", "Limits and failures"],
        r"\b(?:versus|vs\.?|compared?|differences?|better)\b": [
            "Differences",
            "Strengths and weaknesses",
            "Figures",
        ],
        r"\A(?:what (?:is|are)\b|[^?]*\Z)": ["Definition", "Purpose and use", "Limits and risks"],
        r"": ["Conditions and exceptions", "Evidence and examples"],
    },
    "ja": {
        "なぜ|原因|理由|どうして": ["原因", "事例と根拠", "影響と対策"],
        "いくつ|どれ(?:くらい|だけ)|何(?:人|年|円|個|回)": ["数値", "数値を決める条件", "定義"],
        "どう|どのよう|方法|仕組み|手順": ["仕組みと手順", "条件と設定", "限界と失敗"],
        "違い|比較|どちら|対して": ["違い", "長所と短所", "数値"],
        "とは|について|\\A[^か？?]*\\Z": ["定義", "目的と使い方", "限界と課題"],
        "": ["条件と例外", "根拠と事例"],
    },
}
_PLANNED: dict[Language, str] = {
    "en": "Planned by rule, without a language model: {points} points from the question, {queries} queries from its "
    "key terms ({terms}).",
    "ja": "言語モデルを使わず規則で立てた計画。問いから{points}個の調査項目、"
    "キーワード({terms})から{queries}個の検索語を作った。",
}


def plan(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """Points: the question's parts, questions among the instructions, its aspects. Queries: see `_queries`."""
    asked = PlanValues.model_validate(values)
    points = _points(asked)
    queries = _queries(asked, points)
    key = shorten(" ".join(key_terms(asked.theme)), 300)
    told = _PLANNED[language].format(points=len(points), queries=len(queries), terms=key)
    return {"investigation_points": points, "search_queries": queries, "plan_text": told}


def _points(asked: PlanValues) -> list[str]:
    """The question's parts, or the question itself with its aspects; and the questions among the instructions."""
    parts = parts_of(asked.theme)
    questions = [line.strip(" -*・\t") for line in asked.instructions.splitlines() if _ASKS.search(line)]
    subject = shorten(subject_of(asked.theme), _LINE // 2)
    aspects = [] if parts else [f"{aspect}: {subject}" for aspect in _aspects(asked.theme)]
    points = [stated(point) for point in (*(parts or [asked.theme]), *questions)]
    return _lines([*points, *aspects[: max(0, _POINTS_WANTED - 1 - len(questions))]])


def _aspects(theme: str) -> list[str]:
    kinds = _ASPECTS[detect_language(theme)]
    return next(aspects for shape, aspects in kinds.items() if re.search(shape, theme, re.IGNORECASE))


def _queries(asked: PlanValues, points: list[str]) -> list[str]:
    """First the question and what the last round left open, then variants: key terms, hints, parts, instructions."""
    key = " ".join(key_terms(asked.theme))
    uncovered = asked.history[-1].uncovered if asked.history else []
    hints = [f"{key} {hint}" for hint in asked.query_hints]
    wishes = [f"{key} {' '.join(key_terms(asked.instructions, 6))}"] if asked.instructions.strip() else []
    spare = [" ".join(key_terms(point)) for point in points]
    return _lines(chain([asked.theme], uncovered, [key], hints, parts_of(asked.theme), wishes, spare))


def _lines(texts: Iterable[str]) -> list[str]:
    """At most six different lines of 2 to 200 characters; the same terms in another order are no difference."""
    lines: dict[tuple[str, ...], str] = {}
    for text in texts:
        line = shorten(clean(text, single_line=True), _LINE)
        if len(line) > 1:
            lines.setdefault(tuple(sorted(set(terms(line)))) or (line.casefold(),), line)
    return list(lines.values())[:_MOST]
