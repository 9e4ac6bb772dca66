"""Adjust the titles of documents to each other: drop the site name that they share. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

_SEPARATOR = re.compile(r"(?<!\s)\s+(?:[-–—|·•:»]|::)\s+|(?<!\s)\s*[|｜]\s*|:\s+")
_LEAST_PAGES = 3
_LEAST_SHARE = 0.5


def titles_among(titles: Sequence[str], first_headings: Sequence[str]) -> list[str]:
    """Each document's title, from the titles and first headings of all; a heading is "" if there is none.

    A title shared by several documents is replaced by the first heading, if that is unique. What most titles start or
    end with, such as the name of a site, is dropped, unless the first heading has it too.
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
    """The part up to and including the first separator."""
    separator = _SEPARATOR.search(title)
    return title[: separator.end()] if separator else ""


def _end(title: str) -> str:
    """The part from the last separator."""
    separators = [*_SEPARATOR.finditer(title)]
    return title[separators[-1].start() :] if separators else ""


def _without(title: str, heading: str, begins: set[str], ends: set[str]) -> str:
    own = title if heading else ""
    if _begin(title) in begins and not heading.startswith(_begin(title)):
        own = own.removeprefix(_begin(title))
    if _end(title) in ends and not heading.endswith(_end(title)):
        own = own.removesuffix(_end(title))
    return own or title
