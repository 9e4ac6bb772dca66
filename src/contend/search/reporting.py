"""The report of a search: the passages for each part of the question, with file and heading or page."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from contend.models.record import Language
from contend.models.research import ResearchReport, SearchResult
from contend.models.task import title_of
from contend.report.plain import markdown_row, markdown_ruler, plain_title
from contend.search.passages import NearPassage, PartPassages, is_code, is_row, is_ruler
from contend.text import WORDS, Words, clean, file_name, inert, shorten, split_code, terms, without_item_mark
from contend.text.characters import CJK

_MARK_UP = re.compile(r"\*\*|__|(?<!!)\[([^\[\]]*)\]\([^()\s]*\)")
_WORDS = re.compile(rf"\d+(?:[.,]\d+)*|(?P<run>[{CJK}]+)|[^\W\d_{CJK}]+")
_PART, _SUMMARY, _FINDING = 300, 500, 300
_MOST_FINDINGS = 20


def search_report(question: str, parts: Sequence[PartPassages], language: Language) -> ResearchReport:
    """Build the report: the first passage of each part as findings, all passages, and the parts without any."""
    words, found = WORDS[language], [each for each in parts if each.passages]
    numbers = {url: number for number, url in enumerate(_urls(parts), start=1)}
    findings = [f"{_finding(each.passages[0])}[{numbers[each.passages[0].url]}]" for each in found]
    without = [_inline(_part_text(each.part)) for each in parts if not each.passages]
    return ResearchReport(
        theme=title_of(question),
        executive_summary=_summary(found, len(parts), words),
        key_findings=findings[:_MOST_FINDINGS] or [words.no_passage],
        detailed_analysis="\n\n".join(block for each in parts for block in _part(each, numbers, words)),
        constraints_and_challenges="\n".join(f"- {words.part_not_found.format(part=part)}" for part in without),
        sources=_sources(parts),
    )


def _urls(parts: Sequence[PartPassages]) -> list[str]:
    """The sources: first those of each part's first passage, then all others, in the order of the parts."""
    first = [each.passages[0] for each in parts if each.passages]
    others = [passage for each in parts for passage in each.passages]
    return list(dict.fromkeys(passage.url for passage in (*first, *others)))


def _sources(parts: Sequence[PartPassages]) -> list[SearchResult]:
    first = {passage.url: passage for each in reversed(parts) for passage in reversed(each.passages)}
    return [
        SearchResult(
            title=plain_title(first[url].title) or url[:500],
            summary=shorten(clean(first[url].text, single_line=True), _SUMMARY) or url[:500],
            source="local",
            url=url,
        )
        for url in _urls(parts)
    ]


def _summary(found: Sequence[PartPassages], parts: int, words: Words) -> str:
    if not found:
        return words.no_passage
    files = words.between.join(_inline(file_name(url)) for url in _urls(found))
    template = words.passages_found if parts == 1 else words.parts_found
    return template.format(count=len(found), parts=parts, files=files)


def _part(part: PartPassages, numbers: dict[str, int], words: Words) -> Iterator[str]:
    yield f"### {plain_title(_part_text(part.part))}"
    if not part.passages:
        yield words.no_passage
    for passage in part.passages:
        lines = [line for block in _printed_blocks(passage) for line in (*block, "")][:-1]
        yield "\n".join(f"> {line}".rstrip() for line in lines)
        place = " › ".join(filter(None, [file_name(passage.url), passage.heading]))
        yield f"— {_inline(place)}[{numbers[passage.url]}]{_superseded(passage, words)}"


def _superseded(passage: NearPassage, words: Words) -> str:
    """The note that names the newest edition; with its folder if both have the same file name."""
    if (newest := passage.newest) is None:
        return ""
    name = file_name(newest.url)
    file = name if name != file_name(passage.url) else f"{file_name(newest.url.rpartition('/')[0])}/{name}"
    day = f" ({newest.published})" if newest.published else ""
    return f" **{words.superseded.format(file=f'{_inline(file)}{day}')}**"


def _printed_blocks(passage: NearPassage) -> Iterator[list[str]]:
    """The lines of each paragraph, list, table or code block of the passage."""
    for kind, group in groupby(passage.blocks, key=_kind):
        blocks = list(group)
        match kind:
            case "row":
                yield [*_table(blocks, passage.words)]
            case "item":
                yield [f"- {_inline(without_item_mark(block), passage.words)}" for block in blocks]
            case "code":
                yield from (block.splitlines() for block in blocks)
            case _:
                yield from ([_inline(block, passage.words)] for block in blocks)


def _kind(block: str) -> str:
    if is_row(block) or is_code(block):
        return "row" if is_row(block) else "code"
    return "item" if without_item_mark(block) != block else "prose"


def _table(rows: Sequence[str], words: frozenset[str]) -> Iterator[str]:
    """The rows as a Markdown table. Without column names, the first row takes their place."""
    names, *others = [_cells(row) for row in rows if not is_ruler(row)] or [[]]
    yield markdown_row(_cell(name, words) for name in names)
    yield markdown_ruler(len(names))
    for cells in others:
        yield markdown_row(_cell(cell, words) for cell in [*cells, *[""] * len(names)][: len(names)])


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _finding(passage: NearPassage) -> str:
    """The block of a passage with the most terms, on one line. A table row gets its column names."""
    blocks = [block for block in passage.blocks if not is_ruler(block)]
    best = max(blocks, key=lambda block: len(passage.words.intersection(terms(block))))
    if is_code(best):
        lines = [line for line in best.splitlines() if not is_code(line)]
        line = max(lines, key=lambda line: len(passage.words.intersection(terms(line))), default="").strip()
        return f"`{shorten(line, _FINDING)}`" if line and "`" not in line else _inline(line)
    if is_row(best):
        names = next(_cells(block) for block in blocks if is_row(block))
        best = "; ".join(f"{name}: {cell}" for name, cell in zip(names, _cells(best), strict=False))
    return _inline(shorten(without_item_mark(best), _FINDING), passage.words)


def _part_text(part: str) -> str:
    return shorten(clean(part, single_line=True), _PART)


def _cell(text: str, words: frozenset[str]) -> str:
    return _inline(text, words).replace("|", "\\|")


def _inline(text: str, words: frozenset[str] = frozenset()) -> str:
    """Escape a text for Markdown, with the words of the question in bold."""
    pieces = split_code(clean(text, single_line=True))
    pieces[::2] = [_emphasize(_MARK_UP.sub(lambda match: match[1] or "", piece), words) for piece in pieces[::2]]
    return "".join(pieces)


def _emphasize(text: str, words: frozenset[str]) -> str:
    markdown, end = "", 0
    for match in _WORDS.finditer(text):
        markdown += inert(text[end : match.start()])
        pieces = _pieces(match[0], words) if match["run"] else [(not words.isdisjoint(terms(match[0])), match[0])]
        markdown += "".join(f"**{piece}**" if strong else piece for strong, piece in pieces)
        end = match.end()
    return markdown + inert(text[end:])


def _pieces(run: str, wanted: frozenset[str]) -> list[tuple[bool, str]]:
    """Split a run of Japanese or Chinese into pieces: whether each consists of wanted terms, and its text."""
    hits = {
        at
        for place in range(len(run))
        for length in (1, 2)
        if run[place : place + length] in wanted
        for at in range(place, place + length)
    }
    pieces = groupby(range(len(run)), key=hits.__contains__)
    return [(strong, "".join(run[at] for at in places)) for strong, places in pieces]
