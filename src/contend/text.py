"""Text in English and Japanese: cleaned, counted, cut, split, compared, and scores shown. Pure, no heavy imports."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_CJK = _HAN + _KANA

# Invisible characters can hide instructions, reorder what a reader sees or make equal words differ.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TERMINAL_COMMAND = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PLAIN = re.compile("[\t\n -~]*")
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def clean(text: str, *, single_line: bool = False) -> str:
    """The text in NFC without control (but newline and tab), zero-width, bidi and lone surrogate characters or colours.

    Line ends become newlines; `single_line` makes every run of white space one space and strips the ends.
    """
    if _PLAIN.fullmatch(text):
        visible = text
    else:
        bare = _TERMINAL_COMMAND.sub("", text) if "\x1b" in text else text
        visible = normalized(_INVISIBLE.sub("", _LINE_END.sub("\n", bare)), "NFC")
    return " ".join(visible.split()) if single_line else visible


_MOST_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format (UAX #15): no script writes as many."""


def normalized(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFKC") -> str:
    """The text in a normal form, in time linear in its length: without the marks above 30 in a row.

    Sorting a long run of marks takes `unicodedata` the square of its length, while no other thread can work.
    """
    if text.isascii():
        return text
    mark, too_many = _mark_patterns()
    # Of more than 30 marks in a row, one stands at a place that 30 divides: most texts are looked at no further.
    bounded = too_many.sub(r"\1", text) if mark.search(text[::_MOST_MARKS]) else text
    return unicodedata.normalize(form, bounded)


@lru_cache(maxsize=1)
def _mark_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A mark, and too many of them. Made at first use: it looks at each character up to the last one that combines."""
    combining = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
    mark = f"[{combining}{_UNFOLD_TO_MARKS}]"
    return re.compile(mark), re.compile(f"({mark}{{{_MOST_MARKS}}}){mark}+")


_UNFOLD_TO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that combine with nothing themselves, but consist of some that do."""

_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(rf"[^\W\d_{_CJK}]+")
_TOKEN_OF_ITS_OWN = re.compile(rf"[{_CJK}]|[^\w\s]|_|\n+")
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


_ELLIPSIS = "…"
_UNBROKEN = re.compile(rf"[^\s{_CJK}]*\Z")
_LONGEST_WORD = 40


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut between words where one ends nearby, with "…" for what was cut."""
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    kept = text[: limit - 1]
    broken = _UNBROKEN.search(kept)
    within = not text[limit - 1].isspace() and not _is_cjk(text[limit - 1])
    if within and broken and broken.start() > 0 and len(broken[0]) <= _LONGEST_WORD:
        kept = kept[: broken.start()]
    return kept.rstrip() + _ELLIPSIS


_CJK_CHARACTER = re.compile(f"[{_CJK}\u3000-\u303f\uff01-\uff60]")


def _is_cjk(character: str) -> bool:
    return _CJK_CHARACTER.match(character) is not None


_FENCE = re.compile(r"\s*(```|~~~)")
_STANDS_ALONE = re.compile(r"\s*(#{1,6}\s|\||([-*_=]\s?){3,}$)")
_ITEM = r"\s*(?:[-*+•‣]\s|\d{1,3}[.)]\s|[>・])"
_STARTS_BLOCK = re.compile(rf"\s*$|{_ITEM}|{_STANDS_ALONE.pattern}")
_ITEM_MARK = re.compile(rf"(?:{_ITEM})*\s*")
_PAIR = re.compile(r"\s*(?=[^\s:：])[^:：.!?,;。！？、|]{1,40}[:：](?!//)[ \t\u3000]*\S")
_SENTENCE_END = re.compile(
    rf"""
    (?: (?: [。｡！？] | ．(?!\d) | (?<=[{_CJK}])[!?] ) [。｡！？!?]* (?P<closing>[」』）】〉》”’)\]"']*)
      | (?<![.!?…])[.!?…]+ ["'”’»)\]]* (?=\s|\Z|\[\d)
    )
    (?:\s?\[\d{{1,3}}\])*
    """,
    re.VERBOSE,
)
_ENCLOSED = re.compile(r"[(（][^()（）]{0,300}[)）]|「[^「」]{0,300}」|『[^『』]{0,300}』|“[^“”]{0,300}”")
_GOES_ON = re.compile("[とっなはがをにのでもかや、，]")
_NEXT_CHARACTER = re.compile(r"\s*(\S)")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.){0,20}[^\W\d_]{1,40}\.\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+\Z")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ABBREVIATIONS = _words("""
    mr. mrs. ms. dr. prof. st. mt. jr. sr. rev. gen. sen. rep. gov. vs. cf. al. approx. ca. dept. inc. ltd. co. corp.
    univ. viz. incl. resp. jan. feb. apr. jun. jul. aug. sep. sept. oct. nov. dec.
""")
_BEFORE_NUMBERS = _words("no. nos. fig. figs. eq. eqs. sec. ch. vol. pp. art. ref. refs. ed. est. mar.")


def split_sentences(text: str) -> list[str]:
    """The sentences of English or Japanese text, in order; all but white space is kept.

    Headings, list items, table rows and blank lines end a sentence; a fenced code block is one item of its own.
    """
    return list(_split(text))


# The same texts are taken apart again and again: a draft's sentences by whoever checks them, its report by each metric,
# passages by each team and round.
@lru_cache(maxsize=512)
def _split(text: str) -> tuple[str, ...]:
    return tuple(sentence for block in split_blocks(text) for sentence in _sentences_of(block))


def split_blocks(text: str) -> Iterator[str]:
    """The paragraphs, list items, headings and table rows of Markdown, one line each; a code block keeps its lines.

    Lines in a row that all say `Key: value` are blocks of their own.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            lines.append(line)
            if mark and mark[1] == fence:
                yield "\n".join(lines).strip()
                lines, fence = [], ""
            continue
        if lines and (mark or _STARTS_BLOCK.match(line) or _STANDS_ALONE.match(lines[0])):
            yield from _blocks_of(lines)
            lines = []
        if mark or line.strip():
            lines.append(line)
        fence = mark[1] if mark else ""
    if lines and fence:
        yield "\n".join(lines).strip()
    elif lines:
        yield from _blocks_of(lines)


def _blocks_of(lines: list[str]) -> list[str]:
    pairs = len(lines) > 1 and all(map(is_pair, lines))
    return [line.strip() for line in lines] if pairs else [_joined(lines)]


def is_pair(line: str) -> bool:
    """Whether a line says `Key: value`, with a key of a few words."""
    return _PAIR.match(line) is not None


def _joined(lines: list[str]) -> str:
    """One line of several: a space where they meet, none between Japanese characters."""
    parts = [line.strip() for line in lines]
    glued = [parts[0]]
    for before, after in pairwise(parts):
        glued += ["" if _is_cjk(before[-1]) and _is_cjk(after[0]) else " ", after]
    return "".join(glued)


def _sentences_of(block: str) -> Iterator[str]:
    begin = 0
    for end in [] if _FENCE.match(block) or _STANDS_ALONE.match(block) else _sentence_ends(block):
        yield block[begin:end].strip()
        begin = end
    if rest := block[begin:].strip():
        yield rest


def _sentence_ends(block: str) -> Iterator[int]:
    """Where sentences end, but not within brackets or quotation marks: half a quotation is a broken sentence."""
    enclosed = _ENCLOSED.finditer(block)
    span = next(enclosed, None)
    start = _ITEM_MARK.match(block)
    for end in _SENTENCE_END.finditer(block, start.end() if start else 0):
        while span and span.end() <= end.start():
            span = next(enclosed, None)
        within = span is not None and span.start() < end.end() < span.end()
        if not within and _ends_here(block, end):
            yield end.end()


def _ends_here(block: str, end: re.Match[str]) -> bool:
    """Whether what looks like a sentence's end is one, from the word before it and the character after it."""
    after = _NEXT_CHARACTER.match(block, end.end())
    following = after[1] if after else ""
    if end["closing"] is not None:
        return not (end["closing"] and _GOES_ON.match(following))
    if following.islower():
        return False
    last = _LAST_WORD.search(block, max(0, end.start() - _LONGEST_WORD), end.start() + 1)
    if last is None:
        return True
    word = last[0].lower()
    return not (_INITIALS.match(word) or word in _ABBREVIATIONS or (following.isdigit() and word in _BEFORE_NUMBERS))


def without_sentences(text: str, unwanted: Callable[[str], bool]) -> str:
    """The text without its unwanted sentences, the others joined as its language does; itself if there are none."""
    sentences = split_sentences(text)
    kept = [sentence for sentence in sentences if not unwanted(sentence)]
    return text if len(kept) == len(sentences) else ("" if detect_language(text) == "ja" else " ").join(kept)


_CITED = re.compile(r"\s?\[\d{1,3}\]")
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ANCHOR = re.compile(r"(?<!\s)\s*\{:?\s?[#.][^{}]*\}\s*\Z")
_LISTED = re.compile(r"(?:[-*+•‣・]\s+|\d{1,3}[.)]\s+|>\s*)+|・")


def without_marks(sentence: str) -> str:
    """The sentence without citation marks such as `[1]`."""
    return _CITED.sub("", sentence)


def without_item_mark(sentence: str) -> str:
    """The sentence without the mark of its list item."""
    listed = _LISTED.match(sentence)
    return sentence[listed.end() :] if listed else sentence


def without_anchor(heading: str) -> str:
    """The heading or title without an anchor of its own, such as `{#setup}`."""
    return _ANCHOR.sub("", heading)


def squeezed(text: str) -> str:
    """What two renderings of one sentence share: no white space, emphasis, link targets or citation marks."""
    return re.sub(r"[\s*_`]", "", without_marks(_LINK_TARGET.sub(r"\1", text))).casefold()


_UNSCORED = {"en": "unscored", "ja": "未採点"}


def shown_score(score: float | None, language: Literal["en", "ja"] = "en") -> str:
    """A score of 0.0 to 1.0 as `87.3/100`; None as the language's word for unscored, never as 0."""
    return _UNSCORED[language] if score is None else f"{score * 100:.1f}/100"


_LANGUAGE_SHARE = 0.15
_LETTER = re.compile(r"[^\W\d_]")
_JAPANESE_LETTER = re.compile(f"[{_CJK}]")


def detect_language(text: str) -> Literal["en", "ja"]:
    """Japanese where a fair share of the letters are kana or Chinese characters, else English."""
    letters = len(_LETTER.findall(text))
    japanese = len(_JAPANESE_LETTER.findall(text))
    return "ja" if letters and japanese / letters >= _LANGUAGE_SHARE else "en"


_TERM_PARTS = re.compile(rf"(?P<japanese>[{_CJK}]+)|\d+(?:[.,]\d+)*|[^\W\d_{_CJK}]+|[^\W_]")


def terms(text: str) -> list[str]:
    """Lower-cased search terms in order, repeats kept: English word stems, Japanese character pairs.

    Words that say nothing of a subject are left out.
    """
    return list(_terms(text))


@lru_cache(maxsize=1024)
def _terms(text: str) -> tuple[str, ...]:
    """Kept for the same reason as sentences are."""
    found: list[str] = []
    for part in _TERM_PARTS.finditer(normalized(text).lower()):
        found += _japanese_terms(part[0]) if part["japanese"] else _word_terms(part[0])
    return tuple(found)


def _word_terms(word: str) -> list[str]:
    if word[0].isdigit():
        return [word.replace(",", "")]
    if word in _STOP_WORDS or (len(word) == 1 and word.isascii()):
        return []
    return [_stem(word)]


def _japanese_terms(run: str) -> list[str]:
    pairs = [first + second for first, second in pairwise(run)]
    return [pair for pair in pairs if pair not in _STOP_PAIRS] + _HAN_CHARACTER.findall(run)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """A light stemmer: plurals, -ing and -ed, accents and a final e are taken off."""
    plain = "".join(letter for letter in normalized(word, "NFD") if not unicodedata.combining(letter))
    singular = _without_plural(plain)
    stem = _without_tense(singular)
    return stem[:-1] if stem.endswith("e") and len(stem) > _SHORTEST_STEM else stem


_SHORTEST_STEM = 3
_VOWEL = re.compile("[aeiouy]")


def _without_plural(word: str) -> str:
    if len(word) <= _SHORTEST_STEM or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes")) else word[:-1]


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > len("tied"):
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM and _VOWEL.search(stem):
            doubled = stem[-1] == stem[-2] and stem[-1] not in "aeiouslz"
            return stem[:-1] if doubled else stem
    return word


_STOP_WORDS = _words("""
    a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing down during each few for from further had has have having he her here hers him his how i if in into
    is it its itself just many me more most much my no nor not of off on once only or other our out over own same
    she should so some such than that the their them then there these they this those through to too under until up
    us very was we were what when where which while who whom why will with would you your
""")
_STOP_PAIRS = _words("""
    です ます でし まし した して しま する され せる れる られ れた れて てい いる いた いて ある あり あっ った って
    から こと とが とを ため には では とは とし にお おい にも ので のは のが のを のか また なる なっ ない なく よう
    うな うに とい いう もの など どの この その それ これ さん ませ せん だっ であ
""")


def shared_content(text: str, other: str) -> float:
    """The share of the distinct terms of `text` that `other` has too, 0.0 to 1.0; 0.0 for a text without terms."""
    own = set(_terms(text))
    return len(own.intersection(_terms(other))) / len(own) if own else 0.0
