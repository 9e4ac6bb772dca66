"""What a curation does to a playbook, as a pure function: votes, operations, the rules that code enforces."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from contend.learning.nearness import Nearest, Nearness
from contend.learning.screening import Sources, refusal
from contend.models.playbook import GENERAL, Bullet, BulletEvaluation, DeltaContextItem, Playbook, Section, Skipped
from contend.models.record import utc_now
from contend.retrieval import Embedder
from contend.stores.playbooks import Curated
from contend.text import clean, estimate_tokens, shorten

_log = logging.getLogger(__name__)

RUNS_TO_LEAVE_QUARANTINE = 2
HARMFUL_TO_BE_DELETED = 3
LONGEST_CONTENT = 400
"""Characters of a bullet's content or search text."""

_NOTE, _NOTE_END = "[nearest: ", re.compile(r"[^\]]*\]\s*\Z")


@dataclass(frozen=True)
class MergeRules:
    """What a merge goes by. `max_tokens` bounds the bullets' contents together; lessons may not copy `sources`."""

    execution_id: str
    embedder: Embedder | None = None
    sections: Sequence[Section] = ()
    max_tokens: int = 20_000
    sources: Sources = field(default_factory=Sources)


def merged(
    playbook: Playbook, items: Iterable[DeltaContextItem], evaluations: Iterable[BulletEvaluation], rules: MergeRules
) -> Curated:
    """The playbook after a curation, with every operation done, every one skipped and why.

    Votes count first, then operations in order, then harmful bullets go, then the least trusted until the token budget
    holds. One bad item spoils no other. Blocks while it embeds.
    """
    merge = _Merge(playbook, rules)
    for evaluation in evaluations:
        merge.vote(evaluation)
    for item in items:
        merge.operate(item)
    merge.delete_harmful()
    merge.retire_to_budget()
    return merge.curated()


class _Merge:
    def __init__(self, playbook: Playbook, rules: MergeRules) -> None:
        self._rules = rules
        self._bullets = {bullet.id: bullet for bullet in playbook.bullets}
        self._nearness = Nearness(playbook.bullets, rules.embedder)
        self._added: set[str] = set()
        self._done: list[DeltaContextItem] = []
        self._skipped: list[Skipped] = []
        self._votes: Counter[str] = Counter()

    def vote(self, evaluation: BulletEvaluation) -> None:
        bullet = self._bullets.get(evaluation.bullet_id)
        if bullet is None:
            self._skip(evaluation.bullet_id, "no bullet has this id: its vote does not count")
            return
        self._votes[evaluation.tag] += 1
        if evaluation.tag != "neutral":
            self._bullets[bullet.id] = voted(bullet, evaluation.tag, self._rules.execution_id)

    def operate(self, item: DeltaContextItem) -> None:
        match item.operation:
            case "ADD":
                self._add(item)
            case "UPDATE":
                self._update(item)
            case "DELETE":
                self._delete(item)

    def delete_harmful(self) -> None:
        for bullet in [*self._bullets.values()]:
            if bullet.harmful >= HARMFUL_TO_BE_DELETED and bullet.harmful > bullet.helpful:
                self._drop(bullet, f"harmful in {bullet.harmful} votes, helpful in {bullet.helpful}")

    def retire_to_budget(self) -> None:
        """Lowest confidence first; among equals those in quarantine, then the ones not touched for longest."""
        sizes = {key: estimate_tokens(bullet.content) for key, bullet in self._bullets.items()}
        over = sum(sizes.values()) - self._rules.max_tokens
        for bullet in sorted(self._bullets.values(), key=_worth):
            if over <= 0:
                return
            over -= sizes[bullet.id]
            reason = f"the playbook is over {self._rules.max_tokens} tokens and confidence is {bullet.confidence:.2f}"
            self._drop(bullet, reason)

    def curated(self) -> Curated:
        counts = Counter(item.operation for item in self._done)
        done = {"added": counts["ADD"], "updated": counts["UPDATE"], "deleted": counts["DELETE"]}
        summary = _counted_changes({**done, "votes counted": self._votes.total()})
        return Curated([*self._bullets.values()], self._done, self._skipped, dict(self._votes), summary)

    def _add(self, item: DeltaContextItem) -> None:
        content = self._fit_text(item)
        if content is None:
            return
        near = self._nearness.nearest(content)
        if near and near.same and near.bullet.id in self._added:
            self._skip(near.bullet.id, "this delta already adds a bullet that says the same")
        elif near and near.same:
            self._replace(item, near.bullet, content, near)
        elif (section := self._section(item)) is None:
            self._skip(None, f"section {item.section!r} is not defined for this dataset")
        else:
            self._insert(item, section, content, near)

    def _update(self, item: DeltaContextItem) -> None:
        bullet = self._known(item)
        content = self._fit_text(item) if bullet else None
        if bullet and content:
            self._replace(item, bullet, content, self._nearness.nearest(content))

    def _delete(self, item: DeltaContextItem) -> None:
        if bullet := self._known(item):
            self._drop(bullet, item.reasoning)

    def _insert(self, item: DeltaContextItem, section: str, content: str, near: Nearest | None) -> None:
        bullet = Bullet(
            id=self._new_id(content),
            section=section,
            content=content,
            searchable_text=_search_text(item, content),
            provenance=self._rules.execution_id,
        )
        self._put(bullet)
        self._added.add(bullet.id)
        self._note("ADD", bullet, item.reasoning, near)

    def _replace(self, item: DeltaContextItem, old: Bullet, content: str, near: Nearest | None) -> None:
        searched = _search_text(item, content)
        change = {"content": content, "searchable_text": searched, "updated_at": utc_now()}
        bullet = self._bullets[old.id].model_copy(update=change)
        self._put(bullet)
        self._note("UPDATE", bullet, item.reasoning, near)

    def _drop(self, bullet: Bullet, reasoning: str) -> None:
        near = self._nearness.nearest(bullet.content, but=bullet.id)
        del self._bullets[bullet.id]
        self._nearness.drop(bullet.id)
        noted = _with_note(reasoning, near)
        self._done.append(DeltaContextItem(operation="DELETE", bullet_id=bullet.id, reasoning=noted))

    def _put(self, bullet: Bullet) -> None:
        self._bullets[bullet.id] = bullet
        self._nearness.put(bullet)

    def _note(self, operation: Literal["ADD", "UPDATE"], bullet: Bullet, reasoning: str, near: Nearest | None) -> None:
        done = DeltaContextItem(
            operation=operation,
            bullet_id=bullet.id,
            section=bullet.section,
            content=bullet.content,
            searchable_text=bullet.searchable_text,
            reasoning=_with_note(reasoning, near),
        )
        self._done.append(done)

    def _known(self, item: DeltaContextItem) -> Bullet | None:
        bullet = self._bullets.get(item.bullet_id or "")
        if bullet is None:
            self._skip(item.bullet_id, f"no bullet has this id: nothing to {item.operation}")
        return bullet

    def _fit_text(self, item: DeltaContextItem) -> str | None:
        content = _tidy(item.content)
        refused = (
            refusal(f"{content}\n{_search_text(item, content)}", self._rules.sources) if content else "has no content"
        )
        if refused:
            self._skip(item.bullet_id, f"{item.operation} {refused}")
        return None if refused else content

    def _section(self, item: DeltaContextItem) -> str | None:
        if not self._rules.sections:
            return GENERAL
        wanted = (item.section or "").strip().casefold()
        return next((known.name for known in self._rules.sections if known.name.casefold() == wanted), None)

    def _new_id(self, content: str) -> str:
        """From the execution and the content, so that a repeated step finds the same id and no other run does."""
        tried = f"{self._rules.execution_id}\n{content}"
        while (new := f"b-{sha256(tried.encode()).hexdigest()[:12]}") in self._bullets:
            tried += "\n"
        return new

    def _skip(self, bullet_id: str | None, reason: str) -> None:
        _log.info("skipped %s: %s", bullet_id, reason)
        self._skipped.append(Skipped(bullet_id=bullet_id, reason=reason))


def voted(bullet: Bullet, tag: Literal["helpful", "harmful"], execution_id: str) -> Bullet:
    """The bullet with one more vote; helpful in two different runs takes it out of quarantine."""
    if tag == "harmful":
        return bullet.model_copy(update={"harmful": bullet.harmful + 1, "updated_at": utc_now()})
    runs = list(dict.fromkeys([*bullet.helpful_runs, execution_id]))
    status = "active" if len(runs) >= RUNS_TO_LEAVE_QUARANTINE else bullet.status
    votes = {"helpful": bullet.helpful + 1, "helpful_runs": runs, "status": status}
    return bullet.model_copy(update={**votes, "updated_at": utc_now()})


def _worth(bullet: Bullet) -> tuple[float, bool, float, str]:
    return (bullet.confidence, bullet.status == "active", bullet.updated_at.timestamp(), bullet.id)


def _with_note(reasoning: str, near: Nearest | None) -> str:
    """The reasoning with the nearest bullet and how near it is; an older note is replaced."""
    before, noted, after = reasoning.rpartition(_NOTE)
    said = before.rstrip() if noted and _NOTE_END.match(after) else reasoning
    note = f"[nearest: {near.bullet.id}, likeness {near.likeness:.2f}]" if near else "[nearest: none]"
    return f"{said} {note}".strip()


def _search_text(item: DeltaContextItem, content: str) -> str:
    return _tidy(item.searchable_text) or content


def _tidy(text: str | None) -> str:
    return shorten(clean(text or "", single_line=True), LONGEST_CONTENT)


def _counted_changes(counts: Mapping[str, int]) -> str:
    """What happened, each with its number: `1 added, 2 votes counted`."""
    return ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "nothing changed"
