"""What every reader makes of a file."""

import re
from typing import NamedTuple


class Document(NamedTuple):
    """A file's title and its text as Markdown."""

    title: str
    text: str
    note: str = ""
    """What of the file was not read; "" where all was."""
    published: str | None = None
    """The day that the file itself tells, as YYYY-MM-DD."""


class Unreadable(Exception):  # noqa: N818 - said of the file
    """The file holds nothing that can be read; the message is the reason."""


_MARKUP = re.compile(r"\s*+(?:#{1,6}\s+|`{3,}+|~{3,}+)++")
_PAGE = re.compile(r"(?:^| › )p\. \d+\Z")


def as_prose(line: str) -> str:
    """A line that was never Markdown, without what would make a heading or the start of a code block of it."""
    markup = _MARKUP.match(line)
    return line[markup.end() :] if markup else line


def page_heading(number: int) -> str:
    """The heading of what stands on a page, counted from 1."""
    return f"## p. {number}"


def without_page(heading: str) -> str:
    """A passage's heading as it is searched: a page's number says nothing of the subject."""
    return _PAGE.sub("", heading)
