"""Convert HTML to Markdown: the visible text, with headings, lists, tables and code.

Hidden text is kept only if it may address AI systems, and is marked as hidden.
"""

import re
from collections.abc import Mapping
from itertools import takewhile

from lxml.etree import HTMLParser
from lxml.html import HtmlElement

from contend.checks.injection import hidden_text
from contend.sources.readers.document import Document, day_of, day_of_change, decode
from contend.sources.readers.html_blocks import (
    Cell,
    closing,
    definition_blocks,
    definition_lead,
    inline,
    span_of,
    table_blocks,
    without_idle_closings,
)
from contend.text import SENTENCE_STOPS

_UNSEEN_TAGS = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "button"}
)
_AROUND = frozenset({"nav", "aside", "footer"})
_AROUND_ROLES = frozenset({"navigation", "search", "contentinfo", "complementary"})
_AROUND_CLASSES = frozenset({"navheader", "navfooter"})
"""DocBook's, which sets no roles."""
_NO_HEADING = re.compile(r"\A(#{1,6})\s")
"""Words of a paragraph that Markdown would make a heading of: `# begins a comment`."""
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(
    {"body", "main", "header", "section", "article", "div", "form", "details", "summary", "figure", "figcaption"}
    | {"p", "blockquote", "pre", "hr", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "tr", "td", "th"}
).union(_HEADINGS, _AROUND)

_PARTS = frozenset({"td", "th", "dt", "dd"})
"""Elements that are assembled at their end."""
_LONGEST_LINE = 150
"""The most characters of a line that acts as a heading."""

LARGE_PAGE = 200_000
"""Larger pages, in bytes, are read in a separate process: attributes can expand two hundred times."""

_MOST_TAGS = 20_000


_DAYS = (
    "article:published_time",
    "datepublished",
    "dcterms.issued",
    "dcterms.created",
    "dcterms.date",
    "dc.date",
    "date",
)
"""The `meta` elements with a page's date, most reliable first."""


_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d])"
    r"|(?<!-)color\s*:\s*(?:white|transparent|#fff(?:fff)?\b|rgba?\(\s*255\s*,\s*255\s*,\s*255)",
    re.IGNORECASE,
)


def html_to_markdown(html: str) -> Document:
    """The page without scripts, styles, navigation and footers; with the latter two if nothing else has text.

    Its title is that of `<title>`, or "", its date that of a `meta` element.
    """
    page = _read(html, _UNSEEN_TAGS | _AROUND).page()
    return page if page.text else _read(html, _UNSEEN_TAGS).page()


_CODE_OR_MARK = re.compile(
    r"((?<!`)(`+)(?!`)(?s:.{1,2000}?)(?<!`)\2(?!`)|^\*\*[^*\n]{1,150}\*\*$)|\\#+[ ]?|\\([*_`~\[\]<>+.)-])|\*+|~~",
    re.MULTILINE,
)
"""Code and bold lines, which stay; marks that trafilatura escaped; and marks of bold, italic and strikethrough."""


_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
_HEAD = 4096


def read_web_page(body: bytes, charset: str) -> str:
    """A web page's main text as Markdown; `charset`: as the server says, or "".

    Most of what surrounds the main text stays if trafilatura finds none or is not installed.

    Raises:
        Unreadable: the page is not text.
    """
    meta = _META_CHARSET.search(body[:_HEAD])
    html = decode(body, declared_encoding=charset or (meta[1].decode() if meta else ""))
    if text := _extract(html):
        plain = _CODE_OR_MARK.sub(lambda match: match[1] or match[3] or "", text)
        return "\n\n".join([plain, *_read(html, _UNSEEN_TAGS | _AROUND).hidden_texts])
    return html_to_markdown(html).text


def _extract(html: str) -> str | None:
    """The main text by trafilatura, which takes seconds for pages of over 20,000 tags: these are skipped."""
    if html.count("<") > _MOST_TAGS:
        return None
    try:
        from trafilatura import extract, load_html  # noqa: PLC0415 - heavy, and an extra
    except ImportError:
        return None
    page = load_html(html)
    if page is None:
        return None
    _join_terms(page)
    return extract(page, output_format="markdown", include_comments=False)


def _join_terms(page: HtmlElement) -> None:
    """Move terms into their definitions: trafilatura would make separate items of both."""
    for definition in [*page.iter("dd")]:
        terms = [*takewhile(lambda element: element.tag == "dt", definition.itersiblings(preceding=True))]
        names = [" ".join(term.text_content().split()).rstrip("¶ ") for term in reversed(terms)]
        if names:
            first = next(
                (child for child in definition.iterchildren("p") if not (definition.text or "").strip()), definition
            )
            first.text = f"{definition_lead(names)}{(first.text or '').lstrip()}"
        for term in terms:
            term.drop_tree()


def _read(html: str, skip: frozenset[str]) -> "_PageReader":
    reader = _PageReader(skip)
    parser = HTMLParser(target=reader, encoding="utf-8", huge_tree=True)
    parser.feed(html.encode("utf-8", "replace"))
    parser.close()
    return reader


class _Terms:
    """A definition list while it is read: the terms since the last definition, and the blocks below them."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self.body: list[str] = []
        self.level = 0
        """The level of the headings that terms became; 0 if none did."""

    def take(self) -> tuple[list[str], list[str]]:
        taken = self.terms, self.body
        self.terms, self.body = [], []
        return taken


class _PageReader:
    """Collects blocks of text from parser events; the parser ends every tag that it starts."""

    def __init__(self, skip: frozenset[str]) -> None:
        self.title: list[str] = []
        self.meta: dict[str, str] = {}
        self.blocks: list[str] = []
        self.around: list[str] = []
        self.hidden_texts: list[str] = []
        self._skip = skip
        self._skip_depth = 0
        self._hidden_depth = 0
        self._around_depth = 0
        self._in_title = False
        self._in_code = False
        self._words: list[str] = []
        self._mark = ""
        self._unseen_texts: list[str] = []
        self._unseen_depth = 0
        self._level = 1
        self._bold_depth = 0
        self._is_bold = True
        self._has_anchor = False
        # Open elements, innermost last: lists of blocks, where new blocks go to the last; cells; tables; terms.
        self._outs = [self.blocks]
        self._spans: list[tuple[int, int]] = []
        self._tables: list[list[list[Cell]]] = []
        self._lists: list[_Terms] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._enter(attributes)
        if alt := attributes.get("alt"):
            self._unseen_texts.append(alt)
        if tag == "meta":
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
            self.meta.setdefault(name.lower(), attributes.get("content", ""))
        elif tag in self._skip:
            self._skip_depth += 1
            self._unseen_depth += tag in _UNSEEN_TAGS
        elif tag == "title" and not self._skip_depth:
            self._in_title = True
        elif tag == "br":
            self._words.append("\n" if self._in_code else " ")
        elif tag in {"b", "strong"}:
            self._bold_depth += 1
        elif tag == "a":
            self._has_anchor |= "href" not in attributes and not {"name", "id"}.isdisjoint(attributes)
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = _HEADINGS.get(tag, "- " if tag == "li" else self._mark)
            self._in_code = tag == "pre"
            self._open(tag, attributes)

    def _enter(self, attributes: Mapping[str, str]) -> None:
        """Count an element that is hidden or surrounds the main text, and all elements within it."""
        if self._hidden_depth or _is_hidden(attributes):
            self._hidden_depth += 1
        if self._around_depth or (self._skip >= _AROUND and _is_around(attributes)):
            self._step_around(1)

    def end(self, tag: str) -> None:
        self._hidden_depth = max(0, self._hidden_depth - 1)
        if self._around_depth:
            self._step_around(-1)
        if tag in self._skip:
            self._skip_depth -= 1
            self._unseen_depth -= tag in _UNSEEN_TAGS
        elif tag == "title":
            self._in_title = False
        elif tag in {"b", "strong"}:
            self._bold_depth = max(0, self._bold_depth - 1)
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = ""
            self._in_code = False
            self._close(tag)

    def _step_around(self, step: int) -> None:
        """Enter or leave an element that surrounds the main text by its role or class, or one within it."""
        if {self._around_depth, self._around_depth + step} == {0, 1}:
            self._end_block()
            self._skip_depth += step
        self._around_depth += step

    def data(self, text: str) -> None:
        if self._in_title:
            self.title.append(text)
        elif not self._skip_depth:
            (self._unseen_texts if self._hidden_depth else self._words).append(text)
            self._is_bold = self._is_bold and (self._bold_depth > 0 or not text.strip())
        elif not self._unseen_depth:
            self.around.append(text)

    def comment(self, text: str) -> None:
        if "<!--" not in text:  # else the comment never ended, and contains the rest of the page
            self._unseen_texts.append(text)

    def close(self) -> None:
        self._end_block()

    def page(self) -> Document:
        day = next((day for name in _DAYS if (day := day_of(self.meta.get(name, "")))), None)
        text = "\n\n".join(without_idle_closings(self.blocks))
        changed = day_of_change("".join(self.around))
        return Document(" ".join("".join(self.title).split()), text, published=day, changed=changed)

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "table":
            self._tables.append([])
        elif tag == "tr" and self._tables:
            self._tables[-1].append([])
        elif tag in _PARTS:
            self._mark = ""
            if tag == "dt" and self._lists and self._lists[-1].body:
                self._add_definition()
            self._outs.append([])
            self._spans.append((span_of(attributes.get("colspan", "")), span_of(attributes.get("rowspan", ""))))
        elif tag == "dl":
            self._lists.append(_Terms())

    def _close(self, tag: str) -> None:
        if tag == "table" and self._tables:
            self._outs[-1] += table_blocks(self._tables.pop())
        elif tag in _PARTS and self._spans:
            self._close_part(tag)
        elif tag == "dl" and self._lists:
            self._add_definition()
            if level := self._lists.pop().level:
                self._outs[-1].append(closing(level))

    def _close_part(self, tag: str) -> None:
        blocks, (columns, rows) = self._outs.pop(), self._spans.pop()
        if tag in {"td", "th"} and self._tables:
            self._tables[-1] = self._tables[-1] or [[]]
            self._tables[-1][-1].append(Cell(blocks, columns, rows, tag == "th"))
        elif tag == "dt" and self._lists:
            self._lists[-1].terms += filter(None, [" ".join(map(inline, blocks)).rstrip("¶ ")])
        elif tag == "dd" and self._lists:
            self._lists[-1].body += blocks
        else:
            self._outs[-1] += blocks

    def _add_definition(self) -> None:
        terms, body = self._lists[-1].take()
        level = self._level + len(self._lists)
        blocks = definition_blocks(terms, body, level) if terms or body else []
        if blocks and blocks[0].startswith("#"):
            self._lists[-1].level = level
        elif self._lists[-1].level:
            blocks = [closing(level), *blocks]
            self._lists[-1].level = 0
        self._outs[-1] += blocks

    def _end_block(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if self._skip_depth:
            self.around.append("\n")
        if text.strip():
            self._add(text)
        self._is_bold = True
        if not self._hidden_depth and any(self._unseen_texts):
            texts = hidden_text(" ".join(self._unseen_texts))
            self._unseen_texts.clear()
            self.hidden_texts += texts
            self.blocks += texts

    def _add(self, text: str) -> None:
        if self._in_code:
            self._outs[-1].append(f"```\n{text.strip()}\n```")
        else:
            line = " ".join(text.split())
            line = line if self._mark else _NO_HEADING.sub(r"\1", line)
            line = line.rstrip("¶ ") if self._mark.startswith("#") else line
            self._outs[-1].append(f"**{line}**" if self._heads(line) else self._mark + line)
            self._level = len(self._mark) - 1 if self._mark.startswith("#") else self._level
        self._mark = ""
        self._has_anchor = False

    def _heads(self, line: str) -> bool:
        """Whether a line acts as a heading: all bold, or the target of links and no sentence."""
        is_target = self._has_anchor and not line.endswith((*SENTENCE_STOPS, ",", ":", ";", "、", "："))
        is_apart = not self._mark and not self._spans and "*" not in line
        return is_apart and len(line) <= _LONGEST_LINE and (self._is_bold or is_target)


def _is_around(attributes: Mapping[str, str]) -> bool:
    """Whether an element surrounds the main text, by its role or class."""
    classes = attributes.get("class", "").split()
    return attributes.get("role", "") in _AROUND_ROLES or not _AROUND_CLASSES.isdisjoint(classes)


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Whether an element's attributes hide its text. White text with its own background is visible."""
    style = attributes.get("style", "")
    hides = _HIDDEN_STYLE.search(style)
    return "hidden" in attributes or (hides is not None and not ("color" in hides[0] and "background" in style))
