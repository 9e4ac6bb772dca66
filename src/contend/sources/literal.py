"""Find literal words in text, such as parameter names, clause numbers and error codes. Pure."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from contend.text import fold
from contend.text.characters import CJK

_MOST_CHARACTERS = 200
_DROPPED = re.compile(r"[*`\u00ad]|\\(?=[!-/:-@\[-`{-~])")
"""Markdown marks. A `*` in the words matches anything, so it need not be in the text."""
_ALIKE = str.maketrans("‐‑‒–—―−‘’‚“”„", "-------'''\"\"\"")
_LINE_MARK = re.compile(r"(?:[-+•‣|>・]|\d{1,3}[.)]) ?")
_BEGINS, _ENDS = rf"(?:(?<![^\W{CJK}])|(?![^\W{CJK}]))", rf"(?:(?![^\W{CJK}])|(?<![^\W{CJK}]))"
"""Where no word goes on. In Japanese and Chinese, words are not parted: there it is everywhere."""
_CJK_GAP = re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")


class ComparableText(NamedTuple):
    """A text normalized for comparison: its lines, and all of it on one line."""

    lines: list[str]
    whole: str

    @classmethod
    def of(cls, text: str) -> "ComparableText":
        lines = [plain for line in text.split("\n") if (plain := _comparable(line))]
        return cls(lines, _without_gaps(" ".join(lines)))


class LiteralWords:
    """Words to find literally, ignoring case, character width and white space.

    `*` matches anything within a line, `?` one character; there are no other patterns. Only the first 200 characters
    count.
    """

    def __init__(self, words: str) -> None:
        parts = [_comparable(part) for part in words.strip()[:_MOST_CHARACTERS].split("*")]
        self._parts = [part for part in parts if part]
        self._patterns = [re.compile(_pattern(part)) for part in self._parts]
        self._apart = [
            re.compile(f"{_BEGINS if number == 0 else ''}{_pattern(part)}{_ENDS if number == len(parts) - 1 else ''}")
            for number, part in enumerate(parts)
            if part
        ]
        self._has_gaps = len(parts) > 1 or any("?" in part for part in parts)

    def __bool__(self) -> bool:
        """Whether there is anything to find."""
        return any(part.strip("? ") for part in self._parts)

    def stand_in(self, text: ComparableText) -> bool:
        """Whether the text contains the words; across lines if they have no `*` or `?`."""
        return any(map(self._stand_in_line, text.lines)) if self._has_gaps else self._stand_in_line(text.whole)

    def stand_apart(self, text: ComparableText) -> bool:
        """Whether the text contains the words by themselves: `nat` not as in "native", but `nat*` does."""
        lines = text.lines if self._has_gaps else [text.whole]
        return any(_in_turn(self._apart, line) for line in lines)

    def open_a_line(self, text: ComparableText) -> bool:
        """Whether a line starts with the words, after any mark of an item or row, as a definition does."""
        return any(
            self._patterns[0].match(line, mark.end() if (mark := _LINE_MARK.match(line)) else 0)
            and self._stand_in_line(line)
            for line in text.lines
        )

    def _stand_in_line(self, line: str) -> bool:
        return _in_turn(self._patterns, line)


def _in_turn(patterns: Sequence[re.Pattern[str]], line: str) -> bool:
    place = 0
    # Each part at its first place after the previous one: if that fails, no later place helps.
    for pattern in patterns:
        match = pattern.search(line, place)
        if match is None:
            return False
        place = match.end()
    return True


def _comparable(line: str) -> str:
    """A line in lower case and one width, without Markdown marks, with single spaces, none between Japanese."""
    return _without_gaps(fold(_DROPPED.sub("", line)).translate(_ALIKE))


def _without_gaps(line: str) -> str:
    return line if line.isascii() else _CJK_GAP.sub("", line)


def _pattern(part: str) -> str:
    """The part as a pattern of fixed length, which is tried once at each place of a text."""
    runs = ("".join(run) for _, run in groupby(part, key=lambda character: character == "?"))
    return "".join(f".{{{len(run)}}}" if run[0] == "?" else re.escape(run) for run in runs)
