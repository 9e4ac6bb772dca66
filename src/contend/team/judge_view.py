"""A submission as judges see it, with its passages; what code refuses or misses in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from types import MappingProxyType
from typing import NamedTuple

from contend.models.evaluation import Submission
from contend.models.record import Language
from contend.models.research import GENERATED_AT, MARK, Passage
from contend.report import read_references
from contend.text import (
    WORDS,
    bare_text,
    clean,
    compact_tables,
    en,
    estimate_tokens,
    ja,
    normalize,
    split_blocks,
    split_sentences,
    terms,
    without_item_mark,
    without_marks,
)
from contend.writing import shown_draft

_REFERENCES = tuple(f"## {words.headings.references}" for words in WORDS.values())

UNKNOWN_SOURCE = "?"
"""Stands in a statement's brackets for a source that its team never had at hand."""


class ReportView(NamedTuple):
    """The text; `structured`: it names places such as `2.1.3`, and `passages` by their `numbers`."""

    text: str
    structured: bool
    passages: Sequence[Passage] = ()
    invented: bool = False
    numbers: Mapping[str, int] = MappingProxyType({})


def report_view(
    submission: Submission, passages: Sequence[Passage], *, tokens: int, beside: int, whole: int = 0
) -> ReportView:
    """The whole report, and the passages that its team had at hand.

    `passages`: the submission's, with their texts.

    All of them, where they take at most `whole` tokens: later calls on the team's reports then begin alike, and as the
    writer's prompts do. Else those that it cites, with as many others as `beside` holds; the first of the cited where
    even `tokens` are too few.

    Whatever a draft says stands on one line behind its place, so that nothing in it looks like a turn of the judge's
    own conversation, a heading or a verdict.
    """
    if not submission.passages:
        return ReportView(whole_text(submission.content), structured=False)
    sizes = {each.id: estimate_tokens(compact_tables(each.text)) for each in passages}
    if sum(sizes.values()) > whole:
        passages = _judged_passages(submission, passages, sizes, tokens=tokens, beside=beside)
    view = ReportView("", structured=True, passages=passages, numbers=submission.number_of(passages))
    at_hand = {each.id for each in submission.passages}
    invented = {each: UNKNOWN_SOURCE for each in submission.draft.passages() if each not in at_hand}
    text = shown_draft(submission.draft, {**view.numbers, **invented}, basis=False, proof=True)
    return view._replace(text=text, invented=bool(invented))


def _judged_passages(
    submission: Submission, passages: Sequence[Passage], sizes: Mapping[str, int], *, tokens: int, beside: int
) -> list[Passage]:
    """`sizes`: the tokens of each, by its id."""
    ids = set(submission.draft.passages()) & sizes.keys()
    least = sum(sizes[each] for each in ids)
    if least > tokens:
        return cited_passages(submission, passages, tokens=tokens)
    room, view = min(tokens, beside) - least, []
    for each in passages:
        if each.id in ids or sizes[each.id] <= room:
            view.append(each)
            room -= 0 if each.id in ids else sizes[each.id]
    return view


def reference_numbers(submission: Submission) -> dict[str, int]:
    """The number in the report's references of each passage's document, by the passage's id."""
    numbers = {source.url: number for number, source in enumerate(submission.report.sources, start=1)}
    return {each.id: numbers[each.url] for each in submission.passages if each.url in numbers}


def cited_passages(submission: Submission, passages: Sequence[Passage], *, tokens: int) -> list[Passage]:
    """The passages that the draft cites, whole, in its order, as far as `tokens` goes; at least one."""
    by_id = {each.id: each for each in passages}
    cited = [by_id[each] for each in submission.draft.passages() if each in by_id]
    return fitting_passages(cited, tokens=tokens) or cited[:1]


def fitting_passages(passages: Sequence[Passage], *, tokens: int) -> list[Passage]:
    """As many of the first as take at most `tokens`, whole. `passages`: with their texts."""
    ends = accumulate(estimate_tokens(compact_tables(each.text)) for each in passages)
    return [each for each, end in zip(passages, ends, strict=True) if end <= tokens]


_FRAME = re.compile(rf"#{{1,6}}\s|{re.escape(GENERATED_AT)}")
"""Headings and the report's date: they may repeat, and say nothing of the question."""

_REFERENCES_START = re.compile(rf"^(?:{'|'.join(_REFERENCES)})", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\d{1,3}\. \*\*)", re.MULTILINE)
_ALSO_READ_HEADINGS = "|".join(f"### {words.headings.also_read}" for words in WORDS.values())
_OTHER_LINES = re.compile(rf"^(?:{_ALSO_READ_HEADINGS}|{re.escape(GENERATED_AT)}).*\n*", re.MULTILINE)
"""Among references: the heading of those that nothing cites, and the report's date."""

_OPENER = re.compile(f"{en.OPENERS}|{ja.OPENERS}", re.IGNORECASE)


def whole_text(content: str) -> str:
    """All that the submission says. Of its references those that it cites: the others say nothing of the report."""
    text = clean(content).strip()
    if not (start := _REFERENCES_START.search(text)):
        return text
    body = text[: start.start()]
    numbers = set(MARK.findall(read_references(text).body))
    heading, *entries = _ENTRY.split(_OTHER_LINES.sub("", text[start.start() :]))
    return (body + heading + "".join(each for each in entries if each.partition(".")[0] in numbers)).strip()


@lru_cache(maxsize=64)
def reason_not_to_judge(theme: str, content: str, language: Language = "en") -> str | None:
    """Why code refuses a submission before any call; None if it may be judged."""
    if not clean(content).strip():
        return WORDS[language].feedback.submission_empty
    question = _bare(theme)
    # An opener that ends with a colon leads into the sentence behind it.
    pieces = (piece for statement in _statements(clean(content)) for piece in re.split(r"(?<=[:：])\s", statement))
    parts = (part for piece in pieces if not _is_opener(piece) for part in re.split("[.?!。．？！]", piece))
    beyond = any(terms(part) and _bare(part) not in question for part in parts)
    return None if beyond else WORDS[language].feedback.submission_repeats_question


def _is_opener(sentence: str) -> bool:
    words = normalize(clean(sentence, single_line=True)).replace("_", " ")
    return _OPENER.fullmatch(" ".join(re.sub(r"[^\w\s']", " ", words).split())) is not None


def _statements(markdown: str) -> Iterator[str]:
    """The sentences and rows up to the references, without headings and citation marks."""
    blocks = takewhile(lambda block: not block.startswith(_REFERENCES), split_blocks(markdown))
    texts = (without_item_mark(without_marks(block)) for block in blocks if not _FRAME.match(block))
    return (each for text in texts for each in split_sentences(text))


def _bare(text: str) -> str:
    return re.sub(r"[\W_]", "", bare_text(text))
