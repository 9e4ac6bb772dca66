"""Quotes as a report: word for word, under the part that they answer, with file and heading or page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from contend.models.record import Language
from contend.models.research import ResearchReport, SearchResult
from contend.models.task import title_of
from contend.quotes.answering import Quote, QuotedAnswer, words_of
from contend.quotes.units import cells_of, said_by
from contend.report.plain import plain_title, table_row, table_ruler
from contend.text import WORDS, clean, file_name, inert, shorten, split_code, terms, without_item_mark

_MARK_UP = re.compile(r"\*\*|__|(?<!!)\[([^\[\]]*)\]\([^()\s]*\)")
_WORDS = re.compile(r"\d+(?:[.,]\d+)*|[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff]+|[^\W\d_]+")
_PART_CHARACTERS = 300
_SUMMARY = 500
_MOST_FINDINGS = 20


def quoted_report(question: str, answers: Sequence[QuotedAnswer], language: Language) -> ResearchReport:
    """The quotes as a report like any: what was found, the best quote of each part, all quotes, what is missing."""
    numbers, words = _numbers(answers), WORDS[language]
    with_quotes = [answer for answer in answers if answer.quotes]
    findings = [f"{_finding(answer.quotes[0])}[{numbers[answer.quotes[0].unit.source.url]}]" for answer in with_quotes]
    open_parts = [_inline(_part_text(answer.part), frozenset()) for answer in answers if not answer.quotes]
    return ResearchReport(
        theme=title_of(question),
        executive_summary=_summary(with_quotes, len(answers), language),
        key_findings=findings[:_MOST_FINDINGS] or [words.nothing_answered],
        detailed_analysis="\n\n".join(block for answer in answers for block in _part(answer, numbers, language)),
        constraints_and_challenges="\n".join(f"- {words.part_unanswered.format(part=part)}" for part in open_parts),
        sources=_sources(answers, numbers),
    )


def _numbers(answers: Sequence[QuotedAnswer]) -> dict[str, int]:
    """The sources in the order of the report's best quotes, then of its others."""
    best = [answer.quotes[0] for answer in answers if answer.quotes]
    others = [quote for answer in answers for quote in (*answer.quotes, *answer.nearest)]
    urls = dict.fromkeys(quote.unit.source.url for quote in (*best, *others))
    return {url: number for number, url in enumerate(urls, start=1)}


def _sources(answers: Sequence[QuotedAnswer], urls: Iterable[str]) -> list[SearchResult]:
    quotes = [quote for answer in answers for quote in (*answer.quotes, *answer.nearest)]
    first = {quote.unit.source.url: quote.unit for quote in reversed(quotes)}
    return [
        SearchResult(
            title=plain_title(first[url].source.title) or url[:500],
            summary=shorten(clean(said_by(first[url]), single_line=True), _SUMMARY) or url[:500],
            source="local",
            url=url,
        )
        for url in urls
    ]


def _summary(answers: Sequence[QuotedAnswer], parts: int, language: Language) -> str:
    words = WORDS[language]
    if not answers:
        return words.nothing_answered
    urls = dict.fromkeys(quote.unit.source.url for answer in answers for quote in answer.quotes)
    files = ", ".join(_inline(file_name(url), frozenset()) for url in urls)
    template = words.question_answered if parts == 1 else words.parts_answered
    return template.format(count=len(answers), parts=parts, files=files)


def _part(answer: QuotedAnswer, numbers: dict[str, int], language: Language) -> Iterator[str]:
    words = WORDS[language]
    yield f"### {plain_title(_part_text(answer.part))}"
    if not answer.quotes:
        yield words.part_nearest if answer.nearest else words.part_without_nearest
    printed_quotes = answer.quotes or answer.nearest
    for _, group in groupby(printed_quotes, key=lambda quote: (quote.unit.source, quote.unit.group, quote.unit.kind)):
        quotes = list(group)
        source = quotes[0].unit.source
        yield "\n".join(f"> {line}".rstrip() for line in _quote_lines(quotes))
        place = " › ".join(filter(None, [file_name(source.url), source.heading]))
        yield f"— {_inline(place, frozenset())}[{numbers[source.url]}]"


def _quote_lines(quotes: Sequence[Quote]) -> Iterator[str]:
    unit = quotes[0].unit
    words = frozenset(word for quote in quotes for word in quote.words)
    if unit.kind == "row":
        names = cells_of(unit.lead)
        yield table_row([_cell(name, words) for name in names])
        yield table_ruler(len(names))
        for quote in quotes:
            cells = [*cells_of(quote.unit.text), *[""] * len(names)][: len(names)]
            yield table_row([_cell(cell, words) for cell in cells])
        return
    if unit.lead:
        yield from (_inline(without_item_mark(unit.lead), words), "")
    for place, quote in enumerate(quotes):
        if unit.kind == "code":
            yield from quote.unit.text.splitlines()
        elif unit.kind == "item":
            yield f"- {_inline(without_item_mark(quote.unit.text), words)}"
        else:
            yield from ([""] if place else [])
            yield _inline(quote.unit.text, words)


def _finding(quote: Quote) -> str:
    """The best quote on one line: a row with its columns' names, an item with the line that leads into its list."""
    unit = quote.unit
    if unit.kind == "code":
        lines = [line for line in unit.text.splitlines() if not line.startswith(("```", "~~~"))]
        line = max(lines, key=lambda line: len(quote.words.intersection(terms(line))), default="")
        return " ".join(filter(None, [_inline(unit.lead, quote.words), f"`{line.strip()}`" if line.strip() else ""]))
    lead = f"{_inline(unit.lead, quote.words)} " if unit.kind == "item" and unit.lead else ""
    return lead + _inline(said_by(unit), quote.words)


def _part_text(part: str) -> str:
    return shorten(clean(part, single_line=True), _PART_CHARACTERS)


def _cell(text: str, words: frozenset[str]) -> str:
    return _inline(text, words).replace("|", "\\|")


def _inline(text: str, words: frozenset[str]) -> str:
    """The text as its document shows it, inert in Markdown, with the words that were asked for in bold."""
    pieces = split_code(clean(text, single_line=True))
    pieces[::2] = [_emphasize(_MARK_UP.sub(lambda match: match[1] or "", piece), words) for piece in pieces[::2]]
    return "".join(pieces)


def _emphasize(text: str, words: frozenset[str]) -> str:
    markdown, end = "", 0
    for match in _WORDS.finditer(text):
        markdown += inert(text[end : match.start()])
        markdown += "".join(f"**{run}**" if strong else run for strong, run in words_of(match[0], words))
        end = match.end()
    return markdown + inert(text[end:])
