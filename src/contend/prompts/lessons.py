"""The values of the reflector's and the curator's prompts, outside text marked; bullets cut to what fits."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from contend.models.playbook import GENERAL, Bullet, Insight, Section
from contend.prompts.wrapping import Untrusted
from contend.text import estimate_tokens, terms

_LINE_TOKENS = 40
"""What a bullet's id, section, confidence and delimiters take beside its content."""


def reflector_values(
    dataset: str, *, theme: str, rounds: Iterable[Mapping[str, Any]], bullets: Iterable[Bullet]
) -> dict[str, object]:
    """What `reflector/reflect` is asked with.

    A round holds team_id, round_number and score (0.0 to 1.0 or None), and what is known of feedback, metrics
    (scores by name), queries, used (bullet ids), exit_reason, judged, draft, cited and changed.
    """
    return {
        "dataset": dataset,
        "theme": Untrusted(theme, label="question"),
        "rounds": [_round(past) for past in rounds],
        "bullets": [_bullet(bullet) for bullet in bullets],
    }


def curator_values(
    dataset: str, insights: Sequence[Insight], bullets: Iterable[Bullet], sections: Sequence[Section]
) -> dict[str, object]:
    """What `curator/curate` is asked with."""
    known = {GENERAL, *(section.name for section in sections)}
    return {
        "dataset": dataset,
        "insights": [_insight(number, insight) for number, insight in enumerate(insights, start=1)],
        "sections": [section.model_dump() for section in sections],
        "bullets": [_bullet(bullet, known) for bullet in bullets],
    }


def pair_values(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """What `lessons/same` is asked with, numbered from 1."""
    return {
        "pairs": [
            {"number": number, "first": Untrusted(first, label="lesson"), "second": Untrusted(second, label="lesson")}
            for number, (first, second) in enumerate(pairs, start=1)
        ]
    }


def answer_values(question: str, lessons: Iterable[str], form: str) -> dict[str, object]:
    """What `answers/question` is asked with."""
    return {
        "question": Untrusted(question, label="question"),
        "lessons": [Untrusted(lesson, label="lesson") for lesson in lessons],
        "form": form,
    }


def error_values(errors: Iterable[Mapping[str, str]], bullets: Iterable[Bullet]) -> dict[str, object]:
    """What `errors/reflect` is asked with; an error holds question, answer, expected, kind and reasoning."""
    return {
        "errors": [
            {name: text if name == "kind" else Untrusted(text, label=name) for name, text in error.items()}
            for error in errors
        ],
        "bullets": [_bullet(bullet) for bullet in bullets],
    }


def nearest(bullets: Sequence[Bullet], insights: Sequence[Insight], *, tokens: int) -> list[Bullet]:
    """All bullets, in their order, where they fit `tokens`; else those that share most terms with the insights."""
    costs = [estimate_tokens(bullet.content) + _LINE_TOKENS for bullet in bullets]
    if sum(costs) <= tokens:
        return list(bullets)
    sought = [frozenset(terms(f"{insight.key_insight} {insight.correct_approach}")) for insight in insights]
    fit = [_shared(sought, bullet) for bullet in bullets]
    chosen: list[int] = []
    for index in sorted(range(len(bullets)), key=lambda index: (-fit[index], index)):
        tokens -= costs[index]
        if tokens < 0:
            break
        chosen.append(index)
    return [bullets[index] for index in sorted(chosen)]


def _shared(sought: Sequence[frozenset[str]], bullet: Bullet) -> float:
    own = frozenset(terms(f"{bullet.content} {bullet.searchable_text}"))
    return max((len(own & wanted) / len(own | wanted) for wanted in sought if own | wanted), default=0.0)


def _round(past: Mapping[str, Any]) -> dict[str, object]:
    return {
        "metrics": {},
        "used": [],
        "exit_reason": None,
        **past,
        "feedback": Untrusted(past.get("feedback") or "", label="feedback"),
        "draft": Untrusted(past.get("draft") or "", label="draft"),
        "queries": [Untrusted(query, label="query") for query in past.get("queries") or ()],
        "judged": [Untrusted(line, label="judged") for line in past.get("judged") or ()],
        "cited": [Untrusted(line, label="cited") for line in past.get("cited") or ()],
        "changed": [Untrusted(line, label="sentence") for line in past.get("changed") or ()],
    }


def _insight(number: int, insight: Insight) -> dict[str, object]:
    texts = {name: Untrusted(text, label="insight") for name, text in insight.model_dump().items()}
    return {"number": number, **texts}


def _bullet(bullet: Bullet, known_sections: Collection[str] = ()) -> dict[str, object]:
    """A playbook may come from elsewhere: a section's name that is not the operator's own is text like any other."""
    return {
        "id": bullet.id,
        "section": bullet.section if bullet.section in known_sections else Untrusted(bullet.section, label="section"),
        "content": Untrusted(bullet.content, label="bullet"),
        "example": Untrusted(bullet.example, label="example") if bullet.example else "",
        "confidence": bullet.confidence,
        "quarantined": bullet.status == "quarantined",
    }
