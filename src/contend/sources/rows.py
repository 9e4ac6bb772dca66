"""Rows of a table as sentences, so that each can be found and understood alone."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from contend.text import detect_language

_STOPS = (".", "!", "?", "。", "！", "？", "…")


def said_row(names: Sequence[str], values: Iterable[str]) -> str:
    """`- Year: 1940; Bridge: Tacoma Narrows.`, or "" for a row without a value.

    A column without a name gives its value alone.
    """
    cells = dict.fromkeys(
        f"{name}: {value}" if name else value
        for name, value in zip_longest(map(one_line, names), map(one_line, values), fillvalue="")
        if value
    )
    said = "; ".join(cells)
    if said and not said.endswith(_STOPS):
        said += "。" if detect_language(said) == "ja" else "."
    return f"- {said}" if said else ""


def one_line(text: str) -> str:
    return " ".join(text.split())
