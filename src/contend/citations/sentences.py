"""The sentences of a draft or a report that cite, with the texts they cite."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contend.models.research import MARK, CitedSentence, Draft, Passage, ResearchReport
from contend.text import split_sentences, without_marks


class CheckedSentence(NamedTuple):
    """A sentence without its marks, and the texts of the sources it cites."""

    text: str
    passages: list[str]


def cited_in_draft(draft: Draft, passages: Sequence[Passage]) -> list[CheckedSentence]:
    """The draft's sentences that cite, each with all text of the sources it cites; `passages` carry their texts."""
    url_of = {passage.id: passage.url for passage in passages}
    texts = _texts_by_url(passages)

    def checked(sentence: CitedSentence) -> CheckedSentence:
        urls = dict.fromkeys(url_of[passage] for passage in sentence.passages if passage in url_of)
        return CheckedSentence(sentence.text, [text for url in urls for text in texts[url]])

    return [checked(sentence) for sentence in draft.sentences() if sentence.passages]


def cited_in_report(report: ResearchReport, passages: Sequence[Passage]) -> list[CheckedSentence]:
    """The report's sentences that cite, each with all text of the sources it cites; `passages` carry their texts."""
    texts = _texts_by_url(passages)
    parts = [
        report.executive_summary,
        *report.key_findings,
        report.detailed_analysis,
        report.constraints_and_challenges,
    ]
    return [
        _checked(sentence, report, texts)
        for part in parts
        for sentence in split_sentences(part)
        if MARK.search(sentence)
    ]


def _checked(sentence: str, report: ResearchReport, texts: Mapping[str, list[str]]) -> CheckedSentence:
    numbers = [int(number) for number in dict.fromkeys(MARK.findall(sentence))]
    urls = [report.sources[number - 1].url for number in numbers if 1 <= number <= len(report.sources)]
    return CheckedSentence(without_marks(sentence), [text for url in urls for text in texts.get(url, [])])


def _texts_by_url(passages: Sequence[Passage]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(passage.url, []).append(text_of(passage))
    return texts


def text_of(passage: Passage) -> str:
    """What a citation of the passage rests on."""
    return f"{passage.title}\n\n{passage.text}"
