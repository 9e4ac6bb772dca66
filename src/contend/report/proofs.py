"""Render the proof of each statement for the page: quotes in their passages, sums with their inputs."""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from contend.checks.spans import Span, around, input_spans, quote_spans
from contend.models.record import Language
from contend.report.build import PublishedLine
from contend.report.ledger import LedgerPassage, LedgerStatement, PublishedReport
from contend.report.plain import DOUBTFUL_SIGN
from contend.text import WORDS, shorten

FILTERS = ("calculated", "judgement", "not_found", "disputed", "doubted")
_MOST = 600
"""The most characters of a passage to show around a quote."""
_SIGNS = re.compile(rf"(?:~~)?(?: {DOUBTFUL_SIGN})?")
_ROW_MARK_UP = re.compile(rf"[|\\~{DOUBTFUL_SIGN}\s]")


class StatementMarks:
    """Marks the statements in a report's Markdown, so that each opens its proof.

    A sentence is put into a `<span>`; a table row gets the same attributes. `shown`: the statements marked so far, by
    place.
    """

    def __init__(self, report: PublishedReport | None, lines: Sequence[PublishedLine]) -> None:
        self.shown: dict[str, LedgerStatement] = {}
        self._by_place = {each.place: each for each in report.statements} if report else {}
        self._lines = [each for each in lines if each.place in self._by_place]
        self._next = 0

    def use(self, markdown: MarkdownIt) -> None:
        """Add the rule that marks statements to a parser. It works where the environment sets `statements`."""
        markdown.core.ruler.after("inline", "statements", self._mark)

    def _mark(self, state: StateCore) -> None:
        if not state.env.get("statements"):
            return
        row: list[Token] = []
        for before, token in zip([None, *state.tokens], state.tokens, strict=False):
            row = [] if token.type == "tr_open" else row
            row.append(token)
            if token.type == "tr_close":
                self._mark_row(row)
            elif token.type == "inline" and before and before.type == "paragraph_open":
                token.children = [*self._sentences(token.content, state)]

    def _mark_row(self, row: Sequence[Token]) -> None:
        text = _bare_row("".join(each.content for each in row if each.type == "inline"))
        if (at := self._find(lambda line: line.startswith("| ") and _bare_row(line) == text)) is not None:
            row[0].attrs |= self._attributes(at)

    def _sentences(self, content: str, state: StateCore) -> Iterator[Token]:
        """Put each statement of the text into a span."""
        done = 0
        while content[done:].strip():
            at = self._find(lambda line: line in content[done:])  # noqa: B023 - called at once
            if at is None:
                break
            line = self._lines[at].text
            begin = content.index(line, done)
            end = begin + len(line)
            begin -= 2 if content[done:begin].endswith("~~") else 0
            signs = _SIGNS.match(content, end)
            end = signs.end() if signs else end
            yield from _inline(content[done:begin], state)
            attributes = self._attributes(at)
            yield Token("span_open", "span", 1, attrs={**attributes})
            yield from _inline(content[begin:end], state)
            yield Token("span_close", "span", -1)
            done = end
        yield from _inline(content[done:], state)

    def _find(self, fits: Callable[[str], bool]) -> int | None:
        """The place of the next line that fits; lines before it are skipped. None if no line fits."""
        at = next((at for at in range(self._next, len(self._lines)) if fits(self._lines[at].text)), None)
        self._next = self._next if at is None else at + 1
        return at

    def _attributes(self, at: int) -> dict[str, str | int | float]:
        statement = self._by_place[self._lines[at].place]
        if statement.kind == "lead_in":
            return {}
        self.shown[statement.place] = statement
        kinds = " ".join(["s", *kinds_of(statement)])
        return {"class": kinds, "tabindex": "0", "aria-describedby": proof_id(statement.place)}


def _bare_row(text: str) -> str:
    return _ROW_MARK_UP.sub("", text)


def _inline(text: str, state: StateCore) -> list[Token]:
    tokens: list[Token] = []
    state.md.inline.parse(text, state.md, state.env, tokens)
    return tokens


def proof_id(place: str) -> str:
    """The HTML id of a proof, such as `proof-2-1-3` or `proof-summary-1`."""
    return f"proof-{re.sub(r'[^a-z0-9]', '-', place)}"


def kinds_of(statement: LedgerStatement) -> list[str]:
    """The filters that a statement belongs to."""
    belongs = {
        "calculated": bool(statement.sums) and statement.kind == "derived",
        "judgement": statement.kind == "judgement",
        "not_found": statement.kind == "not_found",
        "disputed": statement.kind == "disputed",
        "doubted": bool(statement.doubt or statement.refuted),
    }
    return [each for each in FILTERS if belongs[each]]


def filters_html(statements: Sequence[LedgerStatement], language: Language) -> str:
    """A filter button, with a count, for each kind in the report; "" if there is none."""
    words, kinds = WORDS[language].proof, [kind for each in statements for kind in kinds_of(each)]
    buttons = "".join(
        f'<button type="button" class="filter" data-filter="{each}" aria-pressed="false">'
        f"{escape(words.filters[each])} <span>{kinds.count(each)}</span></button>"
        for each in FILTERS
        if each in kinds
    )
    label = escape(words.show)
    return f'<div class="filters" role="group" aria-label="{label}">{label} {buttons}</div>' if buttons else ""


def proofs_html(report: PublishedReport, statements: Sequence[LedgerStatement], language: Language) -> str:
    """The proofs of these statements as HTML. All text in them is escaped."""
    passages = {each.id: each for each in report.passages}
    numbers = {source.url: number for number, source in enumerate(report.sources, start=1)}
    return "".join(
        f'<aside class="proof" id="{proof_id(each.place)}" role="tooltip">{"".join(_proof(each, cited, language))}'
        f"{''.join(_source(each, passage, numbers.get(passage.url), language) for passage in cited)}</aside>"
        for each in statements
        for cited in [[passages[one] for one in each.passages if one in passages]]
    )


def _proof(statement: LedgerStatement, passages: Sequence[LedgerPassage], language: Language) -> Iterator[str]:
    words = WORDS[language].proof
    head: str = getattr(words, statement.kind)
    if statement.kind == "stated" and not statement.quotes:
        head = words.cited if passages else words.uncited
    if statement.kind == "derived" and statement.sums:
        head = words.calculated
    yield f'<p class="kind">{escape(head)}</p>'
    if statement.doubt:
        yield f'<p class="caution">{escape(words.doubted.format(why=statement.doubt))}</p>'
    yield from (f"<p><code>{escape(each)}</code></p>" for each in statement.sums)
    if statement.kind == "derived" and not statement.sums and statement.basis:
        yield f"<p>{escape(shorten(statement.basis, _MOST // 2))}</p>"
    searched = statement.basis.rpartition(":")[2].strip()
    if statement.kind == "not_found" and searched:
        yield f"<p>{escape(words.searched.format(words=searched))}</p>"


def _source(statement: LedgerStatement, passage: LedgerPassage, number: int | None, language: Language) -> str:
    """A passage's place, with the quotes or inputs of sums that the statement takes from it, in context."""
    where = " › ".join(filter(None, [passage.title, passage.heading]))
    day = passage.read_at.partition("T")[0]
    read = f' <span class="read">{escape(WORDS[language].proof.read_at.format(day=day))}</span>' if day else ""
    mark = f"[{number}] " if number else ""
    excerpt = _excerpt(statement, passage.text)
    quote = f"<blockquote>{excerpt}</blockquote>" if excerpt else ""
    return f'<p class="from">{mark}{escape(where)}{read}</p>{quote}'


def _excerpt(statement: LedgerStatement, text: str) -> str:
    quotes = [span for words in statement.quotes for span in quote_spans(words, text)]
    inputs = [span for each in statement.sums for span in input_spans(each.partition(" = ")[0], text)]
    if quotes:
        return _highlighted(text, quotes, around(quotes, text, neighbours=1, most=_MOST))
    if inputs:
        return _highlighted(text, inputs, around(inputs, text, neighbours=0, most=_MOST // 2))
    return "" if statement.quotes or statement.kind != "stated" else escape(shorten(text, _MOST // 2))


def _highlighted(text: str, spans: Sequence[Span], parts: Sequence[Span]) -> str:
    """The parts of a text as HTML, with spans in `<mark>`."""
    marked = {at for span in spans for at in range(span.begin, span.end)}
    excerpts = []
    for part in parts:
        runs = groupby(range(part.begin, part.end), key=marked.__contains__)
        pieces = [(is_marked, "".join(text[at] for at in run)) for is_marked, run in runs]
        texts = (f"<mark>{escape(piece)}</mark>" if hit else escape(piece) for hit, piece in pieces)
        excerpts.append("".join(texts).strip())
    begin, end = "… " if parts[0].begin else "", " …" if parts[-1].end < len(text.rstrip()) else ""
    return f"{begin}{' … '.join(excerpts)}{end}"
