"""The parts of a question: what its own marks and lines set apart, nothing cleverer."""

import re

from contend.text import clean, terms, without_item_mark

_QUESTION_END = re.compile(r"(?<=[?？])(?![?？])[\s\u3000]*")


def parts_of(question: str) -> list[str]:
    """The questions that a question holds: sub-questions by their marks, list items, lines. One where none is apart.

    A line that only leads in, as in `Tell me:`, is no part.
    """
    lines = [line for line in clean(question).splitlines() if line.strip()]
    found = [part for line in lines for part in _QUESTION_END.split(without_item_mark(line.strip()))]
    parts = [part.strip() for part in found if terms(part) and not part.rstrip().endswith((":", "："))]
    asked = [part for part in parts if part.endswith(("?", "？"))]
    # Where some parts ask and others only tell, what tells is background.
    return list(dict.fromkeys(asked or parts)) or [" ".join(clean(question).split())]
