"""The report of a draft: code numbers the sources and writes every citation."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import ValidationError

from contend.addresses import addresses
from contend.errors import DraftError
from contend.models.record import Language, utc_now
from contend.models.research import CitedSentence, Draft, Passage, ResearchReport, SearchResult
from contend.orders import Planted
from contend.report.plain import plain_sentence, plain_title
from contend.text import detect_language, without_sentences
from contend.theme import title_of

_SUMMARY_MOST = 1000
_LIMITS_MOST = 2000
_FINDINGS_MOST = 20
_PARAGRAPH_MOST = 4
_MARK_WIDTH = len(" [100]")


class PublishedLine(NamedTuple):
    """A sentence as the draft has it and as the report shows it, with the passages behind each of its marks, by number.

    The marks of `shown` stand in the order of the numbers.
    """

    written: str
    shown: str
    passages: dict[int, list[Passage]]


class _Line(NamedTuple):
    """A sentence without marks, the addresses of the sources it rests on, and what it was made of."""

    text: str
    urls: list[str]
    sentence: CitedSentence

    def width(self) -> int:
        """The most characters it can take in the report."""
        return len(self.text) + _MARK_WIDTH * len(self.urls) + len("。 ")


class _Parts(NamedTuple):
    """The lines of each part of a report; `remarks` are the notes by code."""

    summary: list[_Line]
    findings: list[_Line]
    analysis: list[_Line]
    limits: list[_Line]
    remarks: list[_Line]


class _Sources(NamedTuple):
    """What was retrieved, by address, the address of each passage, and all that sentences may name."""

    found: Mapping[str, SearchResult]
    url_of: Mapping[str, str]
    addresses: Collection[str]

    @classmethod
    def of(cls, draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> "_Sources":
        found = _by_url(results)
        cited = {passage for sentence in draft.sentences() for passage in sentence.passages}
        texts = (f"{passage.title}\n{passage.text}" for passage in passages if passage.id in cited)
        known = {address for text in texts for address in addresses(text)}
        return cls(found, {passage.id: passage.url for passage in passages}, known | found.keys())

    def lines(self, sentences: Iterable[CitedSentence]) -> list[_Line]:
        lines = ((plain_sentence(sentence.text, self.addresses), sentence) for sentence in sentences)
        return [_Line(text, self._urls(sentence), sentence) for text, sentence in lines if text]

    def _urls(self, sentence: CitedSentence) -> list[str]:
        urls = (self.url_of.get(passage, "") for passage in sentence.passages)
        return [url for url in dict.fromkeys(urls) if url in self.found]


class _Citations:
    """Numbers sources in the order in which they are first cited."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def cite(self, line: _Line) -> str:
        return _marked(line.text, self.numbers_of(line))

    def numbers_of(self, line: _Line) -> list[int]:
        return sorted(self._number(url) for url in line.urls)

    def _number(self, url: str) -> int:
        return self.numbers.setdefault(url, len(self.numbers) + 1)


def build_report(
    draft: Draft,
    passages: Sequence[Passage],
    results: Sequence[SearchResult],
    *,
    theme: str,
    language: Language,
    notes: Sequence[str] = (),
    generated_at: datetime | None = None,
) -> ResearchReport:
    """The draft as a report: `[n]` after each sentence is entry n of its sources, the cited ones first.

    Sentences are kept whole or left out, and read as they were written, but for citations of a model's own and for
    addresses that neither `results` nor the text of a cited passage has. `notes` are sentences by code and end the
    constraints.

    Raises:
        DraftError: nothing is left of the findings.
    """
    known = _Sources.of(draft, passages, results)
    parts = _parts(draft, known, notes)
    citations = _Citations()
    return ResearchReport(
        theme=title_of(theme),
        executive_summary=_joined(map(citations.cite, parts.summary), language),
        key_findings=[citations.cite(line) for line in parts.findings],
        detailed_analysis=_paragraphs([citations.cite(line) for line in parts.analysis], language),
        constraints_and_challenges="\n\n".join(
            _joined(map(citations.cite, lines), language) for lines in (parts.limits, parts.remarks) if lines
        ),
        sources=[known.found[url] for url in dict.fromkeys([*citations.numbers, *known.found])],
        generated_at=generated_at or utc_now(),
    )


def published_lines(draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> list[PublishedLine]:
    """The lines of the draft's report in its order, notes by code aside.

    Raises:
        DraftError: as `build_report` does.
    """
    parts = _parts(draft, _Sources.of(draft, passages, results), ())
    known = {passage.id: passage for passage in passages}
    citations = _Citations()
    lines = []
    for line in (*parts.summary, *parts.findings, *parts.analysis, *parts.limits):
        behind: dict[int, list[Passage]] = {number: [] for number in citations.numbers_of(line)}
        for passage in (known[each] for each in line.sentence.passages if each in known):
            if number := citations.numbers.get(passage.url):
                behind[number].append(passage)
        lines.append(PublishedLine(line.sentence.text, citations.cite(line), behind))
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


def _by_url(results: Sequence[SearchResult]) -> dict[str, SearchResult]:
    """The sources as readers may see them: orders to whoever reads a page stand neither in title nor in summary."""
    planted = Planted((result.url, f"{result.title}\n\n{result.summary}") for result in results)
    found: dict[str, SearchResult] = {}
    for result in results:
        said = plain_title(result.title)
        title = said if said and not planted.in_sentence(said) else result.url[:500]
        shown = {"title": title, "summary": without_sentences(result.summary, planted.in_sentence) or title}
        found.setdefault(result.url, result.model_copy(update=shown))
    return found


def _parts(draft: Draft, sources: _Sources, notes: Sequence[str]) -> _Parts:
    """The sentences of each part, within the part's bounds."""
    findings = sources.lines(draft.findings)[:_FINDINGS_MOST]
    remarks = _within(sources.lines(CitedSentence(text=note) for note in notes), _LIMITS_MOST)
    parts = _Parts(
        summary=_within(sources.lines(draft.summary) or findings, _SUMMARY_MOST),
        findings=findings,
        analysis=sources.lines(draft.analysis) or findings,
        limits=_within(sources.lines(draft.limits), _LIMITS_MOST - sum(line.width() for line in remarks)),
        remarks=remarks,
    )
    if not parts.findings or not parts.summary:
        raise DraftError("the draft says nothing: add documents or sources, or ask a wider question")
    return parts


def _within(lines: Sequence[_Line], most: int) -> list[_Line]:
    """The leading lines that fit; one that is too long for the whole room is passed over."""
    kept: list[_Line] = []
    for line in lines:
        if line.width() > most:
            continue
        if sum(own.width() for own in kept) + line.width() > most:
            break
        kept.append(line)
    return kept


def _length(lines: Iterable[_Line]) -> int:
    return sum(len(line.text) for line in lines)


def _check_length(part: str, lines: Sequence[_Line], least: int) -> None:
    if (length := _length(lines)) < least:
        raise DraftError(
            f"too little text was found for a report: its {part} has {length} characters, at least {least} are needed; "
            "add documents or sources, or ask a wider question"
        )


_STOPS = ".!?。．！？…"
_LETTER_STOPS = re.compile(r"(?:\b[^\W\d_]\.){2}\Z")
_CLOSED = re.compile(r"[.!?。！？…][\"'”’»)\]」』）*_]+\Z")


def _marked(text: str, numbers: Sequence[int]) -> str:
    """The sentence with its marks before its full stop: `Bridges hum [1][2].`, `橋は鳴る[1]。`."""
    japanese = detect_language(text) == "ja"
    marks = "".join(f"[{number}]" for number in numbers)
    marks = f" {marks}" if marks and not japanese else marks
    if _CLOSED.search(text):
        return text + marks
    said = text.rstrip(_STOPS)
    if said != text and not _LETTER_STOPS.search(text):
        return said + marks + text[len(said) :]
    return text.rstrip(" ,;:、，；：") + marks + ("。" if japanese else ".")


def _joined(sentences: Iterable[str], language: Language) -> str:
    """Sentences as running text: a space between them, none after a Japanese full stop in a Japanese report."""
    text = ""
    for sentence in sentences:
        closed = not text or (language == "ja" and text[-1] in "。！？」』）")
        text += sentence if closed else f" {sentence}"
    return text


def _paragraphs(sentences: Sequence[str], language: Language) -> str:
    """Paragraphs of three or four sentences, evenly filled."""
    count = -(-len(sentences) // _PARAGRAPH_MOST)
    bounds = [len(sentences) * part // count for part in range(count + 1)]
    chunks = [sentences[begin:end] for begin, end in pairwise(bounds)]
    return "\n\n".join(_joined(chunk, language) for chunk in chunks)
