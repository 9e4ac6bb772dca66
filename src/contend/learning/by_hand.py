"""What a person does to a playbook: add, edit, remove, restore, import, export. Each change is a version of its own.

The command line and the HTTP API both change playbooks through here, so that the same holds for a lesson whoever sends
it: what it may contain, what becomes of its votes, how the history names the change.
"""

import asyncio
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from contend.errors import InputError, UnknownLesson
from contend.learning.meaning import same_words
from contend.learning.screening import Sources, rejection_reason
from contend.models.playbook import GENERAL, Bullet, CurationResult, DeltaContextItem, Playbook, Skipped, Trial
from contend.models.record import Record, utc_now
from contend.parsing import parse_json
from contend.settings.files import validate
from contend.stores.playbooks import Change, Curation, PlaybookStore

Format = Literal["json", "ace", "markdown"]

_ACE = re.compile(r"\[[\w-]+\]\s*helpful=(?P<helpful>\d+)\s+harmful=(?P<harmful>\d+)\s*::\s*(?P<content>.+)")
_LINES = {"ace": "[{0.id}] helpful={0.helpful} harmful={0.harmful} :: {0.lesson}", "markdown": "- {0.lesson}"}
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_ITEM = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+|[・•]\s*)(?P<content>\S.*)")
_FIELDS = frozenset(Bullet.model_fields)


class BulletFile(NamedTuple):
    """The bullets of a file, and the lines and fields in it that were left out."""

    bullets: list[Bullet]
    left_out: list[str]


def read_bullets(text: str, *, name: str) -> BulletFile:
    """The bullets of a file in any of the formats; what a bullet lacks beside its content is completed.

    Raises:
        InputError: a bullet cannot be read, or there is none; `name` is the file's.
    """
    items, left_out = _items(text, name)
    bullets = [validate(Bullet, item, f"{name}: lesson {number}") for number, item in enumerate(items, start=1)]
    if not bullets:
        raise InputError(f"{name}: holds no lessons: give a Markdown list (`- LESSON`), JSON or ACE's text")
    return BulletFile(bullets, left_out)


def playbook_text(playbook: Playbook, kind: Format) -> str:
    """The playbook as text that `read_bullets` reads; ACE's text and Markdown hold what people read."""
    if kind == "json":
        return playbook.model_dump_json(indent=1, exclude_computed_fields=True) + "\n"
    title = [] if kind == "ace" else [f"# Playbook {playbook.dataset}\n"]
    by_section = sorted(playbook.bullets, key=lambda bullet: bullet.section)
    parts = [
        "\n".join([f"## {section}", *map(_LINES[kind].format, bullets)]) + "\n"
        for section, bullets in groupby(by_section, key=lambda bullet: bullet.section)
    ]
    return "\n".join([*title, *parts])


def _items(text: str, name: str) -> tuple[list[Any], list[str]]:
    """What stands for a bullet each, and what stands for none."""
    if not text.lstrip().startswith(("{", "[{", '["')):
        return _of_lines(text)
    try:
        return _of_json(parse_json(text))
    except ValueError as error:
        if text.lstrip().startswith("["):  # ACE's lines begin with an id in brackets
            return _of_lines(text)
        raise InputError(f"{name}: not JSON: {error}: mend it and import again") from error


def _of_json(value: Any) -> tuple[list[Any], list[str]]:  # noqa: ANN401 - whatever the file holds
    """The bullets of our own playbook, of a bare list, or of a mapping by id as ACE's tools write it."""
    bullets = value.get("bullets", []) if isinstance(value, dict) else value
    items = [*bullets.values()] if isinstance(bullets, dict) else bullets if isinstance(bullets, list) else []
    fields = {key for item in items if isinstance(item, Mapping) for key in item}
    return [_with_defaults(item) for item in items], sorted(fields - _FIELDS - Bullet.model_computed_fields.keys())


def _with_defaults(item: object) -> object:
    if isinstance(item, str):
        return {"content": item}
    if not isinstance(item, Mapping):
        return item
    values = {key: value for key, value in item.items() if key in _FIELDS and value is not None}
    defaults = {"section": GENERAL, "searchable_text": item.get("content"), "status": "active"}
    return values if "id" not in values else {**defaults, **values}


def _of_lines(text: str) -> tuple[list[Any], list[str]]:
    section = GENERAL
    items: list[Any] = []
    left_out: list[str] = []
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = heading[1].strip()[:64]
        elif match := _ACE.match(line.strip()) or _ITEM.match(line):
            items.append({**match.groupdict(), "section": section})
        elif line.strip():
            left_out.append(line.strip())
    return items, left_out


class ImportResult(Record):
    """What an import did. `left_out`: lines and fields that are no lesson."""

    result: CurationResult
    left_out: list[str]


@dataclass(frozen=True)
class PlaybookEditor:
    """A person's changes of a dataset's playbook, each a version of its own; one that changes nothing makes none.

    Where `base_version` is given, nothing is changed unless it is the newest. All raise PlaybookChanged where it is
    not, UnknownLesson where the lesson to change is not in the newest version, and StoreError.
    """

    store: PlaybookStore
    dataset: str
    base_version: int | None = None

    async def add(self, values: Mapping[str, object]) -> CurationResult:
        """Add a lesson: `content`, and `section`, `example`, `always` where a person gives them. It is active at once.

        Raises:
            InputError: it is empty, or holds what no lesson may hold.
        """
        return await self._save(_addition([_lesson_of(values)]), "added by hand")

    async def edit(self, bullet_id: str, changes: Mapping[str, object]) -> CurationResult:
        """Change a bullet's fields. Other words begin without votes, which were given for the old ones.

        Raises:
            InputError: the new words are empty, or hold what no lesson may hold.
        """
        _lesson_of({"content": "a lesson", **changes})

        def change(playbook: Playbook) -> Curation:
            old = _bullet_of(playbook, bullet_id)
            new = Bullet.model_validate({**old.model_dump(), **changes, "updated_at": utc_now(), "removal_reason": ""})
            if not same_words(new.content, old.content):
                votes = {"helpful": 0, "harmful": 0, "helpful_runs": [], "trial": {}}
                new = Bullet.model_validate({**new.model_dump(), **votes, "searchable_text": new.content})
            bullets = [new if bullet.id == old.id else bullet for bullet in playbook.bullets]
            return Curation(bullets, [_item("UPDATE", new)], [], {}, "1 edited")

        return await self._save(change, "edited by hand")

    async def remove(self, bullet_ids: Sequence[str]) -> CurationResult:
        """Remove bullets; the history keeps them, and `restore` brings them back."""

        def change(playbook: Playbook) -> Curation:
            outgoing = [_bullet_of(playbook, bullet_id) for bullet_id in bullet_ids]
            bullets = [bullet for bullet in playbook.bullets if bullet not in outgoing]
            items = [_item("DELETE", bullet) for bullet in outgoing]
            return Curation(bullets, items, [], {}, f"{len(outgoing)} removed")

        return await self._save(change, "removed by hand")

    async def restore(self, bullet: Bullet) -> CurationResult:
        """Bring back a bullet that is gone, with its helpful votes; what spoke against it no longer counts."""
        back = bullet.model_copy(update={"harmful": 0, "trial": Trial(), "removal_reason": ""})
        return await self._save(_addition([back]), "restored by hand")

    async def import_file(self, text: str, *, name: str) -> ImportResult:
        """Add all lessons of a file, or none; `name` is the file's. What stands there already is skipped.

        Raises:
            InputError: it cannot be read, or a lesson holds what none may hold.
        """
        file = await asyncio.to_thread(read_bullets, text, name=name)
        bullets = [_screen(bullet) for bullet in file.bullets]
        result = await self._save(_addition(bullets), f"imported from {name}")
        return ImportResult(result=result, left_out=file.left_out)

    async def _save(self, change: Change, reason: str) -> CurationResult:
        return await self.store.apply(self.dataset, str(uuid4()), change, reason=reason, base_version=self.base_version)


def _addition(bullets: Sequence[Bullet]) -> Change:
    """What stands there word for word is skipped, and an id that is taken is replaced."""

    def change(playbook: Playbook) -> Curation:
        by_id = {bullet.id: bullet for bullet in playbook.bullets}
        ids = {bullet.content: bullet.id for bullet in playbook.bullets}
        skipped: list[Skipped] = []
        items: list[DeltaContextItem] = []
        for bullet in bullets:
            if bullet.content in ids:
                skipped.append(Skipped(bullet_id=ids[bullet.content], reason="stands in the playbook already"))
                continue
            new = bullet if bullet.id not in by_id else bullet.model_copy(update={"id": _free(bullet.id, by_id)})
            by_id[new.id], ids[new.content] = new, new.id
            items.append(_item("ADD", new))
        return Curation([*by_id.values()], items, skipped, {}, f"{len(items)} added")

    return change


def _lesson_of(values: Mapping[str, object]) -> Bullet:
    return _screen(validate(Bullet, {"provenance": "by hand", **values}, "lesson"))


def _screen(bullet: Bullet) -> Bullet:
    if reason := rejection_reason(f"{bullet.lesson}\n{bullet.searchable_text}", Sources(), by_person=True):
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


def _free(bullet_id: str, by_id: Container[str]) -> str:
    return next(name for number in count(2) if (name := f"{bullet_id[:58]}-{number}") not in by_id)


def _item(operation: Literal["ADD", "UPDATE", "DELETE"], bullet: Bullet) -> DeltaContextItem:
    return DeltaContextItem(operation=operation, bullet_id=bullet.id, section=bullet.section, content=bullet.content)
