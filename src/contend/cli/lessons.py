"""A dataset's playbook on the terminal."""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from contend.cli import COMMAND, input_error, tr, ui
from contend.errors import InputError
from contend.learning.by_hand import Format, PlaybookEditor, playbook_text
from contend.models.playbook import Bullet, CurationResult, Playbook
from contend.stores.playbooks import PlaybookStore
from contend.text import shorten


def show_playbook(dataset: str) -> None:
    """Bullets by section, the most trusted first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: its file cannot be read.
    """
    playbook = _load(dataset)
    if ui.print_json(playbook):
        return
    ui.show(Group(*_parts(playbook)))
    ui.say("Trust: helpful votes among all. Difference: points of 100 that teams with it scored above those without.")
    ui.advise(
        f"contend playbook edit {dataset} ID LESSON",
        f"contend playbook rm {dataset} ID",
        f"contend run THEME --dataset {dataset}",
    )


def search_playbook(dataset: str, query: str, *, limit: int) -> None:
    """The bullets that fit the query, best first; raises as `show_playbook`."""
    from contend.learning.selection import select_bullets

    bullets = select_bullets(_load(dataset), query)[:limit]
    if ui.print_json(bullets):
        return
    if not bullets:
        ui.say("No lesson fits: a run would start without any.")
    else:
        ui.show(Group(*_lessons(bullets)))
    ui.advise(f"contend playbook show {dataset}")


def show_history(dataset: str) -> None:
    """Each version with its time, run and reason, oldest first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: the history cannot be read.
    """
    versions = asyncio.run(_store().history(dataset))
    if not versions:
        raise _no_playbook(dataset)
    if ui.print_json(versions):
        return
    rows = []
    for each in versions:
        made_by = ui.translate_stored(each.reason) or tr("run {id}", id=each.execution_id)
        rows.append((str(each.version), f"{each.saved_at.astimezone():%Y-%m-%d %H:%M}", made_by))
    ui.show(Group(ui.plain_table("Version", "Made", "By", rows=rows, right={"Version"}, fold={"By"}), ""))
    ui.advise(f"contend playbook diff {dataset} FROM TO", f"contend playbook rollback {dataset} VERSION")


def roll_back(dataset: str, version: int) -> None:
    """Make an old version's bullets the newest version.

    Raises:
        InputError: there is no such version.
        StoreError: the playbook cannot be written.
    """
    newest = asyncio.run(_store().rollback(dataset, version))
    now = newest.version
    ui.say(
        "Playbook {dataset} is as it was in version {then}, now version {now}.", dataset=dataset, then=version, now=now
    )
    ui.advise(f"contend playbook show {dataset}")


def show_diff(dataset: str, first: int, second: int | None) -> None:
    """What turns one version into another, bullet by bullet.

    Raises:
        InputError: there is no such version.
    """
    newest = _load(dataset).version
    diff = asyncio.run(_store().diff(dataset, first, newest if second is None else second))
    if ui.print_json(diff):
        return
    first, last = diff.from_version, diff.to_version
    ui.say("Playbook {dataset}, from version {first} to {last}:", dataset=dataset, first=first, last=last)
    for sign, bullets in (("+", diff.added), ("-", diff.removed)):
        for bullet in bullets:
            ui.say_item(f"{sign} {bullet.id} ", bullet.lesson)
    for change in diff.changed:
        ui.say_item(f"~ {change.after.id} ", change.after.lesson)
        for name in _COMPARED_FIELDS:
            before, after = getattr(change.before, name), getattr(change.after, name)
            if before != after:
                ui.say_item(f"    {name}:", f"{before} → {after}")
    if not (diff.added or diff.removed or diff.changed):
        ui.say("nothing differs")
    ui.advise(f"contend playbook rollback {dataset} {diff.from_version}")


_COMPARED_FIELDS = ("content", "example", "harmful", "helpful", "removal_reason", "section", "status")
"""What of a bullet a person follows from version to version."""


def add_lesson(dataset: str, **options: object) -> None:
    """Add a person's own lesson.

    Raises:
        InputError: it holds what no lesson may hold, or the section is none.
    """
    _tell(dataset, asyncio.run(_editor(dataset).add(_values(options))))


def edit_lesson(dataset: str, bullet: str, **options: object) -> None:
    """Change a lesson's words, section or example.

    Raises:
        InputError: there is no such bullet, nothing to change, or the words hold what no lesson may hold.
    """
    values = _values(options)
    if not values:
        raise input_error("edit: nothing to change: give new words, --section, --example, --always or --where-it-fits")
    old = _bullet_by_id(bullet, _load(dataset))
    _tell(dataset, asyncio.run(_editor(dataset).edit(old.id, values)), old=old)


def remove_lessons(dataset: str, bullets: list[str]) -> None:
    """Remove lessons; the history keeps them.

    Raises:
        InputError: there is no such bullet.
    """
    playbook = _load(dataset)
    _tell(dataset, asyncio.run(_editor(dataset).remove([_bullet_by_id(name, playbook).id for name in bullets])))


def restore_lesson(dataset: str, bullet: str | None) -> None:
    """Bring back a lesson that is gone, or list those that are.

    Raises:
        InputError: no lesson of this id is gone.
    """
    _load(dataset)
    removed_bullets = asyncio.run(_store().retired_bullets(dataset))
    if bullet is None:
        for each in removed_bullets.values():
            ui.say_item(f"{each.id} ", each.lesson)
        ui.say("{lessons} can be restored.", lessons=ui.counted(len(removed_bullets), "lesson"))
        ui.advise(f"contend playbook restore {dataset} ID" if removed_bullets else f"contend playbook show {dataset}")
        return
    matches = [each for key, each in removed_bullets.items() if key.startswith(bullet)]
    if len(matches) != 1:
        names = ", ".join(removed_bullets) or tr("none")
        raise input_error("lesson {id}: {count} such lessons can be restored: name one of {names}",
                          id=repr(bullet), count=len(matches), names=names)  # fmt: skip
    _tell(dataset, asyncio.run(_editor(dataset).restore(matches[0])))


def import_lessons(dataset: str, file: Path) -> None:
    """Add a file's lessons, all or none.

    Raises:
        InputError: the file is not there or cannot be read, or a lesson holds what none may hold.
    """
    outcome = asyncio.run(_editor(dataset).import_file(ui.file_text(file), name=file.name))
    if left_out := outcome.left_out:
        examples = ui.plain(", ".join(shorten(repr(each), 60) for each in left_out[:3]))
        ui.say("left out, for it is no lesson: {count} ({examples})", count=len(left_out), examples=examples)
    _tell(dataset, outcome.result)


def export_lessons(dataset: str, *, kind: Format, out: Path | None) -> None:
    """Write the playbook as JSON, ACE's text or Markdown.

    Raises:
        InputError: there is no playbook.
    """
    text = playbook_text(_load(dataset), kind)
    if out is None:
        print(text, end="")  # noqa: T201 - a file's text goes as it is
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, "utf-8")
    ui.say("Wrote {file}.", file=out)
    ui.say("On the other machine: {command}", command=f"contend playbook import {dataset} {out.name}")


def _values(options: Mapping[str, object]) -> dict[str, object]:
    """Those that were given."""
    if not str(options["content"]).strip():
        raise input_error("the lesson is empty: say when it applies, and what to do then")
    return {name: value for name, value in options.items() if value is not None}


def _bullet_by_id(name: str, playbook: Playbook) -> Bullet:
    """The bullet of an id, or of its beginning where that is one bullet's alone."""
    matches = [bullet for bullet in playbook.bullets if bullet.id.startswith(name)]
    exact = [bullet for bullet in matches if bullet.id == name] or matches
    if len(exact) == 1:
        return exact[0]
    command = f"contend playbook show {playbook.dataset}"
    raise input_error("lesson {id}: {count} begin so: `{command}` lists the ids",
                      id=repr(name), count=len(exact), command=command)  # fmt: skip


def _tell(dataset: str, result: CurationResult, *, old: Bullet | None = None) -> None:
    """What came of a change; `old`: the bullet that it is about, as it was."""
    for item in result.delta_items:
        ui.say_item(f"{item.operation} {item.bullet_id} ", item.content or "")
    for lesson in result.skipped:
        ui.say("skipped {id}: {why}", id=lesson.bullet_id, why=tr(lesson.reason))
    if old and (old.helpful or old.harmful):
        now = _bullet_by_id(old.id, asyncio.run(_store().load(dataset)))
        same, another = tr("The words are the same: the votes are kept."), tr("The words are new: votes begin anew.")
        ui.say(same if now.helpful or now.harmful else another)
    number, summary = result.playbook_version, ui.translate_stored(result.summary)
    ui.say("Playbook {dataset}: {summary}, now version {now}.", dataset=dataset, summary=summary, now=number)
    back = [f"contend playbook rollback {dataset} {number - 1}"] if result.delta_items else []
    ui.advise(f"contend playbook show {dataset}", *back)


def _editor(dataset: str) -> PlaybookEditor:
    return PlaybookEditor(_store(), dataset)


def _store() -> PlaybookStore:
    return PlaybookStore(COMMAND.settings().folder / "playbooks")


def _no_playbook(dataset: str) -> InputError:
    names = ", ".join(asyncio.run(_store().datasets())) or tr("none yet")
    return input_error(
        "dataset {dataset} has no playbook; there are: {datasets}", dataset=repr(dataset), datasets=names
    )


def _load(dataset: str) -> Playbook:
    playbook = asyncio.run(_store().load(dataset))
    if not playbook.version:
        raise _no_playbook(dataset)
    return playbook


def _parts(playbook: Playbook) -> Iterable[RenderableType]:
    names = {"dataset": playbook.dataset, "version": playbook.version}
    count = ui.counted(len(playbook.bullets), "lesson")
    yield Text(tr("Playbook {dataset}, version {version}, {count}", count=count, **names), style="bold")
    by_section = sorted(playbook.bullets, key=lambda bullet: (bullet.section, -bullet.confidence, bullet.id))
    for section, bullets in groupby(by_section, key=lambda bullet: bullet.section):
        yield ""
        yield Text(ui.plain(section), style="bold cyan")
        yield from _lessons(bullets)
    yield ""


def _lessons(bullets: Iterable[Bullet]) -> Iterable[RenderableType]:
    """Each lesson below its figures, over the screen's width."""
    for bullet in bullets:
        yield Text.assemble((ui.plain(bullet.id), "bold"), "  ", (" · ".join(_figures(bullet)), "dim"))
        yield ui.hanging(" ", _lesson(bullet))


def _figures(bullet: Bullet) -> Iterable[str]:
    trial = bullet.trial
    yield f"{tr('Trust')} {bullet.confidence * 100:.0f}%"
    yield f"{tr('Votes')} +{bullet.helpful} −{bullet.harmful}"
    if trial.shown:
        yield f"{tr('Shown')} {tr('{runs}, withheld {without}', runs=trial.shown, without=trial.withheld)}"
    if trial.difference is not None:
        yield f"{tr('Difference')} {trial.difference * 100:+.1f}"


def _lesson(bullet: Bullet) -> Text:
    lesson = Text(ui.plain(bullet.lesson))
    marks = {
        tr("on trial"): bullet.status == "quarantined",
        tr("harmful: not shown"): bullet.is_harmful,
        tr("differs from {id}", id=bullet.conflicts_with): bullet.conflicts_with is not None,
        tr("a run wants it removed: {why}", why=ui.plain(bullet.removal_reason)): bool(bullet.removal_reason),
    }
    for mark, holds in marks.items():
        if holds:
            lesson.append(f" ({mark})", style="yellow")
    return lesson
