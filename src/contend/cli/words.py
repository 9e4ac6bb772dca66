"""The words of both languages: each message as it stands in the code, and in Japanese.

Ids, options, commands and JSON are the same in both.
"""

import os

from contend.text import detect_language

JAPANESE: dict[str, str] = {}


class _Speech:
    """The language of this process's messages."""

    japanese = False


def speak(theme: str = "", language: str | None = None) -> None:
    """Japanese where the locale or the run's language is: the one that was chosen, else its question's."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    of_run = detect_language(theme) if language in {None, "auto"} else language
    _Speech.japanese = locale.startswith("ja") or of_run == "ja"


def is_japanese() -> bool:
    return _Speech.japanese


def tr(message: str, /, **values: object) -> str:
    """The message in the language of this process, with its values; in English where it has no other."""
    known = JAPANESE.get(message, message) if _Speech.japanese else message
    return known.format(**values) if values else known
