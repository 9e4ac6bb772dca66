"""Citation marks as readers see them, and the list of references of a text that others wrote, in whatever layout."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from contend.models.record import Language
from contend.models.research import GENERATED_AT, MARK, ResearchReport
from contend.text import ADDRESS, WORDS, address_key, shown_address, split_code, without_code, without_tail

_KNOWN = {name.casefold() for words in WORDS.values() for name in (words.headings.references, words.headings.also_read)}
_KNOWN |= {"sources", "bibliography", "works cited", "出典", "引用文献", "参照"}
_APPENDICES = tuple(f"## {words.about_run}" for words in WORDS.values())
_GENERATED = re.compile(rf"^{re.escape(GENERATED_AT)}: [\d: -]+ UTC\*$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(?:#{1,6}[ \t]|\*\*[^*]{1,80}\*\*:?\s*\Z|[^\W\d_][^.!?。：:]{0,40}[:：]\s*\Z)")
_AROUND_NAME = re.compile(r"^[\s#*_\d.)]+|[\s#*_:：]+$")
_DEFINED = re.compile(r" {0,3}(?:[-*+][ \t]+)?\[\^?(\d{1,3})\]:[ \t]*(?=\S)")
_LISTED = re.compile(r" {0,3}(?:[-*+][ \t]+)?(?:\[(\d{1,3})\]|(\d{1,3})[.)])[ \t]+(?=\S)")
_SEVERAL = re.compile(r"\[\^?(\d{1,3}(?:\s?[,;、–-]\s?\^?\d{1,3})*)\]")
_PART = re.compile(r"(\d+)(?:\s?[–-]\s?\^?(\d+))?")
MARKS = re.compile(r"((?:\[[1-9]\d*\])+)")
"""Marks in a row."""
_LEAST_IN_RANGE = 3
MOST_NAMES = 3
"""In a mark of the opening."""
_SEE_PARTS = re.compile(rf"\s?\[(?:{'|'.join(words.see_parts.format(parts='[0-9, ]+') for words in WORDS.values())})\]")
_SECTION = re.compile(r"^### (?:(\d{1,2})\b)?", re.MULTILINE)
_NAME = re.compile(r"[^\[\]();|*`<>\\]+")
"""A file's name that brackets in Markdown show as it is."""
_BRACKETS = re.compile(r"\[([^\[\]]+)\](?!\()")
_OWN_ADDRESS = re.compile(r"^ +- URL: (\S.*)$", re.MULTILINE)


class Reference(NamedTuple):
    """An entry as it is written, and its web address; "" where it has none."""

    text: str
    address: str


class ReferencedText(NamedTuple):
    """A text without contend's own words on a run; its body, each mark as `[n]`; its list of references by number."""

    text: str
    body: str
    entries: dict[int, Reference]


class _Entry(NamedTuple):
    number: int
    defined: bool
    begin: int
    lines: list[str]

    def text(self) -> str:
        return "\n".join(self.lines)


def read_references(markdown: str) -> ReferencedText:
    """A text and its references: numbered lists, `[1]: url`, `[1] Title, url` and footnotes `[^1]: …`.

    A numbered list is one of references under a heading that says so, or where half of its entries have an address and
    the rest of the text cites by number.
    """
    text = _GENERATED.sub("", _without_appendix(markdown))
    lines = text.split("\n")
    cites = any(_SEVERAL.search(_LISTED.sub("", line, count=1)) for line in lines)
    entries: dict[int, Reference] = {}
    taken: set[int] = set()
    for begin, end in _sections(lines):
        known = heading_name(lines[begin]) in _KNOWN
        listed = list(_entries(lines, begin, end))
        addressed = sum(ADDRESS.search(entry.text()) is not None for entry in listed) * 2 >= len(listed)
        for entry in listed:
            if not (entry.defined or known or (addressed and cites and not _SEVERAL.search(entry.text()))):
                continue
            entries[entry.number] = Reference(entry.text(), _address(entry.text()))
            taken.update(range(entry.begin, entry.begin + len(entry.lines)))
        if known:
            taken.add(begin)
    body = "\n".join(line for place, line in enumerate(lines) if place not in taken).strip() or text
    pieces, numbers = split_code(body), _numbers_by_name(entries)
    pieces[::2] = [_SEVERAL.sub(lambda match: _singly(match, entries), piece) for piece in pieces[::2]]
    by_number = (_BRACKETS.sub(lambda match: _by_number(match, numbers), piece) for piece in pieces[::2])
    pieces[::2] = [_SEE_PARTS.sub("", piece) for piece in by_number]
    return ReferencedText(text, "".join(pieces), entries)


def heading_name(line: str) -> str:
    """A heading by which a part is known: without its marks and its number, in small letters."""
    return _AROUND_NAME.sub("", line).casefold()


def _without_appendix(markdown: str) -> str:
    """The text without contend's own words on the run behind it."""
    lines = markdown.split("\n")
    return "\n".join(lines[: next((place for place, line in enumerate(lines) if line in _APPENDICES), len(lines))])


def _sections(lines: list[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for place, line in enumerate(lines[1:], start=1):
        if _HEADING.match(line):
            yield begin, place
            begin = place
    yield begin, len(lines)


def _entries(lines: list[str], begin: int, end: int) -> Iterator[_Entry]:
    """The entries of a list, each with the indented lines that belong to it."""
    entry: _Entry | None = None
    for place in range(begin, end):
        line = lines[place]
        defined, listed = _DEFINED.match(line), _LISTED.match(line)
        if mark := defined or listed:
            if entry:
                yield entry
            entry = _Entry(int(mark[1] or mark[2]), defined is not None, place, [line[mark.end() :]])
        elif entry and line[:2].isspace():
            entry.lines.append(line)
        elif entry:
            yield entry
            entry = None
    if entry:
        yield entry


def _address(entry: str) -> str:
    match = ADDRESS.search(entry)
    if match is None:
        return ""
    address, key = without_tail(match[0]), address_key(match[0])
    if key.startswith("doi:"):
        return f"https://doi.org/{key.removeprefix('doi:')}"
    return address if "://" in address else f"https://{address.lstrip('/')}"


def _singly(match: re.Match[str], entries: Collection[int]) -> str:
    """Each number with a mark of its own. A range that the list of references does not have is an interval."""
    numbers: list[int] = []
    for first, last in _PART.findall(match[1]):
        part = range(int(first), int(last or first) + 1)
        if last and not (part and set(part) <= set(entries)):
            return match[0]
        numbers += part
    return "".join(f"[{number}]" for number in numbers)


def _numbers_by_name(entries: Mapping[int, Reference]) -> dict[str, int]:
    """The numbers of references by the names that marks may show of them."""
    named = ((number, _OWN_ADDRESS.search(reference.text)) for number, reference in entries.items())
    return {name[1]: number for number, name in named if name}


def _by_number(match: re.Match[str], numbers: Mapping[str, int]) -> str:
    """A mark that shows names as marks of numbers; other brackets as they are."""
    marked = [numbers.get(label, int(label) if label.isdecimal() else 0) for label in match[1].split("; ")]
    return "".join(f"[{number}]" for number in marked) if all(marked) else match[0]


class SourceNames(NamedTuple):
    """What the marks of a report show in place of numbers; without names they show numbers.

    `parts`: by the number of each part whose heading begins with one, the sources that it cites; `opening`: how many
    marks stand before the parts.
    """

    by_number: Mapping[int, str] = MappingProxyType({})
    parts: Mapping[str, Collection[int]] = MappingProxyType({})
    opening: int = 0
    language: Language = "en"

    def labels(self, numbers: Sequence[int], place: int) -> dict[Sequence[int], str]:
        """What stands in the brackets of a statement's marks, each with its numbers; empty where its numbers do.

        A statement of the opening on many sources refers to the parts that name them. `place`: how many marks stand
        before it.
        """
        if not any(number in self.by_number for number in numbers):
            return {}
        if place >= self.opening or len(numbers) <= MOST_NAMES:
            return {(number,): self.by_number.get(number, str(number)) for number in numbers}
        parts = self._parts_citing(numbers)
        return {tuple(numbers): WORDS[self.language].see_parts.format(parts=", ".join(parts))} if parts else {}

    def _parts_citing(self, numbers: Collection[int]) -> list[str]:
        """A few parts that cite all of these; none where some is cited by none of them."""
        rest, chosen = set(numbers), []
        while rest:
            best = max(self.parts, key=lambda part: len(rest & set(self.parts[part])), default="")
            if not best or not (cited := rest & set(self.parts[best])):
                return []
            chosen.append(best)
            rest -= cited
        return sorted(chosen, key=list(self.parts).index)


NUMBERS_ALONE = SourceNames()


def source_names(report: ResearchReport, language: Language, folders: Sequence[Path] = ()) -> SourceNames:
    """The names that the report's marks show."""
    if not report.sources_by_name:
        return NUMBERS_ALONE
    urls = ((number, source.url) for number, source in enumerate(report.sources, start=1))
    names = ((number, shown_address(url, folders)) for number, url in urls if urlsplit(url).scheme == "file")
    _, *numbered = _SECTION.split(report.detailed_analysis)
    parts = zip(numbered[::2], numbered[1::2], strict=True)
    return SourceNames(
        {number: name for number, name in names if _NAME.fullmatch(name)},
        {part: set(numbers_in(without_code(text))) for part, text in parts if part},
        sum(len(numbers_in(without_code(text))) for text in (report.executive_summary, *report.key_findings)),
        language,
    )


def numbers_in(marks: str) -> list[int]:
    return [int(number) for number in MARK.findall(marks)]


def in_ranges(marks: str) -> Iterator[Sequence[int]]:
    """The numbers of marks in a row: three or more that follow one another by one together; every other one alone."""
    numbers = numbers_in(marks)
    begin = 0
    while begin < len(numbers):
        end = begin + 1
        while end < len(numbers) and numbers[end] == numbers[end - 1] + 1:
            end += 1
        end = end if end - begin >= _LEAST_IN_RANGE else begin + 1
        yield numbers[begin:end]
        begin = end


def with_shown_marks(markdown: str, names: SourceNames = NUMBERS_ALONE) -> str:
    """Markdown whose marks `[8][9][10]` read `[8–10]`, or `[prices.csv; letter.txt]` where they show names.

    Code stays as it is.
    """
    place = 0

    def in_brackets(marks: re.Match[str]) -> str:
        nonlocal place
        labels, place = names.labels(numbers := numbers_in(marks[0]), place), place + len(numbers)
        if labels:
            return f"[{'; '.join(labels.values())}]"
        groups = in_ranges(marks[0])
        return "".join(f"[{group[0]}–{group[-1]}]" if len(group) > 1 else f"[{group[0]}]" for group in groups)

    pieces = split_code(markdown)
    pieces[::2] = [MARKS.sub(in_brackets, piece) for piece in pieces[::2]]
    return "".join(pieces)
