"""How many tokens a text takes."""

import re
from collections import Counter

from contend.text.cleaning import CJK

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(rf"[^\W\d_{CJK}]+")
_TOKEN_OF_ITS_OWN = re.compile(rf"[{CJK}]|[^\w\s]|_|\n+")
# Between older vocabularies (one token a digit, two for many characters) and newer, larger ones (0.7 a character).
_TOKENS_PER_DIGIT = 0.7
_LATIN_LETTERS_PER_TOKEN = 5
_OTHER_LETTERS_PER_TOKEN = 2


def estimate_tokens(text: str) -> int:
    """About how many tokens a byte-pair tokenizer makes of it, within 25 % for prompts in English and Japanese.

    Of Japanese without any markup, large new vocabularies make fewer: the estimate is up to 1.5 times their count.
    """
    words = _WORD.findall(text)
    others = [] if text.isascii() else [word for word in words if not word.isascii()]
    latin = [word for word in words if word.isascii()] if others else words
    return round(
        len(_TOKEN_OF_ITS_OWN.findall(text))
        + _tokens_of(_NUMBER.findall(text), 1 / _TOKENS_PER_DIGIT)
        + _tokens_of(latin, _LATIN_LETTERS_PER_TOKEN)
        + _tokens_of(others, _OTHER_LETTERS_PER_TOKEN)
    )


def _tokens_of(parts: list[str], characters: float) -> float:
    """With so many characters a token, and at least one token for each part."""
    return sum(count * max(1.0, length / characters) for length, count in Counter(map(len, parts)).items())
