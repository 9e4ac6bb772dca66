"""Whether a sentence says anything beyond what was said before, in English and Japanese. In doubt it does."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contend.text import normalized, squeezed, terms

_PIECE = re.compile(r"(?:[-+±<>≤≥=≈$€£¥−]\s?)?\d+(?:[.,]\d+)*(?:\s?[%‰°])?|[^\W\d_]+(?:['’][^\W\d_]+)*")
_IDLE_ENGLISH = "a an the of and also additionally furthermore moreover overall thus therefore hence consequently"
_IDLE = frozenset([*_IDLE_ENGLISH.split(), "また", "さらに", "そして", "なお", "したがって", "そのため"])
_INFLECTED = re.compile("[ぁ-ゖ](?<![はがをにへとのでもやか])")
"""Hiragana that are no particles: endings differ where the same is said."""

_TURNING = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot|hardly|rarely|if|unless|except|only|until|may|might|could)\b"
    r"|n['’]t\b|ない|なく|なか(?=っ)|なけれ|ません|ず(?=[、。にと]|\Z)|ぬ|なし|れば|なら|場合|かもしれ|可能性|でき|だけ|のみ|しか|まで|以外",
    re.IGNORECASE,
)
"""What turns a statement round or bounds it. A sentence without it says more than one with it."""


class Told:
    """What was said so far."""

    def __init__(self) -> None:
        self._sentences: list[_Sentence] = []

    def again(self, text: str) -> bool:
        """Whether one sentence before says all that this one does, which counts as said from now on."""
        sentence = _Sentence(squeezed(text), list(_words(text)), sorted(map(str.lower, _TURNING.findall(text))))
        known = any(sentence.adds_nothing_to(earlier) for earlier in self._sentences)
        self._sentences.append(sentence)
        return known


class _Sentence(NamedTuple):
    squeezed: str
    words: list[str]
    turning: list[str]

    def adds_nothing_to(self, earlier: "_Sentence") -> bool:
        """The same text, or none but the other's words in its order, whose two halves may have changed places."""
        if self.squeezed == earlier.squeezed:
            return True
        if not self.words or self.turning != earlier.turning or not set(self.words) <= set(earlier.words):
            return False
        other = earlier.words
        return any(_in_order(self.words, other[cut:] + other[:cut]) for cut in range(len(other)))


def _in_order(words: Sequence[str], others: Sequence[str]) -> bool:
    following = iter(others)
    return all(word in following for word in words)


def _words(text: str) -> Iterator[str]:
    """Figures with their signs and units, stems, words for relations, names in capitals; Japanese character pairs."""
    for piece in _PIECE.findall(normalized(text)):
        plain = piece if piece.isupper() else piece.lower()
        if any(map(str.isdigit, piece)):
            yield re.sub(r"[\s,]", "", piece)
        elif plain not in _IDLE:
            yield from [term for term in terms(piece) if not _INFLECTED.search(term)] or [plain]
