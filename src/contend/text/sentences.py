"""Split English and Japanese text into sentences, blocks and table rows; handle marks, escapes and code in Markdown."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile, zip_longest
from textwrap import dedent
from typing import NamedTuple

from contend.text import en
from contend.text.characters import CJK, LONGEST_WORD, detect_language, is_japanese_character

_ESCAPE_OR_TICKS = re.compile(r"\\[!-/:-@\[-`{-~]|`+")


def split_code(text: str) -> list[str]:
    """Split a text at code spans, which come at the odd places, with backticks. Joined, the pieces are the text."""
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


class WordsAndCode(NamedTuple):
    """A statement's words, on one line, and the lines of code that it ends with; "" without such lines."""

    words: str
    code: str

    def __str__(self) -> str:
        return f"{self.words}\n{fenced(self.code)}" if self.code else self.words


def words_and_code(text: str) -> WordsAndCode:
    """Split a statement into its words and the lines of code that it ends with, between lines of backticks.

    If no words come first, or more follows the code, everything counts as words.
    """
    words, ticks, rest = text.partition("```")
    ticks += "`" * (len(rest) - len(rest.lstrip("`")))
    block = rest.lstrip("`").partition("\n")[2]
    code = dedent(block.rstrip().removesuffix(ticks)).strip("\n").rstrip()
    if words.strip() and code and block.rstrip().endswith(ticks) and ticks not in code:
        return WordsAndCode(" ".join(words.split()), "\n".join(map(str.rstrip, code.split("\n"))))
    return WordsAndCode(" ".join(text.split()), "")


def fenced(code: str) -> str:
    """Lines of code as Markdown, between lines of more backticks than they have in a row."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
    return f"{ticks}\n{code}\n{ticks}"


SENTENCE_STOPS = ".!?。．！？…"
"""Characters that may end a sentence."""

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_STANDS_ALONE = re.compile(r"\s*(#{1,6}\s|\||([-*_=]\s?){3,}$)")
_ITEM = r"\s*(?:[-*+•‣]\s|\d{1,3}[.)]\s|[>・])"
_STARTS_BLOCK = re.compile(rf"\s*$|{_ITEM}|{_STANDS_ALONE.pattern}")
_ITEM_MARK = re.compile(rf"(?:{_ITEM})*\s*")
_PAIR = re.compile(r"\s*(?=[^\s:：])[^:：.!?,;。！？、|]{1,40}[:：](?!//)[ \t\u3000]*\S")
_SENTENCE_END = re.compile(
    rf"""
    (?: (?: [。｡！？] | ．(?!\d) | (?<=[{CJK}])[!?] ) [。｡！？!?]* (?P<closing>[」』）】〉》”’)\]"']*)
      | (?<![.!?…])[.!?…]+ ["'”’»)\]]* (?=\s|\Z|\[\d)
    )
    (?:\s?\[\d{{1,3}}\])*
    """,
    re.VERBOSE,
)
_BRACKETS = re.compile(r"[(（][^()（）]{0,300}[)）]|「[^「」]{0,300}」|『[^『』]{0,300}』|“[^“”]{0,300}”")
_GOES_ON = re.compile("[とっなはがをにのでもかや、，]")
_NEXT_CHARACTER = re.compile(r"\s*(\S)")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.){0,20}[^\W\d_]{1,40}\.\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+\Z")


def split_sentences(text: str) -> list[str]:
    """Split English or Japanese text into sentences. Only white space is lost.

    Headings, list items, table rows and blank lines end a sentence. A fenced code block is one item.
    """
    return list(_split(text))


# The same texts are split again and again: a draft's sentences by each check, its report by each metric, passages by
# each team and round.
@lru_cache(maxsize=512)
def _split(text: str) -> tuple[str, ...]:
    return tuple(sentence for block in split_blocks(text) for sentence in _sentences_of(block))


def split_blocks(text: str) -> Iterator[str]:
    """Split Markdown into paragraphs, list items, headings and table rows, one line each. A code block keeps its lines.

    Consecutive lines of the form `Key: value` are blocks of their own.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[1].startswith(fence):
                yield "\n".join(lines).strip()
                lines, fence = [], ""
            continue
        if lines and (mark or _STARTS_BLOCK.match(line) or _STANDS_ALONE.match(lines[0])):
            yield from _blocks_of(lines)
            lines = []
        if mark or line.strip():
            lines.append(line)
        fence = mark[1] if mark else ""
    if lines and fence:
        yield "\n".join(lines).strip()
    elif lines:
        yield from _blocks_of(lines)


def without_code(markdown: str) -> str:
    """Markdown without code blocks and code spans, with one block per line."""
    prose = (block for block in split_blocks(markdown) if not _FENCE.match(block))
    return "\n".join("".join(split_code(block)[::2]) for block in prose)


def _blocks_of(lines: list[str]) -> list[str]:
    pairs = len(lines) > 1 and all(map(is_pair, lines))
    return [line.strip() for line in lines] if pairs else [_join_lines(lines)]


def is_pair(line: str) -> bool:
    """Whether a line has the form `Key: value`, with a key of a few words."""
    return _PAIR.match(line) is not None


def _join_lines(lines: list[str]) -> str:
    """Join lines with spaces, but without one between Japanese characters."""
    parts = [line.strip() for line in lines]
    pieces = [parts[0]]
    for before, after in pairwise(parts):
        pieces += ["" if is_japanese_character(before[-1]) and is_japanese_character(after[0]) else " ", after]
    return "".join(pieces)


def _sentences_of(block: str) -> Iterator[str]:
    begin = 0
    for end in [] if _FENCE.match(block) or _STANDS_ALONE.match(block) else _sentence_ends(block):
        yield block[begin:end].strip()
        begin = end
    if rest := block[begin:].strip():
        yield rest


def _sentence_ends(block: str) -> Iterator[int]:
    """The places where sentences end, except within brackets or quotation marks."""
    spans = _BRACKETS.finditer(block)
    span = next(spans, None)
    start = _ITEM_MARK.match(block)
    for end in _SENTENCE_END.finditer(block, start.end() if start else 0):
        while span and span.end() <= end.start():
            span = next(spans, None)
        within = span is not None and span.start() < end.end() < span.end()
        if not within and _ends_here(block, end):
            yield end.end()


def _ends_here(block: str, end: re.Match[str]) -> bool:
    """Decide by the word before and the character after whether a sentence really ends here."""
    after = _NEXT_CHARACTER.match(block, end.end())
    following = after[1] if after else ""
    if end["closing"] is not None:
        return not (end["closing"] and _GOES_ON.match(following))
    if following.islower():
        return False
    last = _LAST_WORD.search(block, max(0, end.start() - LONGEST_WORD), end.start() + 1)
    if last is None:
        return True
    word = last[0].lower()
    return not (
        _INITIALS.match(word) or word in en.ABBREVIATIONS or (following.isdigit() and word in en.BEFORE_NUMBERS)
    )


_CITATION = re.compile(r"\s?(?:\[P?[1-9]\d{0,2}\]|\*[(（](?:judgement|判断)[)）]\*)|[†‡⇄]")
_JOINED_CITATIONS = re.compile(r"\s?\[\d{1,3}(?:[,–]\d{1,3})+\]")
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ANCHOR = re.compile(r"(?<!\s)\s*\{:?\s?[#.][^{}]*\}\s*\Z")
_ITEM_MARKS = re.compile(r"(?:[-*+•‣・]\s+|\d{1,3}[.)]\s+|>\s*)+|・")


def without_marks(sentence: str) -> str:
    """The sentence without citation marks such as `[1]`, and without the marks of kinds."""
    return _CITATION.sub("", sentence)


def without_item_mark(sentence: str) -> str:
    """The sentence without its list mark, such as `-` or `1.`."""
    mark = _ITEM_MARKS.match(sentence)
    return sentence[mark.end() :] if mark else sentence


def without_anchor(heading: str) -> str:
    """The heading or title without an anchor such as `{#setup}`."""
    return _ANCHOR.sub("", heading)


_LIVE = re.compile(r"[\\`*\[\]<>~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?(?:\w*;|\Z))|\A#")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
OPENS_BLOCK = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=#{1,6}(?:\s|\Z)|>|[-+*](?:\s|\Z)|~{3}|\[[^\[\]]*\]:))")
"""The beginning of a heading, quote, list item or definition. To escape it, put a `\\` before the match's end."""


def inert(text: str) -> str:
    """Escape a text so that Markdown shows it letter by letter. Not for table cells."""
    return _LIVE.sub(lambda match: f"\\{match[0]}", text)


def without_escapes(markdown: str) -> str:
    """Undo `inert`."""
    return _ESCAPED.sub(r"\1", markdown)


def bare_text(text: str) -> str:
    """A sentence for comparison: without white space, emphasis, link targets and citation marks."""
    return re.sub(r"[\s*_`]", "", _JOINED_CITATIONS.sub("", without_marks(_LINK_TARGET.sub(r"\1", text)))).casefold()


_NAME_GAP, _CELL_GAP, _ROW = "; ", " | ", "- "
_NAMES_AND_ROW = re.compile(rf"^(?>.*{_NAME_GAP}).*\n{_ROW}", re.MULTILINE)
_LEAST_COLUMNS = 2


def table_row(names: Sequence[str], values: Iterable[str]) -> str:
    """A table row as one line, such as `- Year: 1940; Bridge: Tacoma Narrows.`; "" if it has no value.

    A column without a name gives only its value.
    """
    row = _NAME_GAP.join(
        f"{name}: {value}" if name else value
        for name, value in zip_longest(map(one_line, names), map(one_line, values), fillvalue="")
        if value
    )
    if row and not row.endswith(tuple(SENTENCE_STOPS)):
        row += "。" if detect_language(row) == "ja" else "."
    return f"{_ROW}{row}" if row else ""


def one_line(text: str) -> str:
    return " ".join(text.split())


def compact_tables(text: str) -> str:
    """Name the columns of a passage's table once above its rows, instead of in each row.

    Table files are stored as column names and `table_row` lines, which can be searched and checked one by one. A model
    that sees all rows reads `1940 | Tacoma Narrows.` below `Year | Bridge`.
    """
    # Most texts have no row, which a plain search finds out soonest.
    if f"\n{_ROW}" not in text or not _NAMES_AND_ROW.search(text):
        return text
    lines, compact = text.split("\n"), []
    while lines:
        names = lines[0].split(_NAME_GAP)
        rows = list(takewhile(lambda line: line.startswith(_ROW), lines[1:]))
        cells = [_cells(row.removeprefix(_ROW), names) for row in rows]
        if rows and all(cells) and _CELL_GAP not in "".join(lines[: len(rows) + 1]):
            compact += [_CELL_GAP.join(row) for row in (names, *cells)]
        else:
            compact += lines[: len(rows) + 1]
        lines = lines[len(rows) + 1 :]
    return "\n".join(compact)


def _cells(row: str, names: Sequence[str]) -> list[str]:
    """The values of a row, "" for a column it does not name; empty if it is not a row of these columns."""
    rest, cells = f"{_NAME_GAP}{row}", [""] * len(names)
    for column in range(len(names) - 1, -1, -1):
        before, separator, value = rest.rpartition(f"{_NAME_GAP}{names[column]}: ")
        if separator:
            rest, cells[column] = before, value
    return cells if not rest and len(names) >= _LEAST_COLUMNS else []
