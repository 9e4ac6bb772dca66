"""Documents to what can be quoted of them: sentences, list items, `Key: value` lines, table rows, code blocks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from contend.checks.injection import PlantedText
from contend.text import detect_language, is_pair, split_blocks, split_sentences, without_item_mark

Kind = Literal["prose", "item", "pair", "row", "code"]

_WHOLE_PARAGRAPH = {"en": 280, "ja": 140}
"""A paragraph of so many characters is quoted whole, a longer one by the sentence."""

_SEPARATOR = re.compile(r"\|?[\s:|-]+\Z")
_ITEM = re.compile(r"(?:[-*+•‣・]\s|\d{1,3}[.)]\s|・)")
_LONGEST_LEAD = 300


class SourceText(NamedTuple):
    """What stands under one heading (or on one page) of a document, as Markdown."""

    url: str
    title: str
    heading: str
    text: str


@dataclass(frozen=True)
class Unit:
    """What can be quoted whole. `lead`: the line that leads into its list, or its table's head; "" without one.

    `group` tells the list, table or paragraph that it belongs to.
    """

    source: SourceText
    kind: Kind
    text: str
    lead: str = ""
    group: int = 0

    def context(self) -> str:
        """What it stands under, which says what it is about."""
        return f"{self.source.title}\n{self.source.heading}\n{self.lead}"


def units_of(sources: Sequence[SourceText]) -> list[Unit]:
    """All that can be quoted, in reading order; orders to whoever reads a document are not, nor shown as its title."""
    planted = PlantedText((source.url, f"{source.title}\n\n{source.heading}\n\n{source.text}") for source in sources)

    def with_harmless_head(source: SourceText) -> SourceText:
        title, heading = ("" if planted.in_sentence(each) else each for each in (source.title, source.heading))
        return source._replace(title=title, heading=heading)

    units = (unit for source in sources for unit in _units(with_harmless_head(source)))
    return [each for unit in units for each in _without_orders(unit, planted)]


def _without_orders(unit: Unit, planted: PlantedText) -> list[Unit]:
    """The unit; of prose with orders in it, its other sentences; nothing of another kind with orders in it."""
    sentences = split_sentences(unit.text)
    ordered = any(map(planted.in_sentence, [unit.text, *sentences, *split_sentences(unit.lead)]))
    if not ordered:
        return [unit]
    honest = [sentence for sentence in sentences if not planted.in_sentence(sentence)]
    return [replace(unit, text=sentence) for sentence in honest] if unit.kind == "prose" else []


def _units(source: SourceText) -> Iterator[Unit]:
    """A line that leads into a list or into code, and the names of a table's columns, are quoted with it."""
    pending: Unit | None = None
    before, lead, group, kind_before = "", "", 0, ""
    for block in split_blocks(source.text):
        kind = _kind(block)
        begins = kind != kind_before or kind not in {"item", "row"}
        if begins:
            group, lead = group + 1, _lead(kind, block, before)
            if pending and not (lead and lead == pending.text) and not _names_columns(pending.text, kind, block):
                yield pending
            pending = None
        before, kind_before = block, kind
        if kind == "row" and (begins or _SEPARATOR.match(block)):
            continue
        for text in _texts(kind, block):
            unit = Unit(source, kind, text, lead, group)
            if pending:
                yield pending
            pending = unit if kind in {"prose", "pair"} else None
            if pending is None:
                yield unit
    if pending:
        yield pending


def _lead(kind: Kind, block: str, before: str) -> str:
    if kind == "row":
        return block
    leads = kind in {"item", "code"} and len(before) <= _LONGEST_LEAD and before.endswith((":", "："))
    return before if leads else ""


def _names_columns(text: str, kind: Kind, block: str) -> bool:
    """Whether a line holds only the names that each row of the table beneath it repeats."""
    names = [name for name in text.split("; ") if name]
    return kind == "item" and len(names) > 1 and without_item_mark(block).startswith(f"{names[0]}: ")


def _kind(block: str) -> Kind:
    if block.startswith(("```", "~~~")):
        return "code"
    if block.startswith("|"):
        return "row"
    if _ITEM.match(block):
        return "item"
    single = len(split_sentences(block)) == 1
    return "pair" if single and is_pair(block) else "prose"


def _texts(kind: Kind, block: str) -> list[str]:
    if kind != "prose" or len(block) <= _WHOLE_PARAGRAPH[detect_language(block)]:
        return [block]
    return split_sentences(block)


def cells_of(row: str) -> list[str]:
    """The cells of a table's row in Markdown."""
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def said_by(unit: Unit) -> str:
    """The unit as it is searched: a row with the names of its columns, an item without its mark."""
    if unit.kind != "row":
        return without_item_mark(unit.text)
    pairs = zip(cells_of(unit.lead), cells_of(unit.text), strict=False)
    return "; ".join(f"{name}: {cell}" for name, cell in pairs)
