"""A submission as judges read it, and without what begs: what says nothing then is refused unseen."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from contend.models.record import Language
from contend.models.research import HEADINGS, MARK
from contend.orders import works_on_the_judge
from contend.text import clean, split_blocks, split_sentences, squeezed, terms, without_item_mark, without_sentences

_FRAME = re.compile(
    r"#{1,6}\s|-\s(?:Source|URL|Published|Authors): |\d{1,3}\.\s\*\*[^*]+\*\*\Z|\*Generated at|\|[\s:|-]+\Z"
)
"""Headings, entries of references, the ruler of a table: they may repeat, and say nothing of the question."""

_ENTRY = re.compile(r"(\d{1,3})\.\s\*\*")
_LISTED = re.compile(r"[-*+•・>|]|\d{1,3}[.)]\s")
_REFERENCES = tuple(f"## {named.references}" for named in HEADINGS.values())
_ALSO_READ = tuple(f"### {named.also_read}" for named in HEADINGS.values())

_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "empty": "the submission is empty",
        "nothing": "nothing beyond the question",
    },
    "ja": {
        "empty": "提出物が空である",
        "nothing": "質問のほかに何も述べていない",
    },
}


class Seen(NamedTuple):
    """The text without what begs, and how many sentences were left out of it."""

    text: str
    orders: int
    repeats: int


@lru_cache(maxsize=64)
def seen_by_judges(content: str) -> Seen:
    """The submission without sentences that work on the judge, and with each sentence where it stands first.

    Of its references those that it cites: the others say nothing of the report, and may be most of its length.

    The layout is the same whatever was left out, so that an addition that is left out changes nothing.
    """
    reading = _Reading()
    blocks = [kept for block in split_blocks(clean(content)) if (kept := reading.block(block))]
    return Seen(_laid_out(_without_unread(blocks)), reading.orders, reading.repeats)


@lru_cache(maxsize=64)
def whole_text(content: str) -> str:
    """All that the submission says. Of its references those that it cites: the others say nothing of the report."""
    return _laid_out(_without_unread([*split_blocks(clean(content))]))


@lru_cache(maxsize=64)
def refusal(theme: str, content: str, language: Language = "en") -> str | None:
    """Why code refuses a submission before any call; None if it may be judged."""
    if not clean(content).strip():
        return _SAID[language]["empty"]
    question = _bare(theme)
    said = (part for sentence in _said(seen_by_judges(content).text) for part in re.split("[.?!。．？！]", sentence))
    beyond = any(terms(part) and _bare(part) not in question for part in said)
    return None if beyond else _SAID[language]["nothing"]


class _Reading:
    """One submission, read from the top."""

    def __init__(self) -> None:
        self.orders = 0
        self.repeats = 0
        self._read: set[str] = set()

    def block(self, block: str) -> str:
        """What stays of a paragraph, list item, heading, table row or code block; "" if nothing does."""
        if _FRAME.match(block):
            return "" if self._works(block) else block
        return without_sentences(block, lambda sentence: not self._stays(sentence))

    def _stays(self, sentence: str) -> bool:
        if not re.search(r"\w", without_item_mark(sentence)) or any(self._works(line) for line in sentence.split("\n")):
            return False
        key = squeezed(without_item_mark(sentence))
        again = key in self._read
        self._read.add(key)
        self.repeats += again
        return not again

    def _works(self, sentence: str) -> bool:
        works = works_on_the_judge(sentence)
        self.orders += works
        return works


def _without_unread(blocks: list[str]) -> list[str]:
    """The blocks without the references that nothing cites, and without the date below them."""
    begin = next((place for place, block in enumerate(blocks) if block.startswith(_REFERENCES)), len(blocks))
    cited = {number for block in blocks[:begin] for number in MARK.findall(block)}
    kept, shown = blocks[:begin], True
    for block in blocks[begin:]:
        if entry := _ENTRY.match(block):
            shown = entry[1] in cited
        if shown and not block.startswith(("*Generated at", *_ALSO_READ)):
            kept.append(block)
    return kept


def _laid_out(blocks: list[str]) -> str:
    text = "".join(blocks[:1])
    for before, after in pairwise(blocks):
        text += ("\n" if _LISTED.match(before) and _LISTED.match(after) else "\n\n") + after
    return text


def _said(markdown: str) -> Iterator[str]:
    """The sentences up to the references, without headings."""
    for block in split_blocks(markdown):
        if block.startswith(_REFERENCES):
            break
        if not _FRAME.match(block):
            yield from split_sentences(without_item_mark(block))


def _bare(text: str) -> str:
    return re.sub(r"[\W_]", "", squeezed(text))
