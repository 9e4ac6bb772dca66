"""The words that people read, by language."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from contend.text import ja
from contend.text.en import Words

WORDS: Mapping[Literal["en", "ja"], Words] = MappingProxyType({"en": Words(), "ja": ja.WORDS})


def shown_score(score: float | None, language: Literal["en", "ja"] = "en") -> str:
    """A score of 0.0 to 1.0 as `87.3/100`; None as the language's word for unscored, never as 0."""
    return WORDS[language].unscored if score is None else f"{score * 100:.1f}/100"
