"""What may not enter a playbook: links, code, orders to the model, and what stands word for word in a source."""

import re
from collections.abc import Iterable

from contend.checks.injection import marks
from contend.text import clean, detect_language, normalized, split_sentences

_TOP_DOMAINS = "com|org|net|io|ai|dev|app|info|biz|edu|gov|xyz|co|jp|uk|de|fr|eu|ru|cn|me|ly|to|sh|gg|site|online|top"
_LINK = re.compile(
    rf"\w://|\bwww\.|\b(?:mailto|javascript|data|file):\S|\S@\w|\w-*\.(?:{_TOP_DOMAINS})\b|\b\d+(?:\.\d+){{3}}\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[`{}]|~~~|<[/!]?[a-z|]|\$\(|&&|\|\||\b(?:rm -|sudo |curl |wget )"
    r"|\w[._]\w{1,60}\(|\w\(\)|\w\([^()\"'=,]*[\"'=,][^()]*\)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instructions?|prompts?|rules?|orders?|the above)\b"
    r"|\b(?:system|developer|hidden) (?:prompt|message|instructions?)\b|\byou are now\b|\bjailbreak"
    r"|\b(?:reveal|print|output|leak)\b.{0,40}\b(?:prompts?|(?:api|secret|private) keys?|passwords?)\b"
    r"|\b(?:give|award|assign|grant)\b.{0,40}\b(?:scores?|marks)\b|(?:^|\s)(?:assistant|system)\s*:"
    r"|(?:指示|命令|ルール|規則|プロンプト).{0,12}(?:無視|忘れ|従うな|上書き)|(?:無視|忘れ).{0,12}(?:指示|命令|ルール|規則)"
    r"|システム\s*プロンプト|隠された指示|(?:満点|最高点).{0,4}(?:付け|つけ|与え)|パスワード|秘密鍵",
    re.IGNORECASE,
)
_UNITS = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")
_LONGEST_RUN = {"en": 8, "ja": 16}
_SHORTEST_SENTENCE = {"en": 4, "ja": 10}


class Sources:
    """Texts that lessons may not copy from, and texts whose marks (codes, odd names) they may not carry."""

    def __init__(self, texts: Iterable[str] = (), *, marks_of: Iterable[str] = ()) -> None:
        texts = [*texts]
        self._texts = [f" {' '.join(_units(text))} " for text in texts]
        self._marks = {mark for text in (*texts, *marks_of) for mark in marks(text)}

    def copied(self, text: str) -> bool:
        """Whether a whole sentence, or a run of 8 words (16 Japanese characters), stands in a source."""
        language = detect_language(text)
        runs = [" ".join(run) for run in _runs(_units(text), _LONGEST_RUN[language])]
        sentences = [_units(sentence) for sentence in split_sentences(text)]
        whole = [" ".join(units) for units in sentences if len(units) >= _SHORTEST_SENTENCE[language]]
        return any(f" {part} " in source for part in (*runs, *whole) for source in self._texts)

    def marked(self, text: str) -> bool:
        return bool(marks(text) & self._marks)


def refusal(text: str, sources: Sources) -> str | None:
    """Why a text may not enter a playbook; None if it may."""
    folded = normalized(clean(text, single_line=True))
    reasons = {
        "holds a link": bool(_LINK.search(folded)),
        "holds code": bool(_CODE.search(folded)),
        "gives orders to the model": bool(_ORDER.search(folded)),
        "is copied from a source": sources.copied(folded),
        "carries a mark found in a source": sources.marked(folded),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _units(text: str) -> list[str]:
    """Words, and single Japanese characters, folded."""
    return _UNITS.findall(normalized(clean(text)).casefold())


def _runs(units: list[str], length: int) -> list[list[str]]:
    return [units[start : start + length] for start in range(len(units) - length + 1)]
