"""A dataset's playbook on the terminal."""

import asyncio
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from contend.cli.screen import advise, say, say_json, show
from contend.cli.text import counted, plain
from contend.errors import InputError
from contend.models.playbook import Bullet, Playbook
from contend.settings import load_settings
from contend.stores.playbooks import PlaybookStore


def show_playbook(dataset: str, *, workspace: Path | None, as_json: bool) -> None:
    """Bullets by section, the most trusted first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: its file cannot be read.
    """
    playbook = _loaded(dataset, workspace)
    if as_json:
        say_json(playbook.model_dump(mode="json"))
        return
    show(Group(*_parts(playbook)))
    advise(f"contend run THEME --dataset {dataset}")


def search_playbook(dataset: str, query: str, *, limit: int, workspace: Path | None, as_json: bool) -> None:
    """The bullets that fit the query, best first; raises as `show_playbook`."""
    from contend.learning.selection import select_bullets

    bullets = select_bullets(_loaded(dataset, workspace), query)[:limit]
    if as_json:
        say_json([bullet.model_dump(mode="json") for bullet in bullets])
        return
    show(_table(bullets))
    advise(f"contend playbook show {dataset}")


def show_history(dataset: str, *, workspace: Path | None, as_json: bool) -> None:
    """Each version with its time, run and reason, oldest first.

    Raises:
        InputError: no run has learned into this dataset yet.
        PlaybookDamaged: the history cannot be read.
    """
    store = _store(workspace)
    versions = asyncio.run(store.history(dataset))
    if not versions:
        raise _no_playbook(store, dataset)
    if as_json:
        say_json([version.model_dump(mode="json") for version in versions])
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Version", justify="right")
    table.add_column("Made", no_wrap=True)
    table.add_column("By", overflow="fold")
    for version in versions:
        made_by = version.reason or f"run {version.execution_id}"
        table.add_row(str(version.version), f"{version.saved_at.astimezone():%Y-%m-%d %H:%M}", Text(plain(made_by)))
    show(Group(table, ""))
    advise(f"contend playbook rollback {dataset} VERSION")


def roll_back(dataset: str, version: int, *, workspace: Path | None) -> None:
    """Make an old version's bullets the newest version.

    Raises:
        InputError: there is no such version.
        StoreError: the playbook cannot be written.
    """
    newest = asyncio.run(_store(workspace).rollback(dataset, version))
    say(f"Playbook {dataset} is as it was in version {version}, now version {newest.version}.")
    advise(f"contend playbook show {dataset}")


def _store(workspace: Path | None) -> PlaybookStore:
    return PlaybookStore(load_settings(workspace=workspace).folder / "playbooks")


def _no_playbook(store: PlaybookStore, dataset: str) -> InputError:
    known = ", ".join(asyncio.run(store.datasets())) or "none yet"
    return InputError(f"dataset {dataset!r} has no playbook; there are: {known}")


def _loaded(dataset: str, workspace: Path | None) -> Playbook:
    store = _store(workspace)
    playbook = asyncio.run(store.load(dataset))
    if not playbook.version:
        raise _no_playbook(store, dataset)
    return playbook


def _parts(playbook: Playbook) -> Iterable[RenderableType]:
    count = counted(len(playbook.bullets), "bullet")
    yield Text(f"Playbook {playbook.dataset}, version {playbook.version}, {count}", style="bold")
    by_section = sorted(playbook.bullets, key=lambda bullet: (bullet.section, -bullet.confidence, bullet.id))
    for section, bullets in groupby(by_section, key=lambda bullet: bullet.section):
        yield ""
        yield Text(plain(section), style="bold cyan")
        yield _table(bullets)
    yield ""


def _table(bullets: Iterable[Bullet]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Trust", justify="right")
    table.add_column("Votes", no_wrap=True)
    table.add_column("Lesson", overflow="fold")
    for bullet in bullets:
        lesson = Text(plain(bullet.content))
        if bullet.status == "quarantined":
            lesson.append(" (on trial)", style="yellow")
        table.add_row(f"{bullet.confidence * 100:.0f}%", f"+{bullet.helpful} −{bullet.harmful}", lesson)
    return table
