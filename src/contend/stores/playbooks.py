"""Playbooks: load, change, every version kept. The history is the archive: retired bullets are restored from it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from contend.errors import InputError, PlaybookChanged, PlaybookDamaged
from contend.models.playbook import (
    Bullet,
    BulletChange,
    CurationResult,
    DeltaContextItem,
    Playbook,
    PlaybookDiff,
    PlaybookVersion,
    Skipped,
)
from contend.models.record import IDENTIFIER_RULE, is_identifier
from contend.stores.playbook_files import PlaybookFiles, VersionLine

T = TypeVar("T")


class Curation(NamedTuple):
    """The outcome of a change to a playbook; the store assigns the version. `counters`: votes by tag."""

    bullets: list[Bullet]
    delta_items: list[DeltaContextItem]
    skipped: list[Skipped]
    counters: dict[str, Any]
    summary: str


Change = Callable[[Playbook], Curation]


@dataclass(frozen=True)
class PlaybookStore:
    """Playbooks in a folder, safe for several processes. File access runs on worker threads.

    Every method raises InputError for a dataset name that is not an `Identifier`. Methods that write wait up to
    `lock_seconds` for another process, then raise StoreLocked.
    """

    folder: Path
    lock_seconds: float = field(default=10.0, kw_only=True)

    async def load(self, dataset: str, *, version: int | None = None) -> Playbook:
        """The newest version, or the one asked for; the empty version 0 if nothing was saved yet.

        Raises:
            PlaybookDamaged: a file cannot be read; nothing was overwritten.
            UnknownLesson: there is no such version.
        """
        files = self._files(dataset)
        return await asyncio.to_thread(files.newest if version is None else partial(files.at, version))

    async def apply(
        self, dataset: str, execution_id: str, change: Change, *, reason: str = "", base_version: int | None = None
    ) -> CurationResult:
        """Change the newest version and save it as the next one, once for each execution.

        Applying an execution again returns its first result. A change without effect makes no version. `change` runs on
        a worker thread while the dataset is locked. `base_version`: the version that the caller expects as newest.

        Raises:
            PlaybookChanged: another version than `base_version` is the newest.
            PlaybookDamaged: a file cannot be read; nothing was overwritten.
            StoreError: the disk refused; the old version stands.
        """

        def work(files: PlaybookFiles) -> CurationResult:
            if line := files.line_of(execution_id):
                return line.result(dataset)
            playbook = files.newest_on_record()
            _check_newest(playbook, base_version)
            outcome = change(playbook)
            line = VersionLine.between(playbook, **outcome._asdict(), execution_id=execution_id, reason=reason)
            if line.changed or line.removed:
                files.commit(playbook, line)
            else:
                line.version = playbook.version
            return line.result(dataset)

        return await self._with_lock(dataset, work)

    async def result_of(self, dataset: str, execution_id: str) -> CurationResult | None:
        """The result of an execution's curation; None if it was not applied."""
        line = await asyncio.to_thread(self._files(dataset).line_of, execution_id)
        return line.result(dataset) if line else None

    async def history(self, dataset: str) -> list[PlaybookVersion]:
        """Every version's deltas, time, run and reason, oldest first."""
        lines = await asyncio.to_thread(self._files(dataset).lines)
        return [PlaybookVersion(**line.model_dump(include=set(PlaybookVersion.model_fields))) for line in lines]

    async def retired_bullets(self, dataset: str) -> dict[str, Bullet]:
        """Bullets of earlier versions that the newest no longer has, by id, in their last form."""
        return await asyncio.to_thread(_retired_bullets, self._files(dataset))

    async def diff(self, dataset: str, from_version: int, to_version: int) -> PlaybookDiff:
        """The difference between two versions."""
        old = await self.load(dataset, version=from_version)
        new = await self.load(dataset, version=to_version)
        before = {bullet.id: bullet for bullet in old.bullets}
        line = VersionLine.between(old, new.bullets)
        return PlaybookDiff(
            dataset=dataset,
            from_version=from_version,
            to_version=to_version,
            added=[bullet for bullet in line.changed if bullet.id not in before],
            removed=[before[key] for key in line.removed],
            changed=[
                BulletChange(before=before[bullet.id], after=bullet) for bullet in line.changed if bullet.id in before
            ],
        )

    async def rollback(self, dataset: str, version: int, *, base_version: int | None = None) -> Playbook:
        """Make a new version with the bullets of an old one. A damaged playbook file is kept as `.damaged.json`.

        Raises:
            UnknownLesson: there is no such version.
            PlaybookChanged: another version than `base_version` is the newest.
        """

        def work(files: PlaybookFiles) -> Playbook:
            target = files.rebuild(version)
            try:
                newest = files.newest_on_record()
                _check_newest(newest, base_version)
            except PlaybookDamaged:
                newest = files.complete()
                _check_newest(newest, base_version)
                files.put_aside()
            reason = f"rolled back to version {version}"
            return files.commit(newest, VersionLine.between(newest, target.bullets, reason=reason))

        return await self._with_lock(dataset, work)

    async def datasets(self) -> list[str]:
        """Datasets that have a playbook, by name."""

        def names() -> set[str]:
            ends = (".json", ".history.jsonl")
            return {path.name.removesuffix(end) for end in ends for path in self.folder.glob(f"*{end}")}

        return sorted(filter(is_identifier, await asyncio.to_thread(names)))

    def _files(self, dataset: str) -> PlaybookFiles:
        if not is_identifier(dataset):
            raise InputError(f"dataset {dataset[:80]!r}: {IDENTIFIER_RULE}")
        return PlaybookFiles(self.folder, dataset)

    async def _with_lock(self, dataset: str, work: Callable[[PlaybookFiles], T]) -> T:
        files = self._files(dataset)

        def locked_work() -> T:
            with files.lock(self.lock_seconds):
                return work(files)

        return await asyncio.to_thread(locked_work)


def _check_newest(newest: Playbook, base_version: int | None) -> None:
    if base_version is not None and newest.version != base_version:
        raise PlaybookChanged(
            f"playbook {newest.dataset!r} is at version {newest.version}, not {base_version}: "
            "somebody changed it since: read it again"
        )


def _retired_bullets(files: PlaybookFiles) -> dict[str, Bullet]:
    last: dict[str, Bullet] = {}
    for line in files.lines():
        last |= {bullet.id: bullet for bullet in line.changed}
    present = {bullet.id for bullet in files.newest().bullets}
    return {key: bullet for key, bullet in last.items() if key not in present}
