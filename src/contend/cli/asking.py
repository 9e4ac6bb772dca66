"""A run's options from the command line's."""

from collections.abc import Sequence
from pathlib import Path

from contend.errors import InputError
from contend.models.options import RunOptions
from contend.settings import checked


def run_options(
    *,
    docs: Sequence[Path] | None,
    instructions: Path | None,
    rounds: str | None,
    teams: Sequence[str] | None,
    sources: Sequence[str] | None,
    approve: Sequence[str] | None,
    **plain: str | float | bool | None,
) -> RunOptions:
    """What was given; document paths absolute, names also separated by commas.

    Raises:
        InputError: a value is not usable.
    """
    least, most = _rounds(rounds)
    values = {
        "documents": [str(path.expanduser().absolute()) for path in docs or []] or None,
        "instructions": None if instructions is None else _text(instructions),
        "teams": _names(teams),
        "sources": _names(sources),
        "approve": _names(approve),
        "min_rounds": least,
        "max_rounds": most,
        **plain,
    }
    return checked(RunOptions, {name: value for name, value in values.items() if value is not None}, "run")


def _rounds(given: str | None) -> tuple[int | None, int | None]:
    if given is None:
        return None, None
    least, colon, most = given.partition(":")
    try:
        return int(least), int(most if colon else least)
    except ValueError:
        raise InputError(f"--rounds {given!r}: give MIN:MAX, such as 1:3, or one number") from None


def _names(given: Sequence[str] | None) -> list[str] | None:
    names = [name.strip() for text in given or [] for name in text.split(",")]
    return [name for name in names if name] or None


def _text(path: Path) -> str:
    try:
        return path.expanduser().read_text("utf-8")
    except OSError as error:
        raise InputError(f"--instructions {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"--instructions {path}: not UTF-8 text: save it as UTF-8") from error


def checked_out(folder: Path | None) -> Path | None:
    """The folder for copies, made sure of before anything is spent.

    Raises:
        NotReady: it cannot be written or made.
    """
    from contend.readiness import check_folder

    if folder is None:
        return None
    path = folder.expanduser().absolute()
    check_folder(path, "--out")
    return path
