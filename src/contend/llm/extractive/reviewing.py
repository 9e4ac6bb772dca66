"""The reviewer: does the draft answer each point?"""

from typing import Any

from contend.llm.extractive.asked import ReviewValues
from contend.models.record import Language
from contend.points import uncovered_points
from contend.text import shorten
from contend.theme import key_terms

_MOST_QUERIES = 3

_SAID: dict[Language, dict[str, str]] = {
    "en": {"missing": "Not covered yet: {}.", "full": "Every point is covered."},
    "ja": {"missing": "まだ扱われていない項目: {}。", "full": "すべての項目が扱われている。"},
}


def review(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """Accept what covers all points. What is missing is searched for once: the same search finds the same again."""
    asked = ReviewValues.model_validate(values)
    missing = uncovered_points(asked.points, asked.draft)
    said = _SAID[language]
    feedback = said["missing"].format("; ".join(missing)) if missing else said["full"]
    accept = not missing or asked.iteration > 1
    queries = [] if accept else [_query(point) for point in missing[:_MOST_QUERIES]]
    return {"feedback": shorten(feedback, 800), "more_queries": queries, "accept": accept}


def _query(point: str) -> str:
    words = " ".join(key_terms(point))
    return shorten(words if len(words) > 1 else point, 200)
