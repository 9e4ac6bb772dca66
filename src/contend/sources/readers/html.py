"""HTML to Markdown text: what a reader of the page reads, with its headings, lists, tables and code.

What a page hides from its readers is kept only where it may speak to AI systems, and named as hidden.
"""

import re
from collections.abc import Mapping

from lxml.etree import HTMLParser

from contend.checks.injection import hidden_text
from contend.sources.readers.document import Document, day_of, decode

_UNSEEN_TAGS = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "button"}
)
_AROUND = frozenset({"nav", "aside", "footer"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "ul", "ol", "dl", "dt", "dd", "table", "tr", "blockquote"}
    | {"figure", "figcaption", "body", "details", "summary", "form", "hr", "li", "pre", *_HEADINGS, *_AROUND}
)


LARGE_PAGE = 200_000
"""Bytes above which a page is read in a process apart: its attributes alone may become two hundred times as much."""

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
"""The `meta` elements that tell a page's day, the surest first."""


_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d])"
    r"|(?<!-)color\s*:\s*(?:white|transparent|#fff(?:fff)?\b|rgba?\(\s*255\s*,\s*255\s*,\s*255)",
    re.IGNORECASE,
)


def html_to_markdown(html: str) -> Document:
    """The page without scripts, styles, navigation and footers; with the latter where nothing else has text.

    Its title is what `<title>` says, "" without one, its day what a `meta` element tells.
    """
    page = _read(html, _UNSEEN_TAGS | _AROUND).page()
    return page if page.text else _read(html, _UNSEEN_TAGS).page()


_CODE_OR_MARK = re.compile(r"(?<!`)(`+)(?!`).{1,2000}?(?<!`)\1(?!`)|\\#+[ ]?|\\([*_`~\[\]<>+.)-])|\*+|~~", re.DOTALL)
"""Code as it is; marks that trafilatura has escaped because they are text; and those of bold, italic and struck out."""


_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
_HEAD = 4096


def read_web_page(body: bytes, charset: str) -> str:
    """A web page's own text as Markdown; `charset` as its server named it, "" where it did not.

    Without what sites put around it; with most of that where trafilatura finds nothing or is not installed.

    Raises:
        Unreadable: it is not text.
    """
    meta = _META_CHARSET.search(body[:_HEAD])
    html = decode(body, declared_encoding=charset or (meta[1].decode() if meta else ""))
    if text := _extract(html):
        plain = _CODE_OR_MARK.sub(lambda match: match[0] if match[1] else match[2] or "", text)
        return "\n\n".join([plain, *_read(html, _UNSEEN_TAGS | _AROUND).hidden_texts])
    return html_to_markdown(html).text


def _extract(html: str) -> str | None:
    """By trafilatura; a page of over 20,000 tags takes it seconds."""
    if html.count("<") > _MOST_TAGS:
        return None
    try:
        from trafilatura import extract  # noqa: PLC0415 - heavy, and an extra
    except ImportError:
        return None
    return extract(html, output_format="markdown", include_comments=False)


def _read(html: str, skip: frozenset[str]) -> "_PageReader":
    reader = _PageReader(skip)
    parser = HTMLParser(target=reader, encoding="utf-8", huge_tree=True)
    parser.feed(html.encode("utf-8", "replace"))
    parser.close()
    return reader


class _PageReader:
    """Blocks of text, from what the parser tells of a page; it ends every tag that it begins."""

    def __init__(self, skip: frozenset[str]) -> None:
        self.title: list[str] = []
        self.meta: dict[str, str] = {}
        self.blocks: list[str] = []
        self.hidden_texts: list[str] = []
        self._skip = skip
        self._skip_depth = 0
        self._hidden_depth = 0
        self._in_title = False
        self._in_code = False
        self._words: list[str] = []
        self._mark = ""
        self._unseen_texts: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._hidden_depth or _is_hidden(attributes):
            self._hidden_depth += 1
        if alt := attributes.get("alt"):
            self._unseen_texts.append(alt)
        if tag == "meta":
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
            self.meta.setdefault(name.lower(), attributes.get("content", ""))
        elif tag in self._skip:
            self._skip_depth += 1
        elif tag == "title" and not self._skip_depth:
            self._in_title = True
        elif tag == "br":
            self._words.append("\n" if self._in_code else " ")
        elif tag in {"td", "th"}:
            self._words.append(" | ")
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = _HEADINGS.get(tag, "- " if tag == "li" else self._mark)
            self._in_code = tag == "pre"

    def end(self, tag: str) -> None:
        self._hidden_depth = max(0, self._hidden_depth - 1)
        if tag in self._skip:
            self._skip_depth -= 1
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = ""
            self._in_code = False

    def data(self, text: str) -> None:
        if self._in_title:
            self.title.append(text)
        elif not self._skip_depth:
            (self._unseen_texts if self._hidden_depth else self._words).append(text)

    def comment(self, text: str) -> None:
        if "<!--" not in text:  # else it never closed, and the rest of the page is in it
            self._unseen_texts.append(text)

    def close(self) -> None:
        self._end_block()

    def page(self) -> Document:
        day = next((day for name in _DAYS if (day := day_of(self.meta.get(name, "")))), None)
        return Document(" ".join("".join(self.title).split()), "\n\n".join(self.blocks), published=day)

    def _end_block(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if text.strip():
            self._add(text)
        if not self._hidden_depth and any(self._unseen_texts):
            texts = hidden_text(" ".join(self._unseen_texts))
            self._unseen_texts.clear()
            self.hidden_texts += texts
            self.blocks += texts

    def _add(self, text: str) -> None:
        if self._in_code:
            self.blocks.append(f"```\n{text.strip()}\n```")
        else:
            self.blocks.append(self._mark + " ".join(text.split()).removeprefix("| "))
        self._mark = ""


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Whether an element's own attributes hide its text. White text on a background of its own is seen."""
    style = attributes.get("style", "")
    hides = _HIDDEN_STYLE.search(style)
    return "hidden" in attributes or (hides is not None and not ("color" in hides[0] and "background" in style))
