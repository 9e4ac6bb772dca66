"""Questions: how long they may be, and what heads their reports."""

from contend.errors import InputError
from contend.models.record import QUESTION_CHARACTERS, TITLE_CHARACTERS
from contend.text import clean, shorten

_SHOWN = 60


def checked_theme(theme: object) -> str:
    """The question, cleaned and stripped.

    Raises:
        InputError: no text, empty, or over 8,000 characters.
    """
    if not isinstance(theme, str):
        raise InputError(f"theme = {shorten(repr(theme), _SHOWN)} is no text: give the question in quotes")
    # Its length is looked at before it is cleaned, which takes long for long texts, and after: some characters unfold.
    cleaned = clean(_bounded(theme.strip())).strip()
    if not cleaned:
        raise InputError(f"theme is empty: give the question to research, 1 to {QUESTION_CHARACTERS:,} characters")
    return _bounded(cleaned)


def title_of(question: str) -> str:
    """What heads a plan and a report where no other title is given: the question on one line, cut to 500 characters."""
    return shorten(clean(question, single_line=True), TITLE_CHARACTERS)


def _bounded(theme: str) -> str:
    if len(theme) > QUESTION_CHARACTERS:
        raise InputError(
            f"theme has {len(theme):,} characters, at most {QUESTION_CHARACTERS:,} are allowed: ask the question "
            "shortly and put the rest into instructions (--instructions FILE)"
        )
    return theme
