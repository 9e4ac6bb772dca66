"""Turn a writer's structured reply into a draft with passage ids, and apply revisions to it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from contend.checks.proof import sums_of
from contend.errors import DraftError
from contend.models.replies import (
    CellReply,
    KeptReply,
    ListOf,
    MergedReport,
    MergedRow,
    MergedSection,
    MergedStatement,
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
    TakenStatement,
    fault_of_summary,
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
    flat_section,
)
from contend.text import clean, split_code, words_and_code
from contend.writing.forms import PARTS

_MARK = re.compile(r"\[\^?P?\d{1,3}(?:\s*[,–-]\s*P?\d{1,3})*\]")
_MOST_FAULTS = 12
_SIDES = 2
_ONE_SIDE = "it is disputed: `quotes` holds the words of each side, two pieces at least, and `sources` their passages"
_CODE_PLACE = "lines of code end a statement that begins with words: what follows them is a statement of its own"
_NO_PASSAGE = "it is {kind} and names no passage: name those it rests on, give its sum, or say judgement or not_found"

AnyBlock = ParagraphOf[Any] | ListOf[Any] | TableOf[Any]
AnySection = SectionReply | RevisedSection | MergedSection
AnyItem = StatementReply | RowReply | KeptReply


Numbered = Mapping[int, str]
"""Passage ids by their numbers in the prompt."""


class EarlierDraft(NamedTuple):
    """What a reply can keep word for word, by place: sentences and list items, and table rows."""

    sentences: Mapping[str, CitedSentence]
    rows: Mapping[str, TableRow]

    @classmethod
    def of(cls, draft: Draft) -> Self:
        placed = (each for each in draft.placed_sentences() if not each.row)
        # Whether it goes on in an item is told by where it is kept.
        return cls({at.place: at.sentence.model_copy(update={"goes_on": False}) for at in placed}, draft.rows())

    @classmethod
    def of_reports(cls, drafts: Mapping[str, Draft]) -> Self:
        """The statements of several reports, by letter and place such as `A 2.1.3`; each names its report's letter."""
        by_letter = [(letter, cls.of(draft)) for letter, draft in drafts.items()]
        return cls(
            {f"{at} {place}": _of_teams(each, [at]) for at, own in by_letter for place, each in own.sentences.items()},
            {f"{at} {place}": _of_teams(each, [at]) for at, own in by_letter for place, each in own.rows.items()},
        )

    def has(self, place: str, cells: int | None) -> bool:
        """Whether the statement at a place fits a table with `cells` columns or, if None, running text."""
        if cells is None:
            return place in self.sentences
        return place in self.rows and len(self.rows[place].cells) == cells


NO_DRAFT = EarlierDraft({}, {})
_PARTS = ("summary", "findings", "limits")


def draft_of(
    reply: ReportReply | MergedReport,
    ids: Numbered,
    bullets: Sequence[Mapping[str, Any]],
    before: EarlierDraft = NO_DRAFT,
) -> Draft:
    """Build a draft from a writer's reply. Passage numbers become ids; unknown numbers are ignored.

    `before`: the statements that the reply may keep; references to others are left out.

    Raises:
        DraftError: no statement is left.
    """
    parts = {name: _sentences(getattr(reply, name), ids, before) for name in _PARTS}
    sections = [made for each in reply.sections if (made := _section(each, ids, before))]
    of_body = [each for section in sections for each in section.statements()]
    if not (remaining := [*parts["summary"], *parts["findings"], *of_body]):
        raise DraftError("all that the report keeps is in no report")
    form = {name: getattr(reply, name) for name in PrintedReply.model_fields}
    return Draft(
        title=clean(reply.title, single_line=True),
        sections=sections or [flat_section(remaining)],
        bullets_used=ids_of_lessons(reply.lessons, bullets),
        **{**parts, "summary": parts["summary"] or remaining[:1], "findings": parts["findings"] or remaining[:1]},
        **{**form, "opening_heading": clean(reply.opening_heading, single_line=True)},
    )


def revise(draft: Draft, reply: RevisionReply, ids: Numbered, bullets: Sequence[Mapping[str, Any]]) -> Draft:
    """Apply a revision. Everything that the reply does not change stays word for word."""
    before = EarlierDraft.of(draft)
    changes: dict[str, Any] = {
        name: _sentences(statements, ids, before)
        for name in _PARTS
        if (statements := getattr(reply, name)) is not None and not [*_faults_of_kept(statements, None, before)]
    }
    if reply.title:
        changes["title"] = clean(reply.title, single_line=True)
    sections: dict[int, Section | None] = dict(enumerate(draft.sections, start=1))
    for change in _safe(reply.sections, before):
        number = change.number if change.number in sections else max(sections, default=0) + 1
        sections[number] = _section(change.section, ids, before) if change.section else None
    remaining = [section for section in sections.values() if section]
    lessons = list(dict.fromkeys([*draft.bullets_used, *ids_of_lessons(reply.lessons, bullets)]))
    notes = {"bullets_used": lessons, "declined": [*draft.declined, *reply.not_done]}
    texts = {each.place: each.sentence.text for each in draft.placed_sentences()}
    left_out = [f"{texts[each.place]} ({each.why})" for each in reply.left_out if each.place in texts]
    notes["left_out"] = [*draft.left_out, *left_out]
    return draft.model_copy(update={**changes, **notes, "sections": remaining or draft.sections})


def _safe(changes: Sequence[SectionChange], before: EarlierDraft) -> list[SectionChange]:
    """The changes that can be applied without losing anything.

    A change is dropped if it keeps a statement that the draft does not have or that does not fit. Changes to the
    sections that it keeps statements from are then dropped, too.
    """
    safe, needed_sections = list(changes), set[str]()
    while unsafe := [
        each for each in safe if str(each.number) in needed_sections or any(_faults_of_kept_items(each.section, before))
    ]:
        safe = [each for each in safe if each not in unsafe]
        needed_sections |= {item.keep.partition(".")[0] for each in unsafe for item in _kept_items(each.section)}
    return safe


def faults_of(
    reply: ReportReply | MergedReport,
    ids: Numbered,
    parts: int,
    before: EarlierDraft = NO_DRAFT,
) -> str:
    """What is wrong with a writer's reply, one fault per line; "" if nothing is.

    `parts`: how many parts the question has; `before`: the statements that the reply may keep.
    """
    sections: list[AnySection] = [*reply.sections]
    return _join(_faults(reply, [*enumerate(sections, start=1)], _Offered(ids, parts), before))


def faults_of_revision(reply: RevisionReply, draft: Draft, ids: Numbered, parts: int) -> str:
    """Like `faults_of`, for a revision: it may also name a section or statement that the draft does not have."""
    sections_to_change = [(change.number, change.section) for change in reply.sections if change.section]
    before, sections = EarlierDraft.of(draft), len(draft.sections)
    lines = [
        *_faults(reply, sections_to_change, _Offered(ids, parts), before),
        *(f"the draft has no section {each.number}" for each in reply.sections if each.number > sections),
    ]
    return _join(lines)


def _faults_of_kept(items: Sequence[AnyItem], cells: int | None, before: EarlierDraft) -> Iterator[str]:
    """Statements that are kept but do not exist. `cells`: the number of columns of a table; None in running text."""
    for item in items:
        if isinstance(item, KeptReply) and not before.has(item.keep, cells):
            what = "sentence or item" if cells is None else f"row of {cells} cells"
            yield f"there is no {what} {item.keep} to keep"


def _faults_of_kept_items(section: AnySection | None, before: EarlierDraft) -> Iterator[str]:
    """Statements that a section keeps and the draft does not have."""
    for block in section.blocks if section else ():
        cells = len(block.columns) if isinstance(block, TableOf) else None
        yield from _faults_of_kept(_items(block), cells, before)


def _kept_items(section: RevisedSection | None) -> list[KeptReply]:
    blocks = section.blocks if section else []
    return [each for block in blocks for each in _items(block) if isinstance(each, KeptReply)]


def _sentences(
    statements: Sequence[StatementReply | KeptReply], ids: Numbered, before: EarlierDraft
) -> list[CitedSentence]:
    return [
        _of_teams(before.sentences[each.keep], _teams(each)) if isinstance(each, KeptReply) else sentence_of(each, ids)
        for each in statements
        if not isinstance(each, KeptReply) or before.has(each.keep, None)
    ]


def _rows(table: TableOf[Any], ids: Numbered, before: EarlierDraft) -> list[TableRow]:
    return [
        _of_teams(before.rows[each.keep], _teams(each)) if isinstance(each, KeptReply) else row_of(each, ids)
        for each in table.rows
        if not isinstance(each, KeptReply) or before.has(each.keep, len(table.columns))
    ]


N = TypeVar("N", CitedSentence, TableRow)


def _of_teams(statement: N, teams: Sequence[str]) -> N:
    """Add teams to those that say the statement."""
    return statement.model_copy(update={"teams": list(dict.fromkeys([*statement.teams, *teams]))})


def _teams(item: AnyItem) -> list[str]:
    """In a merged report, the letters of the reports that say the same."""
    return item.teams if isinstance(item, MergedStatement | MergedRow | TakenStatement) else []


def sentence_of(statement: StatementReply, ids: Numbered) -> CitedSentence:
    return CitedSentence(text=str(words_and_code(clean(statement.text))), **_grounds(statement, ids))


def _grounds(statement: StatementReply | RowReply, ids: Numbered) -> dict[str, Any]:
    basis = clean(statement.basis, single_line=True)
    quotes = [quote for each in statement.quotes if (quote := clean(each, single_line=True))]
    resting = {"passages": ids_of_passages(statement, ids), "quotes": quotes, "kind": statement.kind, "basis": basis}
    return {**resting, "teams": _teams(statement)}


def ids_of_passages(statement: StatementReply | RowReply | CellReply, ids: Numbered) -> list[str]:
    return [ids[number] for number in dict.fromkeys(statement.sources) if number in ids]


def row_of(row: RowReply, ids: Numbered) -> TableRow:
    cells = ((clean(cell.text, single_line=True), ids_of_passages(cell, ids)) for cell in row.cells)
    return TableRow(cells=[TableCell(text=text, passages=each) for text, each in cells], **_grounds(row, ids))


def _section(section: AnySection, ids: Numbered, before: EarlierDraft) -> Section | None:
    """Build a section; None if nothing of it is left."""
    blocks = [made for block in section.blocks if (made := _block(block, ids, before))]
    return Section(heading=clean(section.heading, single_line=True), blocks=blocks) if blocks else None


def _block(block: AnyBlock, ids: Numbered, before: EarlierDraft) -> Block | None:
    if isinstance(block, TableOf):
        rows = _rows(block, ids, before)
        return Table(columns=[clean(each, single_line=True) for each in block.columns], rows=rows) if rows else None
    if isinstance(block, ParagraphOf):
        sentences = _sentences(block.sentences, ids, before)
        return Paragraph(sentences=sentences) if sentences else None
    items = [
        each.model_copy(update={"goes_on": at > 0})
        for item in _by_item(block)
        for at, each in enumerate(_sentences(item, ids, before))
    ]
    return ItemList(items=items, numbered=block.numbered) if items else None


def ids_of_lessons(numbers: Sequence[int], bullets: Sequence[Mapping[str, Any]]) -> list[str]:
    return [bullets[number - 1]["id"] for number in dict.fromkeys(numbers) if 1 <= number <= len(bullets)]


class _Offered(NamedTuple):
    """The passage and part numbers that a reply may name."""

    ids: Numbered
    parts: int


def _faults(
    reply: Reply,
    sections: Sequence[tuple[int, AnySection]],
    offered: _Offered,
    before: EarlierDraft,
) -> list[str]:
    parts: dict[str, Sequence[AnyItem]] = {
        name: getattr(reply, title.casefold(), None) or [] for name, title in PARTS.items()
    }
    statements: list[tuple[str, AnyItem, AnyBlock | None]] = [
        (f"{name} {number}", each, None) for name, part in parts.items() for number, each in enumerate(part, start=1)
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
    faults += [fault for part in parts.values() for fault in _faults_of_kept(part, None, before)]
    faults += [fault for _, section in sections for fault in _faults_of_kept_items(section, before)]
    faults += [fault] if (fault := _fault_of_summary(parts["summary"], before)) else []
    return faults


def _fault_of_summary(statements: Sequence[AnyItem], before: EarlierDraft) -> str:
    """Why a summary is too long, counting the statements that it keeps; "" if it is not."""
    kept = [each.keep for each in statements if isinstance(each, KeptReply) and each.keep in before.sentences]
    texts = [each.text for each in statements if isinstance(each, StatementReply)]
    return fault_of_summary(sum(map(len, [*texts, *(before.sentences[each].text for each in kept)])))


def _items(block: AnyBlock) -> Sequence[AnyItem]:
    match block:
        case ParagraphOf():
            return block.sentences
        case ListOf():
            return [each for item in _by_item(block) for each in item]
        case TableOf():
            return block.rows


def _by_item(block: ListOf[Any]) -> list[list[Any]]:
    """The statements of each item."""
    return [item if isinstance(item, list) else [item] for item in block.items]


def _faults_of(statement: StatementReply | RowReply, offered: _Offered, *, resting: bool) -> Iterator[str]:
    """Faults of one statement. `resting`: it needs no passages of its own."""
    cells = statement.cells if isinstance(statement, RowReply) else []
    sources = _sources(statement)
    unknown_numbers = [number for number in sources if number not in offered.ids]
    if unknown_numbers:
        numbers = ", ".join(map(str, unknown_numbers))
        yield f"passage {numbers} is not among those shown: name passages by the numbers in their tags, such as P1"
    text = statement.text if isinstance(statement, StatementReply) else " | ".join(cell.text for cell in cells)
    if "```" in text and "\n" in text.strip() and not words_and_code(text).code:
        yield _CODE_PLACE
    if mark := _MARK.search("".join(split_code(text)[::2])):
        yield f"{mark[0]} stands in the text: name passages in `sources` only"
    # The inputs of a sum are checked against the question and the other statements.
    reckoned = isinstance(statement, StatementReply) and statement.kind == "derived" and bool(sums_of(statement.basis))
    if statement.kind == "disputed" and (not sources or len({*statement.quotes}) < _SIDES):
        yield _ONE_SIDE
    if statement.kind in {"stated", "derived"} and not sources and not resting and not reckoned:
        yield _NO_PASSAGE.format(kind=statement.kind)
    if statement.kind == "not_found":
        yield from _fault_of_not_found(statement.basis, offered.parts)


NOT_FOUND = re.compile(r"\s*(?P<part>\d{1,2})\s*[:：](?P<words>[^\w\n]*\w.*)")
"""The basis of a `not_found` statement: the number of its part, and the key words to search for."""


def _fault_of_not_found(basis: str, parts: int) -> Iterator[str]:
    match = NOT_FOUND.fullmatch(basis)
    if match is None or not 1 <= int(match["part"]) <= max(parts, 1):
        yield (
            f"it is not_found, and `basis` is no part (1 to {parts}) with key words, such as `1: recovery time`: "
            "they are searched for before anybody reads that nothing is told"
        )


def not_found_words(draft: Draft) -> list[tuple[int, str]]:
    """The `not_found` statements of a draft: part number and key words, without repeats."""
    matches = (NOT_FOUND.fullmatch(each.basis) for each in draft.sentences() if each.kind == "not_found")
    return list(dict.fromkeys((int(match["part"]), match["words"].strip()) for match in matches if match))


def _faults_of_kept_row(item: KeptReply, block: AnyBlock | None, before: EarlierDraft) -> Iterator[str]:
    """The fault of a kept total whose rows are no longer in the table."""
    row = before.rows.get(item.keep)
    if row and row.kind == "derived" and not _names_passages(row) and not _rests_on_rows(row.kind, block, before):
        yield _NO_PASSAGE.format(kind=row.kind)


def _sources(statement: StatementReply | RowReply) -> list[int]:
    """The passage numbers of a statement, including those of its cells."""
    cells = statement.cells if isinstance(statement, RowReply) else []
    return list(dict.fromkeys([*(number for cell in cells for number in cell.sources), *statement.sources]))


def _rests_on_rows(kind: ClaimKind, block: AnyBlock | None, before: EarlierDraft) -> bool:
    """Whether a statement of this kind can be a total over its table: it is derived, and some row names passages."""
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
