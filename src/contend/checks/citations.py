"""Read the citations of a report, and check that each names a retrieved source."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from contend.models.research import MARK, ResearchReport
from contend.text import ADDRESS, address_key, addresses, without_code, without_tail


class Validity(NamedTuple):
    """How many distinct citations a report has, and how many of them name a retrieved source. `unknown`: the others."""

    valid: int
    total: int
    unknown: list[str]


def citation_numbers(report: ResearchReport) -> list[int]:
    """The numbers of all `[n]` in a report's text, in order, with repeats; brackets in code are not citations."""
    return [int(number) for number in MARK.findall(without_code(_body_of(report)))]


def check_validity(report: ResearchReport, retrieved_urls: Collection[str], *, texts: Iterable[str] = ()) -> Validity:
    """Check that each `[n]` and each address in a report's text is a retrieved source.

    `texts`: an address that stands in one of them, such as an option's default value, is not a citation.
    """
    keys = {address_key(url) for url in retrieved_urls}
    url_of = {number: source.url for number, source in enumerate(report.sources, start=1)}
    citations = {f"[{number}]": url_of.get(number, "") for number in citation_numbers(report)}
    in_texts = {address for text in texts for address in addresses(text)} - keys
    in_report = (without_tail(match[0]) for match in ADDRESS.finditer(MARK.sub(" ", without_code(_body_of(report)))))
    citations |= {url: url for url in in_report if url and address_key(url) not in in_texts}
    unknown = [name for name, url in citations.items() if address_key(url) not in keys]
    return Validity(valid=len(citations) - len(unknown), total=len(citations), unknown=unknown)


def _body_of(report: ResearchReport) -> str:
    """The report's text without its list of references."""
    return report.model_copy(update={"sources": []}).to_markdown()
