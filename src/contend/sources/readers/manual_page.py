"""Manual pages as `man` prints them: plain text with headings marked by their indentation."""

import re

_HEAD = re.compile(r"\s*(?P<name>[\w.:+@-]+\(\w{1,8}\))\s.*\s(?P=name)\s*\n", re.IGNORECASE)
"""The first line of such a page, with its name at both ends."""
_SECTION = re.compile(r"^(?=[A-Z])[^\n]{1,80}$", re.MULTILINE)
_PART = re.compile(r"^ {3}(?=\S)(?P<name>[^\n]{1,80})$", re.MULTILINE)
_PROMPT = re.compile(r"^[ \t]+(?P<line>#[^\n`]*\S)[ \t]*$", re.MULTILINE)
"""A command after a root shell's prompt, which is no heading."""


def manual_page(text: str) -> tuple[str, str] | None:
    """The title and the Markdown of a page that `man` printed; None of any other text."""
    head = _HEAD.match(text)
    if head is None:
        return None
    body = _PROMPT.sub(r"`\g<line>`", text[head.end() :])
    lines = _PART.sub(r"\n### \g<name>\n", _SECTION.sub(lambda line: f"\n## {line[0].strip()}\n", body))
    name = re.search(r"^## NAME\s+(?P<line>\S[^\n]*)", lines, re.MULTILINE | re.IGNORECASE)
    about = " ".join(name["line"].split()).partition(" - ")[2] if name else ""
    return f"{head['name'].lower()}: {about}".rstrip(": "), lines
