"""Questions: how long they may be, and what they are made of: key terms, subject, the questions that one joins."""

import re
from collections.abc import Iterator

from contend.errors import InputError
from contend.models.record import QUESTION_CHARACTERS, TITLE_CHARACTERS
from contend.text import clean, detect_language, shorten, terms

_LEAST_TERMS = 2
_MOST_KEY_TERMS = 12
_SHOWN = 60

_SURFACE = re.compile(
    "[一-鿿々〆]{2,}|[一-鿿](?=[がはをのでにともやへ、。？?・\\s]|\\Z)|[ァ-ヶー]{2,}"
    "|(?:(?![ぁ-ヶー一-鿿])\\w)+(?:[-.'’](?:(?![ぁ-ヶー一-鿿])\\w)+)*"
)
_TASK_WORDS = frozenset(
    "compare describe discuss explain give list please show summarize tell versus vs 説明 比較 検討 要約".split()  # noqa: SIM905 - reads as text
)
_QUESTION_WORD = r"(?:why|how|what|which|when|where|who|whether|does|do|is|are|can|should)"
_CLAUSE_ENDS = re.compile(
    rf"[;；。？！\n]+|(?<![?!])[?!]+(?:\s|\Z)|(?:,|(?<!\s))\s+(?:and|or|but)\s+(?={_QUESTION_WORD}\b)|,\s+(?={_QUESTION_WORD}\b)"
    "|(?<=か)[、，と]|(?<=[しきりみびぎちけてで])、(?=[^、]*[をがは])",
    re.IGNORECASE,
)
_AND = re.compile(r"(?:,|(?<!\s))\s+and\s+(?:also\s+)?", re.IGNORECASE)
_OF_BOTH = re.compile(r"(?P<first>\w+)\s+(?:and|or)\s+(?P<second>\w+)\s+(?P<rest>(?:of|for|in)\s.+)", re.IGNORECASE)
_JAPANESE_AND = re.compile("、?(?:および|及び|ならびに|並びに)|(?<=[一-鿿ァ-ヶー])(?:と|や|、)(?=[一-鿿ァ-ヶー])")
_BELONG_TOGETHER = re.compile(
    r"関係|関連|違い|比較|差|\b(?:between|versus|vs|compare|compared|differences?|relations?)\b", re.IGNORECASE
)
_NOUN = re.compile("[一-鿿ァ-ヶー]+")

_OPENING = re.compile(
    r"(?:please\s+)?(?:(?:explain|describe|tell me|show|compare|summarize|discuss)\s+)?(?:about\s+)?"
    r"(?:(?:why|how|what|which|when|where|who|whether)\b\s*(?:(?:much|many|long|well)\b\s*)?)?"
    r"(?:happens?\s+(?:when|if|to)\s+)?(?:(?:do|does|did|is|are|was|were|can|could|should|would|will|has|have|am)\b\s*)?(?:(?:we|i|you|one)\s+)?"
    r"(?:(?:the|a|an|there)\s+)?",
    re.IGNORECASE,
)
_ENDING = re.compile(
    "(?:について|に関して)?(?:教えて|説明して|調べて|まとめて).*\\Z"
    "|(?:のは|とは|は|が|を|に|で)?(?:何|なに|なん|なぜ|どう|どの|どれ|いつ|どこ|誰|いくら|いくつ)[^、。]{0,20}\\Z"
    "|(?:ですか|でしょうか|なのか|のか|か)?[？?。.!！\\s]*\\Z"
)
_JOINING = re.compile("\\A(?:また|そして|さらに)、?(?=.)")
_ASKING_TAIL = re.compile("(?:のは|とは|は)?(?:なぜ|何|なん|どうして)?(?:です|でしょう|なの|の)?(?:か)?[？?。\\s]*\\Z")


def checked_theme(theme: object) -> str:
    """The question, cleaned and stripped.

    Raises:
        InputError: no text, empty, or over 8,000 characters.
    """
    if not isinstance(theme, str):
        raise InputError(f"theme = {shorten(repr(theme), _SHOWN)} is no text: give the question in quotes")
    # Its length is looked at before it is cleaned, which takes long for long texts, and after: some characters unfold.
    cleaned = clean(_bounded(theme.strip())).strip()
    if not cleaned:
        raise InputError(f"theme is empty: give the question to research, 1 to {QUESTION_CHARACTERS:,} characters")
    return _bounded(cleaned)


def title_of(question: str) -> str:
    """What heads a plan and a report where no other title is given: the question on one line, cut to 500 characters."""
    return shorten(clean(question, single_line=True), TITLE_CHARACTERS)


def _bounded(theme: str) -> str:
    if len(theme) > QUESTION_CHARACTERS:
        raise InputError(
            f"theme has {len(theme):,} characters, at most {QUESTION_CHARACTERS:,} are allowed: ask the question "
            "shortly and put the rest into instructions (--instructions FILE)"
        )
    return theme


def key_terms(text: str, most: int = _MOST_KEY_TERMS) -> list[str]:
    """The text's words that say something, as they stand in it, in order and without repeats."""
    words = (word for word in _SURFACE.findall(clean(text)) if word.casefold() not in _TASK_WORDS and terms(word))
    different: dict[str, str] = {}
    for word in words:
        different.setdefault(word.casefold(), word)
    return list(different.values())[:most]


def subject_of(question: str) -> str:
    """What a question is about: without its question words and end marks."""
    plain = clean(question, single_line=True)
    if detect_language(plain) == "ja":
        return _ENDING.sub("", plain, count=1).strip(" 、。") or plain
    opening = _OPENING.match(plain)
    return plain[opening.end() if opening else 0 :].rstrip(" ?!.。？！") or plain


def stated(point: str) -> str:
    """A point without its asking words: an answer does not repeat them. English ones count for nothing anyway."""
    plain = clean(point, single_line=True)
    return (_ASKING_TAIL.sub("", plain, count=1) or plain) if detect_language(plain) == "ja" else plain


def parts_of(question: str) -> list[str]:
    """The questions that one question joins, each naming the subject; [] where it is one."""
    first, *others = [clause for part in _CLAUSE_ENDS.split(clean(question)) for clause in _clauses(part)] or [""]
    about = "".join(key_terms(subject_of(first), 1))
    clauses = [first, *(other if about in other else f"{stated(other)} ({about})" for other in others)]
    parts = [part for clause in clauses for part in _joined_nouns(clause)]
    parts = [part for part in parts if _says_enough(part)]
    return parts if len(parts) > 1 else []


def _clauses(part: str) -> list[str]:
    """The clauses that "and" joins, if each could stand alone."""
    plain = _JOINING.sub("", part.strip(" 、,。.\t"))
    if not terms(plain):
        return []
    clauses = _AND.split(plain)
    apart = all(_says_enough(clause) for clause in clauses) and not _OF_BOTH.fullmatch(subject_of(plain))
    return clauses if apart and not _BELONG_TOGETHER.search(plain) else [plain]


def _joined_nouns(clause: str) -> Iterator[str]:
    """「東京と大阪の人口」 and "causes and effects of it": what is joined shares what follows."""
    both = _OF_BOTH.fullmatch(subject_of(clause))
    if _BELONG_TOGETHER.search(clause):
        yield clause
    elif both:
        yield f"{both['first']} {both['rest']}"
        yield f"{both['second']} {both['rest']}"
    else:
        *firsts, last = _JAPANESE_AND.split(clause)
        noun = _NOUN.match(last)
        rest = last[noun.end() :] if noun else ""
        yield from (first + rest if _NOUN.fullmatch(first) else first for first in firsts)
        yield last


def _says_enough(clause: str) -> bool:
    return len(set(terms(clause))) >= _LEAST_TERMS
