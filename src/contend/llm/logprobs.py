"""How likely a reply's number was, and what else it could have been, from the log-probabilities of its tokens."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

_DIGITS = re.compile(r"\d")
_MOST = 100
_ROUND = 5


class ReplyToken(NamedTuple):
    """A token as it was said, and the probabilities, 0.0 to 1.0, of those that could have stood there."""

    text: str
    likely: dict[str, float]


class _Choice(BaseModel):
    token: str
    logprob: float


class _Said(_Choice):
    top_logprobs: list[_Choice] | None = None


_SAID: TypeAdapter[list[_Said]] = TypeAdapter(list[_Said])


def read_tokens(content: object) -> list[ReplyToken]:
    """The tokens of a chat completion's `logprobs.content`; [] where it holds none that can be read."""
    try:
        tokens = _SAID.validate_python(content or [])
    except ValidationError:
        return []
    return [ReplyToken(one.token, _likely(one)) for one in tokens]


def distribution_of(tokens: Sequence[ReplyToken], field: str) -> dict[int, float] | None:
    """How likely each value of a field of whole percents was, summing to 1; None where the tokens don't tell.

    A number of several tokens counts with each of them changed alone. What would have followed a digit that was not
    said is not known: it is taken for the nearest round percentage that begins so, a 1 in place of 80's 8 for 100.
    """
    text = "".join(token.text for token in tokens)
    matches = list(re.finditer(rf'"{field}"\s*:\s*(\d+)', text))
    if not matches:
        return None
    begin, end = matches[-1].span(1)
    shares: dict[int, float] = {}
    for value, share in _values(list(_overlapping(tokens, begin, end))):
        shares[value] = shares.get(value, 0.0) + share
    total = sum(shares.values())
    return {value: share / total for value, share in sorted(shares.items())} if total > 0 else None


def _overlapping(tokens: Sequence[ReplyToken], begin: int, end: int) -> Iterator[ReplyToken]:
    place = 0
    for token in tokens:
        if place < end and place + len(token.text) > begin:
            yield token
        place += len(token.text)


def _values(digits: Sequence[ReplyToken]) -> Iterator[tuple[int, float]]:
    """Values with their probabilities: the number as said, and with one token changed."""
    number = _read([token.text for token in digits])
    if number is None:
        return
    by_digit = not any(len(_DIGITS.findall(text)) > 1 for token in digits for text in (token.text, *token.likely))
    before = 1.0
    for place, token in enumerate(digits):
        begun, rest = [each.text for each in digits[:place]], [each.text for each in digits[place + 1 :]]
        for other, share in token.likely.items():
            value = _nearest(_read([*begun, other]), number) if by_digit else _read([*begun, other, *rest])
            if other != token.text and value is not None:
                yield value, before * share
        before *= token.likely.get(token.text, 0.0)
    yield number, before


def _nearest(begun: int | None, number: int) -> int | None:
    """Of the round percentages that begin so, the one nearest to what was said; the number itself if there is none."""
    if begun is None:
        return None
    round_ones = [value for value in range(0, _MOST + 1, _ROUND) if str(value).startswith(str(begun))]
    return min(round_ones, key=lambda value: abs(value - number), default=begun)


def _read(parts: Sequence[str]) -> int | None:
    number = re.fullmatch(r"\D*(\d{1,9})\D*", "".join(parts))
    return int(number[1]) if number and _DIGITS.search(parts[-1]) else None


def _likely(token: _Said) -> dict[str, float]:
    choices = [*(token.top_logprobs or []), token]
    usable = [choice for choice in choices if not math.isnan(choice.logprob)]
    return {choice.token: math.exp(min(0.0, choice.logprob)) for choice in usable}
