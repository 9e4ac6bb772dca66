"""Model text made plain: code alone writes citations, headings, links and addresses in a report."""

import html
import re
from collections.abc import Collection

from contend.text import clean

_MARK = re.compile(r"\s*[\[［【〔]\s*\^?\d+(?:\s*[,、，;–—-]\s*\^?\d+)*\s*(?:†[^\[\]【】]*)?[\]］】〕]")
_ELEMENTS = (
    "a|abbr|article|aside|audio|b|base|blockquote|body|br|button|canvas|center|code|dd|del|details|div|dl|dt|em|embed|"
    "font|footer|form|frame|frameset|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|"
    "math|meta|nav|noscript|object|ol|option|p|param|picture|pre|q|s|samp|script|section|select|small|source|span|"
    "strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|u|ul|video|wbr"
)
_ACTIVE = re.compile(r"<(script|style)\b[^>]*>.{0,5000}?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rf"</?(?:{_ELEMENTS})(?:[\s/][^<>=]*=[^<>]*|\s*/?)>|<!--.{0, 2000}?-->", re.IGNORECASE | re.DOTALL)
_OPENS_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(
    r"""
    (?: \b[a-z][a-z0-9+.-]{0,20}:// | \bwww\. | (?<![:/\w])//(?=[a-z0-9]) | \b(?:javascript|vbscript|data|mailto|blob):
      | (?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}
        (?:com|org|net|edu|gov|info|biz|io|dev|app|ai|co|jp|uk|de|fr|eu|cn|ru)(?::\d+)?/ )
    [!#-;=?-_a-z{-~]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AFTER_ADDRESS = ".,;:!?)]}'*_"
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_LEADING = re.compile(r"(?:#{1,6}\s+|>\s*|[-*+•・]\s+|\d{1,3}[.)]\s+|[|=~]+\s*|[-*_]{3,}\s*)+")
_LATER_HEADING = re.compile(r"(?<!\S)#{2,6}\s+")
_DEFINITION = re.compile(r"\[([^\[\]]*)\]:")
_LEFT_EMPTY = re.compile(r"\(\s*\)|（\s*）|\[\s*\]|<\s*>|`\s*`")
_LOOSE_POINT = re.compile(r"\s+([.,;:!?。、])(?=\s|$)")

# One of these stands in whatever the patterns above find.
_SUSPECT = re.compile(r"\A[\W\d_]|[<\[［【〔\\&`#/:]|www\.|\s[.,;:!?。、]|[(（]\s*[)）]", re.IGNORECASE)


def plain_sentence(text: str, known: Collection[str] = ()) -> str:
    """The sentence on one line without citation marks, HTML, Markdown blocks and links, and addresses not in `known`.

    What stays is the sentence's own words, its emphasis and balanced inline code. "" if nothing stays.
    """
    plain = clean(text, single_line=True)
    if not _SUSPECT.search(plain):
        return " ".join(plain.split())
    plain = _until_stable(plain, known)
    plain = _LATER_HEADING.sub("", _OPENS_TAG.sub("< ", plain))
    if plain.count("`") % 2 or "``" in plain:
        plain = plain.replace("`", "")
    return " ".join(plain.split())


def plain_title(text: str) -> str:
    """A title on one line that opens no HTML element and no link."""
    single = _TAG.sub("", _ACTIVE.sub("", clean(text, single_line=True)))
    return " ".join(_OPENS_TAG.sub("< ", _LINK.sub(r"\1", single)).split())


def without_html(markdown: str) -> str:
    """Markdown of others with its HTML elements taken out, so that it is inert wherever it is rendered."""
    without = _TAG.sub("", _ACTIVE.sub("", _AUTOLINK.sub(r"\1", clean(markdown))))
    return _OPENS_TAG.sub("< ", without)


def _until_stable(text: str, known: Collection[str]) -> str:
    """Taking one construct out can close the gap in another, so it is done again until nothing changes."""
    before = None
    while text != before:
        before = text
        text = _TAG.sub("", _ACTIVE.sub("", html.unescape(text)))
        text = _MARK.sub("", _ESCAPE.sub("", _LINK.sub(r"\1", text)))
        text = _ADDRESS.sub(lambda found: _known_address(found[0], known), text)
        text = _LOOSE_POINT.sub(r"\1", _LEFT_EMPTY.sub("", text))
        text = _DEFINITION.sub(r"\1:", text.strip(), count=1) if text.startswith("[") else text.strip()
        leading = _LEADING.match(text)
        text = text[leading.end() :] if leading else text
    return text


def _known_address(address: str, known: Collection[str]) -> str:
    """The address if a source has it, else only the punctuation that followed it."""
    core = address
    while core and core[-1] in _AFTER_ADDRESS and not (core[-1] == ")" and core.count("(") >= core.count(")")):
        core = core[:-1]
    if address in known or core in known:
        return address
    return address[len(core) :]
