"""Documents to passages: pieces of a few sentences under one heading, the unit of search and citation."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contend.text import detect_language, split_blocks, split_sentences, without_anchor

_CHARACTERS = {"en": 700, "ja": 350}
_MOST = 4
"""A sentence or code block of more than this many passages' length is not one, and is cut."""

_HEADING = re.compile(r"(#{1,6})\s+")
_RULE = re.compile(r"([-*_=]\s?){3,}\Z")
_CODE = re.compile(r"```|~~~")
_LISTED = re.compile(r"[-*+•‣]\s|\d{1,3}[.)]\s|[|>・]")


class TextPiece(NamedTuple):
    """A passage, and the headings it stands under as `Outer › Inner`."""

    heading: str
    text: str
    section: int = 0
    """The number in its document of the text that stands under one heading."""
    gap: str = ""
    """The white space between the passage before it and this one."""


def split_passages(markdown: str) -> list[TextPiece]:
    """Passages of about 700 characters (Japanese: 350), cut only between sentences, never within a code block.

    A sentence or block longer than that stays whole, up to four times the length. Nothing is lost but headings, which
    go to `heading`, rules and white space.
    """
    limit = _CHARACTERS[detect_language(markdown[:20_000])]
    sections = list(_sections(markdown)) or [("", [markdown.strip()])]
    return [
        TextPiece(heading, text, number, gap)
        for number, (heading, blocks) in enumerate(sections)
        for text, gap in _packed((part for block in blocks for part in _parts(block, limit)), limit)
    ]


def _sections(markdown: str) -> Iterator[tuple[str, list[str]]]:
    """Each heading's path with the blocks beneath it."""
    path: list[tuple[int, str]] = []
    blocks: list[str] = []
    for block in split_blocks(markdown):
        heading = _HEADING.match(block)
        if heading is None:
            if not _RULE.match(block):
                blocks.append(block)
            continue
        if blocks:
            yield " › ".join(name for _, name in path), blocks
        level = len(heading[1])
        name = without_anchor(block[heading.end() :].rstrip("#").rstrip())
        path = [*(above for above in path if above[0] < level), (level, name)]
        blocks = []
    if blocks:
        yield " › ".join(name for _, name in path), blocks


def _parts(block: str, limit: int) -> Iterator[str]:
    """The block whole where it fits, else its sentences, else cut by length; with the gap that goes before it."""
    gap = "\n" if _LISTED.match(block) else "\n\n"
    most = _MOST * limit
    if len(block) <= limit or (_CODE.match(block) and len(block) <= most):
        yield gap + block
        return
    cut = block.splitlines(keepends=True) if _CODE.match(block) else _spaced_sentences(block)
    for sentence in cut:
        for start in range(0, len(sentence), most):
            yield gap + sentence[start : start + most]
            gap = ""


def _spaced_sentences(block: str) -> Iterator[str]:
    """Sentences, each with the white space that follows it."""
    begin = 0
    for sentence in split_sentences(block):
        end = block.index(sentence, begin) + len(sentence)
        while end < len(block) and block[end].isspace():
            end += 1
        yield block[begin:end]
        begin = end


def _packed(parts: Iterable[str], limit: int) -> Iterator[tuple[str, str]]:
    """Parts together up to the limit, or a fifth above it where a short part would else stand alone.

    Each with the white space that goes before it.
    """
    text = gap = ""
    for part in parts:
        room = limit if len(part) > limit // 5 else limit + limit // 5
        if text.strip() and len(text) + len(part) > room:
            yield text.strip(), gap + _leading(text)
            text, gap = "", text[len(text.rstrip()) :]
        text += part
    if text.strip():
        yield text.strip(), gap + _leading(text)


def _leading(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]
