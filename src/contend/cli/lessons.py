"""A dataset's playbook on the terminal."""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from contend.cli.invocation import COMMAND
from contend.cli.options import file_text
from contend.cli.screen import advise, plain_table, print_json, say, show
from contend.cli.text import counted, plain
from contend.cli.words import input_error, tr
from contend.errors import InputError
from contend.learning.by_hand import HandChange, add, apply_by_hand, edit, import_file, remove, restore
from contend.learning.exchange import Format, written
from contend.models.playbook import Bullet, Playbook, PlaybookVersion
from contend.stores.playbooks import PlaybookStore
from contend.text import shorten


def show_playbook(dataset: str) -> None:
    """Bullets by section, the most trusted first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: its file cannot be read.
    """
    playbook = _load(dataset)
    if print_json(playbook):
        return
    show(Group(*_parts(playbook)))
    say("Trust: helpful votes among all. Difference: points of 100 that teams with it scored above those without.")
    advise(
        f"contend playbook edit {dataset} ID LESSON",
        f"contend playbook rm {dataset} ID",
        f"contend run THEME --dataset {dataset}",
    )


def search_playbook(dataset: str, query: str, *, limit: int) -> None:
    """The bullets that fit the query, best first; raises as `show_playbook`."""
    from contend.learning.selection import select_bullets

    bullets = select_bullets(_load(dataset), query)[:limit]
    if print_json(bullets):
        return
    if not bullets:
        say("No lesson fits: a run would start without any.")
    else:
        show(_table(bullets))
    advise(f"contend playbook show {dataset}")


def show_history(dataset: str) -> None:
    """Each version with its time, run and reason, oldest first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: the history cannot be read.
    """
    store = _store()
    versions = asyncio.run(store.history(dataset))
    if not versions:
        raise _no_playbook(store, dataset)
    if print_json(versions):
        return
    table = plain_table("Version", "Made", "By", right={"Version"}, fold={"By"})
    for version in versions:
        made_by = Text(plain(_reason(version)))
        table.add_row(str(version.version), f"{version.saved_at.astimezone():%Y-%m-%d %H:%M}", made_by)
    show(Group(table, ""))
    advise(f"contend playbook diff {dataset} FROM TO", f"contend playbook rollback {dataset} VERSION")


_REASONS = ("imported from {what}", "rolled back to version {what}")


def _reason(version: PlaybookVersion) -> str:
    """Why a version was made, in the reader's language; it is kept in English."""
    for words in _REASONS:
        head = words.removesuffix("{what}")
        if version.reason.startswith(head):
            return tr(words, what=version.reason.removeprefix(head))
    return tr(version.reason) if version.reason else tr("run {id}", id=version.execution_id)


def roll_back(dataset: str, version: int) -> None:
    """Make an old version's bullets the newest version.

    Raises:
        InputError: there is no such version.
        StoreError: the playbook cannot be written.
    """
    newest = asyncio.run(_store().rollback(dataset, version))
    now = newest.version
    say("Playbook {dataset} is as it was in version {then}, now version {now}.", dataset=dataset, then=version, now=now)
    advise(f"contend playbook show {dataset}")


def show_diff(dataset: str, first: int, second: int | None) -> None:
    """What turns one version into another, bullet by bullet.

    Raises:
        InputError: there is no such version.
    """
    newest = _load(dataset).version
    diff = asyncio.run(_store().diff(dataset, first, newest if second is None else second))
    if print_json(diff):
        return
    first, last = diff.from_version, diff.to_version
    say("Playbook {dataset}, from version {first} to {last}:", dataset=dataset, first=first, last=last)
    for sign, bullets in (("+", diff.added), ("-", diff.removed)):
        for bullet in bullets:
            say(f"{sign} {bullet.id}  {plain(bullet.lesson)}")
    for change in diff.changed:
        say(f"~ {change.after.id}  {plain(change.after.lesson)}")
        for name in _FOLLOWED:
            before, after = getattr(change.before, name), getattr(change.after, name)
            if before != after:
                say(f"    {name}: {plain(str(before))} → {plain(str(after))}")
    if not (diff.added or diff.removed or diff.changed):
        say("nothing differs")
    advise(f"contend playbook rollback {dataset} {diff.from_version}")


_FOLLOWED = ("content", "example", "harmful", "helpful", "removal_reason", "section", "status")
"""What of a bullet a person follows from version to version."""


def add_lesson(dataset: str, **options: object) -> None:
    """Add a person's own lesson.

    Raises:
        InputError: it holds what no lesson may hold, or the section is none.
    """
    _change(dataset, add(_values(options)))


def edit_lesson(dataset: str, bullet_id: str, **options: object) -> None:
    """Change a lesson's words, section or example.

    Raises:
        InputError: there is no such bullet, nothing to change, or the words hold what no lesson may hold.
    """
    values = _values(options)
    if not values:
        raise input_error("edit: nothing to change: give new words, --section, --example, --always or --where-it-fits")
    old = _bullet_by_id(bullet_id, _load(dataset))
    _change(dataset, edit(old.id, values), old=old)


def remove_lessons(dataset: str, bullet_ids: list[str]) -> None:
    """Remove lessons; the history keeps them.

    Raises:
        InputError: there is no such bullet.
    """
    playbook = _load(dataset)
    _change(dataset, remove([_bullet_by_id(name, playbook).id for name in bullet_ids]))


def restore_lesson(dataset: str, bullet_id: str | None) -> None:
    """Bring back a lesson that is gone, or list those that are.

    Raises:
        InputError: no lesson of this id is gone.
    """
    _load(dataset)
    gone = asyncio.run(_store().retired(dataset))
    if bullet_id is None:
        for bullet in gone.values():
            say(f"{bullet.id}  {plain(bullet.lesson)}")
        say("{lessons} can be restored.", lessons=counted(len(gone), "lesson"))
        advise(f"contend playbook restore {dataset} ID" if gone else f"contend playbook show {dataset}")
        return
    matches = [bullet for key, bullet in gone.items() if key.startswith(bullet_id)]
    if len(matches) != 1:
        names = ", ".join(gone) or tr("none")
        raise input_error("lesson {id}: {count} such lessons can be restored: name one of {names}",
                          id=repr(bullet_id), count=len(matches), names=names)  # fmt: skip
    _change(dataset, restore(matches[0]))


def import_lessons(dataset: str, file: Path) -> None:
    """Add a file's lessons, all or none.

    Raises:
        InputError: the file is not there or cannot be read, or a lesson holds what none may hold.
    """
    by_hand, left_out = import_file(file_text(file), name=file.name)
    if left_out:
        examples = plain(", ".join(shorten(repr(each), 60) for each in left_out[:3]))
        say("left out, for it is no lesson: {count} ({examples})", count=len(left_out), examples=examples)
    _change(dataset, by_hand)


def export_lessons(dataset: str, kind: Format, *, out: Path | None) -> None:
    """Write the playbook as JSON, ACE's text or Markdown.

    Raises:
        InputError: there is no playbook.
    """
    text = written(_load(dataset), kind)
    if out is None:
        print(text, end="")  # noqa: T201 - a file's text goes as it is
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, "utf-8")
    say("Wrote {file}.", file=out)
    say("On the other machine: {command}", command=f"contend playbook import {dataset} {out.name}")


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


def _change(dataset: str, by_hand: HandChange, *, old: Bullet | None = None) -> None:
    """Save a change and say what came of it; `old`: the bullet that it is about, as it was."""
    store = _store()
    result = asyncio.run(apply_by_hand(store, dataset, by_hand))
    for item in result.delta_items:
        say(f"{item.operation} {item.bullet_id}  {plain(item.content or '')}")
    for lesson in result.skipped:
        say("skipped {id}: {why}", id=lesson.bullet_id, why=tr(lesson.reason))
    if old and (old.helpful or old.harmful):
        now = _bullet_by_id(old.id, asyncio.run(store.load(dataset)))
        has_votes = now.helpful or now.harmful
        say(
            tr("It says the same: its votes are kept.")
            if has_votes
            else tr("It says something else: votes begin anew.")
        )
    number, summary = result.playbook_version, _summary(result.summary)
    say("Playbook {dataset}: {summary}, now version {now}.", dataset=dataset, summary=summary, now=number)
    back = [f"contend playbook rollback {dataset} {number - 1}"] if result.delta_items else []
    advise(f"contend playbook show {dataset}", *back)


_SUMMARIES = ("{count} added", "{count} edited", "{count} removed")


def _summary(summary: str) -> str:
    """The summary of a change by hand in the reader's language; it is kept in English."""
    count, _, done = summary.partition(" ")
    words = f"{{count}} {done}"
    return tr(words, count=count) if words in _SUMMARIES else summary


def _store() -> PlaybookStore:
    return PlaybookStore(COMMAND.settings().folder / "playbooks")


def _no_playbook(store: PlaybookStore, dataset: str) -> InputError:
    datasets = ", ".join(asyncio.run(store.datasets())) or tr("none yet")
    return input_error(
        "dataset {dataset} has no playbook; there are: {datasets}", dataset=repr(dataset), datasets=datasets
    )


def _load(dataset: str) -> Playbook:
    store = _store()
    playbook = asyncio.run(store.load(dataset))
    if not playbook.version:
        raise _no_playbook(store, dataset)
    return playbook


def _parts(playbook: Playbook) -> Iterable[RenderableType]:
    count = counted(len(playbook.bullets), "lesson")
    head = tr(
        "Playbook {dataset}, version {version}, {count}",
        dataset=playbook.dataset,
        version=playbook.version,
        count=count,
    )
    yield Text(head, style="bold")
    by_section = sorted(playbook.bullets, key=lambda bullet: (bullet.section, -bullet.confidence, bullet.id))
    for section, bullets in groupby(by_section, key=lambda bullet: bullet.section):
        yield ""
        yield Text(plain(section), style="bold cyan")
        yield _table(bullets)
    yield ""


def _table(bullets: Iterable[Bullet]) -> Table:
    table = plain_table("Id", "Trust", "Votes", "Shown", "Difference", "Lesson", fold={"Lesson"})
    for bullet in bullets:
        trial = bullet.trial
        difference = "" if trial.difference is None else f"{trial.difference * 100:+.1f}"
        trials = tr("{runs}, withheld {without}", runs=trial.shown, without=trial.withheld) if trial.shown else ""
        votes = f"+{bullet.helpful} −{bullet.harmful}"
        table.add_row(bullet.id, f"{bullet.confidence * 100:.0f}%", votes, trials, difference, _lesson(bullet))
    return table


def _lesson(bullet: Bullet) -> Text:
    lesson = Text(plain(bullet.lesson))
    marks = {
        tr("on trial"): bullet.status == "quarantined",
        tr("harmful: not shown"): bullet.is_harmful,
        tr("differs from {id}", id=bullet.conflicts_with): bullet.conflicts_with is not None,
        tr("a run wants it removed: {why}", why=plain(bullet.removal_reason)): bool(bullet.removal_reason),
    }
    for mark, holds in marks.items():
        if holds:
            lesson.append(f" ({mark})", style="yellow")
    return lesson
