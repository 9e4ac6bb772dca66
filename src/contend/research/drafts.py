"""From a writer's structured reply to a draft with passage ids, and its revision."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

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
    SectionDraftReply,
    SectionReply,
    SentenceReply,
    StatementReply,
    SummaryReply,
    TableOf,
)
from contend.models.research import (
    Block,
    CitedSentence,
    ClaimKind,
    Draft,
    ItemList,
    Paragraph,
    Passage,
    Section,
    Table,
    TableCell,
    TableRow,
)
from contend.research.draft_forms import PARTS
from contend.research.planted import PlantedFilter
from contend.text import clean, split_code

_MARK = re.compile(r"\[\^?P?\d{1,3}(?:\s*[,–-]\s*P?\d{1,3})*\]")
_MOST_FAULTS = 12
_NO_PASSAGE = "it is {kind} and names no passage: name those it rests on, or say judgement or open"

AnyBlock = ParagraphOf[Any] | ListOf[Any] | TableOf[Any]


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


def draft_of(
    reply: ReportReply, passages: Sequence[Passage], bullets: Sequence[Mapping[str, Any]], title: str
) -> Draft:
    """The draft with passage ids for numbers. Numbers that were not offered name nothing."""
    sections = [_section(section, [passage.id for passage in passages]) for section in reply.sections]
    lessons = ids_of_lessons(reply.lessons, bullets)
    return Draft(title=title, sections=sections, bullets_used=lessons, **_around(reply, passages))


def section_of(
    reply: SectionDraftReply, passages: Sequence[Passage], bullets: Sequence[Mapping[str, Any]]
) -> tuple[Section, list[str]]:
    """A section with passage ids for numbers, and the lessons that were used."""
    return _section(reply.section, [passage.id for passage in passages]), ids_of_lessons(reply.lessons, bullets)


def with_summary(draft: Draft, reply: SummaryReply, passages: Sequence[Passage]) -> Draft:
    """The draft with what its summarizer wrote around the sections."""
    return draft.model_copy(update=_around(reply, passages))


def _around(reply: ReportReply | SummaryReply, passages: Sequence[Passage]) -> dict[str, Any]:
    """All but the sections, and how it is printed."""
    ids = [passage.id for passage in passages]
    parts = {name: _sentences(getattr(reply, name), ids) for name in ("summary", "findings", "limits")}
    form = {name: getattr(reply, name) for name in PrintedReply.model_fields}
    return {**parts, **form, "opening_heading": clean(reply.opening_heading, single_line=True)}


def revise(
    draft: Draft, reply: RevisionReply, passages: Sequence[Passage], bullets: Sequence[Mapping[str, Any]]
) -> Draft:
    """The draft with what the reply changes; all else stays word for word."""
    ids, before = [passage.id for passage in passages], EarlierDraft.of(draft)
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


def faults_of(
    reply: ReportReply | SectionDraftReply | SummaryReply,
    passage_count: int,
    guard: PlantedFilter | None = None,
    *,
    number: int = 1,
) -> str:
    """What the writer has to mend in its reply, a line each; "" where nothing is wrong.

    `guard`: also what it says because a source orders it; `number`: that of a section alone.
    """
    alone = [(number, reply.section)] if isinstance(reply, SectionDraftReply) else []
    sections = [*enumerate(reply.sections, start=1)] if isinstance(reply, ReportReply) else alone
    return _join(_faults(reply, sections, passage_count=passage_count, guard=guard))


def faults_of_revision(
    reply: RevisionReply, draft: Draft, passage_count: int, guard: PlantedFilter | None = None
) -> str:
    """As `faults_of`; also where it names a section or a statement that the draft does not have."""
    sections_to_change = [(change.number, change.section) for change in reply.sections if change.section]
    before, sections = EarlierDraft.of(draft), len(draft.sections)
    lines = [
        *_faults(reply, sections_to_change, passage_count=passage_count, guard=guard, before=before),
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
    statements: Sequence[StatementReply | KeptReply], ids: Sequence[str], before: EarlierDraft = NO_DRAFT
) -> list[CitedSentence]:
    return [before.sentences[each.keep] if isinstance(each, KeptReply) else _sentence(each, ids) for each in statements]


def _sentence(statement: StatementReply, ids: Sequence[str]) -> CitedSentence:
    return CitedSentence(text=clean(statement.text, single_line=True), **_grounds(statement, ids))


def _grounds(statement: StatementReply | RowReply, ids: Sequence[str]) -> dict[str, Any]:
    basis = clean(statement.basis, single_line=True)
    return {"passages": ids_of_passages(statement, ids), "kind": statement.kind, "basis": basis}


def ids_of_passages(statement: StatementReply | RowReply | CellReply | SentenceReply, ids: Sequence[str]) -> list[str]:
    return [ids[number - 1] for number in dict.fromkeys(statement.sources) if 1 <= number <= len(ids)]


def _row(row: RowReply, ids: Sequence[str]) -> TableRow:
    cells = ((clean(cell.text, single_line=True), ids_of_passages(cell, ids)) for cell in row.cells)
    return TableRow(cells=[TableCell(text=text, passages=each) for text, each in cells], **_grounds(row, ids))


def _section(section: SectionReply | RevisedSection, ids: Sequence[str], before: EarlierDraft = NO_DRAFT) -> Section:
    blocks = [_block(block, ids, before) for block in section.blocks]
    return Section(heading=clean(section.heading, single_line=True), blocks=blocks)


def _block(block: AnyBlock, ids: Sequence[str], before: EarlierDraft) -> Block:
    match block:
        case ParagraphOf():
            return Paragraph(sentences=_sentences(block.sentences, ids, before))
        case ListOf():
            return ItemList(items=_sentences(block.items, ids, before))
        case TableOf():
            rows = [before.rows[each.keep] if isinstance(each, KeptReply) else _row(each, ids) for each in block.rows]
            return Table(columns=[clean(each, single_line=True) for each in block.columns], rows=rows)


def ids_of_lessons(numbers: Sequence[int], bullets: Sequence[Mapping[str, Any]]) -> list[str]:
    return [bullets[number - 1]["id"] for number in dict.fromkeys(numbers) if 1 <= number <= len(bullets)]


def _faults(
    reply: Reply,
    sections: Sequence[tuple[int, SectionReply | RevisedSection]],
    *,
    passage_count: int,
    guard: PlantedFilter | None,
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
            else _faults_of(each, passage_count, guard, resting=_rests_on_rows(each.kind, block, before))
        )
    ]
    headings = [(f"section {number or 'new'}", section.heading) for number, section in sections]
    headings += [("opening_heading", reply.opening_heading)] if isinstance(reply, PrintedReply) else []
    names = [name for name, heading in headings if guard and guard.in_heading(heading)]
    return [*faults, *(f"{name}: its heading repeats what a source orders" for name in names)]


def _items(block: AnyBlock) -> Sequence[StatementReply | RowReply | KeptReply]:
    match block:
        case ParagraphOf():
            return block.sentences
        case ListOf():
            return block.items
        case TableOf():
            return block.rows


def _faults_of(
    statement: StatementReply | RowReply, passage_count: int, guard: PlantedFilter | None, *, resting: bool
) -> Iterator[str]:
    """`resting`: it needs no passages of its own."""
    cells = statement.cells if isinstance(statement, RowReply) else []
    sources = _sources(statement)
    unknown_numbers = [number for number in sources if not 1 <= number <= passage_count]
    if unknown_numbers:
        numbers = ", ".join(map(str, unknown_numbers))
        yield f"there is no passage {numbers}; passages are numbered 1 (P1) to {passage_count}"
    text = statement.text if isinstance(statement, StatementReply) else " | ".join(cell.text for cell in cells)
    if mark := _MARK.search("".join(split_code(text)[::2])):
        yield f"{mark[0]} stands in the text: name passages in `sources` only"
    if statement.kind in {"stated", "derived"} and not sources and not resting:
        yield _NO_PASSAGE.format(kind=statement.kind)
    if guard and (fault := guard.fault(text, sources)):
        yield fault


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
