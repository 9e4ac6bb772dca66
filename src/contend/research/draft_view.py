"""A draft as prompts show it, and how long it is printed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from typing_extensions import TypedDict

from contend.models.research import CitedSentence, Draft, Table, TableRow
from contend.prompts.research import PartLength
from contend.report.plain import MOST_NAMES

PARTS = {"summary": "Summary", "finding": "Findings", "limit": "Limits"}
"""The parts of a draft that are no sections, by what begins the places of their statements."""
_WORDS_OF_PARTS = 5


def shown_draft(
    draft: Draft, numbers: Mapping[str, int | str], *, only_sections: bool = False, basis: bool = True
) -> str:
    """The draft as a model reads it: each statement under its place, with its passages by number and its kind.

    A table's cells have their own passages behind them, and what the row rests on as a whole stands in its brackets.
    Above the statements of a block stands its type, of a table with its columns. `basis`: also what readers don't see,
    the arithmetic and the searches behind the statements.
    """
    lines = [f"Title: {draft.title}"] if draft.title else []
    lines += ["Sources: printed by the names of their files"] if draft.sources_by_name else []
    lines += ["Headings: those of the sections alone are printed"] if draft.own_headings else []
    heading, rows, blocks = "", draft.rows(), _block_lines(draft)
    for place, sentence in draft.placed():
        if only_sections and not place[0].isdigit():
            continue
        if (new := _heading(draft, place)) != heading:
            heading = new
            lines.append(f"\n## {heading}")
        if place.endswith(".1"):
            lines.append(blocks[place.removesuffix(".1")])
        text, whole = _shown(sentence, rows.get(place), numbers)
        lines.append(f"{place}: {text}{_about(sentence, whole, basis=basis)}")
    return "\n".join(lines).strip()


def _block_lines(draft: Draft) -> dict[str, str]:
    return {
        f"{number}.{at}": f"{number}.{at} {block.type}"
        + (f": {' | '.join(block.columns)}" if isinstance(block, Table) else "")
        for number, section in enumerate(draft.sections, start=1)
        for at, block in enumerate(section.blocks, start=1)
    }


class DraftLength(TypedDict):
    """As it is printed, in words and in characters other than spaces; whole, and by part.

    The marks behind a sentence or an item count as one word of three characters, whatever their numbers. Those in
    tables do not count: a row would have one column of them for all its cells, where each figure should have its own.
    Where they show names, each is a word, in tables too.
    """

    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]


def length_of(draft: Draft) -> DraftLength:
    """How long a draft is."""
    texts: dict[str, list[str]] = {name: [] for name in ("summary", "findings")}
    for number, section in enumerate(draft.sections, start=1):
        tables = [block for block in section.blocks if isinstance(block, Table)]
        texts[f"section {number}"] = [section.heading, *(word for table in tables for word in _words_of(table, draft))]
    rows = draft.rows()
    for place, sentence in draft.placed():
        if place not in rows:
            opening = place.startswith(("summary", "finding"))
            words = [sentence.text, *_mark_words(sentence.passages, draft, opening=opening)]
            texts.setdefault(_part_of(place), []).extend(words)
    parts = [_length(name, " ".join(of_part).split()) for name, of_part in texts.items()]
    return {
        "draft_words": sum(part.words for part in parts),
        "draft_characters": sum(part.characters for part in parts),
        "draft_parts": parts,
    }


def _words_of(table: Table, draft: Draft) -> Iterator[str]:
    yield from table.columns
    for row in table.rows:
        yield from row.texts()
    if draft.sources_by_name:
        for passages in (table.common_passages(), *chain(*map(table.printed_passages, table.rows))):
            yield from _mark_words(passages, draft)


def _mark_words(passages: Sequence[str], draft: Draft, *, opening: bool = False) -> list[str]:
    """A mark by numbers is one word, by names one for each; in the opening, of many, it refers to parts."""
    if not draft.sources_by_name:
        return ["[1]"] if passages else []
    return ["[1]"] * (_WORDS_OF_PARTS if opening and len(passages) > MOST_NAMES else len(passages))


def _part_of(place: str) -> str:
    """`section 2` of `2.1.3`, `findings` of `finding 1`."""
    name, _, _ = place.partition(" ")
    return PARTS[name].casefold() if name in PARTS else f"section {name.partition('.')[0]}"


def _length(name: str, words: Sequence[str]) -> PartLength:
    return PartLength(name=name, words=len(words), characters=sum(map(len, words)))


def _heading(draft: Draft, place: str) -> str:
    name, _, _ = place.partition(" ")
    if name in PARTS:
        return PARTS[name]
    number = int(name.partition(".")[0])
    return f"Section {number}: {draft.sections[number - 1].heading}".rstrip(": ")


def _shown(sentence: CitedSentence, row: TableRow | None, numbers: Mapping[str, int | str]) -> tuple[str, str]:
    """A statement's text with its passages, and those of a row as a whole."""
    if row is None:
        return sentence.text + _marks(sentence.passages, numbers), ""
    *by_cell, of_row = (_marks(passages, numbers) for passages in row.passages_by_cell())
    cells = (text + marks for text, marks in zip(row.texts(), by_cell, strict=True))
    return " | ".join(cells), f"row{of_row}" if of_row else ""


def _marks(passages: Sequence[str], numbers: Mapping[str, int | str]) -> str:
    """Behind a space; "" for passages without a number."""
    cited = dict.fromkeys(numbers[each] for each in passages if each in numbers)
    marks = "".join(f"[P{number}]" if isinstance(number, int) else f"[{number}]" for number in cited)
    return f" {marks}" if marks else ""


def _about(sentence: CitedSentence, whole: str, *, basis: bool) -> str:
    kind = sentence.kind if sentence.kind != "stated" else ""
    about = ", ".join(part for part in (whole, kind, sentence.basis if basis else "") if part)
    return f" ({about})" if about else ""
