"""Read a report in Markdown that somebody else wrote, in any layout: its references, and its text as a draft."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from contend.errors import DraftError
from contend.models.research import (
    GENERATED_AT,
    MARK,
    Block,
    CitedSentence,
    Draft,
    ItemList,
    Paragraph,
    Section,
    Table,
    TableCell,
    TableRow,
    changed_block,
    flat_section,
)
from contend.report.kinds import LEGEND, SUM_MARK
from contend.report.plain import LINK
from contend.text import (
    ADDRESS,
    WORDS,
    Headings,
    address_key,
    fenced,
    split_code,
    split_sentences,
    without_code,
    without_escapes,
    without_item_mark,
    without_marks,
    without_tail,
    words_and_code,
)

MOST_FINDINGS = 20
_SUMMARY_SENTENCES = 4
_NUMBER = re.compile(r"\^?\d{1,3}")
_FIELDS = {getattr(words.headings, field).casefold(): field for words in WORDS.values() for field in Headings._fields}
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_CODE = {"fence", "code_block"}
_REFERENCE_HEADINGS = {
    name.casefold() for words in WORDS.values() for name in (words.headings.references, words.headings.also_read)
}
_REFERENCE_HEADINGS |= {"sources", "bibliography", "works cited", "出典", "引用文献", "参照"}
_APPENDICES = tuple(f"## {words.about_run}" for words in WORDS.values())
_OWN_REFERENCES = tuple(f"## {words.headings.references}" for words in WORDS.values())
_UNCITED = (
    re.escape(line).replace(r"\{count\}", r"[\d,]+") for words in WORDS.values() for line in words.counts["uncited"]
)
_OWN_LINES = re.compile(rf"^(?:{re.escape(GENERATED_AT)}: [\d: -]+ UTC|\*(?:{'|'.join(_UNCITED)}))\*$", re.MULTILINE)
"""Lines that contend adds to a report: its date, and the number of documents it does not cite."""
_HEADING = re.compile(r" {0,3}(?:#{1,6}[ \t]|\*\*[^*]{1,80}\*\*:?\s*\Z|[^\W\d_][^.!?。：:]{0,40}[:：]\s*\Z)")
_AROUND_NAME = re.compile(r"^[\s#*_\d.)]+|[\s#*_:：]+$")
_DEFINITION = re.compile(r" {0,3}(?:[-*+][ \t]+)?\[\^?(\d{1,3})\]:[ \t]*(?=\S)")
_LIST_ENTRY = re.compile(r" {0,3}(?:[-*+][ \t]+)?(?:\[(\d{1,3})\]|(\d{1,3})[.)])[ \t]+(?=\S)")
_SEVERAL = re.compile(r"\[\^?(\d{1,3}(?:\s?[,;、–-]\s?\^?\d{1,3})*)\]")
_PART = re.compile(r"(\d+)(?:\s?[–-]\s?\^?(\d+))?")


class Reference(NamedTuple):
    """An entry of a list of references, as written, and its web address; "" if it has none."""

    text: str
    address: str


class ReferencedText(NamedTuple):
    """A text without contend's appendix; its body, with every mark as `[n]`; its references by number."""

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
    """Separate a text from its references: numbered lists, `[1]: url`, `[1] Title, url` and footnotes `[^1]: …`.

    A numbered list counts as references if its heading says so, or if half of its entries have an address and the rest
    of the text cites by number.
    """
    text = LEGEND.sub("", _OWN_LINES.sub("", "\n".join(_without_appendix(markdown.split("\n")))))
    lines = text.split("\n")
    cites = any(_SEVERAL.search(_LIST_ENTRY.sub("", line, count=1)) for line in lines)
    entries: dict[int, Reference] = {}
    own_lines: set[int] = set()
    headings = (place for place, line in enumerate(lines) if place and _HEADING.match(line))
    for begin, end in pairwise([0, *headings, len(lines)]):
        of_references = _heading_name(lines[begin]) in _REFERENCE_HEADINGS
        candidates = _entries(lines, begin, end)
        addressed = sum(ADDRESS.search(entry.text()) is not None for entry in candidates) * 2 >= len(candidates)
        for entry in candidates:
            if not (entry.defined or of_references or (addressed and cites and not _SEVERAL.search(entry.text()))):
                continue
            shown = without_escapes(entry.text())
            entries[entry.number] = Reference(shown, _address(shown))
            own_lines.update(range(entry.begin, entry.begin + len(entry.lines)))
        if of_references:
            own_lines.add(begin)
    body = "\n".join(line for place, line in enumerate(lines) if place not in own_lines).strip() or text
    pieces = split_code(body)
    prose = (SUM_MARK.sub("", piece) for piece in pieces[::2])
    pieces[::2] = [_SEVERAL.sub(lambda match: _singly(match, entries), piece) for piece in prose]
    return ReferencedText(text, "".join(pieces), entries)


def _without_appendix(lines: list[str]) -> list[str]:
    """Remove contend's own appendix about run and teams, which ends at the references or the end of the file."""
    begin = next((place for place, line in enumerate(lines) if line in _APPENDICES), None)
    if begin is None:
        return lines
    end = next((place for place in range(begin, len(lines)) if lines[place] in _OWN_REFERENCES), len(lines))
    return [*lines[:begin], *_without_appendix(lines[end:])]


def _heading_name(line: str) -> str:
    """The text of a heading, to recognize parts: in small letters, without marks and number."""
    return _AROUND_NAME.sub("", line).casefold()


def _entries(lines: list[str], begin: int, end: int) -> list[_Entry]:
    """The entries of a list, each with its indented continuation lines."""
    entries: list[_Entry] = []
    within = False
    for place in range(begin, end):
        line = lines[place]
        definition, list_entry = _DEFINITION.match(line), _LIST_ENTRY.match(line)
        if mark := definition or list_entry:
            entries.append(_Entry(int(mark[1] or mark[2]), definition is not None, place, [line[mark.end() :]]))
            within = True
        elif within := within and line[:2].isspace():
            entries[-1].lines.append(line)
    return entries


def _address(entry: str) -> str:
    match = ADDRESS.search(entry)
    if match is None:
        return ""
    address, key = without_tail(match[0]), address_key(match[0])
    if key.startswith("doi:"):
        return f"https://doi.org/{key.removeprefix('doi:')}"
    return address if "://" in address else f"https://{address.lstrip('/')}"


def _singly(match: re.Match[str], entries: Collection[int]) -> str:
    """Split a mark into one per number. With a 0, or a range that no reference has, it is an interval and stays."""
    numbers: list[int] = []
    for first, last in _PART.findall(match[1]):
        part = range(int(first), int(last or first) + 1)
        if last and not (part and set(part) <= set(entries)):
            return match[0]
        numbers += part
    return "".join(f"[{number}]" for number in numbers) if all(numbers) else match[0]


class ReadDraft(NamedTuple):
    """A draft whose sentences name references (by key) in `passages`; and the references by key.

    A key is the reference's address, else its text, or the mark itself if the references have no such entry.
    """

    draft: Draft
    references: dict[str, Reference]


def read_draft(markdown: str) -> ReadDraft:
    """Read a report as a draft. Summary, findings and limits are recognized by the headings that contend gives them.

    Everything else is the body. Without summary or findings, the first sentences take their place. Citations are `[n]`
    with a list of references, links, and addresses in the text.

    Raises:
        DraftError: the report has no statement.
    """
    references = read_references(markdown)
    reader = _Reader(references.entries)
    parts = reader.read(references.body)
    return ReadDraft(_whole(reader.title, parts), reader.references)


class _Part(NamedTuple):
    """The text under a heading. `field`: the field of `Draft` for contend's own parts; None for other sections."""

    field: str | None
    heading: str
    blocks: list[Block]

    def statements(self) -> list[CitedSentence]:
        return Section(blocks=self.blocks).statements() if self.blocks else []


class _Reader:
    """Reads a body and collects its citations."""

    def __init__(self, entries: dict[int, Reference]) -> None:
        self.title = ""
        self.references: dict[str, Reference] = {}
        self._entries = dict(entries)
        self._numbers = count(max(entries, default=0) + 1)
        self._link_numbers: dict[str, int] = {}

    def read(self, body: str) -> list[_Part]:
        pieces = split_code(body)
        pieces[::2] = [LINK.sub(self._as_mark, piece) for piece in pieces[::2]]
        parts = [_Part(None, "", [])]
        for node in SyntaxTreeNode(_MARKDOWN.parse("".join(pieces))).children:
            blocks = parts[-1].blocks
            if node.type == "heading":
                self._open(parts, node)
            elif node.type in _CODE and blocks and (block := _with_code_behind(blocks[-1], node.content)):
                blocks[-1] = block
            else:
                blocks.extend(self._blocks(node))
        return [part for part in parts if part.blocks]

    def _as_mark(self, link: re.Match[str]) -> str:
        label, address = link[1], without_tail(link[2])
        if not address.startswith(("http://", "https://")):
            return link[0]
        if address not in self._link_numbers:
            self._link_numbers[address] = next(self._numbers)
            self._entries[self._link_numbers[address]] = Reference(label or address, address)
        return f"{'' if _NUMBER.fullmatch(label) else label}[{self._link_numbers[address]}]"

    def _open(self, parts: list[_Part], node: SyntaxTreeNode) -> None:
        heading = without_marks(_content(node))
        field = _FIELDS.get(_heading_name(heading))
        if node.tag == "h1" and not self.title and field is None:
            self.title = heading
        else:
            parts.append(_Part(None if field == "analysis" else field, "" if field else heading, []))

    def _blocks(self, node: SyntaxTreeNode) -> Iterator[Block]:
        match node.type:
            case "paragraph":
                if sentences := self._sentences(_content(node)):
                    yield Paragraph(sentences=sentences)
            case "bullet_list" | "ordered_list":
                if items := self._items(node):
                    yield ItemList(items=items, numbered=node.type == "ordered_list")
            case "table":
                yield from self._table(node)
            case kind if kind in _CODE:
                yield Paragraph(sentences=_with_code([], node.content))
            case "blockquote":
                for child in node.children:
                    yield from self._blocks(child)

    def _items(self, node: SyntaxTreeNode) -> list[CitedSentence]:
        """A list's statements. What stands behind an item's first paragraph goes on in the item."""
        items: list[CitedSentence] = []
        for child in node.walk():
            if child.type == "inline" and (statement := self._statement(child.content.replace("\n", " "))):
                goes_on = child.parent is not None and child.parent.previous_sibling is not None
                items.append(statement.model_copy(update={"goes_on": goes_on}))
            elif child.type in _CODE:
                items = _with_code(items, child.content)
        return items

    def _table(self, node: SyntaxTreeNode) -> Iterator[Table]:
        lines = [[_content(cell) for cell in row.children] for part in node.children for row in part.children]
        columns = [at for at, cells in enumerate(zip(*lines[1:], strict=True)) if not _only_marks(cells)]

        def row_of(line: list[str]) -> TableRow:
            cells = [TableCell(text=without_marks(line[at]), passages=self._keys_in(line[at])) for at in columns]
            others = " ".join([*head, *(each for at, each in enumerate(line) if at not in columns)])
            return TableRow(cells=cells, passages=self._keys_in(others))

        head, *rows = lines
        table_rows = map(row_of, rows) if columns else ()
        if filled_rows := [row for row in table_rows if any(map(str.strip, row.texts()))]:
            yield Table(columns=[without_marks(head[at]) for at in columns], rows=filled_rows)

    def _sentences(self, text: str) -> list[CitedSentence]:
        """Split a text into statements. Marks alone after a full stop belong to the statement before them."""
        sentences: list[CitedSentence] = []
        for each in split_sentences(text):
            sentence = self._statement(each)
            if sentence is not None:
                sentences.append(sentence)
            elif sentences:
                passages = list(dict.fromkeys([*sentences[-1].passages, *self._keys_in(each)]))
                sentences[-1] = sentences[-1].model_copy(update={"passages": passages})
        return sentences

    def _statement(self, text: str) -> CitedSentence | None:
        statement = without_marks(without_item_mark(text)).strip()
        return CitedSentence(text=statement, passages=self._keys_in(text)) if re.search(r"\w", statement) else None

    def _keys_in(self, text: str) -> list[str]:
        """The keys of the references that a text cites."""
        plain = without_code(text)
        keys = [self._key(int(number)) for number in MARK.findall(plain)]
        for address in (without_tail(match[0]) for match in ADDRESS.finditer(plain)):
            keys.append(address)
            self.references.setdefault(address, Reference(address, address))
        return list(dict.fromkeys(keys))

    def _key(self, number: int) -> str:
        reference = self._entries.get(number, Reference("", ""))
        key = reference.address or " ".join(reference.text.split()) or f"[{number}]"
        self.references.setdefault(key, reference)
        return key


def _with_code(statements: Sequence[CitedSentence], code: str) -> list[CitedSentence]:
    """The statements with lines of code behind the last one, or in one of their own where that has some already."""
    if not statements or words_and_code(statements[-1].text).code:
        return [*statements, CitedSentence(text=f"`{' '.join(code.split())}`", kind="judgement")]
    text = f"{statements[-1].text}\n{fenced(code.rstrip())}"
    return [*statements[:-1], statements[-1].model_copy(update={"text": text})]


def _with_code_behind(block: Block, code: str) -> Block | None:
    """A paragraph or list with lines of code behind its last statement; None where they do not belong there."""
    statements = block.statements()
    changed = [] if isinstance(block, Table) else _with_code(statements, code)
    return changed_block(block, changed) if len(changed) == len(statements) else None


def _only_marks(cells: Sequence[str]) -> bool:
    """Whether a table column contains only citations."""
    with_mark = [cell for cell in cells if MARK.search(cell)]
    return (
        bool(with_mark)
        and all(map(MARK.match, with_mark))
        and not any(re.search(r"\w", without_marks(cell)) for cell in cells)
    )


def _content(node: SyntaxTreeNode) -> str:
    return " ".join(_inlines(node))


def _inlines(node: SyntaxTreeNode) -> list[str]:
    return [child.content.replace("\n", " ") for child in node.walk() if child.type == "inline"]


def _whole(title: str, parts: Sequence[_Part]) -> Draft:
    by_field = {
        field: [each for part in parts if part.field == field for each in part.statements()]
        for field in ("summary", "findings", "limits")
    }
    body = [part for part in parts if part.field is None]
    first = next((part.statements() for part in body), [])
    findings = by_field["findings"] or [each for part in body for each in part.statements() if each.passages]
    summary = by_field["summary"] or first[:_SUMMARY_SENTENCES] or findings[:1]
    if not (findings := findings[:MOST_FINDINGS] or summary):
        raise DraftError("its report says nothing")
    sections = [Section(heading=part.heading, blocks=part.blocks) for part in body]
    return Draft(
        title=title,
        summary=summary or findings[:1],
        findings=findings,
        sections=sections or [flat_section(by_field["findings"] or summary)],
        limits=by_field["limits"],
        elsewhere=True,
    )
