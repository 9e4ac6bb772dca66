"""Code in Markdown: what stands in it is no citation, no link and no HTML, and nobody changes it."""

import re
from bisect import bisect_left

_ESCAPE_OR_TICKS = re.compile(r"\\[!-/:-@\[-`{-~]|`+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")


def split_code(text: str) -> list[str]:
    """The text in pieces: code spans, with their backticks, stand at the odd places. Joined they are the text."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    pieces: list[str] = []
    begin = place = 0
    while match := _ESCAPE_OR_TICKS.search(text, place):
        place = match.end()
        closing = [] if match[0][0] == "\\" else runs.get(len(match[0]), [])
        following = bisect_left(closing, place)
        if following < len(closing):
            place = closing[following] + len(match[0])
            pieces += [text[begin : match.start()], text[match.start() : place]]
            begin = place
    return [*pieces, text[begin:]]


def without_code(markdown: str) -> str:
    """Markdown without its code blocks and code spans."""
    prose = "\n".join(_without_blocks(markdown.split("\n")))
    return "\n\n".join("".join(split_code(paragraph)[::2]) for paragraph in _BLANK_LINES.split(prose))


def _without_blocks(lines: list[str]) -> list[str]:
    prose: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if not fence and not mark:
            prose.append(line)
        elif not fence and mark:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
    return prose
