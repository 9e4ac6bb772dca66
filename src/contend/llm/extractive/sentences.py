"""Sentences that may be quoted: whole, in prose, and how well each stands on its own."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from contend.models.record import Language
from contend.points import asks
from contend.text import detect_language, split_sentences, terms, without_item_mark

MOST_CHARACTERS = 400
"""A longer sentence is passed over, never cut."""

_LEAST_WORDS = 5
_LEAST_JAPANESE_CHARACTERS = 12

_STOPPED = re.compile(r"(?<![.…])[.!?。．！？][\"'”’»)\]」』）*_`]*(?:\s?\[\d{1,3}\])*\Z")
_NOT_PROSE = re.compile(
    r"""
    \A(?:\#|\||```|~~~|:) | \s\|\s | \[(?:\.\.\.|…)\] | !\[ | </?[a-z][^>]*> | [{}] | ·.*·
    | ://|\bwww\. | \b[\w-]+\.(?:com|org|net|io|dev)/
    | [©®] | \ball\ rights\ reserved\b | \bclick\ here\b | \b(?:subscribe|sign\ up|log\ in|sign\ in)\b
    | \bcookies?\b.*\b(?:accept|consent|policy)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PAIRS = ("()", "（）", "[]", "「」", "『』", "“”")
_TWINS = ('"', "`", "**")
_BEGINS_LOW = re.compile(r"[\"'“‘(*_]*[a-z]")
_NAME_FIRST = re.compile(
    r"[a-z][\w.-]*(?:\s+[a-z]+){0,1}\s+(?:is|are|was|were|has|have|can|does|will|may|must|needs|uses|runs|reads|writes|keeps|makes|"
    r"provides|supports|offers|finds|checks|starts|takes|scores|asks|shows|gives|works)\b"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|could|may|might|must|will|would|should|does|do|did|becomes?|makes?|"
    r"causes?|needs?|uses?|gives?|takes?|shows?|means|depends?|works?|runs?)\b",
    re.IGNORECASE,
)
_JAPANESE_END = re.compile(r"[るたいすんだくうつぬぶむぐ]\Z")
_ROW = re.compile(r"[^:;：\n]{1,60}: [^;\n]+(?:; [^:;：\n]{1,60}: [^;\n]+)+")
"""A row of a table, as it is read: each value after its column's name."""
_WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ]+(?:['’-][A-Za-z]+)*")
_HIRAGANA = re.compile("[\u3041-\u3096]")
_LETTER = re.compile(r"[^\W\d_]")

_ENGLISH_BACK = re.compile(
    r"""(?:it|its|this|that|these|those|they|their|them|he|she|his|her|such|however|but|and|or|so|also|therefore|thus
    |hence|moreover|furthermore|besides|instead|otherwise|then|consequently|nevertheless|nonetheless|yet|likewise
    |similarly|conversely|meanwhile|finally|secondly|thirdly|here|in\ (?:addition|contrast|this|that|turn|other\ words)
    |by\ contrast|as\ (?:a\ result|such)|for\ (?:this|that|example|instance)|on\ the\ other\ hand
    |the\ (?:former|latter|same|above)|both\ of|another|others)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_JAPANESE_BACK = re.compile(
    "これ|それ|あれ|この|その|あの|ここ|そこ|こう|そう|しかし|だが|ただし|また、|さらに|一方|他方|例えば|たとえば|つまり|なお|"
    "そして|だから|したがって|従って|よって|そこで|次に|最後に|同様に|前者|後者|上記|前述|以上|彼|すると|では|でも|加えて"
)
_POINTS_ELSEWHERE = re.compile(
    r"\b(?:see|refer to|following|below|above)\b|\b(?:figure|fig\.|table|section)\s\d"
    r"|次の(?:表|図)|以下の|上の(?:表|図)|参照",
    re.IGNORECASE,
)


class Quote(NamedTuple):
    """A whole sentence, verbatim but for line ends. `weight` 0.0 to 1.0: how well it reads without its neighbours.

    `place` counts all sentences of the text, also those that cannot be quoted.
    """

    text: str
    place: int
    weight: float
    back: bool


def quotes(text: str) -> Iterator[Quote]:
    """The sentences of a passage that may be quoted, in order."""
    sentences = split_sentences(_parted(text))
    lines = {without_item_mark(line.strip()) for line in text.splitlines()}
    for place, sentence in enumerate(sentences):
        bare = without_item_mark(sentence)
        loose = bare in lines and place < len(sentences) - 1 and reads_as_line(bare)
        if is_whole(bare, loose=loose, item=bare != sentence):
            yield Quote(bare, place, _weight(bare), refers_back(bare))


def is_whole(sentence: str, *, loose: bool = False, item: bool = False) -> bool:
    """Whether a sentence may be quoted. `loose`: its line is complete, so it needs no full stop; `item`: of a list."""
    if len(sentence) > MOST_CHARACTERS or _NOT_PROSE.search(sentence) or not _balanced(sentence):
        return False
    if not (loose or _STOPPED.search(sentence)):
        return False
    if item and _ROW.fullmatch(sentence):
        return True
    japanese = detect_language(sentence) == "ja"
    return _japanese_prose(sentence) if japanese else _english_prose(sentence, item=item)


def refers_back(sentence: str) -> bool:
    """Whether its first words lean on a sentence before it."""
    return bool(_ENGLISH_BACK.match(sentence) or _JAPANESE_BACK.match(sentence))


def reads_as_line(sentence: str) -> bool:
    """Whether a line without a full stop may be a sentence: it has a verb."""
    if detect_language(sentence) == "ja":
        return _JAPANESE_END.search(sentence) is not None
    return sentence[-1:].isalnum() and sentence[:1].isupper() and _VERB.search(sentence) is not None


def length_of(sentence: str, language: Language) -> int:
    """Words, in Japanese characters."""
    return len("".join(sentence.split())) if language == "ja" else len(_WORD.findall(sentence))


def _parted(text: str) -> str:
    """A short line without a full stop before a line that begins anew is a block of its own, not half a sentence."""
    return re.sub(r"(?m)^(?P<line>.{0,60}[^\s.!?。！？,、:;])\n(?=[^\sa-z])", "\\g<line>\n\n", text)


def _balanced(sentence: str) -> bool:
    paired = all(sentence.count(pair[0]) == sentence.count(pair[1]) for pair in _PAIRS)
    return paired and not any(sentence.count(twin) % 2 for twin in _TWINS)


def _japanese_prose(sentence: str) -> bool:
    japanese = [letter for letter in _LETTER.findall(sentence) if not letter.isascii()]
    hiragana = len(_HIRAGANA.findall(sentence))
    return length_of(sentence, "ja") >= _LEAST_JAPANESE_CHARACTERS and hiragana >= 0.2 * len(japanese)


def _english_prose(sentence: str, *, item: bool) -> bool:
    words = _WORD.findall(sentence)
    if len(words) < _LEAST_WORDS or len(_LETTER.findall(sentence)) < 0.7 * len("".join(sentence.split())):
        return False
    if _BEGINS_LOW.match(sentence) and (item or not _NAME_FIRST.match(sentence)):
        return False
    if sum(word[0].isupper() for word in words) > 0.7 * len(words):  # a title or a menu
        return False
    bound = sum(not terms(word) for word in words)
    return bound >= (len(words) >= 8) + (len(words) >= 20)  # noqa: PLR2004 - key words in a row have no small words


def _weight(sentence: str) -> float:
    language = detect_language(sentence)
    length = length_of(sentence, language)
    flaws = {
        0.6: refers_back(sentence) or not _STOPPED.search(sentence) or bool(_ROW.fullmatch(sentence)),
        0.5: asks(sentence),
        0.65: bool(_POINTS_ELSEWHERE.search(sentence)),
        0.8: not (20 <= length <= 120 if language == "ja" else 8 <= length <= 40),  # noqa: PLR2004 - easy to read
    }
    weight = 1.0
    for factor, holds in flaws.items():
        weight *= factor if holds else 1.0
    return weight
