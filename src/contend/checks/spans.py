"""Find where a quote, or the inputs of a sum, stand in a text."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from contend.checks.notations import bare, notes_of
from contend.checks.proof import inputs_of, pieces_of

_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


class Span(NamedTuple):
    """A part of a text, from `begin` to before `end`."""

    begin: int
    end: int


def quote_spans(words: str, text: str) -> list[Span]:
    """The places of a quote's pieces, or of its cells in one row, in order; empty if the text does not contain it."""
    if "|" not in words:
        return _in_order(pieces_of(words), text, Span(0, len(text)))
    begin = 0
    for line in text.split("\n"):
        if spans := _in_order(words.split("|"), text, Span(begin, begin + len(line))):
            return spans
        begin += len(line) + 1
    return []


def _in_order(pieces: Sequence[str], text: str, within: Span) -> list[Span]:
    letters, places = _letters(text[within.begin : within.end])
    spans, at = [], 0
    for piece in filter(None, map(bare, pieces)):
        begin = letters.find(piece, at)
        if begin < 0:
            return []
        at = begin + len(piece)
        spans.append(Span(within.begin + places[begin], within.begin + places[at - 1] + 1))
    return spans


@lru_cache(maxsize=512)
def _letters(text: str) -> tuple[str, Sequence[int]]:
    """The bare text that quotes are compared with, and the place of each of its letters in the text."""
    pairs = [(letter, place) for place, character in enumerate(text) for letter in bare(character)]
    return "".join(letter for letter, _ in pairs), [place for _, place in pairs]


def input_spans(formula: str, text: str) -> list[Span]:
    """The first place of each date and number of a sum in the text, in the text's notation."""
    days, numbers = inputs_of(formula)
    return [
        span
        for one_input in dict.fromkeys([*days, *numbers])
        if (span := next(_places_of(one_input, text, is_day=one_input in days), None))
    ]


def _places_of(one_input: str, text: str, *, is_day: bool) -> Iterator[Span]:
    for begin, end in sentence_spans(text):
        notes, own = notes_of(text[begin:end]), notes_of(one_input)
        if is_day:
            texts = [each.text for each in notes.days if each.day and any(each.fits(day) for day in own.days)]
        else:
            value = Decimal(one_input.replace(",", ""))
            texts = [each.text for each in notes.figures if each.has_digits(value)]
        for each in texts:
            if (at := text.find(each, begin, end)) >= 0:
                yield Span(at, at + len(each))


def sentence_spans(text: str) -> list[Span]:
    """Split a text into sentences and lines. Together they cover all of it."""
    ends = [*(match.end() for match in _ENDS.finditer(text)), len(text)]
    return [Span(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if begin < end]


def around(spans: Sequence[Span], text: str, *, neighbours: int, most: int) -> list[Span]:
    """The parts of a text to show around these spans: their sentences, with `neighbours` more on each side, in order.

    A part for one span has at most `most` characters, unless the span alone is longer. Parts that touch are joined.
    """
    sentences, parts = sentence_spans(text), list[Span]()
    for span in sorted(spans):
        part = _around(span, sentences, neighbours, most)
        if parts and part.begin <= parts[-1].end:
            before = parts.pop()
            part = Span(before.begin, max(before.end, part.end))
        parts.append(part)
    return parts


def _around(span: Span, sentences: Sequence[Span], neighbours: int, most: int) -> Span:
    own = [at for at, each in enumerate(sentences) if each.begin < span.end and span.begin < each.end]
    for more in range(neighbours, -1, -1):
        first, last = max(0, own[0] - more), min(len(sentences) - 1, own[-1] + more)
        part = Span(sentences[first].begin, sentences[last].end)
        if part.end - part.begin <= most:
            return part
    room = max(0, most - (span.end - span.begin)) // 2
    return Span(max(part.begin, span.begin - room), min(part.end, span.end + room))
