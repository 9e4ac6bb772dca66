"""A workspace of one's own, from the shipped files."""

import os
from pathlib import Path

from contend.cli.screen import advise, say
from contend.cli.words import counted, plain
from contend.errors import InputError, StoreError
from contend.resources import resource
from contend.stores.files import write_file

_SHIPPED = ("config", "prompts")
_EXAMPLE = ".env.example"


def write_workspace(folder: Path, *, force: bool) -> None:
    """Copy config, prompts and `.env.example`; all of them, or none.

    Raises:
        InputError: files are there, and `force` is not given; names the first.
        StoreError: the folder cannot be written.
    """
    target = folder.expanduser().absolute()
    if target.is_file():
        raise InputError(f"{target} is a file: name a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise StoreError(f"{target} cannot be written: mend its rights or choose another folder")
    files = _files(target)
    there = [path for path in files if path.exists()]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise InputError(f"{there[0]}{more} is there already: choose another folder, or overwrite with --force")
    for path, text in files.items():
        write_file(path, text)
    say(f"Wrote {counted(len(files), 'file')} into {plain(str(target))}: config/, prompts/ and {_EXAMPLE}.")
    advise(f"contend doctor --workspace {target}", f"contend run THEME --docs FOLDER --workspace {target}")


def _files(target: Path) -> dict[Path, str]:
    """What is written where."""
    found = {target / _EXAMPLE: resource(_EXAMPLE).read_text("utf-8")}
    for name in _SHIPPED:
        shipped = resource(name)
        files = (path for path in sorted(shipped.rglob("*")) if path.is_file())
        found |= {target / name / path.relative_to(shipped): path.read_text("utf-8") for path in files}
    return found
