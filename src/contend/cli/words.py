"""The language of the command line's messages: English as they stand in the code, Japanese by `ja.toml`."""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from contend.cli.invocation import COMMAND
from contend.errors import InputError


@cache
def japanese() -> Mapping[str, str]:
    """Each message in Japanese."""
    return tomllib.loads(Path(__file__).with_name("ja.toml").read_text("utf-8"))


def speak(theme: str = "", language: str | None = None) -> None:
    """Japanese where the locale or the run's language is: the one that was chosen, else its question's."""
    if theme and language in {None, "auto"}:
        # Help has no text: what reads texts is imported where there is one.
        from contend.text import detect_language

        language = detect_language(theme)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    COMMAND.is_japanese = language == "ja" or locale.startswith("ja")


def is_japanese() -> bool:
    """Programs read English wherever they run."""
    return COMMAND.is_japanese and not COMMAND.as_json


def tr(message: str, /, **values: object) -> str:
    """The message in the language of this process, with its values; in English where it has no other."""
    words = japanese().get(message, message) if is_japanese() else message
    return words.format(**values) if values else words


def input_error(message: str, /, **values: object) -> InputError:
    """A refusal in the language of this process."""
    return InputError(tr(message, **values))
