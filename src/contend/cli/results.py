"""Where a run leaves its report for the user: a folder that is named, or one of its own where contend was started."""

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from contend.cli.words import tr
from contend.errors import InputError
from contend.readiness import check_folder
from contend.sources.local.folders import OWN_REPORTS
from contend.text import normalized

FILES = ("report.md", "report.html", "report.json")
_SLUG_CHARACTERS = 40
_WORD = re.compile(r"[^\W_]+")


def check_out(folder: Path | None, own: Path | None = None) -> Path | None:
    """The folder for a run's files, made sure of before anything is spent. `own` holds those that the run has already.

    Raises:
        InputError: it cannot be written or made, or holds the report of another run.
    """
    if folder is None:
        return None
    path = folder.expanduser().absolute()
    check_folder(path, "--out")
    for name in FILES:
        if (path / name).exists() and not (own and _same(path / name, own / name)):
            raise InputError(
                tr("--out {folder}: {file} of another run is there: name another folder, or move it away",
                   folder=folder, file=name)
            )  # fmt: skip
    return path


def leave_files(files: Sequence[str], out: Path | None, theme: str) -> list[str]:
    """Copy a report's files into the folder, or into `contend-results/SLUG`, numbered where another run's is there.

    Where nothing was named and that folder cannot be written, the files stay where they are.

    Raises:
        InputError: the folder that was named cannot be written.
    """
    if not files:
        return []
    try:
        folder = out or _own_folder(theme, Path(files[0]).with_name("report.json"))
        folder.mkdir(parents=True, exist_ok=True)
        return [str(shutil.copy2(file, folder)) for file in files]
    except OSError as error:
        if out is None:
            return list(files)
        place = Path(files[0]).parent
        raise InputError(
            tr("--out {folder}: {why}; the report is in {place}", folder=out, why=error.strerror, place=place)
        ) from error


def _own_folder(theme: str, report: Path) -> Path:
    """A new folder, or the one that holds this very report."""
    name = Path.cwd() / OWN_REPORTS / (slug(theme) or report.parent.name)
    for number in count(1):
        folder = name if number == 1 else name.with_name(f"{name.name}-{number}")
        if _same(folder / report.name, report):
            return folder
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise AssertionError  # count does not end


def slug(theme: str) -> str:
    """A question as a folder's name: its first words in lower case, joined by hyphens; "" for one without letters."""
    words = "-".join(_WORD.findall(normalized(theme).lower()))
    if len(words) <= _SLUG_CHARACTERS:
        return words
    whole, _, _ = words[: _SLUG_CHARACTERS + 1].rpartition("-")
    return whole or words[:_SLUG_CHARACTERS]


def _same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False
