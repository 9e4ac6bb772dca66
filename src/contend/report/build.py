"""Build a report from a draft. Code numbers the sources and writes every citation."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from textwrap import indent
from typing import Any, NamedTuple

from pydantic import ValidationError

from contend.checks.injection import speaks_to_ai
from contend.errors import DraftError
from contend.models.record import Language, utc_now
from contend.models.research import (
    Block,
    CitedSentence,
    Draft,
    ItemList,
    Paragraph,
    Passage,
    ResearchReport,
    SearchResult,
    Section,
    Table,
    TableRow,
)
from contend.models.task import title_of
from contend.report.kinds import kind_mark, listed_sums, sums_text, table_marks
from contend.report.plain import (
    markdown_row,
    markdown_ruler,
    plain_heading,
    plain_sentence,
    plain_text,
    plain_title,
)
from contend.text import (
    SENTENCE_STOPS,
    WORDS,
    WordsAndCode,
    addresses,
    detect_language,
    shorten,
    without_escapes,
    words_and_code,
)


class PublishedMark(NamedTuple):
    """A citation mark `[n]` in a line, with the passages it stands for."""

    number: int
    passages: list[Passage]


class PublishedLine(NamedTuple):
    """A statement as the draft has it and as the report prints it, with its marks in printed order.

    In a table row, a number may occur several times, each time with the passages of its cell. `place`: the statement's
    place in the draft. The lines of code behind it are not part of it.
    """

    statement: str
    text: str
    marks: list[PublishedMark]
    place: str = ""


def addresses_in(passages: Iterable[Passage], sources: Iterable[str]) -> set[str]:
    """The addresses that a report may print: those of its sources, and those that stand in its passages."""
    texts = (f"{passage.title}\n{passage.text}" for passage in passages)
    return {address for text in texts for address in addresses(text)} | {*sources}


class _Citations:
    """Renders statements with their marks. Sources are numbered in the order of first citation."""

    def __init__(self, draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> None:
        self.sources = _by_url(results)
        self.numbers: dict[str, int] = {}
        self._headings = WORDS[detect_language(" ".join(each.text for each in draft.summary))].headings
        self._listed = listed_sums(draft)
        self._passages = {passage.id: passage for passage in passages}
        cited_ids = {*draft.passages()}
        self._addresses = addresses_in((each for each in passages if each.id in cited_ids), self.sources)

    def numbers_of(self, ids: Sequence[str]) -> list[int]:
        urls = dict.fromkeys(each.url for each in self._passages_of(ids))
        return sorted(self.numbers.setdefault(url, len(self.numbers) + 1) for url in urls if url in self.sources)

    def _passages_of(self, ids: Sequence[str]) -> list[Passage]:
        return [self._passages[each] for each in ids if each in self._passages]

    def marks(self, ids: Sequence[str]) -> str:
        return "".join(f"[{number}]" for number in self.numbers_of(ids))

    def published_marks(self, ids: Sequence[str]) -> list[PublishedMark]:
        """The same marks, each with the passages behind it."""
        passages = self._passages_of(ids)
        return [
            PublishedMark(number, [each for each in passages if self.numbers.get(each.url) == number])
            for number in self.numbers_of(ids)
        ]

    def sentence(self, sentence: CitedSentence, *, in_body: bool = False, is_last: bool = True) -> WordsAndCode:
        """The sentence with its marks ("" if no text is left) and, `in_body`, its lines of code.

        Elsewhere, and if code refutes it, the lines stand within the sentence, so that nobody copies them. `is_last`:
        no other statement follows in its paragraph or item.
        """
        words, code = words_and_code(sentence.text)
        if sentence.refuted or not in_body:
            words, code = sentence.text, ""
        if not (text := plain_sentence(words, self._addresses)):
            return WordsAndCode("", "")
        marks = self.marks(sentence.passages) + kind_mark(sentence, self._headings, self._listed)
        return WordsAndCode(_with_marks(text, marks, is_last=is_last), code)

    def sentences(self, sentences: Iterable[CitedSentence]) -> list[str]:
        return [each.words for each in map(self.sentence, sentences) if each.words]

    def block(self, statements: Sequence[CitedSentence], language: Language) -> str:
        """A paragraph of the body, or an item of a list, with lines of code."""
        last = len(statements) - 1
        made = (self.sentence(each, in_body=True, is_last=at == last) for at, each in enumerate(statements))
        return _join([str(each) for each in made if each.words], language)

    def cell(self, text: str) -> str:
        """The cell's text, with pipes escaped."""
        return re.sub(r"(?<!\\)\|", r"\\|", plain_text(text, self._addresses, in_cell=True))

    def row(self, table: Table, row: TableRow) -> str:
        """Each cell with its marks."""
        kinds = table_marks(table, self._headings, self._listed).rows[table.rows.index(row)]
        return self._cells(row.texts(), table.printed_passages(row), kinds)

    def columns(self, table: Table) -> str:
        """The names of the columns; the marks of what all rows rest on stand behind the first."""
        kinds = table_marks(table, self._headings, self._listed).columns
        return self._cells(table.columns, [table.common_passages(), *([] for _ in table.columns[1:])], kinds)

    def _cells(self, texts: Sequence[str], passages: Sequence[Sequence[str]], kinds: Sequence[str]) -> str:
        cells = zip(map(self.cell, texts), map(self.marks, passages), kinds, strict=True)
        return markdown_row(map("".join, cells))


def _body(sections: Sequence[Section], citations: _Citations, language: Language) -> str:
    """The sections, with third-level headings. A section without a heading continues the one before it."""
    parts = []
    for section in sections:
        if heading := plain_heading(section.heading):
            parts.append(f"### {heading}")
        parts += [_block(block, citations, language) for block in section.blocks]
    return "\n\n".join(part for part in parts if part)


def _block(block: Block, citations: _Citations, language: Language) -> str:
    match block:
        case Paragraph():
            return citations.block(block.sentences, language)
        case ItemList():
            items = enumerate(filter(None, (citations.block(item, language) for item in block.by_item())), start=1)
            return "\n".join(_item(f"{number}." if block.numbered else "-", item) for number, item in items)
        case Table():
            head = [citations.columns(block), markdown_ruler(len(block.columns))]
            return "\n".join([*head, *(citations.row(block, row) for row in block.rows)])


def _item(mark: str, text: str) -> str:
    """An item of a list, with its further lines indented as its first."""
    return f"{mark} {indent(text, ' ' * (len(mark) + 1)).lstrip()}"


def _join(sentences: Sequence[str], language: Language) -> str:
    """Join sentences with spaces; in a Japanese report, without one after a Japanese stop or colon."""
    text = ""
    for sentence in sentences:
        if text.endswith("```"):
            text += "\n"
        elif text and (language != "ja" or text[-1] not in "。！？：；」』）"):
            text += " "
        text += sentence
    return text


def build_report(
    draft: Draft,
    passages: Sequence[Passage],
    results: Sequence[SearchResult],
    *,
    theme: str,
    language: Language,
    generated_at: datetime | None = None,
) -> ResearchReport:
    """Build the report of a draft. `[n]` after a sentence refers to entry n of its sources; cited sources come first.

    The text stays as it was written, without the model's own citations and without addresses that neither `results` nor
    a cited passage has. Sentences that are empty then are left out; an empty part is replaced by the findings.

    Raises:
        DraftError: the findings are empty.
    """
    draft = presentable(draft)
    citations = _Citations(draft, passages, results)
    summary = _join(citations.sentences(draft.summary), language)
    findings = citations.sentences(draft.findings)
    if not findings:
        raise DraftError("the draft's findings say nothing: add documents or sources, or try another model")
    body = _body(draft.sections, citations, language)
    limits = _join(citations.sentences(draft.limits), language)
    return ResearchReport(
        theme=title_of(without_escapes(plain_heading(draft.title)) or theme),
        executive_summary=summary or _join(findings, language),
        key_findings=findings,
        detailed_analysis=body or _join(findings, language),
        constraints_and_challenges=limits,
        sources=[citations.sources[url] for url in dict.fromkeys([*citations.numbers, *citations.sources])],
        sources_by_name=draft.sources_by_name,
        own_headings=draft.own_headings,
        opening_heading=without_escapes(plain_heading(draft.opening_heading)),
        generated_at=generated_at or utc_now(),
    )


def presentable(draft: Draft) -> Draft:
    """Remove refuted statements from summary and findings. An emptied part gets the first statement that holds.

    If no statement of the draft holds, it stays as it is, and readers see all of it struck out.
    """
    body = [each for section in draft.sections for each in section.statements()]
    holding = [each for each in [*draft.summary, *draft.findings, *body] if not each.refuted]
    opening = {
        name: [each for each in part if not each.refuted] or holding[:1] or part
        for name, part in (("summary", draft.summary), ("findings", draft.findings))
    }
    return draft.model_copy(update=opening)


def published_lines(draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> list[PublishedLine]:
    """The lines of the draft's report, in order. A table gives a line for each row, as printed: `| a[1] | b |`."""
    draft = presentable(draft)
    citations = _Citations(draft, passages, results)
    lines = []
    placed = draft.placed_sentences()
    for (place, sentence, section, table, row), following in zip_longest(placed, placed[1:]):
        if isinstance(table, Table) and row:
            # The marks of the column names come before those of the first row.
            ids = [table.common_passages()] if row is table.rows[0] else []
            citations.marks(table.common_passages())
            text, ids = citations.row(table, row), [*ids, *table.printed_passages(row)]
        else:
            is_last = following is None or following.block is not table or not _runs_on(table, following.sentence)
            text, ids = citations.sentence(sentence, in_body=section > 0, is_last=is_last).words, [sentence.passages]
        if text:
            marks = [mark for of_cell in ids for mark in citations.published_marks(of_cell)]
            lines.append(PublishedLine(sentence.text, text, marks, place))
    return lines


def _runs_on(block: Block | None, following: CitedSentence) -> bool:
    """Whether the next statement of a block stands in the same paragraph or item."""
    return isinstance(block, Paragraph) or (isinstance(block, ItemList) and following.goes_on)


def state_to_report(
    state: Mapping[str, Any],
    *,
    results: Sequence[SearchResult] | None = None,
    passages: Sequence[Passage] | None = None,
) -> ResearchReport:
    """Build the report from the state of a research graph. The theme is the plan's or, without one, the run's.

    `results`: with summaries, which the state itself does not have; `passages`: with texts.

    Raises:
        DraftError: the draft is missing, broken or empty.
    """
    if not state.get("draft_report"):
        raise DraftError("there is no draft to make a report of: the research ended before anything was written")
    plan, options = state.get("task_plan") or {}, state.get("options") or {}
    theme, language = plan.get("theme") or state["theme"], options.get("language", "en")
    try:
        if passages is None:
            passages = [*map(Passage.model_validate, state.get("passages") or [])]
        if results is None:
            results = [*map(SearchResult.model_validate, state.get("research_data") or [])]
        draft = Draft.model_validate(state["draft_report"])
        return build_report(draft, passages, results, theme=theme, language=language)
    except ValidationError as error:
        flaw = error.errors()[0]
        where = ".".join(map(str, flaw["loc"]))
        raise DraftError(f"the draft does not fit a report: {error.title} {where}: {flaw['msg']}") from error


def _by_url(results: Sequence[SearchResult]) -> dict[str, SearchResult]:
    """The results by address, as readers may see them: titles and summaries that speak to AI systems are replaced."""
    sources: dict[str, SearchResult] = {}
    for result in results:
        own_title = plain_title(result.title)
        title = own_title if own_title and not speaks_to_ai(own_title) else result.url[:500]
        fields = {"title": title, "summary": title if speaks_to_ai(result.summary) else result.summary}
        sources.setdefault(result.url, result.model_copy(update=fields))
    return sources


_COMMAS = ",、，"
_LETTER_STOPS = re.compile(r"(?:\b[^\W\d_]\.){2}\Z")
_ENDS = SENTENCE_STOPS + ";:；： "
_STOP_IN_QUOTES = re.compile(r"[.!?。！？…:：][\"'”’»)\]」』）*_]+\Z")


def _with_marks(text: str, marks: str, *, is_last: bool = True) -> str:
    """Put the marks before the final stop: `It hums[1][2].`, `橋は鳴る[1]。`. A sentence without a stop gets one.

    Unless it `is_last`, it may end with a comma and go on in the next.
    """
    if _STOP_IN_QUOTES.search(text):
        return text + marks
    if not is_last and text.rstrip()[-1:] in _COMMAS:
        return text.rstrip()[:-1] + marks + text.rstrip()[-1]
    text = text.rstrip(f" {_COMMAS}")
    sentence = text.rstrip(_ENDS)
    if sentence != text and not _LETTER_STOPS.search(text):
        return sentence + marks + text[len(sentence) :]
    return text + marks + ("。" if detect_language(text) == "ja" else ".")


def sum_lines(draft: Draft, language: Language) -> list[str]:
    """The sums that stand in no line: each by its number, or by the row of a column that is calculated as a whole."""
    draft, headings = presentable(draft), WORDS[language].headings
    listed = listed_sums(draft)
    lines = [f"{headings.calculation}{number}: {text}" for text, number in listed.items()]
    for at in draft.placed_sentences():
        if at.row and isinstance(at.block, Table) and at.sentence.kind == "derived" and not at.sentence.refuted:
            text, marks = sums_text(at.sentence), table_marks(at.block, headings, listed)
            if text and text not in listed and not any(marks.rows[at.block.rows.index(at.row)]):
                name = next((each for each in at.row.texts() if each.strip()), "")
                lines.append(f"{shorten(name, _LONGEST_ROW_NAME)}: {text}")
    return list(dict.fromkeys(lines))


_LONGEST_ROW_NAME = 60
