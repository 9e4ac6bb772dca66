"""One dataset's playbook on disk: the newest version as JSON, and a history from which every version is rebuilt.

A version's history line reaches the disk before the playbook file is replaced, so a kill leaves the old version or a
line from which the new one is completed. A line holds what changed, not the whole playbook. A playbook file that
somebody edited stays the truth: before the next change its state enters the history as a version of its own.
"""

import hashlib
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError
from pydantic_core import from_json, to_json

from contend.errors import PlaybookDamaged, StoreError, StoreLocked, UnknownLesson
from contend.models.playbook import Bullet, CurationResult, Playbook, PlaybookVersion, Skipped
from contend.settings.files import first_fault


class VersionLine(PlaybookVersion):
    """A line of the history: how a version was made, and its difference to the version before."""

    summary: str = ""
    skipped: list[Skipped] = Field(default_factory=list)
    bullets_before: int = 0
    bullets_after: int = 0
    changed: list[Bullet] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    whole: bool = False
    """`changed` holds every bullet, and the versions before it don't matter."""
    digest: str = ""
    """The SHA-256 of the playbook file as it was written."""

    @classmethod
    def between(cls, old: Playbook, bullets: list[Bullet], **more: Any) -> "VersionLine":  # noqa: ANN401 - the fields
        """The version after `old`, with these bullets."""
        before, ids = {bullet.id: bullet for bullet in old.bullets}, {bullet.id for bullet in bullets}
        return cls(
            version=old.version + 1,
            bullets_before=len(before),
            bullets_after=len(bullets),
            changed=[bullet for bullet in bullets if before.get(bullet.id) != bullet],
            removed=sorted(before.keys() - ids),
            **more,
        )

    def replay(self, bullets: dict[str, Bullet]) -> dict[str, Bullet]:
        """The bullets of this version, from those of the version before."""
        removed_ids = bullets.keys() if self.whole else set(self.removed)
        remaining = {key: bullet for key, bullet in bullets.items() if key not in removed_ids}
        return remaining | {bullet.id: bullet for bullet in self.changed}

    def result(self, dataset: str) -> CurationResult:
        """The result of the curation that made this version."""
        fields = self.model_dump(include={"delta_items", "bullets_before", "bullets_after", "summary", "skipped"})
        return CurationResult(dataset=dataset, playbook_version=self.version, **fields)


class PlaybookFiles:
    """Reads and writes one dataset's files. Blocking: call it on a worker thread, and hold the lock to write."""

    def __init__(self, folder: Path, dataset: str) -> None:
        self.dataset = dataset
        self.playbook = folder / f"{dataset}.json"
        self.history = folder / f"{dataset}.history.jsonl"
        self._lock_file = folder / f"{dataset}.lock"
        self._temporary = folder / f".{dataset}.json.tmp"

    @contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        """Lock the dataset against other threads and processes.

        Raises:
            StoreLocked: another one held it for longer than `seconds`.
        """
        with _disk(self.playbook):
            self.playbook.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._lock_file, timeout=seconds, poll_interval=0.01)
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreLocked(
                    f"playbook {self.dataset!r} has been in use by another process for {seconds:g} s "
                    f"({self._lock_file}): try again when it ends"
                ) from error
        try:
            yield
        finally:
            lock.release()

    def newest(self) -> Playbook:
        """The newest version; completed from the history if a kill came between the two files."""
        return self.complete(self._in_file())

    def newest_on_record(self) -> Playbook:
        """The newest version, after recording a change made by hand. Needs the lock."""
        playbook = self._in_file()
        if playbook is None or self._is_recorded(playbook):
            return self.complete(playbook)
        line = VersionLine(version=playbook.version + 1, reason="edited by hand", changed=playbook.bullets, whole=True)
        return self.commit(playbook, line)

    def lines(self) -> list[VersionLine]:
        """The history, oldest first."""
        lines: list[VersionLine] = []
        for number, raw in enumerate(self._raw_lines(), start=1):
            line = self._parse(raw, number)
            if not line.whole and line.version != (lines[-1].version if lines else 0) + 1:
                raise self._history_damage(number, f"version {line.version} does not follow the line before")
            lines.append(line)
        return lines

    def line_of(self, execution_id: str) -> VersionLine | None:
        """The line of an execution's curation, if it was applied."""
        needle = to_json(execution_id)
        for number, raw in enumerate(self._raw_lines(), start=1):
            if needle in raw and (line := self._parse(raw, number)).execution_id == execution_id:
                return line
        return None

    def at(self, version: int) -> Playbook:
        """A version. The newest comes from the playbook file, older ones from the history."""
        newest = self.newest()
        return newest if newest.version == version else self.rebuild(version)

    def rebuild(self, version: int) -> Playbook:
        """Rebuild a version from the history.

        Raises:
            UnknownLesson: the history does not hold that version.
        """
        playbook = Playbook(dataset=self.dataset)
        for line in self.lines():
            if line.version > version:
                break
            playbook = _next(playbook, line)
        if playbook.version != version:
            raise UnknownLesson(f"playbook {self.dataset!r} has no version {version}: its history lists those it has")
        return playbook

    def commit(self, old: Playbook, line: VersionLine) -> Playbook:
        """Save the line's version: first the history, then the playbook file, each flushed. Needs the lock."""
        new = _next(old, line)
        bullets = b",\n".join(map(_json, new.bullets))
        head = Playbook(dataset=new.dataset, version=new.version).model_dump_json(exclude={"bullets"})
        text = b'%b,"bullets":[\n%b\n]}\n' % (head[:-1].encode(), bullets)
        line.digest = hashlib.sha256(text).hexdigest()
        with _disk(self.playbook):
            with self._temporary.open("wb") as file:
                _write_and_flush(file, text)
            with self.history.open("ab") as file:
                file.truncate((_read(self.history) or b"").rfind(b"\n") + 1)
                _write_and_flush(file, _json(line) + b"\n")
            self._temporary.replace(self.playbook)
            _flush_folder(self.playbook.parent)
        return new

    def put_aside(self) -> None:
        """Rename a playbook file that cannot be read."""
        with _disk(self.playbook):
            self.playbook.replace(self.playbook.with_suffix(".damaged.json"))

    def _in_file(self) -> Playbook | None:
        raw = _read(self.playbook)
        if raw is None:
            return None
        try:
            # Some editors begin a file with the mark of its encoding.
            values = from_json(raw.removeprefix(BOM_UTF8))
            # A file that somebody wrote by hand need not name the dataset.
            own = {"dataset": self.dataset, **values} if isinstance(values, dict) else values
            playbook = Playbook.model_validate(own)
        except ValueError as error:
            fault = first_fault(error) if isinstance(error, ValidationError) else f"no JSON: {error}"
            raise self._file_damage(f"{self.playbook} cannot be read ({fault})") from error
        if playbook.dataset != self.dataset:
            raise self._file_damage(f"{self.playbook} holds dataset {playbook.dataset!r}")
        return playbook

    def complete(self, base: Playbook | None = None) -> Playbook:
        """The newest version: `base`, or an empty playbook, and all later lines of the history."""
        return reduce(_next, self._lines_after(base.version if base else 0), base or Playbook(dataset=self.dataset))

    def _file_damage(self, what: str) -> PlaybookDamaged:
        good = 0
        for raw in self._raw_lines():
            try:
                good = VersionLine.model_validate_json(raw).version
            except ValidationError:
                break
        remedy = f"the last good version is {good}: `contend playbook rollback {self.dataset} {good}`"
        return PlaybookDamaged(f"{what}; {remedy if good else 'no good version is kept: move the file away'}")

    def _history_damage(self, number: int, why: str) -> PlaybookDamaged:
        good = newest.version if (newest := self._in_file()) else number - 1
        return PlaybookDamaged(
            f"{self.history} line {number} cannot be read ({why}); the last good version is {good}: "
            "mend the line, or move the file away to start a new history from the playbook"
        )

    def _is_recorded(self, playbook: Playbook) -> bool:
        raw = self._raw_lines()
        version = (_version_of(raw[-1]) or 0) if raw else 0
        if version < playbook.version and not (_read(self.history) or b"\n").endswith(b"\n"):
            raise self._history_damage(len(raw) + 1, "it ends half way")
        if version != playbook.version:
            return version > playbook.version
        digest = hashlib.sha256(_read(self.playbook) or b"").hexdigest()
        return raw[-1].endswith(b'"digest":"%b"}' % digest.encode())

    def _lines_after(self, version: int) -> list[VersionLine]:
        raw = self._raw_lines()
        later = takewhile(
            lambda number: (_version_of(raw[number - 1]) or version + 1) > version, range(len(raw), 0, -1)
        )
        return [self._parse(raw[number - 1], number) for number in reversed([*later])]

    def _raw_lines(self) -> list[bytes]:
        """Complete lines only: a kill may leave the last one unfinished."""
        return (_read(self.history) or b"").split(b"\n")[:-1]

    def _parse(self, raw: bytes, number: int) -> VersionLine:
        try:
            return VersionLine.model_validate_json(raw)
        except ValidationError as error:
            raise self._history_damage(number, first_fault(error)) from error


def _json(record: Bullet | VersionLine) -> bytes:
    return record.model_dump_json(exclude_defaults=True, exclude_computed_fields=True).encode()


def _next(playbook: Playbook, line: VersionLine) -> Playbook:
    bullets = line.replay({bullet.id: bullet for bullet in playbook.bullets})
    return Playbook.model_construct(dataset=playbook.dataset, version=line.version, bullets=list(bullets.values()))


def _version_of(raw: bytes) -> int | None:
    """A line's version without parsing the line, which may be long: it is the first field."""
    match = re.match(rb'{\s*"version"\s*:\s*(\d+)\s*,', raw)
    return int(match[1]) if match else None


def _read(path: Path) -> bytes | None:
    with _disk(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _write_and_flush(file: BinaryIO, text: bytes) -> None:
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}: check free space and permissions") from error
