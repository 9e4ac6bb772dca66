"""How likely a reply's number was, and what else it could have been, from the log-probabilities of its tokens."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError


class Token(NamedTuple):
    """A token as it was said, and the probabilities, 0.0 to 1.0, of those that could have stood there."""

    text: str
    likely: dict[str, float]


class _Choice(BaseModel):
    token: str
    logprob: float


class _Said(_Choice):
    top_logprobs: list[_Choice] | None = None


_SAID: TypeAdapter[list[_Said]] = TypeAdapter(list[_Said])


def read_tokens(content: object) -> list[Token]:
    """The tokens of a chat completion's `logprobs.content`; [] where it holds none that can be read."""
    try:
        said = _SAID.validate_python(content or [])
    except ValidationError:
        return []
    return [Token(one.token, _likely(one)) for one in said]


def spread_of(tokens: Sequence[Token], field: str) -> dict[int, float] | None:
    """How likely each value of a whole-number field was, summing to 1; None where the tokens don't tell.

    A number of several tokens counts with each of them changed alone: what else would have followed is not known.
    """
    text = "".join(token.text for token in tokens)
    found = list(re.finditer(rf'"{re.escape(field)}"\s*:\s*(\d+)', text))
    if not found:
        return None
    begin, end = found[-1].span(1)
    shares: dict[int, float] = {}
    for value, share in _values(list(_overlapping(tokens, begin, end))):
        shares[value] = shares.get(value, 0.0) + share
    total = sum(shares.values())
    return {value: share / total for value, share in sorted(shares.items())} if total > 0 else None


def _overlapping(tokens: Sequence[Token], begin: int, end: int) -> Iterator[Token]:
    place = 0
    for token in tokens:
        if place < end and place + len(token.text) > begin:
            yield token
        place += len(token.text)


def _values(digits: Sequence[Token]) -> Iterator[tuple[int, float]]:
    """Values with their probabilities: the number as said, and with one token changed from there on."""
    before = 1.0
    for place, token in enumerate(digits):
        for other, share in token.likely.items():
            if other != token.text:
                parts = [each.text for each in digits]
                yield from _read([*parts[:place], other, *parts[place + 1 :]], before * share)
        before *= token.likely.get(token.text, 0.0)
    yield from _read([token.text for token in digits], before)


def _read(parts: Sequence[str], share: float) -> Iterator[tuple[int, float]]:
    number = re.fullmatch(r"\D*(\d{1,9})\D*", "".join(parts))
    if number and re.search(r"\d", parts[-1]):
        yield int(number[1]), share


def _likely(said: _Said) -> dict[str, float]:
    choices = [*(said.top_logprobs or []), said]
    usable = [choice for choice in choices if not math.isnan(choice.logprob)]
    return {choice.token: math.exp(min(0.0, choice.logprob)) for choice in usable}
