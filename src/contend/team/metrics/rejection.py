"""A submission as judges read it, and what is refused unseen because it says nothing."""

import re
from collections.abc import Iterator
from functools import lru_cache

from contend.models.record import Language
from contend.models.research import GENERATED_AT, MARK
from contend.text import (
    WORDS,
    clean,
    en,
    ja,
    normalized,
    split_blocks,
    split_sentences,
    squeezed,
    terms,
    without_item_mark,
    without_marks,
)

_FRAME = re.compile(
    r"#{1,6}\s|-\s(?:Source|URL|Published|Authors): |\d{1,3}\.\s\*\*[^*]+\*\*\Z|\|[\s:|-]+\Z"
    rf"|{re.escape(GENERATED_AT)}"
)
"""Headings, entries of references, the ruler of a table: they may repeat, and say nothing of the question."""

_REFERENCES = tuple(f"## {words.headings.references}" for words in WORDS.values())
_REFERENCES_START = re.compile(rf"^(?:{'|'.join(_REFERENCES)})", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\d{1,3}\. \*\*)", re.MULTILINE)
_ALSO_READ = "|".join(f"### {words.headings.also_read}" for words in WORDS.values())
_UNSAID = re.compile(rf"^(?:{_ALSO_READ}|{re.escape(GENERATED_AT)}).*\n*", re.MULTILINE)
"""Among references: the heading of those that nothing cites, and the report's date."""

_OPENER = re.compile(f"{en.OPENERS}|{ja.OPENERS}", re.IGNORECASE)


@lru_cache(maxsize=64)
def whole_text(content: str) -> str:
    """All that the submission says. Of its references those that it cites: the others say nothing of the report."""
    text = clean(content).strip()
    if not (start := _REFERENCES_START.search(text)):
        return text
    body = text[: start.start()]
    numbers = set(MARK.findall(body))
    heading, *entries = _ENTRY.split(_UNSAID.sub("", text[start.start() :]))
    return (body + heading + "".join(each for each in entries if each.partition(".")[0] in numbers)).strip()


@lru_cache(maxsize=64)
def refusal(theme: str, content: str, language: Language = "en") -> str | None:
    """Why code refuses a submission before any call; None if it may be judged."""
    if not clean(content).strip():
        return WORDS[language].feedback.submission_empty
    question = _bare(theme)
    sentences = (sentence for sentence in _said(whole_text(content)) if not _is_opener(sentence))
    parts = (part for sentence in sentences for part in re.split("[.?!。．？！]", sentence))
    beyond = any(terms(part) and _bare(part) not in question for part in parts)
    return None if beyond else WORDS[language].feedback.submission_repeats_question


def _is_opener(sentence: str) -> bool:
    plain = without_marks(without_item_mark(sentence))
    words = normalized(clean(plain, single_line=True)).replace("_", " ")
    return _OPENER.fullmatch(" ".join(re.sub(r"[^\w\s']", " ", words).split())) is not None


def _said(markdown: str) -> Iterator[str]:
    """The sentences up to the references, without headings."""
    for block in split_blocks(markdown):
        if block.startswith(_REFERENCES):
            break
        if not _FRAME.match(block):
            yield from split_sentences(without_item_mark(block))


def _bare(text: str) -> str:
    return re.sub(r"[\W_]", "", squeezed(text))
