"""HTML to Markdown text: what a reader of the page reads, with its headings, lists, tables and code.

What a page hides from its readers is kept only where it may speak to AI systems, and named as hidden.
"""

import re
from html.parser import HTMLParser
from typing import NamedTuple

from contend.checks.injection import hidden_text
from contend.sources.readers.days import day_of
from contend.sources.readers.encodings import decode

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "button"})
_AROUND = frozenset({"nav", "aside", "footer"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr", "source", "col", "embed", "area", "track"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "ul", "ol", "dl", "dt", "dd", "table", "tr", "blockquote"}
    | {"figure", "figcaption", "body", "details", "summary", "form", "hr", "li", "pre", *_HEADINGS, *_AROUND}
)


LARGE_PAGE = 200_000
"""Bytes above which a page is read in a process apart: its attributes alone may become two hundred times as much."""

_LONGEST_TAG = 20_000
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
_CLOSED_BY_THE_NEXT = frozenset({"p", "li", "dt", "dd", "tr", "td", "th"})


class Page(NamedTuple):
    """What `<title>` says, "" without one, the text as Markdown, and the day that a `meta` element tells."""

    title: str
    text: str
    published: str | None = None


def html_to_markdown(html: str) -> Page:
    """The page without scripts, styles, navigation and footers; with the latter where nothing else has text."""
    page = _parsed(html, _UNSEEN | _AROUND)
    return page if page.text else _parsed(html, _UNSEEN)


_CODE_OR_MARK = re.compile(r"(?<!`)(`+)(?!`).{1,2000}?(?<!`)\1(?!`)|\\#+[ ]?|\\([*_`~\[\]<>+.)-])|\*+|~~", re.DOTALL)
"""Code as it is; marks that trafilatura has escaped because they are text; and those of bold, italic and struck out."""


_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
_HEAD = 4096


def read_web_page(body: bytes, charset: str) -> str:
    """A web page's own text as Markdown; `charset` as its server named it, "" where it did not.

    Raises:
        Unreadable: it is not text.
    """
    meta = _META_CHARSET.search(body[:_HEAD])
    return web_page_to_markdown(decode(body, declared=charset or (meta[1].decode() if meta else "")))


def web_page_to_markdown(html: str) -> str:
    """A web page's own text, without what sites put around it.

    With most of it where trafilatura is not installed, and of a page of over 20,000 tags, which take it seconds.
    """
    if html.count("<") > _MOST_TAGS:
        return html_to_markdown(html).text
    try:
        from trafilatura import extract  # noqa: PLC0415 - heavy, and an extra
    except ImportError:
        return html_to_markdown(html).text
    text = extract(html, output_format="markdown", include_comments=False)
    if not text:
        return html_to_markdown(html).text
    return "\n\n".join([_CODE_OR_MARK.sub(_unmarked, text), *_parser_of(html, _UNSEEN | _AROUND).hidden])


def _unmarked(match: re.Match[str]) -> str:
    return match[0] if match[1] else match[2] or ""


def _parsed(html: str, skipped: frozenset[str]) -> Page:
    parser = _parser_of(html, skipped)
    day = next((day for name in _DAYS if (day := day_of(parser.meta.get(name, "")))), None)
    return Page(" ".join("".join(parser.title).split()), parser.markdown(), day)


def _parser_of(html: str, skipped: frozenset[str]) -> "_PageParser":
    parser = _PageParser(skipped)
    parser.feed(html)
    parser.close_soon()
    return parser


class _PageParser(HTMLParser):
    """Collects blocks of text; a tag left open closes with what is around it."""

    def __init__(self, skipped: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.meta: dict[str, str] = {}
        self.hidden: list[str] = []
        self._skipped = skipped
        self._skipping = 0
        self._in_title = False
        self._in_code = False
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._mark = ""
        self._hidden_within: list[str] = []
        self._unseen: list[str] = []

    def close_soon(self) -> None:
        """Ends the page without a tag that was never closed: the library would look for its end from every `<` on."""
        if len(self.rawdata) > _LONGEST_TAG:
            self.rawdata = ""
        self.close()

    def markdown(self) -> str:
        self._end_block()
        return "\n\n".join(self._blocks)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hide(tag, dict(attrs))
        if tag == "meta":
            self._know(dict(attrs))
        elif tag in self._skipped:
            self._skipping += 1
        elif tag == "title" and not self._skipping:
            self._in_title = True
        elif tag == "br":
            self._words.append("\n" if self._in_code else " ")
        elif tag in {"td", "th"}:
            self._words.append(" | ")
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = _HEADINGS.get(tag, "- " if tag == "li" else self._mark)
            self._in_code = tag == "pre"

    def _hide(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Follow the tags that stand open within one that hides its text."""
        if tag in _VOID:
            self._unseen.append(attributes.get("alt") or "")
            return
        if self._hidden_within and self._hidden_within[-1] == tag and tag in _CLOSED_BY_THE_NEXT:
            self._hidden_within.pop()
        if self._hidden_within or _is_hidden(attributes):
            self._hidden_within.append(tag)

    def _show(self, tag: str) -> None:
        """The end of a tag that stands around the hiding one ends that, too."""
        while self._hidden_within and self._hidden_within.pop() != tag:
            pass

    def handle_comment(self, data: str) -> None:
        self._unseen.append(data)

    def _know(self, attributes: dict[str, str | None]) -> None:
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        self.meta.setdefault(name.lower(), attributes.get("content") or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._show(tag)
        if tag in self._skipped:
            self._skipping = max(0, self._skipping - 1)
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self._end_block()
            self._mark = ""
            self._in_code = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._skipping:
            (self._unseen if self._hidden_within else self._words).append(data)

    def _end_block(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if text.strip():
            self._add(text)
        if not self._hidden_within and any(self._unseen):
            texts = hidden_text(" ".join(self._unseen))
            self._unseen.clear()
            self.hidden += texts
            self._blocks += texts

    def _add(self, text: str) -> None:
        if self._in_code:
            self._blocks.append(f"```\n{text.strip()}\n```")
        else:
            self._blocks.append(self._mark + " ".join(text.split()).removeprefix("| "))
        self._mark = ""


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    """Whether an element's own attributes hide its text. White text on a background of its own is seen."""
    style = attributes.get("style") or ""
    hides = _HIDDEN_STYLE.search(style)
    return "hidden" in attributes or (hides is not None and not ("color" in hides[0] and "background" in style))
