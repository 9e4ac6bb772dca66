"""Shipped files, found by both kinds of install."""

from pathlib import Path

_PACKAGE = Path(__file__).parent / "shipped"
_REPOSITORY = Path(__file__).parents[2]


def resource(name: str) -> Path:
    """The path of a shipped file or folder, such as `prompts` or `config/orchestrator.toml`.

    A wheel holds them inside the package, an editable install reads them from the repository's root.

    Raises:
        FileNotFoundError: nothing of that name is shipped.
    """
    for root in (_PACKAGE, _REPOSITORY):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(f"contend ships no {name!r}: reinstall contend")
