"""What a person does to a playbook: add, edit, remove, restore, import. Each change is a version of its own."""

from collections.abc import Sequence

from contend.errors import InputError
from contend.learning.nearness import Nearness
from contend.learning.screening import Sources, refusal
from contend.models.playbook import Bullet, DeltaContextItem, Playbook, Skipped
from contend.models.record import utc_now
from contend.stores.playbooks import Change, Curated


def add(bullets: Sequence[Bullet]) -> Change:
    """Add bullets; what stands there word for word is skipped, and an id that is taken is replaced."""

    def change(playbook: Playbook) -> Curated:
        kept = {bullet.id: bullet for bullet in playbook.bullets}
        contents = {bullet.content for bullet in playbook.bullets}
        skipped: list[Skipped] = []
        done: list[DeltaContextItem] = []
        for bullet in bullets:
            if bullet.content in contents:
                skipped.append(Skipped(bullet_id=bullet.id, reason="stands in the playbook already"))
                continue
            new = bullet if bullet.id not in kept else bullet.model_copy(update={"id": _free(bullet.id, kept)})
            kept[new.id] = new
            contents.add(new.content)
            done.append(_item("ADD", new))
        return _curated(kept, done, skipped, f"{len(done)} added")

    return change


def edit(bullet_id: str, changes: dict[str, object]) -> Change:
    """Change a bullet's fields. Other words for the same keep its votes; another meaning begins without any."""

    def change(playbook: Playbook) -> Curated:
        old = _found(playbook, bullet_id)
        new = Bullet.model_validate({**old.model_dump(), **changes, "updated_at": utc_now(), "removal_reason": ""})
        if not Nearness([old]).same(new.content, old.content):
            votes = {"helpful": 0, "harmful": 0, "helpful_runs": [], "trial": {}}
            new = Bullet.model_validate({**new.model_dump(), **votes, "searchable_text": new.content})
        kept = {bullet.id: bullet for bullet in playbook.bullets} | {old.id: new}
        return _curated(kept, [_item("UPDATE", new)], [], "1 edited")

    return change


def remove(bullet_ids: Sequence[str]) -> Change:
    """Remove bullets; the history keeps them, and `restore` brings them back."""

    def change(playbook: Playbook) -> Curated:
        gone = [_found(playbook, bullet_id) for bullet_id in bullet_ids]
        kept = {bullet.id: bullet for bullet in playbook.bullets if bullet not in gone}
        return _curated(kept, [_item("DELETE", bullet) for bullet in gone], [], f"{len(gone)} removed")

    return change


def checked_by_hand(bullet: Bullet) -> Bullet:
    """A bullet that a person wrote.

    Raises:
        InputError: it holds a link, a secret, personal data or orders to the model.
    """
    refused = refusal(f"{bullet.lesson}\n{bullet.searchable_text}", Sources(), by_person=True)
    if refused:
        raise InputError(f"the lesson {bullet.content[:80]!r} {refused}: leave that out")
    return bullet


def _found(playbook: Playbook, bullet_id: str) -> Bullet:
    for bullet in playbook.bullets:
        if bullet.id == bullet_id:
            return bullet
    raise InputError(f"lesson {bullet_id!r}: it is gone: `contend playbook show {playbook.dataset}` lists the ids")


def _free(bullet_id: str, kept: dict[str, Bullet]) -> str:
    numbers = (f"{bullet_id[:58]}-{number}" for number in range(2, len(kept) + 3))
    return next(name for name in numbers if name not in kept)


def _item(operation: str, bullet: Bullet) -> DeltaContextItem:
    return DeltaContextItem.model_validate(
        {"operation": operation, "bullet_id": bullet.id, "section": bullet.section, "content": bullet.content}
    )


def _curated(kept: dict[str, Bullet], done: list[DeltaContextItem], skipped: list[Skipped], summary: str) -> Curated:
    return Curated([*kept.values()], done, skipped, {}, summary)
