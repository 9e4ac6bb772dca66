"""Read files as Markdown with a title, each kind with its reader."""

import mimetypes
import re
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path

from contend.sources.readers.csv_table import read_csv
from contend.sources.readers.document import (
    Document,
    Unreadable,
    day_in_head,
    day_in_name,
    day_of,
    day_of_change,
    decode,
)
from contend.sources.readers.html import LARGE_PAGE, html_to_markdown
from contend.sources.readers.manual_page import manual_page
from contend.sources.readers.process import read_apart
from contend.text import SENTENCE_STOPS, clean, shorten, split_blocks, without_anchor

_HTML = (".html", ".htm")
_READ_APART = (".pdf", ".docx")
_TABLES = (".csv", ".tsv")
_PLAIN_TEXTS = (
    ".txt", ".text", "", ".adoc", ".asc", ".cfg", ".conf", ".debian", ".example", ".ini", ".log", ".man", ".org",
    ".rst", ".sample", ".tex", ".toml", ".yaml", ".yml",
)  # fmt: skip
"""Plain text files, including those without a suffix, such as README and NEWS."""
_LONGEST_TITLE = 200
_LONGEST_FIRST_LINE = 120


def read_document(path: Path) -> Document:
    """Read a file of a kind that `kind_of` knows; its title is one line of at most 200 characters.

    Without a title, the file's name is used.

    Raises:
        Unreadable: it is broken, locked, not of the kind that its name says, or has no text.
        OSError: the file cannot be opened.
    """
    content = path.read_bytes()
    if not content:
        raise Unreadable("an empty file")
    kind = path.suffix.lower()
    apart = kind in _READ_APART or (kind in _HTML and len(content) > LARGE_PAGE)
    document = read_apart(kind, content, path) if apart else READERS.get(kind, _read_text)(content, path)
    if not document.text.strip():
        raise Unreadable("no text in it")
    title = clean(document.title, single_line=True) or clean(path.name, single_line=True) or "untitled"
    return document._replace(title=shorten(title, _LONGEST_TITLE), published=_day(document, kind, path))


def _day(document: Document, kind: str, path: Path) -> str | None:
    """Its date: from the text, else from the file name, else from metadata that a program saved."""
    in_text = None if kind in _TABLES else day_in_head(document.text) or day_of_change(document.text)
    in_name = in_text or document.changed or day_in_name(path.stem)
    return in_name or document.published if kind in _READ_APART else document.published or in_name


def _read_markdown(content: bytes, path: Path) -> Document:
    text = clean(decode(content))
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    values = {name: _without_quotes(value.strip()) for name, value in _FRONT_VALUE.findall(front[0])} if front else {}
    title = _first_heading(body) or values.get("title") or _first_line(body, path)
    return Document(title, body, published=day_of(values.get("date", "")))


def _read_text(content: bytes, path: Path) -> Document:
    text = clean(decode(content))
    if page := manual_page(text):
        return Document(*page)
    return Document(_first_line(text, path), _with_comments(text))


_FEWEST_COMMENTS, _COMMENTED = 10, 4
"""If at least this many lines, and one in this many, start with `#`, they are comments, not headings; chosen on the
sample settings of NUT."""


def _with_comments(text: str) -> str:
    """A settings file with its comments as text: in Markdown `# text` would be a heading."""
    lines = [line for line in text.split("\n") if line.strip()]
    comments = sum(line.startswith("#") for line in lines)
    if comments < max(_FEWEST_COMMENTS, len(lines) / _COMMENTED):
        return text
    return re.sub(r"^(#+)[ \t]+(?=\S)", r"\1", re.sub(r"^#+[ \t]*$", "", text, flags=re.MULTILINE), flags=re.MULTILINE)


def _read_html(content: bytes, path: Path) -> Document:
    page = html_to_markdown(decode(content))
    text = clean(page.text)
    return page._replace(title=page.title or _first_heading(text) or path.name, text=text)


READERS: dict[str, Callable[[bytes, Path], Document]] = {
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    **dict.fromkeys(_PLAIN_TEXTS, _read_text),
    ".html": _read_html,
    ".htm": _read_html,
    ".csv": read_csv,
    ".tsv": read_csv,
}
"""Readers that run in this process, by file suffix in lower case."""

KINDS = frozenset({*READERS, *_READ_APART})
"""Suffixes of files that are read."""

_NAMED_TYPES = mimetypes.MimeTypes()
"""The types that Python knows by suffix, without those of the machine, which differ."""

_DATA_SIGNS = ("{", "<")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_LOOKED_AT = 4_096


def kind_of(path: Path) -> str | None:
    """The suffix that selects a file's reader, "" for plain text; None for a file that is not read.

    A file with an unknown suffix, such as `README.servers`, is plain text if it starts with UTF-8 text and is no data.

    Raises:
        OSError: a file with an unknown suffix cannot be opened.
    """
    kind = path.suffix.lower()
    if kind in KINDS:
        return kind
    if _NAMED_TYPES.guess_type(path.name, strict=False) != (None, None):
        return None
    with path.open("rb") as file:
        content = file.read(_LOOKED_AT)
    # The last character may be cut.
    text = content.decode("utf-8", errors="replace")[: -3 if len(content) == _LOOKED_AT else None]
    return None if _NO_TEXT.search(text) or text.lstrip("\ufeff \t\r\n").startswith(_DATA_SIGNS) else ""


_FRONT_MATTER = re.compile(
    r"\A\s*(?:---[ \t]*\n(?:.*\n){0,200}?(?:---|\.\.\.)|\+\+\+[ \t]*\n(?:.*\n){0,200}?\+\+\+)[ \t]*(?:\n|\Z)"
)
"""In YAML or TOML."""

_FRONT_VALUE = re.compile(r"^(title|date)[ \t]*[:=][ \t]*(\S.*)$", re.MULTILINE)


def _without_quotes(title: str) -> str:
    rest = title[1:] if len(title) > 1 and title[0] in "\"'" else title
    return rest[:-1] if len(rest) > 1 and rest[-1] in "\"'" else rest


def _first_line(text: str, path: Path) -> str:
    """A mail's subject, else the first line; with the file's name, unless the line stands apart as a title does.

    If the first line is a sentence, the file's name alone. A line that does not stand apart may be a letterhead, which
    several letters share.
    """
    mail = HeaderParser().parsestr(text.lstrip())
    if mail["From"] and mail["Subject"]:
        return mail["Subject"]
    first, _, rest = text.strip().partition("\n")
    line, below = first.strip("#*_ \t"), rest.partition("\n")[0].strip("=-~*_ \t")
    if len(line) > _LONGEST_FIRST_LINE or not line[:1].isalnum() or line[-1:] in {*SENTENCE_STOPS, ",", "、"}:
        return path.name
    return f"{line} ({path.name})" if below else line


def _first_heading(markdown: str) -> str:
    blocks = split_blocks(markdown[:100_000])
    return next(
        (without_anchor(block[2:].strip().rstrip("#").strip()) for block in blocks if block.startswith("# ")), ""
    )
