"""The references of a published report: one line per cited source, and how many other documents were read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contend.models.record import Language
from contend.models.research import Passage, ResearchReport, SearchResult
from contend.report.build import PublishedLine
from contend.report.kinds import legend_of
from contend.report.plain import with_joined_marks
from contend.text import WORDS, count_text, inert, shown_address

_MOST_PLACES = 3


class PublishedReference(NamedTuple):
    """A cited source: number, title, authors and day, address, and the cited pages or headings."""

    number: int
    title: str
    facts: list[str]
    address: str
    places: str

    @property
    def is_file(self) -> bool:
        return "://" not in self.address

    @property
    def is_named(self) -> bool:
        """Whether the address adds something to the title. The title of a file without headings is its name."""
        return self.address != self.title


def references_of(
    report: ResearchReport, passages: Mapping[int, Sequence[Passage]], folders: Sequence[Path]
) -> list[PublishedReference]:
    """The cited sources, in order. `passages`: the passages of each source, by its number."""
    return [
        _reference(number, source, passages.get(number, ()), folders)
        for number, source in enumerate(report.cited_sources(), start=1)
    ]


def _reference(
    number: int, source: SearchResult, passages: Sequence[Passage], folders: Sequence[Path]
) -> PublishedReference:
    facts = [", ".join(source.authors or []), source.published_date or ""]
    places = list(dict.fromkeys(each.heading for each in passages if each.heading))
    first_places = [*places[:_MOST_PLACES], *(["…"] if places[_MOST_PLACES:] else [])]
    address = shown_address(source.url, folders)
    return PublishedReference(number, source.title, [*filter(None, facts)], address, ", ".join(first_places))


def uncited_line(report: ResearchReport, language: Language) -> str:
    """The line that says how many documents were read but not cited; "" if none."""
    count = len(report.sources) - report.cited_count()
    return count_text(count, "uncited", language) if count else ""


def published_markdown(
    report: ResearchReport,
    appendix: str,
    language: Language,
    *,
    lines: Sequence[PublishedLine] = (),
    folders: Sequence[Path] = (),
) -> str:
    """Join the report, its references and its appendix into one Markdown text.

    If the report has its own headings, the appendix comes before the references. `lines`: those of its draft.
    """
    heading = f"## {WORDS[language].headings.references}"
    body, _, entries = report.to_markdown(language, folders=folders).rpartition(f"\n{heading}\n")
    uncited, generated = uncited_line(report, language), entries.rpartition("\n")[2]
    entry_lines = "\n".join(map(_line, references_of(report, passages_by_source(lines), folders)))
    references = "\n\n".join(filter(None, [heading, entry_lines, uncited and f"*{uncited}*", generated]))
    title, _, text = with_joined_marks(body).strip().partition("\n")
    legend = legend_of(text, language)
    own = f"{title}\n\n*{legend}*\n{text}" if legend else f"{title}\n{text}"
    parts = [own, references, with_joined_marks(appendix)]
    return "\n\n".join([parts[0], *(reversed(parts[1:]) if report.own_headings else parts[1:])]) + "\n"


def _line(reference: PublishedReference) -> str:
    address = inert(reference.address) if reference.is_file else reference.address
    location = [address] if reference.is_named else []
    if reference.is_file:
        location = [" › ".join(filter(None, [*location, inert(reference.places)]))]
    else:
        location = [inert(reference.places), *location]
    parts = [f"{reference.number}. **{inert(reference.title)}**", *map(inert, reference.facts), *location]
    return "; ".join(filter(None, parts))


def passages_by_source(lines: Sequence[PublishedLine]) -> dict[int, list[Passage]]:
    """The passages cited by each source's marks, by source number."""
    by_number: dict[int, dict[str, Passage]] = {}
    for line in lines:
        for number, passages in line.marks:
            by_number.setdefault(number, {}).update({each.id: each for each in passages})
    return {number: [*by_id.values()] for number, by_id in by_number.items()}
