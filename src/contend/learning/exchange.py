"""Playbooks from and for other hands: JSON, the text of ACE's playbooks, Markdown."""

import json
import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple

from contend.errors import InputError
from contend.models.playbook import GENERAL, Bullet, Playbook
from contend.settings import checked

Format = Literal["json", "ace", "markdown"]

_ACE = re.compile(r"\[[\w-]+\]\s*helpful=(?P<helpful>\d+)\s+harmful=(?P<harmful>\d+)\s*::\s*(?P<content>.+)")
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
    bullets = [checked(Bullet, item, f"{name}: lesson {number}") for number, item in enumerate(items, start=1)]
    if not bullets:
        raise InputError(f"{name}: holds no lessons: give a Markdown list (`- LESSON`), JSON or ACE's text")
    return BulletFile(bullets, left_out)


def written(playbook: Playbook, kind: Format) -> str:
    """The playbook as text that `read_bullets` reads; ACE's text and Markdown hold what people read."""
    if kind == "json":
        return playbook.model_dump_json(indent=1, exclude_computed_fields=True) + "\n"
    line = _ace_line if kind == "ace" else _markdown_line
    title = [] if kind == "ace" else [f"# Playbook {playbook.dataset}\n"]
    by_section = sorted(playbook.bullets, key=lambda bullet: bullet.section)
    parts = [
        "\n".join([f"## {section}", *map(line, bullets)]) + "\n"
        for section, bullets in groupby(by_section, key=lambda bullet: bullet.section)
    ]
    return "\n".join([*title, *parts])


def _ace_line(bullet: Bullet) -> str:
    return f"[{bullet.id}] helpful={bullet.helpful} harmful={bullet.harmful} :: {bullet.lesson}"


def _markdown_line(bullet: Bullet) -> str:
    return f"- {bullet.lesson}"


def _items(text: str, name: str) -> tuple[list[Any], list[str]]:
    """What stands for a bullet each, and what stands for none."""
    if not text.lstrip().startswith(("{", "[{", '["')):
        return _of_lines(text)
    try:
        return _of_json(json.loads(text))
    except ValueError as error:
        if text.lstrip().startswith("["):  # ACE's lines begin with an id in brackets
            return _of_lines(text)
        raise InputError(f"{name}: not JSON: {error}: mend it and import again") from error


def _of_json(value: Any) -> tuple[list[Any], list[str]]:  # noqa: ANN401 - whatever the file holds
    """The bullets of our own playbook, of a bare list, or of a mapping by id as ACE's tools write it."""
    bullets = value.get("bullets", []) if isinstance(value, dict) else value
    items = [*bullets.values()] if isinstance(bullets, dict) else bullets if isinstance(bullets, list) else []
    fields = {key for item in items if isinstance(item, Mapping) for key in item}
    return [_completed(item) for item in items], sorted(fields - _FIELDS - Bullet.model_computed_fields.keys())


def _completed(item: object) -> object:
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
