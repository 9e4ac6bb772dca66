"""Text in English and Japanese: clean, count, cut, split and compare it; and the words that people read.

Pure, without heavy imports. `en.py` and `ja.py` hold the languages as data; `reasons_ja.toml` translates the reasons
why something could not be read.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from contend.text import ja
from contend.text.characters import (
    ADDRESS,
    address_key,
    addresses,
    canonical_url,
    clean,
    detect_language,
    estimate_tokens,
    file_name,
    fold,
    host_of,
    normalize,
    question_language,
    shared_content,
    shorten,
    shown_address,
    terms,
    token_bounds,
    without_tail,
)
from contend.text.en import Headings, NoteWords, Words
from contend.text.sentences import (
    OPENS_BLOCK,
    SENTENCE_STOPS,
    WordsAndCode,
    bare_text,
    compact_tables,
    fenced,
    inert,
    is_pair,
    one_line,
    split_blocks,
    split_code,
    split_sentences,
    table_row,
    without_anchor,
    without_code,
    without_escapes,
    without_item_mark,
    without_marks,
    words_and_code,
)

__all__ = [
    "ADDRESS", "OPENS_BLOCK", "SENTENCE_STOPS", "WORDS", "Headings", "NoteWords", "Words", "WordsAndCode",
    "address_key", "addresses", "bare_text", "canonical_url", "clean", "compact_tables", "count_text",
    "detect_language", "estimate_tokens", "fenced", "file_name", "fold", "host_of", "inert", "is_pair", "normalize",
    "one_line", "question_language", "reason_text", "shared_content", "shorten", "shown_address", "shown_score",
    "split_blocks", "split_code", "split_sentences", "table_row", "terms", "token_bounds", "without_anchor",
    "without_code", "without_escapes", "without_item_mark", "without_marks", "without_tail", "words_and_code",
]  # fmt: skip


WORDS: Mapping[Literal["en", "ja"], Words] = MappingProxyType({"en": Words(), "ja": ja.WORDS})


def count_text(number: int, thing: str, language: Literal["en", "ja"] = "en", **values: object) -> str:
    """A number with its noun: `1 source`, `7 sources`. `thing`: a key of `Words.counts`."""
    one, several = WORDS[language].counts[thing]
    return (one if number == 1 else several).format(count=f"{number:,}", **values)


@cache
def _reasons() -> dict[re.Pattern[str], str]:
    """The Japanese sentences by patterns of the English ones, the more exact patterns first."""
    said = tomllib.loads(Path(__file__).with_name("reasons_ja.toml").read_text("utf-8"))
    templates = sorted(said, key=lambda each: -len(re.sub(r"{\w+}", "", each)))
    return {re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(each))): said[each] for each in templates}


def reason_text(reason: str, language: Literal["en", "ja"]) -> str:
    """Translate the reason why a file, page or source was not read. Quoted text stays as it is."""
    if language == "en":
        return reason
    for pattern, template in _reasons().items():
        if match := pattern.fullmatch(reason):
            return template.format(**match.groupdict())
    parts = reason.split("; ")
    return "; ".join(reason_text(part, language) for part in parts) if len(parts) > 1 else reason


def shown_score(score: float | None, language: Literal["en", "ja"] = "en") -> str:
    """A score from 0.0 to 1.0 as `87.3/100`; for None, the word for unscored."""
    return WORDS[language].unscored if score is None else f"{score * 100:.1f}/100"
