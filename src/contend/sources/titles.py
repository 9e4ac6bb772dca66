"""The titles of documents among others: without the name of the site that they share. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

_SEPARATOR = re.compile(r"(?<!\s)\s+(?:[-–—|·•:»]|::)\s+|(?<!\s)\s*[|｜]\s*|:\s+")
_LEAST_PAGES = 3
_LEAST_SHARE = 0.5


def titles_among(titles: Sequence[str], first_headings: Sequence[str]) -> list[str]:
    """Each document's title, given as it stands there and with the document's first heading, "" for none.

    A title that several documents have gives way to the first heading, where that is the document's own. What most
    titles begin or end with, such as the name of a site, is left off, unless the first heading has it too.
    """
    counts = Counter(titles)
    most = max(_LEAST_PAGES, _LEAST_SHARE * len(titles))
    begins = {text for text, count in Counter(map(_begin, titles)).items() if text and count >= most}
    ends = {text for text, count in Counter(map(_end, titles)).items() if text and count >= most}
    headings = Counter(first_headings)
    return [
        heading if counts[title] > 1 and heading and headings[heading] == 1 else _without(title, heading, begins, ends)
        for title, heading in zip(titles, first_headings, strict=True)
    ]


def _begin(title: str) -> str:
    """The part up to the first separator, with it."""
    separator = _SEPARATOR.search(title)
    return title[: separator.end()] if separator else ""


def _end(title: str) -> str:
    """The part from the last separator on."""
    separators = [*_SEPARATOR.finditer(title)]
    return title[separators[-1].start() :] if separators else ""


def _without(title: str, heading: str, begins: set[str], ends: set[str]) -> str:
    own = title if heading else ""
    if _begin(title) in begins and not heading.startswith(_begin(title)):
        own = own.removeprefix(_begin(title))
    if _end(title) in ends and not heading.endswith(_end(title)):
        own = own.removesuffix(_end(title))
    return own or title
