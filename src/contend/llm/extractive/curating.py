"""The curator: where lessons go in the playbook."""

from collections.abc import Sequence
from typing import Any

from contend.llm.extractive.asked import CurateValues, GivenInsight, GivenSection
from contend.models.record import Language
from contend.text import shared_content, shorten

_MOST_OPERATIONS = 6
_SAME = 0.8
_NO_SECTION = "general"

_NEAREST: dict[Language, tuple[str, str]] = {
    "en": ("the nearest bullet is {id}, which shares {share} % of its terms", "there is no bullet near it"),
    "ja": ("最も近い項目は{id}で、語の{share}%が共通", "近い項目はない"),
}


def curate(values: dict[str, Any], language: Language) -> dict[str, Any]:
    """One operation for each different lesson: UPDATE where a bullet says nearly the same, else ADD."""
    asked = CurateValues.model_validate(values)
    different: list[GivenInsight] = []
    for insight in asked.insights:
        if not any(shared_content(insight.key_insight, other.key_insight) >= _SAME for other in different):
            different.append(insight)
    return {"operations": [_operation(insight, asked, language) for insight in different[:_MOST_OPERATIONS]]}


def _operation(insight: GivenInsight, asked: CurateValues, language: Language) -> dict[str, str]:
    near = max(asked.bullets, key=lambda bullet: shared_content(insight.key_insight, bullet.content), default=None)
    share = shared_content(insight.key_insight, near.content) if near else 0.0
    told, alone = _NEAREST[language]
    update = near is not None and share >= _SAME
    return {
        "reasoning": told.format(id=near.id, share=round(100 * share)) if near and share else alone,
        "operation": "UPDATE" if update else "ADD",
        "bullet_id": near.id if near and update else "",
        "section": _section(insight, asked.sections),
        "content": shorten(insight.key_insight, 300),
        "searchable_text": shorten(f"{insight.key_insight} {insight.correct_approach}".strip(), 300),
    }


def _section(insight: GivenInsight, sections: Sequence[GivenSection]) -> str:
    """The section whose name and description share most with the lesson, of equals the first."""
    said = f"{insight.key_insight} {insight.correct_approach}"
    best = max(
        sections, key=lambda section: shared_content(f"{section.name} {section.description}", said), default=None
    )
    return best.name if best else _NO_SECTION
