"""Other forms of a draft: rendered for prompts, measured, without some statements, with other passages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from typing_extensions import TypedDict

from contend.checks.proof import sums_of
from contend.models.options import LENGTH_WORDS, Length
from contend.models.research import (
    Block,
    CitedSentence,
    Draft,
    ItemList,
    PlacedSentence,
    Table,
    TableCell,
    TableRow,
    changed_block,
    flat_section,
)
from contend.prompts.research import PartLength
from contend.report.kinds import kind_mark, legend_of, listed_sums, table_marks
from contend.report.plain import markdown_ruler, with_joined_marks
from contend.stores import text_id
from contend.text import WORDS, Headings, WordsAndCode, detect_language, words_and_code

PARTS = {"summary": "Summary", "finding": "Findings", "limit": "Limits"}
"""The headings of the parts that are not sections, by the first word of their statements' places."""


def shown_draft(draft: Draft, numbers: Mapping[str, int | str], *, basis: bool = True, proof: bool = False) -> str:
    """Render a draft for a prompt: each statement with its place, its passage numbers and its kind.

    Each block begins with its type, a table also with its columns. A table cell is followed by its own passages; those
    of the whole row are in brackets. `basis`: include the arithmetic and searches behind statements, which readers do
    not see; `proof`: include quotes, the values of sums, and what code refutes.
    """
    lines = [f"Title: {draft.title}"] if draft.title else []
    lines += ["Sources: listed by file name at the end"] if draft.sources_by_name else []
    if draft.own_headings:
        lines.append("Headings: those of the sections alone are printed")
        lines += [f"Heading above summary and findings: {draft.opening_heading}"] if draft.opening_heading else []
    heading = ""
    for at in draft.placed_sentences():
        if (new := _heading(draft, at)) != heading:
            heading = new
            lines.append(f"\n## {heading}")
        if at.block and at.place.endswith(".1"):
            columns = f": {' | '.join(at.block.columns)}" if isinstance(at.block, Table) else ""
            kind = "numbered list" if isinstance(at.block, ItemList) and at.block.numbered else at.block.type
            lines.append(f"{at.place.removesuffix('.1')} {kind}{columns}")
        lines.append(f"{at.place}: {_line(at, numbers, basis=basis, proof=_proof(at.sentence) if proof else '')}")
    return "\n".join(lines).strip()


CHARACTERS_A_WORD = 2
"""Japanese characters that take the place of one English word."""


class TargetLength(TypedDict):
    """How long a report is to be, in words and, for Japanese, in characters."""

    words: int
    characters: int


_PARTS_WITHIN, _PARTS_OF_TWICE = 2, 8
"""The most parts of a question for which a length holds as it is, and the parts for which it is doubled."""


def target_length(length: Length, parts: int) -> TargetLength:
    """The length of a report on a question of so many parts: as the option says, and up to twice that for many."""
    more = (min(parts, _PARTS_OF_TWICE) - _PARTS_WITHIN) / (_PARTS_OF_TWICE - _PARTS_WITHIN)
    words = 10 * round(LENGTH_WORDS[length] * (1 + max(0, more)) / 10)
    return {"words": words, "characters": words * CHARACTERS_A_WORD}


class DraftLength(TypedDict):
    """The length of a draft as its Markdown is printed: in words and in non-space characters, in total and by part.

    Markdown signs count as in `wc -w`, and so does the line that explains the marks, as the part `legend`. Marks of
    citations and kinds add no words, because no space stands before them. References are not counted. A list of
    sources that the reader asked for is counted in words only: the number of names is known, their lengths are not.

    `reader_limit`: the reader's limit, None without one; `limit`: that, or the target length; `room_left`: what
    is left of it, negative if exceeded. All in words, or in characters for a Japanese draft. `is_full`: less than a
    twelfth is left.
    """

    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    reader_limit: int | None
    limit: int
    room_left: int
    is_full: bool


_ROOM = 12
"""A draft is full if less than one twelfth of the limit is left: about one fix."""


def length_of(draft: Draft, target: TargetLength) -> DraftLength:
    """Measure a draft. `target`: how long it is to be where its reader sets no limit."""
    parts = _printed_parts(draft)
    limit = draft.reader_limit or target["characters" if _is_japanese(draft) else "words"]
    left = limit - _size(draft, parts)
    return {
        "draft_words": sum(part.words for part in parts),
        "draft_characters": sum(part.characters for part in parts),
        "draft_parts": parts,
        "reader_limit": draft.reader_limit,
        "limit": limit,
        "room_left": left,
        "is_full": left * _ROOM < limit,
    }


def _size(draft: Draft, parts: Sequence[PartLength]) -> int:
    """In the unit of the draft's language."""
    return sum(part.characters if _is_japanese(draft) else part.words for part in parts)


def _printed_parts(draft: Draft) -> list[PartLength]:
    numbers: dict[str, int] = {}
    language = detect_language(" ".join(each.text for each in draft.summary))
    headings, listed = WORDS[language].headings, listed_sums(draft)

    def statements(sign: str, part: Sequence[CitedSentence]) -> list[str]:
        return [
            word
            for each in part
            for word in (sign, each.text + _printed_marks(each.passages, numbers) + kind_mark(each, headings, listed))
        ]

    own, has_numbers = draft.own_headings, bool(draft.findings[1:]) or not draft.own_headings
    texts = {
        "title": ["#", draft.title, *_heading_words("" if own else headings.analysis)],
        "summary": [
            *_heading_words(draft.opening_heading if own else headings.summary),
            *statements("", draft.summary),
        ],
        "findings": [
            *_heading_words("" if own else headings.findings),
            *statements("1." if has_numbers else "", draft.findings),
        ],
    }
    for number, section in enumerate(draft.sections, start=1):
        blocks = texts[f"section {number}"] = _heading_words(section.heading)
        for block in section.blocks:
            if isinstance(block, Table):
                blocks += _words_of(block, numbers, headings, listed)
            else:
                blocks += ["-"] * len(block.by_item()) if isinstance(block, ItemList) else []
                blocks += statements("", block.statements())
    if draft.limits:
        texts["limits"] = [*_heading_words(headings.limits), *statements("", draft.limits)]
    by_part = [(name, " ".join(of_part).split()) for name, of_part in texts.items()]
    if legend := legend_of(" ".join(word for _, words in by_part for word in words), language):
        by_part.insert(1, ("legend", f"*{legend}*".split()))
    parts = [PartLength(name=name, words=len(each), characters=sum(map(len, each))) for name, each in by_part]
    if own and draft.sources_by_name and numbers:
        parts.append(PartLength(name="sources", words=len(["##", headings.sources, *numbers, *numbers]), characters=0))
    return parts


def _is_japanese(draft: Draft) -> bool:
    return detect_language(" ".join(each.text for each in draft.summary)) == "ja"


def over_limit(draft: Draft) -> str:
    """The fault of a draft that exceeds its reader's limit; "" if it does not."""
    parts, japanese = _printed_parts(draft), _is_japanese(draft)
    size, unit = _size(draft, parts), "characters" if japanese else "words"
    if draft.reader_limit is None or size <= draft.reader_limit:
        return ""
    by_part = "; ".join(f"{each.name}: {each.characters if japanese else each.words}" for each in parts)
    return (
        f"the report has {size} {unit} as it is printed ({by_part}), and its reader allows {draft.reader_limit}: "
        "leave out what the reader needs least"
    )


def _heading_words(heading: str) -> list[str]:
    return ["##", heading] if heading else []


def _words_of(table: Table, numbers: dict[str, int], headings: Headings, listed: Mapping[str, int]) -> Iterator[str]:
    """With the bars between its cells, and the ruler below the names of its columns."""
    head_passages = [table.common_passages(), *([] for _ in table.columns[1:])]
    lines = [(table.columns, head_passages), *((row.texts(), table.printed_passages(row)) for row in table.rows)]
    kinds = table_marks(table, headings, listed)
    yield markdown_ruler(len(table.columns))
    for (texts, passages), marks in zip(lines, [kinds.columns, *kinds.rows], strict=True):
        for text, of_cell, kind in zip(texts, passages, marks, strict=True):
            yield from ("|", text + _printed_marks(of_cell, numbers) + kind)
        yield "|"


def _printed_marks(passages: Sequence[str], numbers: dict[str, int]) -> str:
    """The marks as printed. `numbers`: the document numbers so far, in order of first citation; extended here."""
    cited = sorted(numbers.setdefault(each, len(numbers) + 1) for each in _documents(passages))
    return with_joined_marks("".join(f"[{number}]" for number in cited))


def _documents(passages: Iterable[str]) -> list[str]:
    """The document part of each passage id, without repeats. Ids of earlier releases have none and count whole."""
    return [*dict.fromkeys(each.removeprefix(text_id(each)) or each for each in passages)]


def _heading(draft: Draft, at: PlacedSentence) -> str:
    if not at.section:
        return PARTS[at.place.split()[0]]
    return f"Section {at.section}: {draft.sections[at.section - 1].heading}".rstrip(": ")


def _line(at: PlacedSentence, numbers: Mapping[str, int | str], *, basis: bool, proof: str = "") -> str:
    """A statement's words with its passages; then in brackets the passages of a whole row, the kind and the basis.

    Behind these comes the proof, and below them the statement's lines of code.
    """
    sentence, (words, code) = at.sentence, words_and_code(at.sentence.text)
    text, whole = words + _marks(sentence.passages, numbers), ""
    if at.row:
        *by_cell, of_row = (_marks(passages, numbers) for passages in at.row.passages_by_cell())
        text = " | ".join(map(str.__add__, at.row.texts(), by_cell))
        whole = f"row{of_row}" if of_row else ""
    kind = sentence.kind if sentence.kind != "stated" else ""
    same = "same item" if sentence.goes_on else ""
    about = ", ".join(filter(None, (whole, same, kind, sentence.basis if basis else "")))
    return str(WordsAndCode(f"{text} ({about}){proof}" if about else text + proof, code))


def _proof(sentence: CitedSentence) -> str:
    """The proof of a statement: its quotes, its sums with values, and what code refutes."""
    language = detect_language(sentence.text)
    lines = [f"“{quote}”" for quote in sentence.quotes]
    if sentence.kind in {"derived", "judgement"}:
        lines += map(str, sums_of(sentence.basis))
    lines += [
        f"refuted by code: {WORDS[language].refuted[each.rule].format(detail=each.detail)}" for each in sentence.refuted
    ]
    return f" «{'; '.join(lines)}»" if lines else ""


def statement_line(at: PlacedSentence, numbers: Mapping[str, int | str]) -> str:
    """Render one statement as `shown_draft` does, without its place."""
    return _line(at, numbers, basis=True)


def _marks(passages: Sequence[str], numbers: Mapping[str, int | str]) -> str:
    """The marks with a space before them; "" if no passage has a number."""
    own_numbers = dict.fromkeys(numbers[each] for each in passages if each in numbers)
    marks = "".join(f"[P{number}]" if isinstance(number, int) else f"[{number}]" for number in own_numbers)
    return f" {marks}" if marks else ""


PassagesFor = Callable[[CitedSentence], Mapping[str, list[str]] | None]
"""For a statement, the passages that replace each of its passages; None removes the statement."""
N = TypeVar("N", CitedSentence, TableCell, TableRow)
"""Something that names passages."""


def without(draft: Draft, unwanted: Callable[[CitedSentence], bool]) -> Draft | None:
    """Remove statements; None if none is left. An emptied part is refilled with what remains in the others."""
    parts = _parts(draft, lambda each: None if unwanted(each) else {name: [name] for name in each.passages})
    of_body = [each for section in parts["sections"] for each in section.statements()]
    remaining = [*parts["summary"], *parts["findings"], *of_body]
    if not remaining:
        return None
    instead = {"summary": remaining[:1], "findings": remaining[:1], "sections": [flat_section(remaining)], "limits": []}
    return draft.model_copy(update={name: part or instead[name] for name, part in parts.items()})


def with_passages(draft: Draft, passages_for: PassagesFor) -> Draft:
    """Replace the passages of statements, and remove the statements for which `passages_for` gives None."""
    return draft.model_copy(update=_parts(draft, passages_for))


def _parts(draft: Draft, passages_for: PassagesFor) -> dict[str, list[Any]]:
    flat = {"summary": draft.summary, "findings": draft.findings, "limits": draft.limits}
    parts: dict[str, list[Any]] = {
        name: [*filter(None, _with_passages_for(each, each, passages_for))] for name, each in flat.items()
    }
    bodies = [
        (each, [*filter(None, (_block(block, passages_for) for block in each.blocks))]) for each in draft.sections
    ]
    return {**parts, "sections": [each.model_copy(update={"blocks": body}) for each, body in bodies if body]}


def _block(block: Block, passages_for: PassagesFor) -> Block | None:
    statements = block.statements()
    if isinstance(block, Table):
        return changed_block(block, _with_passages_for(block.rows, statements, passages_for))
    return changed_block(block, _with_passages_for(statements, statements, passages_for))


def _with_passages_for(
    parts: Sequence[N], statements: Sequence[CitedSentence], passages_for: PassagesFor
) -> list[N | None]:
    pairs = ((part, passages_for(each)) for part, each in zip(parts, statements, strict=True))
    return [None if passages is None else _with(part, passages) for part, passages in pairs]


def _with(naming: N, passages: Mapping[str, list[str]]) -> N:
    others: dict[str, None] = dict.fromkeys(each for name in naming.passages for each in passages.get(name, []))
    update: dict[str, Any] = {"passages": [*others]}
    if isinstance(naming, TableRow):
        update["cells"] = [_with(cell, passages) for cell in naming.cells]
    return naming.model_copy(update=update)
