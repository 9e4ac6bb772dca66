"""The report of a draft: code numbers the sources and writes every citation."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from contend.checks.injection import Planted
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
from contend.report.plain import plain_sentence, plain_title
from contend.text import SENTENCE_STOPS, WORDS, addresses, detect_language, without_sentences


class Shown(Protocol):
    """How a report shows what a writer wrote."""

    def sentence(self, sentence: CitedSentence) -> str:
        """With its marks; "" for one that says nothing."""
        ...

    def text(self, text: str) -> str:
        """As it is written, inert in Markdown."""
        ...

    def marks(self, passages: Sequence[str]) -> str:
        """The marks of passages by their ids, such as `[1][3]`."""
        ...


def body_markdown(sections: Sequence[Section], shown: Shown, language: Language) -> str:
    """The sections under headings of the third level; one without a heading follows the section before it."""
    parts = []
    for section in sections:
        if heading := plain_title(section.heading):
            parts.append(f"### {heading}")
        parts += [_block(block, shown, language) for block in section.blocks]
    return "\n\n".join(part for part in parts if part)


def joined(sentences: Sequence[str], language: Language) -> str:
    """Sentences as running text: a space between them, none after a Japanese full stop in a Japanese report."""
    text = ""
    for sentence in sentences:
        closed = not text or (language == "ja" and text[-1] in "。！？」』）")
        text += sentence if closed else f" {sentence}"
    return text


def _block(block: Block, shown: Shown, language: Language) -> str:
    match block:
        case Paragraph():
            return joined([text for each in block.sentences if (text := shown.sentence(each))], language)
        case ItemList():
            return "\n".join(f"- {text}" for each in block.items if (text := shown.sentence(each)))
        case Table():
            return _table(block, shown, language)


def _table(table: Table, shown: Shown, language: Language) -> str:
    """The marks of a row stand in a column of their own: beside a figure they would read as a part of it."""
    columns = [_cell(column, shown) for column in table.columns]
    columns += [WORDS[language].sources_column] if table.cites() else []
    rows = (row_markdown(table, row, shown) for row in table.rows)
    return "\n".join([_row(columns), _row(["---"] * len(columns)), *rows])


def row_markdown(table: Table, row: TableRow, shown: Shown) -> str:
    """A table's row as its line in the report."""
    cells = [_cell(cell, shown) for cell in row.cells]
    return _row([*cells, shown.marks(row.passages)] if table.cites() else cells)


def _cell(text: str, shown: Shown) -> str:
    """A pipe in a cell would end it."""
    return re.sub(r"(?<!\\)\|", r"\\|", shown.text(text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


class PublishedLine(NamedTuple):
    """A sentence as the draft has it and as the report shows it, with the passages behind each of its marks, by number.

    The marks of `shown` stand in the order of the numbers.
    """

    written: str
    shown: str
    passages: dict[int, list[Passage]]


class _Sources(NamedTuple):
    """What was retrieved, by address, the address of each passage, and all that sentences may name."""

    found: Mapping[str, SearchResult]
    url_of: Mapping[str, str]
    addresses: Collection[str]

    @classmethod
    def of(cls, draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> "_Sources":
        by_url = _by_url(results, passages)
        cited = {passage for sentence in draft.sentences() for passage in sentence.passages}
        texts = (f"{passage.title}\n{passage.text}" for passage in passages if passage.id in cited)
        known = {address for text in texts for address in addresses(text)}
        return cls(by_url, {passage.id: passage.url for passage in passages}, known | by_url.keys())

    def urls(self, passages: Sequence[str]) -> list[str]:
        urls = (self.url_of.get(passage, "") for passage in passages)
        return [url for url in dict.fromkeys(urls) if url in self.found]


class _Citations:
    """Shows statements with their marks; numbers sources in the order in which they are first cited."""

    def __init__(self, sources: _Sources) -> None:
        self.numbers: dict[str, int] = {}
        self._sources = sources

    def sentence(self, sentence: CitedSentence) -> str:
        text = self.text(sentence.text)
        return _marked(text, self.marks(sentence.passages)) if text else ""

    def sentences(self, sentences: Iterable[CitedSentence]) -> list[str]:
        return [shown for each in sentences if (shown := self.sentence(each))]

    def text(self, text: str) -> str:
        return plain_sentence(text, self._sources.addresses)

    def marks(self, passages: Sequence[str]) -> str:
        return "".join(f"[{number}]" for number in self.numbers_of(passages))

    def numbers_of(self, passages: Sequence[str]) -> list[int]:
        return sorted(self._number(url) for url in self._sources.urls(passages))

    def _number(self, url: str) -> int:
        return self.numbers.setdefault(url, len(self.numbers) + 1)


def build_report(
    draft: Draft,
    passages: Sequence[Passage],
    results: Sequence[SearchResult],
    *,
    theme: str,
    language: Language,
    generated_at: datetime | None = None,
) -> ResearchReport:
    """The draft as a report: `[n]` after each sentence is entry n of its sources, the cited ones first.

    Everything reads as it was written, but for citations of a model's own and for addresses that neither `results` nor
    the text of a cited passage has. What says nothing then is left out, and the findings stand for a part of only that.

    Raises:
        DraftError: the findings say nothing.
    """
    known = _Sources.of(draft, passages, results)
    citations = _Citations(known)
    summary = joined(citations.sentences(draft.summary), language)
    findings = citations.sentences(draft.findings)
    if not findings:
        raise DraftError("the draft's findings say nothing: add documents or sources, or try another model")
    body = body_markdown(draft.sections, citations, language)
    limits = joined(citations.sentences(draft.limits), language)
    return ResearchReport(
        theme=title_of(draft.title or theme),
        executive_summary=summary or joined(findings, language),
        key_findings=findings,
        detailed_analysis=body or joined(findings, language),
        constraints_and_challenges=limits,
        sources=[known.found[url] for url in dict.fromkeys([*citations.numbers, *known.found])],
        generated_at=generated_at or utc_now(),
    )


def published_lines(draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> list[PublishedLine]:
    """The lines of the draft's report in its order; of a table each row, as it stands there: `| a | b | [1] |`."""
    tables, rows, known = draft.tables(), draft.rows(), {passage.id: passage for passage in passages}
    citations = _Citations(_Sources.of(draft, passages, results))
    lines = []
    for place, sentence in draft.placed():
        behind: dict[int, list[Passage]] = {number: [] for number in citations.numbers_of(sentence.passages)}
        for passage in (known[each] for each in sentence.passages if each in known):
            if number := citations.numbers.get(passage.url):
                behind[number].append(passage)
        if row := rows.get(place):
            shown = row_markdown(tables[place.rpartition(".")[0]], row, citations)
        else:
            shown = citations.sentence(sentence)
        if shown:
            lines.append(PublishedLine(sentence.text, shown, behind))
    return lines


def state_to_report(
    state: Mapping[str, Any],
    *,
    results: Sequence[SearchResult] | None = None,
    passages: Sequence[Passage] | None = None,
) -> ResearchReport:
    """The report of a research graph's state: the theme is the plan's, else the run's.

    `results`: the state's with their summaries, for which titles stand in the state itself; `passages`: with texts.

    Raises:
        DraftError: the state has no draft, a broken one, or one that says nothing.
    """
    if not state.get("draft_report"):
        raise DraftError("there is no draft to make a report of: the research ended before anything was written")
    plan, options = state.get("task_plan") or {}, state.get("options") or {}
    try:
        return build_report(
            Draft.model_validate(state["draft_report"]),
            [Passage.model_validate(passage) for passage in state.get("passages") or []]
            if passages is None
            else passages,
            [SearchResult.model_validate(result) for result in state.get("research_data") or []]
            if results is None
            else results,
            theme=plan.get("theme") or state["theme"],
            language=options.get("language", "en"),
        )
    except ValidationError as error:
        flaw = error.errors()[0]
        where = ".".join(str(part) for part in flaw["loc"])
        raise DraftError(f"the draft does not fit a report: {error.title} {where}: {flaw['msg']}") from error


def _by_url(results: Sequence[SearchResult], passages: Sequence[Passage]) -> dict[str, SearchResult]:
    """The sources as readers may see them: orders to whoever reads a page stand neither in title nor in summary."""
    texts = [(result.url, text) for result in results for text in (result.title, result.summary)]
    read = [(passage.url, passage.text) for passage in passages]
    planted = Planted([*texts, *read], speaking={passage.url for passage in passages if passage.speaks_to_ai})
    sources: dict[str, SearchResult] = {}
    for result in results:
        said = plain_title(result.title)
        title = said if said and not planted.in_sentence(said) else result.url[:500]
        shown = {"title": title, "summary": without_sentences(result.summary, planted.in_sentence) or title}
        sources.setdefault(result.url, result.model_copy(update=shown))
    return sources


_LETTER_STOPS = re.compile(r"(?:\b[^\W\d_]\.){2}\Z")
_CLOSED = re.compile(r"[.!?。！？…][\"'”’»)\]」』）*_]+\Z")


def _marked(text: str, marks: str) -> str:
    """The sentence with its marks before its full stop: `Bridges hum [1][2].`, `橋は鳴る[1]。`."""
    japanese = detect_language(text) == "ja"
    marks = f" {marks}" if marks and not japanese else marks
    if _CLOSED.search(text):
        return text + marks
    sentence = text.rstrip(SENTENCE_STOPS)
    if sentence != text and not _LETTER_STOPS.search(text):
        return sentence + marks + text[len(sentence) :]
    return text.rstrip(" ,;:、，；：") + marks + ("。" if japanese else ".")
