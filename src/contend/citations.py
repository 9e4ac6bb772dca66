"""Citations checked by code: does each number have a source, and does the text it cites say it?"""

import re

_NUMBER = re.compile(r"\[(\d+)\]")
_REFERENCES = re.compile(r"^## +(?:References|参考文献)\s*$", re.MULTILINE)


def citation_numbers(markdown: str) -> list[int]:
    """The numbers of all `[n]` in the text before its references, in order, repeats kept."""
    body = _REFERENCES.split(markdown, maxsplit=1)[0]
    return [int(number) for number in _NUMBER.findall(body)]
