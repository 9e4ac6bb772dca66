"""What a person does to a playbook: add, edit, remove, restore, import. Each change is a version of its own.

The command line and the HTTP API both change playbooks through here, so that the same holds for a lesson whoever sends
it: what it may contain, what becomes of its votes, how the history names the change.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

from contend.errors import InputError, UnknownLesson
from contend.learning.exchange import read_bullets
from contend.learning.nearness import Nearness
from contend.learning.screening import Sources, refusal
from contend.models.playbook import Bullet, CurationResult, DeltaContextItem, Playbook, Skipped, Trial
from contend.models.record import utc_now
from contend.settings import checked
from contend.stores.playbooks import Change, Curated, PlaybookStore


class HandChange(NamedTuple):
    """A person's change, and how the history names it."""

    change: Change
    reason: str


async def apply_by_hand(
    store: PlaybookStore, dataset: str, by_hand: HandChange, *, base_version: int | None = None
) -> CurationResult:
    """Save the change as a version of its own; one that changes nothing makes none.

    Raises:
        UnknownLesson: the lesson to change is not in the newest version.
        PlaybookChanged: another version than `base_version` is the newest.
        StoreError: the playbook cannot be read or written.
    """
    return await store.apply(dataset, str(uuid4()), by_hand.change, reason=by_hand.reason, base_version=base_version)


def add(values: Mapping[str, object]) -> HandChange:
    """Add a lesson of a person's own: `content`, and `section`, `example`, `always` where a person gives them.

    It is active at once.

    Raises:
        InputError: it is empty, or holds what no lesson may hold.
    """
    return HandChange(_addition([_checked_values(values)]), "added by hand")


def edit(bullet_id: str, changes: Mapping[str, object]) -> HandChange:
    """Change a bullet's fields. Other words for the same keep its votes; another meaning begins without any.

    Raises:
        InputError: the new words are empty, or hold what no lesson may hold.
    """
    _checked_values({"content": "a lesson", **changes})

    def change(playbook: Playbook) -> Curated:
        old = _bullet_of(playbook, bullet_id)
        new = Bullet.model_validate({**old.model_dump(), **changes, "updated_at": utc_now(), "removal_reason": ""})
        if not Nearness([]).same(new.content, old.content):
            votes = {"helpful": 0, "harmful": 0, "helpful_runs": [], "trial": {}}
            new = Bullet.model_validate({**new.model_dump(), **votes, "searchable_text": new.content})
        by_id = {bullet.id: bullet for bullet in playbook.bullets} | {old.id: new}
        return Curated([*by_id.values()], [_item("UPDATE", new)], [], {}, "1 edited")

    return HandChange(change, "edited by hand")


def remove(bullet_ids: Sequence[str]) -> HandChange:
    """Remove bullets; the history keeps them, and `restore` brings them back."""

    def change(playbook: Playbook) -> Curated:
        outgoing = [_bullet_of(playbook, bullet_id) for bullet_id in bullet_ids]
        bullets = [bullet for bullet in playbook.bullets if bullet not in outgoing]
        return Curated(bullets, [_item("DELETE", bullet) for bullet in outgoing], [], {}, f"{len(outgoing)} removed")

    return HandChange(change, "removed by hand")


def restore(bullet: Bullet) -> HandChange:
    """Bring back a bullet that is gone, with its helpful votes; what spoke against it no longer counts."""
    back = bullet.model_copy(update={"harmful": 0, "trial": Trial(), "removal_reason": ""})
    return HandChange(_addition([back]), "restored by hand")


class FileImport(NamedTuple):
    """The lessons of a file as one change, and the lines and fields that are none."""

    by_hand: HandChange
    left_out: list[str]


def import_file(text: str, *, name: str) -> FileImport:
    """All lessons of a file, or none; `name` is the file's.

    Raises:
        InputError: it cannot be read, or a lesson holds what none may hold.
    """
    file = read_bullets(text, name=name)
    bullets = [_screened(bullet) for bullet in file.bullets]
    return FileImport(HandChange(_addition(bullets), f"imported from {name}"), file.left_out)


def _addition(bullets: Sequence[Bullet]) -> Change:
    """What stands there word for word is skipped, and an id that is taken is replaced."""

    def change(playbook: Playbook) -> Curated:
        by_id = {bullet.id: bullet for bullet in playbook.bullets}
        ids = {bullet.content: bullet.id for bullet in playbook.bullets}
        skipped: list[Skipped] = []
        items: list[DeltaContextItem] = []
        for bullet in bullets:
            if bullet.content in ids:
                skipped.append(Skipped(bullet_id=ids[bullet.content], reason="stands in the playbook already"))
                continue
            new = bullet if bullet.id not in by_id else bullet.model_copy(update={"id": _free(bullet.id, by_id)})
            by_id[new.id] = new
            ids[new.content] = new.id
            items.append(_item("ADD", new))
        return Curated([*by_id.values()], items, skipped, {}, f"{len(items)} added")

    return change


def _checked_values(values: Mapping[str, object]) -> Bullet:
    return _screened(checked(Bullet, {"provenance": "by hand", **values}, "lesson"))


def _screened(bullet: Bullet) -> Bullet:
    if reason := refusal(f"{bullet.lesson}\n{bullet.searchable_text}", Sources(), by_person=True):
        raise InputError(f"the lesson {bullet.content[:80]!r} {reason}: leave that out")
    return bullet


def _bullet_of(playbook: Playbook, bullet_id: str) -> Bullet:
    for bullet in playbook.bullets:
        if bullet.id == bullet_id:
            return bullet
    raise UnknownLesson(
        f"lesson {bullet_id[:80]!r}: it is not in playbook {playbook.dataset!r}, version {playbook.version}: "
        "see the ids that are there"
    )


def _free(bullet_id: str, by_id: dict[str, Bullet]) -> str:
    numbers = (f"{bullet_id[:58]}-{number}" for number in range(2, len(by_id) + 3))
    return next(name for name in numbers if name not in by_id)


def _item(operation: str, bullet: Bullet) -> DeltaContextItem:
    return DeltaContextItem.model_validate(
        {"operation": operation, "bullet_id": bullet.id, "section": bullet.section, "content": bullet.content}
    )
