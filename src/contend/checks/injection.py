"""Find text that speaks to AI systems or begs its judges, by named signals of which code is certain.

Everything else, in whatever language, is for a language model to read.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from contend.text import clean, normalize, shorten, split_sentences

_PIECE, _STEP = 600, 400
"""The length of the overlapping pieces in which long sentences are read, so that patterns stay fast."""

# Words by which a text speaks to AI systems, as patterns for folded text (small letters, no accents). They are few on
# purpose: a language model reads everything else, in whatever language.
_CUES = {
    "MACHINES": (
        r"\b(?:ai|ia|ki|llms?|gpt)\b|\bchatbots?\b|\bassist[ea]nt\w*|\basisten\w*|\blanguage models?\b"
        r"|\bmod\w+ d[ei] l[ei]ngua\w+"
        r"|\bmodel\w* de l[ai]ngu?a\w+|sprachmodell\w*|языков\w* модел\w*|\bautomated (?:reader|system|process)\w*"
        r"|言語モデル|アシスタント|人工知能|生成ai|自動処理"
        r"|语言模型|人工智能|助手|인공지능|언어 모델|भाषा मॉडल|الذكاء الاصطناعي"
    ),
    "RULES": (
        r"\binstru[ckz]\w+|\bistruz\w+|\bprompts?\b|\bguidelines?\b|\brules?\b|\brubrics?\b|\bcriteri\w+|\banweisung\w*|\bregeln?\b"
        r"|инструкци\w+|\bregl[ae]s?\b|\bconsignes?\b|\bpolecen\w+|\btalimat\w*|指示|命令|規則|ルール|プロンプト|基準|指令|提示词|지시|निर्देश|تعليمات"
    ),
    "SET_ASIDE": (
        r"\b(?:ignor\w*|disregard|forget|overrid\w+|bypass|overlook|vergiss|olvida\w*|oublie\w*|dimentica\w*|esqueca|zignoruj\w*|игнорир\w+)\b"
        r"|\byok say\b|無視|忘れ|破棄|従わ|忽略|无视|忘记|무시|अनदेखा|تجاهل"
    ),
    # In English only an order counts: "models ignore instructions" is not one.
    "SPOKEN_OF": r"\b(?:ignor(?:e|es|ed|ing)|disregard|forget|overrid\w+|bypass|overlook)\b",
    "IMPERATIVE": (
        r"(?:\A\W*|[,;:.!?)]\s*|\b(?:please|must|should|shall|and|then|now)\s+)"
        r"(?:ignore|disregard|forget|override|bypass|overlook)\b"
    ),
    "PRIOR": (
        r"\b(?:previous\w*|prior|above|earlier|all|your|you|given|system|alle|bisherig\w+|toutes|precedent\w*|recues?|todas|anterior\w*"
        r"|ricevut\w+|предыдущ\w+|wszystkie|poprzedni\w*|onceki|tum)\b"
        r"|deine|sistema|これまで|以前|上記|与えられ|すべて|之前|所有|이전|모든|पिछले|सभी|السابقة"
    ),
    "TEXTS": (
        r"\b(?:answers?|reports?|summar(?:y|ies|i[sz]\w+)|respon[sc]es?|repl(?:y|ies)|outputs?|submissions?|antwort\w*|berichts?|zusammenfassung"
        r"|reponses?|resumes?|rapports?|rapporto|respuestas?|informe|resumen|resumo|risposta|podsumowaniu|отве\w+|отч[её]\w*|ozete)\b"
        r"|レポート|報告書?|回答|答え|要約|出力|返答|提出物|回答|摘要|报告|답변|요약|보고서|सारांश|الملخص"
    ),
    "SAY": (
        r"\b(?:write|say|state|tell|mention|include|add|append|print|output|repeat|reply|respond|answer|conclude|recommend|cite|name|praise"
        r"|claim|report|empfehl\w*|citez|dites|dis|diga|afirmar|rekomend\w+|рекоменд\w+|cite|menciones|scrivi|napisz)\b"
        r"|書い|書け|記載|出力|答え|付け加え|伝え|報告|引用|推荐|告诉|写上|추천|쓰세요"
    ),
    "MUST": (
        r"\b(?:must|should|shall|have to|required|always|never|only|please|do not|don't|instead"
        r"|ausschliesslich|uniquement|seulement|debe|следует)\b"
        r"|必ず|ください|こと(?:[。\s]|\Z)|せよ|しなさい|のみ|只|必须|请|반드시"
    ),
    "IF_YOU_ARE": (
        r"(?:\bif you(?:'re| are)\b|\bse voce e\b|\bsi (?:tu es|vous etes|eres)\b|\bwenn du\b|如果你是|あなたが)"
    ),
    "GRADES": (
        r"(?<!\d)100(?!\d)|\b(?:full marks|full credit"
        r"|(?:highest|perfect|maximum|top|best) (?:scores?|marks?|points?|rating|grade)|volle punktzahl"
        r"|note maximale)\b|満点|最高(?:点|評価)|百点|满分"
    ),
    "GRADING": (
        r"\b(?:give|award|assign|grant|rate|score|grade|deserves?|merits?|receive|geben|merite|verdient)\b"
        r"|与え|付け|つけ|値する|打|请给"
    ),
    "OF_MINE": r"\b(?:this|my|our|the|it|diesem|ce)\b|この|本|提出物|这份",
    "JUDGES": r"\b(?:judges?|evaluat\w+|graders?|reviewers?|assessors?|gutachter|jury)\b|審査員|評価者|採点者|评审",
    "ROLES": (
        r"<\|[\w .-]{1,40}\|>|\[/?inst\]|<</?sys>>|</?\w{1,20}-[0-9a-f]{6,}>"
        r"|\A\W*(?:system|assistant|developer|システム|系统)(?: \w+)?\s*[:：].{0,80}?"
        r"(?:\b(?:you|your|the user|i will|from now|ignore|disregard|write|say)\b|あなた|你|您)"
    ),
    "HIDDEN": r"\(hidden text: |<!--|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0",
    # A quoted sentence is talked about, not said to the reader.
    "QUOTED": r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|`[^`\n]{0,300}`"
    r"|「[^」\n]{0,300}」|『[^』\n]{0,300}』|«[^»\n]{0,300}»",
}
# AI systems that are addressed, or told what to say.
_CUES["CALLED"] = (
    r"\A\W*(?:(?:note|notice|attention|message|dear|to|for|all|any|the)\W+){1,4}"
    rf"(?:{_CUES['MACHINES']}).{{0,12}}?[:：]"
)
_CUES["NAMED"] = rf"\A\W*(?:{_CUES['MACHINES']})\W{{0,3}}[:：]"
_TO_SAY = rf"(?:{_CUES['SAY']}|{_CUES['TEXTS']})"
_CUES["TOLD"] = (
    rf"(?:{_CUES['MACHINES']}).{{0,80}}?(?:(?:{_CUES['MUST']}).{{0,40}}?{_TO_SAY}"
    rf"|{_TO_SAY}.{{0,60}}?(?:{_CUES['MUST']}))"
)
_CUES["ADDRESSEE"] = rf"{_CUES['IF_YOU_ARE']}\W{{0,3}}(?:\w{{1,3}}\W+)?(?:large |automated )?(?:{_CUES['MACHINES']})"
_PATTERNS = {name: re.compile(pattern) for name, pattern in _CUES.items()}

_LOOKALIKES = str.maketrans(
    "авсеһіјкмнорԛѕтухԝѵгАВСЕНІЈКМОРЅТУХԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχɡı",
    "abcehijkmhopqstyxwvrABCEHIJKMOPSTYXGABEZHIKMNOPTYXaeiknoptyxgi",
)
"""Letters of other scripts, and the Latin letters that they look like."""


class FoldedSentence(NamedTuple):
    """A sentence as signals read it: folded, folded without quotations, and the number of its disguised words."""

    text: str
    outside_quotes: str
    disguises: int

    def has(self, *names: str) -> bool:
        """Whether cues of each of these kinds stand in it, outside quotation marks."""
        return all(_PATTERNS[name].search(self.outside_quotes) for name in names)

    def speaks_of(self, name: str) -> bool:
        """Whether a cue of this kind stands in it, quoted or not."""
        return _PATTERNS[name].search(self.text) is not None


def _overrides(sentence: FoldedSentence) -> bool:
    return sentence.has("SET_ASIDE", "RULES", "PRIOR") and (not sentence.has("SPOKEN_OF") or sentence.has("IMPERATIVE"))


def _begs(sentence: FoldedSentence) -> bool:
    if not sentence.has("GRADES"):
        return False
    rest = sentence._replace(outside_quotes=_PATTERNS["GRADES"].sub(" ", sentence.outside_quotes))
    return rest.has("GRADING", "OF_MINE", "TEXTS") or rest.has("JUDGES", "GRADING")


def _hides(sentence: FoldedSentence) -> bool:
    is_order = sentence.has("SAY") or sentence.has("MUST")
    about = any(map(sentence.has, ("MACHINES", "RULES", "TEXTS")))
    return sentence.speaks_of("HIDDEN") and is_order and about


SIGNALS: Mapping[str, Callable[[FoldedSentence], bool]] = {
    # A chat's turn, or what closes a prompt's delimiter.
    "roles": lambda sentence: sentence.has("ROLES"),
    # An order to set aside the rules given so far.
    "override": _overrides,
    # An AI system, by name, that is told what to say.
    "addressed": lambda sentence: (
        any(map(sentence.has, ("CALLED", "TOLD", "ADDRESSEE"))) or sentence.has("NAMED", "SAY")
    ),
    # A plea or an order for a mark.
    "begging": _begs,
    # Several words in letters that only look like Latin ones.
    "disguise": lambda sentence: sentence.disguises > 1,
    # Text that the source hides from readers and that is about machines, rules or answers.
    "hidden": _hides,
}
"""Signals by which a text is taken to speak to AI systems."""


@lru_cache(maxsize=4096)
def certain_signals(text: str) -> tuple[str, ...]:
    """The names of the signals that fit any sentence of a text."""
    given = {name for sentence in split_sentences(clean(text)) for name in _signals_of(sentence)}
    return tuple(name for name in SIGNALS if name in given)


@lru_cache(maxsize=16_384)
def _signals_of(sentence: str) -> tuple[str, ...]:
    """Cached, because the same sentence is checked in its passage, with its heading and alone, in each round."""
    pieces = [*_folded_sentences(sentence)]
    return tuple(name for name, gives in SIGNALS.items() if any(map(gives, pieces)))


def speaks_to_ai(text: str) -> bool:
    """Whether a text speaks to AI systems or judges, as far as code can tell."""
    return bool(certain_signals(text))


_FEWEST_BYTES = 12
"""In UTF-8: 12 Latin letters, or 4 Japanese or Chinese characters."""


def is_telling(words: str) -> bool:
    """Whether words are long enough to identify a text; shorter ones occur in many."""
    return len(words.encode()) >= _FEWEST_BYTES


def orders_in(text: str) -> list[str]:
    """The sentences of a text that fit a signal."""
    return [sentence for sentence in split_sentences(clean(text)) if speaks_to_ai(sentence)]


_MOST_HIDDEN_CHARACTERS = 2000


def hidden_text(text: str) -> list[str]:
    """Hidden text of a page, labelled as hidden, if it may speak to AI systems; else empty."""
    line = shorten(clean(text, single_line=True), _MOST_HIDDEN_CHARACTERS)
    return [f"(hidden text: {line})"] if speaks_to_ai(line) else []


_WORD_RUN = re.compile(r"[\w-]+", re.ASCII)
_CAPITALS = re.compile(r"\b[A-Z]+(?:[_-][A-Z\d]+)+\b", re.ASCII)
_SHORTEST_CODE = 9


def marks(text: str) -> set[str]:
    """The codes and unusual names in a text, such as `CANARY-7f3a91` or `BLUE_HERON`, in small letters."""
    runs = (letters.strip("-") for letters in _WORD_RUN.findall(normalize(text)))
    return {mark.casefold() for each in runs for mark in _marks_in(each)}


def _marks_in(run: str) -> list[str]:
    if len(run) >= _SHORTEST_CODE and any(map(str.isalpha, run)) and any(map(str.isdigit, run)):
        return [run]
    return _CAPITALS.findall(run)


def _folded_sentences(sentence: str) -> Iterator[FoldedSentence]:
    text, count = _fold(sentence)
    for begin in range(0, max(1, len(text) - (_PIECE - _STEP)), _STEP):
        piece = text[begin : begin + _PIECE]
        yield FoldedSentence(piece, _PATTERNS["QUOTED"].sub(" ", piece), count)


_LINK = re.compile(r"\]?\(?\b\w{2,10}://\S+")
_WORD = re.compile(r"[^\W\d_]+")
_EMPHASIS = re.compile(r"(?<!\w)[*_]+|[*_]+(?!\w)|^\s*(?:[-+>]|\d{1,3}[.)])\s+")


def _fold(sentence: str) -> tuple[str, int]:
    """The sentence in small letters, without accents and look-alikes; and the number of its disguised words."""
    disguises = 0

    def plain(match: re.Match[str]) -> str:
        nonlocal disguises
        word, look = match[0], _word(match[0])
        disguises += look is not None and len(word) > 1
        return word if look is None else look

    text = _LINK.sub(" ", sentence)
    if not text.isascii():
        text = _WORD.sub(plain, text)
    text = _EMPHASIS.sub("", normalize(text)).replace("ß", "ss").lower()
    if not text.isascii():
        text = "".join(map(_bare, text))
    return " ".join(text.split()), disguises


def _word(word: str) -> str | None:
    """A disguised word as it looks to a reader; None if the word is not disguised."""
    if word.isascii():
        return None
    if any(0x1D400 <= ord(letter) <= 0x1D7FF for letter in word) and len(word) > 1:  # noqa: PLR2004 - mathematical letters
        return normalize(word)
    looks = word.translate(_LOOKALIKES)
    is_mixed = any(letter.isascii() for letter in word) and looks != word
    return looks if is_mixed and looks.isascii() else None


def _bare(letter: str) -> str:
    """A Latin letter without its accent."""
    if not "\u00c0" <= letter <= "\u024f":
        return letter
    return unicodedata.normalize("NFD", letter)[0].replace("ı", "i")
