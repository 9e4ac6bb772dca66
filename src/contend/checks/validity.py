"""Whether what a report cites was retrieved."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from contend.models.research import MARK, ResearchReport
from contend.text import ADDRESS, WORDS, address_key, addresses, without_code, without_tail

_REFERENCES = re.compile(
    rf"^## +(?:{'|'.join(words.headings.references for words in WORDS.values())})\s*$", re.MULTILINE
)  # fmt: skip
_REFERENCE = re.compile(r"^(?:(\d+)[.)]|\[(\d+)\]:?)\s")


class Validity(NamedTuple):
    """Of `total` distinct citations `valid` name a retrieved source; `unknown` lists the others as written."""

    valid: int
    total: int
    unknown: list[str]


def citation_numbers(markdown: str) -> list[int]:
    """The numbers of all `[n]` in the text before its references, in order, repeats kept; those in code are none."""
    return [int(number) for number in MARK.findall(without_code(_body_and_references(markdown)[0]))]


def check_validity(
    report: ResearchReport | str, retrieved_urls: Collection[str], *, texts: Iterable[str] = ()
) -> Validity:
    """Whether each `[n]`, and each address in the text of a report or of Markdown, is a source that was retrieved.

    An address that one of the `texts` has, such as the default of an option, is no citation.
    """
    body, references = _body_and_references(report if isinstance(report, str) else report.to_markdown())
    retrieved = {address_key(url) for url in retrieved_urls}
    if isinstance(report, str):
        url_of = _listed(references)
    else:
        url_of = {number: source.url for number, source in enumerate(report.sources, start=1)}
    cited = {f"[{number}]": url_of.get(number, "") for number in citation_numbers(body)}
    quoted = {address for text in texts for address in addresses(text)} - retrieved
    named = (without_tail(found[0]) for found in ADDRESS.finditer(MARK.sub(" ", without_code(body))))
    cited |= {url: url for url in named if url and address_key(url) not in quoted}
    unknown = [name for name, url in cited.items() if address_key(url) not in retrieved]
    return Validity(valid=len(cited) - len(unknown), total=len(cited), unknown=unknown)


def _body_and_references(markdown: str) -> tuple[str, str]:
    parts = _REFERENCES.split(markdown, maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def _listed(references: str) -> dict[int, str]:
    """The address of each numbered entry of a list of references."""
    listed: dict[int, str] = {}
    number = 0
    for line in references.split("\n"):
        entry = _REFERENCE.match(line)
        number = int(entry[1] or entry[2]) if entry else number
        address = ADDRESS.search(line)
        if address:
            listed.setdefault(number, without_tail(address[0]))
    return listed
