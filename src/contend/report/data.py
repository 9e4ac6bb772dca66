"""Export a report for other programs, as JSON or BibTeX."""

import hashlib
import re

from contend.models.research import ResearchReport, SearchResult
from contend.text import clean, normalize

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "$&#%_"},
}
_ESCAPES = str.maketrans(_SPECIAL)
_URL_ESCAPES = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C", '"': "%22", " ": "%20"})


def to_json(report: ResearchReport) -> str:
    """The report as indented JSON that loads again as a `ResearchReport`."""
    return report.model_dump_json(indent=2) + "\n"


def to_bibtex(report: ResearchReport) -> str:
    """The report's sources as BibTeX, in order. A source always gets the same key."""
    return "\n".join(_entry(source) for source in report.sources)


def _entry(source: SearchResult) -> str:
    fields = {
        "title": f"{{{_escape(source.title)}}}",
        "author": " and ".join(_author(name) for name in source.authors or []),
        "year": (source.published_date or "")[:4],
        "date": source.published_date or "",
        "howpublished": _escape(source.source),
        "url": clean(source.url, single_line=True).translate(_URL_ESCAPES),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{_key(source)},", *lines, "}", ""])


def _key(source: SearchResult) -> str:
    """The key: the first author or else the source, the year, and six characters derived from the address."""
    name = (source.authors or [source.source])[0].split()[-1]
    ascii_name = re.sub(r"[^a-z]", "", normalize(name, "NFKD").lower()) or source.source
    digest = hashlib.sha256(source.url.encode()).hexdigest()[:6]
    return f"{ascii_name}{(source.published_date or '')[:4]}-{digest}"


def _author(name: str) -> str:
    """An author's name, in braces if it contains a separator of BibTeX."""
    author = _escape(name)
    return f"{{{author}}}" if re.search(r"\band\b|,", name) else author


def _escape(text: str) -> str:
    return clean(text, single_line=True).translate(_ESCAPES)
