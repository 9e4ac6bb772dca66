"""A plan that keeps every part of its question, whatever the model that made it left out."""

import re
from collections.abc import Sequence

from contend.models.record import Language
from contend.models.research import MOST_POINTS, MOST_QUERIES, ResearchPlan
from contend.points import content_of
from contend.text import detect_language, shorten, terms
from contend.theme import key_terms, parts_of

_NAMED = 0.7
"""A part of a question is in a plan where this share of what it alone names stands in the points."""

_LEAST_WORDS = 3
"""A part of fewer says too little without the others, such as "what stopped it"."""

_NAME_WORDS = 3
_QUERY = 200
_HIRAGANA = re.compile("[ぁ-ゖ]")


def whole_plan(plan: ResearchPlan, language: Language) -> ResearchPlan:
    """The plan with a point and a query for each part of its theme that no point names, within a plan's limits.

    Points in another language than the report's are left out, for no report can be seen to answer them. A theme in
    another language cannot be compared with points, and its plan stays as it is.
    """
    if detect_language(plan.theme) != language:
        return plan
    points = [point for point in plan.investigation_points if _fits(point, language)]
    missing = left_out(plan.theme, points)
    queries = [shorten(" ".join(key_terms(part)) or part, _QUERY) for part in missing]
    return plan.model_copy(
        update={
            "investigation_points": ([*missing, *points] or plan.investigation_points)[:MOST_POINTS],
            "search_queries": list(dict.fromkeys([*plan.search_queries, *queries]))[:MOST_QUERIES],
        }
    )


def left_out(theme: str, points: Sequence[str]) -> list[str]:
    """The questions joined in a theme of which too little stands in the points; the theme for those that say little."""
    parts = parts_of(theme) or [theme]
    named = [_named_in(part) for part in parts]
    said = set[str]().union(*map(_named_in, points))
    missing: list[str] = []
    for place, part in enumerate(parts):
        others = set[str]().union(*named[:place], *named[place + 1 :])
        own = named[place] - others or named[place]
        if len(own & said) < _NAMED * len(own):
            missing.append(part if len(key_terms(part)) >= _LEAST_WORDS else theme)
    return list(dict.fromkeys(missing))


def _fits(point: str, language: Language) -> bool:
    """Whether it may be in that language: a few words in Latin letters are names in Japanese, too."""
    if language == "en":
        return not _HIRAGANA.search(point)
    return detect_language(point) == "ja" or len(point.split()) <= _NAME_WORDS


def _named_in(question: str) -> set[str]:
    return set(terms(" ".join(key_terms(content_of(question), len(question)))))
