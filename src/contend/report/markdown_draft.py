"""A report in Markdown that others wrote, as a draft: what each of its sentences cites, by reference."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from contend.errors import DraftError
from contend.models.research import (
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
    flat_section,
)
from contend.report.plain import LINK
from contend.report.references import Reference, heading_name, read_references
from contend.text import (
    ADDRESS,
    WORDS,
    Headings,
    split_code,
    split_sentences,
    without_code,
    without_item_mark,
    without_marks,
    without_tail,
)

MOST_FINDINGS = 20
_SUMMARY_SENTENCES = 4
_NUMBER = re.compile(r"\^?\d{1,3}")
_FIELDS = {getattr(words.headings, field).casefold(): field for words in WORDS.values() for field in Headings._fields}
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class ReadDraft(NamedTuple):
    """A draft whose sentences name references in `passages`, by key; the references by key.

    A key is the reference's address, else its text, else the mark of which the list of references has no entry.
    """

    draft: Draft
    references: dict[str, Reference]


def read_draft(markdown: str) -> ReadDraft:
    """The report as it is written: summary, findings and limits under the headings that contend gives them.

    What stands under none of them is the body. A report without summary or findings has the first sentences for them.
    Citations are `[n]` with a list of references, links, and addresses in the text.

    Raises:
        DraftError: it says nothing.
    """
    referenced = read_references(markdown)
    reader = _Reader(referenced.entries)
    parts = reader.read(referenced.body)
    return ReadDraft(_whole(reader.title, parts), reader.references)


class _Part(NamedTuple):
    """What stands under a heading; `field` is that of contend's own parts, None for a section of the body."""

    field: str | None
    heading: str
    blocks: list[Block]

    def statements(self) -> list[CitedSentence]:
        return Section(blocks=self.blocks).statements() if self.blocks else []


class _Reader:
    """Reads a body, and keeps what it cites."""

    def __init__(self, entries: dict[int, Reference]) -> None:
        self.title = ""
        self.references: dict[str, Reference] = {}
        self._entries = dict(entries)
        self._numbers = count(max(entries, default=0) + 1)
        self._linked: dict[str, int] = {}

    def read(self, body: str) -> list[_Part]:
        pieces = split_code(body)
        pieces[::2] = [LINK.sub(self._as_mark, piece) for piece in pieces[::2]]
        parts = [_Part(None, "", [])]
        for node in SyntaxTreeNode(_MARKDOWN.parse("".join(pieces))).children:
            if node.type == "heading":
                self._open(parts, node)
            else:
                parts[-1].blocks.extend(self._blocks(node))
        return [part for part in parts if part.blocks]

    def _as_mark(self, link: re.Match[str]) -> str:
        label, address = link[1], without_tail(link[2])
        if not address.startswith(("http://", "https://")):
            return link[0]
        if address not in self._linked:
            self._linked[address] = next(self._numbers)
            self._entries[self._linked[address]] = Reference(label or address, address)
        return f"{'' if _NUMBER.fullmatch(label) else label}[{self._linked[address]}]"

    def _open(self, parts: list[_Part], node: SyntaxTreeNode) -> None:
        heading = without_marks(_content(node))
        if node.tag == "h1" and not self.title and _field_of(heading) is None:
            self.title = heading
        else:
            field = _field_of(heading)
            parts.append(_Part(None if field == "analysis" else field, "" if field else heading, []))

    def _blocks(self, node: SyntaxTreeNode) -> Iterator[Block]:
        match node.type:
            case "paragraph":
                if sentences := self._sentences(_content(node)):
                    yield Paragraph(sentences=sentences)
            case "bullet_list" | "ordered_list":
                items = [item for text in _inlines(node) if (item := self._statement(text))]
                if items:
                    yield ItemList(items=items)
            case "table":
                yield from self._table(node)
            case "fence" | "code_block":
                yield Paragraph(sentences=[CitedSentence(text=f"`{' '.join(node.content.split())}`", kind="judgement")])
            case "blockquote":
                for child in node.children:
                    yield from self._blocks(child)

    def _table(self, node: SyntaxTreeNode) -> Iterator[Table]:
        lines = [[_content(cell) for cell in row.children] for part in node.children for row in part.children]
        written = [at for at, cells in enumerate(zip(*lines[1:], strict=True)) if not _only_marks(cells)]

        def row_of(line: list[str]) -> TableRow:
            cells = [TableCell(text=without_marks(line[at]), passages=self._cited(line[at])) for at in written]
            others = " ".join([*head, *(each for at, each in enumerate(line) if at not in written)])
            return TableRow(cells=cells, passages=self._cited(others))

        head, *rows = lines
        read = map(row_of, rows) if written else ()
        if made := [row for row in read if any(map(str.strip, row.texts()))]:
            yield Table(columns=[without_marks(head[at]) for at in written], rows=made)

    def _sentences(self, text: str) -> list[CitedSentence]:
        """Marks that stand alone after a full stop belong to what goes before them."""
        sentences: list[CitedSentence] = []
        for each in split_sentences(text):
            sentence = self._statement(each)
            if sentence is not None:
                sentences.append(sentence)
            elif sentences:
                passages = list(dict.fromkeys([*sentences[-1].passages, *self._cited(each)]))
                sentences[-1] = sentences[-1].model_copy(update={"passages": passages})
        return sentences

    def _statement(self, text: str) -> CitedSentence | None:
        statement = without_marks(without_item_mark(text)).strip()
        return CitedSentence(text=statement, passages=self._cited(text)) if re.search(r"\w", statement) else None

    def _cited(self, text: str) -> list[str]:
        """The keys of what a text cites."""
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


def _only_marks(cells: Sequence[str]) -> bool:
    """Whether a table's column holds citations and nothing else, as contend's own tables have one."""
    marked = [cell for cell in cells if MARK.search(cell)]
    return (
        bool(marked)
        and all(map(MARK.match, marked))
        and not any(re.search(r"\w", without_marks(cell)) for cell in cells)
    )


def _field_of(heading: str) -> str | None:
    """Which of contend's parts of a report stands under a heading; None for one of its author's own."""
    return _FIELDS.get(heading_name(heading))


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
        sections=sections or [Section.model_validate(flat_section(by_field["findings"] or summary))],
        limits=by_field["limits"],
    )
