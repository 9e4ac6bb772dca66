"""Render a report as one page. It loads nothing, and runs only the script that opens proofs and filters statements."""

from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from itertools import zip_longest
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from contend.models.record import Language
from contend.models.research import Passage, ResearchReport, SearchResult
from contend.report.build import PublishedLine
from contend.report.chart import ATTRIBUTES as CHART_ATTRIBUTES
from contend.report.chart import chart_html
from contend.report.head import ReportHead, head_markdown, replies_line, shown_outcome, with_reasons
from contend.report.kinds import SUM_MARK, legend_of
from contend.report.ledger import PublishedReport
from contend.report.plain import MARKS, in_ranges, numbers_in
from contend.report.proofs import StatementMarks, filters_html, proofs_html
from contend.report.references import (
    PublishedReference,
    passages_by_source,
    references_of,
    uncited_line,
)
from contend.text import WORDS, clean, shorten, shown_address

_PHRASES = {"s", "a", "br", "button", "code", "em", "mark", "span", "strong"}
_BLOCKS = {"aside", "blockquote", "details", "div", "header", "hr", "li", "ol", "p", "pre", "section", "summary", "ul"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_TABLES = {"table", "tbody", "td", "th", "thead", "tr"}
_ATTRIBUTES = {
    "a": {"href", "title", "class", "id"},
    "aside": {"aria-label", "class", "id", "role"},
    "button": {"aria-pressed", "class", "data-filter", "type"},
    "div": {"aria-label", "class", "role"},
    "h2": {"id"},
    "li": {"id"},
    "ol": {"start"},
    "p": {"class"},
    "span": {"aria-describedby", "class", "tabindex"},
    "tr": {"aria-describedby", "class", "tabindex"},
    "section": {"class"},
    "header": {"class"},
}
_ABOUT = "#about-run"
_TITLES_MOST = 300
_WORD_JOINER = "\u2060"
"""Prevents a line break before it."""
_SUMMARY_MOST = 80
_PASSAGE_MOST = 3000


def to_html(
    report: ResearchReport,
    head: ReportHead,
    language: Language,
    *,
    lines: Sequence[PublishedLine] = (),
    folders: Sequence[Path] = (),
) -> str:
    """Render the report as a self-contained page: a statement opens its proof, `[n]` links to its source.

    Proofs come from the ledger of a `PublishedReport`. `lines`: those of its draft, with the texts of their passages;
    `folders`: local documents in one of them are named by their paths in it. Of local files, only the report's own
    sources can be opened.
    """
    bare = report.model_copy(update={"sources": []}).to_markdown(language)
    text, _, footer = bare.partition("\n")[2].rpartition(f"## {WORDS[language].headings.references}\n")
    ledger = report if isinstance(report, PublishedReport) else None
    statements = StatementMarks(ledger, lines)
    links = _CitationLinks(report.sources, statements)
    legend = legend_of(text, language)
    body = links.render(f"*{legend}*") if legend else ""
    body += links.render(text, statements=True) + _names(report.named_sources(), language, folders)
    references = _references(report, lines, first_marks=links.first_marks, language=language, folders=folders)
    files = {source.url for source in report.sources if source.source == "local"}
    references += links.render(footer)
    behind = [references, _about_run(head, links, language)]
    body += "".join(reversed(behind) if report.own_headings else behind)
    if ledger:
        shown = [*statements.shown.values()]
        body = filters_html(shown, language) + body + proofs_html(ledger, shown, language)
    return _page(report.theme, _glance(head, language), body, language, files)


class _CitationLinks:
    """Renders Markdown with each `[n]` as a link to its source, and `[2][8][9][10]` as `[2,8–10]`.

    `first_marks`: for each source, the number whose link cites it first.
    """

    def __init__(self, sources: Sequence[SearchResult], statements: StatementMarks) -> None:
        self.first_marks: dict[int, int] = {}
        self._sources = sources
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        statements.use(self._markdown)
        self._markdown.core.ruler.after("statements", "citations", self._link)

    def render(self, markdown: str, *, statements: bool = False) -> str:
        """Render Markdown as HTML. `statements`: mark its statements, too."""
        return str(self._markdown.render(markdown, {"statements": statements}))

    def _link(self, state: StateCore) -> None:
        for token in state.tokens:
            if token.children:
                token.children = self._with_links(token.children)

    def _with_links(self, children: list[Token]) -> list[Token]:
        tokens: list[Token] = []
        depth = 0
        for child in children:
            depth += child.nesting if child.type.startswith("link_") else 0
            tokens += self._split(child.content) if child.type == "text" and not depth else [child]
        return tokens

    def _split(self, text: str) -> list[Token]:
        """Replace the citation marks in a text by links."""
        tokens: list[Token] = []
        for place, part in enumerate(MARKS.split(text)):
            if place % 2:
                tokens += self._links(part)
            else:
                tokens += _with_sums(part)
        return tokens

    def _links(self, marks: str) -> Iterator[Token]:
        """Links for consecutive marks. In a range, the dash links to the sources between its ends."""
        groups, numbers = list(in_ranges(marks)), numbers_in(marks)
        if not 1 <= min(numbers) <= max(numbers) <= len(self._sources):
            yield _text(marks)
            return
        for place, (first, *others) in enumerate(groups, start=1):
            begin, end = "[" if place == 1 else ",", "]" if place == len(groups) else ""
            yield from self._link_to([first], f"{begin}{first}{'' if others else end}")
            if others:
                # Keep a range on one line.
                yield Token("span_open", "span", 1, attrs={"class": "range"})
                yield from self._link_to(others[:-1], "–")
                yield from self._link_to(others[-1:], f"{others[-1]}{end}")
                yield Token("span_close", "span", -1)

    def _link_to(self, numbers: Sequence[int], label: str) -> list[Token]:
        attributes: dict[str, str | int | float] = {
            "href": f"#source-{numbers[0]}",
            "title": shorten("; ".join(self._sources[number - 1].title for number in numbers), _TITLES_MOST),
            "class": "cite",
        }
        if new := [number for number in numbers if number not in self.first_marks]:
            attributes["id"] = f"cite-{new[0]}"
            self.first_marks |= dict.fromkeys(new, new[0])
        return [Token("link_open", "a", 1, attrs=attributes), _text(label), Token("link_close", "a", -1)]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _with_sums(text: str) -> Iterator[Token]:
    """The text, with the marks of calculated statements set as small as citations."""
    marks = SUM_MARK.findall(text)
    for part, mark in zip_longest(SUM_MARK.split(text), marks, fillvalue=""):
        if part:
            yield _text(part)
        if mark:
            yield Token("span_open", "span", 1, attrs={"class": "sum"})
            yield _text(f"{_WORD_JOINER}{mark}")
            yield Token("span_close", "span", -1)


def _references(
    report: ResearchReport,
    lines: Sequence[PublishedLine],
    *,
    first_marks: Mapping[int, int],
    language: Language,
    folders: Sequence[Path],
) -> str:
    """The cited sources, each with its passages and a link back; and how many others were read."""
    passages, items = passages_by_source(lines), []
    for each in references_of(report, passages, folders):
        number = each.number
        back = (
            f' <a class="back" href="#cite-{first_marks[number]}" title="[{number}]">↩</a>'
            if number in first_marks
            else ""
        )
        details = "".join(map(_details, passages.get(number, [])))
        items.append(f'<li id="source-{number}">{_reference(each, report.sources[number - 1].url)}{back}{details}</li>')
    uncited = uncited_line(report, language)
    others = f'<p class="about">{escape(uncited)}</p>' if uncited else ""
    heading = escape(WORDS[language].headings.references)
    return f'<section class="references"><h2>{heading}</h2><ol>{"".join(items)}</ol>{others}</section>'


def _names(sources: Sequence[SearchResult], language: Language, folders: Sequence[Path]) -> str:
    """The list of file names by number, for readers who asked for one."""
    items = "".join(f"<li>{escape(shown_address(source.url, folders))}</li>" for source in sources)
    return f"<h2>{escape(WORDS[language].headings.sources)}</h2><ol>{items}</ol>" if items else ""


def _details(passage: Passage) -> str:
    """A passage that opens without a script, for readers who cannot hover."""
    first = shorten(passage.text.partition("\n")[0], _SUMMARY_MOST)
    where = f"<strong>{escape(passage.heading)}</strong> " if passage.heading else ""
    text = escape(shorten(passage.text, _PASSAGE_MOST))
    return f"<details><summary>{where}{escape(first)}</summary><blockquote>{text}</blockquote></details>"


def _reference(reference: PublishedReference, url: str) -> str:
    title = f"<strong>{escape(reference.title)}</strong>"
    link = f'<a class="path" href="{escape(url)}">{escape(reference.address) if reference.is_named else title}</a>'
    places = f'<span class="about">{escape(reference.places)}</span>' if reference.places else ""
    shown = [" › ".join(filter(None, [link, places]))] if reference.is_file else [places, link]
    facts = [f'<span class="about">{escape(fact)}</span>' for fact in reference.facts]
    return " · ".join(filter(None, [title if reference.is_named else "", *facts, *shown]))


def _is_web(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def _page(theme: str, glance: str, body: str, language: Language, files: Collection[str]) -> str:
    """The whole page. `files`: the local files that it may link to."""

    def safe_attribute(_tag: str, name: str, value: str) -> str | None:
        is_safe = value.startswith(("#source-", "#cite-")) or value == _ABOUT or value in files or _is_web(value)
        return None if name == "href" and not is_safe else value

    safe = nh3.clean(
        f'<h1>{escape(theme)}</h1>{glance}<section class="report">{body}</section>',
        tags=_PHRASES | _BLOCKS | _HEADINGS | _TABLES | {*CHART_ATTRIBUTES},
        attributes={**_ATTRIBUTES, **CHART_ATTRIBUTES},
        attribute_filter=safe_attribute,
        url_schemes={"http", "https", "file"},
        link_rel="nofollow noopener noreferrer",
    )
    return _resource("page.html").substitute(
        language=language,
        title=escape(theme),
        policy=PAGE_POLICY,
        style=_resource("page.css").template + PROOF_STYLE.read_text("utf-8"),
        body=safe,
        script=PROOF_SCRIPT.read_text("utf-8"),
    )


def _glance(head: ReportHead, language: Language) -> str:
    """The facts at a glance: what kind of run it was, what to be careful about, and a link to the rest."""
    words = WORDS[language]
    status = f"{words.status}{words.colon}{words.statuses[head.status]}"
    glance = f'<span class="status {head.status}">{escape(status)}</span>'
    if outcome := shown_outcome(head, language):
        glance += f" {escape(outcome[0])}{words.colon}<strong>{escape(outcome[1])}</strong>"
    off = [f"{words.sources_off}{words.colon}{source}" for source in with_reasons(head.sources_off, language)]
    beware = [*filter(None, [replies_line(head, language)]), *head.notes, *head.warnings, *off]
    cautions = "".join(f'<p class="caution">{escape(clean(text, single_line=True))}</p>' for text in beware)
    more = f'<p><a class="more" href="{_ABOUT}">{escape(words.about_run)}</a></p>'
    return f'<header class="run"><p class="glance">{glance}</p>{cautions}{more}</header>'


def _about_run(head: ReportHead, links: _CitationLinks, language: Language) -> str:
    """All facts about the run, unfolded so that they print."""
    heading, facts = head_markdown(head, language).split("\n", 1)
    title = escape(heading.removeprefix("## "))
    before, leaderboard, behind = links.render(facts).partition("</table>\n")
    text = f"{before}{leaderboard}{chart_html(head, language)}{behind}"
    return f'<section class="about-run"><h2 id="{_ABOUT[1:]}">{title}</h2>{text}</section>'


PROOF_STYLE, PROOF_SCRIPT = (Path(__file__).with_name(f"proofs.{kind}") for kind in ("css", "js"))
"""The style and script of proofs; the live page uses both, too."""
_SCRIPT_HASH = b64encode(sha256(PROOF_SCRIPT.read_bytes()).digest()).decode()
PAGE_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_SCRIPT_HASH}'; "
    "base-uri 'none'; form-action 'none'"
)
"""The Content-Security-Policy of the page: no script but its own, nothing from elsewhere."""


@cache
def _resource(name: str) -> Template:
    return Template(Path(__file__).with_name(name).read_text("utf-8"))
