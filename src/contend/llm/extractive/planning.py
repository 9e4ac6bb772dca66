"""The supervisor's plan: the question in parts, and queries made of its key terms."""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from contend.llm.extractive.asked import Values
from contend.models.record import Language
from contend.text import clean, detect_language, shorten, terms

_MOST = 6
_LINE = 200
_LEAST_TERMS = 2
_MOST_KEY_TERMS = 12
_POINTS_WANTED = 4


class PastRound(Values):
    uncovered: list[str] = []


class PlanValues(Values):
    theme: str
    instructions: str = ""
    query_hints: list[str] = []
    history: list[PastRound] = []


_QUESTION_WORD = r"(?:why|how|what|which|when|where|who|whether|does|do|is|are|can|should)"
_PARTS = re.compile(
    rf"[;；。？！\n]+|[?!]+(?:\s|$)|[,、，]?\s+(?:and|or|but)\s+(?={_QUESTION_WORD}\b)|,\s+(?={_QUESTION_WORD}\b)",
    re.IGNORECASE,
)
_JAPANESE_PARTS = re.compile("(?<=か)[、，と]|および|及び|ならびに|並びに|(?<=[一-鿿ァ-ヶー])(?:と|や|、)(?=[一-鿿ァ-ヶー])")
_OPENING = re.compile(
    r"(?:please\s+)?(?:(?:explain|describe|tell me|show|compare|summarize|discuss)\s+)?(?:about\s+)?"
    r"(?:(?:why|how|what|which|when|where|who|whether)\b\s*(?:much|many|long|well)?\s*)?"
    r"(?:(?:do|does|did|is|are|was|were|can|could|should|would|will|has|have|am)\b\s*)?(?:(?:we|i|you|one)\s+)?"
    r"(?:(?:the|a|an|there)\s+)?",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"(?:とは)?(?:何|なに|なん|なぜ|どう|どのよう|いつ|どこ|誰)?(?:ですか|でしょうか|なのか|のか|か)?[？?。.!！\s]*\Z"
    r"|(?:について|に関して)?(?:教えて|説明して|調べて|まとめて).*\Z"
)
_TRAILING = re.compile(r"(?:のは|とは|は|が|を|に|の|で)\Z")
_SURFACE = re.compile("[一-鿿々〆]+|[ァ-ヶー]{2,}|(?:(?![ぁ-ヶー一-鿿])\\w)+(?:[-.'’](?:(?![ぁ-ヶー一-鿿])\\w)+)*")
_ASKS = re.compile(r"[?？]\s*\Z")

_ASPECTS: dict[Language, dict[str, list[str]]] = {
    "en": {
        r"\bwhy\b|\bcauses?\b|\breasons?\b": ["Causes of {}", "Evidence and examples: {}", "Consequences and remedies: {}"],
        r"\bhow (?:much|many|long|often)\b": ["Figures: {}", "What the figures depend on: {}", "Definition: {}"],
        r"\bhow\b": ["Steps and parts: {}", "Conditions and settings: {}", "Limits and failures: {}"],
        r"\b(?:versus|vs\.?|compared?|differences?|better)\b": ["Differences: {}", "Strengths and weaknesses: {}", "Figures: {}"],
        r"": ["Definition: {}", "Purpose and use: {}", "Limits and risks: {}"],
    },
    "ja": {
        "なぜ|原因|理由|どうして": ["{}の原因", "{}の事例と根拠", "{}の影響と対策"],
        "いくつ|どれ(?:くらい|だけ)|何(?:人|年|円|個|回)": ["{}の数値", "{}を決める条件", "{}の定義"],
        "どう|どのよう|方法|仕組み|手順": ["{}の仕組みと手順", "{}の条件と設定", "{}の限界と失敗"],
        "違い|比較|どちら|対して": ["{}の違い", "{}の長所と短所", "{}の数値"],
        "": ["{}の定義", "{}の目的と使い方", "{}の限界と課題"],
    },
}
_PLANNED: dict[Language, str] = {
    "en": "Planned by rule, without a language model: {points} points from the question, {queries} queries from its key terms ({terms}).",
    "ja": "言語モデルを使わず規則で立てた計画。問いから{points}個の調査項目、キーワード({terms})から{queries}個の検索語を作った。",
}


def plan(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """Points: the question's parts, questions among the instructions, its aspects. Queries: see `_queries`."""
    asked = PlanValues.model_validate(values)
    points = _points(asked)
    queries = _queries(asked, points)
    key = shorten(" ".join(key_terms(asked.theme)), 300)
    told = _PLANNED[language].format(points=len(points), queries=len(queries), terms=key)
    return {"investigation_points": points, "search_queries": queries, "plan_text": told}


def key_terms(text: str, most: int = _MOST_KEY_TERMS) -> list[str]:
    """The text's words that say something, as they stand in it, in order and without repeats."""
    words = (word for word in _SURFACE.findall(clean(text)) if terms(word) or detect_language(word) == "ja")
    return list({word.casefold(): word for word in words}.values())[:most]


def subject_of(question: str) -> str:
    """What a question is about: without its question words and end marks."""
    plain = clean(question, single_line=True)
    if detect_language(plain) == "ja":
        plain = _ENDING.sub("", plain, count=1)
        return _TRAILING.sub("", plain).strip(" 、。") or plain
    opening = _OPENING.match(plain)
    return plain[opening.end() if opening else 0 :].rstrip(" ?!.。？！") or plain


def parts_of(question: str) -> list[str]:
    """The questions that one question joins, each with at least two terms of its own; [] where it is one."""
    pieces = [piece for part in _PARTS.split(clean(question)) for piece in _japanese_parts(part)]
    parts = [piece.strip(" 、,。.") for piece in pieces]
    parts = [part for part in parts if len(set(terms(part))) >= _LEAST_TERMS]
    return parts if len(parts) > 1 else []


def _japanese_parts(part: str) -> list[str]:
    """Parts joined by 「と」 and the like share the rest of the sentence, so each keeps what follows the last."""
    if detect_language(part) != "ja":
        return [part]
    pieces = _JAPANESE_PARTS.split(part)
    last = pieces[-1]
    noun = re.match("[一-鿿ァ-ヶー]+", last)
    rest = last[noun.end() :] if noun else ""
    return [piece if piece.endswith("か") else piece + rest for piece in pieces[:-1]] + [last]


def _points(asked: PlanValues) -> list[str]:
    parts = parts_of(asked.theme)
    questions = [line.strip(" -*・\t") for line in asked.instructions.splitlines() if _ASKS.search(line)]
    named = _lines([*(parts or [asked.theme]), *questions])
    subject = shorten(subject_of(asked.theme), _LINE - 40)
    aspects = [aspect.format(subject) for aspect in _aspects(asked.theme)]
    return _lines([*named, *aspects[: max(1, _POINTS_WANTED - len(named))]])


def _aspects(theme: str) -> list[str]:
    kinds = _ASPECTS[detect_language(theme)]
    return next(aspects for shape, aspects in kinds.items() if re.search(shape, theme, re.IGNORECASE))


def _queries(asked: PlanValues, points: list[str]) -> list[str]:
    """The question, what the last round left uncovered, key terms, the team's hints, the parts, the instructions' terms."""
    key = " ".join(key_terms(asked.theme))
    uncovered = asked.history[-1].uncovered if asked.history else []
    hints = [f"{key} {hint}" for hint in asked.query_hints]
    wishes = [f"{key} {' '.join(key_terms(asked.instructions, 6))}"] if asked.instructions.strip() else []
    spare = [" ".join(key_terms(point)) for point in points]
    return _lines(chain([asked.theme], uncovered, [key], hints, parts_of(asked.theme), wishes, spare))


def _lines(texts: Iterable[str]) -> list[str]:
    """At most six different lines of 2 to 200 characters."""
    lines = [shorten(clean(text, single_line=True), _LINE) for text in texts]
    different = {" ".join(sorted(set(terms(line)))) or line.casefold(): line for line in reversed(lines) if len(line) > 1}
    return list(reversed(different.values()))[:_MOST]
