"""What a curation does to a playbook, as a pure function: votes, operations, the rules that code enforces."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from contend.learning.meaning import Nearest, Nearness, lesson_key, same_words
from contend.learning.screening import Sources, rejection_reason
from contend.models.playbook import (
    GENERAL,
    Bullet,
    BulletEvaluation,
    DeltaContextItem,
    Observation,
    Playbook,
    PlaybookSection,
    ReflectionResult,
    Skipped,
)
from contend.models.record import utc_now
from contend.retrieval import Embedder
from contend.stores.playbooks import Curation
from contend.text import clean, shorten

_log = logging.getLogger(__name__)

RUNS_TO_LEAVE_QUARANTINE = 2
CHANCES = 2
"""In so many runs a newcomer is shown; one that never helped in them is retired."""
RETIREMENT_SHARE = 0.05
"""Of the bullets, at least one, may go in one run."""
LONGEST_SEARCH_TEXT = 400
"""Characters."""

_NOTE, _NOTE_END = "[nearest: ", re.compile(r"[^\]]*\]\s*\Z")


@dataclass(frozen=True)
class MergeRules:
    """What a merge goes by. Lessons may not copy `sources`; `approved`: a person has seen every operation."""

    execution_id: str
    embedder: Embedder | None = None
    sections: Sequence[PlaybookSection] = ()
    sources: Sources = field(default_factory=Sources)
    approved: bool = False


def merge(
    playbook: Playbook, items: Iterable[DeltaContextItem], reflection: ReflectionResult, rules: MergeRules
) -> Curation:
    """The playbook after a curation, with every operation done, every one skipped and why.

    Votes count first, then bullets that did harm or never helped are retired, then operations are done in order. One
    bad item spoils no other. Blocks while it embeds.
    """
    work = _Merge(playbook, rules)
    for observation in reflection.observations:
        work.observe(observation)
    for evaluation in reflection.bullet_evaluations:
        work.vote(evaluation)
    work.retire()
    for item in items:
        work.operate(item)
    return work.curation()


class _Merge:
    def __init__(self, playbook: Playbook, rules: MergeRules) -> None:
        self._rules = rules
        self._bullets = {bullet.id: bullet for bullet in playbook.bullets}
        self._nearness = Nearness(playbook.bullets, rules.embedder)
        self._may_go = max(1, int(RETIREMENT_SHARE * len(self._bullets)))
        self._added_ids: set[str] = set()
        self._removed_ids: set[str] = set()
        self._retired_ids: set[str] = set()
        self._removed_lessons: set[str] = set()
        self._operations: list[DeltaContextItem] = []
        self._skipped: list[Skipped] = []
        self._votes: Counter[str] = Counter()

    def observe(self, observation: Observation) -> None:
        if bullet := self._bullets.get(observation.bullet_id):
            trial = bullet.trial.after(observation.difference)
            self._bullets[bullet.id] = bullet.model_copy(update={"trial": trial})

    def vote(self, evaluation: BulletEvaluation) -> None:
        bullet = self._bullets.get(evaluation.bullet_id)
        if bullet is None:
            self._skip(evaluation.bullet_id, "no bullet has this id: its vote does not count")
            return
        self._votes[evaluation.tag] += 1
        if evaluation.tag != "neutral":
            self._bullets[bullet.id] = with_vote(bullet, evaluation.tag, self._rules.execution_id)

    def retire(self) -> None:
        """Bullets that did harm, and newcomers that had their chances and never helped; the most harmful first."""
        for bullet in sorted(self._bullets.values(), key=lambda bullet: (bullet.confidence, bullet.id)):
            if bullet.is_harmful:
                self._drop(bullet, f"harmful in {bullet.harmful} votes, helpful in {bullet.helpful}")
            elif had_its_chances(bullet):
                self._drop(bullet, f"shown in {bullet.trial.shown} runs and helpful in none")
        self._retired_ids = {*self._removed_ids}

    def operate(self, item: DeltaContextItem) -> None:
        match item.operation:
            case "ADD":
                self._write(item)
            case "UPDATE":
                if bullet := self._bullet_of(item):
                    self._write(item, bullet)
            case "DELETE":
                self._delete(item)

    def curation(self) -> Curation:
        counts: Counter[str] = Counter(item.operation for item in self._operations)
        words = {"ADD": "added", "UPDATE": "updated", "DELETE": "retired"}
        numbers = {**{word: counts[operation] for operation, word in words.items()}, "rated": self._votes.total()}
        summary = ", ".join(f"{number} {what}" for what, number in numbers.items() if number) or "nothing changed"
        return Curation([*self._bullets.values()], self._operations, self._skipped, dict(self._votes), summary)

    def _write(self, item: DeltaContextItem, bullet: Bullet | None = None) -> None:
        """Update a bullet if model and embedder agree on it or the words are identical; otherwise add a new one.

        A lesson that this version retires does not come back with it.
        """
        if not (content := self._fit_text(item)):
            return
        if lesson_key(content) in self._removed_lessons:
            self._skip(item.bullet_id, "this lesson was retired in this version")
            return
        own = self._nearness.of(content, bullet.id) if bullet else None
        near = [*([own] if own else []), *self._nearness.near(content)]
        if same := next((each for each in near if self._is_same(item, content, each)), None):
            self._reword(item, content, same)
        elif (section := self._section(item, bullet)) is None:
            self._skip(None, f"section {item.section!r} is not defined for this dataset")
        else:
            self._insert(item, section, content, near[0] if near else None, bullet)

    def _reword(self, item: DeltaContextItem, content: str, near: Nearest) -> None:
        bullet = near.bullet
        if bullet.id in self._added_ids:
            self._skip(bullet.id, "this delta already adds a bullet that says the same")
        elif content == bullet.content and _tidy(item.example) in {"", bullet.example}:
            self._skip(bullet.id, "this bullet says so already")
        else:
            change = {
                "content": content,
                "example": _tidy(item.example) or bullet.example,
                "always": item.always or bullet.always,
                "searchable_text": _search_text(item, content),
                "updated_at": utc_now(),
            }
            self._put("UPDATE", self._bullets[bullet.id].model_copy(update=change), item, near)

    def _delete(self, item: DeltaContextItem) -> None:
        bullet = None if item.bullet_id in self._retired_ids else self._bullet_of(item)
        if bullet is None:
            return
        if bullet.status == "quarantined" or self._rules.approved:
            self._drop(bullet, item.reasoning)
            return
        reason = _without_note(item.reasoning) or "a run found it wrong"
        self._bullets[bullet.id] = bullet.model_copy(update={"removal_reason": shorten(reason, 200)})
        self._skip(bullet.id, "an active bullet is removed by a person only: `contend playbook rm` does it")

    def _insert(
        self, item: DeltaContextItem, section: str, content: str, near: Nearest | None, differs_from: Bullet | None
    ) -> None:
        bullet = Bullet(
            id=self._new_id(content),
            section=section,
            content=content,
            example=_tidy(item.example),
            always=item.always,
            searchable_text=_search_text(item, content),
            provenance=self._rules.execution_id,
            conflicts_with=self._conflict(item, differs_from),
        )
        self._added_ids.add(bullet.id)
        self._put("ADD", bullet, item, near)

    def _conflict(self, item: DeltaContextItem, differs_from: Bullet | None) -> str | None:
        """The bullet that a model wants to change without rewording it, or that it says is contradicted."""
        if differs_from is not None:
            return differs_from.id
        if item.conflicts_with in self._bullets:
            return item.conflicts_with
        return next((key for key, each in item.readings.items() if each == "opposite" and key in self._bullets), None)

    def _drop(self, bullet: Bullet, reasoning: str) -> None:
        if len(self._removed_ids) >= self._may_go:
            self._skip(bullet.id, f"{self._may_go} of the bullets may be retired in one run, and that many were")
            return
        near = next(iter(self._nearness.near(bullet.content, but=bullet.id, most=1)), None)
        del self._bullets[bullet.id]
        self._nearness.drop(bullet.id)
        self._removed_ids.add(bullet.id)
        self._removed_lessons.add(lesson_key(bullet.content))
        note = _with_note(reasoning, near)
        self._operations.append(DeltaContextItem(operation="DELETE", bullet_id=bullet.id, reasoning=note))

    def _put(
        self, operation: Literal["ADD", "UPDATE"], bullet: Bullet, item: DeltaContextItem, near: Nearest | None
    ) -> None:
        self._bullets[bullet.id] = bullet
        self._nearness.put(bullet)
        fields = bullet.model_dump(include={"section", "content", "example", "always", "searchable_text"})
        fields |= {"operation": operation, "bullet_id": bullet.id, "reasoning": _with_note(item.reasoning, near)}
        fields["conflicts_with"] = bullet.conflicts_with if operation == "ADD" else None
        self._operations.append(item.model_copy(update=fields))

    def _is_same(self, item: DeltaContextItem, content: str, near: Nearest) -> bool:
        """A model decides, and the embedder must agree; without a model only the same words are the same."""
        is_said = item.readings.get(near.bullet.id) == "same" and self._nearness.agrees(content, near)
        return is_said or same_words(content, near.bullet.content)

    def _bullet_of(self, item: DeltaContextItem) -> Bullet | None:
        bullet = self._bullets.get(item.bullet_id or "")
        if bullet is None:
            self._skip(item.bullet_id, f"no bullet has this id: nothing to {item.operation}")
        return bullet

    def _fit_text(self, item: DeltaContextItem) -> str | None:
        content = _tidy(item.content)
        text = f"{content}\n{_tidy(item.example)}\n{_search_text(item, content)}"
        lesson = f"{content} {_tidy(item.example)}"
        reason = rejection_reason(text, self._rules.sources, lesson=lesson) if content else "has no content"
        if reason:
            self._skip(item.bullet_id, f"{item.operation} {reason}")
        return None if reason else content

    def _section(self, item: DeltaContextItem, differs_from: Bullet | None) -> str | None:
        if not self._rules.sections:
            return GENERAL
        name = (item.section or (differs_from.section if differs_from else "")).strip().casefold()
        return next((each.name for each in self._rules.sections if each.name.casefold() == name), None)

    def _new_id(self, content: str) -> str:
        """From the execution and the content, so that a repeated step finds the same id and no other run does."""
        key = f"{self._rules.execution_id}\n{content}"
        while (new := f"b-{sha256(key.encode()).hexdigest()[:12]}") in self._bullets:
            key += "\n"
        return new

    def _skip(self, bullet_id: str | None, reason: str) -> None:
        _log.info("skipped %s: %s", bullet_id, reason)
        self._skipped.append(Skipped(bullet_id=bullet_id, reason=reason))


def with_vote(bullet: Bullet, tag: Literal["helpful", "harmful"], execution_id: str) -> Bullet:
    """The bullet with one more vote; helpful in two different runs takes it out of quarantine."""
    if tag == "harmful":
        return bullet.model_copy(update={"harmful": bullet.harmful + 1, "updated_at": utc_now()})
    runs = list(dict.fromkeys([*bullet.helpful_runs, execution_id]))
    status = "active" if len(runs) >= RUNS_TO_LEAVE_QUARANTINE else bullet.status
    votes = {"helpful": bullet.helpful + 1, "helpful_runs": runs, "status": status}
    return bullet.model_copy(update={**votes, "updated_at": utc_now()})


def had_its_chances(bullet: Bullet) -> bool:
    """Whether a newcomer was shown often enough without helping once."""
    return bullet.status == "quarantined" and not bullet.helpful and bullet.trial.shown >= CHANCES


def _without_note(reasoning: str) -> str:
    """The reasoning without the note on the nearest bullet."""
    before, note, after = reasoning.rpartition(_NOTE)
    return before.rstrip() if note and _NOTE_END.match(after) else reasoning


def _with_note(reasoning: str, near: Nearest | None) -> str:
    """The reasoning with the nearest bullet and how near it is; an older note is replaced."""
    note = f"[nearest: {near.bullet.id}, likeness {near.likeness:.2f}]" if near else "[nearest: none]"
    return f"{_without_note(reasoning)} {note}".strip()


def _search_text(item: DeltaContextItem, content: str) -> str:
    return shorten(_tidy(item.searchable_text) or content, LONGEST_SEARCH_TEXT)


def _tidy(text: str | None) -> str:
    return clean(text or "", single_line=True)
