"""The reviewer: does the draft answer each point? And the measure of that, which scoring shares."""

import re
from typing import Any

from contend.llm.extractive.asked import ReviewValues
from contend.llm.extractive.questions import key_terms, stated
from contend.llm.extractive.sentences import without_marks
from contend.models.record import Language
from contend.models.research import HEADINGS
from contend.text import shared_content, shorten, split_blocks

COVERED = 0.6
"""The share of a point's terms that an answer holds."""

_MOST_QUERIES = 3
_REFERENCES = tuple(f"## {named.references}" for named in HEADINGS.values())
_NO_TEXT = re.compile(r"#{1,6}\s|\*Generated at|```|~~~|\||[-*_=]{3,}\Z")

_SAID: dict[Language, dict[str, str]] = {
    "en": {"missing": "Not covered yet: {}.", "full": "Every point is covered."},
    "ja": {"missing": "まだ扱われていない項目: {}。", "full": "すべての項目が扱われている。"},
}


def review(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """Accept what covers all points. What is missing is searched for once: the same search finds the same again."""
    asked = ReviewValues.model_validate(values)
    missing = uncovered(asked.points, asked.draft)
    said = _SAID[language]
    feedback = said["missing"].format("; ".join(missing)) if missing else said["full"]
    accept = not missing or asked.iteration > 1 or asked.iteration >= asked.max_iterations
    queries = [] if accept else [_query(point) for point in missing[:_MOST_QUERIES]]
    return {"feedback": shorten(feedback, 800), "more_queries": queries, "accept": accept}


def uncovered(points: list[str], markdown: str) -> list[str]:
    """The points of whose terms too few stand in the text."""
    text = "\n".join(body_blocks(markdown))
    return [point for point in points if shared_content(stated(point), text) < COVERED]


def body_blocks(markdown: str) -> list[str]:
    """What a report says: no headings, no code, no tables, no references, no citation marks."""
    blocks = []
    for block in split_blocks(markdown):
        if block.startswith(_REFERENCES):
            break
        if not _NO_TEXT.match(block):
            blocks.append(without_marks(block))
    return blocks


def _query(point: str) -> str:
    words = " ".join(key_terms(point))
    return shorten(words if len(words) > 1 else point, 200)
