"""What may not enter a playbook, as named rules: pages that teams read reach the prompts of later runs through it.

The curator is told the same. A rule that code finds keeps the lesson out, and the run's result and history say which.
What a lesson would have its readers do, code does not judge: the curator says it.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from contend.checks.injection import marks, speaks_to_ai
from contend.models.evaluation import CODE_METRIC_NAMES
from contend.models.playbook import LONGEST_LESSON
from contend.text import clean, detect_language, ja, normalize, split_sentences

_TOP_DOMAINS = "com|org|net|io|ai|dev|app|info|biz|edu|gov|xyz|co|jp|uk|de|fr|eu|ru|cn|me|ly|to|sh|gg|site|online|top"
_LINK = re.compile(
    rf"\w://|\bwww\.|\b(?:mailto|javascript|data|file):\S|\S@\w|\w-*\.(?:{_TOP_DOMAINS})\b|\b\d+(?:\.\d+){{3}}\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[`{}]|~~~|<[/!]?[a-z|]|\$\(|&&|\|\||\b(?:rm -|sudo |curl |wget )"
    r"|\w[._]\w{1,60}\(|\w\(\)|\w{2}\(\w{2,60}\)(?!\w)|\w\([^()\"'=,]*[\"'=,][^()]*\)",
    re.IGNORECASE,
)
_CREDENTIAL = (
    r"\b(?i:(?:password|passphrase|passwd|pass ?code|pin code|(?:api|secret|access|private)[ _-]?key"
    r"|(?:access|bearer|auth)[ _-]?token)s?)\b"
)
_MIXED = r"(?=\S{0,60}[A-Za-z])(?=\S{0,60}\d)\S"
"""The beginning of a word of letters and digits."""
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|tvly|AKIA|ASIA|AIza|npm|pypi)[-_]?[A-Za-z0-9_-]{12,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}|-----BEGIN|\b[0-9a-f]{32,}\b"
    r"|(?<![A-Za-z0-9+/_-])(?=[A-Za-z+/_-]*\d)(?=[^A-Z]{0,60}[A-Z])(?=[^a-z]{0,60}[a-z])[A-Za-z0-9+/_-]{20,}"
    rf"|{_CREDENTIAL}\s*(?:[:=]\s*\S|(?:is|are|was)\s+\S*[\d_-])"
    rf"|{_CREDENTIAL}[^.!?。]{{0,80}}?(?:[:=]|\b(?:is|are|was|were|reads))\s*[\"'“‘(]?{_MIXED}"
    rf"|(?<!\S){_MIXED}\S{{0,60}}\s+(?:is|was|as|for)\s+(?:the|its|a|an|their|our)\s+(?:[\w'’-]+\s+){{0,3}}{_CREDENTIAL}"
    rf"|{ja.CREDENTIALS}"
)
_PERSONAL = re.compile(
    r"\S@\w|(?<![\w.,-])(?:\+|00)\d{1,3}[ .-]?\(?\d{1,4}\)?(?:[ .-]?\d{2,4}){2,4}(?![\w,])"
    r"|(?<![\w.,/-])\(?0\d{1,4}\)?[ .-]\d{2,4}[ .-]\d{3,4}(?![\w,])"
    r"|(?<![\w.,-])\d{3}-\d{2}-\d{4}(?![\w-])|(?<![\w.,-])(?:\d[ -]?){13,18}\d(?![\w-])"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b"
    r"|\b(?:born on|date of birth|home address|lives at|passport (?:no|number))\b"
    rf"|{ja.PERSONAL_DATA}"
)
_METRIC = re.compile(
    rf"\b(?:{'|'.join(CODE_METRIC_NAMES)}|clarity_coherence)\b"
    r"|\b(?:metrics?|judges|graders?|evaluators?|scores? (?:higher|better|more|well))\b"
    r"|\b(?:coverage|correctness|insight|instructions|relevance|clarity)\W{1,2}(?:metric|score|mark|rating)s?\b"
    r"|\b(?:raise|boost|improve|gain|increase|maximi[sz]e|get|earn|lift)\w*\b.{0,30}\b(?:score|points|marks|rating)s?\b"
    rf"|{ja.GRADING}",
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
        length, all_units = _LONGEST_RUN[language], _units(text)
        runs = [" ".join(all_units[start : start + length]) for start in range(len(all_units) - length + 1)]
        sentences = [_units(sentence) for sentence in split_sentences(text)]
        whole = [" ".join(units) for units in sentences if len(units) >= _SHORTEST_SENTENCE[language]]
        return any(f" {part} " in source for part in (*runs, *whole) for source in self._texts)

    def marked(self, text: str) -> bool:
        return bool(marks(text) & self._marks)


class ScreeningRule(NamedTuple):
    """What keeps a text out."""

    reason: str
    finds: Callable[[str], object]
    """Whether it keeps a text out, given on one line in NFKC."""
    for_people: bool
    """What a person writes may not hold it either."""


SCREENING_RULES = (
    ScreeningRule("holds a link", _LINK.search, for_people=True),
    ScreeningRule("holds what looks like a secret", _SECRET.search, for_people=True),
    ScreeningRule("holds personal data", _PERSONAL.search, for_people=True),
    ScreeningRule("gives orders to the model", speaks_to_ai, for_people=True),
    ScreeningRule("holds code", _CODE.search, for_people=False),
    ScreeningRule("speaks of metrics or scores", _METRIC.search, for_people=False),
)


def rejection_reason(text: str, sources: Sources, *, lesson: str = "", by_person: bool = False) -> str | None:
    """Why a text may not enter a playbook; None if it may.

    `lesson` is the part whose length counts. What a person writes may hold code, name metrics and be of any length.
    """
    line = normalize(clean(text, single_line=True))
    reason = next(
        (rule.reason for rule in SCREENING_RULES if (rule.for_people or not by_person) and rule.finds(line)), None
    )
    if reason or by_person:
        return reason
    if sources.copied(line):
        return "is copied from a source"
    if sources.marked(line):
        return "carries a mark found in a source"
    return f"is longer than {LONGEST_LESSON} words" if _length(lesson) > LONGEST_LESSON else None


_JAPANESE_CHARACTERS_A_WORD = 2.5


def _length(text: str) -> float:
    """In words."""
    units: list[str] = _UNITS.findall(normalize(text))
    japanese = len([unit for unit in units if len(unit) == 1 and unit > "\u3040"])
    return len(units) - japanese + japanese / _JAPANESE_CHARACTERS_A_WORD


def _units(text: str) -> list[str]:
    """Words, and single Japanese characters, folded."""
    return _UNITS.findall(normalize(clean(text)).casefold())
