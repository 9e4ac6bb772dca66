"""From a writer's structured reply to a draft with passage ids, and its revision."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from contend.checks.proof import sums_of
from contend.models.replies import (
    CellReply,
    KeptReply,
    ListOf,
    ParagraphOf,
    PrintedReply,
    Reply,
    ReportReply,
    RevisedSection,
    RevisionReply,
    RowReply,
    SectionChange,
    SectionReply,
    StatementReply,
    TableOf,
)
from contend.models.research import (
    Block,
    CitedSentence,
    ClaimKind,
    Draft,
    ItemList,
    Paragraph,
    Section,
    Table,
    TableCell,
    TableRow,
)
from contend.text import clean, split_code
from contend.writing.forms import PARTS
from contend.writing.planted import PlantedFilter

_MARK = re.compile(r"\[\^?P?\d{1,3}(?:\s*[,–-]\s*P?\d{1,3})*\]")
_MOST_FAULTS = 12
_NO_PASSAGE = "it is {kind} and names no passage: name those it rests on, give its sum, or say judgement or not_found"

AnyBlock = ParagraphOf[Any] | ListOf[Any] | TableOf[Any]


Numbered = Mapping[int, str]
"""The ids of passages by the numbers under which a prompt shows them."""


class EarlierDraft(NamedTuple):
    """What the draft that is revised says, by place: sentences and items, and the rows of tables."""

    sentences: Mapping[str, CitedSentence]
    rows: Mapping[str, TableRow]

    @classmethod
    def of(cls, draft: Draft) -> Self:
        return cls({each.place: each.sentence for each in draft.placed_sentences() if not each.row}, draft.rows())

    def has(self, place: str, cells: int | None) -> bool:
        """Whether it may stand in a table of so many columns or, for None, in a text."""
        if cells is None:
            return place in self.sentences
        return place in self.rows and len(self.rows[place].cells) == cells


NO_DRAFT = EarlierDraft({}, {})


def draft_of(reply: ReportReply, ids: Numbered, bullets: Sequence[Mapping[str, Any]]) -> Draft:
    """The draft with passage ids for numbers. Numbers that were not offered name nothing."""
    sections = [_section(section, ids) for section in reply.sections]
    lessons = ids_of_lessons(reply.lessons, bullets)
    title = clean(reply.title, single_line=True)
    return Draft(title=title, sections=sections, bullets_used=lessons, **_around(reply, ids))


def _around(reply: ReportReply, ids: Numbered) -> dict[str, Any]:
    """All but the sections, and how it is printed."""
    parts = {name: _sentences(getattr(reply, name), ids) for name in ("summary", "findings", "limits")}
    form = {name: getattr(reply, name) for name in PrintedReply.model_fields}
    return {**parts, **form, "opening_heading": clean(reply.opening_heading, single_line=True)}


def revise(draft: Draft, reply: RevisionReply, ids: Numbered, bullets: Sequence[Mapping[str, Any]]) -> Draft:
    """The draft with what the reply changes; all else stays word for word."""
    before = EarlierDraft.of(draft)
    changes = {
        name: _sentences(statements, ids)
        for name in ("summary", "findings", "limits")
        if (statements := getattr(reply, name)) is not None
    }
    sections: dict[int, Section | None] = dict(enumerate(draft.sections, start=1))
    for change in _safe(reply.sections, before):
        number = change.number if change.number in sections else max(sections, default=0) + 1
        sections[number] = _section(change.section, ids, before) if change.section else None
    remaining = [section for section in sections.values() if section]
    lessons = list(dict.fromkeys([*draft.bullets_used, *ids_of_lessons(reply.lessons, bullets)]))
    notes = {"bullets_used": lessons, "declined": [*draft.declined, *reply.not_done]}
    return draft.model_copy(update={**changes, **notes, "sections": remaining or draft.sections})


def _safe(changes: Sequence[SectionChange], before: EarlierDraft) -> list[SectionChange]:
    """The changes by which nothing of the draft is lost.

    One is not made that keeps what the draft does not have or what does not fit, nor one of a section that it keeps of.
    """
    safe, needed_sections = list(changes), set[str]()
    while unsafe := [
        each for each in safe if str(each.number) in needed_sections or any(_faults_of_kept_items(each.section, before))
    ]:
        safe = [each for each in safe if each not in unsafe]
        needed_sections |= {item.keep.partition(".")[0] for each in unsafe for item, _ in _kept_items(each.section)}
    return safe


def faults_of(reply: ReportReply, ids: Numbered, parts: int, guard: PlantedFilter | None = None) -> str:
    """What the writer has to mend in its reply, a line each; "" where nothing is wrong.

    `parts`: how many the question has; `guard`: also what it says because a source orders it.
    """
    limits = _Offered(ids, parts, guard)
    return _join(_faults(reply, [*enumerate(reply.sections, start=1)], limits))


def faults_of_revision(
    reply: RevisionReply, draft: Draft, ids: Numbered, parts: int, guard: PlantedFilter | None = None
) -> str:
    """As `faults_of`; also where it names a section or a statement that the draft does not have."""
    sections_to_change = [(change.number, change.section) for change in reply.sections if change.section]
    before, sections = EarlierDraft.of(draft), len(draft.sections)
    lines = [
        *_faults(reply, sections_to_change, _Offered(ids, parts, guard), before),
        *(fault for _, section in sections_to_change for fault in _faults_of_kept_items(section, before)),
        *(f"the draft has no section {each.number}" for each in reply.sections if each.number > sections),
    ]
    return _join(lines)


def _faults_of_kept_items(section: RevisedSection | None, before: EarlierDraft) -> Iterator[str]:
    """What a section keeps, and the draft does not have."""
    for item, cells in _kept_items(section):
        if not before.has(item.keep, cells):
            what = "sentence or item" if cells is None else f"row of {cells} cells"
            yield f"the draft has no {what} {item.keep} to keep"


def _kept_items(section: RevisedSection | None) -> Iterator[tuple[KeptReply, int | None]]:
    """What a section keeps, each with the columns of its table; None in a text."""
    for block in section.blocks if section else ():
        cells = len(block.columns) if isinstance(block, TableOf) else None
        yield from ((each, cells) for each in _items(block) if isinstance(each, KeptReply))


def _sentences(
    statements: Sequence[StatementReply | KeptReply], ids: Numbered, before: EarlierDraft = NO_DRAFT
) -> list[CitedSentence]:
    return [
        before.sentences[each.keep] if isinstance(each, KeptReply) else sentence_of(each, ids) for each in statements
    ]


def sentence_of(statement: StatementReply, ids: Numbered) -> CitedSentence:
    return CitedSentence(text=clean(statement.text, single_line=True), **_grounds(statement, ids))


def _grounds(statement: StatementReply | RowReply, ids: Numbered) -> dict[str, Any]:
    basis = clean(statement.basis, single_line=True)
    quotes = [quote for each in statement.quotes if (quote := clean(each, single_line=True))]
    return {"passages": ids_of_passages(statement, ids), "quotes": quotes, "kind": statement.kind, "basis": basis}


def ids_of_passages(statement: StatementReply | RowReply | CellReply, ids: Numbered) -> list[str]:
    return [ids[number] for number in dict.fromkeys(statement.sources) if number in ids]


def row_of(row: RowReply, ids: Numbered) -> TableRow:
    cells = ((clean(cell.text, single_line=True), ids_of_passages(cell, ids)) for cell in row.cells)
    return TableRow(cells=[TableCell(text=text, passages=each) for text, each in cells], **_grounds(row, ids))


def _section(section: SectionReply | RevisedSection, ids: Numbered, before: EarlierDraft = NO_DRAFT) -> Section:
    blocks = [_block(block, ids, before) for block in section.blocks]
    return Section(heading=clean(section.heading, single_line=True), blocks=blocks)


def _block(block: AnyBlock, ids: Numbered, before: EarlierDraft) -> Block:
    match block:
        case ParagraphOf():
            return Paragraph(sentences=_sentences(block.sentences, ids, before))
        case ListOf():
            return ItemList(items=_sentences(block.items, ids, before), numbered=block.numbered)
        case TableOf():
            rows = [before.rows[each.keep] if isinstance(each, KeptReply) else row_of(each, ids) for each in block.rows]
            return Table(columns=[clean(each, single_line=True) for each in block.columns], rows=rows)


def ids_of_lessons(numbers: Sequence[int], bullets: Sequence[Mapping[str, Any]]) -> list[str]:
    return [bullets[number - 1]["id"] for number in dict.fromkeys(numbers) if 1 <= number <= len(bullets)]


class _Offered(NamedTuple):
    """What a reply may name: passages and parts by number; `guard` knows what sources order."""

    ids: Numbered
    parts: int
    guard: PlantedFilter | None


def _faults(
    reply: Reply,
    sections: Sequence[tuple[int, SectionReply | RevisedSection]],
    offered: _Offered,
    before: EarlierDraft = NO_DRAFT,
) -> list[str]:
    statements: list[tuple[str, StatementReply | RowReply | KeptReply, AnyBlock | None]] = [
        (f"{name} {number}", each, None)
        for name, title in PARTS.items()
        for number, each in enumerate(getattr(reply, title.casefold(), None) or [], start=1)
    ]
    for number, section in sections:
        for at, block in enumerate(section.blocks, start=1):
            items = enumerate(_items(block), start=1)
            statements += [(f"{number or 'new'}.{at}.{item}", each, block) for item, each in items]
    faults = [
        f"{place}: {fault}"
        for place, each, block in statements
        for fault in (
            _faults_of_kept_row(each, block, before)
            if isinstance(each, KeptReply)
            else _faults_of(each, offered, resting=_rests_on_rows(each.kind, block, before))
        )
    ]
    headings = [(f"section {number or 'new'}", section.heading) for number, section in sections]
    headings += [("opening_heading", reply.opening_heading)] if isinstance(reply, PrintedReply) else []
    names = [name for name, heading in headings if offered.guard and offered.guard.in_heading(heading)]
    return [*faults, *(f"{name}: its heading repeats what a source orders" for name in names)]


def _items(block: AnyBlock) -> Sequence[StatementReply | RowReply | KeptReply]:
    match block:
        case ParagraphOf():
            return block.sentences
        case ListOf():
            return block.items
        case TableOf():
            return block.rows


def _faults_of(statement: StatementReply | RowReply, offered: _Offered, *, resting: bool) -> Iterator[str]:
    """`resting`: it needs no passages of its own."""
    cells = statement.cells if isinstance(statement, RowReply) else []
    sources = _sources(statement)
    unknown_numbers = [number for number in sources if number not in offered.ids]
    if unknown_numbers:
        numbers = ", ".join(map(str, unknown_numbers))
        yield f"passage {numbers} is not among those shown: name passages by the numbers in their tags, such as P1"
    text = statement.text if isinstance(statement, StatementReply) else " | ".join(cell.text for cell in cells)
    if mark := _MARK.search("".join(split_code(text)[::2])):
        yield f"{mark[0]} stands in the text: name passages in `sources` only"
    # What it is reckoned from is held against the question and the other statements.
    reckoned = isinstance(statement, StatementReply) and statement.kind == "derived" and bool(sums_of(statement.basis))
    if statement.kind in {"stated", "derived"} and not sources and not resting and not reckoned:
        yield _NO_PASSAGE.format(kind=statement.kind)
    if statement.kind == "not_found":
        yield from _fault_of_not_found(statement.basis, offered.parts)
    if offered.guard and (
        fault := offered.guard.fault(text, [offered.ids[each] for each in sources if each in offered.ids])
    ):
        yield fault


NOT_FOUND = re.compile(r"\s*(?P<part>\d{1,2})\s*[:：](?P<words>[^\w\n]*\w.*)")
"""The basis of a statement that something is not found: its part, and the key words that would find it."""


def _fault_of_not_found(basis: str, parts: int) -> Iterator[str]:
    match = NOT_FOUND.fullmatch(basis)
    if match is None or not 1 <= int(match["part"]) <= max(parts, 1):
        yield (
            f"it is not_found, and `basis` is no part (1 to {parts}) with key words, such as `1: recovery time`: "
            "they are searched for before anybody reads that nothing is told"
        )


def not_found_words(draft: Draft) -> list[tuple[int, str]]:
    """What a draft calls not found: the number of the part and the key words to search for, each once."""
    matches = (NOT_FOUND.fullmatch(each.basis) for each in draft.sentences() if each.kind == "not_found")
    return list(dict.fromkeys((int(match["part"]), match["words"].strip()) for match in matches if match))


def _faults_of_kept_row(item: KeptReply, block: AnyBlock | None, before: EarlierDraft) -> Iterator[str]:
    """A total that is kept rests on rows that may have gone."""
    row = before.rows.get(item.keep)
    if row and row.kind == "derived" and not _names_passages(row) and not _rests_on_rows(row.kind, block, before):
        yield _NO_PASSAGE.format(kind=row.kind)


def _sources(statement: StatementReply | RowReply) -> list[int]:
    """The numbers that it names, its cells' among them."""
    cells = statement.cells if isinstance(statement, RowReply) else []
    return list(dict.fromkeys([*(number for cell in cells for number in cell.sources), *statement.sources]))


def _rests_on_rows(kind: ClaimKind, block: AnyBlock | None, before: EarlierDraft) -> bool:
    """Whether what is of this kind may be a total of the rows of its table: some of them name passages."""
    rows = block.rows if isinstance(block, TableOf) and kind == "derived" else []
    earlier = [before.rows.get(row.keep) for row in rows if isinstance(row, KeptReply)]
    return any(row and _names_passages(row) for row in earlier) or any(
        _sources(row) for row in rows if not isinstance(row, KeptReply)
    )


def _names_passages(row: TableRow) -> bool:
    return any(row.passages_by_cell())


def _join(faults: Sequence[str]) -> str:
    rest = len(faults) - _MOST_FAULTS
    return "\n".join([*faults[:_MOST_FAULTS], *([f"and {rest} more such faults"] if rest > 0 else [])])
