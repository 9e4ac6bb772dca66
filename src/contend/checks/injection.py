"""Does a text speak to AI systems, or beg its judges? Named signals by code: they mark and count, they delete nothing.

What they do not know, in whatever language, a language model is asked about where `worth_asking` says so.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from contend.checks import cues
from contend.checks.checking import NEAR, check_claim
from contend.checks.claims import Calibration, Claim, PassageText
from contend.checks.places import NAME
from contend.text import clean, en, normalized, shorten, split_sentences, terms

_PIECE, _STEP = 600, 400
"""A text without full stops is read in overlapping pieces, so that patterns stay fast."""

_COMPILED = {name: re.compile(value) for name, value in vars(cues).items() if name.isupper() and isinstance(value, str)}


class FoldedSentence(NamedTuple):
    """A sentence as signals read it: folded, the same without its quotations, and how many words were disguised."""

    text: str
    outside_quotes: str
    disguises: int

    def has(self, *names: str) -> bool:
        """Whether it says something of each of these kinds, outside quotation marks."""
        return all(_COMPILED[name].search(self.outside_quotes) for name in names)


class Signal(NamedTuple):
    """`find`: whether a sentence gives it. A text that has a `certain` one is taken to speak to AI systems."""

    name: str
    find: Callable[[FoldedSentence], bool]
    certain: bool
    calibration: Calibration


def roles(sentence: FoldedSentence) -> bool:
    """A chat's turn, or what closes a prompt's delimiter."""
    return sentence.has("ROLES")


def override(sentence: FoldedSentence) -> bool:
    """An order to set aside the rules given so far."""
    return sentence.has("SET_ASIDE", "RULES", "PRIOR") and (not sentence.has("SPOKEN_OF") or sentence.has("IMPERATIVE"))


_CALLED = re.compile(rf"\A.{{0,60}}?(?:{cues.MACHINES}).{{0,12}}?[:：]")
_TOLD = re.compile(
    rf"(?:{cues.MACHINES}).{{0,80}}?(?:(?:{cues.MUST}).{{0,40}}?(?:{cues.SAY}|{cues.TEXTS})"
    rf"|(?:{cues.SAY}|{cues.TEXTS}).{{0,60}}?(?:{cues.MUST}))"
)


def addressed(sentence: FoldedSentence) -> bool:
    """An AI system, by name, that is told what to say."""
    return any(pattern.search(sentence.outside_quotes) for pattern in (_CALLED, _TOLD)) or sentence.has(
        "MACHINES", "IF_YOU_ARE"
    )


def begging(sentence: FoldedSentence) -> bool:
    """A plea or an order for a mark."""
    return sentence.has("GRADES") and (sentence.has("GRADING", "OF_MINE", "TEXTS") or sentence.has("JUDGES", "GRADING"))


def disguise(sentence: FoldedSentence) -> bool:
    """Several words in letters that only look like their own."""
    return sentence.disguises > 1


def hidden(sentence: FoldedSentence) -> bool:
    """Text that the source hides from its readers, and that has to do with machines, rules or answers."""
    is_order = sentence.has("SAY") or sentence.has("MUST")
    about = any(sentence.has(kind) for kind in ("MACHINES", "RULES", "TEXTS"))
    return _COMPILED["HIDDEN"].search(sentence.text) is not None and is_order and about


def mentioned(sentence: FoldedSentence) -> bool:
    """Anything of AI systems, judges, rules that are set aside, or the reader's own answer, quoted or not."""
    kinds = {name for name in ("MACHINES", "SET_ASIDE", "RULES", "GRADES") if _COMPILED[name].search(sentence.text)}
    if kinds & {"MACHINES", "GRADES"} or {"SET_ASIDE", "RULES"} <= kinds:
        return True
    if re.search(rf"(?:{cues.YOURS})(?:{cues.TEXTS})", sentence.text) or _COMPILED["HIDDEN"].search(sentence.text):
        return True
    if sentence.disguises:
        return True
    return sentence.has("MUST") and any(_COMPILED[name].search(sentence.text) for name in ("TEXTS", "RULES"))


_OTHER_SCRIPT = re.compile(r"[\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0fff\uac00-\ud7af]")
_LEAST_ORDINARY = 0.08
_LEAST_WORDS, _LEAST_LETTERS = 6, 8


def _is_foreign(text: str) -> bool:
    """Whether a text is mostly in neither English nor Japanese, of which cues tell little."""
    bare = _LINK.sub(" ", text)
    if re.search(r"[\u3041-\u30ff]", bare):
        return False
    if (
        len(_OTHER_SCRIPT.findall(bare)) >= _LEAST_LETTERS
        or len(re.findall(r"[\u3400-\u9fff]", bare)) >= _LEAST_LETTERS
    ):
        return True
    words = re.findall(r"(?<![\w./:=<>_-])[^\W\d_]+(?=[\s,;.!?]|\Z)", bare.lower())
    ordinary = sum(word in en.STOP_WORDS for word in words)
    return len(words) >= _LEAST_WORDS and ordinary < _LEAST_ORDINARY * len(words)


_TUNED = "tests/data/injection, odd lines"
_CHOSEN = "2026-11-22"
SIGNALS = (
    Signal("roles", roles, True, Calibration(1, _TUNED, _CHOSEN, 0.0)),
    Signal("override", override, True, Calibration(3, _TUNED, _CHOSEN, 0.0)),
    Signal("addressed", addressed, True, Calibration(2, _TUNED, _CHOSEN, 0.0)),
    Signal("begging", begging, True, Calibration(2, _TUNED, _CHOSEN, 0.0)),
    Signal("disguise", disguise, True, Calibration(2, _TUNED, _CHOSEN, 0.0)),
    Signal("hidden", hidden, True, Calibration(2, _TUNED, _CHOSEN, 0.0)),
    Signal("mentioned", mentioned, False, Calibration(1, _TUNED, _CHOSEN, 0.0)),
)
BY_MODEL = "model"
"""In place of a signal's name: a language model has read it so."""

FOREIGN = "foreign"
"""The signal of a text that is mostly in a language whose cues are few."""

"""`threshold`: how many kinds of cues, or words in disguise, have to stand in one sentence."""


@lru_cache(maxsize=4096)
def signals(text: str) -> tuple[str, ...]:
    """The names of the signals that any sentence of a text gives."""
    sentences = [each for sentence in split_sentences(clean(text)) for each in _folded_sentences(sentence)]
    names = [signal.name for signal in SIGNALS if any(map(signal.find, sentences))]
    return (*names, *([FOREIGN] if _is_foreign(text) else []))


_CERTAIN = frozenset(signal.name for signal in SIGNALS if signal.certain)


def certain_signals(text: str) -> list[str]:
    """The names of the signals by which code is certain that a text speaks to AI systems or judges."""
    return [name for name in signals(text) if name in _CERTAIN]


def speaks_to_ai(text: str) -> bool:
    """Whether a text speaks to AI systems or judges, as far as code can tell."""
    return bool(certain_signals(text))


def worth_asking(text: str) -> bool:
    """Whether a language model should look at a text: it may speak to AI systems."""
    return bool(signals(text))


_MOST_EXCERPT = 800


def excerpt_of(text: str) -> str:
    """What of a text a model is asked about: its sentences with a signal and those beside them, or its beginning."""
    sentences = split_sentences(clean(text))
    telling = [place for place, sentence in enumerate(sentences) if worth_asking(sentence)]
    places = sorted({near for place in telling for near in (place - 1, place, place + 1)})
    return shorten("\n".join(sentences[near] for near in places if 0 <= near < len(sentences)) or text, _MOST_EXCERPT)


_MOST_HIDDEN = 2000


def hidden_text(text: str) -> list[str]:
    """What a page hides from its readers, named as hidden, if it may speak to AI systems; else nothing."""
    line = shorten(clean(text, single_line=True), _MOST_HIDDEN)
    return [f"(hidden text: {line})"] if line and worth_asking(line) else []


class Planted:
    """What sources that speak to AI systems want said.

    `texts` are (document, text); `speaking`: documents known to speak to AI systems, beside those in which code finds
    orders; `question`: the one of the run, whose names are everybody's.
    """

    def __init__(self, texts: Iterable[tuple[str, str]], *, speaking: Collection[str] = (), question: str = "") -> None:
        every = [*texts]
        speaking_documents = {document for document, text in every if speaks_to_ai(text)}
        suspects = {*speaking, *speaking_documents}
        self._orders = list(
            dict.fromkeys(each for of, text in every for each in _orders(of, text, suspects, speaking_documents))
        )
        honest = "\n".join([question, *(text for document, text in every if document not in suspects)])
        self._marks = {mark for order in self._orders for mark in marks(order)} - marks(honest)
        orders = set(self._orders)
        others = [
            each for of, text in every if of in suspects for each in split_sentences(clean(text)) if each not in orders
        ]
        elsewhere = "\n".join([honest, *others]).casefold()
        self._names = {name for order in self._orders for name in _names(order) if name not in elsewhere}
        self._keys = frozenset(map(_key, self._orders))
        self._terms = [frozenset(terms(order)) for order in self._orders]

    def in_sentence(self, sentence: str) -> bool:
        """Whether a sentence is an order, or carries a code or an odd name that only orders know."""
        return speaks_to_ai(sentence) or _key(sentence) in self._keys or bool(self._marks & marks(sentence))

    def repeated_in(self, statement: str, honest: Sequence[PassageText]) -> bool:
        """Whether a statement of a draft is an order, or says what one wants said and no honest passage does.

        `honest`: the passages that it cites, without those that speak to AI systems.
        """
        if self._marks & marks(statement):
            return True
        if not (speaks_to_ai(statement) or self._is_like_an_order(statement)):
            return False
        return not honest or check_claim(Claim(text=statement), honest).support < NEAR

    def _is_like_an_order(self, statement: str) -> bool:
        own = set(terms(statement))
        alike = any(len(own & order) >= _LEAST_ECHO * len(own) for order in self._terms) if own else False
        return alike or bool(self._names & _names(statement))


_LEAST_ECHO = 0.7
"""Of a statement's terms in one order."""


def _orders(document: str, text: str, suspects: Collection[str], speaking: Collection[str]) -> list[str]:
    """The orders in a text of a document; where code finds none in any of its texts, all of it is taken for them."""
    if document not in suspects or (document in speaking and not speaks_to_ai(text)):
        return []
    sentences = split_sentences(clean(text))
    return [sentence for sentence in sentences if speaks_to_ai(sentence)] or sentences


def _names(text: str) -> set[str]:
    return {name.casefold() for name in NAME.findall(text)}


_JOINED = re.compile(r"[\w-]+", re.ASCII)
_CAPITALS = re.compile(r"\b[A-Z]+(?:[_-][A-Z\d]+)+\b", re.ASCII)
_SHORTEST_CODE = 9


def marks(text: str) -> set[str]:
    """Codes and odd names, such as `CANARY-7f3a91` or `BLUE_HERON`, in small letters."""
    runs = (letters.strip("-") for letters in _JOINED.findall(normalized(text)))
    return {mark.casefold() for each in runs for mark in _marks_in(each)}


def _marks_in(run: str) -> list[str]:
    if len(run) >= _SHORTEST_CODE and any(map(str.isalpha, run)) and any(map(str.isdigit, run)):
        return [run]
    return _CAPITALS.findall(run)


def _key(sentence: str) -> str:
    return re.sub(r"[\W_]", "", sentence).casefold()


def _folded_sentences(sentence: str) -> Iterator[FoldedSentence]:
    text, count = _fold(sentence)
    for begin in range(0, max(1, len(text) - (_PIECE - _STEP)), _STEP):
        piece = text[begin : begin + _PIECE]
        yield FoldedSentence(piece, _COMPILED["QUOTED"].sub(" ", piece), count)


_LINK = re.compile(r"\]?\(?\b\w{2,10}://\S+")
_WORD = re.compile(r"[^\W\d_]+")
_EMPHASIS = re.compile(r"(?<!\w)[*_]+|[*_]+(?!\w)|^\s*(?:[-+>]|\d{1,3}[.)])\s+")


def _fold(sentence: str) -> tuple[str, int]:
    """Small letters without accents, look-alikes as what they look like; words in disguise."""
    disguises = 0

    def plain(match: re.Match[str]) -> str:
        nonlocal disguises
        word, look = match[0], _word(match[0])
        disguises += look is not None and len(word) > 1
        return word if look is None else look

    text = _WORD.sub(plain, _LINK.sub(" ", sentence))
    text = _EMPHASIS.sub("", normalized(text)).replace("ß", "ss").lower()
    return " ".join("".join(_bare(letter) for letter in text).split()), disguises


def _word(word: str) -> str | None:
    """A word in letters that are not what they look like, as it looks; None for an honest one."""
    if word.isascii():
        return None
    if any(0x1D400 <= ord(letter) <= 0x1D7FF for letter in word) and len(word) > 1:  # noqa: PLR2004 - mathematical letters
        return normalized(word)
    looks = "".join(cues.LOOKALIKES.get(letter, letter) for letter in word)
    is_mixed = any(letter.isascii() for letter in word) and looks != word
    return looks if is_mixed and looks.isascii() else None


def _bare(letter: str) -> str:
    """A Latin letter without its accent."""
    if not "\u00c0" <= letter <= "\u024f":
        return letter
    return unicodedata.normalize("NFD", letter)[0].replace("ı", "i")
