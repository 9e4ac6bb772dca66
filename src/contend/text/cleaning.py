"""Text cleaned, in a normal form, and cut between words."""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
CJK = HAN + KANA

# Invisible characters can hide instructions, reorder what a reader sees or make equal words differ.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TERMINAL_COMMAND = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PLAIN = re.compile("[\t\n -~]*")
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def clean(text: str, *, single_line: bool = False) -> str:
    """The text in NFC without control (but newline and tab), zero-width, bidi and lone surrogate characters or colours.

    Line ends become newlines; `single_line` makes every run of white space one space and strips the ends.
    """
    if _PLAIN.fullmatch(text):
        visible = text
    else:
        bare = _TERMINAL_COMMAND.sub("", text) if "\x1b" in text else text
        visible = normalized(_INVISIBLE.sub("", _LINE_END.sub("\n", bare)), "NFC")
    return " ".join(visible.split()) if single_line else visible


_MOST_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format (UAX #15): no script writes as many."""


def normalized(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFKC") -> str:
    """The text in a normal form, in time linear in its length: without the marks above 30 in a row.

    Sorting a long run of marks takes `unicodedata` the square of its length, while no other thread can work.
    """
    if text.isascii():
        return text
    mark, too_many = _mark_patterns()
    # Of more than 30 marks in a row, one stands at a place that 30 divides: most texts are looked at no further.
    few_marks = too_many.sub(r"\1", text) if mark.search(text[::_MOST_MARKS]) else text
    return unicodedata.normalize(form, few_marks)


@lru_cache(maxsize=1)
def _mark_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A mark, and too many of them. Made at first use: it looks at each character up to the last one that combines."""
    combining = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
    mark = f"[{combining}{_UNFOLD_TO_MARKS}]"
    return re.compile(mark), re.compile(f"({mark}{{{_MOST_MARKS}}}){mark}+")


_UNFOLD_TO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that combine with nothing themselves, but consist of some that do."""

_ELLIPSIS = "…"
_UNBROKEN = re.compile(rf"[^\s{CJK}]*\Z")
LONGEST_WORD = 40


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut between words where one ends nearby, with "…" for what was cut."""
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    beginning = text[: limit - 1]
    rest = _UNBROKEN.search(beginning)
    within = not text[limit - 1].isspace() and not is_japanese_character(text[limit - 1])
    if within and rest and rest.start() > 0 and len(rest[0]) <= LONGEST_WORD:
        beginning = beginning[: rest.start()]
    return beginning.rstrip() + _ELLIPSIS


_JAPANESE_CHARACTER = re.compile(f"[{CJK}\u3000-\u303f\uff01-\uff60]")


def is_japanese_character(character: str) -> bool:
    return _JAPANESE_CHARACTER.match(character) is not None
