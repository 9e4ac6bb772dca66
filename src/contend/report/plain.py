"""Make model text into Markdown that reads as written. Only code writes citations, headings, HTML and links.

Only two things are removed: citation marks, and addresses that no source has, which a word replaces. Consecutive marks
written by code share their brackets.
"""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest

from contend.models.record import Language
from contend.models.research import MARK
from contend.text import (
    ADDRESS,
    OPENS_BLOCK,
    WORDS,
    address_key,
    clean,
    question_language,
    split_code,
    without_anchor,
    without_tail,
)

_NUMBERS = r"\^?\d+(?:\s?[,、，;–—-]\s?\^?\d+)*"
_ONE_MARK = rf"\\?[\[［【〔]\s?{_NUMBERS}\s?(?:†[^\[\]【】]{{0,80}})?\\?[\]］】〕]"
_MARKS = rf"{_ONE_MARK}(?:\s?[,、;]?\s?{_ONE_MARK})*"
_MARK = re.compile(rf"\s?(?:[(（]\s?{_MARKS}\s?[)）]|{_MARKS})")
_STANDS_FOR_A_NOUN = (
    (re.compile(r"\b(?:to|in|by|from|of|with|per|see)\Z", re.IGNORECASE), re.compile(r"\s?[,.;:)a-z]|\Z")),
    (re.compile(r"(?:\A|[、，])\s?\Z"), re.compile(r"\s?[a-z\u3041-\u3096]")),
)
"""The text around a mark that the sentence needs as a noun: "According to [3], …"."""


_ELEMENTS = (
    "a|abbr|article|aside|audio|b|base|blockquote|body|br|button|canvas|center|code|dd|del|details|div|dl|dt|em|"
    "embed|font|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|i|iframe|img|input|ins|kbd|label|"
    "li|link|main|mark|math|meta|nav|noscript|object|ol|option|p|param|picture|pre|q|s|samp|script|section|select|"
    "small|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|u|"
    "ul|video|wbr|xmp|plaintext|noframes|noembed|marquee|map|area|dialog|slot|portal|applet|bgsound|isindex|"
    "listing"
)
_ACTIVE = re.compile(r"<(script|style)\b[^<>]*>[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>", re.IGNORECASE)
_TAG = re.compile(
    rf"</?(?:{_ELEMENTS})(?:[\s/][^<>=]*=[^<>]*|\s*/?)>|<!--(?:(?!<!--|-->).)*-->",
    re.IGNORECASE | re.DOTALL,
)
_OPENS_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TYPE = re.compile(r"<([A-Za-z]\w*+)(?![^\s<>]*[@:])(>|(?=[^\s/>\w:-])|\Z)")
"""`<String>`, or `<b` before a comma: not HTML, unlike a name that attributes follow."""

LINK = re.compile(r"!?\[([^\[\]]*)\]\(\s*+<?((?:[^()\s<>]|\([^()\s]*\))*+)>?(?:\s[^()]*+)?\)")
_AUTOLINK = re.compile(r"<([^\s<>]+)>")
_TWICE = re.compile(r"[(（]([(（][^()（）]{0,40}[)）])[)）]")

_ESCAPED_OR_LIVE = re.compile(r"\\[!-/:-@\[-`{-~]|\\\Z|`|<(?=[A-Za-z/!?])|\](?=\()")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CODE = re.compile("\x00(\\d+)\x01")


def plain_sentence(text: str, sources: Collection[str] = ()) -> str:
    """Like `plain_text`; "" if the text has no words."""
    plain, nowhere = plain_text(text, sources), WORDS[question_language(text)].unknown_address
    return plain if re.search(r"[\w`]", plain.replace(nowhere, "")) else ""


def plain_text(text: str, sources: Collection[str] = (), *, in_cell: bool = False) -> str:
    """Make a text into one line of Markdown that reads as written, with its emphasis and code spans.

    Citation marks are removed. Addresses that are not in `sources` (see `addresses`) are replaced by a word. Links
    become text and address. HTML, links and, unless `in_cell`, block marks are escaped. Code spans stay as they are.
    """
    pieces = split_code(" ".join(clean(text).split("\n")))
    code = pieces[1::2]
    prose = (re.sub(r"\s+", " ", clean(_unescape(piece))) for piece in pieces[::2])
    gaps = (f"\x00{place}\x01" for place in range(len(code)))
    whole = "".join(piece + gap for piece, gap in zip_longest(prose, gaps, fillvalue=""))
    language = question_language(text)
    cited_by_code = _cited_by_code(whole, {address_key(each) for each in sources}, language)
    escaped_text = _ESCAPED_OR_LIVE.sub(_escape, cited_by_code).strip()
    if not in_cell:
        escaped_text = OPENS_BLOCK.sub(r"\1\\", escaped_text, count=1)
    return _CODE.sub(lambda match: code[int(match[1])], escaped_text)


def plain_heading(text: str) -> str:
    """Like `plain_text`, for a model's heading: without addresses and without an anchor such as `{#setup}`."""
    return plain_text(without_anchor(" ".join(text.split())), in_cell=True)


def plain_title(text: str) -> str:
    """A title or name on one line, without HTML, links and an anchor such as `{#setup}`."""
    single = _TAG.sub("", _ACTIVE.sub("", clean(text, single_line=True)))
    linkless = LINK.sub(r"\1", without_anchor(single))
    return " ".join(_OPENS_TAG.sub(lambda match: "<" if _is_type(match) else "< ", linkless).split())


def markdown_row(cells: Iterable[str]) -> str:
    """A line of a Markdown table. `cells`: already escaped."""
    return f"| {' | '.join(cells)} |"


def markdown_ruler(columns: int) -> str:
    """The line below the column names of a Markdown table."""
    return f"|{'---|' * columns}"


def _cited_by_code(text: str, sources: set[str], language: Language) -> str:
    """Remove citation marks. Removing one can complete another, so this repeats until nothing changes."""
    source, nowhere = WORDS[language].the_source, WORDS[language].unknown_address
    before = None
    while text != before:
        before, text = text, _MARK.sub(lambda match: _without_mark(match, source), text)
    text = _AUTOLINK.sub(_bare, LINK.sub(_link_as_text, text))
    return _TWICE.sub(
        lambda match: match[1] if match[1] == nowhere else match[0],
        ADDRESS.sub(lambda match: _address_of_source(match[0], sources, nowhere), text),
    )


def _without_mark(match: re.Match[str], source: str) -> str:
    """What replaces a mark: nothing, or a noun if the sentence needs one.

    Brackets with a 0 are not a mark and stay. So do three numbers or more that do not count up: values, in round ones.
    """
    numbers = [int(number) for number in re.findall(r"\d+", match[0])]
    if 0 in numbers:
        return match[0]
    if len(numbers) > 2 and numbers != sorted(numbers) and len(re.findall(_ONE_MARK, match[0])) == 1:  # noqa: PLR2004
        gap, values = match[0][: -len(match[0].lstrip())], match[0].strip().strip("()（）\\[]［］【】〔〕")
        return f"{gap}({values})"
    text, begin, end = match.string, match.start(), match.end()
    before = text[max(0, begin - 40) : begin]
    if match[0].lstrip()[0] in "(（" or not any(
        noun.search(before) and goes_on.match(text, end) for noun, goes_on in _STANDS_FOR_A_NOUN
    ):
        return " " if before.endswith("\x01") and text.startswith("\x00", end) else ""
    gap = " " if match[0].startswith(" ") else ""
    return gap + (source if before.strip() else source.capitalize())


def _link_as_text(match: re.Match[str]) -> str:
    label, target = match[1].strip(), match[2]
    if not ADDRESS.match(target):
        return match[0]
    return target if label in {"", target} else f"{label} ({target})"


def _bare(match: re.Match[str]) -> str:
    return match[1] if ADDRESS.match(match[1]) else match[0]


def _address_of_source(address: str, sources: set[str], nowhere: str) -> str:
    """The address if a source has it, else `nowhere`; with the punctuation that followed it."""
    return address if address_key(address) in sources else nowhere + address[len(without_tail(address)) :]


def _escape(match: re.Match[str]) -> str:
    live = match[0]
    if live == "<":
        return "<" if _is_type(match) else "\\<"
    if live == "]":
        return "]\\"
    return live if len(live) == len("\\*") else f"\\{live}"


def _is_type(match: re.Match[str]) -> bool:
    """Whether this is something like `<String>` or a comparison, and not an HTML element."""
    name = _TYPE.match(match.string, match.start())
    return name is not None and not (name[2] == ">" and name[1].lower() in _ELEMENTS.split("|"))


def _unescape(text: str) -> str:
    """Decode entities, which could otherwise hide what is searched for."""
    while (plain := _ENTITY.sub(lambda match: html.unescape(match[0]), text)) != text:
        text = plain
    return text


DOUBTFUL_SIGN = "⚠"
"""The sign behind a printed sentence that no source was seen to support."""
MARKS = re.compile(r"((?:\[[1-9]\d*\])+)")
"""Consecutive citation marks."""
_LEAST_IN_RANGE = 3


def numbers_in(marks: str) -> list[int]:
    return [int(number) for number in MARK.findall(marks)]


def in_ranges(marks: str) -> Iterator[Sequence[int]]:
    """Group the numbers of consecutive marks: three or more numbers that count up by one form a range."""
    numbers = numbers_in(marks)
    begin = 0
    while begin < len(numbers):
        end = begin + 1
        while end < len(numbers) and numbers[end] == numbers[end - 1] + 1:
            end += 1
        end = end if end - begin >= _LEAST_IN_RANGE else begin + 1
        yield numbers[begin:end]
        begin = end


def with_joined_marks(markdown: str) -> str:
    """Join consecutive marks: `[2][8][9][10]` becomes `[2,8–10]`. Code stays as it is."""

    def in_brackets(marks: re.Match[str]) -> str:
        groups = in_ranges(marks[0])
        return f"[{','.join('–'.join(map(str, dict.fromkeys([group[0], group[-1]]))) for group in groups)}]"

    pieces = split_code(markdown)
    pieces[::2] = [MARKS.sub(in_brackets, piece) for piece in pieces[::2]]
    return "".join(pieces)
