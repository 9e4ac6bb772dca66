"""Check a draft's statements against its passages by code, and insert mended statements."""

from collections.abc import Callable, Mapping, Sequence

from contend.checks.proof import proof_of, refutations, sums_of
from contend.models.record import Language
from contend.models.replies import MendedReply, RowReply
from contend.models.research import (
    Block,
    CitedSentence,
    Draft,
    Passage,
    PlacedSentence,
    Section,
    Table,
    TableRow,
    changed_block,
)
from contend.prompts.research import RefutedStatement
from contend.text import WORDS
from contend.writing.drafts import Numbered, row_of, sentence_of
from contend.writing.forms import statement_line

Statement = CitedSentence | TableRow
Change = Callable[[str, Statement], Statement | None]
"""Gives the new statement for the one at a place; None removes it."""


def prove(draft: Draft, passages: Sequence[Passage], *, around: str) -> Draft:
    """Add to each statement what code refutes of it. Blocking.

    `passages`: with their texts; `around`: the reader's question, see `RunContext.asked`.
    """
    by_id = {each.id: each for each in passages}
    placed = {each.place: each for each in draft.placed_sentences()}
    texts = {
        place: "\n".join([each.sentence.text, *map(str, sums_of(each.sentence.basis))])
        for place, each in placed.items()
    }

    def proven(place: str, statement: Statement) -> Statement:
        others = "\n".join(text for at, text in texts.items() if at != place)
        proof = proof_of(placed[place], by_id, around=around, others=others, elsewhere=draft.elsewhere)
        found = refutations(proof)
        return statement if found == statement.refuted else statement.model_copy(update={"refuted": found})

    return with_statements(draft, proven)


def refuted_in(draft: Draft) -> list[PlacedSentence]:
    return [each for each in draft.placed_sentences() if each.sentence.refuted]


def reasons_of(statement: CitedSentence, language: Language) -> list[str]:
    """Why code refutes a statement, one reason per line."""
    lines = WORDS[language].refuted
    return [lines[each.rule].format(detail=each.detail) for each in statement.refuted]


def marks_of(draft: Draft, language: Language) -> list[dict[str, str]]:
    """The place of each refuted statement, with the reasons in one line."""
    return [{"place": each.place, "text": "; ".join(reasons_of(each.sentence, language))} for each in refuted_in(draft)]


def refuted_statements(draft: Draft, numbers: Mapping[str, int | str], language: Language) -> list[RefutedStatement]:
    """The refuted statements as the prompt for their writer shows them."""
    return [
        RefutedStatement(
            place=each.place,
            heading=draft.sections[each.section - 1].heading if each.section else "",
            text=statement_line(each, numbers),
            quotes=each.sentence.quotes,
            reasons=reasons_of(each.sentence, language),
        )
        for each in refuted_in(draft)
    ]


def mended(draft: Draft, reply: MendedReply, ids: Numbered) -> Draft:
    """Replace the refuted statements with those of the reply, or remove them."""
    new = {each.place: each.statement for each in reply.statements}

    def mend(place: str, statement: Statement) -> Statement | None:
        if place not in new or not statement.refuted:
            return statement
        reply = new[place]
        if reply is None:
            return None
        if isinstance(statement, TableRow) != isinstance(reply, RowReply):
            return statement
        return row_of(reply, ids) if isinstance(reply, RowReply) else sentence_of(reply, ids)

    return with_statements(draft, mend)


def faults_of_mending(reply: MendedReply, draft: Draft, ids: Numbered) -> str:
    """What is wrong with the reply, one fault per line; "" if nothing is."""
    asked = {each.place: each for each in refuted_in(draft)}
    lines = []
    for each in reply.statements:
        at, new = asked.get(each.place), each.statement
        if at is None:
            lines.append(f"{each.place}: it was not asked for")
        elif new is not None and isinstance(new, RowReply) != bool(at.row):
            lines.append(f"{each.place}: it is a {'row' if at.row else 'sentence'}")
        elif isinstance(new, RowReply) and at.row and len(new.cells) != len(at.row.cells):
            lines.append(f"{each.place}: its table has {len(at.row.cells)} columns")
        elif new is not None and (unknown := [number for number in new.sources if number not in ids]):
            lines.append(f"{each.place}: passage {unknown[0]} is not among those shown")
    return "\n".join(lines)


def with_statements(draft: Draft, change: Change) -> Draft:
    """Change or remove each statement. An emptied section is removed, unless all are empty."""

    def of_part(name: str, part: Sequence[CitedSentence]) -> list[CitedSentence]:
        changed = (change(f"{name} {at}", each) for at, each in enumerate(part, start=1))
        return [each for each in changed if isinstance(each, CitedSentence)]

    sections = [
        section.model_copy(update={"blocks": blocks})
        for number, section in enumerate(draft.sections, start=1)
        if (blocks := _blocks(section, number, change))
    ]
    return draft.model_copy(
        update={
            "summary": of_part("summary", draft.summary) or draft.summary,
            "findings": of_part("finding", draft.findings) or draft.findings,
            "sections": sections or draft.sections,
            "limits": of_part("limit", draft.limits),
        }
    )


def _blocks(section: Section, number: int, change: Change) -> list[Block]:
    blocks: list[Block] = []
    for at, block in enumerate(section.blocks, start=1):
        old: Sequence[Statement] = block.rows if isinstance(block, Table) else block.statements()
        new = [change(f"{number}.{at}.{item}", each) for item, each in enumerate(old, start=1)]
        if left := changed_block(block, new):
            blocks.append(left)
    return blocks
