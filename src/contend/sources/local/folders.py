"""Which files local documents are made of."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contend.errors import InputError
from contend.sources.readers.files import KINDS
from contend.text import clean

MOST_FILES = 10_000
MOST_BYTES = 50_000_000
OWN_REPORTS = "contend-results"
"""The folder of reports that runs leave where they were started: no report is a source of the next."""

_MOST_LINES = 10
_MOST_NAMES = 5


class LeftOut(NamedTuple):
    """A file or folder that is not searched, and why."""

    path: Path
    reason: str


class LocalFile(NamedTuple):
    """A file, with what tells that it changed."""

    path: Path
    modified_ns: int
    size: int


def validate_paths(paths: Sequence[Path]) -> None:
    """Passes if every path is a folder or a file of a readable kind.

    Raises:
        InputError: naming the first that is not.
    """
    for path in paths:
        try:
            there = path.exists()
        except OSError as error:
            raise InputError(f"documents: {path} cannot be opened ({error.strerror}): mend its rights") from error
        if not there:
            raise InputError(f"documents: {path} does not exist: give a file or a folder that does")
        if path.is_file() and path.suffix.lower() not in KINDS:
            raise InputError(f"documents: {path} is of no known kind: give a folder or a file in {_kinds()}")


def list_files(paths: Sequence[Path], *, most: int = MOST_FILES) -> tuple[list[LocalFile], list[LeftOut]]:
    """Each readable file once, folders walked in order of name, and what was left out.

    Hidden files and folders are passed over silently, and so are reports of earlier runs. Links that lead out of the
    folder given are not followed.
    """
    files: dict[Path, LocalFile] = {}
    left_out: list[LeftOut] = []
    for path, reason in _candidates(paths):
        file_or_reason = reason or _examined(path)
        if isinstance(file_or_reason, str):
            left_out.append(LeftOut(path, file_or_reason))
        elif file_or_reason.path not in files and len(files) == most:
            left_out.append(LeftOut(path, f"over {most:,} files: give fewer folders"))
            break
        else:
            files[file_or_reason.path] = file_or_reason
    return list(files.values()), left_out


def reason_lines(left_out: Sequence[LeftOut], paths: Sequence[Path]) -> list[str]:
    """A line for each reason, with names as they stand within `paths`: `a.pdf, b.pdf and 3 more (broken)`."""
    names: dict[str, list[str]] = {}
    for each in left_out:
        names.setdefault(each.reason, []).append(_name(each.path, paths))
    lines = [f"{_some(file_names)} ({reason})" for reason, file_names in names.items()]
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"files left out for further reasons: {more:,}"]


def _name(path: Path, paths: Sequence[Path]) -> str:
    folders = [each for place in paths for each in (place, place.resolve()) if path != each]
    name = next((str(path.relative_to(folder)) for folder in folders if path.is_relative_to(folder)), path.name)
    return clean(name, single_line=True)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _candidates(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        if path.is_dir():
            yield from _walked(path, path.resolve())
        else:
            yield path, "" if path.exists() else "does not exist any more"


def _walked(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """The files beneath a folder, each with the reason to leave it out or ""."""
    unreadable: list[OSError] = []
    for name, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != OWN_REPORTS)
        for file in sorted([*files, *(each for each in folders if Path(name, each).is_symlink())]):
            path = Path(name, file)
            if not file.startswith("."):
                yield path, _link_fault(path, root)
    for error in unreadable:
        yield Path(error.filename), f"cannot be opened: {error.strerror}"


def _link_fault(path: Path, root: Path) -> str:
    """Why a link is not followed; "" for what is none, and for one that stays within the root."""
    try:
        within = not path.is_symlink() or path.resolve().is_relative_to(root)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    except RuntimeError:
        return "a link that leads in a circle"
    return "" if within else "a link out of the folder"


def _examined(path: Path) -> LocalFile | str:
    """The file, or why it is left out."""
    if path.suffix.lower() not in KINDS:
        return f"of no known kind: read are {_kinds()}"
    try:
        real = path.resolve()
        status = real.stat()
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "no plain file"
    if status.st_size > MOST_BYTES:
        return f"{status.st_size / 1e6:.0f} MB, over {MOST_BYTES / 1e6:.0f} MB"
    return LocalFile(real, status.st_mtime_ns, status.st_size)


def _kinds() -> str:
    return ", ".join(sorted(KINDS))
