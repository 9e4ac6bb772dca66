"""Refute a statement's quotes, figures and sums by code. No reply of a model overrules a refutation.

Prose is not judged here. Reviewers and judges decide whether a sentence follows from its quotes.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from contend.checks.notations import Figure, Notes, bare, cell_figures, notes_of, unfounded
from contend.checks.sums import CalculationError, calculate
from contend.models.research import ClaimKind, Passage, PlacedSentence, Refutation, Table
from contend.text import compact_tables, words_and_code

_CONSTANTS = frozenset(
    map(
        Decimal,
        (1, 2, 4, 7, 8, 10, 12, 24, 30, 31, 52, 60, 100, 365, 366, 1000, 1024, 3600, 86_400, 1_000_000, 2**20, 2**30),
    )
)
"""Numbers that a sum may use without a source, such as 7 days in a week, 8 bits in a byte, 100 for percent."""
_QUOTED = frozenset[ClaimKind]({"stated", "disputed"})
"""Kinds of statement whose figures all stand in their quotes."""
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PARTS = re.compile(r"[;；]")
_PROPOSED = re.compile(r"(?i)(?:^|[;；])\s*(?:proposed|proposes|提案)\s*[:：]?")
"""Begins, in a basis, the values that a statement proposes: `proposed: 2000; 500000`. They go on to its end."""


class Proof(NamedTuple):
    """A statement with everything it is checked against.

    `quotes`: each quote, with the passage that contains it; `sources`: all passages of the statement, with texts;
    `around`: the reader's question and the column names of the table; `others`: the other statements of the report,
    with their sums; `elsewhere`: somebody else wrote the text.
    """

    text: str
    kind: ClaimKind
    basis: str
    quotes: Sequence[tuple[Passage, str]]
    sources: Sequence[Passage]
    around: str = ""
    others: str = ""
    elsewhere: bool = False


NOWHERE = Passage(id="", url="", title="")
"""The passage of a quote that stands in none of its statement's passages."""


def proof_of(
    at: PlacedSentence, passages: Mapping[str, Passage], *, around: str, others: str, elsewhere: bool = False
) -> Proof:
    """The proof of a draft's statement. `passages`: by id, with texts; the rest as in `Proof`."""
    statement = at.sentence
    sources = [passages[each] for each in statement.passages if each in passages]
    return Proof(
        text=said_by(at),
        kind=statement.kind,
        basis=statement.basis,
        quotes=[(passage_of(words, sources), words) for words in statement.quotes],
        sources=sources,
        around=f"{around}\n{beside(at)}",
        others=others,
        elsewhere=elsewhere,
    )


def said_by(at: PlacedSentence) -> str:
    """The text to check: a sentence, or the cells of a row without a row number."""
    if at.row is None:
        return at.sentence.text
    number = at.place.rpartition(".")[2]
    return "; ".join(text for text in at.row.texts() if text.strip() not in {"", number, f"{number}."})


def beside(at: PlacedSentence) -> str:
    """For a table row, the column names of its table. Their figures count as found."""
    return "\n".join(at.block.columns) if isinstance(at.block, Table) else ""


def passage_of(words: str, sources: Sequence[Passage]) -> Passage:
    """The first passage that contains a quote; `NOWHERE` if none does."""
    return next((each for each in sources if stands_in(words, each)), NOWHERE)


class Sum(NamedTuple):
    """A calculation in a basis, with its value: a number, the days between two dates, or a date."""

    formula: str
    value: Decimal | date

    def __str__(self) -> str:
        return f"{self.formula} = {self.shown}"

    @property
    def shown(self) -> str:
        if isinstance(self.value, date):
            return self.value.isoformat()
        return f"{self.value.quantize(Decimal('0.0001')).normalize():f}"


def refutations(proof: Proof) -> list[Refutation]:
    """What code refutes of a statement; empty if nothing.

    Somebody else's text may name its sources anywhere. A statement of it that names none is not checked.
    """
    if proof.elsewhere and not proof.sources:
        return []
    wrong_quotes = [
        Refutation(rule="quote", detail=words) for passage, words in proof.quotes if not stands_in(words, passage)
    ]
    return [*wrong_quotes, *_inputs(proof), *_figures(proof)]


def sums_of(basis: str) -> list[Sum]:
    """The calculations in a basis, separated by semicolons. Parts that are not arithmetic are left out."""
    sums = []
    for part in _PARTS.split(basis):
        formula = part.partition("=")[0].strip()
        if (value := _reckoned(formula)) is not None:
            sums.append(Sum(formula, value))
        elif re.search(r"\d\s*[-+*/×÷%^(]", formula):
            with suppress(CalculationError):
                sums.append(Sum(formula, calculate(formula)))
    return sums


def proposes(basis: str) -> bool:
    """Whether values of a statement's own stand in its basis."""
    return _PROPOSED.search(basis) is not None


_DATE = r"(\d{4}-\d{2}-\d{2})"
_DAYS_BETWEEN = re.compile(rf"{_DATE}\s*[-−–]\s*{_DATE}")
_DAYS_FROM = re.compile(rf"{_DATE}\s*([-+−–])\s*(\d{{1,5}})\s*(day|week|month|year)s?")


def _reckoned(formula: str) -> Decimal | date | None:
    """The value of `2028-11-30 - 2028-08-30` or `2027-04-30 + 90 days`; None for anything else."""
    with suppress(ValueError, OverflowError):
        if between := _DAYS_BETWEEN.fullmatch(formula):
            last, first = map(date.fromisoformat, between.groups())
            return Decimal((last - first).days)
        if moved := _DAYS_FROM.fullmatch(formula):
            begin, count = date.fromisoformat(moved[1]), int(moved[3]) * (1 if moved[2] == "+" else -1)
            if moved[4] in {"day", "week"}:
                return begin + timedelta(days=count * (7 if moved[4] == "week" else 1))
            months = begin.year * 12 + begin.month - 1 + count * (12 if moved[4] == "year" else 1)
            year, month = divmod(months, 12)
            return date(year, month + 1, min(begin.day, monthrange(year, month + 1)[1]))
    return None


def inputs_of(formula: str) -> tuple[list[str], list[str]]:
    """The dates and the numbers in a sum, without those that need no source, such as 100 for percent."""
    numbers = _NUMBER.findall(re.sub(_DATE, " ", formula))
    return re.findall(_DATE, formula), [each for each in numbers if Decimal(each.replace(",", "")) not in _CONSTANTS]


def _inputs(proof: Proof) -> Iterator[Refutation]:
    """Refute inputs of a sum that stand in no passage and no other statement, and that are no convention."""
    sums = sums_of(proof.basis) if proof.kind != "not_found" else []
    carriers = _carriers(proof, whole=True)
    results = "; ".join(each.shown for each in sums)
    other_notes = notes_of(f"{results}; {_proposed(proof)}; {_PARTS.sub(' ; ', proof.others)}" if sums else "")
    for each in sums:
        days, numbers = inputs_of(each.formula)
        missing = [day for day in days if unfounded(day, carriers=carriers) and unfounded(day, carriers=other_notes)]
        for digits in numbers:
            value = Decimal(digits.replace(",", ""))
            has_source = carriers.has_digits(value) or other_notes.has_digits(value)
            if not has_source and unfounded(digits, carriers=other_notes):
                missing.append(digits)
        if missing:
            yield Refutation(rule="input", detail=f"{', '.join(dict.fromkeys(missing))} ({each.formula})")


def _figures(proof: Proof) -> Iterator[Refutation]:
    strict = proof.kind in _QUOTED
    sums = sums_of(proof.basis) if proof.kind != "not_found" else []
    values = [abs(each.value) for each in sums if isinstance(each.value, Decimal)]
    # The inputs of a sum are checked on their own.
    more = [f"{each.formula} ; {each.shown}" for each in sums] if not strict else []
    more.append(_proposed(proof))
    carriers = _carriers(proof, whole=not strict or not proof.quotes, more=more)
    small_too = strict and not proof.elsewhere
    text, code = words_and_code(proof.text)
    missing = unfounded(text, carriers=carriers, values=values, small_too=small_too)
    of_code = unfounded(code, carriers=carriers, values=values, small_too=small_too) if code else []
    # In lines that no passage has, a name such as `db2` may stand for one of the reader's.
    missing += [each for each in of_code if each not in missing and (strict or not each.lstrip("-")[:1].isalpha())]
    if missing and sums and not strict:
        results = "; ".join(map(str, sums))
        yield Refutation(rule="sum", detail=f"{', '.join(missing)} ({results})")
    elif missing:
        yield Refutation(rule="figure", detail=", ".join(missing))


def _proposed(proof: Proof) -> str:
    """The values that a statement proposes; "" where it proposes none."""
    begin = _PROPOSED.search(proof.basis) if proof.kind in {"judgement", "derived"} else None
    return proof.basis[begin.end() :] if begin else ""


def _carriers(proof: Proof, *, whole: bool, more: Sequence[str] = ()) -> Notes:
    """The notes that a figure may come from: of whole passages (`whole`), or of quotes, headings and column names."""
    standing = [(passage, words) for passage, words in proof.quotes if stands_in(words, passage)]
    named = {each.id: each for each in (proof.sources if whole else [passage for passage, _ in standing])}
    texts = [f"{each.title}\n{each.heading}\n{each.published or ''}" for each in named.values()]
    texts += [each.text for each in proof.sources] if whole else []
    cells: list[Figure] = []
    for passage, words in standing:
        of_quote, of_cells = _quoted(words, passage)
        texts += of_quote
        cells += of_cells
    notes = notes_of("\n".join([*texts, *more, proof.around]))
    return notes.beside(notes_of(proof.others if proof.kind not in _QUOTED else ""), cells)


def stands_in(words: str, passage: Passage) -> bool:
    """Whether the words stand in a passage, its heading or its title. Marks, white space, case and width are ignored.

    `...` marks words that are left out; `|` separates the cells of one table row.
    """
    return any(_spans(words, each) for each in (passage.text, passage.heading, passage.title))


def overlap(first: str, second: str, passage: Passage) -> bool:
    """Whether two quotes share words of a passage, or cells of one row."""
    others = _spans(second, passage.text)
    return any(
        line == other and begin < until and start < end
        for line, begin, end in _spans(first, passage.text)
        for other, start, until in others
    )


class _Span(NamedTuple):
    """The begin and end of words in a bare text. For cells of a row, `line` is the whole row."""

    line: str
    begin: int
    end: int


@lru_cache(maxsize=10_000)
def _spans(words: str, text: str) -> tuple[_Span, ...]:
    """The place of each piece of a quote; empty unless the text contains all pieces in this order."""
    if "|" in words:
        cells = [bare(cell) for cell in words.split("|")]
        lines = map(bare, _lines(text))
        return tuple(_Span(line, 0, len(line)) for line in lines if _in_order(cells, line))
    pieces = [bare(piece) for piece in pieces_of(words)]
    spans, at, whole = list[_Span](), 0, bare(text)
    for piece in pieces:
        begin = whole.find(piece, at)
        if begin < 0:
            return ()
        at = begin + len(piece)
        spans += [_Span("", begin, at)] if piece else []
    return tuple(spans)


def pieces_of(words: str) -> list[str]:
    """Split a quote at the words it leaves out (`...`)."""
    return re.split(r"…|\.{3}|\[\.\.\.\]", words)


def _lines(text: str) -> list[str]:
    """The lines of a text, both as stored and as prompts show its tables."""
    return [*text.split("\n"), *compact_tables(text).split("\n")]


def _in_order(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return any(pieces)


def _quoted(words: str, passage: Passage) -> tuple[list[str], list[Figure]]:
    """What a quote supports: its words and, for cells, the table's caption, column names, and numbers with units."""
    parts = [each for each in words.split("|") if each.strip()]
    caption, names, cells = _row_of([bare(each) for each in parts], passage)
    if len(names) != len(cells):
        return [words, caption, *names], []
    texts, figures = [caption], list[Figure]()
    for each in parts:
        equal = [at for at, cell in enumerate(cells) if bare(cell) == bare(each)]
        columns = equal or [at for at, cell in enumerate(cells) if bare(each) in bare(cell)]
        texts += [names[at] for at in columns] or names
        column = names[columns[0]] if columns else ""
        in_unit = cell_figures(each, column=column, label=cells[0], caption=caption)
        figures += in_unit
        texts += [] if in_unit else [each]
    return texts, figures


def _row_of(parts: Sequence[str], passage: Passage) -> tuple[str, list[str], list[str]]:
    """The caption and column names of the table that has the parts in one row, and the cells of that row; or empty."""
    caption, names = "", ""
    for line in _lines(passage.text):
        if "|" not in line and not line.startswith("- "):
            caption, names = line if line.strip() else caption, ""
        elif _in_order(parts, bare(line)):
            return caption, _cells(names), _cells(line)
        else:
            names = names or line
    return "", [], [""]


def _cells(line: str) -> list[str]:
    return [each.strip() for each in line.strip().removeprefix("|").removesuffix("|").split("|")]
