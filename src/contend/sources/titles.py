"""Titles of documents, where other documents mention them."""

import re
from collections import Counter
from collections.abc import Sequence

from contend.text import detect_language, terms

_SHORTEST = {"en": 4, "ja": 2}
_AFTERTHOUGHT = re.compile(r"(?<!\s)\s*[(（][^()（）]*[)）]\s*\Z")


class TitleMentions:
    """Finds which of the titles a text mentions. A title of several documents tells none of them."""

    def __init__(self, titles: Sequence[str]) -> None:
        names = [_AFTERTHOUGHT.sub("", title).casefold().strip() for title in titles]
        used = Counter(names)
        self._titles = {
            name: place for place, name in enumerate(names) if used[name] == 1 and _telling(name) and terms(name)
        }

    def in_text(self, text: str) -> list[int]:
        """The places of the titles that the text mentions as whole words, in order of mention."""
        folded = text.casefold()
        found = [(_position(name, folded), place) for name, place in self._titles.items() if name in folded]
        return [place for position, place in sorted(found) if position >= 0]


def _telling(name: str) -> bool:
    return len(name) >= _SHORTEST[detect_language(name)]


def _position(name: str, folded: str) -> int:
    """Where the name stands as a word of its own; Japanese has no gaps between words, so that it stands anywhere."""
    if detect_language(name) == "ja":
        return folded.find(name)
    match = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", folded)
    return match.start() if match else -1
